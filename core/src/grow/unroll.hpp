// Periodic inputs: from a tree that was grown on a circle cut at `cut` to an ordinary tree over [lo, hi].
#pragma once

#include "policyforest/forest/forest.hpp"

namespace policyforest {

// The tree lives on [cut, cut + length); x in [lo, cut) stands for x + length there. The result asks first
// whether x lies below the cut and holds on either side the part of the tree that can be reached.
Tree unroll(const Tree& tree, std::size_t d, double cut, double lo, double hi);

}  // namespace policyforest
