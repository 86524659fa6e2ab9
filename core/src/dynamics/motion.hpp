// Shared by several systems: steps of the Runge-Kutta method, and angles.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <string>

namespace policyforest {

// The angle moved by whole turns into [-pi, pi).
inline double wrapped(double theta) {
  constexpr double kPi = std::numbers::pi;
  const double turned = theta - 2.0 * kPi * std::floor((theta + kPi) / (2.0 * kPi));
  // Rounding can give the upper end, which is the same angle as the lower end.
  return turned >= kPi || turned < -kPi ? -kPi : turned;
}

// One step of the classical Runge-Kutta method of fourth order; `derivative` is a function of the state.
template <std::size_t N, class Derivative>
std::array<double, N> runge_kutta(const std::array<double, N>& s, double time, const Derivative& derivative) {
  const auto moved = [&s](const std::array<double, N>& slope, double by) {
    std::array<double, N> to;
    for (std::size_t d = 0; d < N; ++d) to[d] = s[d] + by * slope[d];
    return to;
  };
  const std::array<double, N> a = derivative(s);
  const std::array<double, N> b = derivative(moved(a, time / 2));
  const std::array<double, N> c = derivative(moved(b, time / 2));
  const std::array<double, N> d = derivative(moved(c, time));
  std::array<double, N> to;
  for (std::size_t i = 0; i < N; ++i) to[i] = s[i] + time / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  return to;
}

// Throws std::invalid_argument if the integration of a system has overflowed.
template <std::size_t N>
void require_finite(const std::array<double, N>& state, const char* system, double speed) {
  for (const double value : state) {
    if (!std::isfinite(value)) {
      throw std::invalid_argument(std::string("state: the ") + system + " at omega = " + std::to_string(speed) +
                                  " is too fast to be integrated");
    }
  }
}

}  // namespace policyforest
