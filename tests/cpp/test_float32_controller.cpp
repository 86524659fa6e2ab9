// The single-precision controller against the double-precision one, on numbers that both hold exactly: small whole
// ones, and numbers of trees that are powers of two.
#include <vector>

#include "check.hpp"
#include "policyforest/policy/controller.hpp"
#include "policyforest/policy/float32_controller.hpp"
#include "random_trees.hpp"

using namespace policyforest;

namespace {

void check_forests(const std::vector<Forest>& forests, random_trees::Engine& random, std::vector<Period> periods) {
  std::vector<const Forest*> members;
  Box actions;
  for (const Forest& forest : forests) {
    members.push_back(&forest);
    actions.lo.push_back(-30.0);
    actions.hi.push_back(30.0);
  }
  const Controller plain(members, actions, periods);
  const Float32Controller single(members, actions, periods);
  CHECK(single.n_states() == plain.n_states());
  CHECK(single.n_actions() == plain.n_actions());
  const std::size_t n = 200, width = plain.n_states();
  std::vector<double> states(n * width), expected(n * plain.n_actions());
  std::vector<float> rows(states.size()), found(expected.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = random_trees::integer(random, -20, 40) / 2.0;
    rows[i] = static_cast<float>(states[i]);
  }
  plain.act_many(states.data(), n, expected.data());
  single.act_many(rows.data(), n, found.data());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(static_cast<double>(found[i]) == expected[i]);
}

}  // namespace

int main() {
  random_trees::Engine random(3);
  for (const bool linear : {false, true})
    for (const std::size_t n_trees : {1, 2, 8})
      for (const std::size_t splits : {0, 1, 20}) {
        check_forests({random_trees::forest(random, n_trees, 3, splits, linear)}, random, {});
        std::vector<Forest> two;
        while (two.size() < 2) two.push_back(random_trees::forest(random, n_trees, 2, splits, linear));
        check_forests(two, random, {{-2.0, 6.0}, {}});
      }
  const Forest forest = random_trees::forest(random, 1, 1, 0, false);
  CHECK_INVALID(Float32Controller({&forest}, Box{{0.1}, {1.0}}, {}));
  CHECK_INVALID(Float32Controller({}, Box{}, {}));
  CHECK_INVALID(Float32Controller({&forest}, Box{{0.0}, {1.0}}, {{0.0, 1.0}, {0.0, 1.0}}));
  return check::report();
}
