// Algorithm 2: merges two trees into one, and a whole forest into one tree.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "forest/box_walk.hpp"
#include "policyforest/algebra/algebra.hpp"

namespace policyforest {

namespace {

void check_weights(double w1, double w2) {
  if (!(w1 >= 0.0) || !(w2 >= 0.0) || !(w1 + w2 > 0.0) || !std::isfinite(w1 + w2))
    throw std::invalid_argument("weights: " + std::to_string(w1) + " and " + std::to_string(w2) +
                                "; must be finite, not negative and not both zero");
}

void check_trees(const TreeView& t1, const TreeView& t2, const Box& box) {
  if (t1.n_inputs != t2.n_inputs || t1.linear() != t2.linear())
    throw std::invalid_argument("t2: must have the same inputs and the same kind of leaves as t1");
  if (box.lo.size() != t1.n_inputs || box.hi.size() != t1.n_inputs)
    throw std::invalid_argument("box: has " + std::to_string(box.dims()) + " dimensions; the trees have " +
                                std::to_string(t1.n_inputs) + " inputs");
}

class Merger {
 public:
  Merger(const TreeView& t1, const TreeView& t2, double w1, double w2, const Box& box, std::size_t max_nodes,
         const std::atomic<bool>* cancel)
      : t1_(t1), t2_(t2), w1_(w1), w2_(w2), open_(open_below(box)), max_nodes_(max_nodes), cancel_(cancel) {}

  Tree run() {
    result_.n_inputs = t1_.n_inputs;
    result_.nodes.emplace_back();
    merge(0, {t1_.nodes.data(), t2_.nodes.data(), false});
    while (!steps_.empty()) {
      const Step step = steps_.back();
      steps_.pop_back();
      open_.lo[static_cast<std::size_t>(step.dim)] = step.lo;
      open_.hi[static_cast<std::size_t>(step.dim)] = step.hi;
      if (step.target != kOnlyRestore) merge(static_cast<std::size_t>(step.target), step.pair);
    }
    number_leaves(result_.nodes);
    average_models();
    return std::move(result_);
  }

 private:
  static constexpr std::int32_t kOnlyRestore = -1;

  // The paper's (n1, n2): the split of `first` comes next. The two nodes are swapped at every recursion.
  struct Pair {
    const Node* first;
    const Node* second;
    bool swapped;  // `first` belongs to t2
  };

  struct Step {
    double lo, hi;  // the sides to which the dimension is set before the pair is merged
    Pair pair;
    std::int32_t dim, target;
  };

  const Node* child_of_first(const Pair& pair, int upper) const {
    return (pair.swapped ? t2_ : t1_).nodes.data() + pair.first->child + upper;
  }

  // avgNodes of the paper: fills the node `target` of the result, which stands for all points of open_.
  void merge(std::size_t target, Pair pair) {
    for (;;) {
      if (pair.first->is_leaf()) {
        if (pair.second->is_leaf()) return emit_leaf(target, pair);
        pair = {pair.second, pair.first, !pair.swapped};
      } else if (!reaches_upper(open_, *pair.first)) {
        pair = {pair.second, child_of_first(pair, 0), !pair.swapped};
      } else if (!reaches_lower(open_, *pair.first)) {
        pair = {pair.second, child_of_first(pair, 1), !pair.swapped};
      } else {
        return emit_split(target, pair);
      }
    }
  }

  void emit_split(std::size_t target, const Pair& pair) {
    const std::size_t lower = result_.nodes.size();
    if (lower + 2 > max_nodes_)
      throw std::invalid_argument("max_nodes: the average has more than " + std::to_string(max_nodes_) +
                                  " nodes; allow more or prune (max_leaves)");
    if (cancel_ && lower % 8192 < 2 && cancel_->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
    result_.nodes.resize(lower + 2);
    const double v = pair.first->split;
    const std::int32_t dim = pair.first->feature, child = static_cast<std::int32_t>(lower);
    const double lo = open_.lo[static_cast<std::size_t>(dim)], hi = open_.hi[static_cast<std::size_t>(dim)];
    result_.nodes[target] = {v, child, dim};
    steps_.push_back({lo, hi, pair, dim, kOnlyRestore});
    steps_.push_back({v, hi, {pair.second, child_of_first(pair, 1), !pair.swapped}, dim, child + 1});
    steps_.push_back({lo, v, {pair.second, child_of_first(pair, 0), !pair.swapped}, dim, child});
  }

  // t1 comes first in the sum for any number of swaps, so equal pairs of leaves give equal bits.
  double weighted(double phi1, double phi2) const { return (w1_ * phi1 + w2_ * phi2) / (w1_ + w2_); }

  void emit_leaf(std::size_t target, const Pair& pair) {
    const Node& leaf1 = pair.swapped ? *pair.second : *pair.first;
    const Node& leaf2 = pair.swapped ? *pair.first : *pair.second;
    const bool linear = t1_.linear();
    result_.nodes[target] = {linear ? 0.0 : weighted(leaf1.split, leaf2.split), 0, -1};
    if (!linear) return;
    if (leaves_.size() < result_.nodes.size()) leaves_.resize(result_.nodes.capacity());
    leaves_[target] = {&leaf1, &leaf2};
  }

  // Leaves are reached depth first but numbered in the order of the nodes, so their models are computed last.
  void average_models() {
    if (!t1_.linear()) return;
    result_.coefficients.reserve(count_leaves(result_.view()) * (result_.n_inputs + 1));
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
      if (!result_.nodes[i].is_leaf()) continue;
      const auto phi1 = t1_.leaf_model(*leaves_[i].first), phi2 = t2_.leaf_model(*leaves_[i].second);
      for (std::size_t d = 0; d <= result_.n_inputs; ++d) result_.coefficients.push_back(weighted(phi1[d], phi2[d]));
    }
  }

  const TreeView t1_, t2_;
  const double w1_, w2_;
  Box open_;
  const std::size_t max_nodes_;
  const std::atomic<bool>* cancel_;
  Tree result_;
  std::vector<Step> steps_;
  std::vector<std::pair<const Node*, const Node*>> leaves_;  // the leaves that a linear leaf is made of
};

// Trees of weight zero are left out.
std::vector<std::pair<std::size_t, double>> weighted_trees(std::size_t n_trees, std::span<const double> weights) {
  if (!weights.empty() && weights.size() != n_trees)
    throw std::invalid_argument("weights: has " + std::to_string(weights.size()) +
                                " entries; must have one per tree, " + std::to_string(n_trees));
  std::vector<std::pair<std::size_t, double>> chosen;
  for (std::size_t k = 0; k < n_trees; ++k) {
    const double weight = weights.empty() ? 1.0 : weights[k];
    if (!(weight >= 0.0) || !std::isfinite(weight))
      throw std::invalid_argument("weights: " + std::to_string(weight) + " for tree " + std::to_string(k) +
                                  "; must be finite and not negative");
    if (weight > 0.0) chosen.emplace_back(k, weight);
  }
  if (chosen.empty()) throw std::invalid_argument("weights: all are zero; one must be positive");
  return chosen;
}

}  // namespace

Tree average(const TreeView& t1, const TreeView& t2, double w1, double w2, const Box& box, std::size_t max_nodes,
             const std::atomic<bool>* cancel) {
  check_trees(t1, t2, box);
  check_weights(w1, w2);
  const std::size_t addressable = std::numeric_limits<std::int32_t>::max();
  return Merger(t1, t2, w1, w2, box, std::min(max_nodes, addressable), cancel).run();
}

Tree average(const Forest& forest, std::size_t max_leaves, std::span<const double> weights,
             const std::atomic<bool>* cancel) {
  if (forest.n_trees() == 0) throw std::invalid_argument("forest: has no trees; must have at least one");
  const auto chosen = weighted_trees(forest.n_trees(), weights);
  const TreeView first = forest.tree(chosen.front().first);
  Tree sum{
      {first.nodes.begin(), first.nodes.end()}, {first.coefficients.begin(), first.coefficients.end()}, first.n_inputs};
  double sum_weight = chosen.front().second;
  if (chosen.size() == 1 && max_leaves > 0) return prune(sum.view(), forest.box(), max_leaves);
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    const auto [k, weight] = chosen[i];
    sum = average(sum.view(), forest.tree(k), sum_weight, weight, forest.box(), kMaxAverageNodes, cancel);
    sum_weight += weight;
    if (max_leaves > 0) sum = prune(sum.view(), forest.box(), max_leaves);
  }
  return sum;
}

}  // namespace policyforest
