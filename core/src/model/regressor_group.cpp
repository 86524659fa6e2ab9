#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "policyforest/model/learned_model.hpp"

namespace policyforest {

namespace {

// e^-x for x >= 0 to a relative error of 1e-9, by the same operations everywhere: the standard function differs between
// libraries in its last bit, and takes three times as long.
double decay(double x) {
  if (!(x < 700.0)) return 0.0;
  constexpr double kSteps = 32.0, kPerStep = 0.69314718055994530942 / kSteps;
  static const std::array<double, 32> powers = [] {
    double root = 0.5;  // 2^(-1/32), by operations that are rounded correctly everywhere
    for (int k = 0; k < 5; ++k) root = std::sqrt(root);
    std::array<double, 32> table{1.0};
    for (std::size_t i = 1; i < table.size(); ++i) table[i] = table[i - 1] * root;
    return table;
  }();
  const auto steps = static_cast<std::uint64_t>(x / kPerStep);
  const double r = x - static_cast<double>(steps) * kPerStep;
  const double tail = 1.0 - r * (1.0 - r * (0.5 - r * (1.0 / 6.0 - r * (1.0 / 24.0))));
  const std::uint64_t halvings = (1023 - steps / 32) << 52;  // 2^-k as the bits of a double
  return tail * powers[steps % 32] * std::bit_cast<double>(halvings);
}

}  // namespace

double Kernel::value(const double* scaled) const {
  const std::size_t width = lengths.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double* centre = centres.data() + i * width;
    double apart = 0.0;
    for (std::size_t d = 0; d < width; ++d) apart += (scaled[d] - centre[d]) * (scaled[d] - centre[d]);
    sum += weights[i] * decay(0.5 * apart);
  }
  return sum;
}

void RegressorGroup::check(const char* name) const {
  const auto fail = [name](const char* what) { throw std::invalid_argument(std::string(name) + ": " + what); };
  if (range.lo.size() != features.n_inputs() || range.hi.size() != features.n_inputs())
    fail("its range must have a side for each input");
  for (std::size_t d = 0; d < range.lo.size(); ++d)
    if (!(range.lo[d] <= range.hi[d])) fail("its range must have lower sides that do not exceed the upper ones");
  for (const Regressor& output : outputs) {
    const std::size_t terms = output.coefficients.size();
    bool known = terms == 0;
    for (std::size_t degree = 1; degree <= Features::kMaxDegree; ++degree) known |= terms == features.size(degree);
    if (!known) fail("an output has coefficients for no features, or for all up to a degree");
    for (const double c : output.coefficients)
      if (!std::isfinite(c)) fail("coefficients must be finite");
    if (output.kernel && output.kernel->lengths.size() + 1 != features.n_linear()) fail("a kernel has other inputs");
    if (output.forest && output.forest->n_inputs() != features.n_inputs()) fail("a forest has other inputs");
  }
}

std::size_t RegressorGroup::n_terms() const {
  std::size_t most = 0;
  for (const Regressor& output : outputs)
    most = std::max({most, output.coefficients.size(), output.kernel ? features.n_linear() : 0});
  return most;
}

void RegressorGroup::predict(const double* rows, std::size_t n, double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs(), terms = n_terms();
  std::vector<double> phi(std::max<std::size_t>(terms, 1)), scaled(features.n_linear());
  for (std::size_t i = 0; i < n; ++i) {
    if (terms > 0) features.fill(rows + i * width, terms, phi.data());
    for (std::size_t j = 0; j < n_outputs; ++j) {
      const auto& c = outputs[j].coefficients;
      double sum = 0.0;
      for (std::size_t k = 0; k < c.size(); ++k) sum += c[k] * phi[k];
      if (const Kernel* kernel = outputs[j].kernel.get()) {
        for (std::size_t k = 0; k < kernel->lengths.size(); ++k) scaled[k] = phi[k + 1] / kernel->lengths[k];
        sum += kernel->value(scaled.data());
      }
      out[i * n_outputs + j] = sum;
    }
  }
  const auto has_forest = [](const Regressor& output) { return output.forest != nullptr; };
  if (std::none_of(outputs.begin(), outputs.end(), has_forest)) return;
  std::vector<double> clipped(rows, rows + n * width), column(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < width; ++d)
      clipped[i * width + d] = std::clamp(clipped[i * width + d], range.lo[d], range.hi[d]);
  for (std::size_t j = 0; j < n_outputs; ++j) {
    if (!outputs[j].forest) continue;
    outputs[j].forest->few(clipped.data(), n, column.data());
    for (std::size_t i = 0; i < n; ++i) out[i * n_outputs + j] += column[i];
  }
}

}  // namespace policyforest
