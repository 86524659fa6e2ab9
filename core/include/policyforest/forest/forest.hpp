// Regression trees in flat arrays, and forests of them (§ Regression Forests).
//
// A node takes 16 bytes and the two children of a node are adjacent, so a descent takes one load and one
// comparison per level. `x[feature] <= split` goes to the lower child, everywhere in this library. Children
// come after their parent in the array: a forest is acyclic by construction, a forward loop meets parents
// first, a backward loop meets children first, and no traversal needs recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace policyforest {

struct Node {
  double split;          // inner node: the threshold; leaf: its constant value (0 where leaves are linear)
  std::int32_t child;    // inner node: index of the lower child in its tree (upper = child + 1); leaf: its
                         // ordinal among the leaves of its tree, counted in the order of the nodes
  std::int32_t feature;  // inner node: the input that is compared; leaf: -1

  bool is_leaf() const { return feature < 0; }
};
static_assert(sizeof(Node) == 16);

// A closed axis-parallel box; infinite sides are allowed where an operation does not need volumes.
struct Box {
  std::vector<double> lo, hi;
  std::size_t dims() const { return lo.size(); }
};

// A view of one tree. `coefficients` is empty for constant leaves; for linear ones it holds one row
// (w_0 … w_{D-1}, c) per leaf, and the leaf predicts ((c + w_0 x_0) + w_1 x_1) + … in this order.
struct TreeView {
  std::span<const Node> nodes;
  std::span<const double> coefficients;
  std::size_t n_inputs = 0;

  bool linear() const { return !coefficients.empty(); }
  std::span<const double> leaf_model(const Node& leaf) const {
    return coefficients.subspan(static_cast<std::size_t>(leaf.child) * (n_inputs + 1), n_inputs + 1);
  }
};

// A tree under construction or the result of an operation on trees.
struct Tree {
  std::vector<Node> nodes;
  std::vector<double> coefficients;
  std::size_t n_inputs = 0;

  TreeView view() const { return {nodes, coefficients, n_inputs}; }
};

// The value of a leaf at x (`x` has n_inputs entries; it is not read if leaves are constant).
double leaf_value(const TreeView& tree, const Node& leaf, const double* x);

// The leaf that x falls into, and the tree's prediction there.
const Node& find_leaf(const TreeView& tree, const double* x);
double predict(const TreeView& tree, const double* x);

std::size_t count_leaves(const TreeView& tree);
std::size_t depth(const TreeView& tree);  // of a single leaf: 0

// Numbers the leaves of a tree in the order of its nodes; `coefficients` must be in that order already.
void number_leaves(std::vector<Node>& nodes);

// M trees over the same inputs, averaged: F(x) = sum_k t_k(x) / M, summed in the order of the trees.
class Forest {
 public:
  Forest() = default;
  // Takes untrusted arrays, checks all of them in O(nodes), and throws std::invalid_argument, naming the array,
  // if they do not describe a forest. node_offsets and leaf_offsets have M + 1 entries.
  Forest(std::vector<Node> nodes, std::vector<std::int64_t> node_offsets, std::vector<double> coefficients, Box box);
  // Joins trees that this library made, and frees the memory of each after it is copied.
  Forest(std::vector<Tree> trees, Box box);
  // All trees of one or more forests over the same inputs, with leaves of the same kind; the box is that of the first.
  explicit Forest(std::span<const Forest* const> parts);

  std::size_t n_trees() const { return node_offsets_.size() - 1; }
  std::size_t n_inputs() const { return box_.dims(); }
  bool linear() const { return !coefficients_.empty(); }
  const Box& box() const { return box_; }
  TreeView tree(std::size_t k) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::int64_t>& node_offsets() const { return node_offsets_; }
  const std::vector<std::int64_t>& leaf_offsets() const { return leaf_offsets_; }
  const std::vector<double>& coefficients() const { return coefficients_; }

  std::size_t n_leaves() const { return static_cast<std::size_t>(leaf_offsets_.back()); }
  std::size_t depth() const;
  // The plain prediction, tree by tree; predictor.hpp has the fast version, which returns the same bits.
  double predict(const double* x) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::int64_t> node_offsets_{0};
  std::vector<std::int64_t> leaf_offsets_{0};
  std::vector<double> coefficients_;
  Box box_;
};

}  // namespace policyforest
