// Projection and averaging against their definitions, point by point. Pruning has a file of its own.
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

void projection_predicts_as_the_tree_does(bool linear) {
  rt::Engine random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Tree tree = rt::tree(random, 4, 12, linear);
    std::vector<std::uint8_t> fixed;
    for (int d = 0; d < 4; ++d) fixed.push_back(random() % 2);
    std::vector<double> x;
    for (int d = 0; d < 4; ++d) x.push_back(rt::integer(random, 0, 16) / 2.0);
    const Tree projected = project(tree.view(), x, fixed);
    CHECK(rt::well_formed(projected));
    CHECK(projected.n_inputs == static_cast<std::size_t>(std::count(fixed.begin(), fixed.end(), 0)));
    rt::for_half_integers(rt::box(projected.n_inputs, 1.0, 6.0), [&](const std::vector<double>& free) {
      for (std::size_t d = 0, j = 0; d < 4; ++d)
        if (!fixed[d]) x[d] = free[j++];
      CHECK(predict(projected.view(), free.data()) == predict(tree.view(), x.data()));
    });
  }
}

void projection_keeps_the_forest_and_its_box() {
  rt::Engine random(2);
  const Forest forest = rt::forest(random, 3, 3, 10, false);
  const std::vector<double> x{4.0, 0.0, 2.5};
  const std::vector<std::uint8_t> fixed{1, 0, 1};
  const Forest projected = project(forest, x, fixed);
  CHECK(projected.n_trees() == 3 && projected.n_inputs() == 1 && projected.box().hi[0] == 8.0);
  for (double a = 0.0; a <= 8.0; a += 0.5) {
    const std::vector<double> full{4.0, a, 2.5};
    CHECK(projected.predict(&a) == forest.predict(full.data()));
  }
  CHECK_INVALID(project(forest, std::vector<double>{1.0}, fixed));
  CHECK_INVALID(project(forest, x, std::vector<std::uint8_t>{1}));
}

void average_gives_the_tree_of_the_papers_figure() {
  const Tree t1 = make_tree({split(0, 5, 1), split(1, 6, 3), split(1, 5, 5), leaf(1), leaf(2), leaf(3), leaf(4)}, 2);
  const Tree t2 = make_tree({split(1, 8, 1), split(0, 7, 3), split(1, 12, 5), leaf(5), leaf(6), leaf(7), leaf(8)}, 2);
  const std::string figure =
      "(x0<=5 (x1<=8 (x1<=6 3 3.5) (x1<=12 4.5 5))"
      " (x1<=8 (x1<=5 (x0<=7 4 4.5) (x0<=7 4.5 5)) (x1<=12 5.5 6)))";
  CHECK(text(average(t1.view(), t2.view(), 1.0, 1.0, rt::box(2, 0.0, 20.0))) == figure);
  CHECK(text(average(t1.view(), t2.view(), 1.0, 1.0, rt::box(2, -kInfinity, kInfinity))) == figure);
}

// Which nodes of a tree some point of the box reaches.
std::size_t count_reached(const Tree& tree, const Box& box) {
  std::vector<std::uint8_t> reached(tree.nodes.size(), 0);
  rt::for_half_integers(box, [&](const std::vector<double>& x) {
    std::size_t i = 0;
    for (reached[0] = 1; !tree.nodes[i].is_leaf(); reached[i] = 1) {
      const Node& node = tree.nodes[i];
      const bool upper = !(x[static_cast<std::size_t>(node.feature)] <= node.split);
      i = static_cast<std::size_t>(node.child + (upper ? 1 : 0));
    }
  });
  return static_cast<std::size_t>(std::count(reached.begin(), reached.end(), 1));
}

Box random_box(rt::Engine& random, std::size_t n_inputs) {
  Box box;
  for (std::size_t d = 0; d < n_inputs; ++d) {
    box.lo.push_back(rt::integer(random, -1, 6));
    box.hi.push_back(box.lo.back() + rt::integer(random, 0, 3));  // some without width
  }
  return box;
}

void average_is_exact_and_reaches_every_node(bool linear) {
  rt::Engine random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n_inputs = 1 + random() % 3;
    const Tree t1 = rt::tree(random, n_inputs, random() % 12, linear);
    const Tree t2 = rt::tree(random, n_inputs, random() % 12, linear);
    const double w1 = rt::integer(random, 1, 4), w2 = rt::integer(random, 0, 4);
    const Box box = random_box(random, n_inputs);
    const Tree merged = average(t1.view(), t2.view(), w1, w2, box);
    CHECK(rt::well_formed(merged));
    CHECK(count_reached(merged, box) == merged.nodes.size());
    rt::for_half_integers(box, [&](const std::vector<double>& x) {
      const double phi1 = predict(t1.view(), x.data()), phi2 = predict(t2.view(), x.data());
      const double wanted = (w1 * phi1 + w2 * phi2) / (w1 + w2);
      const double got = predict(merged.view(), x.data());
      CHECK(linear ? near(got, wanted) : got == wanted);
    });
  }
}

// avgNodes of Algorithm 2 word for word, with the conditions put right, as text.
std::string paper_average(const Tree& t1, const Tree& t2, std::size_t n1, std::size_t n2, double w1, double w2,
                          Box open) {
  const Node &a = t1.nodes[n1], &b = t2.nodes[n2];
  if (a.is_leaf() && b.is_leaf()) return text({{leaf((w1 * a.split + w2 * b.split) / (w1 + w2))}, {}, 0});
  if (a.is_leaf()) return paper_average(t2, t1, n2, n1, w2, w1, open);
  const auto d = static_cast<std::size_t>(a.feature), lower = static_cast<std::size_t>(a.child);
  if (open.hi[d] <= a.split) return paper_average(t2, t1, n2, lower, w2, w1, open);
  if (a.split <= open.lo[d]) return paper_average(t2, t1, n2, lower + 1, w2, w1, open);
  Box below = open, above = open;
  below.hi[d] = above.lo[d] = a.split;
  const std::string head = text({{split(a.feature, a.split, 1), leaf(0), leaf(0)}, {}, 0});
  return head.substr(0, head.find(' ')) + " " + paper_average(t2, t1, n2, lower, w2, w1, below) + " " +
         paper_average(t2, t1, n2, lower + 1, w2, w1, above) + ")";
}

void average_alternates_as_the_paper_does() {
  rt::Engine random(14);
  for (int trial = 0; trial < 300; ++trial) {
    const Tree t1 = rt::tree(random, 2, random() % 12, false), t2 = rt::tree(random, 2, random() % 12, false);
    const Box box = random_box(random, 2);
    Box open = box;
    for (double& lo : open.lo) lo = std::nextafter(lo, -kInfinity);
    CHECK(text(average(t1.view(), t2.view(), 1.0, 3.0, box)) == paper_average(t1, t2, 0, 0, 1.0, 3.0, open));
  }
}

void average_of_a_forest_is_its_prediction(bool linear) {
  rt::Engine random(4);
  for (int trial = 0; trial < 40; ++trial) {
    const Forest bounded = rt::forest(random, 1 + random() % 5, 2, 6, linear);
    const Forest forest(bounded.nodes(), bounded.node_offsets(), bounded.coefficients(),
                        rt::box(2, -kInfinity, kInfinity));
    const Tree tree = average(forest, 0);
    CHECK(rt::well_formed(tree));
    rt::for_half_integers(rt::box(2, -3.0, 11.0), [&](const std::vector<double>& x) {
      CHECK(near(predict(tree.view(), x.data()), forest.predict(x.data())));
    });
    CHECK(count_leaves(average(bounded, 5).view()) <= 5);
  }
}

void average_weighs_the_trees() {
  rt::Engine random(5);
  const Forest forest = rt::forest(random, 3, 2, 6, false);
  const std::vector<double> weights{2.0, 0.0, 6.0};
  const Tree tree = average(forest, 0, weights);
  rt::for_half_integers(forest.box(), [&](const std::vector<double>& x) {
    const double t0 = predict(forest.tree(0), x.data()), t2 = predict(forest.tree(2), x.data());
    CHECK(predict(tree.view(), x.data()) == (2.0 * t0 + 6.0 * t2) / 8.0);
  });
  CHECK_INVALID(average(forest, 0, std::vector<double>{1.0}));
  CHECK_INVALID(average(forest, 0, std::vector<double>{1.0, -1.0, 1.0}));
  CHECK_INVALID(average(forest, 0, std::vector<double>{1.0, kInfinity, 1.0}));
  CHECK_INVALID(average(forest, 0, std::vector<double>{0.0, 0.0, 0.0}));
}

void average_refuses_what_it_cannot_do() {
  rt::Engine random(6);
  const Tree constant = rt::tree(random, 2, 9, false), linear = rt::tree(random, 2, 9, true);
  CHECK_INVALID(average(constant.view(), linear.view(), 1.0, 1.0, rt::box(2)));
  CHECK_INVALID(average(constant.view(), constant.view(), 1.0, 1.0, rt::box(3)));
  CHECK_INVALID(average(constant.view(), constant.view(), 0.0, 0.0, rt::box(2)));
  CHECK_INVALID(average(constant.view(), constant.view(), -1.0, 2.0, rt::box(2)));
  CHECK_INVALID(average(constant.view(), constant.view(), 1.0, std::nan(""), rt::box(2)));
  const Tree merged = average(constant.view(), constant.view(), 1.0, 1.0, rt::box(2));
  const std::size_t n = merged.nodes.size();
  CHECK(rt::same(average(constant.view(), constant.view(), 1.0, 1.0, rt::box(2), n), merged));
  CHECK_INVALID(average(constant.view(), constant.view(), 1.0, 1.0, rt::box(2), n - 1));
  const std::atomic<bool> cancel = true;
  const Tree long_chain = chain(10000);
  const auto cancelled = [&] {
    const Box box = rt::box(1, 0.0, 20000.0);
    average(long_chain.view(), long_chain.view(), 1.0, 1.0, box, kMaxAverageNodes, &cancel);
  };
  CHECK(message(cancelled) == "cancelled");
}

void deep_trees_are_no_danger() {
  const int n = 100000;
  const Tree tree = chain(n);
  CHECK(rt::well_formed(tree));
  const Box box = rt::box(1, 0.0, n + 1.0);
  const std::vector<double> x{0.5};
  CHECK(project(tree.view(), x, std::vector<std::uint8_t>{0}).nodes.size() == tree.nodes.size());
  CHECK(project(tree.view(), x, std::vector<std::uint8_t>{1}).nodes.size() == 1);
  const Tree twice = average(tree.view(), tree.view(), 1.0, 1.0, box);
  CHECK(twice.nodes.size() == tree.nodes.size());
  CHECK(count_leaves(prune(twice.view(), box, 10).view()) == 10);
}

}  // namespace

int main() {
  for (const bool linear : {false, true}) {
    projection_predicts_as_the_tree_does(linear);
    average_is_exact_and_reaches_every_node(linear);
    average_of_a_forest_is_its_prediction(linear);
  }
  projection_keeps_the_forest_and_its_box();
  average_gives_the_tree_of_the_papers_figure();
  average_alternates_as_the_paper_does();
  average_weighs_the_trees();
  average_refuses_what_it_cannot_do();
  deep_trees_are_no_danger();
  return check::report();
}
