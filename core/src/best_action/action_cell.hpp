// Shared by the searches for the best action: the action box, and the action that represents a cell, which is a
// half-open box (lo, hi] of actions on which the forest is one constant or one linear function.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "policyforest/best_action/best_action.hpp"
#include "policyforest/forest/forest.hpp"

namespace policyforest {

// The inputs that projection fixes: those that are not actions. Throws if an action is unbounded or if there are no
// actions.
std::vector<std::uint8_t> state_inputs(const Forest& forest, std::span<const std::uint8_t> is_action);

// The lowest double of (lo, …].
inline double first_inside(double lo) { return std::nextafter(lo, std::numeric_limits<double>::infinity()); }

// The best action of a cell on which the forest has the slopes `slope` (empty: constant), and the cell's closed hull.
// The caller sets the value.
BestAction choose_in_cell(const Box& cell, std::span<const double> slope, const Box& action_box);

// The cell around a point, in which no tree changes its leaf. The forest is over the actions alone.
Box cell_at(const Forest& actions, const std::vector<double>& point);

// Extends a cell on which a constant-leaf forest takes its maximum upwards, in one dimension after the other,
// while the minima of the trees still add up to the maximum. In one dimension this is the whole plateau; in several
// dimensions it misses parts of the plateau in which the changes of the trees cancel.
Box extend_plateau(const Forest& actions, Box cell, double maximum);

}  // namespace policyforest
