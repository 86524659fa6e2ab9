// The kernels, written on vectors (lanes.inl) and compiled for each instruction set: kernels_*.cpp include this file
// with PF_KERNELS_NAME and PF_KERNELS_VARIABLE defined. Nothing here may instantiate a template of the standard library
// that the compiler could emit out of line: the linker keeps one copy of such a function for the whole program, and it
// could be the one with the newer instructions.
#include <cstring>
#include <limits>

#if defined(__GNUC__) && !defined(PF_PLAIN_LANES)  // Clang defines it too
#define PF_VECTOR_NOTATION
#if defined(__AVX2__)
#define PF_AVX2
#include <immintrin.h>
#endif
#endif

#include "policyforest/support/kernels.hpp"
#include "support/bits.hpp"

namespace policyforest {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

#include "support/lanes.inl"

inline Lanes load(const double* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(double* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
inline Lanes where(Mask mask, Lanes v) {
  Mask bits;
  std::memcpy(&bits, &v, sizeof bits);
  bits &= mask;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
inline unsigned bits_of(Mask m) {
#if defined(PF_AVX2)
  __m256d v;
  std::memcpy(&v, &m, sizeof v);
  return static_cast<unsigned>(_mm256_movemask_pd(v));
#else
  return static_cast<unsigned>((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}
inline Lanes smaller(Lanes a, Lanes b) { return choose(a < b, a, b); }
inline Lanes larger(Lanes a, Lanes b) { return choose(a > b, a, b); }
inline Lanes broadcast(double v) { return Lanes{v, v, v, v}; }
inline Mask broadcast_integer(std::int64_t v) { return Mask{v, v, v, v}; }

// Eight numbers as two vectors.
struct Eight {
  Lanes a{}, b{};
};
inline Eight load_eight(const double* p) { return {load(p), load(p + 4)}; }

// The last n < 8 numbers of a column, padded with `fill`, so that they use the same lanes as all other numbers.
inline Eight load_tail(const double* p, std::size_t n, double fill) {
#if defined(PF_AVX2)
  alignas(32) static constexpr long long kChosen[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  const auto part = [&](std::size_t at) {
    const __m256i chosen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kChosen + 8 - n + at));
    return Lanes(
        _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p + at, chosen), _mm256_castsi256_pd(chosen)));
  };
  return {part(0), part(4)};
#else
  double block[8];
  for (std::size_t j = 0; j < 8; ++j) block[j] = j < n ? p[j] : fill;
  return load_eight(block);
#endif
}

// Eight sums; `join` adds them in the order that every version uses.
struct Sum {
  Lanes a{}, b{};
  void operator+=(const Eight& v) {
    a += v.a;
    b += v.b;
  }
  double join() const {
    const Lanes s = a + b;
    return (s[0] + s[2]) + (s[1] + s[3]);
  }
};

Summary summary(const double* v, std::size_t n) {
  Sum sum;
  Lanes low = broadcast(v[0]), high = low;
  const auto compare = [&](const Eight& p) {
    low = smaller(smaller(p.a, p.b), low);
    high = larger(larger(p.a, p.b), high);
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Eight p = load_eight(v + i);
    compare(p);
    sum += p;
  }
  if (i < n) {
    compare(load_tail(v + i, n - i, v[0]));
    sum += load_tail(v + i, n - i, 0.0);
  }
  Summary result{sum.join(), low[0], high[0]};
  for (int j = 1; j < 4; ++j) {
    if (low[j] < result.min) result.min = low[j];
    if (high[j] > result.max) result.max = high[j];
  }
  return result;
}

double squared_deviation(const double* v, std::size_t n, double mean) {
  Sum sum;
  const Lanes m = broadcast(mean);
  const auto add = [&](const Eight& p) {
    const Lanes d0 = p.a - m, d1 = p.b - m;
    sum += Eight{d0 * d0, d1 * d1};
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) add(load_eight(v + i));
  if (i < n) add(load_tail(v + i, n - i, mean));
  return sum.join();
}

double dot(const double* v, const double* w, std::size_t n) {
  Sum sum;
  const auto add = [&](const Eight& p, const Eight& q) { sum += Eight{p.a * q.a, p.b * q.b}; };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) add(load_eight(v + i), load_eight(w + i));
  if (i < n) add(load_tail(v + i, n - i, 0.0), load_tail(w + i, n - i, 0.0));
  return sum.join();
}

std::size_t count_of(Mask negative_counts) {
  return static_cast<std::size_t>(-(negative_counts[0] + negative_counts[1] + negative_counts[2] + negative_counts[3]));
}

LowerSums lower_sums(const double* x, double split, const double* z, std::size_t n) {
  Sum sum;
  Mask counts{};
  const Lanes v = broadcast(split);
  const auto add = [&](const Eight& px, const Eight& pz) {
    const Mask m0 = px.a <= v, m1 = px.b <= v;
    sum += Eight{where(m0, pz.a), where(m1, pz.b)};
    counts += m0 + m1;
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) add(load_eight(x + i), load_eight(z + i));
  if (i < n) add(load_tail(x + i, n - i, kInfinity), load_tail(z + i, n - i, 0.0));
  const std::size_t count = count_of(counts);
  return {static_cast<double>(count), sum.join(), count};
}

LowerSums lower_sums_weighted(const double* x, double split, const double* z, const double* weight, std::size_t n) {
  Sum sum, weights;
  Mask counts{};
  const Lanes v = broadcast(split);
  const auto add = [&](const Eight& px, const Eight& pz, const Eight& pw) {
    const Mask m0 = px.a <= v, m1 = px.b <= v;
    const Lanes w0 = where(m0, pw.a), w1 = where(m1, pw.b);
    weights += Eight{w0, w1};
    sum += Eight{w0 * pz.a, w1 * pz.b};
    counts += m0 + m1;
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) add(load_eight(x + i), load_eight(z + i), load_eight(weight + i));
  if (i < n) add(load_tail(x + i, n - i, kInfinity), load_tail(z + i, n - i, 0.0), load_tail(weight + i, n - i, 0.0));
  return {weights.join(), sum.join(), count_of(counts)};
}

// For a few dozen numbers: counts how many are smaller than each of them, four at a time and without a branch. The
// rank-th smallest is the largest number with fewer than `rank` smaller ones.
void order_statistics_of_few(const double* v, std::size_t n, std::size_t rank, double& low, double& high) {
  const Mask low_limit = broadcast_integer(static_cast<std::int64_t>(rank));
  const Mask high_limit = broadcast_integer(static_cast<std::int64_t>(n - rank + 1));
  Lanes lows = broadcast(-kInfinity), highs = lows;
  for (std::size_t j = 0; j < n; j += 4) {
    double block[4] = {-kInfinity, -kInfinity, -kInfinity, -kInfinity};  // never the largest of anything
    if (j + 4 > n)
      for (std::size_t l = 0; j + l < n; ++l) block[l] = v[j + l];
    const Lanes p = load(j + 4 > n ? block : v + j);
    Mask negative_counts{};
    for (std::size_t i = 0; i < n; ++i) negative_counts += broadcast(v[i]) < p;
    const Lanes none = broadcast(-kInfinity);
    lows = larger(choose(-negative_counts < low_limit, p, none), lows);
    highs = larger(choose(-negative_counts < high_limit, p, none), highs);
  }
  low = lows[0];
  high = highs[0];
  for (int l = 1; l < 4; ++l) {
    if (lows[l] > low) low = lows[l];
    if (highs[l] > high) high = highs[l];
  }
}

// Inserts a value that is smaller than the last of `rank` sorted ones into its place among them.
inline void insert_sorted(double* kept, std::size_t rank, double value) {
  std::size_t j = rank - 1;
  for (; j > 0 && kept[j - 1] > value; --j) kept[j] = kept[j - 1];
  kept[j] = value;
}

void order_statistics(const double* v, std::size_t n, std::size_t rank, double& low, double& high) {
  if (rank == 1) {
    const Summary s = summary(v, n);
    low = s.min;
    high = s.max;
    return;
  }
  constexpr std::size_t kFew = 48;
  if (n <= kFew) return order_statistics_of_few(v, n, rank, low, high);
  double smallest[kMaxListedRank], largest[kMaxListedRank];  // largest: negated
  for (std::size_t j = 0; j < rank; ++j) smallest[j] = largest[j] = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    if (v[i] < smallest[rank - 1]) insert_sorted(smallest, rank, v[i]);
    if (-v[i] < largest[rank - 1]) insert_sorted(largest, rank, -v[i]);
  }
  low = smallest[rank - 1];
  high = -largest[rank - 1];
}

#include "support/gaussian_kernels.inl"
#include "support/moment_kernels.inl"
#include "support/small_set_kernels.inl"
#include "support/step_kernels.inl"

#if defined(PF_AVX2)
// For each of the 16 masks, the order of 32-bit lanes that brings the chosen doubles to the front, and the one that
// brings the others, reversed, to the end.
struct Orders {
  alignas(32) std::int32_t lower[16][8], upper[16][8];
  constexpr Orders() : lower(), upper() {
    for (int mask = 0; mask < 16; ++mask) {
      int front = 0, back = 4;
      for (int j = 0; j < 4; ++j) {
        if ((mask >> j) & 1) {
          lower[mask][2 * front] = 2 * j;
          lower[mask][2 * front++ + 1] = 2 * j + 1;
        } else {
          upper[mask][2 * --back] = 2 * j;
          upper[mask][2 * back + 1] = 2 * j + 1;
        }
      }
    }
  }
};
constexpr Orders kOrders;
#endif

void partition(const double* from, double* to, std::size_t n, std::size_t n_columns, std::size_t stride,
               std::size_t key, double split) {
  const double* keys = from + key * stride;
  std::size_t lower = 0, upper = n, i = 0;
#if defined(PF_AVX2)
  // Both stores write four numbers; surplus numbers go to free places as long as eight are free.
  const Lanes v = broadcast(split);
  for (; i + 8 <= n; i += 4) {
    const unsigned bits = bits_of(load(keys + i) <= v);
    const __m256i front = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrders.lower[bits]));
    const __m256i back = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrders.upper[bits]));
    const double* p = from + i;
    double* q = to;
    for (std::size_t c = 0; c < n_columns; ++c, p += stride, q += stride) {
      const __m256 row = _mm256_castpd_ps(_mm256_loadu_pd(p));
      _mm256_storeu_pd(q + lower, _mm256_castps_pd(_mm256_permutevar8x32_ps(row, front)));
      _mm256_storeu_pd(q + upper - 4, _mm256_castps_pd(_mm256_permutevar8x32_ps(row, back)));
    }
    const auto count = static_cast<std::size_t>(__builtin_popcount(bits));
    lower += count;
    upper -= 4 - count;
  }
#endif
  for (; i < n; ++i) {
    const bool below = keys[i] <= split;
    const std::size_t at = below ? lower++ : --upper;
    for (std::size_t c = 0; c < n_columns; ++c) to[c * stride + at] = from[c * stride + i];
  }
}

}  // namespace

extern const Kernels PF_KERNELS_VARIABLE;
const Kernels PF_KERNELS_VARIABLE{PF_KERNELS_NAME,     summary,          squared_deviation, dot,         lower_sums,
                                  lower_sums_weighted, order_statistics, partition,         lower_bits,  add_steps,
                                  largest_runs,        ranks_below,      look_up,           rough_ranks, lower_moments,
                                  eliminate,           gaussian_sum,     gaussian_expansion};

}  // namespace policyforest
