#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "policyforest/certify/closed_loop.hpp"

namespace policyforest {

namespace {

// Maps doubles to integers in the same order, and back.
std::int64_t rank_of(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

double ranked(std::int64_t rank) {
  return std::bit_cast<double>(rank >= 0 ? rank : std::numeric_limits<std::int64_t>::min() - rank);
}

}  // namespace

void CertifiedPolicy::check(std::size_t n_states) const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("policy: ") + what);
  };
  require(!forests.empty() && forests.size() == actions.dims(), "there must be one forest per action dimension");
  for (const auto& forest : forests)
    require(forest && forest->n_inputs() == n_states, "a forest has the wrong number of inputs");
  require(periods.empty() || periods.size() == n_states, "there must be one period per state dimension");
  const bool whole = arithmetic == PolicyArithmetic::kInt16;
  require(low.size() == (whole ? n_states : 0) && scale.size() == low.size(), "16-bit numbers need low and scale");
  require(offset.size() == (whole ? forests.size() : 0) && factor.size() == offset.size(),
          "16-bit numbers need an offset and a factor per action");
}

double CertifiedPolicy::compared(std::size_t d, double x) const {
  if (arithmetic == PolicyArithmetic::kFloat64) return x;
  const auto single = static_cast<float>(x);
  if (arithmetic == PolicyArithmetic::kFloat32) return single;
  const float difference = single - low[d];
  const float steps = difference * scale[d];
  return std::trunc(static_cast<double>(std::min(steps > 0.0f ? steps : 0.0f, 65535.0f))) - 32768.0;
}

double CertifiedPolicy::last_below(std::size_t d, double threshold) const {
  if (arithmetic == PolicyArithmetic::kFloat64) return threshold;
  constexpr double largest = std::numeric_limits<float>::max();
  std::int64_t below = rank_of(-largest), above = rank_of(largest);
  if (compared(d, ranked(below)) > threshold) return -largest;
  if (compared(d, ranked(above)) <= threshold) return largest;
  while (above != below + 1) {  // compared(below) <= threshold < compared(above)
    const std::int64_t middle = std::midpoint(below, above);
    (compared(d, ranked(middle)) <= threshold ? below : above) = middle;
  }
  return ranked(below);
}

}  // namespace policyforest
