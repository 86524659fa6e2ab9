#include "policyforest/support/near_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace policyforest {

namespace {

// The place of one input's values on a grid of 2^16 steps between its smallest and largest value.
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

// The cell of a row: the leading bits of its places, interleaved (the first bit of every input, then the second, …).
std::uint32_t cell_of(const double* row, const std::vector<Places>& places, int n_bits) {
  std::uint32_t cell = 0;
  const int n_places = static_cast<int>(places.size());
  for (int j = 0; j < std::min(n_places, n_bits); ++j) {
    const Places& place_of = places[static_cast<std::size_t>(j)];
    const std::uint32_t place = place_of(row[place_of.input]);
    for (int to = n_bits - 1 - j, from = 15; to >= 0; to -= n_places, --from) cell |= (place >> from & 1) << to;
  }
  return cell;
}

}  // namespace

std::vector<std::uint32_t> near_order(const double* rows, std::size_t n, std::size_t n_inputs, std::size_t skipped,
                                      int max_bits) {
  const std::vector<Places> places = places_of(rows, n, n_inputs, skipped);
  const int n_bits = std::min({max_bits, static_cast<int>(std::bit_width(n)), 16 * static_cast<int>(places.size())});
  std::vector<std::uint32_t> begins((std::size_t{1} << n_bits) + 1), cells(n), order(n);
  for (std::size_t i = 0; i < n; ++i) ++begins[(cells[i] = cell_of(rows + i * n_inputs, places, n_bits)) + 1];
  for (std::size_t c = 1; c < begins.size(); ++c) begins[c] += begins[c - 1];
  for (std::size_t i = 0; i < n; ++i) order[begins[cells[i]]++] = static_cast<std::uint32_t>(i);
  return order;
}

}  // namespace policyforest
