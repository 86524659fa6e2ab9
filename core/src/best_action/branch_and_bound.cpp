// The exact best action: branch and bound over half-open action boxes (lo, hi].
//
// On a box every projected tree has a frontier, the lowest node whose subtree holds all of the box. The sum
// of the largest leaves below the frontiers bounds F from above. Floating-point addition and division are
// monotone, so this bound is exact if it is summed in the same order as F. The search goes depth first into the
// child with the larger bound, so memory is O(depth) and good incumbents come early. On 25 trees of 5,000
// samples it opens about 100 boxes in 2 action dimensions, 350 in 3, 1,400 in 4 and 8,000 in 6.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "best_action/action_cell.hpp"
#include "best_action/search_trees.hpp"
#include "forest/box_walk.hpp"
#include "policyforest/algebra/algebra.hpp"
#include "policyforest/best_action/best_action.hpp"

namespace policyforest {

namespace {

class Search {
 public:
  // `x` is the whole input, whose action entries the search fills in to evaluate `forest`.
  Search(const Forest& forest, const Forest& actions, std::vector<double> x,
         const std::vector<std::size_t>& action_inputs)
      : forest_(forest),
        actions_(actions),
        x_(std::move(x)),
        action_inputs_(action_inputs),
        trees_(actions),
        n_trees_(actions.n_trees()),
        n_dims_(actions.n_inputs()),
        slope_(n_dims_) {}

  BestAction run(const std::atomic<bool>* cancel) {
    push_root();
    for (std::size_t boxes = 0; depth_ > 0; ++boxes) {
      if (cancel && boxes % 1024 == 0 && cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
      const std::size_t top = depth_ - 1;
      if (hopeless(top)) {
        --depth_;
      } else if (frames_[top].tree == kResolved) {
        offer(top);
        --depth_;
      } else {
        branch();
      }
    }
    return finish();
  }

 private:
  static constexpr std::int32_t kResolved = -1;

  // A box of the stack; its sides and frontiers are in sides_ and frontiers_.
  struct Frame {
    double bound;
    std::int32_t tree;  // the tree at whose frontier the box is split, or kResolved
  };

  double* lo(std::size_t frame) { return sides_.data() + frame * 2 * n_dims_; }
  double* hi(std::size_t frame) { return lo(frame) + n_dims_; }
  std::int32_t* frontier(std::size_t frame) { return frontiers_.data() + frame * n_trees_; }

  void reserve_frames(std::size_t n) {
    if (n <= frames_.size()) return;
    frames_.resize(2 * n);
    sides_.resize(2 * n * 2 * n_dims_);
    frontiers_.resize(2 * n * n_trees_);
  }

  void push_root() {
    reserve_frames(2);
    const Box open = open_below(actions_.box());
    std::copy(open.lo.begin(), open.lo.end(), lo(0));
    std::copy(open.hi.begin(), open.hi.end(), hi(0));
    std::copy(trees_.roots().begin(), trees_.roots().end(), frontier(0));
    depth_ = 1;
    settle(0);
  }

  // Moves the frontiers down as far as the box determines them, and finds the bound and the tree to split at.
  void settle(std::size_t frame) {
    const double *low = lo(frame), *high = hi(frame);
    double sum = 0.0, urgency = 0.0;
    std::int32_t tree = kResolved;
    for (std::size_t k = 0; k < n_trees_; ++k) {
      std::int32_t& place = frontier(frame)[k];
      const SearchNode* node = &trees_[place];
      while (node->feature >= 0) {
        if (high[node->feature] <= node->split)
          place = node->child;
        else if (node->split <= low[node->feature])
          place = node->child + 1;
        else
          break;
        node = &trees_[place];
      }
      sum += node->max;
      if (node->feature >= 0 && (tree == kResolved || node->urgency > urgency)) {
        tree = static_cast<std::int32_t>(k);
        urgency = node->urgency;
      }
    }
    if (actions_.linear()) sum = linear_bound(frame);
    frames_[frame] = {sum / static_cast<double>(n_trees_), tree};
  }

  // Trees whose frontier is a linear leaf are bounded together, by the largest value of the sum of their functions
  // in this box, which is far below the sum of their largest values.
  double linear_bound(std::size_t frame) {
    double sum = 0.0;
    std::fill(slope_.begin(), slope_.end(), 0.0);
    for (std::size_t k = 0; k < n_trees_; ++k) {
      const SearchNode& node = trees_[frontier(frame)[k]];
      if (node.feature >= 0) {
        sum += node.max;
        continue;
      }
      const auto row = static_cast<std::size_t>(node.child);
      const double* model = actions_.coefficients().data() + row * (n_dims_ + 1);
      for (std::size_t d = 0; d < n_dims_; ++d) slope_[d] += model[d];
      sum += model[n_dims_];
    }
    for (std::size_t d = 0; d < n_dims_; ++d)
      if (slope_[d] != 0.0) sum += std::max(slope_[d] * lo(frame)[d], slope_[d] * hi(frame)[d]);
    return sum;
  }

  bool before_best(const double* corner) const {
    return std::lexicographical_compare(corner, corner + n_dims_, best_corner_.begin(), best_corner_.end());
  }

  bool hopeless(std::size_t frame) {
    if (best_corner_.empty()) return false;
    const double bound = frames_[frame].bound;
    return bound < best_value_ || (bound == best_value_ && !before_best(lo(frame)));
  }

  // Replaces the box on top of the stack by its two parts, the more promising one on top.
  void branch() {
    const std::size_t upper = depth_ - 1, lower = depth_;
    reserve_frames(depth_ + 1);
    const SearchNode& node = trees_[frontier(upper)[frames_[upper].tree]];
    std::copy_n(lo(upper), 2 * n_dims_, lo(lower));
    std::copy_n(frontier(upper), n_trees_, frontier(lower));
    lo(upper)[node.feature] = node.split;
    hi(lower)[node.feature] = node.split;
    settle(upper);
    settle(lower);
    ++depth_;
    if (!(frames_[upper].bound > frames_[lower].bound)) return;
    std::swap(frames_[upper], frames_[lower]);
    std::swap_ranges(lo(upper), lo(upper) + 2 * n_dims_, lo(lower));
    std::swap_ranges(frontier(upper), frontier(upper) + n_trees_, frontier(lower));
  }

  // Compares the best action of a box in which every tree has a single function with the best action so far.
  void offer(std::size_t frame) {
    double value = frames_[frame].bound;
    const Box cell{{lo(frame), hi(frame)}, {hi(frame), hi(frame) + n_dims_}};
    if (actions_.linear()) {
      linear_bound(frame);  // leaves the slopes of this box in slope_
      candidate_ = choose_in_cell(cell, slope_, actions_.box());
      value = evaluate(candidate_.action);
    }
    const bool better = best_corner_.empty() || value > best_value_ || (value == best_value_ && before_best(lo(frame)));
    if (!better) return;
    best_value_ = value;
    best_corner_ = cell.lo;
    if (actions_.linear()) std::swap(best_, candidate_);
  }

  double evaluate(const std::vector<double>& action) {
    for (std::size_t j = 0; j < n_dims_; ++j) x_[action_inputs_[j]] = action[j];
    return forest_.predict(x_.data());
  }

  // Constant leaves: the cells of equal value that a box of the search joins depend on the order of its splits, but
  // its lower corner does not, so the returned box is rebuilt from this corner.
  BestAction finish() {
    if (!actions_.linear()) {
      std::vector<double> point;
      for (const double lo : best_corner_) point.push_back(first_inside(lo));
      const Box plateau = extend_plateau(actions_, cell_at(actions_, point), best_value_);
      best_ = choose_in_cell(plateau, {}, actions_.box());
    }
    best_.value = evaluate(best_.action);
    return best_;
  }

  const Forest& forest_;
  const Forest& actions_;
  std::vector<double> x_;
  const std::vector<std::size_t>& action_inputs_;
  const SearchTrees trees_;
  const std::size_t n_trees_, n_dims_;

  std::vector<Frame> frames_;
  std::vector<double> sides_;            // for every frame lo, then hi
  std::vector<std::int32_t> frontiers_;  // for every frame one node per tree
  std::size_t depth_ = 0;

  std::vector<double> slope_;
  std::vector<double> best_corner_;  // empty until an action is found
  double best_value_ = 0.0;
  BestAction best_{}, candidate_{};
};

}  // namespace

BranchAndBound::BranchAndBound(const Forest& forest, std::span<const std::uint8_t> is_action)
    : forest_(&forest), is_state_(state_inputs(forest, is_action)) {
  for (std::size_t d = 0; d < is_state_.size(); ++d)
    if (!is_state_[d]) action_inputs_.push_back(d);
}

BestAction BranchAndBound::operator()(std::span<const double> x, const std::atomic<bool>* cancel) const {
  const Forest actions = project(*forest_, x, is_state_);
  return Search(*forest_, actions, {x.begin(), x.end()}, action_inputs_).run(cancel);
}

}  // namespace policyforest
