// Sums of step functions over the cells of the action axis, for each state of a block, and the cells of their maxima.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "best_action/row_block.hpp"
#include "policyforest/support/kernels.hpp"

namespace policyforest {

inline constexpr std::size_t kMaxDenseCells = 1 << 12;  // with an entry for each state: 2 MB of 8-byte numbers

// Where the maximum lies: cells [first, last].
struct CellRun {
  std::size_t first, last;
};

// Steps of each state: an array with an entry per cell if there are few cells, else a list that is sorted at the end.
template <class Value>
class StepSums {
 public:
  StepSums(std::size_t n_cells, std::size_t n_states) : n_cells_(n_cells), dense_(n_cells <= kMaxDenseCells) {
    if (dense_)
      places_.resize(n_states * n_cells);
    else
      lists_.resize(n_states);
  }

  // Starts the next tree, whose value before the first cell is 0.
  void begin_tree() { std::fill_n(before_, kMaxStates, Value{}); }

  // Sets the tree's value from cell `first` on, until the next call for this state.
  void add(std::size_t state, std::size_t first, const Value& value) {
    const Value step = value - before_[state];
    before_[state] = value;
    if (dense_)
      places_[state * n_cells_ + first] += step;
    else
      lists_[state].push_back({first, step});
  }

  // Calls visit(first, last, sum) for runs of cells with one sum, in order, and forgets the state's steps.
  template <class Visit>
  void take(std::size_t state, const Visit& visit) {
    if (dense_)
      take_places(places_.data() + state * n_cells_, visit);
    else
      take_list(lists_[state], visit);
  }

 private:
  struct Step {
    std::size_t cell;
    Value value;
  };

  template <class Visit>
  void take_places(Value* places, const Visit& visit) {
    Value sum{};
    for (std::size_t c = 0; c < n_cells_; ++c) {
      visit(c, c, sum += places[c]);
      places[c] = Value{};
    }
  }

  template <class Visit>
  void take_list(std::vector<Step>& list, const Visit& visit) {
    std::stable_sort(list.begin(), list.end(), [](const Step& a, const Step& b) { return a.cell < b.cell; });
    Value sum{};
    for (std::size_t i = 0; i < list.size();) {
      const std::size_t first = list[i].cell;
      for (; i < list.size() && list[i].cell == first; ++i) sum += list[i].value;
      visit(first, (i < list.size() ? list[i].cell : n_cells_) - 1, sum);
    }
    list.clear();
  }

  std::size_t n_cells_;
  bool dense_;
  std::vector<Value> places_;
  std::vector<std::vector<Step>> lists_;
  Value before_[kMaxStates];
};

struct Line {
  double intercept = 0, slope = 0;
  Line& operator+=(const Line& o) {
    intercept += o.intercept, slope += o.slope;
    return *this;
  }
  Line operator-(const Line& o) const { return {intercept - o.intercept, slope - o.slope}; }
  double at(double a) const { return intercept + slope * a; }
};

// The ends of the cells.
struct CellEnds {
  const std::vector<double>& thresholds;
  double lo, hi;
  double lower(std::size_t cell) const { return cell == 0 ? lo : thresholds[cell - 1]; }
  double upper(std::size_t cell) const { return cell == thresholds.size() ? hi : thresholds[cell]; }
  // Cells are open below, except for the first.
  double attained_lower(std::size_t cell) const { return cell == 0 ? lo : std::nextafter(thresholds[cell - 1], hi); }
  std::size_t cell_of(double action) const {
    const auto at = std::lower_bound(thresholds.begin(), thresholds.end(), action);
    return static_cast<std::size_t>(at - thresholds.begin());
  }
};

// Steps of many states as integers, one row per cell: a leaf is added to a whole set of states at once.
class StepRows {
 public:
  StepRows(std::size_t n_cells, std::size_t n_states)
      : width_((n_states + 3) / 4 * 4), steps_(n_cells * width_), touched_(n_cells) {}

  void begin_tree() { std::fill_n(before_, kMaxStates, 0); }

  // Sets the tree's value for a set of states from cell `first` on, until the next call for a state of the set.
  void add(std::uint64_t states, std::size_t first, std::int64_t value) {
    touched_[first] = 1;
    kernels_.add_steps(steps_.data() + first * width_, before_, states, value);
  }

  // Finds where the sums are largest in the cells that were searched, and forgets all steps.
  void find_runs(const CellRun& searched) {
    cells_.clear();
    for (std::size_t c = searched.first; c <= searched.last; ++c)
      if (touched_[c]) cells_.push_back(static_cast<std::int64_t>(c));
    cells_.push_back(static_cast<std::int64_t>(searched.last) + 1);
    kernels_.largest_runs(steps_.data(), width_, cells_.data(), cells_.size() - 1, first_, end_);
    std::fill_n(touched_.begin() + static_cast<std::ptrdiff_t>(searched.first), searched.last - searched.first + 1,
                std::uint8_t{0});
  }

  CellRun run(std::size_t state) const {
    return {static_cast<std::size_t>(first_[state]), static_cast<std::size_t>(end_[state]) - 1};
  }

 private:
  const Kernels& kernels_ = kernels();
  std::size_t width_;
  std::vector<std::int64_t> steps_, cells_;
  std::vector<std::uint8_t> touched_;
  std::int64_t before_[kMaxStates], first_[kMaxStates], end_[kMaxStates];
};

// Sums of constant leaves, as integers: exact in any order, so equal sums are equal.
class ConstantSteps {
 public:
  ConstantSteps(std::size_t n_cells, std::size_t n_states)
      : dense_(n_cells <= kMaxDenseCells),
        rows_(dense_ ? n_cells : 0, n_states),
        lists_(dense_ ? 0 : n_cells, n_states) {}

  // Whether leaving out cells saves more time than the bounds take.
  static bool bounded(std::size_t n_cells) { return n_cells <= kMaxDenseCells; }

  void begin_tree() { dense_ ? rows_.begin_tree() : lists_.begin_tree(); }

  void add(std::uint64_t states, std::size_t first, std::int64_t value) {
    if (dense_)
      rows_.add(states, first, value);
    else
      for_each_bit(states, [&](std::size_t s) { lists_.add(s, first, value); });
  }

  void end_trees(const CellRun& searched) {
    if (dense_) rows_.find_runs(searched);
  }

  CellRun maximum(std::size_t state, const CellEnds& ends, double& action) {
    const CellRun run = dense_ ? rows_.run(state) : listed_run(state);
    const double lo = ends.lower(run.first), hi = ends.upper(run.last);
    action = std::isfinite(hi - lo) ? lo + (hi - lo) / 2 : lo / 2 + hi / 2;
    if (run.first > 0 && !(action > lo)) action = hi;
    return run;
  }

 private:
  CellRun listed_run(std::size_t state) {
    CellRun run{0, 0};
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    lists_.take(state, [&](std::size_t first, std::size_t last, std::int64_t sum) {
      if (sum > best) {
        best = sum;
        run = {first, last};
      } else if (sum == best && run.last + 1 == first) {
        run.last = last;
      }
    });
    return run;
  }

  bool dense_;
  StepRows rows_;
  StepSums<std::int64_t> lists_;
};

class LinearSteps {
 public:
  LinearSteps(std::size_t n_cells, std::size_t n_states) : sums_(n_cells, n_states) {}

  static bool bounded(std::size_t) { return false; }

  void begin_tree() { sums_.begin_tree(); }
  void add(std::size_t state, std::size_t first, const Line& value) { sums_.add(state, first, value); }
  void end_trees(const CellRun&) {}

  CellRun maximum(std::size_t state, const CellEnds& ends, double& action) {
    CellRun run{0, 0};
    double best = -std::numeric_limits<double>::infinity();
    sums_.take(state, [&](std::size_t first, std::size_t last, const Line& sum) {
      const double from = ends.attained_lower(first), to = ends.upper(last);
      const double low = sum.at(from), high = sum.at(to);
      if (std::max(low, high) <= best) return;
      best = std::max(low, high);
      action = high > low ? to : from;
      run = {first, last};
    });
    return run;
  }

 private:
  StepSums<Line> sums_;
};

}  // namespace policyforest
