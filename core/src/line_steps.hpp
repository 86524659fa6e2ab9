// Sums of step functions over the cells of the action axis, for each state of a block, and where they are largest.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace policyforest {

inline constexpr std::size_t kMaxStates = 64;  // of a block: a set of them is one word

// Where the maximum lies: cells [first, last].
struct CellRun {
  std::size_t first, last;
};

// Calls visit(i) for the bits of a set.
template <class Visit>
inline void for_each_bit(std::uint64_t bits, const Visit& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

// A place for each step of each state where cells are few, else a list of steps that is sorted in the end.
template <class Value>
class StepSums {
 public:
  StepSums(std::size_t n_cells, std::size_t n_states) : n_cells_(n_cells), dense_(n_cells <= kMaxDenseCells) {
    if (dense_)
      places_.resize(n_states * n_cells);
    else
      lists_.resize(n_states);
  }

  // Goes on to the next tree: nothing lies before the first cell.
  void begin_tree() { std::fill_n(before_, kMaxStates, Value{}); }

  // The tree's value from cell `first` on, until the next call for this state.
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
  static constexpr std::size_t kMaxDenseCells = 1 << 12;  // 2 MB of 8-byte places

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
  Line& operator+=(const Line& o) { intercept += o.intercept, slope += o.slope; return *this; }
  Line operator-(const Line& o) const { return {intercept - o.intercept, slope - o.slope}; }
  double at(double a) const { return intercept + slope * a; }
};

// The ends of the cells.
struct CellEnds {
  const std::vector<double>& thresholds;
  double lo, hi;
  double lower(std::size_t cell) const { return cell == 0 ? lo : thresholds[cell - 1]; }
  double upper(std::size_t cell) const { return cell == thresholds.size() ? hi : thresholds[cell]; }
  // Cells are open below, but for the first.
  double attained_lower(std::size_t cell) const {
    return cell == 0 ? lo : std::nextafter(thresholds[cell - 1], hi);
  }
  std::size_t cell_of(double action) const {
    const auto at = std::lower_bound(thresholds.begin(), thresholds.end(), action);
    return static_cast<std::size_t>(at - thresholds.begin());
  }
};

// Sums of constant leaves, as integers: exact in any order, so equal sums are equal.
struct ConstantSteps {
  StepSums<std::int64_t> sums;

  CellRun maximum(std::size_t state, const CellEnds& ends, double& action) {
    CellRun run{0, 0};
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    sums.take(state, [&](std::size_t first, std::size_t last, std::int64_t sum) {
      if (sum > best) {
        best = sum;
        run = {first, last};
      } else if (sum == best && run.last + 1 == first) {
        run.last = last;
      }
    });
    const double lo = ends.lower(run.first), hi = ends.upper(run.last);
    action = std::isfinite(hi - lo) ? lo + (hi - lo) / 2 : lo / 2 + hi / 2;
    if (run.first > 0 && !(action > lo)) action = hi;
    return run;
  }
};

struct LinearSteps {
  StepSums<Line> sums;

  CellRun maximum(std::size_t state, const CellEnds& ends, double& action) {
    CellRun run{0, 0};
    double best = -std::numeric_limits<double>::infinity();
    sums.take(state, [&](std::size_t first, std::size_t last, const Line& sum) {
      const double from = ends.attained_lower(first), to = ends.upper(last);
      const double low = sum.at(from), high = sum.at(to);
      if (std::max(low, high) <= best) return;
      best = std::max(low, high);
      action = high > low ? to : from;
      run = {first, last};
    });
    return run;
  }
};

}  // namespace policyforest
