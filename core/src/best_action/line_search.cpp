#include "policyforest/best_action/line_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "best_action/cell_bounds.hpp"
#include "best_action/line_steps.hpp"
#include "policyforest/support/kernels.hpp"
#include "policyforest/support/near_order.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

constexpr std::int32_t kActionNode = -2;
constexpr std::size_t kChunk = std::size_t{1} << 20;  // states that are ordered together: 16 MB
constexpr std::size_t kGroup = 16 * kMaxStates;       // near states that share bounds

// Remembers a number for each of the latest doubles: a forest on a grid has few different thresholds.
class RecentNumbers {
 public:
  explicit RecentNumbers(std::size_t n_keys)
      : bits_(static_cast<int>(std::min<std::size_t>(12, std::bit_width(n_keys)))),
        entries_(std::size_t{1} << bits_, {std::numeric_limits<double>::quiet_NaN(), 0}) {}
  // Calls find(key) unless the number is remembered.
  template <class Find>
  std::int32_t operator()(double key, const Find& find) {
    std::uint64_t bits;
    std::memcpy(&bits, &key, sizeof bits);
    Entry& entry = entries_[(bits * 0x9e3779b97f4a7c15) >> (64 - bits_)];
    if (entry.key != key) entry = {key, find(key)};
    return entry.number;
  }

 private:
  struct Entry {
    double key;
    std::int32_t number;
  };
  int bits_;
  std::vector<Entry> entries_;
};

// Decides whether to try something that pays only sometimes: after k failures in a row, once in 2^k cases.
class Trial {
 public:
  bool skips() { return left_ > 0 && left_--; }
  void note(bool paid) {
    failures_ = paid ? 0 : std::min(failures_ + 1, 6);
    left_ = (1 << failures_) - 1;
  }

 private:
  int failures_ = 0, left_ = 0;
};

}  // namespace

LineSearch::LineSearch(const Forest& forest, std::size_t action)
    : forest_(forest),
      action_(action),
      lo_(forest.box().lo[action]),
      hi_(forest.box().hi[action]),
      nodes_(forest.nodes()) {
  if (!std::isfinite(lo_) || !std::isfinite(hi_))
    throw std::invalid_argument("box: input " + std::to_string(action) +
                                " is unbounded; the best action needs a finite range of actions");
  collect_thresholds();
  compile_nodes();
}

void LineSearch::collect_thresholds() {
  RecentNumbers seen(nodes_.size());
  for (const Node& node : nodes_)
    if (node.feature == static_cast<std::int32_t>(action_) && node.split >= lo_ && node.split < hi_)
      seen(node.split, [this](double split) { return thresholds_.push_back(split), 0; });
  std::sort(thresholds_.begin(), thresholds_.end());
  thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
  if (thresholds_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - 2)
    throw std::invalid_argument("forest: too many different thresholds of the action");
}

void LineSearch::compile_nodes() {
  RecentNumbers ranks(nodes_.size());
  double largest = 0.0;
  for (Node& node : nodes_) {
    if (node.is_leaf()) largest = std::max(largest, std::abs(node.split));
    if (node.feature != static_cast<std::int32_t>(action_)) continue;
    // A split at or above hi gets the number of thresholds: every cell lies below it.
    const auto rank = [this](double split) {
      const auto at = std::lower_bound(thresholds_.begin(), thresholds_.end(), split) - thresholds_.begin();
      return split < lo_ ? -1 : static_cast<std::int32_t>(at);
    };
    node.split = ranks(node.split, rank);
    node.feature = kActionNode;
  }
  int exponent = 0;
  std::frexp(largest * static_cast<double>(forest_.n_trees()), &exponent);
  if (!forest_.linear()) fix_values(largest > 0.0 ? std::ldexp(1.0, std::min(61 - exponent, 1000)) : 1.0);
}

void LineSearch::fix_values(double scale) {
  values_.reserve(forest_.n_leaves());
  for (const Node& node : forest_.nodes())
    if (node.is_leaf()) values_.push_back(std::llrint(node.split * scale));
}

// Searches one block of states after another, reusing its buffers.
template <class Steps>
class LineSearch::Worker {
 public:
  Worker(const LineSearch& search, std::size_t max_states)
      : search_(search),
        ends_{search.thresholds_, search.lo_, search.hi_},
        steps_(search.thresholds_.size() + 1, max_states),
        block_(search.forest_.n_inputs()),
        searched_{0, search.thresholds_.size()},
        bounds_(Steps::bounded(search.thresholds_.size() + 1) ? search.thresholds_.size() + 1 : 0,
                search.forest_.n_inputs()) {}

  // Searches a group of blocks of states that are near each other. Cells that are best for none of them are left out.
  void group(const double* rows, const std::uint32_t* order, std::size_t n, const LineMaxima& out) {
    searched_ = {0, search_.thresholds_.size()};
    if (n > kMaxStates && Steps::bounded(search_.thresholds_.size() + 1) && !trial_.skips()) {
      searched_ = candidates(rows, order, n);
      trial_.note(2 * (searched_.last - searched_.first) < search_.thresholds_.size());
    }
    for (std::size_t begin = 0; begin < n; begin += kMaxStates)
      (*this)(rows, order + begin, std::min(kMaxStates, n - begin), out);
  }

 private:
  CellRun candidates(const double* rows, const std::uint32_t* order, std::size_t n) {
    bounds_.begin(rows, order, n);
    for (std::size_t k = 0; k < search_.forest_.n_trees(); ++k) {
      const auto first = static_cast<std::size_t>(search_.forest_.leaf_offsets()[k]);
      const auto end = static_cast<std::size_t>(search_.forest_.leaf_offsets()[k + 1]);
      bounds_.add(search_.nodes_.data() + search_.forest_.node_offsets()[k], kActionNode,
                  std::span(search_.values_).subspan(first, end - first));
    }
    return bounds_.candidates();
  }

  void operator()(const double* rows, const std::uint32_t* order, std::size_t n, const LineMaxima& out) {
    block_.load(rows, order, n);
    collect_steps();
    double* actions = block_.column(search_.action_);
    for (std::size_t s = 0; s < n; ++s) {
      const CellRun run = steps_.maximum(s, ends_, actions[s]);
      cells_[s] = static_cast<double>(run.first == run.last ? run.first : ends_.cell_of(actions[s]));
      out.lo[order[s]] = ends_.lower(run.first);
      out.hi[order[s]] = ends_.upper(run.last);
      out.action[order[s]] = actions[s];
    }
    predict();
    for (std::size_t s = 0; s < n; ++s)
      out.value[order[s]] = values_[s] / static_cast<double>(search_.forest_.n_trees());
  }

  struct Task {
    std::uint64_t states;
    std::int32_t node, first, last;  // cells
  };

  // Walks a tree with all states; at_action(node, task) continues in a child of an action node, at_leaf(node, task)
  // ends a task.
  template <class AtAction, class AtLeaf>
  void walk(std::size_t tree, const AtAction& at_action, const AtLeaf& at_leaf) {
    const Node* nodes = search_.nodes_.data() + search_.forest_.node_offsets()[tree];
    tasks_.push_back(
        {block_.all(), 0, static_cast<std::int32_t>(searched_.first), static_cast<std::int32_t>(searched_.last)});
    while (!tasks_.empty()) {
      Task task = tasks_.back();
      tasks_.pop_back();
      const Node* node = nodes + task.node;
      for (; node->feature != -1; node = nodes + task.node) {
        if (node->feature == kActionNode)
          at_action(*node, task);
        else
          send(*node, task, block_.at_or_below(static_cast<std::size_t>(node->feature), node->split));
      }
      at_leaf(*node, task);
    }
  }

  // The states whose bits are set in `at_or_below` go to the lower child.
  void send(const Node& node, Task& task, std::uint64_t at_or_below) {
    const std::uint64_t lower = task.states & at_or_below, upper = task.states ^ lower;
    if (lower && upper) tasks_.push_back({upper, node.child + 1, task.first, task.last});
    task.node = node.child + (lower ? 0 : 1);
    if (lower) task.states = lower;
  }

  void collect_steps() {
    const auto at_action = [this](const Node& node, Task& task) {
      const auto rank = static_cast<std::int32_t>(node.split);
      if (task.first <= rank && rank < task.last) {
        tasks_.push_back({task.states, node.child + 1, rank + 1, task.last});
        task.last = rank;
      }
      task.node = node.child + (task.first > rank ? 1 : 0);
    };
    for (std::size_t k = 0; k < search_.forest_.n_trees(); ++k) {
      const TreeView tree = search_.forest_.tree(k);
      const auto first_leaf = static_cast<std::size_t>(search_.forest_.leaf_offsets()[k]);
      steps_.begin_tree();
      walk(k, at_action, [&](const Node& leaf, const Task& task) {
        const auto first = static_cast<std::size_t>(task.first);
        if constexpr (std::is_same_v<Steps, ConstantSteps>) {
          steps_.add(task.states, first, search_.values_[first_leaf + static_cast<std::size_t>(leaf.child)]);
        } else {
          const auto model = tree.leaf_model(leaf);
          for_each_bit(task.states, [&](std::size_t s) { steps_.add(s, first, line(model, s)); });
        }
      });
    }
    steps_.end_trees(searched_);
  }

  Line line(std::span<const double> model, std::size_t state) {
    Line line{model[model.size() - 1], model[search_.action_]};
    for (std::size_t d = 0; d + 1 < model.size(); ++d)
      if (d != search_.action_) line.intercept += model[d] * block_.column(d)[state];
    return line;
  }

  // Sums the leaves at the chosen actions in the order of the trees, as Forest::predict does.
  void predict() {
    std::fill_n(values_, block_.size(), 0.0);
    const auto at_action = [this](const Node& node, Task& task) {
      send(node, task, kernels_.lower_bits(cells_, node.split, block_.size()));
    };
    for (std::size_t k = 0; k < search_.forest_.n_trees(); ++k) {
      const TreeView tree = search_.forest_.tree(k);
      walk(k, at_action, [&](const Node& leaf, const Task& task) {
        for_each_bit(task.states, [&](std::size_t s) {
          double value = leaf.split;
          if (tree.linear()) {
            const auto model = tree.leaf_model(leaf);
            value = model[tree.n_inputs];
            for (std::size_t d = 0; d < tree.n_inputs; ++d) value += model[d] * block_.column(d)[s];
          }
          values_[s] += value;
        });
      });
    }
  }

  const LineSearch& search_;
  const Kernels& kernels_ = kernels();
  CellEnds ends_;
  Steps steps_;
  RowBlock block_;
  CellRun searched_;  // cells
  CellBounds bounds_;
  Trial trial_;
  double cells_[kMaxStates] = {}, values_[kMaxStates];
  std::vector<Task> tasks_;
};

template <class Steps>
void LineSearch::search(const double* rows, const std::vector<std::uint32_t>& order, const LineMaxima& out,
                        std::size_t n_threads, const std::atomic<bool>* cancel) const {
  const std::size_t n = order.size();
  const std::size_t group = n < 8 * kGroup * n_threads ? kMaxStates : kGroup;  // few states are far apart
  parallel_for((n + group - 1) / group, n_threads, [&] {
    return [&, worker = Worker<Steps>(*this, std::min(kMaxStates, n))](std::size_t i) mutable {
      if (cancel && cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
      const std::size_t begin = i * group;
      worker.group(rows, order.data() + begin, std::min(group, n - begin), out);
    };
  });
}

void LineSearch::operator()(const double* rows, std::size_t n, const LineMaxima& out, std::size_t n_threads,
                            const std::atomic<bool>* cancel) const {
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const double* chunk = rows + begin * forest_.n_inputs();
    const auto order = near_order(chunk, std::min(kChunk, n - begin), forest_.n_inputs(), action_);
    const LineMaxima part{out.value + begin, out.action + begin, out.lo + begin, out.hi + begin};
    if (forest_.linear())
      search<LinearSteps>(chunk, order, part, n_threads, cancel);
    else
      search<ConstantSteps>(chunk, order, part, n_threads, cancel);
  }
}

}  // namespace policyforest
