#include "policyforest/grow/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace policyforest {

namespace {

// A small dense matrix stored by columns.
struct Matrix {
  std::size_t rows, cols;
  std::vector<double> data;
  Matrix(std::size_t r, std::size_t c) : rows(r), cols(c), data(r * c, 0.0) {}
  double* column(std::size_t j) { return data.data() + j * rows; }
  const double* column(std::size_t j) const { return data.data() + j * rows; }
  double& operator()(std::size_t i, std::size_t j) { return data[j * rows + i]; }
};

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
Matrix orthogonalise(Matrix& a) {
  Matrix v(a.cols, a.cols);
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
  return v;
}

// Removes from w its part in the span of the directions (Gram-Schmidt, twice for accuracy).
void remove_span(std::vector<std::vector<double>>& directions, std::vector<double>& w) {
  for (std::size_t k = 0; k < directions.size(); ++k) {
    auto& n = directions[k];
    const auto normalise = [&] {
      double largest = 0.0;
      for (double e : n) largest = std::max(largest, std::abs(e));
      if (largest == 0.0) return;
      for (double& e : n) e /= largest;
      const double norm = std::sqrt(dot(n.data(), n.data(), n.size()));
      for (double& e : n) e /= norm;
    };
    normalise();
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t l = 0; l < k; ++l) {
        const double part = dot(directions[l].data(), n.data(), n.size());
        for (std::size_t i = 0; i < n.size(); ++i) n[i] -= part * directions[l][i];
      }
      normalise();
    }
    const double part = dot(n.data(), w.data(), w.size());
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= part * n[i];
  }
}

struct Centred {
  double mean, scale;  // scale 0: the column is constant
};

Centred centre(const double* v, const double* weight, std::size_t n, double total) {
  // Relative to the first value, so that a large offset costs no digits.
  double shift = 0.0;
  for (std::size_t i = 0; i < n; ++i) shift += (weight ? weight[i] : 1.0) * (v[i] - v[0]);
  const double mean = v[0] + shift / total;
  const auto [low, high] = std::minmax_element(v, v + n);
  const double scale = std::max(*high - mean, mean - *low);
  if (*low == *high || scale <= kSmallestSpread * std::abs(mean)) return {mean, 0.0};
  return {mean, scale};
}

}  // namespace

std::vector<double> fit_linear(std::span<const double* const> columns, const double* y, const double* weight,
                               std::size_t n) {
  double total = static_cast<double>(n);
  if (weight) {
    total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += weight[i];
  }
  std::vector<double> result(columns.size() + 1, 0.0);
  const Centred target = centre(y, weight, n, total);
  result.back() = target.mean;
  std::vector<std::size_t> active;
  std::vector<Centred> centred;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    const Centred c = centre(columns[d], weight, n, total);
    if (c.scale <= 0.0 || !std::isfinite(1.0 / c.scale)) continue;
    active.push_back(d);
    centred.push_back(c);
  }
  if (active.empty()) return result;
  const double target_scale = target.scale == 0.0 ? 1.0 : target.scale;

  const std::size_t k = active.size();
  Matrix a(std::max(n, k), k + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double root = weight ? std::sqrt(weight[i]) : 1.0;
    for (std::size_t j = 0; j < k; ++j)
      a(i, j) = root * ((columns[active[j]][i] - centred[j].mean) / centred[j].scale);
    a(i, k) = root * ((y[i] - target.mean) / target_scale);
  }
  triangularise(a);
  Matrix r(k, k);
  std::vector<double> b(k);
  for (std::size_t j = 0; j < k; ++j) {
    std::copy_n(a.column(j), k, r.column(j));
    b[j] = a(j, k);
  }
  const Matrix v = orthogonalise(r);
  std::vector<double> squared(k);
  for (std::size_t j = 0; j < k; ++j) squared[j] = dot(r.column(j), r.column(j), k);
  const double cut =
      *std::max_element(squared.begin(), squared.end()) * kSmallestDirection * kSmallestDirection;

  std::vector<double> w(k, 0.0);
  std::vector<std::vector<double>> null_space;
  for (std::size_t j = 0; j < k; ++j) {
    if (squared[j] > cut) {
      const double part = dot(r.column(j), b.data(), k) / squared[j];
      for (std::size_t i = 0; i < k; ++i) w[i] += part * v.column(j)[i];
    } else {
      null_space.emplace_back(v.column(j), v.column(j) + k);
    }
  }
  for (std::size_t i = 0; i < k; ++i) {
    w[i] = w[i] * target_scale / centred[i].scale;
    for (auto& direction : null_space) direction[i] /= centred[i].scale;
  }
  remove_span(null_space, w);
  for (std::size_t j = 0; j < k; ++j) {
    result[active[j]] = w[j];
    result.back() -= w[j] * centred[j].mean;
  }
  return result;
}

}  // namespace policyforest
