#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "motion.hpp"
#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kPi = std::numbers::pi;
constexpr double kGravity = 9.8;
constexpr double kTimeStep = 0.2;
constexpr double kMaxSpeed1 = 4 * kPi;
constexpr double kMaxSpeed2 = 9 * kPi;
// Both links: 1 kg, 1 m, the centre of mass in the middle, a moment of inertia of 1 kg m² about it.
constexpr double kMiddle = 0.5;
constexpr double kInertia = 1.0;

using State = std::array<double, 4>;  // theta1, theta2, omega1, omega2

State derivative(const State& s, double torque) {
  const double sine2 = std::sin(s[1]), cosine2 = std::cos(s[1]);
  const double d1 = kMiddle * kMiddle + (1.0 + kMiddle * kMiddle + 2 * kMiddle * cosine2) + 2 * kInertia;
  const double d2 = kMiddle * kMiddle + kMiddle * cosine2 + kInertia;
  const double phi2 = kMiddle * kGravity * std::sin(s[0] + s[1]);
  const double phi1 = -kMiddle * (s[3] * s[3]) * sine2 - 2 * kMiddle * s[3] * s[2] * sine2 +
                      (kMiddle + 1.0) * kGravity * std::sin(s[0]) + phi2;
  const double lower = (torque + d2 / d1 * phi1 - kMiddle * (s[2] * s[2]) * sine2 - phi2) /
                       (kMiddle * kMiddle + kInertia - d2 * d2 / d1);
  return {s[2], s[3], -(d2 * lower + phi1) / d1, lower};
}
}  // namespace

StepResult Acrobot::step(double* state, const double* action, const double*) const {
  const State s{state[0], state[1], state[2], state[3]};
  const double torque = action[0];
  const State to = runge_kutta(s, kTimeStep, [torque](const State& at) { return derivative(at, torque); });
  require_finite(to, "acrobot", state[2]);
  state[0] = wrapped(to[0]);
  state[1] = wrapped(to[1]);
  state[2] = std::clamp(to[2], -kMaxSpeed1, kMaxSpeed1);
  state[3] = std::clamp(to[3], -kMaxSpeed2, kMaxSpeed2);
  const bool up = -std::cos(state[0]) - std::cos(state[0] + state[1]) > 1.0;
  return {up ? 0.0 : -1.0, up};
}

}  // namespace policyforest
