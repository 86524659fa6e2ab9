#include "policyforest/certify/affine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace policyforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A bound on the relative error of a few operations; that of one operation is at most 2^-53.
constexpr double kRounding = 0x1p-47;
// Covers results below the smallest normal number.
constexpr double kTiny = 1e-290;

double enlarged(double rounding, double error) { return error * (1.0 + rounding) + kTiny; }

// The range of x^q over [lo, hi], which contains 0 only if q is an integer >= 0.
Interval power_range(Interval x, double q) {
  const double a = std::pow(x.lo, q), b = std::pow(x.hi, q);
  if (q == 0.0) return {1.0, 1.0};
  Interval range = outwards(std::min(a, b), std::max(a, b));
  if (x.lo < 0.0 && x.hi > 0.0) range = {std::min(range.lo, 0.0), std::max(range.hi, 0.0)};
  return range;
}

Interval times(double factor, Interval x) {
  return factor >= 0.0 ? outwards(factor * x.lo, factor * x.hi) : outwards(factor * x.hi, factor * x.lo);
}

Interval product(Interval x, Interval y) {
  const double p[] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
  return outwards(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
}

// The range of the sine: 1 or -1 if a maximum or minimum may be inside, else the values at the ends.
Interval sine_range(Interval x) {
  constexpr double pi = std::numbers::pi;
  if (!(x.hi - x.lo < 2 * pi) || x.magnitude() > 1e6) return {-1.0, 1.0};
  const double a = std::sin(x.lo), b = std::sin(x.hi);
  Interval range = outwards(std::min(a, b), std::max(a, b));
  const double slack = 1e-9;
  // Whether pi/2 + 2 pi j (or -pi/2 + 2 pi j) is inside for an integer j.
  const auto holds = [&](double crest) {
    return std::floor((x.hi - crest + slack) / (2 * pi)) >= std::ceil((x.lo - crest - slack) / (2 * pi));
  };
  if (holds(pi / 2)) range.hi = 1.0;
  if (holds(-pi / 2)) range.lo = -1.0;
  return {std::max(range.lo, -1.0), std::min(range.hi, 1.0)};
}

Interval cosine_range(Interval x) {
  const double quarter = std::numbers::pi / 2;
  return sine_range(outwards(x.lo + quarter, x.hi + quarter));
}

}  // namespace

double Interval::magnitude() const { return std::max(std::abs(lo), std::abs(hi)); }

Interval outwards(double lo, double hi) {
  return {lo - std::abs(lo) * kRounding - kTiny, hi + std::abs(hi) * kRounding + kTiny};
}

void AffineArithmetic::constant(double value, double* z) const {
  std::fill_n(z, width(), 0.0);
  z[0] = value;
}

void AffineArithmetic::interval(Interval range, double* z) const {
  const double middle = range.lo / 2 + range.hi / 2;
  constant(middle, z);
  z[1] = enlarged(rounding_, std::max(range.hi - middle, middle - range.lo) + std::abs(middle) * rounding_);
  if (!std::isfinite(z[1])) unbounded(z);
}

void AffineArithmetic::unbounded(double* z) const {
  constant(0.0, z);
  z[1] = kInfinity;
}

bool AffineArithmetic::bounded(const double* x) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < width(); ++i) sum += std::abs(x[i]);
  return std::isfinite(sum);
}

double AffineArithmetic::radius(const double* x) const {
  double sum = x[1];
  for (std::size_t i = 2; i < width(); ++i) sum += std::abs(x[i]);
  return sum == 0.0 ? 0.0 : enlarged(rounding_, sum);
}

Interval AffineArithmetic::range(const double* x) const {
  const double r = radius(x);
  if (r == 0.0) return {x[0], x[0]};
  return outwards(x[0] - r - std::abs(x[0]) * rounding_, x[0] + r + std::abs(x[0]) * rounding_);
}

void AffineArithmetic::copy(const double* x, double* z) const {
  if (x != z) std::copy_n(x, width(), z);
}

void AffineArithmetic::add(const double* x, const double* y, double* z) const {
  double size = 0.0;
  for (std::size_t i = 0; i < width(); ++i) {
    size += std::abs(x[i]) + std::abs(y[i]);
    z[i] = x[i] + y[i];
  }
  z[1] = enlarged(rounding_, z[1] + size * rounding_);
}

void AffineArithmetic::subtract(const double* x, const double* y, double* z) const {
  double size = 0.0;
  const double error = x[1] + y[1];
  for (std::size_t i = 0; i < width(); ++i) {
    size += std::abs(x[i]) + std::abs(y[i]);
    z[i] = x[i] - y[i];
  }
  z[1] = enlarged(rounding_, error + size * rounding_);
}

void AffineArithmetic::multiply(const double* x, const double* y, double* z) const {
  // eps_i^2 lies in [0, 1]: half of a_i b_i goes to the middle, the other half to the error.
  double squares = 0.0, error = 0.0, size_x = 0.0, size_y = 0.0;
  const std::size_t paired = paired_ + 2;
  for (std::size_t i = 2; i < paired; ++i) {
    squares += x[i] * y[i];
    error += std::abs(x[i] * y[i]) / 2;
    size_x += std::abs(x[i]);
    size_y += std::abs(y[i]);
    for (std::size_t j = i + 1; j < paired; ++j) error += std::abs(x[i] * y[j] + x[j] * y[i]);
  }
  double rest_x = 0.0, rest_y = 0.0;
  for (std::size_t i = paired; i < width(); ++i) {
    rest_x += std::abs(x[i]);
    rest_y += std::abs(y[i]);
  }
  error += size_x * rest_y + rest_x * size_y + rest_x * rest_y;
  size_x += rest_x;
  size_y += rest_y;
  const double cx = x[0], cy = y[0], ex = x[1], ey = y[1];
  error += (std::abs(cx) + size_x) * ey + (std::abs(cy) + size_y) * ex + ex * ey;
  error += rounding_ * (std::abs(cx) + size_x + ex) * (std::abs(cy) + size_y + ey);
  for (std::size_t i = 2; i < width(); ++i) z[i] = cx * y[i] + cy * x[i];
  z[0] = cx * cy + squares / 2;
  z[1] = enlarged(rounding_, error);
}

void AffineArithmetic::scale(const double* x, double factor, double* z) const {
  double size = 0.0;
  for (std::size_t i = 0; i < width(); ++i) {
    z[i] = x[i] * factor;
    size += std::abs(z[i]);
  }
  z[1] = enlarged(rounding_, std::abs(z[1]) + size * rounding_);
}

void AffineArithmetic::shift(const double* x, double by, double* z) const {
  const double size = std::abs(x[0]) + std::abs(by);
  copy(x, z);
  z[0] += by;
  z[1] = enlarged(rounding_, z[1] + rounding_ * size);
}

void AffineArithmetic::widen(double* z, double by) const { z[1] = enlarged(rounding_, z[1] + by); }

void AffineArithmetic::add_scaled(const double* x, double factor, double* z) const {
  double size = 0.0;
  const double error = z[1] + std::abs(factor * x[1]);
  for (std::size_t i = 0; i < width(); ++i) {
    const double term = factor * x[i];
    size += std::abs(term) + std::abs(z[i]);
    z[i] += term;
  }
  z[1] = enlarged(rounding_, error + size * rounding_);
}

void AffineArithmetic::smooth(const double* x, double value, double slope, Interval curvature, Interval range,
                              double* z) const {
  const double r = radius(x);
  const double low = std::min(curvature.lo, 0.0) * r * r / 2, high = std::max(curvature.hi, 0.0) * r * r / 2;
  const double middle = (low + high) / 2, rest = (high - low) / 2;
  const double size = std::abs(value) + std::abs(slope) * (r + std::abs(x[0])) + high - low;
  const double error = std::abs(slope) * x[1] + rest + size * rounding_;
  // The range loses the dependence on the symbols, so it is used only if the line is of little use.
  if (!(rest <= (range.hi - range.lo) / 4)) return interval(range, z);
  for (std::size_t i = 2; i < width(); ++i) z[i] = slope * x[i];
  z[0] = value + middle;
  z[1] = enlarged(rounding_, error);
}

void AffineArithmetic::power(const double* x, double q, double* z) const {
  const Interval at = range(x);
  const bool whole = q == std::floor(q);
  if (!bounded(x) || (!(at.lo > 0.0) && !(whole && (q >= 0.0 || at.hi < 0.0)))) return unbounded(z);
  if (q == 0.0) return constant(1.0, z);
  if (q == 1.0) return copy(x, z);
  const Interval curvature = times(q * (q - 1.0), power_range(at, q - 2.0));
  smooth(x, std::pow(x[0], q), q * std::pow(x[0], q - 1.0), curvature, power_range(at, q), z);
}

void AffineArithmetic::sine(const double* x, double* z) const {
  const Interval at = range(x), values = sine_range(at);
  if (!bounded(x) || at.magnitude() > 1e6) return interval({-1.0, 1.0}, z);
  smooth(x, std::sin(x[0]), std::cos(x[0]), {-values.hi, -values.lo}, values, z);
}

void AffineArithmetic::cosine(const double* x, double* z) const {
  const Interval at = range(x), values = cosine_range(at);
  if (!bounded(x) || at.magnitude() > 1e6) return interval({-1.0, 1.0}, z);
  smooth(x, std::cos(x[0]), -std::sin(x[0]), {-values.hi, -values.lo}, values, z);
}

void AffineArithmetic::tangent(const double* x, double* z) const {
  const Interval at = range(x);
  constexpr double pi = std::numbers::pi;
  const double branch = std::floor(at.lo / pi + 0.5);
  // A pole lies pi/2 from the middle of a branch.
  if (!bounded(x) || at.magnitude() > 1e6 || !(at.lo > pi * (branch - 0.5) + 1e-9) ||
      !(at.hi < pi * (branch + 0.5) - 1e-9))
    return unbounded(z);
  const Interval t = outwards(std::tan(at.lo), std::tan(at.hi));
  const auto second = [](double tangent) { return 2.0 * tangent * (1.0 + tangent * tangent); };
  const double t0 = std::tan(x[0]);
  smooth(x, t0, 1.0 + t0 * t0, outwards(second(t.lo), second(t.hi)), t, z);
}

void AffineArithmetic::exponential(const double* x, double* z) const {
  if (!bounded(x)) return unbounded(z);
  const Interval at = range(x), values = outwards(std::exp(at.lo), std::exp(at.hi));
  const double value = std::exp(x[0]);
  smooth(x, value, value, values, values, z);
}

void AffineArithmetic::logarithm(const double* x, double* z) const {
  const Interval at = range(x);
  if (!bounded(x) || !(at.lo > 0.0)) return unbounded(z);
  const Interval values = outwards(std::log(at.lo), std::log(at.hi));
  smooth(x, std::log(x[0]), 1.0 / x[0], outwards(-1.0 / (at.lo * at.lo), -1.0 / (at.hi * at.hi)), values, z);
}

void AffineArithmetic::hyperbolic_tangent(const double* x, double* z) const {
  if (!bounded(x)) return interval({-1.0, 1.0}, z);
  const Interval at = range(x), t = outwards(std::tanh(at.lo), std::tanh(at.hi));
  const double t0 = std::tanh(x[0]);
  const double nearest = t.lo <= 0.0 && t.hi >= 0.0 ? 0.0 : std::min(std::abs(t.lo), std::abs(t.hi));
  const Interval rest = outwards(std::max(0.0, 1.0 - t.magnitude() * t.magnitude()), 1.0 - nearest * nearest);
  smooth(x, t0, 1.0 - t0 * t0, product({-2.0 * t.hi, -2.0 * t.lo}, rest), t, z);
}

void AffineArithmetic::arc_tangent(const double* x, double* z) const {
  if (!bounded(x)) return interval(outwards(-std::numbers::pi / 2, std::numbers::pi / 2), z);
  const Interval at = range(x), values = outwards(std::atan(at.lo), std::atan(at.hi));
  const double nearest = at.lo <= 0.0 && at.hi >= 0.0 ? 0.0 : std::min(std::abs(at.lo), std::abs(at.hi));
  const double far = 1.0 + at.magnitude() * at.magnitude(), near = 1.0 + nearest * nearest;
  const Interval curvature = product({-2.0 * at.hi, -2.0 * at.lo}, outwards(1.0 / (far * far), 1.0 / (near * near)));
  smooth(x, std::atan(x[0]), 1.0 / (1.0 + x[0] * x[0]), curvature, values, z);
}

void AffineArithmetic::absolute(const double* x, double* z) const {
  const Interval at = range(x);
  if (at.lo >= 0.0) return copy(x, z);
  if (at.hi <= 0.0) return scale(x, -1.0, z);
  if (!bounded(x)) return unbounded(z);
  // The chord from (lo, -lo) to (hi, hi); |x| lies below it by at most its value at 0.
  const double slope = (at.hi + at.lo) / (at.hi - at.lo), gap = -2.0 * at.lo * at.hi / (at.hi - at.lo);
  scale(x, slope, z);
  shift(z, gap / 2, z);
  widen(z, gap / 2 + rounding_ * at.magnitude());
}

void AffineArithmetic::clip(const double* x, double low, double high, double* z) const {
  const Interval at = range(x);
  if (at.lo >= low && at.hi <= high) return copy(x, z);
  if (at.lo >= high) return constant(high, z);
  if (at.hi <= low) return constant(low, z);
  if (!bounded(x)) return interval({low, high}, z);
  if (at.lo < low && at.hi > high) {
    // A line with the slope of the chord between the ends; the distance from it is largest at an end or a corner.
    const double slope = (high - low) / (at.hi - at.lo);
    const double apart[] = {low - slope * at.lo, low - slope * low, high - slope * high, high - slope * at.hi};
    const double lowest = *std::min_element(apart, apart + 4), highest = *std::max_element(apart, apart + 4);
    scale(x, slope, z);
    shift(z, (lowest + highest) / 2, z);
    return widen(z, (highest - lowest) / 2 + rounding_ * (at.magnitude() + std::abs(low) + std::abs(high)));
  }
  const double corner = at.hi > high ? high : low, end = at.hi > high ? at.lo : at.hi;
  const double other = at.hi > high ? at.hi : at.lo;
  // One corner: the chord from the unclipped end to the clipped one, and the distance of the corner from it.
  const double slope = (corner - end) / (other - end), gap = (corner - end) * (1.0 - slope);
  scale(x, slope, z);
  shift(z, end * (1.0 - slope) + gap / 2, z);
  widen(z, std::abs(gap) / 2 + rounding_ * (at.magnitude() + std::abs(corner)));
}

void AffineArithmetic::either(const double* x, const double* y, double* z) const {
  if (!bounded(x) || !bounded(y)) return unbounded(z);
  double apart = 0.0, size = 0.0;
  const double error = std::max(x[1], y[1]);
  for (std::size_t i = 0; i < width(); ++i) {
    size += std::abs(x[i]) + std::abs(y[i]);
    if (i != 1) apart += std::abs(x[i] - y[i]) / 2;
    z[i] = x[i] / 2 + y[i] / 2;
  }
  z[1] = enlarged(rounding_, error + apart + size * rounding_);
}

}  // namespace policyforest
