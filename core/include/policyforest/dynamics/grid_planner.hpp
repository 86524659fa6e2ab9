// Near-optimal control of a system with known equations: value iteration on a grid of its two state dimensions.
//
// It shows the best return that a learner can reach. V is stored at the grid's points and bilinear between them; the
// noise is replaced by a few equally likely values. The control law looks one step ahead with the equations themselves,
// so that errors of V that are the same everywhere do no harm.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policyforest/dynamics/dynamics.hpp"

namespace policyforest {

// n points from lo to hi. `power` > 1 moves them towards the middle, x = middle + half * sign(u) |u|^power for u from
// -1 to 1; periodic: lo and hi are the same state.
struct GridAxis {
  double lo, hi;
  std::size_t n;
  double power = 1.0;
  bool periodic = false;
  double point(std::size_t i) const;
  double place(double x) const;  // the inverse: 0 at lo, n - 1 at hi, clipped
};

class GridPlanner {
 public:
  // The system has two states and one action; it must outlive the object. Throws std::invalid_argument.
  GridPlanner(const System& system, const std::array<GridAxis, 2>& axes, std::vector<double> actions,
              std::vector<double> noises, std::size_t n_threads, const std::atomic<bool>* cancel = nullptr);

  // One sweep V <- max_a mean_noise (r + discount V(s')); returns the largest change.
  double sweep(double discount, std::size_t n_threads);
  double value(const double* state) const;
  // The best of `candidates` by one step with every noise; of equal ones the lowest.
  double act(const double* state, const std::vector<double>& candidates, double discount) const;

 private:
  struct Place {  // in the grid: the cell's lower corner and how far into it; corner < 0: terminal
    std::int32_t corner;
    float x, y;
  };
  struct Step {
    float reward;
    Place next;
  };
  Place place(const double* state) const;
  double at(const Place& place) const;
  Step step(double* state, double action, double noise) const;

  const System& system_;
  std::array<GridAxis, 2> axes_;
  std::vector<double> actions_, noises_;
  std::vector<Step> steps_;  // of every point, action and noise
  std::vector<double> values_, new_values_;
};

}  // namespace policyforest
