// The samples of a tree under construction: columns that are partitioned by moving them between two buffers.
#pragma once

#include <cstddef>
#include <vector>

#include "policyforest/grow.hpp"
#include "policyforest/kernels.hpp"

namespace policyforest {

// A node's samples are the rows [begin, end) of buffer `side`. Splitting moves them to another buffer, lower child
// first, so all passes over a node's samples are sequential. The first buffer keeps all samples for the next tree.
//
// There they are sorted by one input, and stay so: a split leaves the lower rows in their order and turns the order
// of the upper ones round. Order statistics of this input are at hand, and a split by it moves nothing.
struct Rows {
  std::size_t begin, end;
  int side;
  bool descending;  // by the sorted input
  std::size_t size() const { return end - begin; }
};

class SampleColumns {
 public:
  explicit SampleColumns(const Kernels& kernels) : kernels_(kernels) {}

  // Before each tree, always with the same data and periods. `cuts[d]`: where this tree cuts the circle of a
  // periodic input (see Period); not read elsewhere.
  void load(const TrainingSet& data, const std::vector<Period>& periods, const std::vector<double>& cuts);

  Rows all() const { return {0, n_samples_, root_side_, false}; }
  const double* input(const Rows& rows, std::size_t d) const { return column(rows, d); }
  const double* y(const Rows& rows) const { return column(rows, n_inputs_); }
  const double* score(const Rows& rows) const { return column(rows, score_column_); }
  const double* weight(const Rows& rows) const {
    return weight_column_ == 0 ? nullptr : column(rows, weight_column_);
  }
  const Kernels& kernels() const { return kernels_; }
  bool scored_apart() const { return score_column_ != n_inputs_; }

  // The input that rows are sorted by: the first that is not periodic, or none (n_inputs).
  std::size_t sorted_input() const { return sorted_input_; }
  // Of the sorted input: the rank-th smallest value, from 1 on, and the rows with values up to `split`.
  double smallest(const Rows& rows, std::size_t rank) const {
    return input(rows, sorted_input_)[rows.descending ? rows.size() - rank : rank - 1];
  }
  Rows rows_below(const Rows& rows, double split) const;

  // Splits rows at x[d] <= split, where n_lower of them lie.
  void partition(const Rows& rows, std::size_t d, double split, std::size_t n_lower, Rows& lower, Rows& upper);

 private:
  void fill(const TrainingSet& data, const std::vector<Period>& periods);
  static Rows first_rows(const Rows& rows, std::size_t n);
  const double* column(const Rows& rows, std::size_t c) const {
    return buffers_[rows.side].data() + c * n_samples_ + rows.begin;
  }
  const Kernels& kernels_;
  std::size_t n_samples_ = 0, n_inputs_ = 0, n_columns_ = 0, score_column_ = 0, weight_column_ = 0,
              sorted_input_ = 0;
  int root_side_ = 0;
  std::vector<double> buffers_[3];
};

}  // namespace policyforest
