#include "sample_columns.hpp"

#include <algorithm>
#include <utility>

namespace policyforest {

void SampleColumns::load(const TrainingSet& data, const std::vector<Period>& periods,
                         const std::vector<double>& cuts) {
  if (buffers_[0].empty()) fill(data, periods);
  root_side_ = 0;
  for (std::size_t d = 0; d < periods.size(); ++d) {
    const double length = periods[d].hi - periods[d].lo;
    if (length <= 0.0) continue;
    if (root_side_ == 0) buffers_[1] = buffers_[0];
    root_side_ = 1;
    double* column = buffers_[1].data() + d * n_samples_;
    for (double* v = column; v != column + n_samples_; ++v)
      if (*v < cuts[d]) *v += length;
  }
}

void SampleColumns::fill(const TrainingSet& data, const std::vector<Period>& periods) {
  n_samples_ = data.n_samples;
  n_inputs_ = data.n_inputs;
  n_columns_ = n_inputs_ + 1;
  score_column_ = data.score ? n_columns_++ : n_inputs_;
  weight_column_ = data.weight ? n_columns_++ : 0;
  for (auto& buffer : buffers_) buffer.resize(n_columns_ * n_samples_);
  sorted_input_ = 0;
  while (sorted_input_ < periods.size() && periods[sorted_input_].hi > periods[sorted_input_].lo) ++sorted_input_;

  std::vector<std::pair<double, std::size_t>> order(n_samples_);
  for (std::size_t i = 0; i < n_samples_; ++i)
    order[i] = {sorted_input_ < n_inputs_ ? data.x[sorted_input_ * n_samples_ + i] : 0.0, i};
  if (sorted_input_ < n_inputs_) std::sort(order.begin(), order.end());
  double* to = buffers_[0].data();
  const auto copy = [&](const double* from) {
    for (const auto& [value, i] : order) *to++ = from[i];
  };
  for (std::size_t d = 0; d < n_inputs_; ++d) copy(data.x + d * n_samples_);
  copy(data.y);
  if (data.score) copy(data.score);
  if (data.weight) copy(data.weight);
}

// The n rows with the smallest values of the sorted input, where they are.
Rows SampleColumns::first_rows(const Rows& rows, std::size_t n) {
  if (rows.descending) return {rows.end - n, rows.end, rows.side, true};
  return {rows.begin, rows.begin + n, rows.side, false};
}

Rows SampleColumns::rows_below(const Rows& rows, double split) const {
  const double *begin = input(rows, sorted_input_), *end = begin + rows.size();
  const auto n = rows.descending
                     ? end - std::partition_point(begin, end, [split](double v) { return v > split; })
                     : std::partition_point(begin, end, [split](double v) { return v <= split; }) - begin;
  return first_rows(rows, static_cast<std::size_t>(n));
}

void SampleColumns::partition(const Rows& rows, std::size_t d, double split, std::size_t n_lower, Rows& lower,
                              Rows& upper) {
  if (d == sorted_input_) {
    lower = first_rows(rows, n_lower);
    upper = rows;
    (rows.descending ? upper.end : upper.begin) = rows.descending ? lower.begin : lower.end;
    return;
  }
  const int other = rows.side == 1 ? 2 : 1;
  double* to = buffers_[other].data() + rows.begin;
  kernels_.partition(column(rows, 0), to, rows.size(), n_columns_, n_samples_, d, split);
  lower = {rows.begin, rows.begin + n_lower, other, rows.descending};
  upper = {rows.begin + n_lower, rows.end, other, !rows.descending};
}

}  // namespace policyforest
