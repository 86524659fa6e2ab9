#include "policyforest/model/features.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace policyforest {

Features::Features(std::vector<Input> inputs) : inputs_(std::move(inputs)) {
  for (const Input& input : inputs_) {
    if (!(input.scale > 0.0) || !std::isfinite(input.scale) || !std::isfinite(input.centre) ||
        !std::isfinite(input.turn))
      throw std::invalid_argument("features: centres must be finite and scales positive");
    n_linear_ += input.turn == 0.0 ? 1 : 2;
  }
}

void Features::fill(const double* row, std::size_t count, double* phi) const {
  phi[0] = 1.0;
  std::size_t k = 1;
  for (std::size_t d = 0; d < inputs_.size(); ++d) {
    const Input& input = inputs_[d];
    if (input.turn == 0.0) {
      phi[k++] = (row[d] - input.centre) / input.scale;
    } else {
      phi[k++] = std::sin(input.turn * row[d]);
      phi[k++] = std::cos(input.turn * row[d]);
    }
  }
  if (count <= n_linear_) return;
  for (std::size_t i = 1; i < n_linear_; ++i)
    for (std::size_t j = i; j < n_linear_; ++j) phi[k++] = phi[i] * phi[j];
}

}  // namespace policyforest
