#include <cmath>
#include <numbers>

#include "motion.hpp"
#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kPi = std::numbers::pi;
constexpr double kGravity = 9.81;
constexpr double kMass = 5.0;
constexpr double kLength = 1.0;
constexpr double kDamping = 0.1;
constexpr double kFriction = 0.1;
constexpr double kMaxTorque = 15.0;
constexpr double kMaxSpeed = 10.0;
constexpr double kPenalty = -50.0;
constexpr double kTimeStep = 1e-3;
constexpr int kTimeSteps = 100;

// A uniform rod that turns about its end.
constexpr double kInertia = kMass * kLength * kLength / 3.0;
constexpr double kWeight = kMass * kGravity * kLength / 2.0;

// Dry friction reduces the speed by at most `most`, and stops the rod rather than reversing it.
double rubbed(double omega, double most) {
  if (omega > most) return omega - most;
  if (omega < -most) return omega + most;
  return 0.0;
}
}  // namespace

StepResult SwingUp::step(double* state, const double* action, const double*) const {
  const double torque = action[0];
  const double inertia = kInertia + kTimeStep * kDamping;  // damping acts on the speed after the step
  const double most = kTimeStep * kFriction / inertia;
  double theta = state[0];
  double omega = state[1];
  for (int i = 0; i < kTimeSteps; ++i) {
    const double push = torque + kWeight * std::sin(theta);
    omega = rubbed((kInertia * omega + kTimeStep * push) / inertia, most);
    theta += kTimeStep * omega;
  }
  theta = wrapped(theta);
  state[0] = theta;
  state[1] = omega;
  if (std::abs(omega) > kMaxSpeed) return {kPenalty, true};
  const double torque_cost = torque / kMaxTorque;
  return {-(std::abs(theta) / kPi + torque_cost * torque_cost), false};
}

}  // namespace policyforest
