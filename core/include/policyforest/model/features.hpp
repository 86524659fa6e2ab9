// The features of a parametric model: inputs on a common scale, angles as sine and cosine, and products of them.
#pragma once

#include <cstddef>
#include <vector>

namespace policyforest {

// phi(x) = (1, z_1 … z_k, z_1 z_1, z_1 z_2, … z_k z_k, z_1 z_1 z_1, … z_k z_k z_k, …): all products, degree by degree,
// where z holds (x_d - centre) / scale of a number, and sin(turn x_d), cos(turn x_d) of an angle.
class Features {
 public:
  struct Input {
    double centre, scale;
    double turn;  // 0: a number; else 2 pi divided by the period of an angle
  };

  Features() = default;
  explicit Features(std::vector<Input> inputs);

  std::size_t n_inputs() const { return inputs_.size(); }
  std::size_t n_linear() const { return n_linear_; }  // including the constant
  // The highest degree of products.
  static constexpr std::size_t kMaxDegree = 5;
  // The number of features up to a degree.
  std::size_t size(std::size_t degree) const;
  // The first `count` features of one row, where `count` is the size of a degree.
  void fill(const double* row, std::size_t count, double* phi) const { fill_lanes<1>(&row, count, phi); }
  // The same bits for kLanes rows side by side: feature k of row l is phi[k * kLanes + l].
  static constexpr std::size_t kLanes = 8;
  void fill_block(const double* const* rows, std::size_t count, double* phi) const {
    fill_lanes<kLanes>(rows, count, phi);
  }

 private:
  template <std::size_t L>
  void fill_lanes(const double* const* rows, std::size_t count, double* phi) const;

  std::vector<Input> inputs_;
  std::size_t n_linear_ = 1;
  std::vector<std::size_t>
      first_;  // (degree, i): the first product of `degree` factors that begins with z_i or a later one
};

}  // namespace policyforest
