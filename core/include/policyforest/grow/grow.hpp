// Improved Extra-Trees (§ Extra-Trees, § Improving Extra-trees).
//
// A node draws k distinct inputs and for each a threshold, uniformly between its n_min-th smallest and n_min-th
// largest value; the one with the largest variance gain (linear leaves: the smallest residual variance of the two
// fitted models) wins, of equal ones the first drawn. A node stays a leaf if it has fewer than 2 n_min samples, if
// the residual variance of its model is below V_min or y is constant, or if no input can be split. A node is split
// even though its linear model fits if that model extrapolates too far (see least_squares.hpp). Every leaf holds at
// least n_min samples. Weights of 1 give the same trees as no weights; with n_min = 1, weights give the same trees as
// repeated samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policyforest/forest/forest.hpp"
#include "policyforest/support/kernels.hpp"

namespace policyforest {

struct TrainingSet {
  std::size_t n_samples, n_inputs;
  const double* x;       // n_inputs columns of n_samples numbers each
  const double* y;       // if y follows x in memory and samples are sorted by the first non-periodic input: not copied
  const double* score;   // the values by which splits are chosen, in place of y (null: y itself)
  const double* weight;  // positive (null: all 1)
};

// Thresholds of an input drawn from lo + j (hi - lo) / steps, 0 < j < steps, so that all trees share them.
struct ThresholdGrid {
  double lo, hi;
  std::int32_t steps;  // 0: no grid
  double value(std::int64_t j) const { return lo + (hi - lo) * (static_cast<double>(j) / steps); }
};

// A periodic input: lo and hi are the same point of a circle. Each tree cuts the circle at a different point, so the
// forest has no seam; the finished tree is unrolled onto [lo, hi] and is an ordinary tree.
struct Period {
  double lo, hi;  // equal: not periodic
};

struct GrowParameters {
  std::size_t n_trees = 25;
  std::size_t max_features = 1;      // k
  std::size_t min_samples_leaf = 1;  // n_min
  double min_variance = 0.0;         // V_min
  bool linear = false;
  std::uint64_t seed = 0;
  std::size_t first_tree = 0;        // the random stream of the first tree, so that a forest can grow in blocks
  std::vector<ThresholdGrid> grids;  // empty, or one per input
  std::vector<Period> periods;       // empty, or one per input
  const Kernels* kernels = nullptr;  // the version to use (null: the best); all of them give the same trees
};

// Grows n_trees trees on n_threads threads; the result does not depend on n_threads. Throws
// std::runtime_error("cancelled") soon after *cancel becomes true.
Forest grow(const TrainingSet& data, const GrowParameters& parameters, const Box& box, std::size_t n_threads,
            const std::atomic<bool>* cancel = nullptr);

}  // namespace policyforest
