#include "policyforest/dynamics/grid_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "policyforest/support/parallel.hpp"

namespace policyforest {

double GridAxis::point(std::size_t i) const {
  const double u = 2.0 * static_cast<double>(i) / static_cast<double>(n - 1) - 1.0;
  return (lo + hi) / 2 + (hi - lo) / 2 * std::copysign(std::pow(std::abs(u), power), u);
}

double GridAxis::place(double x) const {
  const double v = std::clamp((x - (lo + hi) / 2) / ((hi - lo) / 2), -1.0, 1.0);
  const double u = std::copysign(std::pow(std::abs(v), 1.0 / power), v);
  return (u + 1.0) / 2 * static_cast<double>(n - 1);
}

namespace {

void require(const System& system, const std::array<GridAxis, 2>& axes, const std::vector<double>& actions,
             const std::vector<double>& noises) {
  if (system.n_state() != 2 || system.n_action() != 1)
    throw std::invalid_argument("system: must have two states and one action");
  for (const GridAxis& axis : axes)
    if (!(axis.lo < axis.hi) || !std::isfinite(axis.hi - axis.lo) || axis.n < 2 || axis.n > 10'000 ||
        !(axis.power >= 1))
      throw std::invalid_argument("axes: must have lo < hi, 2 to 10,000 points and a power of at least 1");
  if (actions.empty()) throw std::invalid_argument("actions: is empty; must hold at least one");
  if (noises.size() < std::max<std::size_t>(1, system.n_noise()) || (system.n_noise() == 0 && noises.size() > 1))
    throw std::invalid_argument("noises: has " + std::to_string(noises.size()) +
                                "; must hold at least one, and exactly one for a system without noise");
}

}  // namespace

GridPlanner::GridPlanner(const System& system, const std::array<GridAxis, 2>& axes, std::vector<double> actions,
                         std::vector<double> noises, std::size_t n_threads, const std::atomic<bool>* cancel)
    : system_(system), axes_(axes), actions_(std::move(actions)), noises_(std::move(noises)) {
  require(system_, axes_, actions_, noises_);
  const std::size_t width = axes_[1].n, each = actions_.size() * noises_.size();
  values_.resize(axes_[0].n * width);
  new_values_.resize(values_.size());
  steps_.resize(values_.size() * each);
  parallel_for(axes_[0].n, n_threads, [&] {
    return [&](std::size_t i) {
      if (cancel && cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
      Step* to = steps_.data() + i * width * each;
      for (std::size_t j = 0; j < width; ++j)
        for (const double action : actions_)
          for (const double noise : noises_) {
            double state[2] = {axes_[0].point(i), axes_[1].point(j)};
            *to++ = step(state, action, noise);
          }
    };
  });
}

GridPlanner::Step GridPlanner::step(double* state, double action, double noise) const {
  const StepResult result = system_.step(state, &action, &noise);
  return {static_cast<float>(result.reward), result.terminal ? Place{-1, 0.0f, 0.0f} : place(state)};
}

GridPlanner::Place GridPlanner::place(const double* state) const {
  std::int32_t corner[2];
  double into[2];
  for (std::size_t d = 0; d < 2; ++d) {
    const double at = axes_[d].place(state[d]);
    corner[d] = static_cast<std::int32_t>(std::min(std::floor(at), static_cast<double>(axes_[d].n) - 2));
    into[d] = at - corner[d];
  }
  return {corner[0] * static_cast<std::int32_t>(axes_[1].n) + corner[1], static_cast<float>(into[0]),
          static_cast<float>(into[1])};
}

double GridPlanner::at(const Place& place) const {
  if (place.corner < 0) return 0.0;
  const double* v = values_.data() + place.corner;
  const double* w = v + axes_[1].n;
  const double y = place.y, lower = v[0] + y * (v[1] - v[0]), upper = w[0] + y * (w[1] - w[0]);
  return lower + place.x * (upper - lower);
}

double GridPlanner::sweep(double discount, std::size_t n_threads) {
  const std::size_t width = axes_[1].n, each = actions_.size() * noises_.size();
  parallel_for(axes_[0].n, n_threads, [&] {
    return [&](std::size_t i) {
      const Step* from = steps_.data() + i * width * each;
      for (std::size_t j = 0; j < width; ++j) {
        double best = -std::numeric_limits<double>::infinity();
        for (std::size_t a = 0; a < actions_.size(); ++a) {
          double sum = 0.0;
          for (std::size_t e = 0; e < noises_.size(); ++e, ++from) sum += from->reward + discount * at(from->next);
          best = std::max(best, sum);
        }
        new_values_[i * width + j] = best / static_cast<double>(noises_.size());
      }
    };
  });
  for (std::size_t d = 0; d < 2; ++d) {  // both ends of an angle are the same state
    if (!axes_[d].periodic) continue;
    const std::size_t n = axes_[1 - d].n, stride = d == 0 ? 1 : width, last = (axes_[d].n - 1) * (d == 0 ? width : 1);
    for (std::size_t i = 0; i < n; ++i) {
      double &low = new_values_[i * stride], &high = new_values_[i * stride + last];
      low = high = std::max(low, high);
    }
  }
  double change = 0.0;
  for (std::size_t i = 0; i < values_.size(); ++i) change = std::max(change, std::abs(new_values_[i] - values_[i]));
  values_.swap(new_values_);
  return change;
}

double GridPlanner::value(const double* state) const { return at(place(state)); }

double GridPlanner::act(const double* state, const std::vector<double>& candidates, double discount) const {
  double best = -std::numeric_limits<double>::infinity(), chosen = 0.0;
  for (const double action : candidates) {
    double sum = 0.0;
    for (const double noise : noises_) {
      double next[2] = {state[0], state[1]};
      const Step made = step(next, action, noise);
      sum += made.reward + discount * at(made.next);
    }
    if (sum > best) best = sum, chosen = action;
  }
  return chosen;
}

}  // namespace policyforest
