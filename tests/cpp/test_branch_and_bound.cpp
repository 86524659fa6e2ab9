// The searches for the best action against trying every cell.
#include <algorithm>
#include <limits>
#include <string>

#include "check.hpp"
#include "hand_trees.hpp"
#include "policyforest/best_action/best_action.hpp"
#include "policyforest/best_action/line_search.hpp"
#include "random_trees.hpp"

using namespace policyforest;
using namespace hand_trees;
namespace rt = random_trees;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1.0 + std::abs(a)); }

struct Problem {
  Forest forest;
  std::vector<std::uint8_t> is_action;
  std::vector<double> x;

  std::vector<std::size_t> action_inputs() const {
    std::vector<std::size_t> inputs;
    for (std::size_t d = 0; d < is_action.size(); ++d)
      if (is_action[d]) inputs.push_back(d);
    return inputs;
  }
  double value(const std::vector<double>& action) const {
    std::vector<double> full = x;
    const auto inputs = action_inputs();
    for (std::size_t j = 0; j < inputs.size(); ++j) full[inputs[j]] = action[j];
    return forest.predict(full.data());
  }
  Box action_box() const {
    Box box;
    for (const std::size_t d : action_inputs()) {
      box.lo.push_back(forest.box().lo[d]);
      box.hi.push_back(forest.box().hi[d]);
    }
    return box;
  }
};

// n_actions inputs at random places are actions; some sides of the box have no width or begin at a threshold.
Problem random_problem(rt::Engine& random, std::size_t n_inputs, std::size_t n_actions, bool linear, int n_values) {
  // One after the other: compilers differ in the order in which they evaluate arguments.
  const std::size_t n_trees = 1 + random() % 6, n_splits = random() % 12;
  Problem problem{rt::forest(random, n_trees, n_inputs, n_splits, linear, n_values), {}, {}};
  problem.is_action.assign(n_inputs, 0);
  std::fill_n(problem.is_action.begin(), n_actions, 1);
  std::shuffle(problem.is_action.begin(), problem.is_action.end(), random);
  Box box = rt::box(n_inputs);
  for (std::size_t d = 0; d < n_inputs; ++d) {
    problem.x.push_back(problem.is_action[d] ? std::nan("") : rt::integer(random, 0, 16) / 2.0);
    box.lo[d] = rt::integer(random, -2, 5);
    box.hi[d] = box.lo[d] + rt::integer(random, 0, 4);
    if (!problem.is_action[d]) box.lo[d] = -kInfinity;
  }
  const Forest& f = problem.forest;
  problem.forest = Forest(f.nodes(), f.node_offsets(), f.coefficients(), box);
  return problem;
}

// A multiple of 1/2 belongs to the unit cell (c, c + 1]. The points at the border of the box lie in the cell
// before its first.
std::vector<double> open_corner(const std::vector<double>& action) {
  std::vector<double> corner;
  for (const double a : action) corner.push_back(std::ceil(a) - 1.0);
  return corner;
}

void exact_search_finds_the_lowest_best_cell(std::size_t n_actions, int n_values) {
  rt::Engine random(n_actions * 100 + static_cast<std::size_t>(n_values));
  for (int trial = 0; trial < 150; ++trial) {
    const Problem problem = random_problem(random, n_actions + random() % 3, n_actions, false, n_values);
    const BestAction best = BranchAndBound(problem.forest, problem.is_action)(problem.x);

    double largest = -kInfinity;
    std::vector<double> corner;
    rt::for_half_integers(problem.action_box(), [&](const std::vector<double>& action) {
      const double value = problem.value(action);
      if (value > largest) corner.clear();
      largest = std::max(largest, value);
      if (value == largest && (corner.empty() || open_corner(action) < corner)) corner = open_corner(action);
    });
    CHECK(best.value == largest);
    CHECK(best.value == problem.value(best.action));

    // The lower corner is that of the lowest cell, and all of the box has the largest value.
    const Box border = problem.action_box();
    std::vector<double> lowest = corner, open_lo = best.lo;
    for (std::size_t j = 0; j < n_actions; ++j) {
      lowest[j] = std::max(corner[j], border.lo[j]);
      if (corner[j] < border.lo[j]) open_lo[j] = std::nextafter(border.lo[j], -kInfinity);
      CHECK(open_lo[j] < best.action[j] && best.action[j] <= best.hi[j] && best.hi[j] <= border.hi[j]);
    }
    CHECK(best.lo == lowest);
    rt::for_half_integers({best.lo, best.hi}, [&](const std::vector<double>& action) {
      for (std::size_t j = 0; j < n_actions; ++j)
        if (!(open_lo[j] < action[j])) return;
      CHECK(problem.value(action) == best.value);
    });
  }
}

void exact_search_breaks_ties_downwards() {
  // Two trees over (a0, a1): the maximum 1 is taken for a0 > 4 and, lower, for a0 <= 4 and a1 > 6.
  std::vector<Node> nodes{{4.0, 1, 0}, {6.0, 3, 1}, {1.0, 0, -1}, {0.0, 0, -1}, {1.0, 0, -1}};
  number_leaves(nodes);
  const Tree tree{nodes, {}, 2}, leaf{{{1.0, 0, -1}}, {}, 2};
  const Forest forest({tree, leaf}, rt::box(2));
  const std::vector<std::uint8_t> both{1, 1};
  const BestAction best = BranchAndBound(forest, both)(std::vector<double>(2));
  CHECK(best.value == 1.0);
  CHECK((best.lo == std::vector<double>{0.0, 6.0} && best.hi == std::vector<double>{8.0, 8.0}));
  CHECK((best.action == std::vector<double>{4.0, 7.0}));
}

void exact_search_agrees_with_the_line_search(bool linear) {
  rt::Engine random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const Problem problem = random_problem(random, 1 + random() % 3, 1, linear, 5);
    std::vector<double> x = problem.x;
    const std::size_t input = problem.action_inputs()[0];
    x[input] = 0.0;
    const BestAction best = BranchAndBound(problem.forest, problem.is_action)(x);
    double value, action, lo, hi;
    LineSearch(problem.forest, input)(x.data(), 1, {&value, &action, &lo, &hi}, 1);
    if (linear) {  // where nothing slopes the line search takes an end, which rounds differently
      CHECK(near(best.value, value));
      continue;
    }
    CHECK(best.value == value);
    CHECK(best.lo[0] == lo && best.hi[0] == hi && best.action[0] == action);
  }
}

void exact_search_finds_the_best_corner_of_linear_leaves(std::size_t n_actions) {
  rt::Engine random(n_actions);
  for (int trial = 0; trial < 150; ++trial) {
    const Problem problem = random_problem(random, n_actions + random() % 2, n_actions, true, 7);
    const BestAction best = BranchAndBound(problem.forest, problem.is_action)(problem.x);
    CHECK(best.value == problem.value(best.action));
    // Between integers all functions are linear, so the ends of the unit cells are enough: multiples of 1/2
    // hold the closed ends, and one double above them lie the open ones.
    double largest = -kInfinity;
    const Box border = problem.action_box();
    rt::for_half_integers(border, [&](const std::vector<double>& action) {
      for (std::size_t above = 0; above < std::size_t{1} << n_actions; ++above) {
        std::vector<double> corner = action;
        for (std::size_t j = 0; j < n_actions; ++j)
          if (above >> j & 1 && corner[j] < border.hi[j]) corner[j] = std::nextafter(corner[j], kInfinity);
        largest = std::max(largest, problem.value(corner));
      }
    });
    CHECK(near(best.value, largest));
    for (std::size_t j = 0; j < n_actions; ++j) CHECK(best.lo[j] <= best.action[j] && best.action[j] <= best.hi[j]);
  }
}

void linear_leaves_that_do_not_slope_give_the_middle() {
  const Tree tree{{{2.0, 1, 0}, {0.0, 0, -1}, {0.0, 1, -1}}, {0.0, 0.0, 1.0, 0.0, -1.0, 3.0}, 2};
  const BestAction best =
      BranchAndBound(Forest({tree}, rt::box(2)), std::vector<std::uint8_t>{1, 1})(std::vector<double>(2));
  CHECK((best.value == 3.0 && best.action == std::vector<double>{5.0, 0.0}));
  CHECK((best.lo == std::vector<double>{2.0, 0.0} && best.hi == std::vector<double>{8.0, 8.0}));
}

void actions_lie_inside_boxes_of_one_double() {
  const double lo = 1.0, hi = std::nextafter(1.0, 2.0);
  const std::vector<Node> nodes{{lo, 1, 0}, {0.0, 0, -1}, {hi, 3, 0}, {7.0, 1, -1}, {0.0, 2, -1}};
  const Forest forest(nodes, {0, 5}, {}, rt::box(1));
  const BestAction best = BranchAndBound(forest, std::vector<std::uint8_t>{1})(std::vector<double>(1));
  CHECK(best.value == 7.0 && best.action[0] == hi && best.lo[0] == lo && best.hi[0] == hi);
  const double huge = std::numeric_limits<double>::max();
  const Forest wide(nodes, {0, 5}, {}, rt::box(1, -huge, huge));
  CHECK(BranchAndBound(wide, std::vector<std::uint8_t>{1})(std::vector<double>(1)).action[0] == hi);
}

void merged_search_without_pruning_is_exact(bool linear) {
  rt::Engine random(12);
  for (int trial = 0; trial < 100; ++trial) {
    const Problem problem = random_problem(random, 3, 2, linear, 9);
    const BestAction exact = BranchAndBound(problem.forest, problem.is_action)(problem.x);
    const BestAction merged = merged_best_action(problem.forest, problem.x, problem.is_action, 0);
    CHECK(near(merged.value, exact.value));
    CHECK(near(problem.value(merged.action), exact.value));
    if (linear) continue;
    // Averages of values cannot pass the largest of them.
    const BestAction pruned = merged_best_action(problem.forest, problem.x, problem.is_action, 3);
    CHECK(pruned.value <= exact.value + 1e-12);
    const Box border = problem.action_box();
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(border.lo[j] <= pruned.lo[j] && pruned.lo[j] <= pruned.action[j] && pruned.action[j] <= pruned.hi[j] &&
            pruned.hi[j] <= border.hi[j]);
  }
}

void merged_search_takes_the_lowest_of_equal_leaves() {
  // The maximum 1 is taken for a1 <= 4 and a0 > 4, which a walk meets first, and for a1 > 4, which is lower.
  std::vector<Node> nodes{{4.0, 1, 1}, {4.0, 3, 0}, {1.0, 0, -1}, {0.0, 0, -1}, {1.0, 0, -1}};
  number_leaves(nodes);
  const Forest forest(nodes, {0, 5}, {}, rt::box(2));
  const std::vector<std::uint8_t> both{1, 1};
  const BestAction best = merged_best_action(forest, std::vector<double>(2), both, 50);
  CHECK((best.value == 1.0 && best.action == std::vector<double>{4.0, 6.0}));
  CHECK((best.lo == std::vector<double>{0.0, 4.0} && best.hi == std::vector<double>{8.0, 8.0}));
}

void searches_refuse_what_they_cannot_do() {
  rt::Engine random(13);
  const Forest forest = rt::forest(random, 3, 2, 5, false);
  const std::vector<std::uint8_t> last{0, 1}, none{0, 0}, three{0, 1, 1};
  const std::vector<double> x{1.0, 0.0};
  CHECK_INVALID(BranchAndBound(forest, none));
  CHECK_INVALID(BranchAndBound(forest, three));
  CHECK_INVALID(BranchAndBound(forest, last)(std::vector<double>{1.0}));
  CHECK_INVALID(merged_best_action(forest, x, none, 5));
  const Forest unbounded(forest.nodes(), forest.node_offsets(), {}, rt::box(2, -kInfinity, 8.0));
  CHECK(message([&] { BranchAndBound(unbounded, last); }).starts_with("box: "));
  CHECK(message([&] { merged_best_action(unbounded, x, last, 5); }).starts_with("box: "));
  const std::atomic<bool> cancel = true;
  CHECK(message([&] { BranchAndBound(forest, last)(x, &cancel); }) == "cancelled");
}

}  // namespace

int main() {
  for (const std::size_t n_actions : {1, 2, 3, 4}) {
    for (const int n_values : {1, 2, 9, 1000000}) exact_search_finds_the_lowest_best_cell(n_actions, n_values);
    if (n_actions < 4) exact_search_finds_the_best_corner_of_linear_leaves(n_actions);
  }
  for (const bool linear : {false, true}) {
    exact_search_agrees_with_the_line_search(linear);
    merged_search_without_pruning_is_exact(linear);
  }
  exact_search_breaks_ties_downwards();
  linear_leaves_that_do_not_slope_give_the_middle();
  actions_lie_inside_boxes_of_one_double();
  merged_search_takes_the_lowest_of_equal_leaves();
  searches_refuse_what_they_cannot_do();
  return check::report();
}
