#include "policyforest/model/rollouts.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "policyforest/support/parallel.hpp"
#include "policyforest/support/random.hpp"

namespace policyforest {

namespace {

// Rows that go through model and policy together: the trees stay in the cache (measured: 64 to 256 are equally fast).
constexpr std::size_t kBlock = 128;
// A rollout has ended if its probability to have had no terminal step is below this.
constexpr double kAlive = 0.02;
// Offset of the streams of the actions' noise, which must differ from those of the residuals.
constexpr std::uint64_t kActionStreams = std::uint64_t{1} << 40;

// A bounded number of mean 0 and variance 1, from four uniform numbers: the same bits on all machines, which logarithms
// would not give.
double bell(RandomStream& random) {
  double sum = 0.0;
  for (int k = 0; k < 4; ++k) sum += random.uniform();
  return (sum - 2.0) * std::sqrt(3.0);
}

// One block of rollouts.
class Rollout {
 public:
  Rollout(const LearnedModel& model, const Controller& controller, const RolloutRules& rules)
      : model_(model), controller_(controller), rules_(rules), stepper_(model) {}

  void run(const RolloutStarts& starts, std::size_t begin, std::size_t end, std::span<double> values,
           std::span<double> visited, std::span<std::uint32_t> alive);

 private:
  void start(const RolloutStarts& starts, std::size_t begin, std::size_t end);
  void act();
  void draw();
  void earn(double weight, std::span<double> values);
  void drop_ended(std::size_t t, std::span<double> visited, std::span<std::uint32_t> alive);

  const LearnedModel& model_;
  const Controller& controller_;
  const RolloutRules& rules_;
  ModelStepper stepper_;
  ModelStep step_;
  std::vector<std::size_t> rows_;  // of the rollouts that are alive
  std::vector<double> states_, actions_, weights_;
  std::vector<RandomStream> residual_random_, action_random_;
  std::vector<std::uint32_t> residual_rows_;
};

void Rollout::start(const RolloutStarts& starts, std::size_t begin, std::size_t end) {
  const std::size_t n = end - begin;
  rows_.resize(n);
  states_.assign(starts.states + begin * model_.n_states, starts.states + end * model_.n_states);
  actions_.resize(n * model_.n_actions);
  weights_.assign(n, 1.0);
  residual_random_.clear();
  action_random_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    rows_[i] = begin + i;
    residual_random_.emplace_back(rules_.seed, starts.streams[begin + i]);
    action_random_.emplace_back(rules_.seed, kActionStreams + starts.streams[begin + i]);
  }
  if (starts.first_actions)
    std::copy_n(starts.first_actions + begin * model_.n_actions, n * model_.n_actions, actions_.data());
  else
    act();
}

void Rollout::act() {
  const std::size_t n = rows_.size(), m = model_.n_actions;
  actions_.resize(n * m);
  controller_.act_few(states_.data(), n, actions_.data());
  if (rules_.action_noise == 0.0) return;
  const Box& box = controller_.action_box();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const double moved =
          actions_[i * m + j] + rules_.action_noise * (box.hi[j] - box.lo[j]) * bell(action_random_[i]);
      actions_[i * m + j] = std::clamp(moved, box.lo[j], box.hi[j]);
    }
}

void Rollout::draw() {
  residual_rows_.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i)
    residual_rows_[i] = static_cast<std::uint32_t>(residual_random_[i].below(model_.n_residuals));
}

void Rollout::earn(double weight, std::span<double> values) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double p = step_.end_chance[i];
    values[rows_[i]] += weight * weights_[i] * ((1.0 - p) * step_.reward[i] + p * step_.end_reward[i]);
    weights_[i] *= 1.0 - p;
  }
}

void Rollout::drop_ended(std::size_t t, std::span<double> visited, std::span<std::uint32_t> alive) {
  const std::size_t width = model_.n_states;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!(weights_[i] > kAlive)) continue;
    const double* next = step_.next_states.data() + i * width;
    if (!visited.empty()) std::copy_n(next, width, visited.data() + (rows_[i] * rules_.n_steps + t) * width);
    if (!alive.empty()) alive[rows_[i]] = static_cast<std::uint32_t>(t + 1);
    std::copy_n(next, width, states_.data() + kept * width);
    rows_[kept] = rows_[i];
    weights_[kept] = weights_[i];
    residual_random_[kept] = residual_random_[i];
    action_random_[kept] = action_random_[i];
    ++kept;
  }
  rows_.resize(kept);
  states_.resize(kept * width);
  weights_.resize(kept);
  residual_random_.erase(residual_random_.begin() + static_cast<std::ptrdiff_t>(kept), residual_random_.end());
  action_random_.erase(action_random_.begin() + static_cast<std::ptrdiff_t>(kept), action_random_.end());
}

void Rollout::run(const RolloutStarts& starts, std::size_t begin, std::size_t end, std::span<double> values,
                  std::span<double> visited, std::span<std::uint32_t> alive) {
  start(starts, begin, end);
  const bool noisy = rules_.noisy && model_.n_residuals > 0;
  double weight = 1.0;
  for (std::size_t t = 0; t < rules_.n_steps && !rows_.empty(); ++t) {
    if (t > 0) act();
    if (noisy) draw();
    stepper_.step(states_.data(), actions_.data(), noisy ? residual_rows_.data() : nullptr, rows_.size(), step_);
    stepper_.keep_in_data(rows_.size(), step_);
    earn(weight, values);
    drop_ended(t, visited, alive);
    weight *= rules_.discount;
    if (rules_.cancel && *rules_.cancel) return;
  }
}

}  // namespace

void rollout_values(const LearnedModel& model, const Controller& controller, const RolloutStarts& starts,
                    const RolloutRules& rules, std::span<double> values, std::span<double> visited,
                    std::span<std::uint32_t> alive) {
  if (controller.n_states() != model.n_states || controller.n_actions() != model.n_actions)
    throw std::invalid_argument("controller: must have the states and actions of the model");
  std::fill(values.begin(), values.end(), 0.0);
  std::fill(alive.begin(), alive.end(), 0u);
  const std::size_t n_blocks = (starts.n + kBlock - 1) / kBlock;
  parallel_for(n_blocks, rules.n_threads, [&] {
    return [&, rollout = Rollout(model, controller, rules)](std::size_t b) mutable {
      rollout.run(starts, b * kBlock, std::min(starts.n, (b + 1) * kBlock), values, visited, alive);
    };
  });
}

void residual_draws(std::uint64_t seed, const std::uint32_t* streams, std::size_t n, std::size_t n_steps,
                    std::size_t n_residuals, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    RandomStream random(seed, streams[i]);
    for (std::size_t t = 0; t < n_steps; ++t)
      out[i * n_steps + t] = static_cast<std::uint32_t>(random.below(n_residuals));
  }
}

void action_draws(std::uint64_t seed, const std::uint32_t* streams, std::size_t n, std::size_t n_draws, double* out) {
  for (std::size_t i = 0; i < n; ++i) {
    RandomStream random(seed, kActionStreams + streams[i]);
    for (std::size_t k = 0; k < n_draws; ++k) out[i * n_draws + k] = bell(random);
  }
}

}  // namespace policyforest
