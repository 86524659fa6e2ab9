// Algorithm 3: removes the splits that change the prediction least, the one with the smallest loss first.
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "forest/box_walk.hpp"
#include "policyforest/algebra/algebra.hpp"

namespace policyforest {

namespace {

// A linear leaf's loss is an integral over all inputs that its model uses, not only over those that split.
void check_box(const TreeView& tree, const Box& box) {
  if (box.lo.size() != tree.n_inputs || box.hi.size() != tree.n_inputs)
    throw std::invalid_argument("box: has " + std::to_string(box.dims()) + " dimensions; the tree has " +
                                std::to_string(tree.n_inputs) + " inputs");
  std::vector<std::uint8_t> used(tree.n_inputs, 0);
  for (const Node& node : tree.nodes)
    if (!node.is_leaf()) used[static_cast<std::size_t>(node.feature)] = 1;
  for (std::size_t i = 0; i < tree.coefficients.size(); ++i) {
    const std::size_t d = i % (tree.n_inputs + 1);
    if (d < tree.n_inputs && tree.coefficients[i] != 0.0) used[d] = 1;
  }
  for (std::size_t d = 0; d < tree.n_inputs; ++d)
    if (used[d] && !std::isfinite(box.hi[d] - box.lo[d]))
      throw std::invalid_argument("box: dimension " + std::to_string(d) + " runs from " + std::to_string(box.lo[d]) +
                                  " to " + std::to_string(box.hi[d]) + "; pruning needs a finite width there");
}

class Pruner {
 public:
  Pruner(const TreeView& tree, const Box& box)
      : nodes_(tree.nodes.begin(), tree.nodes.end()),
        coefficients_(tree.coefficients.begin(), tree.coefficients.end()),
        n_inputs_(tree.n_inputs),
        parent_(nodes_.size(), -1),
        volume_(nodes_.size()),
        empty_(nodes_.size()) {
    if (!coefficients_.empty()) sides_.resize(nodes_.size() * n_inputs_);
    walk_boxes(tree, box, [&](std::size_t i, const Box& open) { measure(i, box, open); });
  }

  Tree run(std::size_t max_leaves) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (has_two_leaves(i)) push_candidate(i);
    for (std::size_t leaves = (nodes_.size() + 1) / 2; leaves > max_leaves; --leaves) {
      const std::size_t node = splits_.top().second;
      splits_.pop();
      merge_children(node);
      if (parent_[node] >= 0 && has_two_leaves(static_cast<std::size_t>(parent_[node])))
        push_candidate(static_cast<std::size_t>(parent_[node]));
    }
    return compacted();
  }

 private:
  using Candidate = std::pair<double, std::size_t>;  // (loss, node): ties go to the node that comes first

  // Computes the values of node i that the losses need: its share of the whole box and, if leaves are linear, the
  // centres and half widths of its sides.
  void measure(std::size_t i, const Box& box, const Box& open) {
    volume_[i] = share(box, open);
    empty_[i] = is_empty(open);
    if (!coefficients_.empty())
      for (std::size_t d = 0; d < n_inputs_; ++d) {
        const double half_width = width(box, open, d) / 2;
        sides_[i * n_inputs_ + d] = {std::max(open.lo[d], box.lo[d]) + half_width, half_width};
      }
    if (nodes_[i].is_leaf()) return;
    const auto lower = static_cast<std::size_t>(nodes_[i].child);
    parent_[lower] = parent_[lower + 1] = static_cast<std::int32_t>(i);
  }

  static double width(const Box& box, const Box& open, std::size_t d) {
    return open.hi[d] - std::max(open.lo[d], box.lo[d]);
  }

  // A dimension that is not cut counts as 1, even if it is infinite or has no width.
  static double share(const Box& box, const Box& open) {
    if (is_empty(open)) return 0.0;
    double product = 1.0;
    for (std::size_t d = 0; d < box.dims(); ++d) {
      const double part = width(box, open, d), whole = box.hi[d] - box.lo[d];
      if (part != whole) product *= part / whole;
    }
    return product;
  }

  bool has_two_leaves(std::size_t i) const {
    if (nodes_[i].is_leaf()) return false;
    const auto lower = static_cast<std::size_t>(nodes_[i].child);
    return nodes_[lower].is_leaf() && nodes_[lower + 1].is_leaf();
  }

  // Eq. 4, for a value or a coefficient. The clamp keeps the value of equal children, bit for
  // bit, and corrects the large rounding errors of volumes near 0.
  double averaged(double phi_l, double phi_u, std::size_t node) const {
    const auto lower = static_cast<std::size_t>(nodes_[node].child);
    if (volume_[node] == 0.0) return without_volume(phi_l, phi_u, lower);
    const double phi = (volume_[lower + 1] * phi_u + volume_[lower] * phi_l) / volume_[node];
    return std::clamp(phi, std::min(phi_l, phi_u), std::max(phi_l, phi_u));
  }

  // For two children on a face of the box: one that no point of the box reaches must not change the other.
  double without_volume(double phi_l, double phi_u, std::size_t lower) const {
    if (empty_[lower] != empty_[lower + 1]) return empty_[lower] ? phi_u : phi_l;
    return std::clamp(phi_l / 2 + phi_u / 2, std::min(phi_l, phi_u), std::max(phi_l, phi_u));
  }

  double* model(std::size_t leaf) {
    return coefficients_.data() + static_cast<std::size_t>(nodes_[leaf].child) * (n_inputs_ + 1);
  }

  void push_candidate(std::size_t node) {
    const auto lower = static_cast<std::size_t>(nodes_[node].child);
    splits_.emplace(change(lower, node) + change(lower + 1, node), node);
  }

  // The integral over the box of `leaf`, a child of `node`, of |phi' - phi|, or of its square: Eq.
  // (pruningLoss) without the sign that makes it vanish. A linear function's mean square over a box is its
  // square at the centre plus w_d^2 h_d^2 / 3 for every half width h_d.
  double change(std::size_t leaf, std::size_t node) {
    if (volume_[leaf] == 0.0) return 0.0;
    const auto lower = static_cast<std::size_t>(nodes_[node].child);
    if (coefficients_.empty()) {
      const double phi = averaged(nodes_[lower].split, nodes_[lower + 1].split, node);
      return volume_[leaf] * std::abs(phi - nodes_[leaf].split);
    }
    const double *phi_l = model(lower), *phi_u = model(lower + 1), *phi = model(leaf);
    double at_centre = averaged(phi_l[n_inputs_], phi_u[n_inputs_], node) - phi[n_inputs_];
    double spread = 0.0;
    for (std::size_t d = 0; d < n_inputs_; ++d) {
      const double w = averaged(phi_l[d], phi_u[d], node) - phi[d];
      if (w == 0.0) continue;  // this side may be infinite
      const auto [centre, half_width] = sides_[leaf * n_inputs_ + d];
      at_centre += w * centre;
      spread += (w * half_width) * (w * half_width) / 3;
    }
    return volume_[leaf] * (at_centre * at_centre + spread);
  }

  // The node becomes a leaf; a linear one takes over the row of its lower child.
  void merge_children(std::size_t node) {
    const auto lower = static_cast<std::size_t>(nodes_[node].child);
    const double value = averaged(nodes_[lower].split, nodes_[lower + 1].split, node);
    if (!coefficients_.empty()) {
      double *phi_l = model(lower), *phi_u = model(lower + 1);
      for (std::size_t d = 0; d <= n_inputs_; ++d) phi_l[d] = averaged(phi_l[d], phi_u[d], node);
    }
    nodes_[node] = {value, nodes_[lower].child, -1};
  }

  // The nodes that can still be reached from the root, in their old order: siblings stay adjacent, parents stay first.
  Tree compacted() {
    std::vector<std::uint8_t> alive(nodes_.size(), 0);
    std::vector<std::int32_t> place(nodes_.size(), 0);
    alive[0] = 1;
    std::int32_t n_alive = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!alive[i]) continue;
      place[i] = n_alive++;
      if (nodes_[i].is_leaf()) continue;
      const auto lower = static_cast<std::size_t>(nodes_[i].child);
      alive[lower] = alive[lower + 1] = 1;
    }
    Tree result{{}, {}, n_inputs_};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!alive[i]) continue;
      result.nodes.push_back(nodes_[i]);
      if (!nodes_[i].is_leaf())
        result.nodes.back().child = place[static_cast<std::size_t>(nodes_[i].child)];
      else if (!coefficients_.empty())
        result.coefficients.insert(result.coefficients.end(), model(i), model(i) + n_inputs_ + 1);
    }
    number_leaves(result.nodes);
    return result;
  }

  struct Side {
    double centre, half_width;
  };

  std::vector<Node> nodes_;
  std::vector<double> coefficients_;
  const std::size_t n_inputs_;
  std::vector<std::int32_t> parent_;
  std::vector<double> volume_;       // as a fraction of the whole box
  std::vector<std::uint8_t> empty_;  // whether no point of the box reaches the node
  std::vector<Side> sides_;          // n_inputs_ per node if leaves are linear
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> splits_;
};

}  // namespace

Tree prune(const TreeView& tree, const Box& box, std::size_t max_leaves) {
  if (max_leaves < 1) throw std::invalid_argument("max_leaves: 0; must be at least 1");
  if (count_leaves(tree) <= max_leaves)
    return {
        {tree.nodes.begin(), tree.nodes.end()}, {tree.coefficients.begin(), tree.coefficients.end()}, tree.n_inputs};
  check_box(tree, box);
  return Pruner(tree, box).run(max_leaves);
}

}  // namespace policyforest
