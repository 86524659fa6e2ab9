// The systems against what can be computed by hand, and rollouts against single steps.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "check.hpp"
#include "policyforest/dynamics/dynamics.hpp"

using namespace policyforest;

namespace {
constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool near(double a, double b, double tolerance = 1e-12) { return std::abs(a - b) <= tolerance; }

StepResult step(const System& system, std::array<double, 2>& state, double action, double noise = 0.0) {
  return system.step(state.data(), &action, &noise);
}

void pendulum_rests_upright_and_falls_without_help() {
  const InvertedPendulum pendulum;
  std::array<double, 2> state{0.0, 0.0};
  const StepResult rest = step(pendulum, state, 0.0);
  CHECK(state[0] == 0.0 && state[1] == 0.0 && rest.reward == 0.0 && !rest.terminal);

  state = {0.01, 0.0};
  int steps = 0;
  while (!step(pendulum, state, 0.0).terminal) ++steps;
  CHECK(state[0] > kPi / 2 && steps > 5 && steps < 50);
}

void pendulum_charges_the_commanded_force_not_the_noise() {
  const InvertedPendulum pendulum;
  std::array<double, 2> state{0.0, 0.0};
  const StepResult result = step(pendulum, state, 10.0, -10.0);
  CHECK(state[0] == 0.0 && state[1] == 0.0);
  CHECK(near(result.reward, -0.04));
}

void pendulum_ends_past_its_limits() {
  std::array<double, 2> state{0.0, 0.0};
  StepResult result = step(InvertedPendulum(6.0, 2.0), state, 50.0, 10.0);
  CHECK(!result.terminal);
  result = step(InvertedPendulum(6.0, 2.0), state, 50.0, 10.0);
  CHECK(result.terminal && result.reward == -1000.0 && std::abs(state[1]) > 2.0);
  state = {0.0, 3.0};
  CHECK(!step(InvertedPendulum(), state, 0.0).terminal);
  state = {kPi / 2, 0.1};
  CHECK(step(InvertedPendulum(), state, 0.0).reward == -1000.0);
}

void pendulum_refuses_what_it_cannot_be() {
  CHECK_INVALID(InvertedPendulum(0.0));
  CHECK_INVALID(InvertedPendulum(-1.0));
  CHECK_INVALID(InvertedPendulum(kInfinity));
  CHECK_INVALID(InvertedPendulum(8.0, 0.0));
  CHECK_INVALID(InvertedPendulum(8.0, std::nan("")));
  std::array<double, 2> state{0.0, 1e200};
  CHECK_INVALID(step(InvertedPendulum(), state, 0.0));
  CHECK(state[1] == 1e200);
}

void double_integrator_follows_its_closed_form() {
  // Ten explicit Euler steps: v moves by 10 dt a, p by 10 dt v + 45 dt^2 a.
  const DoubleIntegrator system;
  std::array<double, 2> state{0.3, -0.2};
  const StepResult result = step(system, state, 0.7);
  CHECK(near(state[0], 0.3 - 0.5 * 0.2 + 45 * 0.0025 * 0.7));
  CHECK(near(state[1], -0.2 + 0.5 * 0.7));
  CHECK(near(result.reward, -(0.09 + 0.49)) && !result.terminal);

  state = {1.0, 0.0};
  CHECK(!step(system, state, 0.0).terminal);
  CHECK(step(system, state, 1e-3).reward == -50.0);
  state = {0.0, 1.0};
  CHECK(step(system, state, 0.1).terminal);
}

void car_wins_only_within_its_constraints() {
  const CarOnTheHill system;
  std::array<double, 2> state{-0.5, 0.0};
  StepResult result = step(system, state, 0.0);
  CHECK(near(state[0], -0.5) && near(state[1], 0.0) && result.reward == 0.0);  // the bottom of the valley
  state = {0.95, 2.0};
  result = step(system, state, 4.0);
  CHECK(state[0] > 1.0 && result.reward == 1.0 && result.terminal);
  state = {0.95, 2.95};
  result = step(system, state, 4.0);
  CHECK(state[0] > 1.0 && state[1] > 3.0 && result.reward == -1.0 && result.terminal);
  state = {-0.95, -2.0};
  CHECK(step(system, state, -4.0).reward == -1.0);
}

void rod_sticks_slips_and_wraps() {
  const SwingUp system;
  std::array<double, 2> state{0.0, 0.0};
  StepResult result = step(system, state, 0.09);  // less than the dry friction
  CHECK(state[0] == 0.0 && state[1] == 0.0 && near(result.reward, -0.006 * 0.006));
  step(system, state, 0.2);
  CHECK(state[0] > 0.0 && state[1] > 0.0);

  state = {-kPi, 0.0};
  step(system, state, -15.0);  // pushed over the seam
  CHECK(state[0] > 3.0 && state[0] < kPi && state[1] < 0.0);
  state = {0.5, 9.9};
  result = step(system, state, 15.0);
  CHECK(result.terminal && result.reward == -50.0);
}

void rod_left_alone_comes_to_rest() {
  const SwingUp system;
  std::array<double, 2> state{2.0, 0.0};
  for (int i = 0; i < 3000; ++i) step(system, state, 0.0);
  CHECK(state[1] == 0.0 && kPi - std::abs(state[0]) < 0.1 / 24.0);
}

void cart_pole_hangs_stands_and_ends_at_its_track() {
  const CartPole system;
  const double still = 0.0, push = 10.0;
  std::array<double, 4> state{0.0, 0.0, 0.0, 0.0};
  StepResult result = system.step(state.data(), &still, nullptr);
  CHECK(state == (std::array<double, 4>{0.0, 0.0, 0.0, 0.0}) && result.reward == 1.0 && !result.terminal);
  state = {0.0, 0.0, -kPi, 0.0};
  result = system.step(state.data(), &still, nullptr);
  CHECK(near(std::abs(state[2]), kPi) && near(result.reward, std::exp(-kPi * kPi / 9)) && !result.terminal);

  // Pushed to the right, the cart leads and the hanging pole lags, to the left.
  state = {0.0, 0.0, -kPi, 0.0};
  system.step(state.data(), &push, nullptr);
  CHECK(state[0] > 0.0 && state[1] > 0.0 && state[2] > -kPi && state[2] < -3.0 && state[3] > 0.0);
  state = {5.99, 9.0, 1.0, 0.0};
  CHECK(system.step(state.data(), &push, nullptr).terminal && state[0] > 6.0);
}

void cart_pole_without_friction_keeps_its_energy() {
  const CartPole system(100.0, 0.0);
  const auto energy = [](const std::array<double, 4>& s) {  // of the cart, and of a rod about its middle
    const double across = s[1] + 0.25 * s[3] * std::cos(s[2]), up = 0.25 * s[3] * std::sin(s[2]);
    return 0.25 * (s[1] * s[1] + across * across + up * up + 0.25 / 12 * s[3] * s[3]) +
           0.5 * 9.81 * 0.25 * std::cos(s[2]);
  };
  std::array<double, 4> state{0.0, 1.0, 2.0, 8.0};
  const double before = energy(state), still = 0.0;
  for (int i = 0; i < 200; ++i) system.step(state.data(), &still, nullptr);
  CHECK(near(energy(state), before, 1e-5));
}

void cart_pole_refuses_what_it_cannot_be() {
  CHECK_INVALID(CartPole(0.0));
  CHECK_INVALID(CartPole(kInfinity));
  CHECK_INVALID(CartPole(6.0, -0.1));
  CHECK_INVALID(CartPole(6.0, std::nan("")));
  std::array<double, 4> state{0.0, 0.0, 0.0, 1e300};
  const double still = 0.0;
  CHECK_INVALID(CartPole().step(state.data(), &still, nullptr));
  CHECK(state[3] == 1e300);
}

void acrobot_hangs_swings_and_ends_above_its_line() {
  const Acrobot system;
  const double still = 0.0, push = 1.0;
  std::array<double, 4> state{0.0, 0.0, 0.0, 0.0};
  StepResult result = system.step(state.data(), &still, nullptr);
  CHECK(state == (std::array<double, 4>{0.0, 0.0, 0.0, 0.0}) && result.reward == -1.0 && !result.terminal);
  system.step(state.data(), &push, nullptr);  // the motor turns the links against each other
  CHECK(state[0] < 0.0 && state[1] > 0.0 && state[2] < 0.0 && state[3] > 0.0);
  state = {kPi - 0.1, 0.0, 0.0, 0.0};
  result = system.step(state.data(), &still, nullptr);
  CHECK(result.terminal && result.reward == 0.0);
  state = {0.0, 1.0, 12.0, 28.0};
  system.step(state.data(), &push, nullptr);
  CHECK(std::abs(state[2]) <= 4 * kPi && std::abs(state[3]) <= 9 * kPi);
  state = {0.0, 1.0, 1e200, 0.0};
  CHECK_INVALID(system.step(state.data(), &push, nullptr));
}

void rollout_equals_single_steps() {
  const InvertedPendulum system(6.0, 2.0);
  constexpr std::size_t n = 40;
  std::vector<double> actions(n), noise(n), states(2 * (n + 1)), played(n), rewards(n);
  for (std::size_t t = 0; t < n; ++t) {
    actions[t] = 40.0 * std::sin(3.0 * static_cast<double>(t));
    noise[t] = 10.0 * std::cos(5.0 * static_cast<double>(t));
  }
  const std::array<double, 2> start{0.05, 0.0};
  const RolloutEnd end = rollout(system, replay(actions, 1), start, noise, n, {states, played, rewards});

  std::array<double, 2> state = start;
  std::size_t t = 0;
  bool terminal = false;
  for (; t < n && !terminal; ++t) {
    CHECK(states[2 * t] == state[0] && states[2 * t + 1] == state[1]);
    const StepResult result = step(system, state, actions[t], noise[t]);
    CHECK(result.reward == rewards[t] && played[t] == actions[t]);
    terminal = result.terminal;
  }
  CHECK(end.steps == t && end.terminal == terminal);
  CHECK(states[2 * t] == state[0] && states[2 * t + 1] == state[1]);

  // The same end without the record.
  const RolloutEnd bare = rollout(system, replay(actions, 1), start, noise, n, {});
  CHECK(bare.steps == end.steps && bare.terminal == end.terminal);
}

void rollout_asks_the_control_law_once_a_step() {
  const DoubleIntegrator system;
  int calls = 0;
  const ControlLaw law = [&calls](const double* state, double* action) {
    ++calls;
    action[0] = -0.5 * state[0] - 1.0 * state[1];
  };
  const std::array<double, 2> start{1.0, 0.0};
  const RolloutEnd end = rollout(system, law, start, {}, 200, {});
  CHECK(end.steps == 200 && !end.terminal && calls == 200);
}

void rollout_refuses_arrays_of_the_wrong_size() {
  const InvertedPendulum system;
  const std::array<double, 2> start{0.0, 0.0};
  std::vector<double> three(3), four(4);
  CHECK_INVALID(rollout(system, replay(three, 1), {start.data(), 1}, three, 3, {}));
  CHECK_INVALID(rollout(system, replay(three, 1), start, four, 3, {}));
  CHECK_INVALID(rollout(system, replay(three, 1), start, three, 3, {four, {}, {}}));
  CHECK_INVALID(rollout(system, replay(three, 1), start, four, 4, {}));
}
}  // namespace

int main() {
  pendulum_rests_upright_and_falls_without_help();
  pendulum_charges_the_commanded_force_not_the_noise();
  pendulum_ends_past_its_limits();
  pendulum_refuses_what_it_cannot_be();
  double_integrator_follows_its_closed_form();
  car_wins_only_within_its_constraints();
  rod_sticks_slips_and_wraps();
  rod_left_alone_comes_to_rest();
  cart_pole_hangs_stands_and_ends_at_its_track();
  cart_pole_without_friction_keeps_its_energy();
  cart_pole_refuses_what_it_cannot_be();
  acrobot_hangs_swings_and_ends_above_its_line();
  rollout_equals_single_steps();
  rollout_asks_the_control_law_once_a_step();
  rollout_refuses_arrays_of_the_wrong_size();
  return check::report();
}
