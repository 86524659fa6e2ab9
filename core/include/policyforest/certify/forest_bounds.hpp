// The values that a forest can return over a box of inputs, as an affine form of the inputs.
//
// If the box lies in one leaf of a tree, the tree is the linear function of this leaf. If it reaches several leaves,
// the tree is the mean of their linear functions plus a deviation, which is bounded for each leaf over its own part of
// the box. The mean over the trees keeps the slopes; the deviations are returned separately, so that the caller can
// give them their own symbol.
#pragma once

#include <cstddef>
#include <vector>

#include "policyforest/certify/affine.hpp"
#include "policyforest/forest/forest.hpp"

namespace policyforest {

struct ForestRange {
  Interval rest;     // the part without slope: the constants, and the deviations of the leaves
  double magnitude;  // the mean over the trees of the largest |c| + |w_0 x_0| + … of a reached leaf
};

// The forest is not copied; it must outlive the object.
class ForestBounds {
 public:
  explicit ForestBounds(const Forest& forest) : forest_(forest) {}

  struct Room {  // working memory, reused by later calls
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
