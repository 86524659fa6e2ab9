#include "policyforest/model/learned_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "policyforest/policy/controller.hpp"

namespace policyforest {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("model: ") + what);
}

// Predicted variances below this part of their mean are errors of the forest that predicts them.
constexpr double kSmallestSpread = 1e-3;

}  // namespace

double Actuator::applied(double command, double last_action) const {
  double u = command;
  if (dead > 0.0 && u < dead && u > -dead) u = 0.0;
  if (step > 0.0) {
    double count = std::clamp(std::floor(u / step + 0.5), first, last);
    if (rate > 0.0) {
      const double was = std::floor(last_action / step + 0.5);
      count = std::clamp(std::clamp(count, was - steps, was + steps), first, last);
    }
    u = count * step;
  } else if (rate > 0.0) {
    u = std::clamp(u, last_action - rate, last_action + rate);
  }
  return std::clamp(u, low, high);
}

double Shape::value(double first, double second) const {
  const double x = sine == cosine ? first : std::atan2(first, second);
  return size ? std::abs(x) : x;
}

void LearnedModel::check() const {
  require(n_states > 0 && n_actions > 0, "there must be states and actions");
  for (const std::size_t d : inputs) require(d < n_states + n_actions, "an input is not a dimension of (s, a)");
  dynamics.check("dynamics");
  require(dynamics.features.n_inputs() == inputs.size(), "the dynamics have the wrong number of inputs");
  require(dynamics.outputs.size() == plain.size() + circles.size(), "there must be one output per change");
  for (const std::size_t d : plain) require(d < n_states, "an output is not a state dimension");
  for (const auto& c : circles)
    require(c.sine < n_states && c.cosine < n_states, "a sine or cosine is not a state dimension");
  for (const auto& relation : relations) {
    relation.formula.check("relation");
    require(relation.dimension < n_states && relation.formula.outputs.size() == 1,
            "a relation must compute one state dimension");
    require(relation.formula.features.n_inputs() == relation.sources.size(),
            "a relation has the wrong number of sources");
    for (const std::size_t d : relation.sources) require(d < n_states, "a source is not a state dimension");
  }
  require(periods.empty() || periods.size() == n_states, "there must be one period per state dimension");
  require(actuators.empty() || actuators.size() == n_actions, "there must be one actuator per action dimension");
  for (const auto& a : actuators) {
    require(a.low <= a.high && a.rate >= 0.0 && a.dead >= 0.0 && a.step >= 0.0, "an actuator has impossible limits");
    require(a.first <= a.last && a.steps >= 0.0, "an actuator has impossible steps");
    require(a.rate == 0.0 || a.before < n_states, "an actuator's previous action is not a state dimension");
  }
  for (const auto& c : copies)
    require(c.dimension < n_states && c.source < n_states + n_actions,
            "a copy is not between dimensions of the state and the action");
  for (const auto& c : circles) require(c.radius > 0.0 && std::isfinite(c.radius), "a radius must be positive");
  reward.check("reward");
  require(reward.outputs.size() == 1 && reward.features.n_inputs() == reward_inputs.size() + reward_shapes.size(),
          "the reward must have one output and the right number of inputs");
  const std::size_t n_step = 2 * n_states + n_actions;
  for (const std::size_t d : reward_inputs)
    require(d < n_step, "an input of the reward is not a dimension of (s, a, s')");
  for (const Shape& shape : reward_shapes)
    require(shape.sine < n_step && shape.cosine < n_step, "a shape is not of dimensions of (s, a, s')");
  require(reward_low <= reward_high, "the lowest reward must not exceed the highest");
  for (const auto& t : thresholds) require(t.dimension < n_states, "a threshold is not on a state dimension");
  if (end == End::kLogistic || end == End::kForest) {
    end_chance.check("end");
    require(end_chance.outputs.size() == 1 && end_chance.features.n_inputs() == n_states,
            "the chance of an end must be one function of s'");
  }
  if (end != End::kNever) {
    end_reward.check("end reward");
    require(end_reward.outputs.size() == 1 && end_reward.features.n_inputs() == inputs.size(),
            "the reward of an end must be one function of x");
  }
  require(residuals.size() == n_residuals * (dynamics.outputs.size() + 1), "residuals must have one column per output");
  if (!spread.outputs.empty()) {
    spread.check("spread");
    require(spread.outputs.size() == 1 && spread.features.n_inputs() == inputs.size(),
            "the spread must be one function of x");
  }
  require(edge.dims() == n_states && margin.size() == n_states, "there must be one edge per state dimension");
  for (std::size_t d = 0; d < n_states; ++d)
    require(edge.lo[d] <= edge.hi[d] && margin[d] >= 0.0, "an edge must have a lower and an upper side and a margin");
}

void ModelStepper::step(const double* states, const double* actions, const std::uint32_t* residual_rows, std::size_t n,
                        ModelStep& out) {
  actions = applied(states, actions, n);
  gather_inputs(states, actions, n);
  model_.dynamics.predict(inputs_.data(), n, outputs_.data());
  const bool noisy = residual_rows != nullptr && model_.n_residuals > 0;
  if (noisy) add_residuals(residual_rows, n);
  apply_changes(states, actions, n, out);
  rewards(states, actions, n, noisy, out);
  ends(n, out);
}

void ModelStepper::step_around(const double* states, const double* actions, std::size_t n, std::size_t n_moves,
                               ModelStep& out) {
  const std::size_t n_rows = n * (n_moves + 1);
  actions = applied(states, actions, n_rows);
  gather_inputs(states, actions, n_rows);
  model_.dynamics.predict_around(inputs_.data(), n, n_moves, false, outputs_.data());
  apply_changes(states, actions, n_rows, out);
  rewards_around(states, actions, n, n_moves, out);
  ends(n_rows, out);
}

void ModelStepper::earn_around(const double* states, const double* actions, const double* next_states, std::size_t n,
                               std::size_t n_moves, ModelStep& out) {
  const std::size_t n_rows = n * (n_moves + 1);
  actions = applied(states, actions, n_rows);
  gather_inputs(states, actions, n_rows);
  out.next_states.assign(next_states, next_states + n_rows * model_.n_states);
  rewards_around(states, actions, n, n_moves, out);
  ends(n_rows, out);
}

void ModelStepper::rewards_around(const double* states, const double* actions, std::size_t n, std::size_t n_moves,
                                  ModelStep& out) {
  const std::size_t n_rows = n * (n_moves + 1);
  gather_reward_inputs(states, actions, n_rows, out);
  out.reward.resize(n_rows);
  model_.reward.predict_around(rows_.data(), n, n_moves, true, out.reward.data());
  for (double& reward : out.reward) reward = std::clamp(reward, model_.reward_low, model_.reward_high);
}

void ModelStepper::gather_inputs(const double* states, const double* actions, std::size_t n) {
  const std::size_t n_states = model_.n_states, n_actions = model_.n_actions, width = model_.inputs.size();
  inputs_.resize(n * width);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t d = model_.inputs[k];
      inputs_[i * width + k] = d < n_states ? states[i * n_states + d] : actions[i * n_actions + d - n_states];
    }
  outputs_.resize(n * model_.dynamics.outputs.size());
}

const double* ModelStepper::applied(const double* states, const double* actions, std::size_t n) {
  if (model_.actuators.empty()) return actions;
  const std::size_t m = model_.n_actions;
  applied_.resize(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const Actuator& actuator = model_.actuators[j];
      const double before = actuator.rate > 0.0 ? states[i * model_.n_states + actuator.before] : 0.0;
      applied_[i * m + j] = actuator.applied(actions[i * m + j], before);
    }
  return applied_.data();
}

void ModelStepper::add_residuals(const std::uint32_t* residual_rows, std::size_t n) {
  const std::size_t n_outputs = model_.dynamics.outputs.size();
  spread_.assign(n, 1.0);
  if (!model_.spread.outputs.empty()) model_.spread.predict(inputs_.data(), n, spread_.data());
  reward_noise_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* e = model_.residuals.data() + residual_rows[i] * (n_outputs + 1);
    const double scale = std::sqrt(std::max(spread_[i], kSmallestSpread));
    for (std::size_t j = 0; j < n_outputs; ++j) outputs_[i * n_outputs + j] += scale * e[j];
    reward_noise_[i] = e[n_outputs];
  }
}

void ModelStepper::apply_changes(const double* states, const double* actions, std::size_t n, ModelStep& out) {
  const std::size_t n_states = model_.n_states, n_outputs = model_.dynamics.outputs.size();
  out.next_states.assign(states, states + n * n_states);
  for (std::size_t i = 0; i < n; ++i) {
    double* s = out.next_states.data() + i * n_states;
    const double* y = outputs_.data() + i * n_outputs;
    for (std::size_t k = 0; k < model_.plain.size(); ++k) s[model_.plain[k]] += y[k];
    for (std::size_t k = 0; k < model_.circles.size(); ++k) {
      const CirclePair& pair = model_.circles[k];
      const double turn = y[model_.plain.size() + k], sine = s[pair.sine], cosine = s[pair.cosine];
      const double c = std::cos(turn), z = std::sin(turn);
      const double a = sine * c + cosine * z, b = cosine * c - sine * z;
      const double length = std::max(std::sqrt(a * a + b * b), 1e-9);
      s[pair.sine] = a * (pair.radius / length);
      s[pair.cosine] = b * (pair.radius / length);
    }
    for (std::size_t d = 0; d < model_.periods.size(); ++d)
      if (model_.periods[d].hi > model_.periods[d].lo) s[d] = wrap(s[d], model_.periods[d]);
    for (const Copy& copy : model_.copies)
      s[copy.dimension] = copy.source < n_states ? states[i * n_states + copy.source]
                                                 : actions[i * model_.n_actions + copy.source - n_states];
  }
  for (const Relation& relation : model_.relations) {
    const std::size_t width = relation.sources.size();
    rows_.resize(n * width);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < width; ++k)
        rows_[i * width + k] = out.next_states[i * n_states + relation.sources[k]];
    spread_.resize(n);
    relation.formula.predict(rows_.data(), n, spread_.data());
    for (std::size_t i = 0; i < n; ++i) out.next_states[i * n_states + relation.dimension] = spread_[i];
  }
}

void ModelStepper::gather_reward_inputs(const double* states, const double* actions, std::size_t n,
                                        const ModelStep& out) {
  const std::size_t n_states = model_.n_states, n_actions = model_.n_actions;
  const auto& plain = model_.reward_inputs;
  const auto& shapes = model_.reward_shapes;
  const std::size_t width = plain.size() + shapes.size();
  rows_.resize(n * width);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = [&](std::size_t d) {
      return d < n_states               ? states[i * n_states + d]
             : d < n_states + n_actions ? actions[i * n_actions + d - n_states]
                                        : out.next_states[i * n_states + d - n_states - n_actions];
    };
    double* row = rows_.data() + i * width;
    for (const std::size_t d : plain) *row++ = at(d);
    for (const Shape& shape : shapes) *row++ = shape.value(at(shape.sine), at(shape.cosine));
  }
}

void ModelStepper::rewards(const double* states, const double* actions, std::size_t n, bool noisy, ModelStep& out) {
  gather_reward_inputs(states, actions, n, out);
  out.reward.resize(n);
  model_.reward.predict(rows_.data(), n, out.reward.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (noisy) out.reward[i] += reward_noise_[i];
    out.reward[i] = std::clamp(out.reward[i], model_.reward_low, model_.reward_high);
  }
}

void ModelStepper::ends(std::size_t n, ModelStep& out) {
  const std::size_t n_states = model_.n_states;
  out.end_chance.assign(n, 0.0);
  out.end_reward.assign(n, 0.0);
  switch (model_.end) {
    case LearnedModel::End::kNever:
      return;
    case LearnedModel::End::kThresholds:
      for (std::size_t i = 0; i < n; ++i)
        for (const Threshold& t : model_.thresholds)
          if (t.sign * out.next_states[i * n_states + t.dimension] > t.limit) out.end_chance[i] = 1.0;
      break;
    case LearnedModel::End::kLogistic:
      model_.end_chance.predict(out.next_states.data(), n, out.end_chance.data());
      for (double& p : out.end_chance) p = 1.0 / (1.0 + std::exp(-std::clamp(p, -30.0, 30.0)));
      break;
    case LearnedModel::End::kForest:
      model_.end_chance.predict(out.next_states.data(), n, out.end_chance.data());
      for (double& p : out.end_chance) p = std::clamp(p, 0.0, 1.0);
      break;
  }
  model_.end_reward.predict(inputs_.data(), n, out.end_reward.data());
}

void ModelStepper::keep_in_data(std::size_t n, ModelStep& out) const {
  const std::size_t n_states = model_.n_states;
  for (std::size_t i = 0; i < n; ++i) {
    double* s = out.next_states.data() + i * n_states;
    bool left = false;
    for (std::size_t d = 0; d < n_states; ++d) {
      left |= !(s[d] >= model_.edge.lo[d] - model_.margin[d] && s[d] <= model_.edge.hi[d] + model_.margin[d]);
      s[d] = std::isnan(s[d]) ? model_.edge.lo[d] : std::clamp(s[d], model_.edge.lo[d], model_.edge.hi[d]);
    }
    if (!left && std::isfinite(out.reward[i])) continue;
    // A reward that overflowed is not a prediction: it counts as unknown, not as infinitely bad.
    const bool known = std::isfinite(out.reward[i]);
    out.reward[i] = known ? std::min(out.reward[i], model_.leaving_reward) : model_.leaving_reward;
    if (std::isnan(out.end_chance[i])) out.end_chance[i] = 0.0;
    if (model_.leaving_ends && out.end_chance[i] < 0.5) {
      out.end_chance[i] = 1.0;
      out.end_reward[i] = model_.leaving_value;
    }
  }
}

}  // namespace policyforest
