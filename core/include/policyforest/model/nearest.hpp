// Distances of states from the nearest of several places.
#pragma once

#include <cstddef>
#include <vector>

#include "policyforest/grow/grow.hpp"

namespace policyforest {

// Places to measure distances from. A distance is the root of the sum of squares over the dimensions, each in units of
// its `scale`; angles differ by the shorter way round the circle.
struct Places {
  const double* rows;  // n rows of scale.size() numbers
  std::size_t n;
  std::vector<double> scale;
  std::vector<Period> periods;  // empty, or one entry per dimension
};

// One distance per row; infinite if there are no places.
std::vector<double> nearest_distances(const double* rows, std::size_t n, const Places& places);

}  // namespace policyforest
