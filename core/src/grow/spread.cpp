#include "grow/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace policyforest {

namespace {

struct Moments {
  double mean, deviation;
};

// Computed in units of the largest distance from the first value, so that squares neither overflow nor underflow.
Moments moments(const double* v, const double* weight, std::size_t n) {
  const auto [low, high] = std::minmax_element(v, v + n);
  const double unit = std::max(*high - v[0], v[0] - *low);
  if (unit == 0.0) return {v[0], 0.0};
  double total = 0.0, first = 0.0, second = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weight ? weight[i] : 1.0;
    total += w;
    first += w * ((v[i] - v[0]) / unit);
  }
  const double shift = first / total;
  for (std::size_t i = 0; i < n; ++i) {
    const double distance = (v[i] - v[0]) / unit - shift;
    second += (weight ? weight[i] : 1.0) * (distance * distance);
  }
  return {v[0] + unit * shift, unit * std::sqrt(second / total)};
}

// On a circle: the smallest standard deviation over all places to cut it. One value after another moves up by one
// length, past the cut.
double circular_deviation(const double* v, const double* weight, std::size_t n, double length) {
  std::vector<std::pair<double, double>> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = {v[i], weight ? weight[i] : 1.0};
  std::sort(order.begin(), order.end());
  double total = 0.0, first = 0.0, second = 0.0;
  for (auto& [x, w] : order) {
    x = (x - v[0]) / length;
    total += w;
    first += w * x;
    second += w * x * x;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [x, w] : order) {
    const double mean = first / total;
    least = std::min(least, second / total - mean * mean);
    first += w;
    second += w * (2.0 * x + 1.0);
  }
  return length * std::sqrt(std::max(0.0, least));
}

}  // namespace

Spread spread_of(const RootColumns& samples, const std::vector<Period>& periods) {
  const std::size_t n = samples.n_samples;
  const auto column = [&](std::size_t c) { return samples.columns() + c * n; };
  const double *y = column(samples.n_inputs), *weight = samples.weight_column ? column(samples.weight_column) : nullptr;
  const auto [low, high] = std::minmax_element(y, y + n);
  Spread spread{{}, moments(y, weight, n).deviation, {*low, *high}};
  for (std::size_t d = 0; d < samples.n_inputs; ++d) {
    auto [mean, deviation] = moments(column(d), weight, n);
    const double length = d < periods.size() ? periods[d].hi - periods[d].lo : 0.0;
    if (length > 0.0) deviation = circular_deviation(column(d), weight, n, length);
    // The steepest slopes that a leaf can have must be finite.
    const bool varies = deviation > kSmallestSpread * std::abs(mean) && std::isfinite(1e20 * spread.target / deviation);
    spread.inputs.push_back(varies && spread.target > 0.0 ? deviation : 0.0);
  }
  return spread;
}

}  // namespace policyforest
