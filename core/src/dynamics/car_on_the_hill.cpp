#include <cmath>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kGravity = 9.81;
constexpr double kEulerStep = 1e-3;
constexpr int kEulerSteps = 100;
constexpr double kMaxPosition = 1.0;
constexpr double kMaxSpeed = 3.0;

struct Hill {
  double slope, curvature;  // Hill'(p), Hill''(p)
};

// Hill(p) = p^2 + p for p < 0, p / sqrt(1 + 5 p^2) for p >= 0.
Hill hill(double p) {
  if (p < 0.0) return {2.0 * p + 1.0, 2.0};
  const double q = 1.0 + 5.0 * (p * p);
  const double power = 1.0 / (q * std::sqrt(q));  // q^-1.5
  return {power, -15.0 * p * power / q};
}
}  // namespace

StepResult CarOnTheHill::step(double* state, const double* action, const double*) const {
  const double u = action[0];
  double p = state[0];
  double s = state[1];
  for (int i = 0; i < kEulerSteps; ++i) {
    const Hill h = hill(p);
    const double acceleration = (u - kGravity * h.slope - s * s * h.slope * h.curvature) / (1.0 + h.slope * h.slope);
    p += kEulerStep * s;
    s += kEulerStep * acceleration;
  }
  state[0] = p;
  state[1] = s;
  if (p < -kMaxPosition || std::abs(s) > kMaxSpeed) return {-1.0, true};
  if (p > kMaxPosition) return {1.0, true};
  return {0.0, false};
}

}  // namespace policyforest
