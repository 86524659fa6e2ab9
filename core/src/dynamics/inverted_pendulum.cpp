#include <algorithm>
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
constexpr double kMaxRowSpeed = 10.0;  // rad/s: up to here the series of `turn` are accurate to the last digits
constexpr std::size_t kLanes = 8;      // rows that are integrated together

struct Lanes {
  double theta[kLanes], omega[kLanes], push[kLanes], s[kLanes], c[kLanes];
};

// One Euler step of all lanes; s and c are the sine and the cosine of theta, turned by d = h omega.
void turn(Lanes& x, double alpha_m_l) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const double s = x.s[i], c = x.c[i], omega = x.omega[i], d = kEulerStep * omega, d2 = d * d;
    const double acceleration = (kGravity * s - alpha_m_l * (omega * omega) * (s * c) - x.push[i] * c) /
                                (4.0 * kPoleLength / 3.0 - alpha_m_l * (c * c));
    const double sine = d * (1.0 - d2 * (1.0 / 6.0 - d2 * (1.0 / 120.0)));
    const double lost = d2 * (0.5 - d2 * (1.0 / 24.0 - d2 * (1.0 / 720.0)));  // 1 - cos(d)
    x.theta[i] += d;
    x.omega[i] = omega + kEulerStep * acceleration;
    x.s[i] = s + (c * sine - s * lost);
    x.c[i] = c - (s * sine + c * lost);
  }
}
}  // namespace

InvertedPendulum::InvertedPendulum(double cart_mass, double max_speed) : cart_mass_(cart_mass), max_speed_(max_speed) {
  if (!(cart_mass > 0.0) || !std::isfinite(cart_mass)) {
    throw std::invalid_argument("cart_mass: " + std::to_string(cart_mass) + "; must be positive and finite");
  }
  if (!(max_speed > 0.0)) {
    throw std::invalid_argument("max_speed: " + std::to_string(max_speed) + "; must be positive (infinity: no limit)");
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
    // sin(theta) cos(theta) instead of sin(2 theta) / 2 saves a third of the time.
    const double acceleration = (kGravity * s - alpha_m_l * (omega * omega) * (s * c) - push * c) /
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

void InvertedPendulum::step_rows(double* states, const double* actions, const double* noise, std::size_t n) const {
  const double alpha = 1.0 / (kPoleMass + cart_mass_);
  for (std::size_t first = 0; first < n; first += kLanes) {
    const std::size_t count = std::min(kLanes, n - first);
    Lanes x{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      x.theta[i] = states[2 * row];
      x.omega[i] = states[2 * row + 1];
      x.push[i] = alpha * (actions[row] + noise[row]);
      x.s[i] = std::sin(x.theta[i]);
      x.c[i] = std::cos(x.theta[i]);
    }
    for (std::size_t i = count; i < kLanes; ++i) x.c[i] = 1.0;
    for (int k = 0; k < kEulerSteps; ++k) turn(x, alpha * kPoleMass * kPoleLength);
    for (std::size_t i = 0; i < count; ++i) {
      double* state = states + 2 * (first + i);
      if (!(std::abs(state[1]) < kMaxRowSpeed && std::abs(x.omega[i]) < kMaxRowSpeed))
        throw std::invalid_argument("states: a row is faster than 10 rad/s");
      state[0] = x.theta[i];
      state[1] = x.omega[i];
    }
  }
}

}  // namespace policyforest
