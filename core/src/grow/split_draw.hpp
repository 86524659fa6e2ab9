// The random choices of a split: which inputs to try, and a threshold for each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "policyforest/grow/grow.hpp"
#include "policyforest/support/random.hpp"

namespace policyforest {

class SplitDraw {
 public:
  SplitDraw(const GrowParameters& parameters, std::size_t n_inputs)
      : k_(parameters.max_features), inputs_(n_inputs), grids_(parameters.grids), tables_(grids_.size()) {
    for (std::size_t d = 0; d < grids_.size(); ++d)
      if (grids_[d].steps <= kMaxTable)
        for (std::int32_t j = 0; j <= grids_[d].steps; ++j) tables_[d].push_back(grids_[d].value(j));
  }

  // Call this before each tree, so that the tree depends on its own stream alone.
  void restart() { std::iota(inputs_.begin(), inputs_.end(), std::uint32_t{0}); }

  // Calls attempt(input) for k distinct inputs in random order, then for more inputs until an attempt returns true.
  template <class Attempt>
  void for_inputs(RandomStream& random, const Attempt& attempt) {
    const std::size_t n = inputs_.size();
    bool found = false;
    std::uint64_t number = 0;
    for (std::size_t j = 0; j < n && (j < k_ || !found); ++j) {
      // One random number gives four choices: the upper half of a product is the choice, the lower half is used next.
      number = j % 4 == 0 ? random.next() : number * (n - j + 1);
      const auto choice = static_cast<std::size_t>(((number >> 32) * (n - j)) >> 32);
      std::swap(inputs_[j], inputs_[j + choice]);
      found |= attempt(static_cast<std::size_t>(inputs_[j]));
    }
  }

  // Whether a split is better than the best before it, by more than rounding errors: equal splits are common in small
  // nodes, and there the order of the inputs has to decide, not the order of summation.
  static bool better(double score, double best) { return score - best > 1e-10 * std::abs(best); }

  // Draws uniformly from [low, high), on the input's grid if it has one; returns false if there is no value to draw.
  bool threshold(std::size_t input, double low, double high, double& threshold, RandomStream& random) const {
    if (!(low < high)) return false;
    if (!grids_.empty() && grids_[input].steps > 0) return threshold_on_grid(input, low, high, threshold, random);
    const double u = random.uniform(), width = high - low;
    threshold = std::isfinite(width) ? low + u * width : low * (1 - u) + high * u;
    if (!(threshold >= low && threshold < high)) threshold = low;
    return true;
  }

 private:
  static constexpr std::int32_t kMaxTable = 1 << 13;  // steps of grids whose values are kept: 64 kB

  // A uniform choice among the grid's values in [low, high).
  bool threshold_on_grid(std::size_t input, double low, double high, double& threshold, RandomStream& random) const {
    const std::int64_t first = at_or_above(input, low), last = at_or_above(input, high);
    if (first >= last) return false;
    const auto number = static_cast<std::uint64_t>(last - first);
    threshold = grid_value(input, first + static_cast<std::int64_t>(random.below(number)));
    return true;
  }

  double grid_value(std::size_t input, std::int64_t j) const {
    return tables_[input].empty() ? grids_[input].value(j) : tables_[input][static_cast<std::size_t>(j)];
  }

  // The first j >= 1 with a value >= v, or the number of steps.
  std::int64_t at_or_above(std::size_t input, double v) const {
    const ThresholdGrid& grid = grids_[input];
    const double guess = (v - grid.lo) / (grid.hi - grid.lo) * grid.steps;
    auto j = static_cast<std::int64_t>(std::clamp(guess, 1.0, static_cast<double>(grid.steps)));
    while (j > 1 && grid_value(input, j - 1) >= v) --j;
    while (j < grid.steps && grid_value(input, j) < v) ++j;
    return j;
  }

  std::size_t k_;
  std::vector<std::uint32_t> inputs_;  // in random order
  const std::vector<ThresholdGrid>& grids_;
  std::vector<std::vector<double>> tables_;
};

}  // namespace policyforest
