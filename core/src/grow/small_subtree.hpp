// Grows whole subtrees of at most 64 samples with constant leaves and no weights.
//
// Most nodes of a tree hold few samples, and there passes over columns are mostly overhead. Here the samples are
// sorted once by every input; a node is one 64-bit set per input, in the order of that input. The n_min-th smallest
// value is the n_min-th bit, a threshold cuts the set of its input in two, and one comparison of 64 small ranks cuts
// the set of each other input. No sample moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "grow/sample_columns.hpp"
#include "grow/split_draw.hpp"
#include "policyforest/forest/forest.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/support/kernels.hpp"
#include "policyforest/support/random.hpp"

namespace policyforest {

class SmallSubtree {
 public:
  static constexpr std::size_t kMaxSamples = 64, kMaxInputs = 8;

  SmallSubtree(const GrowParameters& parameters, std::size_t n_inputs, const Kernels& kernels)
      : n_min_(static_cast<int>(std::min(parameters.min_samples_leaf, kMaxSamples))),
        min_variance_(parameters.min_variance),
        n_inputs_(n_inputs),
        kernels_(kernels) {}

  // Appends the descendants of nodes[root], which holds `rows`; `sum` is the sum of their scores.
  void grow(const SampleColumns& samples, const Rows& rows, double sum, std::size_t root, std::vector<Node>& nodes,
            SplitDraw& draw, RandomStream& random);

 private:
  using Bits = std::uint64_t;
  struct Task {
    std::size_t node;
    int n;
    double sum;             // of the scores
    Bits sets[kMaxInputs];  // the node's samples, in the order of each input
  };
  struct Split {
    std::size_t input;
    double threshold, lower_sum;
    Bits lower;  // in the order of `input`
    int n_lower;
  };

  void load(const SampleColumns& samples, const Rows& rows);
  void copy_sorted(std::size_t input, const double* x, const Rows& rows);
  void sort(std::size_t input, const double* x, std::size_t n);
  double sum(const double* v, std::size_t order, Bits set) const;
  bool constant(Bits set, double& y) const;
  double leaf_value(Bits set, int n, double sum) const;
  bool settled(const Task& task) const;
  bool best_split(const Task& task, SplitDraw& draw, RandomStream& random, Split& best) const;
  void cut(const Task& task, Split& split) const;
  void divide(const Split& split, Task& task, Task& lower) const;

  int n_min_;
  double min_variance_;
  std::size_t n_inputs_;
  const Kernels& kernels_;
  const double *y_ = nullptr, *score_ = nullptr;
  bool scored_apart_ = false;
  // For the samples in the order of each input: their values, their row numbers, and the place of each row; and their
  // ranks [in this order][by this input].
  alignas(64) double values_[kMaxInputs][kMaxSamples] = {};
  alignas(64) std::uint8_t numbers_[kMaxInputs][kMaxSamples] = {}, places_[kMaxInputs][kMaxSamples] = {};
  alignas(64) std::uint8_t ranks_[kMaxInputs][kMaxInputs][kMaxSamples] = {};
  Task tasks_[kMaxSamples];
};

}  // namespace policyforest
