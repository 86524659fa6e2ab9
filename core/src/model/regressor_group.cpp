#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "policyforest/model/learned_model.hpp"

namespace policyforest {

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
    if (output.forest && output.forest->n_inputs() != features.n_inputs()) fail("a forest has other inputs");
  }
}

std::size_t RegressorGroup::n_terms() const {
  std::size_t most = 0;
  for (const Regressor& output : outputs) most = std::max(most, output.coefficients.size());
  return most;
}

void RegressorGroup::predict(const double* rows, std::size_t n, double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs(), terms = n_terms();
  std::vector<double> phi(std::max<std::size_t>(terms, 1));
  for (std::size_t i = 0; i < n; ++i) {
    if (terms > 0) features.fill(rows + i * width, terms, phi.data());
    for (std::size_t j = 0; j < n_outputs; ++j) {
      const auto& c = outputs[j].coefficients;
      double sum = 0.0;
      for (std::size_t k = 0; k < c.size(); ++k) sum += c[k] * phi[k];
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
