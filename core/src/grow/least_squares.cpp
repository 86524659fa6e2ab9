#include "policyforest/grow/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace policyforest {

namespace {

// Smaller squared variations, in units of the spreads, have lost all digits to underflow; they count as 0.
constexpr double kSmallestSquare = 1e-200;

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Householder reflections turn [A | b] (b is the last column) into [R | Q'b] in place.
void triangularise(Matrix& a) {
  for (std::size_t j = 0; j + 1 < a.cols; ++j) {
    double* v = a.column(j);
    const double norm = std::sqrt(dot(v + j, v + j, a.rows - j));
    if (norm == 0.0) continue;
    const double alpha = v[j] > 0.0 ? -norm : norm;
    const double head = v[j] - alpha;
    const double beta = -1.0 / (alpha * head);  // 2 / |v|^2 for v = (head, v_{j+1}, …)
    v[j] = head;
    for (std::size_t k = j + 1; k < a.cols; ++k) {
      double* u = a.column(k);
      const double factor = beta * dot(v + j, u + j, a.rows - j);
      for (std::size_t i = j; i < a.rows; ++i) u[i] -= factor * v[i];
    }
    v[j] = alpha;
    std::fill(v + j + 1, v + a.rows, 0.0);
  }
}

// One-sided Jacobi: on return the columns of `a` are U S and a_in = (U S) V'.
void orthogonalise(Matrix& a, Matrix& v) {
  v.resize(a.cols, a.cols);
  for (std::size_t j = 0; j < a.cols; ++j) v(j, j) = 1.0;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool rotated = false;
    for (std::size_t p = 0; p + 1 < a.cols; ++p) {
      for (std::size_t q = p + 1; q < a.cols; ++q) {
        const double alpha = dot(a.column(p), a.column(p), a.rows);
        const double beta = dot(a.column(q), a.column(q), a.rows);
        const double gamma = dot(a.column(p), a.column(q), a.rows);
        if (std::abs(gamma) <= 1e-15 * std::sqrt(alpha * beta) || gamma == 0.0) continue;
        rotated = true;
        const double zeta = (beta - alpha) / (2.0 * gamma);
        const double t = (zeta < 0.0 ? -1.0 : 1.0) / (std::abs(zeta) + std::sqrt(1.0 + zeta * zeta));
        const double c = 1.0 / std::sqrt(1.0 + t * t), s = c * t;
        const auto rotate = [&](Matrix& m) {
          for (std::size_t i = 0; i < m.rows; ++i) {
            const double mp = m(i, p), mq = m(i, q);
            m(i, p) = c * mp - s * mq;
            m(i, q) = s * mp + c * mq;
          }
        };
        rotate(a);
        rotate(v);
      }
    }
    if (!rotated) break;
  }
}

// The mean, computed relative to the first value so that a large offset costs no digits.
double mean_of(const double* v, const double* weight, std::size_t n, double total) {
  double shift = 0.0;
  for (std::size_t i = 0; i < n; ++i) shift += (weight ? weight[i] : 1.0) * (v[i] - v[0]);
  return v[0] + shift / total;
}

}  // namespace

LinearFit::LinearFit(const Spread& spread)
    : spread_(spread), centre_(spread.inputs.size()), slopes_(spread.inputs.size()) {
  for (std::size_t d = 0; d < spread.inputs.size(); ++d)
    if (spread.inputs[d] > 0.0) active_.push_back(d);
}

// The number of samples that differ in an input or in y. Equal samples lie in one run of equal values of the sorted
// input, and most runs are a single sample.
std::size_t LinearFit::count_distinct(std::span<const double* const> columns, const double* y, std::size_t n,
                                      std::size_t sorted) {
  const double* key = sorted < columns.size() ? columns[sorted] : nullptr;
  const auto compare = [&](std::size_t a, std::size_t b) {
    if (y[a] != y[b]) return y[a] < y[b] ? -1 : 1;
    for (const double* column : columns)
      if (column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
    return 0;
  };
  std::size_t distinct = 0;
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && (!key || key[end] == key[begin])) ++end;
    ++distinct;
    if (end - begin == 1) continue;
    order_.resize(end - begin);
    std::iota(order_.begin(), order_.end(), begin);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
    for (std::size_t i = 1; i < order_.size(); ++i) distinct += compare(order_[i - 1], order_[i]) != 0;
  }
  return distinct;
}

// Fills rows_ with the centred inputs and targets in units of their spreads, each times the root of its weight.
void LinearFit::standardise(std::span<const double* const> columns, const double* y, const double* weight,
                            std::size_t n, double mean_weight) {
  const std::size_t k = active_.size();
  rows_.resize(std::max(n, k), k + 1);
  const bool weigh = weight || mean_weight != 1.0;
  const auto fill = [&](double* to, const double* v, double mean, double scale) {
    for (std::size_t i = 0; i < n; ++i) to[i] = (v[i] - mean) / scale;
    for (std::size_t i = 0; weigh && i < n; ++i) to[i] *= std::sqrt((weight ? weight[i] : 1.0) / mean_weight);
  };
  for (std::size_t j = 0; j < k; ++j)
    fill(rows_.column(j), columns[active_[j]], centre_[active_[j]], spread_.inputs[active_[j]]);
  fill(rows_.column(k), y, mean_, spread_.target);
}

void LinearFit::fit(std::span<const double* const> columns, const double* y, const double* weight, std::size_t n,
                    std::size_t sorted) {
  double total = static_cast<double>(n);
  if (weight) {
    total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += weight[i];
  }
  mean_ = mean_of(y, weight, n, total);
  std::fill(slopes_.begin(), slopes_.end(), 0.0);
  if (active_.empty()) return;
  for (const std::size_t d : active_) centre_[d] = mean_of(columns[d], weight, n, total);
  const std::size_t n_distinct = count_distinct(columns, y, n, sorted);
  standardise(columns, y, weight, n, total / static_cast<double>(n_distinct));
  triangularise(rows_);

  const std::size_t k = active_.size();
  r_.resize(k, k);
  for (std::size_t j = 0; j < k; ++j) std::copy_n(rows_.column(j), k, r_.column(j));
  orthogonalise(r_, v_);
  squared_.resize(k);
  along_.resize(k);
  for (std::size_t j = 0; j < k; ++j) {
    squared_[j] = dot(r_.column(j), r_.column(j), k);
    along_[j] = dot(r_.column(j), rows_.column(k), k);
  }
  const double lambda = penalty(n_distinct);
  if (lambda == 0.0) return;  // no input varies here
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t i = 0; i < k; ++i) slopes_[active_[i]] += along_[j] / (squared_[j] + lambda) * v_.column(j)[i];
  for (const std::size_t d : active_) slopes_[d] *= spread_.target / spread_.inputs[d];
}

// lambda, in units where all spreads are 1.
double LinearFit::penalty(std::size_t n_distinct) const {
  const double largest = *std::max_element(squared_.begin(), squared_.end());
  const double least = std::max(largest * kSmallestDirection * kSmallestDirection, kSmallestSquare);
  const double* y = rows_.column(active_.size());
  const double all = dot(y, y, rows_.rows);
  double explained = 0.0;
  std::size_t rank = 0;
  for (std::size_t j = 0; j < squared_.size(); ++j) {
    if (squared_[j] <= least) continue;
    explained += along_[j] * along_[j] / squared_[j];
    ++rank;
  }
  const double m = n_distinct > rank ? static_cast<double>(n_distinct - rank) : 1.0;
  const double noise = std::max(0.0, all - explained) / m + all / static_cast<double>(n_distinct) / (m * m);
  return rank == 0 ? 0.0 : std::max(least, noise / (kUsualSlope * kUsualSlope));
}

double LinearFit::share_within(std::span<const Interval> box) const {
  double up = 0.0, down = 0.0;
  for (const std::size_t d : active_) {
    const double to_low = slopes_[d] * (box[d].low - centre_[d]), to_high = slopes_[d] * (box[d].high - centre_[d]);
    up += std::max(to_low, to_high);
    down -= std::min(to_low, to_high);
  }
  const double reach = kReach * (spread_.range.high - spread_.range.low);
  const double room_up = spread_.range.high - mean_ + reach, room_down = mean_ - spread_.range.low + reach;
  double share = 1.0;
  if (up > room_up) share = room_up / up;
  if (down > room_down) share = std::min(share, room_down / down);
  return share;
}

void LinearFit::append_model(double share, std::vector<double>& coefficients) const {
  double intercept = mean_;
  for (std::size_t d = 0; d < slopes_.size(); ++d) {
    const double slope = share * slopes_[d];
    coefficients.push_back(slope);
    if (slope != 0.0) intercept -= slope * centre_[d];
  }
  coefficients.push_back(intercept);
}

}  // namespace policyforest
