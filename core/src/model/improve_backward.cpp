#include <algorithm>
#include <cmath>

#include "model/symmetric.hpp"
#include "policyforest/model/tracking.hpp"

namespace policyforest {

namespace {

constexpr double kLargest = 1e12;
// Up to this number of dimensions, eigenvalues are quick to compute, and a check whether they are needed saves no time.
constexpr std::size_t kQuick = 6;
// Actions this near to a bound count as being at it.
constexpr double kAtBound = 1e-9;

// A derivative that overflowed is limited, and NaN counts as 0.
double finite(double x) { return std::isnan(x) ? 0.0 : std::clamp(x, -kLargest, kLargest); }

// The backward pass of one trajectory: computes the quadratic value function of the state, from the last step back.
class BackwardPass {
 public:
  BackwardPass(const Expansion& around, const Box& box)
      : e_(around),
        box_(box),
        d_(e_.n_states),
        m_(e_.n_actions),
        w_(d_ + m_),
        whole_(w_),
        own_(m_),
        f_(d_ * w_),
        first_(d_),
        second_(d_ * d_),
        q_(w_),
        form_(w_ * w_),
        half_(d_ * w_),
        inverse_(m_ * m_) {}

  void run(std::size_t row, Improvements& out) {
    std::fill(first_.begin(), first_.end(), 0.0);
    std::fill(second_.begin(), second_.end(), 0.0);
    for (std::size_t t = e_.n_steps; t-- > 0;) {
      const std::size_t at = row * e_.n_steps + t;
      expand(at);
      double* change = &out.change[at * m_];
      double* gain = &out.feedback[at * m_ * d_];
      choose(row, at, change, gain);
      carry_back(change, gain);
    }
  }

 private:
  // The gradient q and the second derivatives of Q = r + discount V(s').
  void expand(std::size_t at) {
    const double* f = f_.data();
    std::transform(e_.slopes + at * d_ * w_, e_.slopes + (at + 1) * d_ * w_, f_.begin(), finite);
    for (std::size_t i = 0; i < w_; ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < d_; ++k) sum += f[k * w_ + i] * first_[k];
      q_[i] = finite(e_.gradient[at * w_ + i]) + e_.discount * sum;
    }
    for (std::size_t k = 0; k < d_; ++k)
      for (std::size_t j = 0; j < w_; ++j) {
        double sum = 0.0;
        for (std::size_t l = 0; l < d_; ++l) sum += second_[k * d_ + l] * f[l * w_ + j];
        half_[k * w_ + j] = sum;
      }
    std::transform(e_.curvature + at * w_ * w_, e_.curvature + (at + 1) * w_ * w_, form_.begin(), finite);
    if (w_ <= kQuick || !whole_.has_no_positive_value(form_.data()))
      whole_.map(form_.data(), [](double value) { return std::min(value, 0.0); });
    for (std::size_t i = 0; i < w_; ++i)
      for (std::size_t j = 0; j < w_; ++j) {
        double sum = 0.0;
        for (std::size_t k = 0; k < d_; ++k) sum += f[k * w_ + i] * half_[k * w_ + j];
        form_[i * w_ + j] = form_[i * w_ + j] / (e_.sizes[i] * e_.sizes[j]) + e_.discount * sum;
      }
  }
  double own(std::size_t i, std::size_t j) const { return form_[(d_ + i) * w_ + d_ + j]; }
  double cross(std::size_t i, std::size_t k) const { return form_[(d_ + i) * w_ + k]; }

  // The best change of the actions and their feedback; an action at a bound that would go beyond it stays.
  void choose(std::size_t row, std::size_t at, double* change, double* gain) {
    for (std::size_t i = 0; i < m_; ++i)
      for (std::size_t j = 0; j < m_; ++j)
        inverse_[i * m_ + j] = finite(0.5 * (own(i, j) + own(j, i)) - (i == j ? e_.damping[row * m_ + i] : 0.0));
    own_.map(inverse_.data(), [this](double value) { return 1.0 / std::min(value, -e_.flattest); });
    for (std::size_t i = 0; i < m_; ++i) {
      double move = 0.0;
      for (std::size_t j = 0; j < m_; ++j) move -= inverse_[i * m_ + j] * q_[d_ + j];
      const double here = e_.actions[at * m_ + i];
      const bool stuck = (here >= box_.hi[i] - kAtBound && move > 0.0) || (here <= box_.lo[i] + kAtBound && move < 0.0);
      change[i] = stuck ? 0.0 : move;
      for (std::size_t k = 0; k < d_; ++k) {
        double sum = 0.0;
        for (std::size_t j = 0; j < m_; ++j) sum -= inverse_[i * m_ + j] * cross(j, k);
        gain[i * d_ + k] = stuck ? 0.0 : sum;
      }
    }
  }

  // Computes the value function under these changes.
  void carry_back(const double* change, const double* gain) {
    std::vector<double> pull(m_), stiff(m_ * d_);
    for (std::size_t i = 0; i < m_; ++i) {
      pull[i] = q_[d_ + i];
      for (std::size_t j = 0; j < m_; ++j) pull[i] += own(i, j) * change[j];
      for (std::size_t k = 0; k < d_; ++k) {
        double sum = cross(i, k);
        for (std::size_t j = 0; j < m_; ++j) sum += own(i, j) * gain[j * d_ + k];
        stiff[i * d_ + k] = sum;
      }
    }
    for (std::size_t k = 0; k < d_; ++k) {
      double sum = q_[k];
      for (std::size_t i = 0; i < m_; ++i) sum += gain[i * d_ + k] * pull[i] + cross(i, k) * change[i];
      first_[k] = finite(sum);
      for (std::size_t l = 0; l < d_; ++l) {
        double form = form_[k * w_ + l];
        for (std::size_t i = 0; i < m_; ++i)
          form += gain[i * d_ + k] * stiff[i * d_ + l] + cross(i, k) * gain[i * d_ + l];
        second_[k * d_ + l] = form;
      }
    }
    for (std::size_t k = 0; k < d_; ++k)
      for (std::size_t l = 0; l <= k; ++l)
        second_[k * d_ + l] = second_[l * d_ + k] = finite(0.5 * (second_[k * d_ + l] + second_[l * d_ + k]));
  }

  const Expansion& e_;
  const Box& box_;
  std::size_t d_, m_, w_;
  SymmetricParts whole_, own_;
  std::vector<double> f_, first_, second_, q_, form_, half_, inverse_;
};

}  // namespace

Improvements improve_backward(const Expansion& around, const Box& actions) {
  const std::size_t steps = around.n * around.n_steps * around.n_actions;
  Improvements out{std::vector<double>(steps), std::vector<double>(steps * around.n_states)};
  BackwardPass pass(around, actions);
  for (std::size_t row = 0; row < around.n; ++row) pass.run(row, out);
  return out;
}

}  // namespace policyforest
