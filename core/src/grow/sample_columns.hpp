// The samples of a tree under construction, in columns that are partitioned by moving rows between two buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "policyforest/grow/grow.hpp"
#include "policyforest/support/kernels.hpp"

namespace policyforest {

// All samples as columns: the inputs, y, and score and weight if they are given. They are sorted by one input, the
// first that is not periodic. No tree changes them, so all threads share them. If the samples come in this order and y
// follows x in memory, they are not copied.
class RootColumns {
 public:
  RootColumns(const TrainingSet& data, const std::vector<Period>& periods);
  const double* columns() const { return columns_; }

  const std::size_t n_samples, n_inputs, score_column, weight_column, n_columns;
  const std::size_t sorted_input;  // n_inputs: none

 private:
  static std::size_t first_not_periodic(const std::vector<Period>& periods);
  std::unique_ptr<double[]> copy_;
  const double* columns_;
};

// A node's samples are the rows [begin, end) of side 0 (the root's columns) or of one of two buffers. Splitting moves
// them to another buffer, lower child first, so all passes over a node's samples are sequential.
//
// The rows of the root are sorted by one input, and those of all nodes stay sorted: a split keeps the order of the
// lower rows and reverses that of the upper ones. So order statistics of this input are free, and a split by it moves
// nothing.
struct Rows {
  std::size_t begin, end;
  int side;
  bool descending;  // by the sorted input
  std::size_t size() const { return end - begin; }
};

class SampleColumns {
 public:
  SampleColumns(const RootColumns& root, const Kernels& kernels) : root_(root), kernels_(kernels) {}

  // Call this before each tree, always with the same periods. `cuts[d]` is where this tree cuts the circle of a
  // periodic input (see Period); it is not read for other inputs.
  void load(const std::vector<Period>& periods, const std::vector<double>& cuts);

  Rows all() const { return {0, root_.n_samples, root_side_, false}; }
  const double* input(const Rows& rows, std::size_t d) const { return column(rows, d); }
  const double* y(const Rows& rows) const { return column(rows, root_.n_inputs); }
  const double* score(const Rows& rows) const { return column(rows, root_.score_column); }
  const double* weight(const Rows& rows) const {
    return root_.weight_column == 0 ? nullptr : column(rows, root_.weight_column);
  }
  const Kernels& kernels() const { return kernels_; }
  bool scored_apart() const { return root_.score_column != root_.n_inputs; }

  // The input that rows are sorted by, or n_inputs.
  std::size_t sorted_input() const { return root_.sorted_input; }
  // For the sorted input: the rank-th smallest value (the first is 1), and the rows with values up to `split`.
  double smallest(const Rows& rows, std::size_t rank) const {
    return input(rows, root_.sorted_input)[rows.descending ? rows.size() - rank : rank - 1];
  }
  Rows rows_below(const Rows& rows, double split) const;

  // Splits rows by x[d] <= split, which holds for n_lower of them.
  void partition(const Rows& rows, std::size_t d, double split, std::size_t n_lower, Rows& lower, Rows& upper);

 private:
  static Rows first_rows(const Rows& rows, std::size_t n);
  const double* column(const Rows& rows, std::size_t c) const {
    const double* side = rows.side == 0 ? root_.columns() : moved_[rows.side - 1].get();
    return side + c * root_.n_samples + rows.begin;
  }
  const RootColumns& root_;
  const Kernels& kernels_;
  int root_side_ = 0;
  std::unique_ptr<double[]> moved_[2];
};

}  // namespace policyforest
