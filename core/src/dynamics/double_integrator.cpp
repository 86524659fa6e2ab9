#include <cmath>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
constexpr double kEulerStep = 0.05;
constexpr int kEulerSteps = 10;
constexpr double kLimit = 1.0;
constexpr double kPenalty = -50.0;
}  // namespace

StepResult DoubleIntegrator::step(double* state, const double* action, const double*) const {
  const double source = state[0];
  const double acceleration = action[0];
  double p = state[0];
  double v = state[1];
  for (int i = 0; i < kEulerSteps; ++i) {
    p += kEulerStep * v;
    v += kEulerStep * acceleration;
  }
  state[0] = p;
  state[1] = v;
  if (std::abs(p) > kLimit || std::abs(v) > kLimit) return {kPenalty, true};
  return {-(source * source + acceleration * acceleration), false};
}

}  // namespace policyforest
