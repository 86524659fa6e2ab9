// Operations that turn trees into trees: projection (Algorithm 1), averaging (Algorithm 2) and pruning
// (Algorithm 3). All use explicit stacks, so a degenerate tree of a million levels cannot overflow the call stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policyforest/forest/forest.hpp"

namespace policyforest {

// Algorithm 1. Fixes the inputs d with fixed[d] != 0 at x[d] and returns the tree over the other inputs, in
// their order. Where s_d == v the lower child is taken, as in prediction (the paper's conditions disagree).
Tree project(const TreeView& tree, std::span<const double> x, std::span<const std::uint8_t> fixed);
Forest project(const Forest& forest, std::span<const double> x, std::span<const std::uint8_t> fixed);

// Algorithm 2. The tree t' with t'(x) = (w1 t1(x) + w2 t2(x)) / (w1 + w2) for every x of the closed box; some
// point of the box reaches each of its nodes. Splits of the two trees alternate, as in the paper. Throws
// std::invalid_argument when the result would have more than max_nodes nodes, and std::runtime_error
// ("cancelled") soon after *cancel becomes true.
inline constexpr std::size_t kMaxAverageNodes = std::size_t{1} << 27;
Tree average(const TreeView& t1, const TreeView& t2, double w1, double w2, const Box& box,
             std::size_t max_nodes = kMaxAverageNodes, const std::atomic<bool>* cancel = nullptr);

// Merges all trees of a forest into one, one after the other. The average so far has the sum of the weights of its
// trees (empty: 1 each; trees of weight 0 are left out) and is pruned to max_leaves after each merge (0: never
// pruned, which gives the exact average and needs no finite box).
Tree average(const Forest& forest, std::size_t max_leaves, std::span<const double> weights = {},
             const std::atomic<bool>* cancel = nullptr);

// Algorithm 3. Removes the splits of smallest loss until at most max_leaves (>= 1) leaves are left. The loss
// of a node with two leaves is the integral over its box of |phi' - phi| for constant leaves and of
// (phi' - phi)^2 for linear ones, over the dimensions in which the box has width, in units of the whole box;
// ties go to the node that comes first. In a dimension without width all of a node's volume is on the side
// that holds its one value. The loss of a node without volume is 0, and its leaves are averaged unweighted. A
// tree that is small enough already is returned unchanged; otherwise the box must be finite in each dimension in
// which the tree splits or a linear leaf has a nonzero coefficient.
Tree prune(const TreeView& tree, const Box& box, std::size_t max_leaves);

}  // namespace policyforest
