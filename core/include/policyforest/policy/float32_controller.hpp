// A policy in single precision, with the same operations as exported C code with float32: the states, the thresholds,
// the leaves and every sum are floats. All machines compute the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policyforest/forest/forest.hpp"
#include "policyforest/grow/grow.hpp"

namespace policyforest {

class Float32Controller {
 public:
  // All numbers of the forests, of the action box and of the periods must be floats already. The caller rounds them,
  // because the direction depends on the meaning: a threshold is rounded down, a leaf's value to the nearest float.
  // `periods` is empty or has one entry per state dimension.
  Float32Controller(const std::vector<const Forest*>& forests, const Box& actions, const std::vector<Period>& periods);

  std::size_t n_states() const { return n_states_; }
  std::size_t n_actions() const { return actions_.size(); }
  void act(const float* state, float* action) const { act_many(state, 1, action); }
  // Computes n rows of actions from n rows of finite states.
  void act_many(const float* states, std::size_t n, float* actions) const;

 private:
  struct Split {
    float value;  // inner node: the threshold; leaf: its constant
    std::int32_t child, feature;
  };
  struct Turn {
    float lo, hi;
  };
  struct Trees {
    std::vector<Split> nodes;  // child: absolute index; leaf: the number of its model
    std::vector<std::size_t> roots;
    std::vector<float> coefficients;
  };
  float predict(const Trees& trees, const float* x) const;

  std::size_t n_states_;
  std::vector<Trees> forests_;
  std::vector<Turn> actions_, periods_;
};

}  // namespace policyforest
