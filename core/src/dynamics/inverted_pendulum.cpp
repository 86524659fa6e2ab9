#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kGravity = 9.8;
constexpr double kPoleMass = 2.0;
constexpr double kPoleLength = 0.5;
constexpr double kMaxForce = 50.0;
constexpr double kMaxAngle = std::numbers::pi / 2;
constexpr double kEulerStep = 1e-3;
constexpr int kEulerSteps = 100;
constexpr double kFallReward = -1000.0;
}  // namespace

InvertedPendulum::InvertedPendulum(double cart_mass, double max_speed)
    : cart_mass_(cart_mass), max_speed_(max_speed) {
  if (!(cart_mass > 0.0) || !std::isfinite(cart_mass)) {
    throw std::invalid_argument("cart_mass: " + std::to_string(cart_mass) + "; must be positive and finite");
  }
  if (!(max_speed > 0.0)) {
    throw std::invalid_argument("max_speed: " + std::to_string(max_speed) +
                                "; must be positive (infinity: no limit)");
  }
}

StepResult InvertedPendulum::step(double* state, const double* action, const double* noise) const {
  const double alpha = 1.0 / (kPoleMass + cart_mass_);
  const double alpha_m_l = alpha * kPoleMass * kPoleLength;
  const double push = alpha * (action[0] + noise[0]);
  double theta = state[0];
  double omega = state[1];
  for (int i = 0; i < kEulerSteps; ++i) {
    const double s = std::sin(theta);
    const double c = std::cos(theta);
    // sin(2 theta) / 2 = sin(theta) cos(theta) saves a third of the time.
    const double acceleration =
        (kGravity * s - alpha_m_l * (omega * omega) * (s * c) - push * c) /
        (4.0 * kPoleLength / 3.0 - alpha_m_l * (c * c));
    theta += kEulerStep * omega;
    omega += kEulerStep * acceleration;
  }
  if (!std::isfinite(theta) || !std::isfinite(omega)) {
    throw std::invalid_argument("state: the pendulum at omega = " + std::to_string(state[1]) +
                                " is too fast to be integrated");
  }
  state[0] = theta;
  state[1] = omega;
  if (std::abs(theta) > kMaxAngle || std::abs(omega) > max_speed_) return {kFallReward, true};
  const double angle_cost = theta / kMaxAngle;
  const double force_cost = action[0] / kMaxForce;
  return {-(angle_cost * angle_cost + omega * omega + force_cost * force_cost), false};
}

}  // namespace policyforest
