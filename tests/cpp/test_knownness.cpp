// Knownness forests: refusals, threads, and trees that stay deep and narrow without recursion.
#include <limits>
#include <vector>

#include "check.hpp"
#include "policyforest/knownness/knownness.hpp"
#include "policyforest/support/random.hpp"
#include "random_trees.hpp"

using namespace policyforest;

namespace {

const Box kUnit{{0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}};

std::vector<double> random_points(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<double> points(n * 3);
  for (double& x : points) x = random.uniform();
  return points;
}

void check_threads(KnownnessForm form) {
  const auto points = random_points(3000, 1), rows = random_points(700, 2);
  std::vector<double> expected(700), found(700);
  KnownnessForest one(kUnit, {form}), four(kUnit, {form});
  one.insert(points.data(), 3000);
  four.insert(points.data(), 1000, 4);
  four.insert(points.data() + 3000, 2000, 4);
  one.knownness(rows.data(), 700, expected.data());
  four.knownness(rows.data(), 700, found.data(), 4);
  CHECK(expected == found);
  for (std::size_t i = 0; i < 700; ++i) CHECK(one.knownness(rows.data() + 3 * i) == expected[i]);
}

// Points that halve their distance to a corner make a tree as deep as doubles allow.
void check_deep(KnownnessForm form) {
  std::vector<double> points;
  for (double x = 1.0; x > 0.0; x /= 2.0) points.insert(points.end(), {x, x, x});
  KnownnessForest forest(kUnit, {form, 2, 1});
  forest.insert(points.data(), points.size() / 3);
  for (const KnownnessLeaf& leaf : forest.leaves(0)) CHECK(leaf.n_points <= 1);
  for (std::size_t i = 0; i < points.size(); i += 3) CHECK(forest.knownness(points.data() + i) > 0.0);
}

void check_refusals() {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_INVALID(KnownnessForest({{}, {}}, {}));
  CHECK_INVALID(KnownnessForest({{0.0}, {infinite}}, {}));
  CHECK_INVALID(KnownnessForest({{1.0}, {0.0}}, {}));
  CHECK_INVALID(KnownnessForest(kUnit, {KnownnessForm::density, 0}));
  CHECK_INVALID(KnownnessForest(kUnit, {KnownnessForm::density, 1, 0}));
  KnownnessForest forest(kUnit, {});
  const double outside[] = {0.5, 0.5, 0.5, 0.5, 2.0, 0.5};
  CHECK_INVALID(forest.insert(outside, 2));
  CHECK(forest.n_points() == 0);
  const double nan[] = {0.5, std::numeric_limits<double>::quiet_NaN(), 0.5};
  CHECK_INVALID(forest.insert(nan, 1));
  CHECK_INVALID(forest.leaves(25));
  random_trees::Engine random(1);
  CHECK_INVALID(optimistic_leaves(random_trees::forest(random, 1, 2, 3, false), forest, 0.0, 1.0));
}

}  // namespace

int main() {
  for (const KnownnessForm form : {KnownnessForm::density, KnownnessForm::original}) {
    check_threads(form);
    check_deep(form);
  }
  check_refusals();
  return check::report();
}
