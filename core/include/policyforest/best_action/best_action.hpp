// max and arg max of a forest over the action box, Eq. (bestForestAction), for one state or a block of them.
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
// A cell is a box in which no tree changes its leaf. It is open below, as x <= v cuts it, except at the
// border of the action box. Constant leaves: no action has a larger value, to the bit, and of the cells with
// this value the one with the lexicographically lowest lower corner wins; it is extended upwards, in one
// dimension after the other, as far as the least values of the trees still add up to the same, and the action
// is the middle of that box. Linear leaves: the same up to rounding, without the extension, and the action is
// the best corner of the cell (at an open side the first double inside; the middle along dimensions in which
// the slopes of the trees add up to 0).
//
// The forest must outlive the object. Calls are independent, from any number of threads. Throws
// std::runtime_error ("cancelled") within a millisecond or so after *cancel becomes true.
class BranchAndBound {
 public:
  BranchAndBound(const Forest& forest, std::span<const std::uint8_t> is_action);
  BestAction operator()(std::span<const double> x, const std::atomic<bool>* cancel = nullptr) const;

 private:
  const Forest* forest_;
  std::vector<std::uint8_t> is_state_;
  std::vector<std::size_t> action_inputs_;
};

// The paper's: project every tree on the state, merge them pruning to max_leaves (0: never), take the best
// leaf, and of equal ones that with the lowest lower corner. An approximation: `value` is the merged tree's
// at the action, not the forest's, and the box is that of the merged tree's leaf.
BestAction merged_best_action(const Forest& forest, std::span<const double> x, std::span<const std::uint8_t> is_action,
                              std::size_t max_leaves, const std::atomic<bool>* cancel = nullptr);

}  // namespace policyforest
