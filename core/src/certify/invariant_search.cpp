#include "policyforest/certify/invariant_search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = 16;  // the number of cells in a piece of work

void stop_if(const std::atomic<bool>* cancel) {
  if (cancel && cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
}

// Calls work(i, room of the thread) for i = 0 … n - 1.
template <class MakeRoom, class Work>
void in_blocks(std::size_t n, std::size_t n_threads, const std::atomic<bool>* cancel, const MakeRoom& make_room,
               const Work& work) {
  parallel_for((n + kBlock - 1) / kBlock, n_threads, [&] {
    return [&, room = make_room()](std::size_t block) mutable {
      stop_if(cancel);
      for (std::size_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) work(i, room);
    };
  });
}

// Adds the thresholds of a forest, as numbers of the states. `policy` is the policy of the forest, which converts them,
// or null for a forest of the model, which compares states, then actions.
void add_thresholds(const Forest& forest, std::vector<std::vector<double>>& lists, const CertifiedPolicy* policy) {
  for (const Node& node : forest.nodes()) {
    if (node.is_leaf()) continue;
    const auto d = static_cast<std::size_t>(node.feature);
    if (d < lists.size()) lists[d].push_back(policy ? policy->last_below(d, node.split) : node.split);
  }
}

}  // namespace

InvariantSearch::InvariantSearch(const ClosedLoop& loop, SearchSettings settings)
    : loop_(loop), settings_(std::move(settings)), n_(loop.n_states()), thresholds_(n_) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("search: ") + what);
  };
  const Box& root = settings_.root;
  require(root.dims() == n_ && settings_.smallest.size() == n_, "the boxes must have the dimensions of the system");
  require(!settings_.target || settings_.target->dims() == n_, "the target must have the dimensions of the system");
  for (std::size_t d = 0; d < n_; ++d)
    require(root.lo[d] < root.hi[d] && std::isfinite(root.hi[d] - root.lo[d]) && settings_.smallest[d] > 0.0,
            "the root box must be finite and have width, and the smallest sides must be positive");
  if (loop_.reads_states())
    for (const auto& forest : loop_.policy().forests) add_thresholds(*forest, thresholds_, &loop_.policy());
  for (const auto& used : loop_.program().forests()) add_thresholds(*used.forest, thresholds_, nullptr);
  for (auto& list : thresholds_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  tree_.push_back({0.0, -1, 0, kNever, true});
  branch_of_.push_back(0);
  for (std::size_t d = 0; d < n_; ++d) boxes_.push_back(std::nextafter(root.lo[d], -kInfinity));
  boxes_.insert(boxes_.end(), root.hi.begin(), root.hi.end());
  for (std::size_t d = 0; d < n_; ++d) {
    if (settings_.target) cut_at(d, settings_.target->lo[d]), cut_at(d, settings_.target->hi[d]);
    if (!is_angle(d)) continue;
    const Period& period = loop_.settings().periods[d];
    const double length = period.hi - period.lo, first = std::floor((root.lo[d] - period.lo) / length);
    for (double turn = first; turn <= first + 2.0; ++turn) cut_at(d, period.lo + turn * length);
  }
}

// Cuts all cells that a plane crosses; called only before the first round.
void InvariantSearch::cut_at(std::size_t dim, double at) {
  const std::size_t count = n_cells();
  for (std::size_t cell = 0; cell < count; ++cell)
    if (at > low(cell)[dim] && at < high(cell)[dim]) split(branch_of_[cell], dim, at);
}

// Splits a cell: the lower part keeps its number, the upper part is a new cell.
void InvariantSearch::split(std::int32_t branch, std::size_t dim, double at) {
  const auto cell = static_cast<std::size_t>(-1 - tree_[static_cast<std::size_t>(branch)].child);
  const auto upper = static_cast<std::int32_t>(n_cells());
  const auto child = static_cast<std::int32_t>(tree_.size());
  const std::vector<double> box(boxes_.begin() + static_cast<std::ptrdiff_t>(cell * 2 * n_),
                                boxes_.begin() + static_cast<std::ptrdiff_t>((cell + 1) * 2 * n_));
  boxes_.insert(boxes_.end(), box.begin(), box.end());
  boxes_[cell * 2 * n_ + n_ + dim] = at;
  boxes_[static_cast<std::size_t>(upper) * 2 * n_ + dim] = at;
  Branch& parent = tree_[static_cast<std::size_t>(branch)];
  const std::int32_t leaf = parent.child;
  parent.split = at;
  parent.dim = static_cast<std::int32_t>(dim);
  parent.child = child;
  tree_.push_back({0.0, leaf, 0, kNever, true});
  tree_.push_back({0.0, -1 - upper, 0, kNever, true});
  branch_of_[cell] = child;
  branch_of_.push_back(child + 1);
}

bool InvariantSearch::in_target(std::size_t cell) const {
  for (std::size_t d = 0; settings_.target && d < n_; ++d)
    if (!(low(cell)[d] >= std::nextafter(settings_.target->lo[d], -kInfinity) &&
          high(cell)[d] <= settings_.target->hi[d]))
      return false;
  return true;
}

void InvariantSearch::bound_new(std::size_t n_threads, const std::atomic<bool>* cancel) {
  const std::size_t count = n_cells(), size = loop_.successor_size();
  successors_.resize(count * size, kInfinity);
  status_.resize(count, Status::kOpen);
  rank_.resize(count, kNever);
  fresh_.resize(count, 1);
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < count; ++i)
    if (fresh_[i]) cells.push_back(i);
  in_blocks(
      cells.size(), n_threads, cancel, [] { return ClosedLoop::Room(); },
      [&](std::size_t k, auto& room) {
        loop_.successor(low(cells[k]), high(cells[k]), successors_.data() + cells[k] * size, room);
      });
  std::fill(fresh_.begin(), fresh_.end(), 0);
}

bool InvariantSearch::round(std::size_t n_threads, const std::atomic<bool>* cancel) {
  if (n_bounded_ != 0 && !refine()) return false;
  bound_new(n_threads, cancel);
  n_bounded_ = n_cells();
  rule_out(n_threads, cancel);
  prove(n_threads, cancel);
  if (settings_.target) prove_reaching(n_threads, cancel);
  return true;
}

std::vector<std::size_t> InvariantSearch::open_cells() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < n_cells(); ++i)
    if (status_[i] == Status::kOpen) open.push_back(i);
  return open;
}

// Children come after their parents, so a backward loop meets them first.
void InvariantSearch::update(const std::vector<std::int32_t>& rank) {
  for (std::size_t i = tree_.size(); i-- > 0;) {
    Branch& branch = tree_[i];
    if (branch.child < 0) {
      const auto cell = static_cast<std::size_t>(-1 - branch.child);
      branch.highest = rank[cell];
      branch.open = status_[cell] != Status::kOut;
    } else {
      const Branch &lower = tree_[static_cast<std::size_t>(branch.child)], &upper = (&lower)[1];
      branch.highest = std::max(lower.highest, upper.highest);
      branch.open = lower.open || upper.open;
    }
  }
}

void InvariantSearch::rule_out(std::size_t n_threads, const std::atomic<bool>* cancel) {
  std::vector<std::size_t> open = open_cells();
  std::vector<std::uint8_t> out;
  for (bool changed = true; changed;) {
    update(rank_);
    out.assign(open.size(), 0);
    in_blocks(
        open.size(), n_threads, cancel, [] { return 0; }, [&](std::size_t k, int) { out[k] = !may_stay(open[k]); });
    changed = false;
    std::vector<std::size_t> left;
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (out[k])
        status_[open[k]] = Status::kOut, changed = true;
      else
        left.push_back(open[k]);
    }
    open.swap(left);
  }
}

// Computes the greatest fixed point. Candidates have rank 0 meanwhile; nothing is proved before the end.
void InvariantSearch::prove(std::size_t n_threads, const std::atomic<bool>* cancel) {
  std::vector<std::size_t> candidates;
  std::vector<std::int32_t> rank = rank_;
  for (const std::size_t cell : open_cells())
    if (in_target(cell)) candidates.push_back(cell), rank[cell] = 0;
  std::vector<std::uint8_t> stays;
  for (bool changed = true; changed;) {
    update(rank);
    stays.assign(candidates.size(), 0);
    in_blocks(
        candidates.size(), n_threads, cancel, [] { return 0; },
        [&](std::size_t k, int) { stays[k] = highest_after(candidates[k], 0) == 0; });
    changed = false;
    std::vector<std::size_t> left;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (stays[k])
        left.push_back(candidates[k]);
      else
        rank[candidates[k]] = kNever, changed = true;
    }
    candidates.swap(left);
  }
  for (const std::size_t cell : candidates) status_[cell] = Status::kProved, rank_[cell] = 0;
  update(rank_);
}

// Proves cells from which one move leads into proved cells, pass by pass. Cells of earlier rounds are ranked again,
// since the target may be fewer moves away with finer cells.
void InvariantSearch::prove_reaching(std::size_t n_threads, const std::atomic<bool>* cancel) {
  const std::vector<std::int32_t> before = rank_;
  const std::vector<Status> known = status_;
  try {
    for (std::size_t i = 0; i < n_cells(); ++i)
      if (rank_[i] != kNever && rank_[i] > 0) status_[i] = Status::kOpen, rank_[i] = kNever;
    update(rank_);
    reach(n_threads, cancel);
  } catch (...) {  // stopped: what was proved before remains
    rank_ = before;
    status_ = known;
    throw;
  }
}

void InvariantSearch::reach(std::size_t n_threads, const std::atomic<bool>* cancel) {
  for (bool changed = true; changed;) {
    const std::vector<std::size_t> open = open_cells();
    std::vector<std::int32_t> found(open.size(), kNever);
    in_blocks(
        open.size(), n_threads, cancel, [] { return 0; },
        [&](std::size_t k, int) { found[k] = highest_after(open[k], settings_.horizon - 1); });
    changed = false;
    for (std::size_t k = 0; k < open.size(); ++k)
      if (found[k] != kNever) status_[open[k]] = Status::kProved, rank_[open[k]] = found[k] + 1, changed = true;
    update(rank_);
  }
}

}  // namespace policyforest
