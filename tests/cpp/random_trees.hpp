// Random trees and forests whose thresholds and boxes are small integers, so that equal thresholds, splits
// that cannot be reached and points exactly on a threshold are common; and the points that tell them apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "policyforest/forest/forest.hpp"

namespace random_trees {

using namespace policyforest;
using Engine = std::mt19937_64;

inline int integer(Engine& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// Values from -n_values/2 on: few of them make ties. Thresholds are from -1 … 9 around the box 0 … 8.
inline Tree tree(Engine& random, std::size_t n_inputs, std::size_t n_splits, bool linear, int n_values = 9) {
  Tree result{{Node{0.0, 0, -1}}, {}, n_inputs};
  while (n_splits-- > 0) {
    std::size_t leaf;
    do leaf = random() % result.nodes.size();
    while (!result.nodes[leaf].is_leaf());
    const auto child = static_cast<std::int32_t>(result.nodes.size());
    const int dim = integer(random, 0, static_cast<int>(n_inputs) - 1);
    result.nodes[leaf] = {static_cast<double>(integer(random, -1, 9)), child, dim};
    result.nodes.resize(result.nodes.size() + 2, {0.0, 0, -1});
  }
  number_leaves(result.nodes);
  for (Node& node : result.nodes) {
    if (!node.is_leaf()) continue;
    if (!linear) node.split = integer(random, 0, n_values - 1) - n_values / 2;
    for (std::size_t d = 0; linear && d <= n_inputs; ++d)
      result.coefficients.push_back(integer(random, 0, n_values - 1) - n_values / 2);
  }
  return result;
}

inline Box box(std::size_t n_inputs, double lo = 0.0, double hi = 8.0) {
  return {std::vector<double>(n_inputs, lo), std::vector<double>(n_inputs, hi)};
}

inline Forest forest(Engine& random, std::size_t n_trees, std::size_t n_inputs, std::size_t n_splits, bool linear,
                     int n_values = 9) {
  std::vector<Tree> trees;
  while (trees.size() < n_trees) trees.push_back(tree(random, n_inputs, n_splits, linear, n_values));
  return Forest(trees, box(n_inputs));
}

// Calls visit(x) for all points of a box of integers whose coordinates are multiples of 1/2: at least one in
// every cell of trees with integer thresholds, in lexicographic order.
template <class Visit>
void for_half_integers(const Box& box, Visit&& visit) {
  std::vector<double> x = box.lo;
  for (;;) {
    visit(static_cast<const std::vector<double>&>(x));
    std::size_t d = x.size();
    while (d > 0 && x[d - 1] == box.hi[d - 1]) {
      x[d - 1] = box.lo[d - 1];
      --d;
    }
    if (d == 0) return;
    x[d - 1] += 0.5;
  }
}

// Whether a tree would pass the checks that arrays from anywhere have to pass.
inline bool well_formed(const Tree& tree) {
  if (tree.n_inputs == 0) return tree.nodes.size() == 1;
  try {
    const auto n_nodes = static_cast<std::int64_t>(tree.nodes.size());
    Forest(tree.nodes, {0, n_nodes}, tree.coefficients, box(tree.n_inputs));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

inline bool same(const Tree& a, const Tree& b) {
  if (a.nodes.size() != b.nodes.size() || a.coefficients != b.coefficients) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (a.nodes[i].split != b.nodes[i].split || a.nodes[i].child != b.nodes[i].child ||
        a.nodes[i].feature != b.nodes[i].feature)
      return false;
  return true;
}

}  // namespace random_trees
