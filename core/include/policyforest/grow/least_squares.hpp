// Linear leaves: least squares with intercept, of minimum norm where the inputs are dependent.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace policyforest {

// An input that varies by less than this part of its size counts as constant: c + w x would cancel all but a few
// of its digits.
inline constexpr double kSmallestSpread = 1e-8;

// Directions in which the (centred and scaled) inputs vary by less than this part of the largest variation count as
// dependent: a slope along them would follow rounding errors or noise, and would be wild beside the samples.
inline constexpr double kSmallestDirection = 1e-6;

// Fits y ~ w·x + c. `columns[d]` points to the n values of input d; `weight` may be null. Returns
// (w_0 … w_{D-1}, c). Columns are centred and scaled first and the fit goes through QR and a singular value
// decomposition, so inputs of very different scale do no harm; of all best fits the one with the smallest
// |w| (in the units of the inputs) is returned.
std::vector<double> fit_linear(std::span<const double* const> columns, const double* y, const double* weight,
                               std::size_t n);

}  // namespace policyforest
