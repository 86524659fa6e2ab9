// A counter-based stream of random numbers: number i of stream (seed, stream) is a hash of the three, so a
// tree's numbers depend neither on threads nor on the other trees. SplitMix64's mixing (Steele et al. 2014).
#pragma once

#include <cstdint>

namespace policyforest {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed) + stream * kStep)) {}

  std::uint64_t next() { return mix(state_ += kStep); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }     // in [0, 1)
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }  // in [0, n), n < 2^32

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace policyforest
