// Finds the cells of the action axis that can hold the maximum of some state of a group, by bounds for the whole group.
//
// Over the box of the group's states, each tree has a smallest and a largest value in each cell. The sums over the
// trees bound F(s, .) for every state of the group: a cell whose upper bound is below the largest lower bound of all
// cells cannot hold the maximum for any state. As forests grow, a line crosses more leaves (their number to the power
// 1 / inputs), while near states agree better on which of them matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "best_action/line_steps.hpp"
#include "policyforest/forest/forest.hpp"

namespace policyforest {

class CellBounds {
 public:
  CellBounds(std::size_t n_cells, std::size_t n_inputs)
      : least_(n_cells),
        largest_(n_cells),
        tree_least_(n_cells),
        tree_largest_(n_cells),
        low_(n_inputs),
        high_(n_inputs) {}

  // Starts a new group: rows order[0], …, order[n - 1] of n_inputs numbers.
  void begin(const double* rows, const std::uint32_t* order, std::size_t n) {
    const std::size_t width = low_.size();
    for (std::size_t d = 0; d < width; ++d) {
      low_[d] = high_[d] = rows[order[0] * width + d];
      for (std::size_t i = 1; i < n; ++i) {
        const double v = rows[order[i] * width + d];
        low_[d] = std::min(low_[d], v);
        high_[d] = std::max(high_[d], v);
      }
    }
    std::fill(least_.begin(), least_.end(), 0);
    std::fill(largest_.begin(), largest_.end(), 0);
  }

  // Adds a tree, compiled by LineSearch: nodes with feature `action_node` compare the number of a cell. `values` holds
  // the values of its leaves.
  void add(const Node* nodes, std::int32_t action_node, std::span<const std::int64_t> values) {
    std::fill(tree_least_.begin(), tree_least_.end(), std::numeric_limits<std::int64_t>::max());
    std::fill(tree_largest_.begin(), tree_largest_.end(), std::numeric_limits<std::int64_t>::min());
    tasks_.push_back({0, 0, static_cast<std::int32_t>(least_.size()) - 1});
    while (!tasks_.empty()) {
      Task task = tasks_.back();
      tasks_.pop_back();
      const Node* node = nodes + task.node;
      for (; node->feature != -1; node = nodes + task.node)
        task = node->feature == action_node ? across_action(*node, task) : across_state(*node, task);
      take(values[static_cast<std::size_t>(node->child)], task);
    }
    for (std::size_t c = 0; c < least_.size(); ++c) {
      least_[c] += tree_least_[c];
      largest_[c] += tree_largest_[c];
    }
  }

  // The cells from the first to the last one that can be best.
  CellRun candidates() const {
    const std::int64_t reached = *std::max_element(least_.begin(), least_.end());
    const auto can_be_best = [reached](std::int64_t bound) { return bound >= reached; };
    const auto first = std::find_if(largest_.begin(), largest_.end(), can_be_best);
    const auto last = std::find_if(largest_.rbegin(), largest_.rend(), can_be_best);
    return {static_cast<std::size_t>(first - largest_.begin()), static_cast<std::size_t>(largest_.rend() - last) - 1};
  }

 private:
  struct Task {
    std::int32_t node, first, last;  // cells
  };

  Task across_action(const Node& node, const Task& task) {
    const auto rank = static_cast<std::int32_t>(node.split);
    if (task.first > rank) return {node.child + 1, task.first, task.last};
    if (rank >= task.last) return {node.child, task.first, task.last};
    tasks_.push_back({node.child + 1, rank + 1, task.last});
    return {node.child, task.first, rank};
  }

  Task across_state(const Node& node, const Task& task) {
    const auto d = static_cast<std::size_t>(node.feature);
    if (low_[d] > node.split) return {node.child + 1, task.first, task.last};
    if (high_[d] > node.split) tasks_.push_back({node.child + 1, task.first, task.last});
    return {node.child, task.first, task.last};
  }

  void take(std::int64_t value, const Task& task) {
    for (auto c = static_cast<std::size_t>(task.first); c <= static_cast<std::size_t>(task.last); ++c) {
      tree_least_[c] = std::min(tree_least_[c], value);
      tree_largest_[c] = std::max(tree_largest_[c], value);
    }
  }

  std::vector<std::int64_t> least_, largest_, tree_least_, tree_largest_;  // of each cell
  std::vector<double> low_, high_;                                         // the box of the states
  std::vector<Task> tasks_;
};

}  // namespace policyforest
