#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "policyforest/model/learned_model.hpp"

namespace policyforest {

Kernel::Kernel(std::vector<double> lengths, const double* centres, const double* weights, std::size_t n)
    : lengths_(std::move(lengths)) {
  const std::size_t width = lengths_.size(), padded = (n + 7) / 8 * 8;
  centres_.assign(width * padded, 0.0);
  weights_.assign(padded, 0.0);
  std::copy(weights, weights + n, weights_.begin());
  half_squares_.assign(padded, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < width; ++d) {
      const double c = centres_[d * padded + i] = centres[i * width + d] / lengths_[d];
      half_squares_[i] += 0.5 * c * c;
    }
}

double Kernel::value(const double* scaled) const {
  return kernels().gaussian_sum(scaled, lengths_.size(), terms());
}

double Kernel::expand(const double* scaled, double* slopes, double* curvature) const {
  const std::size_t width = lengths_.size();
  std::vector<double> lanes(4 * width * (width + 5));
  return kernels().gaussian_expansion(scaled, width, terms(), lanes.data(), slopes, curvature);
}

namespace {

double parametric(const Regressor& output, const double* phi) {
  double sum = 0.0;
  for (std::size_t k = 0; k < output.coefficients.size(); ++k) sum += output.coefficients[k] * phi[k];
  return sum;
}

void scale(const Kernel& kernel, const double* phi, double* scaled) {
  for (std::size_t k = 0; k < kernel.lengths().size(); ++k) scaled[k] = phi[k + 1] / kernel.lengths()[k];
}

// A kernel near one point.
class KernelExpansion {
 public:
  KernelExpansion(std::size_t n_linear, bool curved)
      : here_(n_linear), there_(n_linear), slopes_(n_linear), curvature_(curved ? n_linear * n_linear : 0) {}

  void expand(const Kernel& kernel, const double* phi) {
    scale(kernel, phi, here_.data());
    value_ = kernel.expand(here_.data(), slopes_.data(), curvature_.empty() ? nullptr : curvature_.data());
  }
  double at(const Kernel& kernel, const double* phi) {
    const std::size_t width = kernel.lengths().size();
    scale(kernel, phi, there_.data());
    double sum = value_;
    for (std::size_t d = 0; d < width; ++d) there_[d] -= here_[d], sum += slopes_[d] * there_[d];
    if (curvature_.empty()) return sum;
    for (std::size_t d = 0; d < width; ++d)
      for (std::size_t e = 0; e < width; ++e) sum += 0.5 * there_[d] * curvature_[d * width + e] * there_[e];
    return sum;
  }

 private:
  std::vector<double> here_, there_, slopes_, curvature_;
  double value_ = 0.0;
};

}  // namespace

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
    if (output.kernel && output.kernel->lengths().size() + 1 != features.n_linear()) fail("a kernel has other inputs");
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
      double sum = parametric(outputs[j], phi.data());
      if (const Kernel* kernel = outputs[j].kernel.get()) {
        scale(*kernel, phi.data(), scaled.data());
        sum += kernel->value(scaled.data());
      }
      out[i * n_outputs + j] = sum;
    }
  }
  add_forests(rows, n, out);
}

void RegressorGroup::predict_around(const double* rows, std::size_t n, std::size_t n_moves, bool curved,
                                    double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs(), terms = n_terms();
  std::vector<double> phi((n_moves + 1) * std::max<std::size_t>(terms, 1));
  KernelExpansion around(features.n_linear(), curved);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t m = 0; terms > 0 && m <= n_moves; ++m)
      features.fill(rows + (m * n + i) * width, terms, phi.data() + m * terms);
    for (std::size_t j = 0; j < n_outputs; ++j) {
      const Kernel* kernel = outputs[j].kernel.get();
      if (kernel) around.expand(*kernel, phi.data());
      for (std::size_t m = 0; m <= n_moves; ++m) {
        double sum = parametric(outputs[j], phi.data() + m * terms);
        if (kernel) sum += around.at(*kernel, phi.data() + m * terms);
        out[(m * n + i) * n_outputs + j] = sum;
      }
    }
  }
  add_forests(rows, (n_moves + 1) * n, out);
}

void RegressorGroup::add_forests(const double* rows, std::size_t n, double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs();
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
