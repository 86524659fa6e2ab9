// The lowest and the highest bit of a nonempty set. The standard library's functions would check whether it is empty.
#pragma once

#include <bit>
#include <cstdint>

namespace policyforest {

#if defined(__GNUC__)
// Always inlined: the kernels must not share a copy with code for another instruction set.
[[gnu::always_inline]] inline int lowest_bit(std::uint64_t bits) { return __builtin_ctzll(bits); }
[[gnu::always_inline]] inline int highest_bit(std::uint64_t bits) { return 63 ^ __builtin_clzll(bits); }
#else
inline int lowest_bit(std::uint64_t bits) { return std::countr_zero(bits); }
inline int highest_bit(std::uint64_t bits) { return 63 - std::countl_zero(bits); }
#endif

}  // namespace policyforest
