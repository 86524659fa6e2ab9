#include "policyforest/model/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace policyforest {

namespace {

// Adds the square of each difference in one dimension; `at` holds that dimension of all places.
void add_squares(double here, const double* at, std::size_t n, double scale, const Period* period, double* sums) {
  if (period == nullptr || !(period->hi > period->lo)) {
    for (std::size_t j = 0; j < n; ++j) {
      const double away = (here - at[j]) / scale;
      sums[j] += away * away;
    }
    return;
  }
  const double turn = period->hi - period->lo, half = turn / 2;
  for (std::size_t j = 0; j < n; ++j) {
    const double shifted = here - at[j] + half;
    const double away = (shifted - std::floor(shifted / turn) * turn - half) / scale;
    sums[j] += away * away;
  }
}

}  // namespace

std::vector<double> nearest_distances(const double* rows, std::size_t n, const Places& places) {
  const std::size_t d = places.scale.size();
  std::vector<double> columns(places.n * d);  // so that the inner loop runs over consecutive places
  for (std::size_t j = 0; j < places.n; ++j)
    for (std::size_t k = 0; k < d; ++k) columns[k * places.n + j] = places.rows[j * d + k];
  std::vector<double> sums(places.n), nearest(n, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t k = 0; k < d; ++k)
      add_squares(rows[i * d + k], columns.data() + k * places.n, places.n, places.scale[k],
                  places.periods.empty() ? nullptr : &places.periods[k], sums.data());
    for (const double sum : sums) nearest[i] = std::min(nearest[i], sum);
    nearest[i] = std::sqrt(nearest[i]);
  }
  return nearest;
}

}  // namespace policyforest
