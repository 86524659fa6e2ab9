#include "grow/leaf_models.hpp"

namespace policyforest {

ConstantModel::Sums ConstantModel::sums(const Rows& rows) const {
  const std::size_t n = rows.size();
  if (const double* weight = samples_.weight(rows))
    return {kernels_.summary(weight, n).sum, kernels_.dot(samples_.score(rows), weight, n)};
  return {static_cast<double>(n), kernels_.summary(samples_.score(rows), n).sum};
}

// Stops at the first sample that differs, which is usually the second.
bool ConstantModel::constant(const Rows& rows) const {
  const double* y = samples_.y(rows);
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (y[i] != y[0]) return false;
  return true;
}

double ConstantModel::mean(const Rows& rows, const Sums& sums) const {
  if (!samples_.scored_apart()) return sums.score / sums.weight;
  if (const double* weight = samples_.weight(rows))
    return kernels_.dot(samples_.y(rows), weight, rows.size()) / sums.weight;
  return kernels_.summary(samples_.y(rows), rows.size()).sum / sums.weight;
}

bool ConstantModel::settled(const Rows& rows, const Sums& sums) {
  if (constant(rows)) return true;
  if (min_variance_ <= 0.0) return false;
  const double m = mean(rows, sums);
  const double *y = samples_.y(rows), *weight = samples_.weight(rows);
  if (!weight) return kernels_.squared_deviation(y, rows.size(), m) / sums.weight < min_variance_;
  double deviation = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) deviation += weight[i] * (y[i] - m) * (y[i] - m);
  return deviation / sums.weight < min_variance_;
}

double ConstantModel::score(const Rows& rows, const Sums& sums, std::size_t d, double split, std::size_t& n_lower,
                            Sums& lower) const {
  if (d == samples_.sorted_input()) {
    const Rows below = samples_.rows_below(rows, split);
    n_lower = below.size();
    lower = this->sums(below);
  } else {
    const double *x = samples_.input(rows, d), *z = samples_.score(rows), *weight = samples_.weight(rows);
    const LowerSums below = weight ? kernels_.lower_sums_weighted(x, split, z, weight, rows.size())
                                   : kernels_.lower_sums(x, split, z, rows.size());
    n_lower = below.count;
    lower = {below.weight, below.sum};
  }
  const double upper_weight = sums.weight - lower.weight;
  const double difference = lower.score / lower.weight - (sums.score - lower.score) / upper_weight;
  return lower.weight * upper_weight * (difference * difference);
}

void ConstantModel::make_leaf(const Rows& rows, const Sums& sums, Node& node, std::vector<double>&) const {
  node = {constant(rows) ? samples_.y(rows)[0] : mean(rows, sums), 0, -1};
}

}  // namespace policyforest
