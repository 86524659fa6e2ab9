// Learned models: steps that can be computed by hand, what is refused, and rollouts of any block and thread.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "check.hpp"
#include "hand_trees.hpp"
#include "policyforest/model/rollouts.hpp"
#include "random_trees.hpp"

using namespace policyforest;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// c·(1, x…) over inputs that are not scaled, within -10 … 10.
RegressorGroup linear(std::size_t n_inputs, const std::vector<std::vector<double>>& outputs) {
  RegressorGroup group;
  group.features = Features(std::vector<Features::Input>(n_inputs, {0.0, 1.0, 0.0}));
  group.range = random_trees::box(n_inputs, -10.0, 10.0);
  for (const auto& coefficients : outputs) group.outputs.push_back({coefficients, nullptr});
  return group;
}

// s' = s + a, paid s; the data lies in -2 … 2.
LearnedModel line() {
  LearnedModel model;
  model.n_states = model.n_actions = 1;
  model.inputs = model.reward_inputs = {0, 1};
  model.dynamics = linear(2, {{0.0, 0.0, 1.0}});
  model.plain = {0};
  model.reward = linear(2, {{0.0, 1.0, 0.0}});
  model.reward_low = -kInfinity;
  model.reward_high = kInfinity;
  model.edge = random_trees::box(1, -2.0, 2.0);
  model.margin = {0.5};
  model.leaving_reward = -7.0;
  model.leaving_value = -50.0;
  return model;
}

ModelStep stepped(const LearnedModel& model, std::vector<double> states, std::vector<double> actions,
                  std::vector<std::uint32_t> residuals = {}, bool keep = true) {
  model.check();
  ModelStep out;
  ModelStepper stepper(model);
  const std::size_t n = states.size() / model.n_states;
  stepper.step(states.data(), actions.data(), residuals.empty() ? nullptr : residuals.data(), n, out);
  if (keep) stepper.keep_in_data(n, out);
  return out;
}

void check_features() {
  const Features features({{1.0, 2.0, 0.0}, {0.0, 1.0, 3.0}});
  CHECK(features.n_linear() == 4 && features.size(1) == 4 && features.size(2) == 10 && features.size(3) == 20);
  const double row[] = {5.0, 0.5};
  std::array<double, 10> phi{};
  features.fill(row, 10, phi.data());
  const double z = 2.0, s = std::sin(1.5), c = std::cos(1.5);
  CHECK(phi == std::array<double, 10>{1.0, z, s, c, z * z, z * s, z * c, s * s, s * c, c * c});
  std::array<std::array<double, 2>, Features::kLanes> rows{};
  std::array<const double*, Features::kLanes> begins{};
  for (std::size_t l = 0; l < Features::kLanes; ++l) {
    rows[l] = {5.0 - static_cast<double>(l), 0.5 * static_cast<double>(l)};
    begins[l] = rows[l].data();
  }
  std::array<double, 20 * Features::kLanes> block{};
  features.fill_block(begins.data(), 20, block.data());
  for (std::size_t l = 0; l < Features::kLanes; ++l) {
    std::array<double, 20> one{};
    features.fill(begins[l], 20, one.data());
    for (std::size_t k = 0; k < 20; ++k) CHECK(block[k * Features::kLanes + l] == one[k]);
  }
  CHECK(Features().size(2) == 1);
  CHECK_INVALID(Features({{0.0, 0.0, 0.0}}));
  CHECK_INVALID(Features({{kInfinity, 1.0, 0.0}}));
}

void check_steps() {
  LearnedModel model = line();
  ModelStep out = stepped(model, {1.0, 1.0, 1.0}, {0.25, 1.25, 2.0});
  CHECK(out.next_states == std::vector<double>{1.25, 2.0, 2.0});
  CHECK(out.reward == std::vector<double>{1.0, 1.0, -7.0});  // the second is beyond the data, within its margin
  CHECK(out.end_chance == std::vector<double>(3, 0.0));
  model.reward_inputs = {2, 1};  // the next state
  model.reward_high = 1.5;
  out = stepped(model, {1.0, 1.0}, {0.25, 0.75}, {}, false);
  CHECK(out.reward == std::vector<double>{1.25, 1.5});
  model = line();
  model.reward = linear(2, {{0.0, 1.0, 10.0}});
  model.reward_inputs = {};
  model.reward_shapes = {{2, 2, true}, {1, 0, false}};  // |s'|, and the angle of the sine a and the cosine s
  out = stepped(model, {0.0, 1.0}, {-0.5, 0.0}, {}, false);
  CHECK(out.reward == std::vector<double>{0.5 + 10.0 * std::atan2(-0.5, 0.0), 1.0});
  model = line();
  model.n_residuals = 2;
  model.residuals = {0.5, 10.0, -0.5, 20.0};
  model.spread = linear(2, {{4.0, 0.0, 0.0}});
  out = stepped(model, {0.0, 0.0}, {0.25, 0.25}, {1, 0});
  CHECK(out.next_states == std::vector<double>{-0.75, 1.25});
  CHECK(out.reward == std::vector<double>{20.0, 10.0});
}

void check_ends() {
  LearnedModel model = line();
  model.end = LearnedModel::End::kThresholds;
  model.thresholds = {{0, 1.0, 1.5}};
  model.end_reward = linear(2, {{-3.0, 0.0, 0.0}});
  model.leaving_ends = true;
  const ModelStep out = stepped(model, {1.0, 1.0, -1.0}, {0.5, 0.75, -2.0});
  CHECK(out.end_chance == std::vector<double>{0.0, 1.0, 1.0});  // 1.5 is not beyond 1.5
  CHECK(out.end_reward == std::vector<double>{-3.0, -3.0, -50.0});
  model.end = LearnedModel::End::kLogistic;
  model.end_chance = linear(1, {{0.0, 1.0}});
  CHECK(stepped(model, {0.0}, {0.0}).end_chance == std::vector<double>{0.5});
  model.end = LearnedModel::End::kForest;
  CHECK(stepped(model, {0.0, 0.0}, {0.25, -0.5}).end_chance == std::vector<double>{0.25, 0.0});
}

void check_structure() {
  LearnedModel model;
  model.n_states = 4;  // sine and cosine, an angle, and twice the angle
  model.n_actions = 1;
  model.inputs = {4};
  model.dynamics = linear(1, {{0.0, 1.0}, {0.0, 1.0}});
  model.plain = {2};
  model.circles = {{0, 1, 2.0}};
  model.periods = {{}, {}, {-1.0, 1.0}, {}};
  model.relations = {{3, {2}, linear(1, {{0.0, 2.0}})}};
  model.reward = linear(0, {{0.0}});
  model.edge = random_trees::box(4, -3.0, 3.0);
  model.margin.assign(4, kInfinity);
  const ModelStep out = stepped(model, {0.0, 2.0, 0.75, 0.0}, {0.5});
  CHECK(std::abs(out.next_states[0] - 2.0 * std::sin(0.5)) < 1e-15);
  CHECK(std::abs(out.next_states[1] - 2.0 * std::cos(0.5)) < 1e-15);
  CHECK(out.next_states[2] == -0.75 && out.next_states[3] == -1.5);
}

// A command that acts one step late: the state holds it, and the dynamics and the reward know nothing of the new one.
void check_late_commands() {
  LearnedModel model = line();
  model.n_states = 2;  // the place, and the pending command
  model.inputs = {0, 1};
  model.copies = {{1, 2}};
  model.reward_inputs = {3, 1};  // the next place, and the command that acts
  model.reward = linear(2, {{0.0, 1.0, 10.0}});
  model.edge = random_trees::box(2, -2.0, 2.0);
  model.margin = {0.5, 0.5};
  const ModelStep out = stepped(model, {1.0, 0.25, 1.0, 0.25}, {0.5, -0.5});
  CHECK(out.next_states == std::vector<double>{1.25, 0.5, 1.25, -0.5});
  CHECK(out.reward == std::vector<double>{3.75, 3.75});
}

// Predictions that overflow count as leaving the data; nothing of them is infinite or not a number.
void check_overflow() {
  LearnedModel model = line();
  model.end = LearnedModel::End::kLogistic;
  model.end_chance = linear(1, {{0.0, 1.0}});
  model.end_reward = linear(2, {{-3.0, 0.0, 0.0}});
  for (const bool ends : {false, true}) {
    model.leaving_ends = ends;
    for (const double huge : {1e308, -1e308}) {
      model.dynamics = linear(2, {{huge, huge, -huge}});
      model.reward = linear(2, {{huge, huge, -huge}});
      const ModelStep out = stepped(model, {1.5, 2.0}, {1.0, 2.0});
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(out.next_states[i] >= -2.0 && out.next_states[i] <= 2.0);
        CHECK(std::isfinite(out.reward[i]) && std::isfinite(out.end_reward[i]));
        CHECK(out.end_chance[i] >= 0.0 && out.end_chance[i] <= 1.0);
      }
    }
  }
}

void check_refusals() {
  const auto broken = [](auto change) {
    LearnedModel model = line();
    change(model);
    return model;
  };
  line().check();
  CHECK_INVALID(LearnedModel().check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.inputs = {0, 2}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.plain = {}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.plain = {3}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.periods.resize(2); }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.reward_high = -kInfinity, m.reward_low = 0.0; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.reward_inputs = {0, 3}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.reward_shapes = {{0, 0, true}}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) {
                  m.reward_inputs = {0};
                  m.reward_shapes = {{0, 3, false}};
                }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.reward = linear(1, {{0.0, 0.0}}); }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.end = LearnedModel::End::kForest; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.thresholds = {{1, 1.0, 0.0}}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.n_residuals = 1; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.spread = linear(2, {{}, {}}); }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.edge.lo[0] = 3.0; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.margin = {std::nan("")}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.dynamics.outputs[0].coefficients = {1.0}; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.dynamics.outputs[0].coefficients[0] = kInfinity; }).check());
  CHECK_INVALID(broken([](LearnedModel& m) { m.dynamics.range.lo[0] = 11.0; }).check());
}

struct Rolled {
  std::vector<double> values, visited;
  std::vector<std::uint32_t> alive;
  bool operator==(const Rolled&) const = default;
};

Rolled rolled(const LearnedModel& model, const Controller& controller, const std::vector<double>& states,
              const std::vector<std::uint32_t>& streams, std::size_t n_threads) {
  const std::size_t n = streams.size();
  const RolloutRules rules{.n_steps = 5, .discount = 0.5, .seed = 3, .action_noise = 0.1, .n_threads = n_threads};
  Rolled out{std::vector<double>(n), std::vector<double>(n * 5), std::vector<std::uint32_t>(n)};
  rollout_values(model, controller, {states.data(), nullptr, streams.data(), n}, rules, out.values, out.visited,
                 out.alive);
  return out;
}

void check_rollouts() {
  random_trees::Engine random(7);
  const Forest forest = random_trees::forest(random, 3, 1, 6, true);
  const Controller controller({&forest}, Box{{-1.0}, {1.0}}, {});
  LearnedModel model = line();
  model.end = LearnedModel::End::kLogistic;
  model.end_chance = linear(1, {{-1.0, 1.0}});
  model.end_reward = linear(2, {{-3.0, 0.0, 0.0}});
  model.n_residuals = 3;
  model.residuals = {0.5, 0.0, -0.25, 1.0, 0.125, -1.0};
  std::vector<double> states;
  std::vector<std::uint32_t> streams;
  for (std::uint32_t i = 0; i < 400; ++i) {
    states.push_back(random_trees::integer(random, -8, 8) / 4.0);
    streams.push_back(i % 50);
  }
  const Rolled all = rolled(model, controller, states, streams, 1);
  CHECK(all == rolled(model, controller, states, streams, 2));
  for (std::size_t i = 0; i < 400; i += 37) {
    const Rolled one = rolled(model, controller, {states[i]}, {streams[i]}, 1);
    CHECK(one.values[0] == all.values[i] && one.alive[0] == all.alive[i]);
    CHECK(std::equal(one.visited.begin(), one.visited.end(), all.visited.begin() + static_cast<long>(5 * i)));
  }
  const Forest other = random_trees::forest(random, 1, 2, 1, false);
  CHECK_INVALID(rolled(model, Controller({&other}, Box{{-1.0}, {1.0}}, {}), states, streams, 1));
  CHECK(rolled(model, controller, {}, {}, 2).values.empty());
}

void check_few_actions() {
  random_trees::Engine random(8);
  const Forest forests[] = {random_trees::forest(random, 4, 2, 9, true), random_trees::forest(random, 5, 2, 9, false)};
  const Controller controller({&forests[0], &forests[1]}, Box{{-3.0, -3.0}, {3.0, 3.0}}, {{-1.0, 4.0}, {}});
  for (const std::size_t n : {0, 1, 12, 200}) {
    std::vector<double> states(2 * n), few(2 * n), many(2 * n), one(2);
    for (double& s : states) s = random_trees::integer(random, -20, 20) / 2.0;
    controller.act_few(states.data(), n, few.data());
    controller.act_many(states.data(), n, many.data());
    CHECK(few == many);
    for (std::size_t i = 0; i < n; ++i) {
      controller.act(states.data() + 2 * i, one.data());
      CHECK(one[0] == few[2 * i] && one[1] == few[2 * i + 1]);
    }
  }
}

}  // namespace

int main() {
  check_few_actions();
  check_features();
  check_steps();
  check_ends();
  check_structure();
  check_late_commands();
  check_overflow();
  check_refusals();
  check_rollouts();
  return check::report();
}
