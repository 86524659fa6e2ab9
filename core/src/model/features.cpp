#include "policyforest/model/features.hpp"

#include <algorithm>
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
  first_.assign((kMaxDegree + 1) * n_linear_, 0);
  for (std::size_t i = 1; i < n_linear_; ++i) first_[n_linear_ + i] = i;
  for (std::size_t d = 2; d <= kMaxDegree; ++d) {
    std::size_t at = size(d - 1);
    const std::size_t end = at;
    for (std::size_t i = 1; i < n_linear_; ++i) {
      first_[d * n_linear_ + i] = at;
      at += end - first_[(d - 1) * n_linear_ + i];
    }
  }
}

std::size_t Features::size(std::size_t degree) const {
  const std::size_t k = n_linear_ - 1;
  std::size_t total = 1, products = 1;
  for (std::size_t d = 1; d <= degree; ++d) {
    products = products * (k + d - 1) / d;  // the number of products of exactly d factors
    total += products;
  }
  return total;
}

template <std::size_t L>
void Features::fill_lanes(const double* const* rows, std::size_t count, double* phi) const {
  std::fill_n(phi, L, 1.0);
  double* next = phi + L;
  for (std::size_t d = 0; d < inputs_.size(); ++d) {
    const Input& input = inputs_[d];
    if (input.turn == 0.0) {
      for (std::size_t l = 0; l < L; ++l) next[l] = (rows[l][d] - input.centre) / input.scale;
      next += L;
    } else {
      for (std::size_t l = 0; l < L; ++l) {
        next[l] = std::sin(input.turn * rows[l][d]);
        next[L + l] = std::cos(input.turn * rows[l][d]);
      }
      next += 2 * L;
    }
  }
  // A product of d factors is its first factor times a product of d - 1 factors, none of them an earlier one.
  std::size_t k = n_linear_;
  for (std::size_t d = 2; k < count; ++d) {
    const std::size_t end = k;
    for (std::size_t i = 1; i < n_linear_; ++i)
      for (std::size_t j = first_[(d - 1) * n_linear_ + i]; j < end; ++j, ++k)
        for (std::size_t l = 0; l < L; ++l) phi[k * L + l] = phi[i * L + l] * phi[j * L + l];
  }
}

template void Features::fill_lanes<1>(const double* const* rows, std::size_t count, double* phi) const;
template void Features::fill_lanes<Features::kLanes>(const double* const* rows, std::size_t count, double* phi) const;

}  // namespace policyforest
