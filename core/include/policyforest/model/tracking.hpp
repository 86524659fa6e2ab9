// Sequences of actions played in a learned model, and the backward pass that improves them (iterative LQR; Li and
// Todorov, 2004). Nothing here is drawn at random, and rows are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policyforest/model/learned_model.hpp"
#include "policyforest/policy/controller.hpp"

namespace policyforest {

// Where episodes begin, how long they are, and the bounds of actions and states.
struct TrackRules {
  const double* starts;  // n rows
  std::size_t n, n_steps;
  Box actions;  // actions are clipped to it
  Box reach;    // next states are clipped to it; a number that is NaN keeps its value before the step
};

// Actions with feedback on the difference from a reference, a = actions_t + feedback_t (s - reference_t).
struct TrackedLaw {
  const double* actions;    // (n, n_steps, n_actions)
  const double* feedback;   // (n, n_steps, n_actions, n_states), or null
  const double* reference;  // (n, n_steps + 1, n_states); read only with `feedback`
};

// A policy, rows of observed residuals (n_steps, n), and the noise of its actions (n_steps, n, n_actions) or null.
struct PlayedLaw {
  const Controller& controller;
  const std::uint32_t* residual_rows;
  const double* noise;
};

// One entry per row and step; states have one step more.
struct Paths {
  std::vector<double> states, actions, reward, end_chance, end_reward;
};

Paths track(const LearnedModel& model, const TrackRules& rules, const TrackedLaw& law);
Paths play(const LearnedModel& model, const TrackRules& rules, const PlayedLaw& law);

// The model and the reward around n trajectories, in z = (s, a) of w = n_states + n_actions dimensions.
struct Expansion {
  std::size_t n, n_steps, n_states, n_actions;
  const double* slopes;     // of the next state: (n, n_steps, n_states, w)
  const double* gradient;   // of the reward: (n, n_steps, w)
  const double* curvature;  // second differences of the reward over `sizes`: (n, n_steps, w, w); only their concave
                            // part is used
  const double* sizes;      // w
  const double* actions;    // (n, n_steps, n_actions): an action at a bound does not move beyond it
  const double* damping;    // (n, n_actions): added to the curvature along each action
  double discount, flattest;
};

struct Improvements {
  std::vector<double> change, feedback;  // (n, n_steps, n_actions) and (n, n_steps, n_actions, n_states)
};

// The best changes of the actions and their feedback for this expansion, computed from the last step to the first.
Improvements improve_backward(const Expansion& around, const Box& actions);

}  // namespace policyforest
