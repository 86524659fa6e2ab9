// Every version of the kernels against plain loops, bit for bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "policyforest/support/kernels.hpp"

using namespace policyforest;

namespace {

using Numbers = std::vector<double>;
using Engine = std::mt19937_64;

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Ties and both zeros when `few`, otherwise numbers of very different sizes.
Numbers numbers(Engine& random, std::size_t n, bool few) {
  const Numbers values{-2.0, -1.0, -0.0, 0.0, 1.0, 3.0};
  std::normal_distribution<double> normal;
  Numbers result(n);
  for (double& v : result) v = few ? values[random() % values.size()] : normal(random) * std::exp(5 * normal(random));
  return result;
}

// Eight lanes, joined as the header says no version may do otherwise.
template <class Term>
double lane_sum(std::size_t n, const Term& term) {
  double lanes[8] = {};
  for (std::size_t i = 0; i < (n + 7) / 8 * 8; ++i) lanes[i % 8] += i < n ? term(i) : 0.0;
  double joined[4];
  for (int j = 0; j < 4; ++j) joined[j] = lanes[j] + lanes[j + 4];
  return (joined[0] + joined[2]) + (joined[1] + joined[3]);
}

void check_sums(const Kernels& k, const Numbers& x, const Numbers& z, const Numbers& weight, double split) {
  const std::size_t n = x.size();
  const Summary summary = k.summary(x.data(), n);
  CHECK(same(summary.sum, lane_sum(n, [&](std::size_t i) { return x[i]; })));
  CHECK(summary.min == *std::min_element(x.begin(), x.end()));
  CHECK(summary.max == *std::max_element(x.begin(), x.end()));
  CHECK(same(k.dot(x.data(), z.data(), n), lane_sum(n, [&](std::size_t i) { return x[i] * z[i]; })));
  CHECK(same(k.squared_deviation(x.data(), n, split),
             lane_sum(n, [&](std::size_t i) { return (x[i] - split) * (x[i] - split); })));

  const auto below = [&](std::size_t i) { return x[i] <= split; };
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += below(i);
  const LowerSums lower = k.lower_sums(x.data(), split, z.data(), n);
  CHECK(lower.count == count && lower.weight == static_cast<double>(count));
  CHECK(same(lower.sum, lane_sum(n, [&](std::size_t i) { return below(i) ? z[i] : 0.0; })));
  const LowerSums weighted = k.lower_sums_weighted(x.data(), split, z.data(), weight.data(), n);
  CHECK(weighted.count == count);
  CHECK(same(weighted.weight, lane_sum(n, [&](std::size_t i) { return below(i) ? weight[i] : 0.0; })));
  CHECK(same(weighted.sum, lane_sum(n, [&](std::size_t i) { return (below(i) ? weight[i] : 0.0) * z[i]; })));
}

void check_order_statistics(const Kernels& k, const Numbers& x) {
  Numbers sorted = x;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t rank = 1; rank <= std::min(x.size(), kMaxListedRank); ++rank) {
    double low, high;
    k.order_statistics(x.data(), x.size(), rank, low, high);
    CHECK(low == sorted[rank - 1] && high == sorted[x.size() - rank]);
  }
}

void check_partition(const Kernels& k, const Numbers& x, const Numbers& z, double split) {
  constexpr double kUntouched = 12345.0;
  const std::size_t n = x.size(), stride = n + 3;
  Numbers from(2 * stride, kUntouched), to = from, expected = from;
  std::copy(x.begin(), x.end(), from.begin());
  std::copy(z.begin(), z.end(), from.begin() + static_cast<std::ptrdiff_t>(stride));
  std::size_t lower = 0, upper = n;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = x[i] <= split ? lower++ : --upper;
    expected[at] = x[i];
    expected[stride + at] = z[i];
  }
  k.partition(from.data(), to.data(), n, 2, stride, 0, split);
  CHECK(std::equal(to.begin(), to.end(), expected.begin(), same));
  std::rotate(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(stride), from.end());  // the key comes second
  std::rotate(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(stride), expected.end());
  std::fill(to.begin(), to.end(), kUntouched);
  k.partition(from.data(), to.data(), n, 2, stride, 1, split);
  CHECK(std::equal(to.begin(), to.end(), expected.begin(), same));
}

void check_small_sets(const Kernels& k, const Numbers& x, double split, Engine& random) {
  const std::size_t n = x.size();
  Numbers padded = x;
  padded.resize(64);
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected |= static_cast<std::uint64_t>(x[i] <= split) << i;
  CHECK(k.lower_bits(padded.data(), split, n) == expected);

  std::uint8_t ranks[64], numbers[64], found[64];
  for (int i = 0; i < 64; ++i) {
    ranks[i] = static_cast<std::uint8_t>(random() % 128);
    numbers[i] = static_cast<std::uint8_t>(random() % 64);
  }
  for (const int rank : {0, 1, 17, 63, 64, 127}) {
    expected = 0;
    for (int i = 0; i < 64; ++i) expected |= static_cast<std::uint64_t>(ranks[i] < rank) << i;
    CHECK(k.ranks_below(ranks, rank) == expected);
  }
  k.look_up(ranks, numbers, found);
  bool right = true;
  for (int i = 0; i < 64; ++i) right = right && found[i] == ranks[numbers[i]];
  CHECK(right);
}

void check_rough_ranks(const Kernels& k, const Kernels& plain, const Numbers& x) {
  std::uint8_t places[64], plain_places[64];
  k.rough_ranks(x.data(), x.size(), places);
  plain.rough_ranks(x.data(), x.size(), plain_places);
  CHECK(std::equal(places, places + x.size(), plain_places));
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double resolution = (*high - *low) / 1023 * (1 + 1e-9);
  std::uint64_t taken = 0;
  bool sorted = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    taken |= std::uint64_t{1} << places[i];
    for (std::size_t j = 0; j < x.size(); ++j) sorted = sorted && (places[i] > places[j] || x[i] <= x[j] + resolution);
  }
  CHECK(taken == ~std::uint64_t{0} >> (64 - x.size()));
  CHECK(sorted);
}

// Where the range or its inverse is no double it is still a permutation.
void check_extreme_ranks(const Kernels& k) {
  constexpr double kMax = std::numeric_limits<double>::max(), kTiny = std::numeric_limits<double>::denorm_min();
  for (const Numbers& x : {Numbers{0.0, kTiny, -kTiny}, Numbers{kMax, -kMax, 0.0}, Numbers(3, 7.0)}) {
    std::uint8_t places[64];
    k.rough_ranks(x.data(), 3, places);
    CHECK((1 << places[0] | 1 << places[1] | 1 << places[2]) == 7);
  }
}

// Rows of steps for `width` states, few numbers so that sums tie.
void check_steps(const Kernels& k, Engine& random, std::size_t width) {
  constexpr std::size_t kCells = 9;
  std::vector<std::int64_t> steps(kCells * width), expected(steps), cells;
  for (int tree = 0; tree < 3; ++tree) {
    std::vector<std::int64_t> before(width), expected_before(width);
    for (std::size_t c = 0; c < kCells; c += 1 + random() % 2) {
      const std::uint64_t all = ~std::uint64_t{0} >> (64 - width), states = c == 0 ? all : random() & all;
      const auto value = static_cast<std::int64_t>(random() % 3) - 1;
      k.add_steps(steps.data() + c * width, before.data(), states, value);
      for (std::size_t s = 0; s < width; ++s)
        if (states >> s & 1) expected[c * width + s] += value - expected_before[s], expected_before[s] = value;
    }
    CHECK(before == expected_before);
  }
  CHECK(steps == expected);
  for (std::size_t c = 0; c < kCells; ++c) {
    const auto row = expected.begin() + static_cast<std::ptrdiff_t>(c * width);
    if (c == 0 || std::any_of(row, row + static_cast<std::ptrdiff_t>(width), [](auto v) { return v != 0; }))
      cells.push_back(static_cast<std::int64_t>(c));
  }
  cells.push_back(kCells);
  std::vector<std::int64_t> first(width), end(width);
  k.largest_runs(steps.data(), width, cells.data(), cells.size() - 1, first.data(), end.data());
  CHECK(std::all_of(steps.begin(), steps.end(), [](auto v) { return v == 0; }));
  for (std::size_t s = 0; s < width; ++s) {
    std::vector<std::int64_t> sums;
    for (std::size_t c = 0; c < kCells; ++c) sums.push_back((c ? sums.back() : 0) + expected[c * width + s]);
    const auto best = std::max_element(sums.begin(), sums.end());
    const auto stop = std::find_if(best, sums.end(), [&](auto v) { return v != *best; });
    CHECK(first[s] == best - sums.begin() && end[s] == stop - sums.begin());
  }
}

// Sums of products row by row, and one step of elimination, as plain loops do them.
void check_moments(const Kernels& k, Engine& random, std::size_t n, std::size_t n_used) {
  const std::size_t width = (n_used + 3) / 4 * 4;
  Numbers rows = numbers(random, n * width, n % 2 == 0);
  const Numbers x = numbers(random, n, true);
  for (std::size_t i = 0; i < n; ++i)
    std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(i * width + n_used), width - n_used, 0.0);
  for (const bool all : {false, true}) {
    Numbers found(n_used * width, 0.5), expected(found);
    std::size_t count = 0;
    for (std::size_t row = 0; row < n; ++row) {
      if (!all && x[row] > 0.0) continue;
      ++count;
      for (std::size_t i = 0; i < n_used; ++i)
        for (std::size_t j = i; j < n_used; ++j)
          expected[i * width + j] += rows[row * width + i] * rows[row * width + j];
    }
    CHECK(k.lower_moments(rows.data(), n, n_used, width, all ? nullptr : x.data(), 0.0, found.data()) == count);
    bool right = true;
    for (std::size_t i = 0; i < n_used; ++i)
      for (std::size_t j = i; j < n_used; ++j) right = right && same(found[i * width + j], expected[i * width + j]);
    CHECK(right);
  }
}

void check_elimination(const Kernels& k, Engine& random, std::size_t n_used, std::size_t pivot) {
  const std::size_t width = (n_used + 3) / 4 * 4;
  Numbers form(n_used * width), expected;
  for (std::size_t i = 0; i < n_used; ++i)
    for (std::size_t j = 0; j <= i; ++j) form[i * width + j] = form[j * width + i] = numbers(random, 1, false)[0];
  expected = form;
  for (std::size_t i = 0; i < n_used; ++i)
    for (std::size_t j = 0; j < n_used; ++j) {
      const double factor = form[i * width + pivot] / form[pivot * width + pivot];
      const bool gone = i == pivot || j == pivot;
      expected[i * width + j] = gone ? 0.0 : form[i * width + j] - factor * form[pivot * width + j];
    }
  k.eliminate(form.data(), n_used, width, pivot);
  bool right = true;
  for (std::size_t i = 0; i < n_used; ++i)
    for (std::size_t j = 0; j < n_used; ++j) right = right && same(form[i * width + j], expected[i * width + j]);
  CHECK(right);
}

// Against sums with the standard function, and all versions against the plain one bit for bit.
void check_gaussians(const Kernels& k, const Kernels& plain, Engine& random, std::size_t width, std::size_t n) {
  std::normal_distribution<double> normal;
  Numbers z(width), centres(width * n), half(n, 0.0), weights(n), lanes(4 * width * (width + 5));
  for (double& v : z) v = normal(random);
  for (double& v : centres) v = 3.0 * normal(random);
  for (double& v : weights) v = normal(random);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < width; ++d) half[i] += 0.5 * centres[d * n + i] * centres[d * n + i];
  const Gaussians terms{centres.data(), half.data(), weights.data(), n};
  Numbers slopes(width), curvature(width * width), others(width), other_curvature(width * width);
  const double sum = k.gaussian_sum(z.data(), width, terms);
  const double value = k.gaussian_expansion(z.data(), width, terms, lanes.data(), slopes.data(), curvature.data());
  CHECK(same(sum, plain.gaussian_sum(z.data(), width, terms)));
  plain.gaussian_expansion(z.data(), width, terms, lanes.data(), others.data(), other_curvature.data());
  CHECK(std::equal(slopes.begin(), slopes.end(), others.begin(), same));
  CHECK(std::equal(curvature.begin(), curvature.end(), other_curvature.begin(), same));
  k.gaussian_expansion(z.data(), width, terms, lanes.data(), others.data(), nullptr);
  CHECK(std::equal(slopes.begin(), slopes.end(), others.begin(), same));
  double expected = 0.0;
  Numbers slope(width, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    double apart = 0.0;
    for (std::size_t d = 0; d < width; ++d) apart += (z[d] - centres[d * n + i]) * (z[d] - centres[d * n + i]);
    const double term = weights[i] * std::exp(-0.5 * apart);
    expected += term;
    for (std::size_t d = 0; d < width; ++d) slope[d] += term * (centres[d * n + i] - z[d]);
  }
  const double allowed = 1e-8 * static_cast<double>(n + 1);
  CHECK(std::abs(sum - expected) < allowed && std::abs(value - expected) < allowed);
  for (std::size_t d = 0; d < width; ++d) CHECK(std::abs(slopes[d] - slope[d]) < 10 * allowed);
  const double move = 1e-5;
  for (std::size_t d = 0; d < width; ++d) {  // curvature against differences of slopes
    Numbers moved = z, above(width), below(width);
    moved[d] += move;
    k.gaussian_expansion(moved.data(), width, terms, lanes.data(), above.data(), nullptr);
    moved[d] -= 2 * move;
    k.gaussian_expansion(moved.data(), width, terms, lanes.data(), below.data(), nullptr);
    for (std::size_t e = 0; e < width; ++e)
      CHECK(std::abs((above[e] - below[e]) / (2 * move) - curvature[d * width + e]) <
            1e-3 * static_cast<double>(n + 1));
  }
}

}  // namespace

int main() {
  const auto versions = available_kernels();
  CHECK(!versions.empty() && &kernels() == versions.back());
  for (const Kernels* k : versions) {
    Engine random(1);
    for (std::size_t n = 1; n <= 70; ++n) {
      for (const bool few : {false, true}) {
        const Numbers x = numbers(random, n, few), z = numbers(random, n, few);
        Numbers weight = numbers(random, n, false);
        for (double& w : weight) w = std::abs(w);
        for (const double split : {x[n / 2], -1e300, 1e300, 0.5 * x[0]}) {
          check_sums(*k, x, z, weight, split);
          check_partition(*k, x, z, split);
          if (n <= 64) check_small_sets(*k, x, split, random);
        }
        check_order_statistics(*k, x);
        if (n <= 64) check_rough_ranks(*k, *versions.front(), x);
      }
    }
    check_order_statistics(*k, numbers(random, 1000, false));
    check_extreme_ranks(*k);
    for (std::size_t n_used = 2; n_used <= 13; ++n_used) {
      for (const std::size_t n : {0, 1, 3, 4, 5, 17, 40}) check_moments(*k, random, n, n_used);
      for (std::size_t pivot = 0; pivot < n_used; ++pivot) check_elimination(*k, random, n_used, pivot);
    }
    for (const std::size_t width : {1, 3, 11})
      for (const std::size_t n : {0, 8, 40}) check_gaussians(*k, *versions.front(), random, width, n);
    for (int repeat = 0; repeat < 50; ++repeat)
      for (const std::size_t width : {4, 8, 12, 60, 64}) check_steps(*k, random, width);
  }
  return check::report();
}
