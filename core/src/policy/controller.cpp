#include "policyforest/policy/controller.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace policyforest {

double wrap(double x, const Period& period) {
  if (x >= period.lo && x <= period.hi) return x;
  const double length = period.hi - period.lo;
  const double moved = x - length * std::floor((x - period.lo) / length);
  return std::clamp(moved, period.lo, period.hi);  // the product may round past an end
}

Controller::Controller(const std::vector<const Forest*>& forests, Box actions, std::vector<Period> periods)
    : actions_(std::move(actions)), periods_(std::move(periods)) {
  if (forests.empty() || forests.size() != actions_.dims())
    throw std::invalid_argument("forests: must be one per action dimension");
  for (const Forest* forest : forests) {
    if (forest->n_inputs() != forests.front()->n_inputs())
      throw std::invalid_argument("forests: all must have the same number of inputs");
    predictors_.emplace_back(*forest);
  }
  if (!periods_.empty() && periods_.size() != n_states())
    throw std::invalid_argument("periods: must be one per state dimension");
  const auto needed = [](const Period& p) { return p.hi > p.lo; };
  if (std::none_of(periods_.begin(), periods_.end(), needed)) periods_.clear();
}

double Controller::clip(double value, std::size_t j) const {
  // Linear leaves far outside of the box can overflow to +inf and -inf, whose sum is NaN.
  if (std::isnan(value))
    throw std::invalid_argument("state: is so large that action " + std::to_string(j) + " overflows");
  return std::clamp(value, actions_.lo[j], actions_.hi[j]);
}

void Controller::act(const double* state, double* action) const {
  if (!periods_.empty()) {
    double wrapped[64];
    const std::size_t n = n_states();
    if (n <= 64) {
      for (std::size_t d = 0; d < n; ++d)
        wrapped[d] = periods_[d].hi > periods_[d].lo ? wrap(state[d], periods_[d]) : state[d];
      for (std::size_t j = 0; j < n_actions(); ++j) action[j] = clip(predictors_[j].one(wrapped), j);
      return;
    }
    act_many(state, 1, action);
    return;
  }
  for (std::size_t j = 0; j < n_actions(); ++j) action[j] = clip(predictors_[j].one(state), j);
}

void Controller::act_many(const double* states, std::size_t n, double* actions) const {
  act_rows(states, n, actions, false);
}

void Controller::act_few(const double* states, std::size_t n, double* actions) const {
  act_rows(states, n, actions, true);
}

void Controller::act_rows(const double* states, std::size_t n, double* actions, bool few) const {
  std::vector<double> wrapped;
  if (!periods_.empty()) {
    wrapped.assign(states, states + n * n_states());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t d = 0; d < n_states(); ++d)
        if (periods_[d].hi > periods_[d].lo)
          wrapped[i * n_states() + d] = wrap(wrapped[i * n_states() + d], periods_[d]);
    states = wrapped.data();
  }
  std::vector<double> column(n);
  for (std::size_t j = 0; j < n_actions(); ++j) {
    if (few)
      predictors_[j].few(states, n, column.data());
    else
      predictors_[j].many(states, n, column.data());
    for (std::size_t i = 0; i < n; ++i) actions[i * n_actions() + j] = clip(column[i], j);
  }
}

}  // namespace policyforest
