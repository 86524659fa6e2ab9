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
  // An input that counts as constant is divided by infinity, and becomes 0.
  return {centre, width > kSmallestSpread * std::abs(centre) ? width : std::numeric_limits<double>::infinity()};
}

}  // namespace

double LinearModel::standardise(const Rows& rows, const double* target) {
  const std::size_t n = rows.size();
  const double* weight = samples_.weight(rows);
  rows_.resize(n * width_);
  for (std::size_t i = 0; i < n; ++i) {
    rows_[i * width_] = weight ? std::sqrt(weight[i]) : 1.0;
    std::fill_n(rows_.data() + i * width_ + n_used_, width_ - n_used_, 0.0);
  }
  const auto fill = [&](std::size_t column, const double* v, Scale s) {
    double* row = rows_.data();
    for (std::size_t i = 0; i < n; ++i, row += width_) row[column] = row[0] * ((v[i] - s.centre) / s.width);
  };
  for (std::size_t d = 0; d < n_inputs_; ++d)
    fill(d + 1, samples_.input(rows, d), scale_of(samples_.input(rows, d), n));
  Scale s = scale_of(target, n);
  if (!std::isfinite(s.width)) s.width = 1.0;
  fill(n_inputs_ + 1, target, s);
  total_.assign(n_used_ * width_, 0.0);
  kernels_.lower_moments(rows_.data(), n, n_used_, width_, nullptr, 0.0, total_.data());
  return s.width;
}

// Gaussian elimination of the intercept and the inputs from the matrix of moments, the largest pivot first; the
// remaining diagonal entry of the target is the sum of the squared residuals.
double LinearModel::residual(const Moments& moments) const {
  gram_ = moments;
  for (std::size_t i = 0; i < n_used_; ++i)
    for (std::size_t j = 0; j < i; ++j) gram_[i * width_ + j] = gram_[j * width_ + i];
  const auto diagonal = [&](std::size_t i) { return gram_[i * width_ + i]; };
  const double n = diagonal(0);
  for (std::size_t step = 0; step + 1 < n_used_; ++step) {
    std::size_t p = 0;
    if (step > 0)
      for (std::size_t i = 1; i + 1 < n_used_; ++i)
        if (p == 0 || diagonal(i) > diagonal(p)) p = i;
    if (diagonal(p) <= kResolution * n) break;
    kernels_.eliminate(gram_.data(), n_used_, width_, p);
  }
  return std::max(0.0, diagonal(n_used_ - 1));
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
  lower_.assign(total_.size(), 0.0);
  const double* x = samples_.input(rows, d);
  n_lower = kernels_.lower_moments(rows_.data(), rows.size(), n_used_, width_, x, split, lower_.data());
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
