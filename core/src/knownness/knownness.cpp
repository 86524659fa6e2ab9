#include "policyforest/knownness/knownness.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "forest/box_walk.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {
constexpr std::size_t kBlock = 256;      // rows that descend each tree together, while its nodes are in the cache
constexpr std::size_t kSideBySide = 13;  // descents that hide each other's latency (8.3 us per query became 2.7)

// One point on its way down one tree.
struct Descent {
  const Node* root;
  const Node* node;
  const double* point;
};

Descent start(const std::vector<Node>& nodes, const double* point) { return {nodes.data(), nodes.data(), point}; }

// Every round moves each descent one level further, without a branch; those that have reached a leaf stay there.
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
  if (box_.dims() == 0) throw std::invalid_argument("box: has no dimensions; must have at least one");
  for (std::size_t d = 0; d < box_.dims(); ++d) {
    if (!std::isfinite(box_.lo[d]) || !std::isfinite(box_.hi[d]) || box_.lo[d] > box_.hi[d])
      throw std::invalid_argument("box: dimension " + std::to_string(d) + " is [" + std::to_string(box_.lo[d]) + ", " +
                                  std::to_string(box_.hi[d]) + "]; must be finite, lo <= hi");
    if (box_.lo[d] < box_.hi[d]) wide_.push_back(d);
  }
  if (parameters.n_trees == 0) throw std::invalid_argument("n_trees: 0; must be at least 1");
  if (parameters.max_points == 0) throw std::invalid_argument("max_points: 0; must be at least 1");
  if (!(parameters.enough >= 1.0)) throw std::invalid_argument("enough: must be at least 1");
  for (std::size_t k = 0; k < parameters.n_trees; ++k)
    trees_.push_back({{{0.0, 0, -1}}, {{1.0, 0, kNone, 0, true}}, {}, RandomStream(parameters.seed, k)});
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
    throw std::invalid_argument("tree: " + std::to_string(number) + "; must be below " + std::to_string(trees_.size()));
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
