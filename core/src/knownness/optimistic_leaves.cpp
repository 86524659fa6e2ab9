#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "forest/box_walk.hpp"
#include "policyforest/knownness/knownness.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

// The leaves of a tree, and the centres of their boxes, clipped to the box of the knownness forest.
struct LeafCentres {
  std::vector<std::size_t> nodes;
  std::vector<double> points;
};

LeafCentres leaf_centres(const TreeView& tree, const Box& box, const Box& within) {
  LeafCentres result;
  walk_boxes(tree, box, [&](std::size_t index, const Box& open) {
    if (!tree.nodes[index].is_leaf()) return;
    result.nodes.push_back(index);
    for (std::size_t d = 0; d < within.dims(); ++d) {
      const double lo = std::max(open.lo[d], within.lo[d]), hi = std::min(open.hi[d], within.hi[d]);
      result.points.push_back(std::clamp(lo + 0.5 * (hi - lo), within.lo[d], within.hi[d]));
    }
  });
  return result;
}

// The leaf becomes u optimistic + (1 - u) v.
void blend(Tree& tree, Node& leaf, double u, double optimistic) {
  if (tree.coefficients.empty()) {
    leaf.split = u * optimistic + (1.0 - u) * leaf.split;
    return;
  }
  double* model = tree.coefficients.data() + static_cast<std::size_t>(leaf.child) * (tree.n_inputs + 1);
  for (std::size_t d = 0; d <= tree.n_inputs; ++d) model[d] *= 1.0 - u;
  model[tree.n_inputs] += u * optimistic;
}

}  // namespace

Forest optimistic_leaves(const Forest& forest, const KnownnessForest& known, double optimistic, double fade,
                         std::size_t n_threads) {
  if (forest.n_inputs() != known.dims())
    throw std::invalid_argument("known: " + std::to_string(known.dims()) + " dimensions; must have " +
                                std::to_string(forest.n_inputs()));
  std::vector<Tree> trees(forest.n_trees());
  parallel_for(trees.size(), n_threads, [&] {
    return [&](std::size_t k) {
      const TreeView view = forest.tree(k);
      Tree& tree = trees[k];
      tree.nodes.assign(view.nodes.begin(), view.nodes.end());
      tree.coefficients.assign(view.coefficients.begin(), view.coefficients.end());
      tree.n_inputs = view.n_inputs;
      const LeafCentres centres = leaf_centres(view, forest.box(), known.box());
      std::vector<double> knownness(centres.nodes.size());
      known.knownness(centres.points.data(), knownness.size(), knownness.data());
      for (std::size_t i = 0; i < knownness.size(); ++i)
        blend(tree, tree.nodes[centres.nodes[i]], fade * (1.0 - knownness[i]), optimistic);
    };
  });
  return Forest(std::move(trees), forest.box());
}

}  // namespace policyforest
