// A policy for control: one forest per action dimension, periodic states wrapped, actions clipped to their box.
#pragma once

#include <cstddef>
#include <vector>

#include "policyforest/forest/forest.hpp"
#include "policyforest/forest/predictor.hpp"
#include "policyforest/grow/grow.hpp"

namespace policyforest {

// x moved by whole periods into [lo, hi]; a number that is already inside is unchanged.
double wrap(double x, const Period& period);

class Controller {
 public:
  // `periods` is empty or has one entry per state dimension.
  Controller(const std::vector<const Forest*>& forests, Box actions, std::vector<Period> periods);

  std::size_t n_states() const { return predictors_.front().n_inputs(); }
  std::size_t n_actions() const { return predictors_.size(); }
  void act(const double* state, double* action) const;
  // Computes n rows of actions from n rows of states.
  void act_many(const double* states, std::size_t n, double* actions) const;
  // The same for few rows, or for rows that are near each other already.
  void act_few(const double* states, std::size_t n, double* actions) const;
  const Box& action_box() const { return actions_; }

 private:
  void act_rows(const double* states, std::size_t n, double* actions, bool few) const;
  double clip(double value, std::size_t j) const;
  std::vector<Predictor> predictors_;
  Box actions_;
  std::vector<Period> periods_;
};

}  // namespace policyforest
