// Trees written down by hand, trees as text, and the message that a call fails with.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "policyforest/forest/forest.hpp"

namespace hand_trees {

using namespace policyforest;

template <class Call>
std::string message(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline Node split(std::int32_t feature, double v, std::int32_t child) { return {v, child, feature}; }
inline Node leaf(double value) { return {value, 0, -1}; }

inline Tree make_tree(std::vector<Node> nodes, std::size_t n_inputs) {
  number_leaves(nodes);
  return {std::move(nodes), {}, n_inputs};
}

// "(x0<=5 lower upper)"
inline std::string text(const Tree& tree, std::int32_t i = 0) {
  const Node& node = tree.nodes[static_cast<std::size_t>(i)];
  std::string number = std::to_string(node.split);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  if (node.is_leaf()) return number;
  return "(x" + std::to_string(node.feature) + "<=" + number + " " + text(tree, node.child) + " " +
         text(tree, node.child + 1) + ")";
}

// A tree that goes one level deeper at every threshold 1 … n.
inline Tree chain(int n) {
  std::vector<Node> nodes;
  for (int i = 0; i < n; ++i) {
    nodes.push_back(split(0, n - i, 2 * i + 1));
    if (i > 0) nodes.push_back(leaf(n - i));
  }
  // Node 2i + 1 is the lower child of the i-th split, node 2i + 2 its upper child, a leaf.
  nodes.push_back(leaf(-1.0));
  nodes.push_back(leaf(0.0));
  return make_tree(std::move(nodes), 1);
}

}  // namespace hand_trees
