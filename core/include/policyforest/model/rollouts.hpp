// Rollouts of a policy in a learned model, thousands at once, with common random numbers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policyforest/model/learned_model.hpp"
#include "policyforest/policy/controller.hpp"

namespace policyforest {

struct RolloutRules {
  std::size_t n_steps = 1;
  double discount = 0.98;
  std::uint64_t seed = 0;     // of the random numbers
  bool noisy = true;          // add residuals of observed steps
  double action_noise = 0.0;  // standard deviation of the noise of actions, as a part of their range
  std::size_t n_threads = 1;
  const std::atomic<bool>* cancel = nullptr;
};

// The start of each rollout, and its random numbers: rows with equal `streams[i]` meet the same noise, whatever their
// actions.
struct RolloutStarts {
  const double* states;          // n * n_states
  const double* first_actions;   // n * n_actions, or null: the policy's
  const std::uint32_t* streams;  // n
  std::size_t n;
};

// The expected discounted sum of rewards of each row over n_steps; if a step is terminal with probability p, later
// rewards are multiplied by 1 - p. `visited` (n * n_steps * n_states, or empty) gets the state after each step, and
// `alive` (n, or empty) the number of steps before the row ended.
void rollout_values(const LearnedModel& model, const Controller& controller, const RolloutStarts& starts,
                    const RolloutRules& rules, std::span<double> values, std::span<double> visited,
                    std::span<std::uint32_t> alive);

// The residual rows that `rollout_values` draws: one row of n_steps numbers per stream.
void residual_draws(std::uint64_t seed, const std::uint32_t* streams, std::size_t n, std::size_t n_steps,
                    std::size_t n_residuals, std::uint32_t* out);

// The noise of actions that `rollout_values` draws, of mean 0 and variance 1: one row of n_draws numbers per stream. A
// step in which the policy acts takes one number per action dimension.
void action_draws(std::uint64_t seed, const std::uint32_t* streams, std::size_t n, std::size_t n_draws, double* out);

}  // namespace policyforest
