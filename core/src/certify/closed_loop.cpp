#include "policyforest/certify/closed_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace policyforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("closed loop: ") + what);
}

double half(double lo, double hi, double middle) {
  return std::nextafter(std::max(hi - middle, middle - lo), kInfinity);
}

}  // namespace

ClosedLoop::ClosedLoop(CertifiedPolicy policy, StepProgram program, LoopSettings settings,
                       std::optional<StepProgram> sensors)
    : n_(program.n_outputs()),
      n_read_(sensors ? sensors->n_outputs() : n_),
      policy_(std::move(policy)),
      program_(std::move(program)),
      settings_(std::move(settings)),
      sensors_(std::move(sensors)) {
  policy_.check(n_read_);
  require(!sensors_ || sensors_->n_inputs() == n_, "the sensors have the wrong number of inputs");
  const Box& w = settings_.disturbance;
  require(program_.n_inputs() == n_ + policy_.forests.size() + w.dims(), "the program has the wrong number of inputs");
  require(settings_.model_error.size() == n_ && settings_.slack.size() == n_ && settings_.limits.dims() == n_,
          "there must be one error, one slack and one pair of limits per state");
  require(settings_.periods.empty() || settings_.periods.size() == n_, "there must be one period per state dimension");
  require(settings_.steps >= 1 && settings_.steps <= 1000, "a move must have 1 to 1000 steps");
  for (std::size_t d = 0; d < n_; ++d)
    for (const double error : {settings_.model_error[d], settings_.slack[d]})
      require(error >= 0.0 && std::isfinite(error), "errors must be finite and not negative");
  for (std::size_t i = 0; i < w.dims(); ++i)
    require(w.lo[i] <= w.hi[i] && std::isfinite(w.hi[i] - w.lo[i]), "disturbances must be finite");
}

// Symbols: the n sides of the cell; for each earlier step, its disturbances, actions and errors; then the disturbances
// and the actions of this step.
AffineArithmetic ClosedLoop::arithmetic(std::size_t step) const {
  const std::size_t own = settings_.disturbance.dims() + policy_.forests.size();
  return AffineArithmetic(n_ + step * (own + n_) + own, settings_.steps == 1 ? n_ + own : n_);
}

void ClosedLoop::fill_cell(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const {
  room.inputs.resize(program_.n_inputs() * on.width());
  for (std::size_t d = 0; d < n_; ++d) {
    const double middle = lo[d] / 2 + hi[d] / 2;
    double* form = room.inputs.data() + d * on.width();
    on.constant(middle, form);
    form[2 + d] = half(lo[d], hi[d], middle);
  }
}

void ClosedLoop::fill_disturbances(const AffineArithmetic& on, Room& room) const {
  const std::size_t m = settings_.disturbance.dims(), actions = policy_.forests.size();
  const std::size_t first = on.width() - m - actions;
  for (std::size_t w = 0; w < m; ++w) {
    const double low = settings_.disturbance.lo[w], high = settings_.disturbance.hi[w], middle = low / 2 + high / 2;
    double* form = room.inputs.data() + (n_ + actions + w) * on.width();
    on.constant(middle, form);
    if (high > low) form[first + w] = half(low, high, middle);
  }
}

// The inputs of the policy: forms, then lower and upper sides.
void ClosedLoop::read(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const {
  room.read.resize(n_read_ * (on.width() + 2));
  double *forms = room.read.data(), *low = forms + n_read_ * on.width(), *high = low + n_read_;
  if (!sensors_) {
    std::copy_n(room.inputs.data(), n_ * on.width(), forms);
    std::copy_n(lo, n_, low);
    std::copy_n(hi, n_, high);
    return;
  }
  sensors_->bound(on, room.inputs.data(), room.sensors);
  for (std::size_t d = 0; d < n_read_; ++d) {
    const double* seen = room.sensors.forms.data() + sensors_->output(d) * on.width();
    on.copy(seen, forms + d * on.width());
    const Interval range = on.range(seen);
    const bool known = on.bounded(seen);
    low[d] = known ? range.lo : -kInfinity;
    high[d] = known ? range.hi : kInfinity;
  }
}

// The numbers that the forests compare, as sides open below and as forms. Returns false if an angle's seam is between
// the sides, or if there is no bound.
bool ClosedLoop::compare(const AffineArithmetic& on, Room& room) const {
  room.compared.resize(2 * n_read_);
  room.forms.resize(n_read_ * on.width());
  const double unit = policy_.arithmetic == PolicyArithmetic::kFloat64 ? 0x1p-53 : 0x1p-24;
  const double* sides = room.read.data() + n_read_ * on.width();
  for (std::size_t d = 0; d < n_read_; ++d) {
    double low = sides[d], high = sides[n_read_ + d];
    if (!std::isfinite(low) || !std::isfinite(high)) return false;
    const double* input = room.read.data() + d * on.width();
    double* form = room.forms.data() + d * on.width();
    on.copy(input, form);
    const bool angle = !policy_.periods.empty() && policy_.periods[d].hi > policy_.periods[d].lo;
    if (angle && !(low >= policy_.periods[d].lo && high <= policy_.periods[d].hi)) {
      const Period& turn = policy_.periods[d];
      const double length = turn.hi - turn.lo, moved = length * std::floor((low / 2 + high / 2 - turn.lo) / length);
      const double slip = 16.0 * unit * (std::abs(low) + std::abs(high) + std::abs(turn.lo) + std::abs(turn.hi));
      if (!(low >= turn.lo + moved - slip && high <= turn.hi + moved + slip)) return false;
      low = std::max(turn.lo, low - moved - slip);
      high = std::min(turn.hi, high - moved + slip);
      on.shift(input, -moved, form);
      on.widen(form, 2.0 * slip);
    }
    compare_one(on, d, low, high, room);
  }
  return true;
}

void ClosedLoop::compare_one(const AffineArithmetic& on, std::size_t d, double low, double high, Room& room) const {
  if (policy_.arithmetic == PolicyArithmetic::kInt16) {
    // The cell is below the exact product by less than 1, and float32 rounds that product three times.
    double* form = room.forms.data() + d * on.width();
    const double first = policy_.low[d], scale = policy_.scale[d];
    const double far = std::max({std::abs(low), std::abs(high), std::abs(first)});
    // Outside of the box the cell is that of the box's side, whatever the state.
    if (scale > 0.0 && !(low >= first - 0x1p-22 * far && high <= first + 65536.0 / scale + 0x1p-22 * far)) {
      room.spare.resize(on.width());
      on.clip(form, first, first + 65536.0 / scale, room.spare.data());
      on.copy(room.spare.data(), form);
    }
    on.shift(form, -first, form);
    on.scale(form, scale, form);
    on.shift(form, -32768.5, form);
    on.widen(form, 0.5 + 0x1p-21 * far * scale + 1e-30);
  }
  room.compared[d] = std::nextafter(policy_.compared(d, low), -kInfinity);
  room.compared[n_read_ + d] = policy_.compared(d, high);
}

void ClosedLoop::fill_actions(const AffineArithmetic& on, const double* lo, const double* hi, Room& room) const {
  read(on, lo, hi, room);
  const bool known = compare(on, room);
  for (std::size_t j = 0; j < policy_.forests.size(); ++j) {
    double* action = room.inputs.data() + (n_ + j) * on.width();
    if (known)
      fill_action(on, j, room);
    else
      on.interval({policy_.actions.lo[j], policy_.actions.hi[j]}, action);
  }
}

// The part without a slope gets the action's own symbol, so that all states after the step share it.
void ClosedLoop::fill_action(const AffineArithmetic& on, std::size_t j, Room& room) const {
  const Forest& forest = *policy_.forests[j];
  double* action = room.inputs.data() + (n_ + j) * on.width();
  double* own = action + on.width() - policy_.forests.size() + j;
  const auto give_own = [&](double more) {
    *own = std::nextafter((std::abs(*own) + action[1] + more) * (1.0 + 0x1p-50), kInfinity);
    action[1] = 0.0;
  };
  room.slopes.resize(n_read_);
  const ForestRange found =
      ForestBounds(forest).bound(room.compared.data(), room.compared.data() + n_read_, room.slopes.data(), room.forest);
  // The policy's own rounding: once per operation of a leaf and of the sum over the trees; integers are exact.
  const bool singles = policy_.arithmetic == PolicyArithmetic::kFloat32;
  const bool exact = policy_.arithmetic == PolicyArithmetic::kInt16;
  const double unit = singles ? 0x1p-24 : exact ? 0.0 : 0x1p-53;
  const double rounding = 2.0 * unit * static_cast<double>(forest.n_trees() + 2 * n_read_ + 8) * found.magnitude +
                          (singles ? 1e-30 * (1.0 + found.magnitude) : 1e-290);
  on.constant(0.0, action);
  for (std::size_t d = 0; d < n_read_; ++d) on.add_scaled(room.forms.data() + d * on.width(), room.slopes[d], action);
  const double middle = found.rest.lo / 2 + found.rest.hi / 2;
  on.shift(action, middle, action);
  give_own(half(found.rest.lo, found.rest.hi, middle) + rounding);
  if (exact) {
    const double size = std::abs(policy_.factor[j]) * found.magnitude + std::abs(policy_.offset[j]);
    on.scale(action, policy_.factor[j], action);
    on.shift(action, policy_.offset[j], action);
    give_own(0x1p-21 * size);
  }
  room.spare.resize(on.width());
  on.clip(action, policy_.actions.lo[j], policy_.actions.hi[j], room.spare.data());
  on.copy(room.spare.data(), action);
  give_own(0.0);
  if (!on.bounded(action)) on.unbounded(action);
}

void ClosedLoop::actions(const double* lo, const double* hi, double* sides, Room& room) const {
  const AffineArithmetic on = arithmetic(0);
  std::vector<double> low(lo, lo + n_);
  for (double& side : low) side = std::nextafter(side, kInfinity);
  fill_cell(on, lo, hi, room);
  fill_actions(on, low.data(), hi, room);
  for (std::size_t j = 0; j < policy_.forests.size(); ++j) {
    const Interval range = on.range(room.inputs.data() + (n_ + j) * on.width());
    sides[j] = std::max(range.lo, policy_.actions.lo[j]);
    sides[policy_.forests.size() + j] = std::min(range.hi, policy_.actions.hi[j]);
  }
}

// Makes the states after a step the inputs of the next one, and their errors symbols. Returns false if a state may
// leave the limits.
bool ClosedLoop::go_on(const AffineArithmetic& from, const AffineArithmetic& to, Room& room) const {
  room.inputs.assign(program_.n_inputs() * to.width(), 0.0);
  for (std::size_t d = 0; d < n_; ++d) {
    double* after = room.program.forms.data() + program_.output(d) * from.width();
    from.widen(after, settings_.model_error[d] + settings_.slack[d]);
    const Interval range = from.range(after);
    const double turn = settings_.periods.empty() ? 0.0 : settings_.periods[d].hi - settings_.periods[d].lo;
    const bool circle = turn > 0.0 && settings_.limits.hi[d] - settings_.limits.lo[d] >= turn * (1 - 1e-12);
    if (!from.bounded(after)) return false;
    if (!circle && !(range.lo >= settings_.limits.lo[d] && range.hi <= settings_.limits.hi[d])) return false;
    double* form = room.inputs.data() + d * to.width();
    from.copy(after, form);
    form[from.width() + d] = form[1];
    form[1] = 0.0;
  }
  return true;
}

void ClosedLoop::successor(const double* lo, const double* hi, double* out, Room& room) const {
  std::vector<double> low(lo, lo + n_), high(hi, hi + n_);
  for (double& side : low) side = std::nextafter(side, kInfinity);
  fill_cell(arithmetic(0), lo, hi, room);
  for (std::size_t step = 0;; ++step) {
    const AffineArithmetic on = arithmetic(step);
    fill_disturbances(on, room);
    fill_actions(on, low.data(), high.data(), room);
    program_.bound(on, room.inputs.data(), room.program);
    if (step + 1 == settings_.steps) return write(on, out, room);
    const AffineArithmetic next = arithmetic(step + 1);
    if (!go_on(on, next, room)) {
      std::fill_n(out, n_, -kInfinity);
      std::fill_n(out + n_, n_, kInfinity);
      std::fill_n(out + 2 * n_, n_moves() * n_, 0.0);
      return;
    }
    for (std::size_t d = 0; d < n_; ++d) {
      const Interval range = next.range(room.inputs.data() + d * next.width());
      low[d] = range.lo;
      high[d] = range.hi;
    }
  }
}

void ClosedLoop::write(const AffineArithmetic& on, double* out, Room& room) const {
  const std::size_t m = settings_.disturbance.dims(), first = on.width() - m - policy_.forests.size();
  double *low = out, *high = out + n_, *moves = out + 2 * n_;
  for (std::size_t i = 0; i < n_; ++i) {
    double* form = room.program.forms.data() + program_.output(i) * on.width();
    room.spare.assign(form, form + on.width());  // two states may share a result
    for (std::size_t w = 0; w < m; ++w) moves[w * n_ + i] = form[first + w];
    for (std::size_t d = 0; d < n_; ++d) moves[(m + d) * n_ + i] = d == i ? settings_.model_error[d] : 0.0;
    on.widen(room.spare.data(), settings_.model_error[i] + settings_.slack[i]);
    const bool known = on.bounded(room.spare.data());
    const Interval range = on.range(room.spare.data());
    low[i] = known ? range.lo : -kInfinity;
    high[i] = known ? range.hi : kInfinity;
  }
}

}  // namespace policyforest
