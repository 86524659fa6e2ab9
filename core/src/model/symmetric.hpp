// Eigenvalues of small symmetric matrices by Jacobi's method, with the same operations on all machines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace policyforest {

class SymmetricParts {
 public:
  explicit SymmetricParts(std::size_t n) : n_(n), a_(n * n), v_(n * n) {}

  // Replaces a symmetric matrix by the one with the same eigenvectors and the eigenvalues f(value).
  template <class Function>
  void map(double* matrix, const Function& f) {
    if (n_ == 1) {
      matrix[0] = f(matrix[0]);
      return;
    }
    a_.assign(matrix, matrix + n_ * n_);
    turn_until_diagonal();
    std::fill(matrix, matrix + n_ * n_, 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      const double value = f(a_[k * n_ + k]);
      const double* v = &v_[k * n_];
      for (std::size_t i = 0; i < n_; ++i) {
        const double scaled = v[i] * value;
        for (std::size_t j = 0; j <= i; ++j) matrix[i * n_ + j] += scaled * v[j];
      }
    }
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < i; ++j) matrix[j * n_ + i] = matrix[i * n_ + j];
  }

  // Whether no eigenvalue is positive beyond rounding, by elimination: this takes a tenth of the time of computing
  // them.
  bool has_no_positive_value(const double* matrix) {
    constexpr double kRounding = 1e-12;
    a_.assign(matrix, matrix + n_ * n_);
    double size = 0.0;
    for (std::size_t i = 0; i < n_; ++i) size = std::max(size, std::abs(a_[i * n_ + i]));
    const double small = kRounding * size;
    for (std::size_t k = 0; k < n_; ++k) {
      const double pivot = a_[k * n_ + k];
      if (pivot > small) return false;
      for (std::size_t i = k + 1; i < n_; ++i) {
        if (pivot >= -small) {
          if (std::abs(a_[i * n_ + k]) > small) return false;
          continue;
        }
        const double factor = a_[i * n_ + k] / pivot;
        for (std::size_t j = i; j < n_; ++j) a_[i * n_ + j] -= factor * a_[k * n_ + j];
        for (std::size_t j = i; j < n_; ++j) a_[j * n_ + i] = a_[i * n_ + j];
      }
    }
    return true;
  }

 private:
  void turn_until_diagonal() {
    constexpr int kSweeps = 12;
    constexpr double kSmall = 1e-15;
    v_.assign(n_ * n_, 0.0);
    double size = 0.0;
    for (std::size_t i = 0; i < n_; ++i) v_[i * n_ + i] = 1.0;
    for (const double x : a_) size += x * x;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      double off = 0.0;
      for (std::size_t p = 0; p < n_; ++p)
        for (std::size_t q = 0; q < p; ++q) off += a_[p * n_ + q] * a_[p * n_ + q];
      if (!(off > kSmall * kSmall * size)) return;
      for (std::size_t p = 0; p < n_; ++p)
        for (std::size_t q = p + 1; q < n_; ++q) turn(p, q);
    }
  }

  // The rotation of two coordinates that makes their product vanish.
  void turn(std::size_t p, std::size_t q) {
    const double apq = a_[p * n_ + q];
    if (apq == 0.0) return;
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2.0 * apq);
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
    const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
    for (std::size_t k = 0; k < n_; ++k) mix(a_[k * n_ + p], a_[k * n_ + q], c, s);
    mix_rows(&a_[p * n_], &a_[q * n_], c, s);
    mix_rows(&v_[p * n_], &v_[q * n_], c, s);
  }

  void mix_rows(double* x, double* y, double c, double s) const {
    for (std::size_t k = 0; k < n_; ++k) mix(x[k], y[k], c, s);
  }

  static void mix(double& x, double& y, double c, double s) {
    const double first = c * x - s * y;
    y = s * x + c * y;
    x = first;
  }

  std::size_t n_;
  std::vector<double> a_, v_;  // v_: one row per eigenvector
};

}  // namespace policyforest
