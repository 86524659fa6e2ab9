#include "best_action/action_cell.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "forest/box_walk.hpp"

namespace policyforest {

namespace {

// The best coordinate of (lo, hi] for a function with this slope; the middle if the function is constant. `border`
// is the lower bound of the action box; lo may be one double below it.
double best_coordinate(double slope, double lo, double hi, double border) {
  if (slope > 0.0) return hi;
  if (slope < 0.0) return first_inside(lo);
  const double from = std::max(lo, border), width = hi - from;
  const double middle = std::isfinite(width) ? from + width / 2 : from / 2 + hi / 2;
  return std::max(middle, first_inside(lo));
}

// Calls visit(node) for the nodes of a tree that meet the box.
template <class Visit>
void visit_meeting(const TreeView& tree, const Box& open, std::vector<std::int32_t>& pending, Visit&& visit) {
  pending.assign(1, 0);
  while (!pending.empty()) {
    const Node& node = tree.nodes[static_cast<std::size_t>(pending.back())];
    pending.pop_back();
    visit(node);
    if (node.is_leaf()) continue;
    if (reaches_upper(open, node)) pending.push_back(node.child + 1);
    if (reaches_lower(open, node)) pending.push_back(node.child);
  }
}

// The lowest threshold of dimension d inside the box; without one, the upper side of the box.
double next_threshold(const Forest& actions, const Box& open, std::size_t d) {
  double next = open.hi[d];
  std::vector<std::int32_t> pending;
  for (std::size_t k = 0; k < actions.n_trees(); ++k)
    visit_meeting(actions.tree(k), open, pending, [&](const Node& node) {
      if (node.feature == static_cast<std::int32_t>(d) && open.lo[d] < node.split) next = std::min(next, node.split);
    });
  return next;
}

// A lower bound on the forest's values in the box: the mean of the smallest values of the trees.
double least_value(const Forest& actions, const Box& open) {
  double sum = 0.0;
  std::vector<std::int32_t> pending;
  for (std::size_t k = 0; k < actions.n_trees(); ++k) {
    double least = std::numeric_limits<double>::infinity();
    visit_meeting(actions.tree(k), open, pending, [&](const Node& node) {
      if (node.is_leaf()) least = std::min(least, node.split);
    });
    sum += least;
  }
  return sum / static_cast<double>(actions.n_trees());
}

}  // namespace

std::vector<std::uint8_t> state_inputs(const Forest& forest, std::span<const std::uint8_t> is_action) {
  if (forest.n_trees() == 0) throw std::invalid_argument("forest: has no trees; must have at least one");
  if (is_action.size() != forest.n_inputs())
    throw std::invalid_argument("is_action: has " + std::to_string(is_action.size()) +
                                " entries; must have one per input, " + std::to_string(forest.n_inputs()));
  std::vector<std::uint8_t> fixed;
  for (std::size_t d = 0; d < is_action.size(); ++d) {
    fixed.push_back(is_action[d] ? 0 : 1);
    const double lo = forest.box().lo[d], hi = forest.box().hi[d];
    if (is_action[d] && (!std::isfinite(lo) || !std::isfinite(hi)))
      throw std::invalid_argument("box: action input " + std::to_string(d) + " runs from " + std::to_string(lo) +
                                  " to " + std::to_string(hi) + "; actions need finite bounds");
  }
  if (std::find(fixed.begin(), fixed.end(), 0) == fixed.end())
    throw std::invalid_argument("is_action: marks no input; must mark at least one");
  return fixed;
}

BestAction choose_in_cell(const Box& cell, std::span<const double> slope, const Box& action_box) {
  BestAction best{};
  for (std::size_t d = 0; d < cell.dims(); ++d) {
    const double border = action_box.lo[d];
    best.action.push_back(best_coordinate(slope.empty() ? 0.0 : slope[d], cell.lo[d], cell.hi[d], border));
    best.lo.push_back(std::max(cell.lo[d], border));
    best.hi.push_back(cell.hi[d]);
  }
  return best;
}

Box cell_at(const Forest& actions, const std::vector<double>& point) {
  Box cell = open_below(actions.box());
  for (std::size_t k = 0; k < actions.n_trees(); ++k) {
    const TreeView tree = actions.tree(k);
    const Node* node = tree.nodes.data();
    while (!node->is_leaf()) {
      const auto d = static_cast<std::size_t>(node->feature);
      const bool upper = !(point[d] <= node->split);
      if (upper)
        cell.lo[d] = std::max(cell.lo[d], node->split);
      else
        cell.hi[d] = std::min(cell.hi[d], node->split);
      node = tree.nodes.data() + node->child + (upper ? 1 : 0);
    }
  }
  return cell;
}

Box extend_plateau(const Forest& actions, Box cell, double maximum) {
  for (std::size_t d = 0; d < cell.dims(); ++d) {
    while (cell.hi[d] < actions.box().hi[d]) {
      Box beyond = cell;
      beyond.lo[d] = cell.hi[d];
      beyond.hi[d] = actions.box().hi[d];
      beyond.hi[d] = next_threshold(actions, beyond, d);
      if (least_value(actions, beyond) != maximum) break;
      cell.hi[d] = beyond.hi[d];
    }
  }
  return cell;
}

}  // namespace policyforest
