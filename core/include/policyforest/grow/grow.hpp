// Improved Extra-Trees (§ Extra-Trees, § Improving Extra-trees).
//
// A node draws k distinct inputs and for each a threshold, uniformly between its n_min-th smallest and n_min-th
// largest value; the one with the largest variance gain (linear leaves: the smallest residual variance of the two
// fitted models) wins, of equal ones the first drawn. It stays a leaf when it has fewer than 2 n_min samples, when
// the residual variance of its model is below V_min or y is constant, or when no input can be split; a linear model
// that fits but leads too far (see least_squares.hpp) is no reason to stay one. Every leaf holds at least n_min
// samples. Weights of 1 are as good as none; with n_min = 1, weights are as good as repeated samples.
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
  const double* y;       // right behind x, and samples sorted by the first input that is not periodic: not copied
  const double* score;   // what splits are chosen by, in place of y (null: y itself)
  const double* weight;  // positive (null: all 1)
};

// Thresholds of an input drawn from lo + j (hi - lo) / steps, 0 < j < steps, so that all trees share them.
struct ThresholdGrid {
  double lo, hi;
  std::int32_t steps;  // 0: thresholds anywhere
  double value(std::int64_t j) const { return lo + (hi - lo) * (static_cast<double>(j) / steps); }
};

// An input that lives on a circle: lo and hi are the same point. Each tree cuts the circle somewhere else, so the
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
  std::size_t first_tree = 0;        // number of the first tree's random stream: blocks of a forest join exactly
  std::vector<ThresholdGrid> grids;  // empty, or one an input
  std::vector<Period> periods;       // empty, or one an input
  const Kernels* kernels = nullptr;  // the version to use (null: the best); all of them give the same trees
};

// Grows n_trees trees on n_threads threads; the result does not depend on n_threads. Throws
// std::runtime_error("cancelled") soon after *cancel becomes true.
Forest grow(const TrainingSet& data, const GrowParameters& parameters, const Box& box, std::size_t n_threads,
            const std::atomic<bool>* cancel = nullptr);

}  // namespace policyforest
