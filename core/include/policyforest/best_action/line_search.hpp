// The exact maximum over one action dimension, for many states.
//
// Along the action, a tree projected on a state is a step function whose steps lie at thresholds of the forest. A
// block of states walks each tree together, as a set of bits: the set is divided at nodes that compare a state input,
// and is kept whole at nodes that compare the action. The leaves of a state come in the order of their intervals, so
// each leaf adds its difference from the leaf before at the start of its interval; a running sum over the intervals
// gives F(s, .) everywhere. Growing with a ThresholdGrid keeps the number of intervals small. If there are many
// states, groups of near ones leave out the intervals that are best for none of them (cell_bounds.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policyforest/forest/forest.hpp"

namespace policyforest {

struct LineMaxima {  // one entry per state
  double *value, *action, *lo, *hi;
};

class LineSearch {
 public:
  // `action` is the input to maximise over; its side of the forest's box must be finite. The forest must outlive
  // the object.
  LineSearch(const Forest& forest, std::size_t action);

  // `rows` holds n rows of n_inputs finite numbers; their action entry is not read. Constant leaves: the lowest
  // maximal interval on which F takes its maximum, and its middle; values are compared exactly, as 62-bit
  // fixed-point sums. Linear leaves: the lowest interval that has the maximum at one of its ends, and that end. The
  // value is the prediction at the action, bit for bit.
  void operator()(const double* rows, std::size_t n, const LineMaxima& out, std::size_t n_threads,
                  const std::atomic<bool>* cancel = nullptr) const;

 private:
  void collect_thresholds();
  void compile_nodes();
  void fix_values(double scale);
  template <class Steps>
  void search(const double* rows, const std::vector<std::uint32_t>& order, const LineMaxima& out, std::size_t n_threads,
              const std::atomic<bool>* cancel) const;
  template <class Steps>
  class Worker;

  const Forest& forest_;
  std::size_t action_;
  double lo_, hi_;
  std::vector<double> thresholds_;  // of the action within [lo, hi), sorted, without duplicates
  // The forest's nodes. In a node that compares the action, feature is kActionNode and split is the number of the
  // threshold (-1: below lo), so that cell <= split goes to the lower child.
  std::vector<Node> nodes_;
  std::vector<std::int64_t> values_;  // of constant leaves, in fixed point
};

}  // namespace policyforest
