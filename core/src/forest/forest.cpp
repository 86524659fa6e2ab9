#include "policyforest/forest/forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace policyforest {

namespace {

[[noreturn]] void broken(const char* array, std::size_t tree, std::size_t node, const std::string& why) {
  throw std::invalid_argument(std::string(array) + ": node " + std::to_string(node) + " of tree " +
                              std::to_string(tree) + " " + why);
}

void check_offsets(const std::vector<std::int64_t>& offsets, std::size_t n_nodes) {
  if (offsets.size() < 2) throw std::invalid_argument("node_offsets: a forest needs at least one tree");
  if (offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(n_nodes))
    throw std::invalid_argument("node_offsets: must run from 0 to the number of nodes (" + std::to_string(n_nodes) +
                                ")");
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    // First require ascending offsets within [0, n_nodes], so that the difference below cannot overflow.
    if (offsets[k + 1] <= offsets[k] || offsets[k + 1] > static_cast<std::int64_t>(n_nodes))
      throw std::invalid_argument("node_offsets: tree " + std::to_string(k) + " has no nodes or too many");
    if (offsets[k + 1] - offsets[k] > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("node_offsets: tree " + std::to_string(k) + " has more than 2^31 - 1 nodes");
  }
}

void check_box(const Box& box) {
  if (box.dims() == 0 || box.lo.size() != box.hi.size())
    throw std::invalid_argument("box: must have at least one input, and a lower and an upper bound for each");
  for (std::size_t d = 0; d < box.dims(); ++d)
    if (!(box.lo[d] <= box.hi[d]))
      throw std::invalid_argument("box: dimension " + std::to_string(d) + " has lo " + std::to_string(box.lo[d]) +
                                  " and hi " + std::to_string(box.hi[d]) +
                                  "; lo must not exceed hi and neither may be NaN");
}

// Each node except the root must be the child of exactly one node before it. Children come in pairs, so it is
// enough to check that each pair appears exactly once.
std::size_t check_tree(std::span<const Node> nodes, std::size_t tree, std::size_t n_inputs, bool linear) {
  std::vector<std::uint8_t> reached(nodes.size(), 0);
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (i > 0 && !reached[i]) broken("child", tree, i, "is reached by no node before it");
    if (!std::isfinite(node.split)) broken("split", tree, i, "holds NaN or infinity");
    if (node.feature < -1 || node.feature >= static_cast<std::int64_t>(n_inputs))
      broken(
          "feature", tree, i,
          "compares input " + std::to_string(node.feature) + " of " + std::to_string(n_inputs) + " (leaves have -1)");
    if (node.is_leaf()) {
      if (node.child != static_cast<std::int64_t>(leaves))
        broken("child", tree, i,
               "is leaf number " + std::to_string(leaves) + " of its tree but holds " + std::to_string(node.child));
      if (linear && node.split != 0.0) broken("split", tree, i, "is a linear leaf and must hold 0");
      ++leaves;
      continue;
    }
    const std::int64_t child = node.child;
    if (child <= static_cast<std::int64_t>(i) || child + 1 >= static_cast<std::int64_t>(nodes.size()))
      broken("child", tree, i,
             "has children at " + std::to_string(child) + "; they must come after it and before " +
                 std::to_string(nodes.size()));
    const auto lower = static_cast<std::size_t>(child);
    if (reached[lower] || reached[lower + 1]) broken("child", tree, i, "shares a child with another node");
    reached[lower] = reached[lower + 1] = 1;
  }
  return leaves;
}

}  // namespace

double leaf_value(const TreeView& tree, const Node& leaf, const double* x) {
  if (!tree.linear()) return leaf.split;
  const auto model = tree.leaf_model(leaf);
  double value = model[tree.n_inputs];
  for (std::size_t d = 0; d < tree.n_inputs; ++d) value += model[d] * x[d];
  return value;
}

const Node& find_leaf(const TreeView& tree, const double* x) {
  const Node* node = tree.nodes.data();
  while (!node->is_leaf()) node = tree.nodes.data() + node->child + (x[node->feature] <= node->split ? 0 : 1);
  return *node;
}

double predict(const TreeView& tree, const double* x) { return leaf_value(tree, find_leaf(tree, x), x); }

std::size_t count_leaves(const TreeView& tree) { return (tree.nodes.size() + 1) / 2; }

std::size_t depth(const TreeView& tree) {
  std::vector<std::int32_t> level(tree.nodes.size(), 0);
  std::int32_t deepest = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    deepest = std::max(deepest, level[i]);
    if (tree.nodes[i].is_leaf()) continue;
    const auto child = static_cast<std::size_t>(tree.nodes[i].child);
    level[child] = level[child + 1] = level[i] + 1;
  }
  return static_cast<std::size_t>(deepest);
}

void number_leaves(std::vector<Node>& nodes) {
  std::int32_t leaves = 0;
  for (Node& node : nodes)
    if (node.is_leaf()) node.child = leaves++;
}

Forest::Forest(std::vector<Node> nodes, std::vector<std::int64_t> node_offsets, std::vector<double> coefficients,
               Box box)
    : nodes_(std::move(nodes)),
      node_offsets_(std::move(node_offsets)),
      coefficients_(std::move(coefficients)),
      box_(std::move(box)) {
  check_box(box_);
  check_offsets(node_offsets_, nodes_.size());
  for (std::size_t k = 0; k < n_trees(); ++k) {
    const auto begin = static_cast<std::size_t>(node_offsets_[k]);
    const auto end = static_cast<std::size_t>(node_offsets_[k + 1]);
    const std::size_t leaves = check_tree({nodes_.data() + begin, end - begin}, k, n_inputs(), !coefficients_.empty());
    leaf_offsets_.push_back(leaf_offsets_.back() + static_cast<std::int64_t>(leaves));
  }
  if (!coefficients_.empty() && coefficients_.size() != n_leaves() * (n_inputs() + 1))
    throw std::invalid_argument("coefficients: " + std::to_string(coefficients_.size()) + " numbers for " +
                                std::to_string(n_leaves()) + " leaves of " + std::to_string(n_inputs() + 1));
  if (!std::all_of(coefficients_.begin(), coefficients_.end(), [](double c) { return std::isfinite(c); }))
    throw std::invalid_argument("coefficients: hold NaN or infinity");
}

Forest::Forest(std::vector<Tree> trees, Box box) : box_(std::move(box)) {
  std::size_t n_nodes = 0, n_coefficients = 0;
  for (const Tree& tree : trees) {
    n_nodes += tree.nodes.size();
    n_coefficients += tree.coefficients.size();
  }
  nodes_.reserve(n_nodes);
  coefficients_.reserve(n_coefficients);
  for (Tree& tree : trees) {
    nodes_.insert(nodes_.end(), tree.nodes.begin(), tree.nodes.end());
    coefficients_.insert(coefficients_.end(), tree.coefficients.begin(), tree.coefficients.end());
    node_offsets_.push_back(static_cast<std::int64_t>(nodes_.size()));
    leaf_offsets_.push_back(leaf_offsets_.back() + static_cast<std::int64_t>(count_leaves(tree.view())));
    tree = Tree{};
  }
}

Forest::Forest(std::span<const Forest* const> parts) {
  if (parts.empty()) throw std::invalid_argument("parts: is empty; must hold at least one forest");
  box_ = parts[0]->box_;
  std::size_t n_nodes = 0, n_coefficients = 0;
  for (const Forest* part : parts) {
    if (part->n_inputs() != n_inputs() || part->linear() != parts[0]->linear())
      throw std::invalid_argument("parts: all forests must have the same inputs and the same kind of leaves");
    n_nodes += part->nodes_.size();
    n_coefficients += part->coefficients_.size();
  }
  nodes_.reserve(n_nodes);
  coefficients_.reserve(n_coefficients);
  for (const Forest* part : parts) {
    const std::int64_t first_node = node_offsets_.back(), first_leaf = leaf_offsets_.back();
    nodes_.insert(nodes_.end(), part->nodes_.begin(), part->nodes_.end());
    coefficients_.insert(coefficients_.end(), part->coefficients_.begin(), part->coefficients_.end());
    for (std::size_t k = 1; k <= part->n_trees(); ++k) {
      node_offsets_.push_back(first_node + part->node_offsets_[k]);
      leaf_offsets_.push_back(first_leaf + part->leaf_offsets_[k]);
    }
  }
}

TreeView Forest::tree(std::size_t k) const {
  const auto node = static_cast<std::size_t>(node_offsets_[k]);
  const auto n_nodes = static_cast<std::size_t>(node_offsets_[k + 1]) - node;
  TreeView view{{nodes_.data() + node, n_nodes}, {}, n_inputs()};
  if (linear()) {
    const auto leaf = static_cast<std::size_t>(leaf_offsets_[k]);
    const auto n_leaves = static_cast<std::size_t>(leaf_offsets_[k + 1]) - leaf;
    view.coefficients = {coefficients_.data() + leaf * (n_inputs() + 1), n_leaves * (n_inputs() + 1)};
  }
  return view;
}

std::size_t Forest::depth() const {
  std::size_t deepest = 0;
  for (std::size_t k = 0; k < n_trees(); ++k) deepest = std::max(deepest, policyforest::depth(tree(k)));
  return deepest;
}

double Forest::predict(const double* x) const {
  double sum = 0.0;
  for (std::size_t k = 0; k < n_trees(); ++k) sum += policyforest::predict(tree(k), x);
  return sum / static_cast<double>(n_trees());
}

}  // namespace policyforest
