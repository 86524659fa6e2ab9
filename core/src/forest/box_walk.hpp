// The box of every node of a tree. Boxes are open below and closed above, (lo, hi], because `x <= v` goes to
// the lower child: a split at v cuts (lo, hi] into (lo, v] and (v, hi], and no point is in both or in none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "policyforest/forest/forest.hpp"

namespace policyforest {

// The half-open box with the same points as a closed one: its lower side is one double lower.
inline Box open_below(Box box) {
  for (double& lo : box.lo) lo = std::nextafter(lo, -std::numeric_limits<double>::infinity());
  return box;
}

inline bool is_empty(const Box& open) {
  for (std::size_t d = 0; d < open.dims(); ++d)
    if (!(open.lo[d] < open.hi[d])) return true;
  return false;
}

// Whether some point of the half-open box is on the lower or the upper side of a split.
inline bool reaches_lower(const Box& open, const Node& node) {
  return open.lo[static_cast<std::size_t>(node.feature)] < node.split;
}
inline bool reaches_upper(const Box& open, const Node& node) {
  return node.split < open.hi[static_cast<std::size_t>(node.feature)];
}

// Calls visit(node index, half-open box of the node) for every node, parents first and depth first. The box
// of a node that no point reaches is empty.
template <class Visit>
void walk_boxes(const TreeView& tree, const Box& box, Visit&& visit) {
  constexpr std::int32_t kOnlyRestore = -1;
  struct Step {
    double lo, hi;  // the sides to which the dimension is set before the node is visited
    std::int32_t dim, node;
  };
  Box open = open_below(box);
  std::vector<Step> steps;
  const auto descend = [&](const Node& node) {
    const auto d = static_cast<std::size_t>(node.feature);
    const double lo = open.lo[d], hi = open.hi[d];
    steps.push_back({lo, hi, node.feature, kOnlyRestore});
    steps.push_back({std::max(lo, node.split), hi, node.feature, node.child + 1});
    steps.push_back({lo, std::min(hi, node.split), node.feature, node.child});
  };
  const auto arrive = [&](std::int32_t index) {
    visit(static_cast<std::size_t>(index), static_cast<const Box&>(open));
    const Node& node = tree.nodes[static_cast<std::size_t>(index)];
    if (!node.is_leaf()) descend(node);
  };
  arrive(0);
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    open.lo[static_cast<std::size_t>(step.dim)] = step.lo;
    open.hi[static_cast<std::size_t>(step.dim)] = step.hi;
    if (step.node != kOnlyRestore) arrive(step.node);
  }
}

}  // namespace policyforest
