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

double Kernel::value(const double* scaled) const { return kernels().gaussian_sum(scaled, lengths_.size(), terms()); }

double Kernel::expand(const double* scaled, double* slopes, double* curvature) const {
  const std::size_t width = lengths_.size();
  std::vector<double> lanes(4 * width * (width + 5));
  return kernels().gaussian_expansion(scaled, width, terms(), lanes.data(), slopes, curvature);
}

namespace {

constexpr std::size_t kLanes = Features::kLanes;

// Up to kLanes rows with their features in lanes. Each row is summed in the order of its features, so that its bits do
// not depend on the other rows.
class FeatureBlock {
 public:
  FeatureBlock(const Features& features, std::size_t n_terms)
      : features_(features),
        n_terms_(n_terms),
        phi_(std::max<std::size_t>(n_terms, 1) * kLanes),
        scaled_(features.n_linear()) {}

  // Rows are `stride` numbers apart; the last row fills the remaining lanes.
  void fill(const double* row, std::size_t n, std::size_t stride) {
    if (n_terms_ == 0) return;
    const double* rows[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) rows[l] = row + std::min(l, n - 1) * stride;
    features_.fill_block(rows, n_terms_, phi_.data());
  }
  // c·phi of each row.
  void parametric(const Regressor& output, double* sums) const {
    double lanes[kLanes] = {};
    for (std::size_t k = 0; k < output.coefficients.size(); ++k) {
      const double c = output.coefficients[k];
      const double* phi = phi_.data() + k * kLanes;
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += c * phi[l];
    }
    std::copy_n(lanes, kLanes, sums);
  }
  // The inputs of a kernel in one row.
  const double* scaled(const Kernel& kernel, std::size_t lane) {
    for (std::size_t k = 0; k < kernel.lengths().size(); ++k)
      scaled_[k] = phi_[(k + 1) * kLanes + lane] / kernel.lengths()[k];
    return scaled_.data();
  }
  // One input of a kernel in all rows.
  void scaled(const Kernel& kernel, std::size_t input, double* lanes) const {
    const double length = kernel.lengths()[input];
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = phi_[(input + 1) * kLanes + l] / length;
  }

 private:
  const Features& features_;
  std::size_t n_terms_;
  std::vector<double> phi_, scaled_;
};

// The expansion of a kernel around one point.
class KernelExpansion {
 public:
  KernelExpansion(std::size_t n_linear, bool curved)
      : here_(n_linear), there_(n_linear * kLanes), slopes_(n_linear), curvature_(curved ? n_linear * n_linear : 0) {}

  void expand(const Kernel& kernel, const double* scaled) {
    std::copy_n(scaled, kernel.lengths().size(), here_.data());
    value_ = kernel.expand(here_.data(), slopes_.data(), curvature_.empty() ? nullptr : curvature_.data());
  }
  // Its values in the rows of a block, one lane per row.
  void at(const Kernel& kernel, const FeatureBlock& block, double* sums) {
    const std::size_t width = kernel.lengths().size();
    double lanes[kLanes];
    std::fill(lanes, lanes + kLanes, value_);
    for (std::size_t d = 0; d < width; ++d) {
      double* there = &there_[d * kLanes];
      block.scaled(kernel, d, there);
      for (std::size_t l = 0; l < kLanes; ++l) there[l] -= here_[d], lanes[l] += slopes_[d] * there[l];
    }
    if (!curvature_.empty()) add_curvature(width, lanes);
    std::copy_n(lanes, kLanes, sums);
  }

 private:
  void add_curvature(std::size_t width, double* lanes) const {
    for (std::size_t d = 0; d < width; ++d)
      for (std::size_t e = 0; e < width; ++e) {
        const double curved = curvature_[d * width + e];
        const double *first = &there_[d * kLanes], *second = &there_[e * kLanes];
        for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += 0.5 * first[l] * curved * second[l];
      }
  }

  std::vector<double> here_, there_, slopes_, curvature_;
  double value_ = 0.0;
};

}  // namespace

void RegressorGroup::check(const char* name) const {
  const auto fail = [name](const char* what) { throw std::invalid_argument(std::string(name) + ": " + what); };
  if (range.lo.size() != features.n_inputs() || range.hi.size() != features.n_inputs())
    fail("its range must have a lower and an upper side for each input");
  for (std::size_t d = 0; d < range.lo.size(); ++d)
    if (!(range.lo[d] <= range.hi[d])) fail("its range must have lower sides that do not exceed the upper ones");
  for (const Regressor& output : outputs) {
    const std::size_t terms = output.coefficients.size();
    bool known = terms == 0;
    for (std::size_t degree = 1; degree <= Features::kMaxDegree; ++degree) known |= terms == features.size(degree);
    if (!known) fail("an output must have coefficients for no features, or for all features up to a degree");
    for (const double c : output.coefficients)
      if (!std::isfinite(c)) fail("coefficients must be finite");
    if (output.kernel && output.kernel->lengths().size() + 1 != features.n_linear())
      fail("a kernel has the wrong number of inputs");
    if (output.forest && output.forest->n_inputs() != features.n_inputs())
      fail("a forest has the wrong number of inputs");
  }
}

std::size_t RegressorGroup::n_terms() const {
  std::size_t most = 0;
  for (const Regressor& output : outputs)
    most = std::max({most, output.coefficients.size(), output.kernel ? features.n_linear() : 0});
  return most;
}

void RegressorGroup::predict(const double* rows, std::size_t n, double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs();
  FeatureBlock block(features, n_terms());
  double sums[kLanes];
  for (std::size_t i = 0; i < n; i += kLanes) {
    const std::size_t count = std::min(kLanes, n - i);
    block.fill(rows + i * width, count, width);
    for (std::size_t j = 0; j < n_outputs; ++j) {
      block.parametric(outputs[j], sums);
      const Kernel* kernel = outputs[j].kernel.get();
      for (std::size_t l = 0; l < count; ++l)
        out[(i + l) * n_outputs + j] = kernel ? sums[l] + kernel->value(block.scaled(*kernel, l)) : sums[l];
    }
  }
  add_forests(rows, n, out);
}

void RegressorGroup::predict_around(const double* rows, std::size_t n, std::size_t n_moves, bool curved,
                                    double* out) const {
  const std::size_t n_outputs = outputs.size(), width = features.n_inputs(), n_near = n_moves + 1;
  std::vector<FeatureBlock> blocks((n_near + kLanes - 1) / kLanes, FeatureBlock(features, n_terms()));
  KernelExpansion around(features.n_linear(), curved);
  double sums[kLanes], near[kLanes];
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t b = 0; b < blocks.size(); ++b)
      blocks[b].fill(rows + (b * kLanes * n + i) * width, std::min(kLanes, n_near - b * kLanes), n * width);
    for (std::size_t j = 0; j < n_outputs; ++j) {
      const Kernel* kernel = outputs[j].kernel.get();
      if (kernel) around.expand(*kernel, blocks[0].scaled(*kernel, 0));
      for (std::size_t m = 0; m < n_near; m += kLanes) {
        const FeatureBlock& block = blocks[m / kLanes];
        block.parametric(outputs[j], sums);
        if (kernel) around.at(*kernel, block, near);
        for (std::size_t l = 0; l < std::min(kLanes, n_near - m); ++l)
          out[((m + l) * n + i) * n_outputs + j] = kernel ? sums[l] + near[l] : sums[l];
      }
    }
  }
  add_forests(rows, n_near * n, out);
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
