#include "policyforest/policy/float32_controller.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace policyforest {

namespace {

float exact(const char* what, double number) {
  const auto single = static_cast<float>(number);
  if (static_cast<double>(single) != number)
    throw std::invalid_argument(std::string(what) + ": holds " + std::to_string(number) +
                                "; must hold float32 numbers");
  return single;
}

float wrap(float x, float lo, float hi) {
  if (x >= lo && x <= hi) return x;
  const float length = hi - lo;
  const float moved = x - length * std::floor((x - lo) / length);
  return std::clamp(moved, lo, hi);
}

}  // namespace

Float32Controller::Float32Controller(const std::vector<const Forest*>& forests, const Box& actions,
                                     const std::vector<Period>& periods) {
  if (forests.empty() || forests.size() != actions.dims())
    throw std::invalid_argument("forests: must be one per action dimension");
  n_states_ = forests.front()->n_inputs();
  for (const Forest* forest : forests) {
    if (forest->n_inputs() != n_states_)
      throw std::invalid_argument("forests: all must have the same number of inputs");
    Trees trees;
    for (std::size_t k = 0; k < forest->n_trees(); ++k) {
      const auto begin = static_cast<std::size_t>(forest->node_offsets()[k]);
      const auto end = static_cast<std::size_t>(forest->node_offsets()[k + 1]);
      trees.roots.push_back(begin);
      for (std::size_t i = begin; i < end; ++i) {
        const Node& node = forest->nodes()[i];
        const std::int64_t first = node.is_leaf() ? forest->leaf_offsets()[k] : forest->node_offsets()[k];
        trees.nodes.push_back(
            {exact("split", node.split), static_cast<std::int32_t>(first + node.child), node.feature});
      }
    }
    for (const double number : forest->coefficients()) trees.coefficients.push_back(exact("coefficients", number));
    forests_.push_back(std::move(trees));
  }
  for (std::size_t j = 0; j < actions.dims(); ++j)
    actions_.push_back({exact("action_box", actions.lo[j]), exact("action_box", actions.hi[j])});
  if (!periods.empty() && periods.size() != n_states_)
    throw std::invalid_argument("periods: must be one per state dimension");
  for (const Period& period : periods) periods_.push_back({exact("period", period.lo), exact("period", period.hi)});
}

float Float32Controller::predict(const Trees& trees, const float* x) const {
  float sum = 0.0f;
  for (const std::size_t root : trees.roots) {
    const Split* node = &trees.nodes[root];
    while (node->feature >= 0)
      node = &trees.nodes[static_cast<std::size_t>(node->child) + (x[node->feature] <= node->value ? 0u : 1u)];
    if (trees.coefficients.empty()) {
      sum += node->value;
      continue;
    }
    const float* model = trees.coefficients.data() + static_cast<std::size_t>(node->child) * (n_states_ + 1);
    float value = model[n_states_];
    for (std::size_t d = 0; d < n_states_; ++d) value += model[d] * x[d];
    sum += value;
  }
  return sum / static_cast<float>(trees.roots.size());
}

void Float32Controller::act_many(const float* states, std::size_t n, float* actions) const {
  std::vector<float> x(n_states_);
  for (std::size_t i = 0; i < n; ++i, states += n_states_, actions += n_actions()) {
    std::copy_n(states, n_states_, x.data());
    for (std::size_t d = 0; d < periods_.size(); ++d)
      if (periods_[d].hi > periods_[d].lo) x[d] = wrap(x[d], periods_[d].lo, periods_[d].hi);
    for (std::size_t j = 0; j < n_actions(); ++j) {
      const float value = predict(forests_[j], x.data());
      if (std::isnan(value))
        throw std::invalid_argument("state: is so large that action " + std::to_string(j) + " overflows");
      actions[j] = std::clamp(value, actions_[j].lo, actions_[j].hi);
    }
  }
}

}  // namespace policyforest
