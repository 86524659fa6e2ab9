// What the searches for the best action share: the action box, and the action that stands for a cell, a
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

// The inputs that projection fixes: those that are no action. Throws where an action is unbounded or there is
// none.
std::vector<std::uint8_t> state_inputs(const Forest& forest, std::span<const std::uint8_t> is_action);

// The lowest double of (lo, …].
inline double first_inside(double lo) { return std::nextafter(lo, std::numeric_limits<double>::infinity()); }

// The best action of a cell, of which `slope` holds the slopes (empty: constant), and the cell's closed hull.
// The value is left to the caller.
BestAction choose_in_cell(const Box& cell, std::span<const double> slope, const Box& action_box);

// The cell around a point: no tree of the forest, which is over the actions alone, changes its leaf in it.
Box cell_at(const Forest& actions, const std::vector<double>& point);

// Extends a cell on which a constant-leaf forest takes its maximum upwards, in one dimension after the other,
// while the least values of the trees still add up to it. In one dimension this is the whole plateau; in
// several it misses those parts of one in which trees rise and fall against each other.
Box extend_plateau(const Forest& actions, Box cell, double maximum);

}  // namespace policyforest
