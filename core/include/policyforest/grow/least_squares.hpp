// Linear leaves: least squares with intercept, slopes shrunk towards 0 (ridge), and bounded where they lead.
//
// A leaf minimises  sum_i v_i (y_i - ybar - w·(x_i - xbar))^2 + lambda sum_d (w_d S_d)^2  over its n distinct samples,
// with v_i their weights over the mean weight, and lambda = sigma^2 / (2 Y)^2: the most likely slopes where noise has
// the variance sigma^2 and w_d S_d is drawn from N(0, (2 Y)^2). S_d and Y are standard deviations over all samples of
// the forest, so an input that hardly varies in a leaf gets no wild slope there. A sample that is repeated is one with
// a larger weight: it tells nothing new about the noise. The noise is estimated from the leaf itself,
//
//     sigma^2 = RSS / m + V / m^2,   m = n - rank,
//
// RSS being the sum of squared residuals of plain least squares, V the variance of y in the leaf and m - 1 the samples
// that are left for the residuals: where none is left, RSS = 0 by accident and V stands for it; dense leaves without
// noise are shrunk by about 1 / n^3 only. Everything is free of the units of inputs, targets and weights.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace policyforest {

// An input that varies by less than this part of its size counts as constant: c + w x would cancel all but a few
// of its digits.
inline constexpr double kSmallestSpread = 1e-8;

// Directions in which the scaled inputs vary by less than this part of the largest variation count as dependent: what
// they tell is rounding errors. They are penalised so far that other directions lose 1e-12 of their slopes.
inline constexpr double kSmallestDirection = 1e-6;

// A slope w with |w| S of up to this many Y is nothing unusual. (1 to 3 tried on seven functions and two pendulums:
// with 1 forests err 3% less on noisy samples and 3 to 8% more on others, with 3 it is the other way round; large
// leaves with a step inside err 8% more than plain least squares with 1, 4% with 2.)
inline constexpr double kUsualSlope = 2.0;

// In its part of the data's box a leaf predicts at most this many ranges of all targets beyond them. Where a function
// of correlated inputs is known well, it truly leads far in the empty corners of the box: with a limit of 1.4 ranges,
// y = a - b was learned with 4 times the error where a and b correlate by 0.99.
inline constexpr double kReach = 10.0;

struct Interval {
  double low, high;
};

// How far all samples of a forest spread.
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
  // in either direction, or (D: by none) in no order.
  void fit(std::span<const double* const> columns, const double* y, const double* weight, std::size_t n,
           std::size_t sorted);

  // The part of the fitted slopes that keeps predictions in the box within kReach; 1 where all of them do.
  double share_within(std::span<const Interval> box) const;

  // Appends (w_0 … w_{D-1}, c) with this part of the slopes; at the mean of x the model is the mean of y.
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
