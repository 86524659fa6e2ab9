#include "near_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace policyforest {

namespace {

// One input's place on a grid of 2^16 steps between its smallest and largest value.
struct Places {
  std::size_t input;
  double lo, scale;
  std::uint32_t operator()(double v) const { return static_cast<std::uint32_t>((v - lo) * scale); }
};

std::vector<Places> places_of(const double* rows, std::size_t n, std::size_t n_inputs, std::size_t skipped) {
  std::vector<Places> places;
  for (std::size_t d = 0; d < n_inputs; ++d) {
    if (d == skipped) continue;
    double lo = rows[d], hi = rows[d];
    for (std::size_t i = 1; i < n; ++i) {
      lo = std::min(lo, rows[i * n_inputs + d]);
      hi = std::max(hi, rows[i * n_inputs + d]);
    }
    const double scale = 65535.0 / (hi - lo);
    if (hi > lo && std::isfinite(hi - lo) && std::isfinite(scale)) places.push_back({d, lo, scale});
  }
  return places;
}

}  // namespace

std::vector<std::uint32_t> near_order(const double* rows, std::size_t n, std::size_t n_inputs, std::size_t skipped) {
  const std::vector<Places> places = places_of(rows, n, n_inputs, skipped);
  constexpr std::size_t kBits = 32;  // of the curve, in the upper half of the key; the row's number is the lower
  std::vector<std::uint64_t> keys(n);
  std::vector<std::uint32_t> place(places.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < places.size(); ++j) place[j] = places[j](rows[i * n_inputs + places[j].input]);
    std::uint64_t curve = 0;
    std::size_t bits = 0;
    for (int bit = 15; bit >= 0 && bits < kBits; --bit)
      for (std::size_t j = 0; j < places.size() && bits < kBits; ++j, ++bits) curve = curve << 1 | (place[j] >> bit & 1);
    keys[i] = curve << 32 | i;
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(keys[i]);
  return order;
}

}  // namespace policyforest
