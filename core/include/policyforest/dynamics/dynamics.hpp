// The benchmark systems, and rollouts that run entirely in the core.
//
// A system advances its state by one control step and returns the reward of that step. It holds only
// parameters: the caller owns the state and passes random numbers as `noise`, so that a step is a pure
// function and any number of threads can share one system.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>

namespace policyforest {

struct StepResult {
  double reward;
  bool terminal;
};

class System {
 public:
  virtual ~System() = default;
  virtual std::size_t n_state() const = 0;
  virtual std::size_t n_action() const = 0;
  virtual std::size_t n_noise() const = 0;  // random numbers a control step takes, in the unit of the action
  // Advances `state` by one control step. Throws std::invalid_argument if the integration overflows.
  virtual StepResult step(double* state, const double* action, const double* noise) const = 0;
};

// § Inverted pendulum stabilization: state (theta, omega), theta = 0 upright; action: the force on the cart;
// noise: the force that is added to it. Explicit Euler of 1 ms, control step of 100 ms. The reward charges the
// next state and the force without its noise; |theta| > pi/2 or |omega| > max_speed at the end of a control
// step is terminal and costs 1000.
class InvertedPendulum final : public System {
 public:
  explicit InvertedPendulum(double cart_mass = 8.0, double max_speed = std::numeric_limits<double>::infinity());
  std::size_t n_state() const override { return 2; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 1; }
  StepResult step(double* state, const double* action, const double* noise) const override;
  // The same equations for n rows at once, without rewards, about four times as fast: sine and cosine follow the angle
  // by their addition theorems, within 1e-12 of `step`. Speeds must be below 10 rad/s.
  void step_rows(double* states, const double* actions, const double* noise, std::size_t n) const;
  double cart_mass() const { return cart_mass_; }
  double max_speed() const { return max_speed_; }

 private:
  double cart_mass_, max_speed_;
};

// § Double integrator: state (p, v), action: the acceleration. Explicit Euler of 50 ms, control step of
// 500 ms. The reward charges the position before the step; |p| > 1 or |v| > 1 after it is terminal and costs
// 50.
class DoubleIntegrator final : public System {
 public:
  std::size_t n_state() const override { return 2; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 0; }
  StepResult step(double* state, const double* action, const double* noise) const override;
};

// § Car on the hill (Ernst et al., 2005): state (p, s), action: the force. Explicit Euler of 1 ms, control
// step of 100 ms. Terminal: p < -1 or |s| > 3 with reward -1, else p > 1 with reward +1; other steps: 0.
class CarOnTheHill final : public System {
 public:
  std::size_t n_state() const override { return 2; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 0; }
  StepResult step(double* state, const double* action, const double* noise) const override;
};

// § Inverted pendulum swing-up: state (theta, omega), theta = 0 upright and wrapped into [-pi, pi); action:
// the torque at the pivot of a uniform rod with damping and dry friction. Integrated as rigid-body engines do
// (velocity first, damping implicit, friction as an impulse that can stop the rod but never reverse it), with
// steps of 1 ms and control steps of 100 ms: within 4e-6 rad of MuJoCo and 8e-5 rad of DART after 10 s of
// random torque. |omega| > 10 after a control step is terminal and costs 50.
class SwingUp final : public System {
 public:
  std::size_t n_state() const override { return 2; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 0; }
  StepResult step(double* state, const double* action, const double* noise) const override;
};

// Cart-pole swing-up of PILCO and MC-PILCO: state (x, v, theta, omega), theta = 0 upright and wrapped into [-pi, pi);
// action: the force on the cart, which drags a uniform pole. Runge-Kutta of 2.5 ms, control step of 50 ms. The reward,
// in (0, 1], is one minus MC-PILCO's cost of the next state. |x| > track, |v| > 10 or |omega| > 25 after a control step
// is terminal; as every reward is positive, that needs no penalty.
class CartPole final : public System {
 public:
  explicit CartPole(double track = 6.0, double friction = 0.1);
  std::size_t n_state() const override { return 4; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 0; }
  StepResult step(double* state, const double* action, const double* noise) const override;
  double track() const { return track_; }
  double friction() const { return friction_; }

 private:
  double track_, friction_;
};

// Gymnasium's Acrobot-v1 with a continuous torque: state (theta1, theta2, omega1, omega2), both angles 0 where the two
// links hang, wrapped into [-pi, pi); action: the torque between the links. As in Gymnasium, there is one Runge-Kutta
// step of 200 ms per control step, and speeds are clipped to 4 pi and 9 pi. A state in which the end of the second link
// is more than 1 m above the pivot is terminal with reward 0; other steps: -1.
class Acrobot final : public System {
 public:
  std::size_t n_state() const override { return 4; }
  std::size_t n_action() const override { return 1; }
  std::size_t n_noise() const override { return 0; }
  StepResult step(double* state, const double* action, const double* noise) const override;
};

// Called once per control step: reads the state, writes the action.
using ControlLaw = std::function<void(const double* state, double* action)>;

// Where a rollout of at most T steps writes its results; an empty span is not written.
struct Trajectory {
  std::span<double> states;   // (T + 1) * n_state: the start, then the state after each step
  std::span<double> actions;  // T * n_action
  std::span<double> rewards;  // T
};

struct RolloutEnd {
  std::size_t steps;  // control steps made
  bool terminal;      // the last of them ended in a terminal state
};

// Runs a system from `start` until a terminal state or for max_steps control steps; step t takes row t of
// `noise` (max_steps * n_noise).
RolloutEnd rollout(const System& system, const ControlLaw& control_law, std::span<const double> start,
                   std::span<const double> noise, std::size_t max_steps, const Trajectory& out);

// The control law that plays a given sequence (steps * n_action, which must outlive it), whatever the state.
ControlLaw replay(std::span<const double> actions, std::size_t n_action);

}  // namespace policyforest
