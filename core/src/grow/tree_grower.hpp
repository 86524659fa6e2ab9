// Grows one tree after another, reusing its buffers. See grow.hpp for the rules.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "grow/interval_stack.hpp"
#include "grow/leaf_models.hpp"
#include "grow/sample_columns.hpp"
#include "grow/small_subtree.hpp"
#include "grow/split_draw.hpp"
#include "grow/unroll.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/support/random.hpp"

namespace policyforest {

template <class LeafModel>
class TreeGrower {
 public:
  template <class... Args>
  TreeGrower(const TrainingSet& data, const RootColumns& root, const GrowParameters& parameters,
             const std::atomic<bool>* cancel, Args... model_args)
      : data_(data),
        parameters_(parameters),
        cancel_(cancel),
        kernels_(parameters.kernels ? *parameters.kernels : kernels()),
        samples_(root, kernels_),
        model_(samples_, parameters, model_args...),
        draw_(parameters, data.n_inputs),
        small_(parameters, data.n_inputs, kernels_) {}

  Tree operator()(std::size_t number) {
    RandomStream random(parameters_.seed, number);
    const std::vector<double> cuts = draw_cuts(random);
    start(cuts);
    while (!tasks_.empty()) {
      const Task task = pop();
      if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
      if (small(task.rows)) {
        if constexpr (kConstant) small_.grow(samples_, task.rows, task.sums.score, task.node, nodes_, draw_, random);
      } else {
        grow_node(task, random);
      }
    }
    Tree tree = finish();
    for (std::size_t d = 0; d < parameters_.periods.size(); ++d)
      if (parameters_.periods[d].hi > parameters_.periods[d].lo)
        tree = unroll(tree, d, cuts[d], parameters_.periods[d].lo, parameters_.periods[d].hi);
    return tree;
  }

 private:
  static constexpr bool kConstant = std::is_same_v<LeafModel, ConstantModel>;
  using Sums = typename LeafModel::Sums;
  struct Task {
    std::size_t node;
    Rows rows;
    Sums sums;
  };
  struct Split {
    std::size_t feature = 0, n_lower = 0;
    double threshold = 0, score = -std::numeric_limits<double>::infinity();
    Sums lower;
    bool found = false;
  };

  bool small(const Rows& rows) const {
    return kConstant && !data_.weight && rows.size() <= SmallSubtree::kMaxSamples &&
           data_.n_inputs <= SmallSubtree::kMaxInputs;
  }

  std::vector<double> draw_cuts(RandomStream& random) const {
    std::vector<double> cuts(parameters_.periods.size());
    for (std::size_t d = 0; d < cuts.size(); ++d) {
      const Period& p = parameters_.periods[d];
      if (p.hi > p.lo) cuts[d] = p.lo + random.uniform() * (p.hi - p.lo);
    }
    return cuts;
  }

  void start(const std::vector<double>& cuts) {
    samples_.load(parameters_.periods, cuts);
    const Rows all = samples_.all();
    nodes_.assign(1, Node{});
    coefficients_.clear();
    draw_.restart();
    if (all_ranges_.empty() || !cuts.empty()) {  // without periodic inputs, every tree starts with the same ranges
      all_ranges_.clear();
      for (std::size_t d = 0; d < data_.n_inputs; ++d) {
        const Summary summary = kernels_.summary(samples_.input(all, d), all.size());
        all_ranges_.push_back({summary.min, summary.max});
      }
    }
    ranges_.restart(all_ranges_);
    if constexpr (!kConstant) boxes_.restart(data_box(cuts));
    push({0, all, model_.sums(all)});
  }

  // The ranges of all samples; for a periodic input, the whole circle.
  std::vector<Interval> data_box(const std::vector<double>& cuts) const {
    std::vector<Interval> box = all_ranges_;
    for (std::size_t d = 0; d < cuts.size(); ++d) {
      const double length = parameters_.periods[d].hi - parameters_.periods[d].lo;
      if (length > 0.0) box[d] = {cuts[d], cuts[d] + length};
    }
    return box;
  }

  // A waiting task stores a copy of the current intervals.
  void push(const Task& task) {
    tasks_.push_back(task);
    ranges_.push();
    if constexpr (!kConstant) boxes_.push();
  }
  Task pop() {
    const Task task = tasks_.back();
    tasks_.pop_back();
    ranges_.pop();
    if constexpr (!kConstant) boxes_.pop();
    return task;
  }

  bool settled(const Task& task) {
    if constexpr (kConstant)
      return model_.settled(task.rows, task.sums);
    else
      return model_.settled(task.rows, boxes_.now());
  }

  void make_leaf(const Task& task) {
    if constexpr (kConstant)
      model_.make_leaf(task.rows, task.sums, nodes_[task.node], coefficients_);
    else
      model_.make_leaf(task.rows, boxes_.now(), nodes_[task.node], coefficients_);
  }

  void grow_node(const Task& task, RandomStream& random) {
    const Rows& rows = task.rows;
    Split split;
    if (!settled(task) && rows.size() >= 2 * parameters_.min_samples_leaf) split = best_split(task, random);
    if (!split.found) return make_leaf(task);
    Rows lower, upper;
    samples_.partition(rows, split.feature, split.threshold, split.n_lower, lower, upper);
    const std::size_t child = nodes_.size();
    if (child + 2 * SmallSubtree::kMaxSamples > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw std::invalid_argument("X: too many samples for one tree; raise min_samples_leaf");
    nodes_[task.node] = {split.threshold, static_cast<std::int32_t>(child), static_cast<std::int32_t>(split.feature)};
    nodes_.resize(child + 2);
    const Task lower_task{child, lower, split.lower}, upper_task{child + 1, upper, model_.sums(upper)};
    push_children(lower_task, upper_task, split);
  }

  void push_children(const Task& lower, const Task& upper, const Split& split) {
    const std::size_t d = split.feature;
    const Interval range = ranges_[d];
    ranges_[d].low = std::max(range.low, split.threshold);
    if constexpr (kConstant) {
      push(upper);
    } else {
      const Interval box = boxes_[d];
      boxes_[d].low = split.threshold;
      push(upper);
      boxes_[d] = {box.low, split.threshold};
    }
    ranges_[d] = {range.low, std::min(range.high, split.threshold)};
    push(lower);
  }

  Split best_split(const Task& task, RandomStream& random) {
    Split best;
    draw_.for_inputs(random, [&](std::size_t feature) {
      Split candidate;
      candidate.feature = feature;
      if (!draw_split(task, candidate, random)) return false;
      if (!best.found || SplitDraw::better(candidate.score, best.score)) best = candidate;
      return true;
    });
    return best;
  }

  // A uniform draw between the n_min-th smallest and n_min-th largest value. A draw from a wider range that leaves
  // n_min samples on both sides has the same distribution, and is cheaper in large nodes. It is not used if the range
  // itself is cheap, nor in nodes that could be a SmallSubtree: weights of 1 must give the same trees as no weights,
  // and with n_min = 1 weights must give the same trees as repeated samples.
  bool draw_split(const Task& task, Split& split, RandomStream& random) {
    const std::size_t n_min = parameters_.min_samples_leaf, n = task.rows.size();
    Interval& range = ranges_[split.feature];
    const auto draw_and_score = [&] {
      if (!draw_.threshold(split.feature, range.low, range.high, split.threshold, random)) return false;
      split.score = model_.score(task.rows, task.sums, split.feature, split.threshold, split.n_lower, split.lower);
      return split.found = split.n_lower >= n_min && n - split.n_lower >= n_min;
    };
    if (split.feature == samples_.sorted_input()) {
      range = {samples_.smallest(task.rows, n_min), samples_.smallest(task.rows, n - n_min + 1)};
      return draw_and_score();
    }
    const bool large = n_min > 1 && n > SmallSubtree::kMaxSamples && n / 8 >= n_min;
    if (large && draw_and_score()) return true;
    order_statistics(samples_.input(task.rows, split.feature), n, range);
    return draw_and_score();
  }

  void order_statistics(const double* v, std::size_t n, Interval& range) {
    const std::size_t rank = parameters_.min_samples_leaf;
    if (rank <= kMaxListedRank) return kernels_.order_statistics(v, n, rank, range.low, range.high);
    scratch_.assign(v, v + n);
    const auto nth = [this](std::size_t k) {
      std::nth_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(k), scratch_.end());
      return scratch_[k];
    };
    range = {nth(rank - 1), nth(n - rank)};
  }

  // Leaves were made depth first; their models are put into the order of the nodes.
  Tree finish() {
    Tree tree{nodes_, {}, data_.n_inputs};
    const std::size_t width = data_.n_inputs + 1;
    tree.coefficients.reserve(coefficients_.size());
    for (const Node& node : tree.nodes) {
      if (coefficients_.empty() || !node.is_leaf()) continue;
      const auto row =
          coefficients_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(node.child) * width);
      tree.coefficients.insert(tree.coefficients.end(), row, row + static_cast<std::ptrdiff_t>(width));
    }
    number_leaves(tree.nodes);
    return tree;
  }

  const TrainingSet& data_;
  const GrowParameters& parameters_;
  const std::atomic<bool>* cancel_;
  const Kernels& kernels_;
  SampleColumns samples_;
  LeafModel model_;
  SplitDraw draw_;
  SmallSubtree small_;
  std::vector<Node> nodes_;
  std::vector<double> coefficients_, scratch_;
  std::vector<Task> tasks_;
  std::vector<Interval> all_ranges_;
  IntervalStack ranges_;  // all thresholds that a node and its descendants can have are in [low, high)
  IntervalStack boxes_;   // a node's part of the data's box; only for linear leaves
};

}  // namespace policyforest
