// Growing: the rules of grow.hpp on random data, and the same trees from any number of threads and any kernels.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "check.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/support/kernels.hpp"

using namespace policyforest;

namespace {

using Engine = std::mt19937_64;

struct Samples {
  std::size_t n, n_inputs;
  std::vector<double> x, y, score, weight;
  TrainingSet view(bool scored = false, bool weighted = false) const {
    return {n, n_inputs, x.data(), y.data(), scored ? score.data() : nullptr, weighted ? weight.data() : nullptr};
  }
  double at(std::size_t i, std::size_t d) const { return x[d * n + i]; }
};

// `ties`: inputs and targets take a few values only.
Samples samples(std::size_t n, std::size_t n_inputs, bool ties, std::uint64_t seed) {
  Engine random(seed);
  std::uniform_real_distribution<double> uniform;
  Samples s{n, n_inputs, std::vector<double>(n * n_inputs), std::vector<double>(n), {}, {}};
  for (double& v : s.x) v = ties ? std::floor(4 * uniform(random)) / 4 : uniform(random);
  for (std::size_t i = 0; i < n; ++i) {
    s.y[i] = ties ? std::floor(3 * uniform(random)) : std::sin(5 * s.at(i, 0)) + uniform(random);
    s.score.push_back(std::asinh(5 * s.y[i]));
    s.weight.push_back(0.5 + uniform(random));
  }
  return s;
}

Box unit_box(std::size_t n_inputs) { return {std::vector<double>(n_inputs, 0.0), std::vector<double>(n_inputs, 1.0)}; }

// The thresholds that an input leaves to a node lie in [low, high).
struct Room {
  double low, high;
};
Room room(const Samples& s, const std::vector<std::size_t>& rows, std::size_t d, std::size_t n_min) {
  std::vector<double> values;
  for (const std::size_t i : rows) values.push_back(s.at(i, d));
  std::sort(values.begin(), values.end());
  return {values[n_min - 1], values[values.size() - n_min]};
}
bool can_split(const Samples& s, const std::vector<std::size_t>& rows, std::size_t d, const GrowParameters& p) {
  const Room r = room(s, rows, d, p.min_samples_leaf);
  if (p.grids.empty() || p.grids[d].steps == 0) return r.low < r.high;
  for (std::int32_t j = 1; j < p.grids[d].steps; ++j)
    if (r.low <= p.grids[d].value(j) && p.grids[d].value(j) < r.high) return true;
  return false;
}

struct Moments {
  double mean = 0, variance = 0;
  bool constant = true;
};
Moments moments(const TrainingSet& data, const std::vector<std::size_t>& rows) {
  Moments m;
  double total = 0;
  const auto weight = [&](std::size_t i) { return data.weight ? data.weight[i] : 1.0; };
  for (const std::size_t i : rows) {
    total += weight(i);
    m.mean += weight(i) * data.y[i];
    m.constant = m.constant && data.y[i] == data.y[rows[0]];
  }
  m.mean /= total;
  for (const std::size_t i : rows) m.variance += weight(i) * (data.y[i] - m.mean) * (data.y[i] - m.mean) / total;
  return m;
}

void check_leaf(const Samples& s, const TrainingSet& data, const std::vector<std::size_t>& rows, const Node& leaf,
                const GrowParameters& p) {
  const Moments m = moments(data, rows);
  CHECK(rows.size() >= std::min(s.n, p.min_samples_leaf));
  CHECK(m.constant ? leaf.split == data.y[rows[0]] : std::abs(leaf.split - m.mean) <= 1e-12 * (1 + std::abs(m.mean)));
  if (rows.size() < 2 * p.min_samples_leaf || m.constant || m.variance < p.min_variance * (1 + 1e-9)) return;
  for (std::size_t d = 0; d < s.n_inputs; ++d) CHECK(!can_split(s, rows, d, p));
}

void check_split(const Samples& s, const TrainingSet& data, const std::vector<std::size_t>& rows, const Node& node,
                 const GrowParameters& p) {
  const auto d = static_cast<std::size_t>(node.feature);
  const Moments m = moments(data, rows);
  const Room r = room(s, rows, d, p.min_samples_leaf);
  CHECK(!m.constant && m.variance >= p.min_variance * (1 - 1e-9));
  CHECK(r.low <= node.split && node.split < r.high);
  if (p.grids.empty() || p.grids[d].steps == 0) return;
  const double j = (node.split - p.grids[d].lo) / (p.grids[d].hi - p.grids[d].lo) * p.grids[d].steps;
  CHECK(node.split == p.grids[d].value(std::lround(j)) && 0 < j && j < p.grids[d].steps);
}

void check_rules(const Samples& s, const TrainingSet& data, const GrowParameters& p) {
  const Forest forest = grow(data, p, unit_box(s.n_inputs), 1);
  CHECK(forest.n_trees() == p.n_trees);
  for (std::size_t k = 0; k < forest.n_trees(); ++k) {
    const TreeView tree = forest.tree(k);
    std::vector<std::vector<std::size_t>> rows(tree.nodes.size());
    rows[0].resize(s.n);
    std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const Node& node = tree.nodes[i];
      if (node.is_leaf()) {
        check_leaf(s, data, rows[i], node, p);
        continue;
      }
      check_split(s, data, rows[i], node, p);
      for (const std::size_t row : rows[i]) {
        const bool lower = s.at(row, static_cast<std::size_t>(node.feature)) <= node.split;
        rows[static_cast<std::size_t>(node.child) + (lower ? 0 : 1)].push_back(row);
      }
    }
  }
}

void check_all_rules() {
  for (const std::size_t n : {1, 2, 3, 7, 63, 64, 65, 129, 700})
    for (const bool ties : {false, true})
      for (const std::size_t n_min : {1, 2, 5, 40})
        for (const std::size_t n_inputs : {1, 3, 9}) {
          const Samples s = samples(n, n_inputs, ties, n + n_min);
          GrowParameters p;
          p.n_trees = 2;
          p.min_samples_leaf = n_min;
          p.max_features = (n_inputs + 1) / 2;
          check_rules(s, s.view(), p);
          check_rules(s, s.view(true), p);
          check_rules(s, s.view(false, true), p);
          p.min_variance = 0.2;
          p.max_features = n_inputs;
          check_rules(s, s.view(), p);
          check_rules(s, s.view(true, true), p);
          p.grids.assign(n_inputs, {0.0, 1.0, 0});
          p.grids.back().steps = 16;
          check_rules(s, s.view(), p);
          p.grids.back().steps = 10000;
          check_rules(s, s.view(), p);
        }
}

bool same_forest(const Forest& a, const Forest& b) {
  const auto same_node = [](const Node& p, const Node& q) {
    return p.split == q.split && p.child == q.child && p.feature == q.feature;
  };
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), same_node) &&
         a.coefficients() == b.coefficients() && a.node_offsets() == b.node_offsets();
}

void check_same_bits(const TrainingSet& data, GrowParameters p) {
  const Box box = unit_box(data.n_inputs);
  p.n_trees = 7;
  const Forest forest = grow(data, p, box, 1);
  CHECK(same_forest(forest, grow(data, p, box, 3)));
  for (const Kernels* version : available_kernels()) {
    p.kernels = version;
    CHECK(same_forest(forest, grow(data, p, box, 1)));
  }
  p.kernels = nullptr;  // a block of trees is a part of the forest
  p.n_trees = 3;
  p.first_tree = 4;
  const Forest part = grow(data, p, box, 1);
  for (std::size_t k = 0; k < 3; ++k) {
    const TreeView whole = forest.tree(k + 4), block = part.tree(k);
    CHECK(whole.nodes.size() == block.nodes.size() && whole.nodes[0].split == block.nodes[0].split);
  }
  p.n_trees = 4;
  p.first_tree = 0;
  const Forest first = grow(data, p, box, 2);
  const Forest* parts[] = {&first, &part};
  const Forest joined{std::span<const Forest* const>(parts)};
  CHECK(same_forest(forest, joined) && forest.leaf_offsets() == joined.leaf_offsets());
}

// Samples in the order of the first input, with y behind x in memory, are not copied, and give the same trees.
void check_samples_in_order(const Samples& s, const GrowParameters& p) {
  std::vector<std::size_t> order(s.n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return s.x[i] < s.x[j]; });
  std::vector<double> table;
  for (std::size_t d = 0; d < s.n_inputs; ++d)
    for (const std::size_t i : order) table.push_back(s.at(i, d));
  for (const std::size_t i : order) table.push_back(s.y[i]);
  const TrainingSet sorted{s.n, s.n_inputs, table.data(), table.data() + s.n_inputs * s.n, nullptr, nullptr};
  const std::vector<double> before = table, apart(table.end() - static_cast<std::ptrdiff_t>(s.n), table.end());
  const Forest forest = grow(s.view(), p, unit_box(s.n_inputs), 1);
  CHECK(same_forest(forest, grow(sorted, p, unit_box(s.n_inputs), 2)));
  CHECK(table == before);
  const TrainingSet elsewhere{s.n, s.n_inputs, table.data(), apart.data(), nullptr, nullptr};
  CHECK(same_forest(forest, grow(elsewhere, p, unit_box(s.n_inputs), 1)));
}

void check_joining_what_differs() {
  const Samples two = samples(50, 2, false, 1), three = samples(50, 3, false, 1);
  const Forest a = grow(two.view(), {}, unit_box(2), 1), b = grow(three.view(), {}, unit_box(3), 1);
  const Forest* parts[] = {&a, &b};
  CHECK_INVALID(Forest{std::span<const Forest* const>(parts)});
  CHECK_INVALID(Forest{std::span<const Forest* const>()});
}

void check_all_same_bits() {
  const Samples s = samples(1500, 3, false, 1), ties = samples(300, 4, true, 2);
  for (const std::size_t n_min : {1, 5, 33}) {
    GrowParameters p;
    p.min_samples_leaf = n_min;
    p.max_features = 2;
    check_same_bits(s.view(), p);
    check_same_bits(ties.view(), p);
    check_samples_in_order(s, p);
    check_samples_in_order(ties, p);
    check_same_bits(s.view(true, true), p);
    p.grids = {{0, 1, 0}, {0, 1, 0}, {0, 1, 64}};
    check_same_bits(s.view(true), p);
    p.periods = {{0, 1}, {0, 0}, {0, 0}};
    check_same_bits(s.view(), p);
    p.periods = {{0, 1}, {0, 1}, {0, 1}};
    check_same_bits(s.view(), p);
    p.linear = true;
    p.min_samples_leaf = 10 * n_min;
    check_same_bits(s.view(), p);
  }
}

bool nearly_same_forest(const Forest& a, const Forest& b) {
  const auto same_node = [](const Node& p, const Node& q) {
    return std::abs(p.split - q.split) < 1e-12 && p.child == q.child && p.feature == q.feature;
  };
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), same_node);
}

void check_weights(std::size_t n, bool ties) {
  Samples s = samples(n, 3, ties, n);
  GrowParameters p;
  p.n_trees = 5;
  p.max_features = 2;
  for (const std::size_t n_min : {1, 2, 7}) {  // weights of 1
    p.min_samples_leaf = n_min;
    s.weight.assign(n, 1.0);
    CHECK(nearly_same_forest(grow(s.view(), p, unit_box(3), 1), grow(s.view(false, true), p, unit_box(3), 1)));
  }
  p.min_samples_leaf = 1;  // sample i repeated i % 4 times more
  Samples repeated{0, 3, {}, {}, {}, {}};
  std::vector<std::size_t> origin;
  for (std::size_t i = 0; i < n; ++i) {
    s.weight[i] = static_cast<double>(1 + i % 4);
    origin.insert(origin.end(), 1 + i % 4, i);
  }
  repeated.n = origin.size();
  for (std::size_t d = 0; d < 3; ++d)
    for (const std::size_t i : origin) repeated.x.push_back(s.at(i, d));
  for (const std::size_t i : origin) repeated.y.push_back(s.y[i]);
  CHECK(nearly_same_forest(grow(repeated.view(), p, unit_box(3), 1), grow(s.view(false, true), p, unit_box(3), 1)));
}

// Thresholds of the root are uniform between the n_min-th smallest and largest value: the largest distance of their
// distribution from the uniform one stays below what 1 in 10,000 samples exceeds (Kolmogorov and Smirnov).
void check_uniform(std::size_t n, std::size_t n_min, std::size_t n_inputs, bool skewed) {
  Samples s = samples(n, n_inputs, false, 3);
  if (skewed)
    for (double& v : s.x) v = std::pow(v, 12);
  GrowParameters p;
  p.n_trees = 2000;
  p.min_samples_leaf = n_min;
  const Forest forest = grow(s.view(), p, unit_box(n_inputs), 1);
  std::vector<std::size_t> rows(n), chosen(n_inputs);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::vector<double> draws;
  for (std::size_t k = 0; k < p.n_trees; ++k) {
    const Node& root = forest.tree(k).nodes[0];
    const auto d = static_cast<std::size_t>(root.feature);
    const Room r = room(s, rows, d, n_min);
    draws.push_back((root.split - r.low) / (r.high - r.low));
    ++chosen[d];
  }
  std::sort(draws.begin(), draws.end());
  const double count = static_cast<double>(draws.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < draws.size(); ++i)
    distance = std::max(distance, std::abs(draws[i] - (static_cast<double>(i) + 0.5) / count));
  CHECK(distance < 2.23 / std::sqrt(count));
  for (const std::size_t number : chosen) {  // k = 1: each input as often as the others, within five deviations
    const double expected = count / static_cast<double>(n_inputs);
    CHECK(std::abs(static_cast<double>(number) - expected) < 5 * std::sqrt(expected));
  }
}

}  // namespace

int main() {
  check_all_rules();
  check_all_same_bits();
  check_joining_what_differs();
  for (const std::size_t n : {2, 10, 60, 200, 1000})
    for (const bool ties : {false, true}) check_weights(n, ties);
  for (const bool skewed : {false, true}) {
    check_uniform(60, 5, 1, skewed);
    check_uniform(60, 25, 3, skewed);
    check_uniform(200, 10, 3, skewed);
    check_uniform(200, 90, 2, skewed);
  }
  return check::report();
}
