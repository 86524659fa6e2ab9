// Affine forms: the range of a number over a cell of states, including its dependence on the cell's coordinates.
//
// A form is c + a_1 eps_1 + … + a_k eps_k + [-e, e], where every eps_i is any number of [-1, 1] and the same in all
// forms. A row of k + 2 doubles holds (c, e, a_1 … a_k). Every operation returns a form that contains the exact result
// for all eps and all errors: a bound on the rounding is added to e. Numbers without a bound have e = infinity.
//
// The elementary functions of the C library are assumed to be accurate within 4 units in the last place.
#pragma once

#include <cstddef>

namespace policyforest {

struct Interval {
  double lo, hi;
  double magnitude() const;  // the largest absolute value
};

// The interval [lo, hi], enlarged by a bound on the rounding of a few operations.
Interval outwards(double lo, double hi);

class AffineArithmetic {
 public:
  // Products of terms a_i eps_i and b_j eps_j are added up pair by pair for the first `n_paired` symbols. The others
  // are bounded together, which is faster and, if they are small, nearly as tight.
  AffineArithmetic(std::size_t n_symbols, std::size_t n_paired)
      : k_(n_symbols),
        paired_(n_paired < n_symbols ? n_paired : n_symbols),
        rounding_(0x1p-50 * static_cast<double>(n_symbols + 2 * paired_ * paired_ + 16)) {}

  std::size_t n_symbols() const { return k_; }
  std::size_t width() const { return k_ + 2; }  // doubles of a form

  void constant(double value, double* z) const;
  void interval(Interval range, double* z) const;  // without dependence on any symbol
  void unbounded(double* z) const;
  bool bounded(const double* x) const;
  Interval range(const double* x) const;
  double radius(const double* x) const;  // of the terms a_i eps_i and the error together

  void copy(const double* x, double* z) const;
  void add(const double* x, const double* y, double* z) const;
  void subtract(const double* x, const double* y, double* z) const;
  void multiply(const double* x, const double* y, double* z) const;
  void scale(const double* x, double factor, double* z) const;
  void shift(const double* x, double by, double* z) const;
  void widen(double* z, double by) const;  // adds [-by, by]
  // z += factor * x
  void add_scaled(const double* x, double factor, double* z) const;

  // x to a constant power; unbounded if it is undefined somewhere on the range.
  void power(const double* x, double exponent, double* z) const;
  void sine(const double* x, double* z) const;
  void cosine(const double* x, double* z) const;
  void tangent(const double* x, double* z) const;
  void exponential(const double* x, double* z) const;
  void logarithm(const double* x, double* z) const;
  void hyperbolic_tangent(const double* x, double* z) const;
  void arc_tangent(const double* x, double* z) const;
  void absolute(const double* x, double* z) const;
  // x clipped to [low, high]; either side may be infinite.
  void clip(const double* x, double low, double high, double* z) const;
  // A form that contains both x and y.
  void either(const double* x, const double* y, double* z) const;

 private:
  // f(m) + f'(m) (x - m) + [f''] (x - m)^2 / 2, or the range of f if the last term is not much smaller.
  void smooth(const double* x, double value, double slope, Interval curvature, Interval range, double* z) const;
  std::size_t k_, paired_;
  double rounding_;  // bounds the relative error of all sums of an operation; one rounding has 2^-53 at most
};

}  // namespace policyforest
