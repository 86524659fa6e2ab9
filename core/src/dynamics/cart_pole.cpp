#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kPi = std::numbers::pi;
constexpr double kGravity = 9.81;
constexpr double kCartMass = 0.5;
constexpr double kPoleMass = 0.5;
constexpr double kLength = 0.5;
constexpr double kMaxSpeed = 10.0;
constexpr double kMaxOmega = 25.0;
constexpr double kAngleScale = 3.0;
constexpr double kTimeStep = 2.5e-3;
constexpr int kTimeSteps = 20;

constexpr double kMass = kCartMass + kPoleMass;
constexpr double kPoleMoment = kPoleMass * kLength;

using State = std::array<double, 4>;  // x, v, theta, omega

State derivative(const State& s, double force, double friction) {
  const double sine = std::sin(s[2]);
  const double cosine = std::cos(s[2]);
  const double push = force - friction * s[1];
  const double swing = kPoleMoment * (s[3] * s[3]) * sine;
  const double inertia = 4.0 * kMass - 3.0 * kPoleMass * (cosine * cosine);
  return {s[1], (2.0 * swing - 3.0 * kPoleMass * kGravity * (sine * cosine) + 4.0 * push) / inertia, s[3],
          (6.0 * kMass * kGravity * sine - 3.0 * swing * cosine - 6.0 * push * cosine) / (kLength * inertia)};
}

State moved(const State& s, const State& slope, double time) {
  State to;
  for (std::size_t d = 0; d < 4; ++d) to[d] = s[d] + time * slope[d];
  return to;
}

// One step of the classical Runge-Kutta method of fourth order.
State runge_kutta(const State& s, double force, double friction) {
  const State a = derivative(s, force, friction);
  const State b = derivative(moved(s, a, kTimeStep / 2), force, friction);
  const State c = derivative(moved(s, b, kTimeStep / 2), force, friction);
  const State d = derivative(moved(s, c, kTimeStep), force, friction);
  State to;
  for (std::size_t i = 0; i < 4; ++i) to[i] = s[i] + kTimeStep / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  return to;
}

double wrapped(double theta) {
  const double turned = theta - 2.0 * kPi * std::floor((theta + kPi) / (2.0 * kPi));
  // Rounding can leave the upper end itself, which is the lower end one turn on.
  return turned >= kPi || turned < -kPi ? -kPi : turned;
}
}  // namespace

CartPole::CartPole(double track, double friction) : track_(track), friction_(friction) {
  if (!(track > 0.0) || !std::isfinite(track)) {
    throw std::invalid_argument("track: " + std::to_string(track) + "; must be positive and finite");
  }
  if (!(friction >= 0.0) || !std::isfinite(friction)) {
    throw std::invalid_argument("friction: " + std::to_string(friction) + "; must be at least 0 and finite");
  }
}

StepResult CartPole::step(double* state, const double* action, const double*) const {
  State s{state[0], state[1], state[2], state[3]};
  for (int i = 0; i < kTimeSteps; ++i) s = runge_kutta(s, action[0], friction_);
  for (const double value : s) {
    if (!std::isfinite(value)) {
      throw std::invalid_argument("state: the pole at omega = " + std::to_string(state[3]) +
                                  " is too fast to be integrated");
    }
  }
  s[2] = wrapped(s[2]);
  for (std::size_t d = 0; d < 4; ++d) state[d] = s[d];
  const bool terminal =
      std::abs(s[0]) > track_ || std::abs(s[1]) > kMaxSpeed || std::abs(s[3]) > kMaxOmega;
  const double angle = s[2] / kAngleScale;
  return {std::exp(-(angle * angle + s[0] * s[0])), terminal};
}

}  // namespace policyforest
