#include <algorithm>
#include <cmath>
#include <limits>

#include "grow/leaf_models.hpp"
#include "policyforest/grow/least_squares.hpp"

namespace policyforest {

namespace {

// Residuals below this part of the target's own spread are rounding errors of the sums of products.
constexpr double kResolution = 1e-13;

struct Scale {
  double centre, width;
};

Scale scale_of(const double* v, std::size_t n) {
  const Summary s = kernels().summary(v, n);
  const double centre = s.min + (s.max - s.min) / 2;
  const double width = (s.max - s.min) / 2;
  // Divided by infinity, what counts as constant becomes 0.
  return {centre, width > kSmallestSpread * std::abs(centre) ? width : std::numeric_limits<double>::infinity()};
}

}  // namespace

double LinearModel::standardise(const Rows& rows, const double* target) {
  const std::size_t width = n_inputs_ + 2, n = rows.size();
  const double* weight = samples_.weight(rows);
  rows_.resize(n * width);
  const auto fill = [&](std::size_t column, const double* v, Scale s) {
    for (std::size_t i = 0; i < n; ++i) {
      const double root = weight ? std::sqrt(weight[i]) : 1.0;
      rows_[i * width + column] = root * ((v[i] - s.centre) / s.width);
    }
  };
  for (std::size_t i = 0; i < n; ++i) rows_[i * width] = weight ? std::sqrt(weight[i]) : 1.0;
  for (std::size_t d = 0; d < n_inputs_; ++d)
    fill(d + 1, samples_.input(rows, d), scale_of(samples_.input(rows, d), n));
  Scale s = scale_of(target, n);
  if (!std::isfinite(s.width)) s.width = 1.0;
  fill(n_inputs_ + 1, target, s);
  total_.assign(width * (width + 1) / 2, 0.0);
  for (std::size_t i = 0; i < n; ++i) add_row(total_, i);
  return s.width;
}

void LinearModel::add_row(Moments& moments, std::size_t row) const {
  const std::size_t width = n_inputs_ + 2;
  const double* r = rows_.data() + row * width;
  double* m = moments.data();
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = i; j < width; ++j) *m++ += r[i] * r[j];
}

// Gaussian elimination of the intercept and the inputs from the matrix of moments, the largest pivot first; what
// is left at the target's place is the sum of the squared residuals.
double LinearModel::residual(const Moments& moments) const {
  const std::size_t width = n_inputs_ + 2;
  gram_.resize(width * width);
  for (std::size_t i = 0, k = 0; i < width; ++i)
    for (std::size_t j = i; j < width; ++j, ++k) gram_[i * width + j] = gram_[j * width + i] = moments[k];
  const double n = gram_[0];
  for (std::size_t step = 0; step + 1 < width; ++step) {
    std::size_t p = 0;
    if (step > 0)
      for (std::size_t i = 1; i + 1 < width; ++i)
        if (p == 0 || gram_[i * width + i] > gram_[p * width + p]) p = i;
    const double pivot = gram_[p * width + p];
    if (pivot <= kResolution * n) break;
    for (std::size_t i = 0; i < width; ++i) {
      if (i == p) continue;
      const double factor = gram_[i * width + p] / pivot;
      if (factor == 0.0) continue;
      for (std::size_t j = 0; j < width; ++j)
        if (j != p) gram_[i * width + j] -= factor * gram_[p * width + j];
    }
    for (std::size_t i = 0; i < width; ++i) gram_[i * width + p] = gram_[p * width + i] = 0.0;
  }
  return std::max(0.0, gram_[width * width - 1]);
}

bool LinearModel::settled(const Rows& rows, std::span<const Interval> box) {
  const double width = standardise(rows, samples_.y(rows));
  const double total_weight = total_[0];
  const double residual_variance = residual(total_) / total_weight;
  const bool fits = residual_variance <= kResolution || residual_variance * (width * width) < min_variance_;
  if (fits && fit_leaf(rows, box) == 1.0) return true;
  if (samples_.scored_apart()) standardise(rows, samples_.score(rows));
  return false;
}

double LinearModel::score(const Rows& rows, std::size_t d, double split, std::size_t& n_lower) {
  const double* x = samples_.input(rows, d);
  lower_.assign(total_.size(), 0.0);
  n_lower = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (x[i] > split) continue;
    ++n_lower;
    add_row(lower_, i);
  }
  upper_.resize(total_.size());
  for (std::size_t i = 0; i < total_.size(); ++i) upper_[i] = total_[i] - lower_[i];
  return -(residual(lower_) + residual(upper_));
}

double LinearModel::fit_leaf(const Rows& rows, std::span<const Interval> box) {
  for (std::size_t d = 0; d < n_inputs_; ++d) columns_[d] = samples_.input(rows, d);
  leaf_.fit(columns_, samples_.y(rows), samples_.weight(rows), rows.size(), samples_.sorted_input());
  return leaf_.share_within(box);
}

void LinearModel::make_leaf(const Rows& rows, std::span<const Interval> box, Node& node,
                            std::vector<double>& coefficients) {
  node = {0.0, static_cast<std::int32_t>(coefficients.size() / (n_inputs_ + 1)), -1};
  leaf_.append_model(fit_leaf(rows, box), coefficients);
}

}  // namespace policyforest
