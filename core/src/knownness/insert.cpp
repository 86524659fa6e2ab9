#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "policyforest/knownness/knownness.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

// Inserts points into one tree. On the way down it computes the box of the leaf into which a point falls.
class KnownnessForest::Inserter {
 public:
  Inserter(const KnownnessForest& forest, KdTree& tree) : forest_(forest), tree_(tree), box_(forest.box_) {}

  void insert(std::uint32_t point) {
    const double* x = coordinates(point);
    const std::size_t index = descend(x);
    Leaf& leaf = tree_.leaves[static_cast<std::size_t>(tree_.nodes[index].child)];
    tree_.before.push_back(kNone);
    append(leaf, point);
    weigh(index, box_);
    if (crowded(leaf)) split(index);
  }

 private:
  struct Split {
    double value = 0.0, score = -1.0;
    std::size_t dim = 0;
  };

  const double* coordinates(std::uint32_t point) const { return forest_.points_.data() + point * forest_.dims(); }
  bool crowded(const Leaf& leaf) const { return leaf.n_points > forest_.parameters_.max_points && !leaf.identical; }

  void append(Leaf& leaf, std::uint32_t point) {
    const double* x = coordinates(point);
    leaf.identical =
        leaf.n_points == 0 || (leaf.identical && std::equal(x, x + forest_.dims(), coordinates(leaf.last)));
    tree_.before[point] = leaf.last;
    leaf.last = point;
    ++leaf.n_points;
  }

  std::size_t descend(const double* x) {
    box_ = forest_.box_;
    std::size_t index = 0;
    for (const Node* node = &tree_.nodes[0]; !node->is_leaf(); node = &tree_.nodes[index]) {
      const auto d = static_cast<std::size_t>(node->feature);
      const bool lower = x[d] <= node->split;
      (lower ? box_.hi : box_.lo)[d] = node->split;
      index = static_cast<std::size_t>(node->child) + (lower ? 0 : 1);
    }
    return index;
  }

  // Computes the leaf's knownness, in units of unit().
  void weigh(std::size_t index, const Box& box) {
    const Leaf& leaf = tree_.leaves[static_cast<std::size_t>(tree_.nodes[index].child)];
    const double n = leaf.n_points;
    tree_.nodes[index].split = n == 0.0 ? 0.0
                               : forest_.parameters_.form == KnownnessForm::density
                                   ? n / leaf.volume
                                   : n / static_cast<double>(forest_.parameters_.max_points) / longest_side(box);
  }

  double longest_side(const Box& box) const {
    double longest = forest_.wide_.empty() ? 1.0 : 0.0;
    for (std::size_t d : forest_.wide_)
      longest = std::max(longest, (box.hi[d] - box.lo[d]) / (forest_.box_.hi[d] - forest_.box_.lo[d]));
    return longest;
  }

  // Splits a leaf with too many points, and again its children: a split in the middle may leave all points on one side.
  void split(std::size_t index) {
    std::vector<std::pair<std::size_t, Box>> todo{{index, box_}};
    while (!todo.empty()) {
      const auto [at, box] = std::move(todo.back());
      todo.pop_back();
      const auto number = static_cast<std::size_t>(tree_.nodes[at].child);
      if (!crowded(tree_.leaves[number])) continue;
      gather(tree_.leaves[number]);
      const bool random = forest_.parameters_.form == KnownnessForm::density;
      const Split chosen = random ? best_split(box) : middle(box, tree_.leaves[number].turn);
      divide(at, number, chosen, box);
      Box lower = box, upper = box;
      lower.hi[chosen.dim] = upper.lo[chosen.dim] = chosen.value;
      const auto child = static_cast<std::size_t>(tree_.nodes[at].child);
      weigh(child, lower);
      weigh(child + 1, upper);
      todo.emplace_back(child, std::move(lower));
      todo.emplace_back(child + 1, std::move(upper));
    }
  }

  // The points of a leaf in the order in which they were inserted.
  void gather(const Leaf& leaf) {
    gathered_.clear();
    for (std::uint32_t point = leaf.last; point != kNone; point = tree_.before[point]) gathered_.push_back(point);
    std::reverse(gathered_.begin(), gathered_.end());
  }

  Split best_split(const Box& box) {
    Split best;
    for (std::size_t d : forest_.wide_) {
      double lo = coordinates(gathered_[0])[d], hi = lo;
      for (std::uint32_t point : gathered_) {
        lo = std::min(lo, coordinates(point)[d]);
        hi = std::max(hi, coordinates(point)[d]);
      }
      const double share = tree_.random.uniform();
      if (!(lo < hi)) continue;
      double value = lo + share * (hi - lo);
      if (!(value < hi)) value = lo;  // rounding must not empty the upper side
      const double score = rate(d, value, box);
      if (score > best.score) best = {value, score, d};
    }
    return best;
  }

  // 1/2 (1 - (n_l w_l + n_u w_u) / n) + 1/2 max(0, 1 - variance of the children / variance), w a share of the width.
  double rate(std::size_t d, double value, const Box& box) const {
    double n[2] = {0.0, 0.0}, sum[2] = {0.0, 0.0}, squares[2] = {0.0, 0.0};
    const double origin = coordinates(gathered_[0])[d];
    for (std::uint32_t point : gathered_) {
      const double x = coordinates(point)[d], moved = x - origin;
      const int side = x <= value ? 0 : 1;
      n[side] += 1.0;
      sum[side] += moved;
      squares[side] += moved * moved;
    }
    const double lower = (value - box.lo[d]) / (box.hi[d] - box.lo[d]), total = n[0] + n[1];
    const double spread = squares[0] + squares[1] - (sum[0] + sum[1]) * (sum[0] + sum[1]) / total;
    const double left = squares[0] - sum[0] * sum[0] / n[0] + (squares[1] - sum[1] * sum[1] / n[1]);
    const double gain = spread > 0.0 ? std::max(0.0, 1.0 - left / spread) : 0.0;
    return 0.5 * (1.0 - (n[0] * lower + n[1] * (1.0 - lower)) / total) + 0.5 * gain;
  }

  // The middle of the dimension whose turn it is; a dimension without a double between its ends is skipped.
  Split middle(const Box& box, std::size_t turn) const {
    for (std::size_t tried = 0;; ++tried) {
      const std::size_t d = forest_.wide_[(turn + tried) % forest_.wide_.size()];
      const double value = box.lo[d] + 0.5 * (box.hi[d] - box.lo[d]);
      if (value < box.hi[d] && (value > box.lo[d] || separates(d, value))) return {value, 0.0, d};
    }
  }

  bool separates(std::size_t d, double value) const {
    const auto lower = [&](std::uint32_t point) { return coordinates(point)[d] <= value; };
    return std::any_of(gathered_.begin(), gathered_.end(), lower) &&
           !std::all_of(gathered_.begin(), gathered_.end(), lower);
  }

  // Turns the leaf at `index` into a node; its number goes to the lower child, a new one to the upper.
  void divide(std::size_t index, std::size_t number, const Split& split, const Box& box) {
    const double share = (split.value - box.lo[split.dim]) / (box.hi[split.dim] - box.lo[split.dim]);
    const Leaf old = tree_.leaves[number];
    const auto turn = static_cast<std::uint32_t>(next_turn(split.dim));
    Leaf sides[2] = {{old.volume * share, 0, kNone, turn, true}, {old.volume * (1.0 - share), 0, kNone, turn, true}};
    for (std::uint32_t point : gathered_) append(sides[coordinates(point)[split.dim] <= split.value ? 0 : 1], point);
    const auto child = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes.push_back({0.0, static_cast<std::int32_t>(number), -1});
    tree_.nodes.push_back({0.0, static_cast<std::int32_t>(tree_.leaves.size()), -1});
    tree_.nodes[index] = {split.value, child, static_cast<std::int32_t>(split.dim)};
    tree_.leaves[number] = sides[0];
    tree_.leaves.push_back(sides[1]);
  }

  std::size_t next_turn(std::size_t dim) const {
    const auto at = std::find(forest_.wide_.begin(), forest_.wide_.end(), dim) - forest_.wide_.begin();
    return (static_cast<std::size_t>(at) + 1) % forest_.wide_.size();
  }

  const KnownnessForest& forest_;
  KdTree& tree_;
  Box box_;
  std::vector<std::uint32_t> gathered_;
};

void KnownnessForest::insert(const double* points, std::size_t n, std::size_t n_threads) {
  for (std::size_t i = 0; i < n * dims(); ++i) {
    const std::size_t d = i % dims();
    if (!(points[i] >= box_.lo[d] && points[i] <= box_.hi[d]))
      throw std::invalid_argument("points: row " + std::to_string(i / dims()) + " has " + std::to_string(points[i]) +
                                  " in dimension " + std::to_string(d) + "; must lie within [" +
                                  std::to_string(box_.lo[d]) + ", " + std::to_string(box_.hi[d]) + "]");
  }
  if (n > kNone / 2 - n_points_) throw std::invalid_argument("points: too many; at most 2^31 - 1 are possible");
  points_.insert(points_.end(), points, points + n * dims());
  const std::size_t first = n_points_;
  n_points_ += n;
  parallel_for(trees_.size(), n_threads, [&] {
    return [&](std::size_t k) {
      trees_[k].before.reserve(n_points_);
      Inserter inserter(*this, trees_[k]);
      for (std::size_t i = first; i < n_points_; ++i) inserter.insert(static_cast<std::uint32_t>(i));
    };
  });
}

}  // namespace policyforest
