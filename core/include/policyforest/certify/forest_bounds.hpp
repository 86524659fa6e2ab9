// What a forest can return over a box of inputs, as an affine form of them.
//
// A tree whose box of inputs lies in one leaf is the leaf's line. One that reaches several leaves is the mean of their
// lines plus what the leaves differ from it, each over its own part of the box. The mean over the trees keeps the
// slopes; what the trees differ from them is returned apart, so that the caller can give it a symbol of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "policyforest/certify/affine.hpp"
#include "policyforest/forest/forest.hpp"

namespace policyforest {

struct ForestRange {
  Interval rest;     // what has no slope: the constants, and what the leaves differ from their mean line
  double magnitude;  // the mean over the trees of the largest |c| + |w_0 x_0| + … of a reached leaf
};

// The forest is not copied; it must outlive this.
class ForestBounds {
 public:
  explicit ForestBounds(const Forest& forest) : forest_(forest) {}

  struct Room {  // kept from call to call
    std::vector<double> sides, parts, mean;
    std::vector<const Node*> leaves;
    std::vector<std::size_t> steps;
  };

  // For all x with lo < x <= hi: F(x) is in slopes · x + rest. `slopes` has one entry per input.
  ForestRange bound(const double* lo, const double* hi, double* slopes, Room& room) const;
  const Forest& forest() const { return forest_; }

 private:
  void find_leaves(const TreeView& tree, const double* lo, const double* hi, Room& room) const;
  const Forest& forest_;
};

}  // namespace policyforest
