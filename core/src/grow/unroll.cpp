#include "grow/unroll.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace policyforest {

Tree unroll(const Tree& tree, std::size_t d, double cut, double lo, double hi) {
  const double length = hi - lo;
  const TreeView view = tree.view();
  Tree result;
  result.n_inputs = tree.n_inputs;
  result.nodes.push_back(
      {std::nextafter(cut, -std::numeric_limits<double>::infinity()), 1, static_cast<std::int32_t>(d)});
  result.nodes.resize(3);

  struct Task {
    std::int32_t from, to;
    bool below;  // below the cut, where thresholds and intercepts move by one length
  };
  std::vector<Task> tasks{{0, 2, false}, {0, 1, true}};
  std::vector<std::pair<const Node*, bool>> origin(3);  // the origin of each leaf of the result
  while (!tasks.empty()) {
    Task task = tasks.back();
    tasks.pop_back();
    const Node* node = &tree.nodes[static_cast<std::size_t>(task.from)];
    while (!node->is_leaf() && node->feature == static_cast<std::int32_t>(d)) {
      if (task.below && node->split < hi)  // everything here lies above hi on the cut circle
        node = &tree.nodes[static_cast<std::size_t>(node->child) + 1];
      else if (!task.below && node->split >= hi)
        node = &tree.nodes[static_cast<std::size_t>(node->child)];
      else
        break;
    }
    const auto to = static_cast<std::size_t>(task.to);
    if (node->is_leaf()) {
      result.nodes[to] = *node;
      origin[to] = {node, task.below};
      continue;
    }
    const auto child = static_cast<std::int32_t>(result.nodes.size());
    const bool moved = task.below && node->feature == static_cast<std::int32_t>(d);
    result.nodes[to] = {moved ? node->split - length : node->split, child, node->feature};
    result.nodes.resize(result.nodes.size() + 2);
    origin.resize(result.nodes.size());
    tasks.push_back({node->child + 1, child + 1, task.below});
    tasks.push_back({node->child, child, task.below});
  }
  for (std::size_t i = 0; view.linear() && i < result.nodes.size(); ++i) {
    if (!result.nodes[i].is_leaf()) continue;
    const auto model = view.leaf_model(*origin[i].first);
    result.coefficients.insert(result.coefficients.end(), model.begin(), model.end());
    if (origin[i].second) result.coefficients.back() += model[d] * length;
  }
  number_leaves(result.nodes);
  return result;
}

}  // namespace policyforest
