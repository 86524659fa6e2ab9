// Queries on the tree of cells: the cells that a successor meets, and where to split a cell.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "policyforest/certify/invariant_search.hpp"

namespace policyforest {

namespace {

// A threshold this near to the middle of a cell (as a part of its side) may replace the middle as the split.
constexpr double kNearMiddle = 0.3;

}  // namespace

// Cuts a box into parts at whole turns of its angles and calls visit(lo, hi) for each. Returns false if visit does, or
// if a part is outside of the root box.
template <class Visit>
bool InvariantSearch::pieces(const double* lo, const double* hi, std::size_t d, std::vector<double>& sides,
                             const Visit& visit) const {
  if (d == n_) return visit(sides.data(), sides.data() + n_);
  const double low = settings_.root.lo[d], high = settings_.root.hi[d];
  const auto go_on = [&](double a, double b) {
    sides[d] = a;
    sides[n_ + d] = b;
    return pieces(lo, hi, d + 1, sides, visit);
  };
  if (!is_angle(d) || !(hi[d] - lo[d] < kNever)) return lo[d] >= low && hi[d] <= high && go_on(lo[d], hi[d]);
  const double turn = loop_.settings().periods[d].hi - loop_.settings().periods[d].lo;
  const bool circle = high - low >= turn * (1 - 1e-12);
  if (circle && hi[d] - lo[d] >= turn) return go_on(low, high);
  const double shift = turn * std::floor((lo[d] - low) / turn);
  const double slip = 1e-12 * (std::abs(lo[d]) + std::abs(hi[d]) + turn);  // for rounding when turns are subtracted
  const double a = lo[d] - shift - slip, b = hi[d] - shift + slip;
  if (!circle) return a >= low && b <= high && go_on(a, b);
  if (a < low && !go_on(a + turn, high)) return false;
  if (b > high && !go_on(low, std::min(b - turn, high))) return false;
  return go_on(std::max(a, low), std::min(b, high));
}

bool InvariantSearch::is_angle(std::size_t d) const {
  const auto& periods = loop_.settings().periods;
  return !periods.empty() && periods[d].hi > periods[d].lo;
}

// The highest rank of the cells that a closed box meets; kNever if one is not proved, or if a rank is above the limit.
std::int32_t InvariantSearch::highest_in(const double* lo, const double* hi, std::int32_t limit) const {
  std::vector<std::int32_t> steps{0};
  std::int32_t highest = 0;
  while (!steps.empty()) {
    const Branch& branch = tree_[static_cast<std::size_t>(steps.back())];
    steps.pop_back();
    if (branch.highest <= highest) continue;
    if (branch.child < 0) {
      if (branch.highest > limit) return kNever;
      highest = branch.highest;
      continue;
    }
    const auto d = static_cast<std::size_t>(branch.dim);
    if (lo[d] <= branch.split) steps.push_back(branch.child);
    if (hi[d] > branch.split) steps.push_back(branch.child + 1);
  }
  return highest;
}

// Whether a box meets a cell that is not ruled out.
bool InvariantSearch::meets(const double* lo, const double* hi) const {
  std::vector<std::int32_t> steps{0};
  while (!steps.empty()) {
    const Branch& branch = tree_[static_cast<std::size_t>(steps.back())];
    steps.pop_back();
    if (!branch.open) continue;
    if (branch.child < 0) return true;
    const auto d = static_cast<std::size_t>(branch.dim);
    if (lo[d] <= branch.split) steps.push_back(branch.child);
    if (hi[d] > branch.split) steps.push_back(branch.child + 1);
  }
  return false;
}

std::int32_t InvariantSearch::highest_after(std::size_t cell, std::int32_t limit) const {
  const double *lo = successor(cell), *hi = lo + n_;
  std::vector<double> sides(2 * n_);
  std::int32_t highest = 0;
  const bool known = pieces(lo, hi, 0, sides, [&](const double* a, const double* b) {
    highest = std::max(highest, highest_in(a, b, limit));
    return highest != kNever;
  });
  return known ? highest : kNever;
}

// Whether the cell's states may stay: with any single disturbance held at a limit, its successors meet cells that are
// not ruled out. Holding a disturbance moves the successor's box by the share of this disturbance, and makes it
// narrower by the width of this share.
bool InvariantSearch::may_stay(std::size_t cell) const {
  const double *lo = successor(cell), *hi = lo + n_, *moves = hi + n_;
  std::vector<double> low(n_), high(n_), sides(2 * n_);
  const auto stays = [&] {
    for (std::size_t d = 0; d < n_; ++d) {
      if (is_angle(d)) continue;
      if (high[d] < settings_.root.lo[d] || low[d] > settings_.root.hi[d]) return false;
      low[d] = std::max(low[d], settings_.root.lo[d]);
      high[d] = std::min(high[d], settings_.root.hi[d]);
    }
    bool met = false;
    const bool whole = pieces(low.data(), high.data(), 0, sides, [&](const double* a, const double* b) {
      met = met || meets(a, b);
      return true;
    });
    return met || !whole;
  };
  for (std::size_t w = 0; w < loop_.n_moves(); ++w)
    for (const double sign : {-1.0, 1.0}) {
      for (std::size_t d = 0; d < n_; ++d) {
        const double move = moves[w * n_ + d];
        low[d] = lo[d] + std::abs(move) + sign * move;
        high[d] = hi[d] - std::abs(move) + sign * move;
        if (!(low[d] <= high[d])) low[d] = lo[d], high[d] = hi[d];  // rounding, or no bound
      }
      if (!stays()) return false;
    }
  return true;
}

std::size_t InvariantSearch::widest(std::size_t cell) const {
  std::size_t best = n_;
  double most = 0.0;
  for (std::size_t d = 0; d < n_; ++d) {
    const double side = high(cell)[d] - low(cell)[d];
    const double relative = side / (settings_.root.hi[d] - settings_.root.lo[d]);
    if (side / 2 >= settings_.smallest[d] && relative > most * (1 + 1e-9)) best = d, most = relative;
  }
  return best;
}

// Where to split: at the threshold nearest to the middle if one is near, else in the middle.
double InvariantSearch::split_at(std::size_t cell, std::size_t dim) const {
  const double lo = low(cell)[dim], hi = high(cell)[dim], middle = lo / 2 + hi / 2;
  const auto& list = thresholds_[dim];
  const auto above = std::lower_bound(list.begin(), list.end(), middle);
  double best = middle, apart = kNearMiddle * (hi - lo);
  if (above != list.end() && *above - middle < apart) best = *above, apart = *above - middle;
  if (above != list.begin() && middle - *std::prev(above) < apart) best = *std::prev(above);
  return best > lo && best < hi ? best : middle;
}

bool InvariantSearch::refine() {
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::size_t cell : open_cells()) {
    if (widest(cell) == n_) continue;
    double volume = 1.0;
    for (std::size_t d = 0; d < n_; ++d)
      volume *= (high(cell)[d] - low(cell)[d]) / (settings_.root.hi[d] - settings_.root.lo[d]);
    order.emplace_back(-volume, cell);
  }
  const std::size_t room = settings_.max_cells > n_cells() ? settings_.max_cells - n_cells() : 0;
  if (order.size() > room) {
    exhausted_ = true;
    std::sort(order.begin(), order.end());
    order.resize(room);
  }
  for (const auto& [volume, cell] : order) {
    const std::size_t dim = widest(cell);
    split(branch_of_[cell], dim, split_at(cell, dim));
    fresh_[cell] = 1;
  }
  return !order.empty();
}

}  // namespace policyforest
