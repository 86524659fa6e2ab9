// Periodic inputs: turns a tree that was grown on a circle cut at `cut` into an ordinary tree over [lo, hi].
#pragma once

#include "policyforest/forest/forest.hpp"

namespace policyforest {

// The tree is defined on [cut, cut + length), where x in [lo, cut) is x + length. The root of the result compares x
// with the cut; below it is, on either side, the part of the tree that can be reached.
Tree unroll(const Tree& tree, std::size_t d, double cut, double lo, double hi);

}  // namespace policyforest
