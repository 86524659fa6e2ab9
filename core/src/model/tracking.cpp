#include "policyforest/model/tracking.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace policyforest {

namespace {

// a - b; for an angle, the shorter way round the circle.
double apart(double a, double b, const Period& period) {
  const double turn = period.hi - period.lo, difference = a - b;
  if (!(turn > 0.0)) return difference;
  const double moved = difference + turn / 2;
  return moved - std::floor(moved / turn) * turn - turn / 2;
}

// Steps all rows together.
class Walk {
 public:
  Walk(const LearnedModel& model, const TrackRules& rules)
      : model_(model),
        rules_(rules),
        stepper_(model),
        here_(rules.starts, rules.starts + rules.n * model.n_states),
        taken_(rules.n * model.n_actions) {
    const std::size_t steps = rules.n * rules.n_steps;
    paths_.states.resize(rules.n * (rules.n_steps + 1) * model.n_states);
    paths_.actions.resize(steps * model.n_actions);
    for (auto* column : {&paths_.reward, &paths_.end_chance, &paths_.end_reward}) column->resize(steps);
    keep_states(0);
  }

  // `act(t, states, actions)` fills rows of actions, which are clipped here.
  template <class Act>
  Paths run(const Act& act, const std::uint32_t* residual_rows) {
    for (std::size_t t = 0; t < rules_.n_steps; ++t) {
      act(t, here_.data(), taken_.data());
      clip_actions();
      stepper_.step(here_.data(), taken_.data(), residual_rows ? residual_rows + t * rules_.n : nullptr, rules_.n,
                    step_);
      move_on();
      keep_step(t);
      keep_states(t + 1);
    }
    return std::move(paths_);
  }

 private:
  void clip_actions() {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const std::size_t j = i % model_.n_actions;
      taken_[i] = std::clamp(std::isnan(taken_[i]) ? 0.0 : taken_[i], rules_.actions.lo[j], rules_.actions.hi[j]);
    }
  }
  void move_on() {
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const std::size_t d = i % model_.n_states;
      const double ahead = step_.next_states[i];
      here_[i] = std::clamp(std::isnan(ahead) ? here_[i] : ahead, rules_.reach.lo[d], rules_.reach.hi[d]);
    }
  }
  void keep_step(std::size_t t) {
    for (std::size_t i = 0; i < rules_.n; ++i) {
      const std::size_t at = i * rules_.n_steps + t;
      paths_.reward[at] = step_.reward[i];
      paths_.end_chance[at] = step_.end_chance[i];
      paths_.end_reward[at] = step_.end_reward[i];
      std::copy_n(&taken_[i * model_.n_actions], model_.n_actions, &paths_.actions[at * model_.n_actions]);
    }
  }
  void keep_states(std::size_t t) {
    for (std::size_t i = 0; i < rules_.n; ++i)
      std::copy_n(&here_[i * model_.n_states], model_.n_states,
                  &paths_.states[(i * (rules_.n_steps + 1) + t) * model_.n_states]);
  }

  const LearnedModel& model_;
  const TrackRules& rules_;
  ModelStepper stepper_;
  ModelStep step_;
  std::vector<double> here_, taken_;
  Paths paths_;
};

}  // namespace

Paths track(const LearnedModel& model, const TrackRules& rules, const TrackedLaw& law) {
  const std::size_t d = model.n_states, m = model.n_actions;
  const auto act = [&](std::size_t t, const double* states, double* actions) {
    for (std::size_t i = 0; i < rules.n; ++i) {
      const std::size_t at = i * rules.n_steps + t;
      std::copy_n(law.actions + at * m, m, actions + i * m);
      if (!law.feedback) continue;
      const double* reference = law.reference + (at + i) * d;
      for (std::size_t k = 0; k < d; ++k) {
        const Period period = model.periods.empty() ? Period{0.0, 0.0} : model.periods[k];
        const double away = apart(states[i * d + k], reference[k], period);
        for (std::size_t j = 0; j < m; ++j) actions[i * m + j] += law.feedback[(at * m + j) * d + k] * away;
      }
    }
  };
  return Walk(model, rules).run(act, nullptr);
}

Paths play(const LearnedModel& model, const TrackRules& rules, const PlayedLaw& law) {
  const std::size_t m = model.n_actions;
  if (law.controller.n_states() != model.n_states || law.controller.n_actions() != m)
    throw std::invalid_argument("controller: must have the states and actions of the model");
  const auto act = [&](std::size_t t, const double* states, double* actions) {
    law.controller.act_few(states, rules.n, actions);
    if (law.noise)
      for (std::size_t i = 0; i < rules.n * m; ++i) actions[i] += law.noise[t * rules.n * m + i];
  };
  return Walk(model, rules).run(act, law.residual_rows);
}

}  // namespace policyforest
