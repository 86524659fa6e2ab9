// The spread of all samples of a forest: the units in which linear leaves measure slopes and noise.
#pragma once

#include <vector>

#include "grow/sample_columns.hpp"
#include "policyforest/grow/grow.hpp"
#include "policyforest/grow/least_squares.hpp"

namespace policyforest {

// `periods` is as in GrowParameters. The samples are read in the order of the root, so that the result is the same if
// the caller has sorted them.
Spread spread_of(const RootColumns& samples, const std::vector<Period>& periods);

}  // namespace policyforest
