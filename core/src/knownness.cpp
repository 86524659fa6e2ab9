#include "policyforest/knownness.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "box_walk.hpp"
#include "policyforest/parallel.hpp"

namespace policyforest {

namespace {
constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kBlock = 256;  // rows that go down one tree after the other: its nodes stay in the cache
constexpr std::size_t kSideBySide = 13;  // descents that hide each other's latency (8.3 us a query became 2.7)

// One point on its way down one tree.
struct Descent {
  const Node* root;
  const Node* node;
  const double* point;
};

Descent start(const std::vector<Node>& nodes, const double* point) { return {nodes.data(), nodes.data(), point}; }

// Every round takes each descent a level further, without a branch; those that have arrived stand still.
void descend(Descent (&descents)[kSideBySide], std::size_t count) {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t j = 0; j < count; ++j) {
      Descent& at = descents[j];
      const bool inner = !at.node->is_leaf();
      const double x = at.point[inner ? at.node->feature : 0];
      const Node* child = at.root + at.node->child + (x <= at.node->split ? 0 : 1);
      at.node = inner ? child : at.node;
      moved |= inner;
    }
  }
}
}  // namespace

KnownnessForest::KnownnessForest(Box box, const KnownnessParameters& parameters)
    : box_(std::move(box)), parameters_(parameters) {
  if (box_.dims() == 0) throw std::invalid_argument("box: no dimensions; at least one is needed");
  for (std::size_t d = 0; d < box_.dims(); ++d) {
    if (!std::isfinite(box_.lo[d]) || !std::isfinite(box_.hi[d]) || box_.lo[d] > box_.hi[d])
      throw std::invalid_argument("box: dimension " + std::to_string(d) + " is [" + std::to_string(box_.lo[d]) +
                                  ", " + std::to_string(box_.hi[d]) + "]; must be finite, lo <= hi");
    if (box_.lo[d] < box_.hi[d]) wide_.push_back(d);
  }
  if (parameters.n_trees == 0) throw std::invalid_argument("n_trees: 0; must be at least 1");
  if (parameters.max_points == 0) throw std::invalid_argument("max_points: 0; must be at least 1");
  if (!(parameters.enough >= 1.0)) throw std::invalid_argument("enough: must be at least 1");
  for (std::size_t k = 0; k < parameters.n_trees; ++k)
    trees_.push_back({{{0.0, 0, -1}}, {{1.0, 0, kNone, 0, true}}, {}, RandomStream(parameters.seed, k)});
}

// Puts points into one tree. The box of the leaf that a point falls into is followed on the way down.
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

  // What the leaf's knownness is a multiple of.
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

  // Splits a crowded leaf, and its children while they are crowded: a middle may leave all points on one side.
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

  // The points of a leaf in the order in which they came.
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

  // The middle of the dimension whose turn it is; one without a double between its ends loses its turn.
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

double KnownnessForest::unit() const {
  if (n_points_ == 0) return 0.0;
  const auto n = static_cast<double>(n_points_);
  if (parameters_.form == KnownnessForm::density) return 1.0 / std::min(n, parameters_.enough);
  const auto k = static_cast<double>(std::max<std::size_t>(wide_.size(), 1));
  return 1.0 / std::max(1.0, std::floor(std::pow(n * k / static_cast<double>(parameters_.max_points), 1.0 / k)));
}

void KnownnessForest::knownness(const double* rows, std::size_t n, double* out, std::size_t n_threads) const {
  const double unit = this->unit();
  parallel_for((n + kBlock - 1) / kBlock, n_threads, [&] {
    return [&](std::size_t block) {
      const std::size_t begin = block * kBlock, end = std::min(n, begin + kBlock);
      std::fill(out + begin, out + end, 0.0);
      if (n_points_ == 0) return;
      for (const KdTree& tree : trees_) {
        for (std::size_t i = begin; i < end; i += kSideBySide) {
          const std::size_t count = std::min(kSideBySide, end - i);
          Descent descents[kSideBySide];
          for (std::size_t j = 0; j < count; ++j) descents[j] = start(tree.nodes, rows + (i + j) * dims());
          descend(descents, count);
          for (std::size_t j = 0; j < count; ++j) out[i + j] += std::min(1.0, descents[j].node->split * unit);
        }
      }
      for (std::size_t i = begin; i < end; ++i) out[i] /= static_cast<double>(trees_.size());
    };
  });
}

double KnownnessForest::knownness(const double* point) const {
  if (n_points_ == 0) return 0.0;
  const double unit = this->unit();
  double sum = 0.0;
  for (std::size_t k = 0; k < trees_.size(); k += kSideBySide) {
    const std::size_t count = std::min(kSideBySide, trees_.size() - k);
    Descent descents[kSideBySide];
    for (std::size_t j = 0; j < count; ++j) descents[j] = start(trees_[k + j].nodes, point);
    descend(descents, count);
    for (std::size_t j = 0; j < count; ++j) sum += std::min(1.0, descents[j].node->split * unit);
  }
  return sum / static_cast<double>(trees_.size());
}

std::size_t KnownnessForest::n_leaves() const {
  std::size_t n = 0;
  for (const KdTree& tree : trees_) n += tree.leaves.size();
  return n;
}

std::vector<KnownnessLeaf> KnownnessForest::leaves(std::size_t number) const {
  if (number >= trees_.size())
    throw std::invalid_argument("tree: " + std::to_string(number) + "; there are " + std::to_string(trees_.size()));
  const KdTree& tree = trees_[number];
  const double unit = this->unit();
  std::vector<KnownnessLeaf> result;
  walk_boxes(TreeView{tree.nodes, {}, dims()}, box_, [&](std::size_t index, const Box& open) {
    const Node& node = tree.nodes[index];
    if (!node.is_leaf()) return;
    Box box = open;
    for (std::size_t d = 0; d < dims(); ++d) box.lo[d] = std::max(box.lo[d], box_.lo[d]);
    const std::size_t n_points = tree.leaves[static_cast<std::size_t>(node.child)].n_points;
    result.push_back({std::move(box), n_points, n_points == 0 ? 0.0 : std::min(1.0, node.split * unit)});
  });
  return result;
}

}  // namespace policyforest
