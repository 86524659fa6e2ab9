// One interval per input: for the current node and, on a stack, for each waiting node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "policyforest/grow/least_squares.hpp"

namespace policyforest {

class IntervalStack {
 public:
  void restart(const std::vector<Interval>& whole) {
    now_ = whole;
    waiting_.clear();
  }
  // Keeps a copy of the intervals; pop brings the newest back.
  void push() { waiting_.insert(waiting_.end(), now_.begin(), now_.end()); }
  void pop() {
    const auto from = waiting_.end() - static_cast<std::ptrdiff_t>(now_.size());
    std::copy(from, waiting_.end(), now_.begin());
    waiting_.erase(from, waiting_.end());
  }
  Interval& operator[](std::size_t d) { return now_[d]; }
  std::span<const Interval> now() const { return now_; }

 private:
  std::vector<Interval> now_, waiting_;
};

}  // namespace policyforest
