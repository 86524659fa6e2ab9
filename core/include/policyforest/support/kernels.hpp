// The loops in which growing and planning spend their time, compiled once for each instruction set and chosen at run
// time.
//
// All versions return the same bits: sums run over eight virtual lanes (lane j takes elements j, j + 8, …) that
// are added in a fixed order, and nothing is contracted into fused multiply-adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace policyforest {

// Up to this rank one pass with two short sorted lists beats quickselect.
inline constexpr std::size_t kMaxListedRank = 32;

struct Summary {
  double sum, min, max;
};

struct LowerSums {
  double weight;      // of the samples with x <= split: their number, or the sum of their weights
  double sum;         // of z, or of weight * z
  std::size_t count;  // their number
};

// Gaussian functions: column d of their centres begins at centres + d * n. n is a multiple of 8; padding terms have
// weight 0.
struct Gaussians {
  const double *centres, *half_squares, *weights;  // half_squares: |centre|^2 / 2
  std::size_t n;
};

struct Kernels {
  const char* name;
  Summary (*summary)(const double* v, std::size_t n);
  double (*squared_deviation)(const double* v, std::size_t n, double mean);
  double (*dot)(const double* v, const double* w, std::size_t n);
  LowerSums (*lower_sums)(const double* x, double split, const double* z, std::size_t n);
  LowerSums (*lower_sums_weighted)(const double* x, double split, const double* z, const double* weight, std::size_t n);
  // The rank-th smallest and rank-th largest of v, 1 <= rank <= kMaxListedRank.
  void (*order_statistics)(const double* v, std::size_t n, std::size_t rank, double& low, double& high);
  // Moves n rows of several columns, `stride` numbers apart: rows with from[key * stride + row] <= split go to the
  // front of `to` in their order, the others to its end in reverse.
  void (*partition)(const double* from, double* to, std::size_t n, std::size_t n_columns, std::size_t stride,
                    std::size_t key, double split);
  // Bit i is set if x[i] <= split, i < n <= 64; x must be readable up to the next multiple of 8.
  std::uint64_t (*lower_bits)(const double* x, double split, std::size_t n);
  // For each state s of a set: steps[s] += value - before[s], before[s] = value. Both arrays are readable and
  // writable up to the next multiple of 4 after the last state of the set.
  void (*add_steps)(std::int64_t* steps, std::int64_t* before, std::uint64_t states, std::int64_t value);
  // Running sums of n_rows >= 1 rows of steps, row i at steps + cells[i] * width, width a multiple of 4; a sum is valid
  // from cells[i] to cells[i + 1] (there is one more cell than rows). Returns for each column the lowest run of the
  // largest sum: cells [first, end). Sets the steps to 0.
  void (*largest_runs)(std::int64_t* steps, std::size_t width, const std::int64_t* cells, std::size_t n_rows,
                       std::int64_t* first, std::int64_t* end);
  // Bit i is set if ranks[i] < rank, i < 64; ranks are at most 127.
  std::uint64_t (*ranks_below)(const std::uint8_t* ranks, int rank);
  // to[i] = table[numbers[i]], i < 64; numbers are below 64.
  void (*look_up)(const std::uint8_t* table, const std::uint8_t* numbers, std::uint8_t* to);
  // A permutation that sorts n <= 64 numbers up to 1/1023 of their range, unless the range or its inverse overflows:
  // places[i] is where v[i] goes.
  void (*rough_ranks)(const double* v, std::size_t n, std::uint8_t* places);
  // For each row r with x <= split, in order: moments[i * width + j] += r[i] * r[j] for i < n_used and j >= i; entries
  // below the diagonal are undefined. Rows are `width` numbers apart, a multiple of 4; the first n_used numbers are
  // used and the others must be finite. Without x all rows count. Returns the number of rows.
  std::size_t (*lower_moments)(const double* rows, std::size_t n, std::size_t n_used, std::size_t width,
                               const double* x, double split, double* moments);
  // A step of Gaussian elimination on both sides of a symmetric form of n_used rows: subtracts multiples of the row
  // `pivot` from the others so that its column becomes 0, and sets that row and column to 0.
  void (*eliminate)(double* form, std::size_t n_used, std::size_t width, std::size_t pivot);
  // sum_i weight_i e^(-|z - centre_i|^2 / 2) over `width` dimensions.
  double (*gaussian_sum)(const double* z, std::size_t width, const Gaussians& terms);
  // The same sum in another order, with its slopes in z and, unless null, its width * width second derivatives; `lanes`
  // has room for 4 * width * (width + 5) numbers.
  double (*gaussian_expansion)(const double* z, std::size_t width, const Gaussians& terms, double* lanes,
                               double* slopes, double* curvature);
};

// The best version that this processor supports.
const Kernels& kernels();
// Every version that this processor supports, the plain one first.
std::vector<const Kernels*> available_kernels();

}  // namespace policyforest
