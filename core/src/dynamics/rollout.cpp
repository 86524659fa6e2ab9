#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

namespace {
void require_size(const char* name, std::size_t size, std::size_t wanted) {
  if (size != wanted) {
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(size) + " numbers; must be " +
                                std::to_string(wanted));
  }
}

void require_room(const char* name, std::span<double> room, std::size_t wanted) {
  if (!room.empty()) require_size(name, room.size(), wanted);
}

void record(std::span<double> room, const std::vector<double>& row, std::size_t t) {
  if (!room.empty()) std::copy(row.begin(), row.end(), room.subspan(t * row.size()).begin());
}
}  // namespace

RolloutEnd rollout(const System& system, const ControlLaw& control_law, std::span<const double> start,
                   std::span<const double> noise, std::size_t max_steps, const Trajectory& out) {
  const std::size_t n_state = system.n_state();
  const std::size_t n_action = system.n_action();
  require_size("start", start.size(), n_state);
  require_size("noise", noise.size(), max_steps * system.n_noise());
  require_room("states", out.states, (max_steps + 1) * n_state);
  require_room("actions", out.actions, max_steps * n_action);
  require_room("rewards", out.rewards, max_steps);

  std::vector<double> state(start.begin(), start.end());
  std::vector<double> action(n_action);
  record(out.states, state, 0);
  for (std::size_t t = 0; t < max_steps; ++t) {
    control_law(state.data(), action.data());
    const StepResult result = system.step(state.data(), action.data(), noise.data() + t * system.n_noise());
    record(out.actions, action, t);
    record(out.states, state, t + 1);
    if (!out.rewards.empty()) out.rewards[t] = result.reward;
    if (result.terminal) return {t + 1, true};
  }
  return {max_steps, false};
}

ControlLaw replay(std::span<const double> actions, std::size_t n_action) {
  return [actions, n_action, next = std::size_t{0}](const double*, double* action) mutable {
    if (actions.size() - next < n_action) {
      throw std::invalid_argument("actions: " + std::to_string(actions.size()) +
                                  " numbers; must be one row per control step");
    }
    std::copy_n(actions.begin() + static_cast<std::ptrdiff_t>(next), n_action, action);
    next += n_action;
  };
}

}  // namespace policyforest
