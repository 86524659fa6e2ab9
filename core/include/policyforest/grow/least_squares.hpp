// Linear leaves: least squares with intercept, slopes shrunk towards 0 (ridge), and bounded predictions.
//
// A leaf minimises  sum_i v_i (y_i - ybar - w·(x_i - xbar))^2 + lambda sum_d (w_d S_d)^2  over its n distinct samples,
// with v_i their weights over the mean weight, and lambda = sigma^2 / (2 Y)^2: the most likely slopes where noise has
// the variance sigma^2 and w_d S_d is drawn from N(0, (2 Y)^2). S_d and Y are standard deviations over all samples of
// the forest, so an input that hardly varies in a leaf gets no extreme slope there. A repeated sample counts as one
// with a larger weight: it adds no information about the noise. The noise is estimated from the leaf itself,
//
//     sigma^2 = RSS / m + V / m^2,   m = n - rank,
//
// where RSS is the sum of squared residuals of plain least squares, V the variance of y in the leaf, and m - 1 the
// degrees of freedom of the residuals. If none are left, RSS = 0 for any y, and V replaces it; large leaves without
// noise are shrunk by only about 1 / n^3. The result does not depend on the units of inputs, targets and weights.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace policyforest {

// An input that varies by less than this part of its size counts as constant: c + w x would cancel all but a few
// of its digits.
inline constexpr double kSmallestSpread = 1e-8;

// Directions in which the scaled inputs vary by less than this part of the largest variation count as dependent: they
// contain only rounding errors. They are penalised so much that other directions lose 1e-12 of their slopes.
inline constexpr double kSmallestDirection = 1e-6;

// A slope w with |w| S of up to this many Y counts as usual. (1 to 3 were tried on seven functions and two pendulums:
// with 1 the errors of forests are 3% smaller on noisy samples and 3 to 8% larger on others, with 3 it is the other way
// round; the errors of large leaves with a step inside are 8% larger than those of plain least squares with 1, 4% with
// 2.)
inline constexpr double kUsualSlope = 2.0;

// In its part of the data's box a leaf predicts at most this many times the range of all targets beyond that range. In
// the empty corners of the box, a function of correlated inputs does take values far beyond: with a limit of 1.4,
// y = a - b was learned with 4 times the error if a and b correlate by 0.99.
inline constexpr double kReach = 10.0;

struct Interval {
  double low, high;
};

// The spread of all samples of a forest.
struct Spread {
  std::vector<double> inputs;  // S, standard deviations; 0 where an input counts as constant
  double target;               // Y, the standard deviation of y
  Interval range;              // of y
};

// A small dense matrix stored by columns.
struct Matrix {
  std::size_t rows = 0, cols = 0;
  std::vector<double> data;
  void resize(std::size_t r, std::size_t c) {
    rows = r, cols = c;
    data.assign(r * c, 0.0);
  }
  double* column(std::size_t j) { return data.data() + j * rows; }
  const double* column(std::size_t j) const { return data.data() + j * rows; }
  double& operator()(std::size_t i, std::size_t j) { return data[j * rows + i]; }
};

// Fits one leaf after another, reusing its buffers.
class LinearFit {
 public:
  explicit LinearFit(const Spread& spread);

  // `columns[d]` points to the n values of input d; `weight` may be null. The samples are sorted by the input `sorted`,
  // in either direction; sorted = D means that they are in no order.
  void fit(std::span<const double* const> columns, const double* y, const double* weight, std::size_t n,
           std::size_t sorted);

  // The factor on the fitted slopes that keeps predictions in the box within kReach; 1 if they are within it already.
  double share_within(std::span<const Interval> box) const;

  // Appends (w_0 … w_{D-1}, c) with the slopes times `share`; at the mean of x the model is the mean of y.
  void append_model(double share, std::vector<double>& coefficients) const;

 private:
  std::size_t count_distinct(std::span<const double* const> columns, const double* y, std::size_t n,
                             std::size_t sorted);
  void standardise(std::span<const double* const> columns, const double* y, const double* weight, std::size_t n,
                   double mean_weight);
  double penalty(std::size_t n_distinct) const;

  const Spread& spread_;
  std::vector<std::size_t> active_;  // the inputs that vary
  double mean_ = 0.0;                // of y, and of each input
  std::vector<double> centre_, slopes_;
  Matrix rows_, r_, v_;          // (active inputs, y) by samples; U S and V of the singular value decomposition
  std::vector<double> squared_;  // singular values
  std::vector<double> along_;    // y along the singular directions, times their singular values
  std::vector<std::size_t> order_;
};

}  // namespace policyforest
