// A policy and a system in a loop: bounds on where a move of one or more control steps can take the states of a cell.
//
// The policy is the one that runs: in float64, in float32, or in 16-bit numbers, with the rounding of its own
// arithmetic. Over several steps, the uncertainty that a step adds gets its own symbols, so that the bounds include
// how the feedback of the policy reduces it again.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "policyforest/certify/affine.hpp"
#include "policyforest/certify/forest_bounds.hpp"
#include "policyforest/certify/step_program.hpp"
#include "policyforest/grow/grow.hpp"

namespace policyforest {

enum class PolicyArithmetic { kFloat64, kFloat32, kInt16 };

// A policy as it is bounded: what its forests compare, and how their mean becomes an action. In 16-bit numbers the
// inputs of the forests are q(s) = floor((s - low) * scale) - 32768, called cells, and an action is
// offset + factor * F(q).
struct CertifiedPolicy {
  PolicyArithmetic arithmetic = PolicyArithmetic::kFloat64;
  std::vector<std::shared_ptr<const Forest>> forests;
  Box actions;
  std::vector<Period> periods;    // empty, or one per state dimension; hi == lo: not an angle
  std::vector<float> low, scale;  // only with 16-bit numbers: one per state dimension
  std::vector<double> offset, factor;

  void check(std::size_t n_inputs) const;
  // What the forests compare for a state number: the number itself, the nearest float32, or its cell. Never decreasing.
  double compared(std::size_t d, double x) const;
  // The largest number x with compared(d, x) <= threshold.
  double last_below(std::size_t d, double threshold) const;
};

// The settings by which a move is bounded.
struct LoopSettings {
  Box disturbance;                  // of every control step
  std::vector<double> model_error;  // the next state may be off by this, one number per state dimension
  std::vector<double> slack;        // added to the sides of a successor, for rounding in any recomputation
  Box limits;                       // no state within a move may be outside of this
  std::vector<Period> periods;      // empty, or one per state dimension: angles; `limits` may contain a whole turn
  std::size_t steps = 1;            // control steps of one move
};

class ClosedLoop {
 public:
  // `sensors`: what the policy reads, as functions of the state; by default the state itself.
  ClosedLoop(CertifiedPolicy policy, StepProgram program, LoopSettings settings,
             std::optional<StepProgram> sensors = std::nullopt);

  std::size_t n_states() const { return n_; }
  bool reads_states() const { return !sensors_; }
  std::size_t n_moves() const { return settings_.disturbance.dims() + n_; }
  std::size_t successor_size() const { return 2 * n_ + n_moves() * n_; }  // doubles
  const CertifiedPolicy& policy() const { return policy_; }
  const StepProgram& program() const { return program_; }
  const LoopSettings& settings() const { return settings_; }

  struct Room {  // working memory, reused by later calls
    std::vector<double> inputs, read, compared, slopes, forms, spare;
    StepProgram::Room program, sensors;
    ForestBounds::Room forest;
  };
  // Bounds where a move takes the states of a cell (lo, hi]: lower sides, upper sides, and for each disturbance and
  // model error of the last step how far it alone moves them. Sides are infinite if there is no bound, or if a state
  // may leave the limits.
  void successor(const double* lo, const double* hi, double* out, Room& room) const;
  // The range of every action over a cell: lower sides, then upper ones.
  void actions(const double* lo, const double* hi, double* sides, Room& room) const;

 private:
  AffineArithmetic arithmetic(std::size_t step) const;
  void fill_cell(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const;
  void fill_disturbances(const AffineArithmetic& on, Room& room) const;
  void fill_actions(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const;
  void read(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const;
  bool compare(const AffineArithmetic& on, Room& room) const;
  void compare_one(const AffineArithmetic& on, std::size_t d, double low, double high, Room& room) const;
  void fill_action(const AffineArithmetic& on, std::size_t j, Room& room) const;
  bool go_on(const AffineArithmetic& from, const AffineArithmetic& to, Room& room) const;
  void write(const AffineArithmetic& on, double* out, Room& room) const;

  std::size_t n_, n_read_;  // the number of states, and of inputs of the policy
  CertifiedPolicy policy_;
  StepProgram program_;
  LoopSettings settings_;
  std::optional<StepProgram> sensors_;
};

}  // namespace policyforest
