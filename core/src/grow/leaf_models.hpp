// The models of leaves, for growing: each model decides when its node is finished, scores splits, and computes the
// contents of a leaf. TreeGrower takes one of them as a template argument.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "grow/sample_columns.hpp"
#include "policyforest/forest/forest.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/grow/least_squares.hpp"
#include "policyforest/support/kernels.hpp"

namespace policyforest {

// phi(x) = the mean of y.
class ConstantModel {
 public:
  // Sums over the samples of a node: their number or the sum of their weights, and the sum of weight times score.
  struct Sums {
    double weight = 0, score = 0;
  };

  ConstantModel(const SampleColumns& samples, const GrowParameters& parameters)
      : samples_(samples), kernels_(samples.kernels()), min_variance_(parameters.min_variance) {}

  Sums sums(const Rows& rows) const;
  // Reads a node; returns whether its residual variance is too small to split it.
  bool settled(const Rows& rows, const Sums& sums);
  // n_l n_u (mean_l - mean_u)^2, which is n^2 times the variance gain; `n_lower` and `lower` are set.
  double score(const Rows& rows, const Sums& sums, std::size_t d, double split, std::size_t& n_lower,
               Sums& lower) const;
  void make_leaf(const Rows& rows, const Sums& sums, Node& node, std::vector<double>& coefficients) const;

 private:
  bool constant(const Rows& rows) const;
  double mean(const Rows& rows, const Sums& sums) const;
  const SampleColumns& samples_;
  const Kernels& kernels_;
  double min_variance_;
};

// phi(x) = w·x + c, by least squares that prefers small slopes; `box` is the node's part of the data's box.
class LinearModel {
 public:
  struct Sums {};  // empty: the model stores its own sums

  LinearModel(const SampleColumns& samples, const GrowParameters& parameters, const Spread* spread)
      : samples_(samples),
        kernels_(samples.kernels()),
        min_variance_(parameters.min_variance),
        n_inputs_(spread->inputs.size()),
        n_used_(n_inputs_ + 2),
        width_((n_used_ + 3) / 4 * 4),
        leaf_(*spread),
        columns_(n_inputs_) {}

  Sums sums(const Rows&) const { return {}; }
  // A node whose model fits, but predicts too far beyond the range of the targets, is not settled: models of its parts
  // may stay within this range.
  bool settled(const Rows& rows, std::span<const Interval> box);
  // Minus the sum of the squared residuals of the models of both sides, in units of the node's own scale.
  double score(const Rows& rows, const Sums&, std::size_t d, double split, std::size_t& n_lower, Sums&) {
    return score(rows, d, split, n_lower);
  }
  void make_leaf(const Rows& rows, std::span<const Interval> box, Node& node, std::vector<double>& coefficients);

 private:
  // Sums of the products of (1, x_0 … x_{D-1}, target) over centred and scaled rows: a matrix of n_used_ rows, `width_`
  // numbers apart, of which only the upper triangle is used.
  using Moments = std::vector<double>;
  double score(const Rows& rows, std::size_t d, double split, std::size_t& n_lower);
  double fit_leaf(const Rows& rows, std::span<const Interval> box);  // returns the factor on the slopes
  double standardise(const Rows& rows, const double* target);        // returns the target's scale
  double residual(const Moments& moments) const;

  const SampleColumns& samples_;
  const Kernels& kernels_;
  double min_variance_;
  std::size_t n_inputs_, n_used_, width_;
  std::vector<double> rows_;  // standardised: (1, x…, target), each times the root of its weight
  Moments total_, lower_, upper_;
  mutable std::vector<double> gram_;
  LinearFit leaf_;
  std::vector<const double*> columns_;
};

}  // namespace policyforest
