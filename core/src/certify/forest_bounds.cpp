#include "policyforest/certify/forest_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace policyforest {

namespace {

constexpr double kUnit = 0x1p-53;

struct Line {
  const double* weights;  // null: constant
  double constant;
};

Line line_of(const TreeView& tree, const Node& leaf) {
  if (!tree.linear()) return {nullptr, leaf.split};
  const auto model = tree.leaf_model(leaf);
  return {model.data(), model[tree.n_inputs]};
}

// The volume of a part divided by that of the box; a side without length counts as 1.
double share(const double* part, const double* lo, const double* hi, std::size_t n) {
  double product = 1.0;
  for (std::size_t d = 0; d < n; ++d)
    if (hi[d] > lo[d]) product *= std::max((part[n + d] - part[d]) / (hi[d] - lo[d]), 1e-6);
  return product;
}

}  // namespace

// Fills room.leaves and, with one row (lo …, hi …) per leaf, room.parts: the part of the box that is in the leaf.
void ForestBounds::find_leaves(const TreeView& tree, const double* lo, const double* hi, Room& room) const {
  const std::size_t n = tree.n_inputs;
  room.leaves.clear();
  room.parts.clear();
  room.sides.assign(lo, lo + n);
  room.sides.insert(room.sides.end(), hi, hi + n);
  room.steps.assign(1, 0);
  // `sides` is a stack of boxes, parallel to `steps`, a stack of nodes.
  while (!room.steps.empty()) {
    const std::size_t index = room.steps.back(), top = room.sides.size() - 2 * n;
    room.steps.pop_back();
    const Node& node = tree.nodes[index];
    if (node.is_leaf()) {
      room.leaves.push_back(&node);
      room.parts.insert(room.parts.end(), room.sides.begin() + static_cast<std::ptrdiff_t>(top), room.sides.end());
      room.sides.resize(top);
      continue;
    }
    const auto d = static_cast<std::size_t>(node.feature), child = static_cast<std::size_t>(node.child);
    const double low = room.sides[top + d], high = room.sides[top + n + d];
    if (!(node.split < high)) {
      room.steps.push_back(child);
    } else if (!(low < node.split)) {
      room.steps.push_back(child + 1);
    } else {
      room.sides.resize(top + 4 * n);
      std::copy_n(room.sides.begin() + static_cast<std::ptrdiff_t>(top), 2 * n,
                  room.sides.begin() + static_cast<std::ptrdiff_t>(top + 2 * n));
      room.sides[top + d] = node.split;          // the upper part, visited second
      room.sides[top + 3 * n + d] = node.split;  // the lower part
      room.steps.push_back(child + 1);
      room.steps.push_back(child);
    }
  }
}

ForestRange ForestBounds::bound(const double* lo, const double* hi, double* slopes, Room& room) const {
  const std::size_t n = forest_.n_inputs(), n_trees = forest_.n_trees();
  std::fill_n(slopes, n, 0.0);
  double low_sum = 0.0, high_sum = 0.0, size_sum = 0.0;
  room.mean.assign(n, 0.0);
  for (std::size_t k = 0; k < n_trees; ++k) {
    const TreeView tree = forest_.tree(k);
    find_leaves(tree, lo, hi, room);
    std::fill(room.mean.begin(), room.mean.end(), 0.0);
    double total = 0.0;
    for (std::size_t i = 0; tree.linear() && i < room.leaves.size(); ++i) {
      const double weight = share(room.parts.data() + 2 * n * i, lo, hi, n);
      const Line line = line_of(tree, *room.leaves[i]);
      for (std::size_t d = 0; d < n; ++d) room.mean[d] += weight * line.weights[d];
      total += weight;
    }
    for (std::size_t d = 0; tree.linear() && d < n; ++d) room.mean[d] /= total;
    double low = std::numeric_limits<double>::infinity(), high = -low, size = 0.0;
    for (std::size_t i = 0; i < room.leaves.size(); ++i) {
      const double* part = room.parts.data() + 2 * n * i;
      const Line line = line_of(tree, *room.leaves[i]);
      double least = line.constant, most = line.constant, magnitude = std::abs(line.constant);
      for (std::size_t d = 0; line.weights && d < n; ++d) {
        const double slope = line.weights[d] - room.mean[d], a = slope * part[d], b = slope * part[n + d];
        const double far = std::max(std::abs(part[d]), std::abs(part[n + d]));
        least += std::min(a, b);
        most += std::max(a, b);
        magnitude += (std::abs(line.weights[d]) + 2 * std::abs(room.mean[d])) * far;
      }
      low = std::min(low, least);
      high = std::max(high, most);
      size = std::max(size, magnitude);
    }
    low_sum += low;
    high_sum += high;
    size_sum += size;
    for (std::size_t d = 0; d < n; ++d) slopes[d] += room.mean[d];
  }
  const auto count = static_cast<double>(n_trees);
  for (std::size_t d = 0; d < n; ++d) slopes[d] /= count;
  // Each sum above has at most n_trees + 3 n + 8 roundings, none larger than the magnitudes added.
  const double rounding = 4.0 * kUnit * (count + 3.0 * static_cast<double>(n) + 8.0) * (size_sum / count);
  return {{low_sum / count - rounding, high_sum / count + rounding}, size_sum / count};
}

}  // namespace policyforest
