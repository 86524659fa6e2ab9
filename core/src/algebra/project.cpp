// Algorithm 1: the tree over a alone that a tree over (s, a) becomes for a given s.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "policyforest/algebra/algebra.hpp"

namespace policyforest {

namespace {

void check_sizes(std::size_t n_inputs, std::span<const double> x, std::span<const std::uint8_t> fixed) {
  if (x.size() != n_inputs)
    throw std::invalid_argument("x: has " + std::to_string(x.size()) + " entries; must have one per input, " +
                                std::to_string(n_inputs));
  if (fixed.size() != n_inputs)
    throw std::invalid_argument("fixed: has " + std::to_string(fixed.size()) + " entries; must have one per input, " +
                                std::to_string(n_inputs));
}

// The position of every free input among the free ones, -1 for the fixed ones.
std::vector<std::int32_t> renumber_inputs(std::span<const std::uint8_t> fixed) {
  std::vector<std::int32_t> position(fixed.size(), -1);
  std::int32_t free_inputs = 0;
  for (std::size_t d = 0; d < fixed.size(); ++d)
    if (!fixed[d]) position[d] = free_inputs++;
  return position;
}

// The first node at or below `node` that a fixed input does not decide.
const Node& skip_decided(const TreeView& tree, const Node* node, std::span<const double> x,
                         std::span<const std::uint8_t> fixed) {
  while (!node->is_leaf() && fixed[static_cast<std::size_t>(node->feature)])
    node = tree.nodes.data() + node->child + (x[static_cast<std::size_t>(node->feature)] <= node->split ? 0 : 1);
  return *node;
}

// Appends (w of the free inputs …, c + w_d s_d of the fixed ones …).
void append_projected_model(std::span<const double> model, std::span<const double> x,
                            std::span<const std::uint8_t> fixed, std::vector<double>& coefficients) {
  double constant = model[fixed.size()];
  for (std::size_t d = 0; d < fixed.size(); ++d) {
    if (fixed[d])
      constant += model[d] * x[d];
    else
      coefficients.push_back(model[d]);
  }
  coefficients.push_back(constant);
}

Tree project_renumbered(const TreeView& tree, std::span<const double> x, std::span<const std::uint8_t> fixed,
                        std::span<const std::int32_t> position, std::size_t n_free) {
  Tree result{{Node{}}, {}, n_free};
  std::vector<const Node*> source{tree.nodes.data()};  // the source of every node of the result
  // The result is its own queue: a node's children are appended behind it before the loop gets there.
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const Node& node = skip_decided(tree, source[i], x, fixed);
    result.nodes[i] = node;
    if (node.is_leaf()) {
      if (tree.linear()) append_projected_model(tree.leaf_model(node), x, fixed, result.coefficients);
      continue;
    }
    result.nodes[i].feature = position[static_cast<std::size_t>(node.feature)];
    result.nodes[i].child = static_cast<std::int32_t>(result.nodes.size());
    result.nodes.resize(result.nodes.size() + 2);
    source.push_back(tree.nodes.data() + node.child);
    source.push_back(tree.nodes.data() + node.child + 1);
  }
  number_leaves(result.nodes);
  return result;
}

std::size_t count_free(std::span<const std::uint8_t> fixed) {
  std::size_t n_free = 0;
  for (const std::uint8_t f : fixed) n_free += f ? 0 : 1;
  return n_free;
}

}  // namespace

Tree project(const TreeView& tree, std::span<const double> x, std::span<const std::uint8_t> fixed) {
  check_sizes(tree.n_inputs, x, fixed);
  return project_renumbered(tree, x, fixed, renumber_inputs(fixed), count_free(fixed));
}

Forest project(const Forest& forest, std::span<const double> x, std::span<const std::uint8_t> fixed) {
  check_sizes(forest.n_inputs(), x, fixed);
  const std::vector<std::int32_t> position = renumber_inputs(fixed);
  std::vector<Tree> trees;
  trees.reserve(forest.n_trees());
  for (std::size_t k = 0; k < forest.n_trees(); ++k)
    trees.push_back(project_renumbered(forest.tree(k), x, fixed, position, count_free(fixed)));
  Box box;
  for (std::size_t d = 0; d < fixed.size(); ++d) {
    if (fixed[d]) continue;
    box.lo.push_back(forest.box().lo[d]);
    box.hi.push_back(forest.box().hi[d]);
  }
  return Forest(std::move(trees), std::move(box));
}

}  // namespace policyforest
