// The features of a parametric model: inputs on a common scale, angles as sine and cosine, and products of two.
#pragma once

#include <cstddef>
#include <vector>

namespace policyforest {

// phi(x) = (1, z_1 … z_k, z_1 z_1, z_1 z_2, … z_k z_k), where z holds (x_d - centre) / scale of a number, and
// sin(turn x_d), cos(turn x_d) of an angle.
class Features {
 public:
  struct Input {
    double centre, scale;
    double turn;  // 0: a number; else 2 pi divided by the period of an angle
  };

  Features() = default;
  explicit Features(std::vector<Input> inputs);

  std::size_t n_inputs() const { return inputs_.size(); }
  std::size_t n_linear() const { return n_linear_; }                           // with the constant
  std::size_t size() const { return n_linear_ + (n_linear_ - 1) * n_linear_ / 2; }  // with the products
  // The first `count` features of one row, n_linear() or size() of them.
  void fill(const double* row, std::size_t count, double* phi) const;

 private:
  std::vector<Input> inputs_;
  std::size_t n_linear_ = 1;
};

}  // namespace policyforest
