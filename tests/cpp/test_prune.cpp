// Pruning against Algorithm 3 in its plainest form, and against integrals.
#include <algorithm>
#include <limits>
#include <string>

#include "check.hpp"
#include "hand_trees.hpp"
#include "policyforest/algebra/algebra.hpp"
#include "random_trees.hpp"

using namespace policyforest;
using namespace hand_trees;
namespace rt = random_trees;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1.0 + std::abs(a) + std::abs(b)); }

std::vector<std::size_t> parents(const Tree& tree) {
  std::vector<std::size_t> parent(tree.nodes.size(), 0);
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const auto child = static_cast<std::size_t>(tree.nodes[n].child);
    if (!tree.nodes[n].is_leaf()) parent[child] = parent[child + 1] = n;
  }
  return parent;
}

// Whether some multiple of 1/2 in the box gets to node i: x <= v goes down and x > v up, in each dimension by itself.
bool reached(const Tree& tree, const Box& box, std::size_t i) {
  const std::vector<std::size_t> parent = parents(tree);
  for (std::size_t d = 0; d < box.dims(); ++d) {
    bool some = false;
    for (double x = box.lo[d]; x <= box.hi[d]; x += 0.5) {
      bool arrives = true;
      for (std::size_t n = i; n != 0; n = parent[n]) {
        const Node& node = tree.nodes[parent[n]];
        const bool lower = n == static_cast<std::size_t>(node.child);
        if (static_cast<std::size_t>(node.feature) == d && lower != (x <= node.split)) arrives = false;
      }
      some = some || arrives;
    }
    if (!some) return false;
  }
  return true;
}

// The box of node i, found by walking to it: closed, and empty (lo > hi) where a path contradicts itself.
Box closed_box(const Tree& tree, const Box& box, std::size_t i) {
  const std::vector<std::size_t> parent = parents(tree);
  Box result = box;
  for (; i != 0; i = parent[i]) {
    const Node& node = tree.nodes[parent[i]];
    const auto d = static_cast<std::size_t>(node.feature);
    const bool lower = i == static_cast<std::size_t>(node.child);
    if (box.lo[d] == box.hi[d]) {
      if (lower != (box.lo[d] <= node.split)) result.lo[d] = kInfinity;
    } else if (lower) {
      result.hi[d] = std::min(result.hi[d], node.split);
    } else {
      result.lo[d] = std::max(result.lo[d], node.split);
    }
  }
  return result;
}

double share_of(const Box& part, const Box& whole) {
  double share = 1.0;
  for (std::size_t d = 0; d < part.dims(); ++d) {
    if (part.lo[d] > part.hi[d]) return 0.0;
    if (whole.lo[d] < whole.hi[d]) share *= (part.hi[d] - part.lo[d]) / (whole.hi[d] - whole.lo[d]);
  }
  return share;
}

// One step of Algorithm 3 in the plainest way: the tree with the two leaves of a node merged, and what that
// costs where leaves are constant.
struct Step {
  bool possible = false;
  double loss = 0.0;
  Tree tree;
};

Step merge_at(const Tree& tree, const Box& box, std::size_t i) {
  const Node node = tree.nodes[i];
  const auto lower = static_cast<std::size_t>(node.child);
  if (node.is_leaf() || !tree.nodes[lower].is_leaf() || !tree.nodes[lower + 1].is_leaf()) return {};
  const double vl = share_of(closed_box(tree, box, lower), box);
  const double vu = share_of(closed_box(tree, box, lower + 1), box);
  const double v = share_of(closed_box(tree, box, i), box);
  const bool has_l = reached(tree, box, lower), has_u = reached(tree, box, lower + 1);
  const auto mean = [&](double l, double u) {
    if (l == u) return l;
    if (v > 0.0) return (vu * u + vl * l) / v;
    return has_l == has_u ? l / 2 + u / 2 : has_l ? l : u;
  };
  const double phi_l = tree.nodes[lower].split, phi_u = tree.nodes[lower + 1].split;
  const double phi = mean(phi_l, phi_u);
  Step step{true, vl * std::abs(phi - phi_l) + vu * std::abs(phi - phi_u), {{}, {}, tree.n_inputs}};
  const std::size_t row = tree.n_inputs + 1;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (n == lower || n == lower + 1) continue;
    Node copy = n == i ? leaf(phi) : tree.nodes[n];
    if (!copy.is_leaf() && copy.child > node.child) copy.child -= 2;
    step.tree.nodes.push_back(copy);
    for (std::size_t d = 0; copy.is_leaf() && !tree.coefficients.empty() && d < row; ++d) {
      const auto coefficient = [&](std::size_t at) {
        return tree.coefficients[static_cast<std::size_t>(tree.nodes[at].child) * row + d];
      };
      step.tree.coefficients.push_back(n == i ? mean(coefficient(lower), coefficient(lower + 1)) : coefficient(n));
    }
  }
  number_leaves(step.tree.nodes);
  return step;
}

void pruning_takes_the_smallest_loss_first() {
  rt::Engine random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n_inputs = 1 + random() % 3;
    Box box = rt::box(n_inputs);
    if (trial % 3 == 0) box.lo[0] = box.hi[0] = 3.0;
    Tree slow = rt::tree(random, n_inputs, 14, false, trial % 2 ? 4 : 100);
    const Tree tree = slow;
    for (std::size_t leaves = count_leaves(tree.view()); leaves > 1; --leaves) {
      Step best;
      for (std::size_t i = 0; i < slow.nodes.size(); ++i) {
        const Step step = merge_at(slow, box, i);
        if (step.possible && (!best.possible || step.loss < best.loss)) best = step;
      }
      slow = best.tree;
      const Tree pruned = prune(tree.view(), box, leaves - 1);
      CHECK(rt::well_formed(pruned));
      CHECK(rt::same(pruned, slow));
    }
  }
}

// The integral of (a - b)^2 in units of the box: two Gauss points a unit cell and dimension, which is exact.
double squared_distance(const Tree& a, const Tree& b, const Box& box) {
  double sum = 0.0, n_points = 0.0;
  rt::for_half_integers(box, [&](std::vector<double> x) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (box.lo[d] == box.hi[d]) continue;
      if (x[d] == box.hi[d]) return;
      const bool first_half = x[d] == std::floor(x[d]);
      x[d] = std::floor(x[d]) + 0.5 + (first_half ? -0.5 : 0.5) / std::sqrt(3.0);
    }
    const double difference = predict(a.view(), x.data()) - predict(b.view(), x.data());
    sum += difference * difference;
    n_points += 1.0;
  });
  return sum / n_points;
}

void pruning_linear_leaves_loses_least_in_the_square() {
  rt::Engine random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t n_inputs = 1 + random() % 2;
    Box box = rt::box(n_inputs);
    if (trial % 4 == 0 && n_inputs > 1) box.lo[1] = box.hi[1] = 5.0;
    const Tree tree = rt::tree(random, n_inputs, 10, true);
    double least = kInfinity;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const Step step = merge_at(tree, box, i);
      if (step.possible) least = std::min(least, squared_distance(tree, step.tree, box));
    }
    const Tree pruned = prune(tree.view(), box, 10);
    CHECK(rt::well_formed(pruned) && count_leaves(pruned.view()) == 10);
    CHECK(near(squared_distance(tree, pruned, box), least));
    const Tree halfway = prune(tree.view(), box, 7);
    CHECK(rt::same(prune(tree.view(), box, 4), prune(halfway.view(), box, 4)));
  }
}

void pruning_compares_slopes_with_steps() {
  // Left of x0 = 4 the two leaves differ by the step 2 c, right of it by 2 (x0 - 6): merging them changes the
  // function by c^2 and by (2^2) / 3 in the mean square.
  std::vector<Node> nodes{split(0, 4, 1), split(1, 4, 3), split(1, 4, 5), leaf(0), leaf(0), leaf(0), leaf(0)};
  number_leaves(nodes);
  for (const double c : {1.2, 1.1}) {
    const Tree tree{nodes, {0, 0, 0, 0, 0, 2 * c, -1, 0, 6, 1, 0, -6}, 2};
    const Tree pruned = prune(tree.view(), rt::box(2), 3);
    CHECK(pruned.nodes[1].is_leaf() == (c * c < 4.0 / 3.0));
    CHECK(pruned.nodes[2].is_leaf() != pruned.nodes[1].is_leaf());
  }
}

void pruning_keeps_small_trees_and_equal_leaves() {
  rt::Engine random(9);
  const Tree tree = rt::tree(random, 2, 9, false);
  CHECK(rt::same(prune(tree.view(), rt::box(2), 10), tree));
  CHECK(rt::same(prune(tree.view(), rt::box(2, -kInfinity, kInfinity), 10), tree));
  for (int trial = 0; trial < 800; ++trial) {
    const double value = trial / 7.0, v = 1 + trial % 8;
    const Tree equal = make_tree({split(0, 3, 1), leaf(0.1), split(1, v, 3), leaf(value), leaf(value)}, 2);
    const Tree pruned = prune(equal.view(), rt::box(2, 0.0, 9.0), 2);
    CHECK(pruned.nodes.size() == 3 && pruned.nodes[1].split == 0.1 && pruned.nodes[2].split == value);
  }
}

void pruning_on_a_face_leaves_out_what_lies_outside_the_box() {
  // x1 <= 2 holds on the lower face of the box alone, which has no volume, and no point of it has x0 <= -1 or x0 > 9.
  const Box box{{3.0, 2.0}, {4.0, 6.0}};
  const Tree below = make_tree({split(1, 2, 1), split(0, -1, 3), leaf(-5), leaf(7), leaf(-2)}, 2);
  CHECK(prune(below.view(), box, 2).nodes[1].split == -2.0);
  const Tree above = make_tree({split(1, 2, 1), split(0, 9, 3), leaf(-5), leaf(-2), leaf(7)}, 2);
  CHECK(prune(above.view(), box, 2).nodes[1].split == -2.0);
  const Tree inside = make_tree({split(1, 2, 1), split(0, 3.5, 3), leaf(-5), leaf(-2), leaf(7)}, 2);
  CHECK(prune(inside.view(), box, 2).nodes[1].split == 2.5);
}

void pruning_refuses_what_it_cannot_do() {
  rt::Engine random(10);
  const Tree tree = rt::tree(random, 2, 9, false);
  CHECK_INVALID(prune(tree.view(), rt::box(2), 0));
  CHECK_INVALID(prune(tree.view(), rt::box(1), 2));
  CHECK(message([&] { prune(tree.view(), rt::box(2, 0.0, kInfinity), 2); }).starts_with("box: "));
  // An infinite side that no node splits or multiplies by does no harm.
  Tree half = make_tree({split(0, 3, 1), leaf(1), leaf(2)}, 2);
  const Box side{{0.0, -kInfinity}, {8.0, kInfinity}};
  CHECK(text(prune(half.view(), side, 1)) == "1.625");
  half.nodes[1].split = half.nodes[2].split = 0.0;
  half.coefficients = {1.0, 0.0, 1.0, 2.0, 0.0, 1.0};
  CHECK(count_leaves(prune(half.view(), side, 1).view()) == 1);
  half.coefficients[1] = 1.0;
  CHECK(message([&] { prune(half.view(), side, 1); }).starts_with("box: "));
}

}  // namespace

int main() {
  pruning_takes_the_smallest_loss_first();
  pruning_linear_leaves_loses_least_in_the_square();
  pruning_compares_slopes_with_steps();
  pruning_keeps_small_trees_and_equal_leaves();
  pruning_on_a_face_leaves_out_what_lies_outside_the_box();
  pruning_refuses_what_it_cannot_do();
  return check::report();
}
