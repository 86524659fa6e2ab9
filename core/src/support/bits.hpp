// The lowest and the highest bit of a set that is not empty. The library's functions would ask whether it is.
#pragma once

#include <bit>
#include <cstdint>

namespace policyforest {

#if defined(__GNUC__)
// Inlined everywhere: the kernels must not share a copy with code for another instruction set.
[[gnu::always_inline]] inline int lowest_bit(std::uint64_t bits) { return __builtin_ctzll(bits); }
[[gnu::always_inline]] inline int highest_bit(std::uint64_t bits) { return 63 ^ __builtin_clzll(bits); }
#else
inline int lowest_bit(std::uint64_t bits) { return std::countr_zero(bits); }
inline int highest_bit(std::uint64_t bits) { return 63 - std::countl_zero(bits); }
#endif

}  // namespace policyforest
