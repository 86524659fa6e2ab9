// One learned model of a system: a control step as a function of state, action and an observed residual.
//
// An output is c·phi(x) plus a kernel expansion or a forest for the residual, all over x, some dimensions of (s, a).
// Outputs are changes of state dimensions, or of the angle of a sine-cosine pair; dimensions that are functions of
// others are computed. The reward, the probability of a terminal step and the reward of one are learned in the same
// way. Steps that leave the box of the data are charged: nothing is known there, and a plan must not profit from that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policyforest/forest/forest.hpp"
#include "policyforest/forest/predictor.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/model/features.hpp"
#include "policyforest/support/kernels.hpp"

namespace policyforest {

// sum_i weight_i exp(-|(z - centre_i) / length|^2 / 2) over the scaled inputs z of `Features`, the mean of a Gaussian
// process.
class Kernel {
 public:
  // `centres` has a row for each weight.
  Kernel(std::vector<double> lengths, const double* centres, const double* weights, std::size_t n);

  const std::vector<double>& lengths() const { return lengths_; }
  double value(const double* scaled) const;  // of z / length
  // The value, and its derivatives in z / length; also the second derivatives, unless `curvature` is null.
  double expand(const double* scaled, double* slopes, double* curvature) const;

 private:
  Gaussians terms() const { return {centres_.data(), half_squares_.data(), weights_.data(), weights_.size()}; }
  // Centres are divided by the lengths.
  std::vector<double> lengths_, centres_, half_squares_, weights_;
};

// c·phi(x) + kernel(z) + F(x clipped to `range`); each part may be missing.
struct Regressor {
  std::vector<double> coefficients;
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const Predictor> forest;
};

// Regressors over the same inputs.
struct RegressorGroup {
  Features features;
  Box range;
  std::vector<Regressor> outputs;

  void check(const char* name) const;
  std::size_t n_terms() const;  // features that some output needs
  // Computes rows of outputs from rows of inputs.
  void predict(const double* rows, std::size_t n, double* out) const;
  // The same for the first n rows and for n_moves * n rows near them: row m * n + i is near row i of the first n. For
  // the near rows kernels are not computed again, but extrapolated by their slopes and, if `curved`, by their second
  // derivatives.
  void predict_around(const double* rows, std::size_t n, std::size_t n_moves, bool curved, double* out) const;

 private:
  void add_forests(const double* rows, std::size_t n, double* out) const;
};

struct CirclePair {
  std::size_t sine, cosine;  // the dimensions s_i, s_j with s_i^2 + s_j^2 = radius^2
  double radius;
};

struct Relation {
  std::size_t dimension;             // the dimension that is computed
  std::vector<std::size_t> sources;  // the dimensions that it is computed from
  RegressorGroup formula;            // one regressor
};

struct Threshold {
  std::size_t dimension;
  double sign, limit;  // terminal if sign * s'_d > limit
};

// How an actuator changes a command: to 0 within `dead` of 0, to a multiple of `step`, and to at most `rate` from the
// previous action, which is part of the state. A limit that is 0 does not apply.
struct Actuator {
  double low, high, rate, dead, step;
  double first, last, steps;  // with `step`: the range of allowed multiples, and their largest change
  std::size_t before;         // the state dimension of the previous action; read only with `rate`
  double applied(double command, double last_action) const;
};

// A state dimension whose next value is the current value of `source`, a state dimension or, from n_states on, an
// action.
struct Copy {
  std::size_t dimension, source;
};

// A function of dimensions of (s, a, s') that a reward may be written in: a number or its size, or the angle of a sine
// and a cosine, or the size of that angle.
struct Shape {
  std::size_t sine, cosine;  // equal for a number
  bool size;
  double value(double first, double second) const;  // of the two dimensions
};

struct LearnedModel {
  std::size_t n_states = 0, n_actions = 0;
  std::vector<std::size_t> inputs;  // the dimensions of (s, a) that the dynamics depend on, x
  RegressorGroup dynamics;          // outputs: the changes of `plain`, then the turns of `circles`
  std::vector<std::size_t> plain;
  std::vector<CirclePair> circles;
  std::vector<Relation> relations;  // applied in this order
  std::vector<Period> periods;      // empty, or one entry per state dimension
  std::vector<Actuator> actuators;  // empty, or one entry per action dimension
  std::vector<Copy> copies;         // history, shifted by one step

  RegressorGroup reward;  // over some dimensions of (s, a, s'), then `reward_shapes` of them
  std::vector<std::size_t> reward_inputs;
  std::vector<Shape> reward_shapes;
  double reward_low = 0, reward_high = 0;  // the bounds of a reward; infinite if there are none

  enum class End { kNever, kThresholds, kLogistic, kForest };
  End end = End::kNever;
  std::vector<Threshold> thresholds;
  RegressorGroup end_chance;  // over s': the logit, or the chance itself
  RegressorGroup end_reward;  // over x

  std::size_t n_residuals = 0;
  std::vector<double> residuals;  // rows of (outputs of the dynamics, reward)
  RegressorGroup spread;          // over x: the variance by which residuals are scaled; no output: 1

  Box edge;                    // states are clipped to it; a step further than `margin` beyond it leaves the data
  std::vector<double> margin;  // infinite if a dimension never varied
  bool leaving_ends = false;   // a step that leaves the data earns at most `leaving_reward`; with leaving_ends it is
  double leaving_value = 0, leaving_reward = 0;  // terminal with `leaving_value`, unless it was terminal already

  void check() const;  // throws std::invalid_argument if the parts do not fit together
};

// The outcome of a block of steps, one entry per row.
struct ModelStep {
  std::vector<double> next_states;  // n * n_states
  std::vector<double> reward, end_chance, end_reward;
};

// Computes steps of the model for many rows.
class ModelStepper {
 public:
  explicit ModelStepper(const LearnedModel& model) : model_(model) {}
  // n rows of states and actions; `residual_rows` selects the residuals that are added (null: none). Next states are
  // not yet clipped to the edge box.
  void step(const double* states, const double* actions, const std::uint32_t* residual_rows, std::size_t n,
            ModelStep& out);
  // The same without residuals for n rows and n_moves * n rows near them: see RegressorGroup::predict_around. Kernels
  // of the reward are extrapolated with their second derivatives.
  void step_around(const double* states, const double* actions, std::size_t n, std::size_t n_moves, ModelStep& out);
  // As step_around, but for given next states: only the rewards, and the probabilities and rewards of ends.
  void earn_around(const double* states, const double* actions, const double* next_states, std::size_t n,
                   std::size_t n_moves, ModelStep& out);
  // Charges steps for leaving the data, and clips next states to the edge box.
  void keep_in_data(std::size_t n, ModelStep& out) const;

 private:
  void gather_inputs(const double* states, const double* actions, std::size_t n);
  const double* applied(const double* states, const double* actions, std::size_t n);
  void add_residuals(const std::uint32_t* residual_rows, std::size_t n);
  void apply_changes(const double* states, const double* actions, std::size_t n, ModelStep& out);
  void gather_reward_inputs(const double* states, const double* actions, std::size_t n, const ModelStep& out);
  void rewards_around(const double* states, const double* actions, std::size_t n, std::size_t n_moves, ModelStep& out);
  void rewards(const double* states, const double* actions, std::size_t n, bool noisy, ModelStep& out);
  void ends(std::size_t n, ModelStep& out);

  const LearnedModel& model_;
  std::vector<double> applied_, inputs_, outputs_, rows_, reward_noise_, spread_;
};

}  // namespace policyforest
