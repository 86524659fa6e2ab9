// max and arg max of a forest over the action box, Eq. 5, for one state or a block of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policyforest/forest/forest.hpp"

namespace policyforest {

struct BestAction {
  double value;                // F(s, action), the same bits as a prediction there
  std::vector<double> action;  // one entry per action dimension
  std::vector<double> lo, hi;  // the box on which F(s, .) takes this value (linear leaves: its maximum)
};

// Exact, for any number of action dimensions: branch and bound over action boxes, with the largest leaf of
// every subtree as the bound. `is_action[d]` marks the action inputs; `x` holds the state in the other
// entries (its action entries are not read); actions range over forest.box(), which must be finite there.
//
// A cell is a box in which no tree changes its leaf. It is open below, because splits are x <= v, except at the
// border of the action box. Constant leaves: no action has a larger value, bit for bit. Of the cells with this
// value the one with the lexicographically lowest lower corner wins. It is extended upwards, in one dimension
// after the other, while the minima of the trees over it still add up to the same value, and the action is the
// middle of that box. Linear leaves: the same up to rounding, without the extension, and the action is the best
// corner of the cell (at an open side the first double inside; the middle along dimensions in which the slopes
// of the trees add up to 0).
//
// The forest must outlive the object. Any number of threads may call it at the same time. Throws
// std::runtime_error ("cancelled") within about a millisecond after *cancel becomes true.
class BranchAndBound {
 public:
  BranchAndBound(const Forest& forest, std::span<const std::uint8_t> is_action);
  BestAction operator()(std::span<const double> x, const std::atomic<bool>* cancel = nullptr) const;

 private:
  const Forest* forest_;
  std::vector<std::uint8_t> is_state_;
  std::vector<std::size_t> action_inputs_;
};

// The paper's method: projects every tree on the state, merges the trees while pruning to max_leaves (0: never),
// and takes the best leaf, of equal ones that with the lowest lower corner. This is an approximation: `value` is
// the value of the merged tree at the action, not of the forest, and the box is that of the merged tree's leaf.
BestAction merged_best_action(const Forest& forest, std::span<const double> x, std::span<const std::uint8_t> is_action,
                              std::size_t max_leaves, const std::atomic<bool>* cancel = nullptr);

}  // namespace policyforest
