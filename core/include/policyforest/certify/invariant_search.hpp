// The search for a set of cells that a closed loop never leaves.
//
// The cells are the leaves of a tree that cuts a root box; each is open below and closed above, (lo, hi]. A round
//   1. bounds the successors of new cells,
//   2. rules out cells that all states leave under some fixed disturbance,
//   3. removes cells from the others until the successors of the remaining cells lie in remaining or proved cells (the
//      greatest fixed point): the remaining cells are proved, and later rounds cannot change that,
//   4. with a target, adds cells whose successors lie in proved cells, each one move further from the target,
//   5. splits cells that are neither proved nor ruled out.
// Without a target all proved cells have rank 0. With a target, the cells of rank 0 lie in the target and are never
// left, and one move takes a cell of rank r into cells of a lower rank.
//
// The results of a round are computed in the order of the cells, so they do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "policyforest/certify/closed_loop.hpp"

namespace policyforest {

struct SearchSettings {
  Box root;  // the box that is cut into cells
  std::optional<Box> target;
  std::vector<double> smallest;  // sides of the smallest cells
  std::size_t max_cells = 1'000'000;
  std::int32_t horizon = std::numeric_limits<std::int32_t>::max() - 1;  // the highest rank
};

class InvariantSearch {
 public:
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();  // not proved
  enum class Status : std::uint8_t { kOpen, kProved, kOut };

  // The loop must outlive the search.
  InvariantSearch(const ClosedLoop& loop, SearchSettings settings);

  // Runs a round; returns whether another round may prove more. Throws on `cancel`; what was proved before remains.
  bool round(std::size_t n_threads, const std::atomic<bool>* cancel);

  std::size_t n_states() const { return n_; }
  std::size_t n_cells() const { return boxes_.size() / (2 * n_); }
  // The number of cells whose successors are bounded: all of them, except after a round that was stopped.
  std::size_t n_known() const { return n_bounded_; }
  const double* low(std::size_t cell) const { return boxes_.data() + cell * 2 * n_; }
  const double* high(std::size_t cell) const { return low(cell) + n_; }
  const double* successor(std::size_t cell) const { return successors_.data() + cell * loop_.successor_size(); }
  Status status(std::size_t cell) const { return status_[cell]; }
  std::int32_t rank(std::size_t cell) const { return rank_[cell]; }
  bool exhausted() const { return exhausted_; }  // max_cells was reached

 private:
  struct Branch {
    double split;
    std::int32_t child;  // the lower child, which the upper one follows; in a leaf: -1 - its cell
    std::int32_t dim;
    std::int32_t highest;  // the highest rank below it; kNever if a cell below it is not proved
    bool open;             // some cell below it is not ruled out
  };

  void cut_at(std::size_t dim, double at);
  void split(std::int32_t branch, std::size_t dim, double at);
  void bound_new(std::size_t n_threads, const std::atomic<bool>* cancel);
  bool in_target(std::size_t cell) const;
  void update(const std::vector<std::int32_t>& rank);
  bool is_angle(std::size_t d) const;
  bool meets(const double* lo, const double* hi) const;
  std::int32_t highest_in(const double* lo, const double* hi, std::int32_t limit) const;
  template <class Visit>
  bool pieces(const double* lo, const double* hi, std::size_t d, std::vector<double>& sides, const Visit& visit) const;
  std::int32_t highest_after(std::size_t cell, std::int32_t limit) const;
  bool may_stay(std::size_t cell) const;
  std::vector<std::size_t> open_cells() const;
  void rule_out(std::size_t n_threads, const std::atomic<bool>* cancel);
  void prove(std::size_t n_threads, const std::atomic<bool>* cancel);
  void prove_reaching(std::size_t n_threads, const std::atomic<bool>* cancel);
  void reach(std::size_t n_threads, const std::atomic<bool>* cancel);
  bool refine();
  double split_at(std::size_t cell, std::size_t dim) const;
  std::size_t widest(std::size_t cell) const;

  const ClosedLoop& loop_;
  SearchSettings settings_;
  std::size_t n_;
  std::vector<Branch> tree_;
  std::vector<std::int32_t> branch_of_;  // of each cell
  std::vector<double> boxes_, successors_;
  std::vector<Status> status_;
  std::vector<std::int32_t> rank_;
  std::vector<std::uint8_t> fresh_;              // whether the cell's successor is yet to be bounded
  std::vector<std::vector<double>> thresholds_;  // of the policy and the model, sorted, one list per dimension
  std::size_t n_bounded_ = 0;
  bool exhausted_ = false;
};

}  // namespace policyforest
