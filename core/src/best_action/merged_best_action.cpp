// The paper's method for the best action: the best leaf of one pruned tree over the actions.
#include "best_action/action_cell.hpp"
#include "forest/box_walk.hpp"
#include "policyforest/algebra/algebra.hpp"
#include "policyforest/best_action/best_action.hpp"

namespace policyforest {

BestAction merged_best_action(const Forest& forest, std::span<const double> x, std::span<const std::uint8_t> is_action,
                              std::size_t max_leaves, const std::atomic<bool>* cancel) {
  const Forest actions = project(forest, x, state_inputs(forest, is_action));
  const Tree merged = average(actions, max_leaves, {}, cancel);
  const TreeView tree = merged.view();
  BestAction best{};
  std::vector<double> best_corner;
  walk_boxes(tree, actions.box(), [&](std::size_t i, const Box& cell) {
    if (!tree.nodes[i].is_leaf() || is_empty(cell)) return;  // a single tree, not merged, may have leaves outside
    std::span<const double> slope;
    if (tree.linear()) slope = tree.leaf_model(tree.nodes[i]).first(cell.dims());
    BestAction candidate = choose_in_cell(cell, slope, actions.box());
    candidate.value = leaf_value(tree, tree.nodes[i], candidate.action.data());
    const bool better =
        best_corner.empty() || candidate.value > best.value || (candidate.value == best.value && cell.lo < best_corner);
    if (!better) return;
    best = std::move(candidate);
    best_corner = cell.lo;
  });
  return best;
}

}  // namespace policyforest
