#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "motion.hpp"
#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
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
  const auto slope = [this, action](const State& at) { return derivative(at, action[0], friction_); };
  for (int i = 0; i < kTimeSteps; ++i) s = runge_kutta(s, kTimeStep, slope);
  require_finite(s, "pole", state[3]);
  s[2] = wrapped(s[2]);
  for (std::size_t d = 0; d < 4; ++d) state[d] = s[d];
  const bool terminal = std::abs(s[0]) > track_ || std::abs(s[1]) > kMaxSpeed || std::abs(s[3]) > kMaxOmega;
  const double angle = s[2] / kAngleScale;
  return {std::exp(-(angle * angle + s[0] * s[0])), terminal};
}

}  // namespace policyforest
