// The fast predictions against the plain one, bit for bit.
#include <bit>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "policyforest/forest/predictor.hpp"
#include "random_trees.hpp"

using namespace policyforest;

namespace {

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

void check_forest(const Forest& forest, std::size_t n_rows, random_trees::Engine& random) {
  const std::size_t width = forest.n_inputs();
  std::vector<double> rows(n_rows * width), out(n_rows), few(n_rows);
  for (double& v : rows) v = random_trees::integer(random, -2, 20) / 2.0;
  const Predictor predictor(forest);
  predictor.many(rows.data(), n_rows, out.data());
  predictor.few(rows.data(), n_rows, few.data());
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double expected = forest.predict(rows.data() + i * width);
    CHECK(same(out[i], expected));
    CHECK(same(few[i], expected));
    CHECK(same(predictor.one(rows.data() + i * width), expected));
  }
}

}  // namespace

int main() {
  random_trees::Engine random(1);
  for (const bool linear : {false, true}) {
    for (std::size_t n_trees = 1; n_trees <= 40; ++n_trees)  // groups of trees of every size
      check_forest(random_trees::forest(random, n_trees, 3, n_trees % 9 * 4, linear), 20, random);
    for (const std::size_t n_rows : {0, 1, 11, 12, 13, 383, 384, 385, 1000})
      check_forest(random_trees::forest(random, 3, 2, 30, linear), n_rows, random);
    for (const std::size_t n_inputs : {1, 31, 32, 33, 100})
      check_forest(random_trees::forest(random, 5, n_inputs, 50, linear), 30, random);
  }
  return check::report();
}
