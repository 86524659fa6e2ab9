#include "grow/sample_columns.hpp"

#include <algorithm>
#include <utility>

namespace policyforest {

RootColumns::RootColumns(const TrainingSet& data, const std::vector<Period>& periods)
    : n_samples(data.n_samples),
      n_inputs(data.n_inputs),
      score_column(data.score ? data.n_inputs + 1 : data.n_inputs),
      weight_column(data.weight ? score_column + 1 : 0),
      n_columns((data.weight ? weight_column : score_column) + 1),
      sorted_input(first_not_periodic(periods)) {
  const double* keys = sorted_input < n_inputs ? data.x + sorted_input * n_samples : nullptr;
  const bool in_order = !keys || std::is_sorted(keys, keys + n_samples);
  if (in_order && !data.score && !data.weight && data.y == data.x + n_inputs * n_samples) {
    columns_ = data.x;
    return;
  }
  copy_.reset(new double[n_columns * n_samples]);  // not initialised: all of it is written below
  columns_ = copy_.get();
  std::vector<std::pair<double, std::size_t>> order;
  if (!in_order) {
    order.resize(n_samples);
    for (std::size_t i = 0; i < n_samples; ++i) order[i] = {keys[i], i};
    std::sort(order.begin(), order.end());
  }
  double* to = copy_.get();
  const auto copy = [&](const double* from) {
    if (in_order)
      to = std::copy_n(from, n_samples, to);
    else
      for (const auto& [key, i] : order) *to++ = from[i];
  };
  for (std::size_t d = 0; d < n_inputs; ++d) copy(data.x + d * n_samples);
  copy(data.y);
  if (data.score) copy(data.score);
  if (data.weight) copy(data.weight);
}

std::size_t RootColumns::first_not_periodic(const std::vector<Period>& periods) {
  std::size_t d = 0;
  while (d < periods.size() && periods[d].hi > periods[d].lo) ++d;
  return d;
}

void SampleColumns::load(const std::vector<Period>& periods, const std::vector<double>& cuts) {
  for (auto& buffer : moved_)
    if (!buffer) buffer.reset(new double[root_.n_columns * root_.n_samples]);
  root_side_ = 0;
  for (std::size_t d = 0; d < periods.size(); ++d) {
    const double length = periods[d].hi - periods[d].lo;
    if (length <= 0.0) continue;
    if (root_side_ == 0) std::copy_n(root_.columns(), root_.n_columns * root_.n_samples, moved_[0].get());
    root_side_ = 1;
    double* column = moved_[0].get() + d * root_.n_samples;
    for (double* v = column; v != column + root_.n_samples; ++v)
      if (*v < cuts[d]) *v += length;
  }
}

// The n rows with the smallest values of the sorted input, without moving them.
Rows SampleColumns::first_rows(const Rows& rows, std::size_t n) {
  if (rows.descending) return {rows.end - n, rows.end, rows.side, true};
  return {rows.begin, rows.begin + n, rows.side, false};
}

Rows SampleColumns::rows_below(const Rows& rows, double split) const {
  const double *begin = input(rows, root_.sorted_input), *end = begin + rows.size();
  const auto n = rows.descending ? end - std::partition_point(begin, end, [split](double v) { return v > split; })
                                 : std::partition_point(begin, end, [split](double v) { return v <= split; }) - begin;
  return first_rows(rows, static_cast<std::size_t>(n));
}

void SampleColumns::partition(const Rows& rows, std::size_t d, double split, std::size_t n_lower, Rows& lower,
                              Rows& upper) {
  if (d == root_.sorted_input) {
    lower = first_rows(rows, n_lower);
    upper = rows;
    (rows.descending ? upper.end : upper.begin) = rows.descending ? lower.begin : lower.end;
    return;
  }
  const int other = rows.side == 1 ? 2 : 1;
  double* to = moved_[other - 1].get() + rows.begin;
  kernels_.partition(column(rows, 0), to, rows.size(), root_.n_columns, root_.n_samples, d, split);
  lower = {rows.begin, rows.begin + n_lower, other, rows.descending};
  upper = {rows.begin + n_lower, rows.end, other, !rows.descending};
}

}  // namespace policyforest
