// A block of rows that walks trees together, as a set of bits: rows that are near each other go to the same child at
// most nodes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policyforest/support/kernels.hpp"

namespace policyforest {

inline constexpr std::size_t kMaxStates = 64;  // in a block, so that a set of them is one word

// Calls visit(i) for the bits of a set.
template <class Visit>
inline void for_each_bit(std::uint64_t bits, const Visit& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

class RowBlock {
 public:
  explicit RowBlock(std::size_t n_inputs) : columns_(n_inputs * kMaxStates), low_(n_inputs), high_(n_inputs) {}

  // Takes rows order[0], …, order[n - 1], 1 <= n <= kMaxStates.
  void load(const double* rows, const std::uint32_t* order, std::size_t n) {
    const std::size_t width = low_.size();
    all_ = ~std::uint64_t{0} >> (kMaxStates - n);
    n_ = n;
    for (std::size_t d = 0; d < width; ++d) {
      double* to = column(d);
      for (std::size_t s = 0; s < n; ++s) to[s] = rows[order[s] * width + d];
      const Summary range = kernels_.summary(to, n);
      low_[d] = range.min;
      high_[d] = range.max;
    }
  }

  std::size_t size() const { return n_; }
  std::uint64_t all() const { return all_; }
  double* column(std::size_t d) { return columns_.data() + d * kMaxStates; }

  // The rows whose input d is at or below a split.
  std::uint64_t at_or_below(std::size_t d, double split) const {
    if (high_[d] <= split) return all_;
    if (low_[d] > split) return 0;
    return kernels_.lower_bits(columns_.data() + d * kMaxStates, split, n_);
  }

 private:
  const Kernels& kernels_ = kernels();
  std::uint64_t all_ = 0;
  std::size_t n_ = 0;
  std::vector<double> columns_, low_, high_;  // kMaxStates numbers per input, and their range
};

}  // namespace policyforest
