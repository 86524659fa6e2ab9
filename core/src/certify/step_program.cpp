#include "policyforest/certify/step_program.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

#include "policyforest/policy/controller.hpp"

namespace policyforest {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("program: ") + what);
}

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

double wrapped(double x) {
  constexpr double pi = std::numbers::pi;
  return x - 2 * pi * std::floor((x + pi) / (2 * pi));
}

// The value of a condition: 1, 0, or -1 if it may be either.
int truth(Interval x) {
  if (x.lo > 0.0 || x.hi < 0.0) return 1;
  return x.lo == 0.0 && x.hi == 0.0 ? 0 : -1;
}

// An angle moved by whole turns into the period; the whole period if one of its ends is inside.
void turn(const AffineArithmetic& on, const double* x, Interval period, double* z) {
  const Interval a = on.range(x);
  if (a.lo >= period.lo && a.hi <= period.hi) return on.copy(x, z);
  const double length = period.hi - period.lo, moved = length * std::floor((a.lo / 2 + a.hi / 2 - period.lo) / length);
  const double slip = 0x1p-49 * (std::abs(a.lo) + std::abs(a.hi) + std::abs(period.lo) + std::abs(period.hi));
  if (!(a.lo >= period.lo + moved - slip && a.hi <= period.hi + moved + slip)) return on.interval(period, z);
  on.shift(x, -moved, z);
  on.widen(z, 2.0 * slip);
}

}  // namespace

StepProgram::StepProgram(std::size_t n_inputs, std::vector<Instruction> instructions,
                         std::vector<ProgramForest> forests, std::vector<std::int32_t> outputs)
    : n_inputs_(n_inputs),
      instructions_(std::move(instructions)),
      forests_(std::move(forests)),
      outputs_(std::move(outputs)) {
  const auto earlier = [](std::int32_t i, std::size_t here) { return i >= 0 && at(i) < here; };
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& step = instructions_[i];
    const auto code = static_cast<std::int32_t>(step.operation);
    require(code >= 0 && code < static_cast<std::int32_t>(Operation::kCount), "an operation is unknown");
    require(std::isfinite(step.value), "a number is not finite");
    if (step.operation == Operation::kConstant) continue;
    if (step.operation == Operation::kInput) {
      require(step.a >= 0 && at(step.a) < n_inputs_, "an input does not exist");
    } else if (step.operation == Operation::kForest) {
      require(step.a >= 0 && at(step.a) < forests_.size(), "a forest does not exist");
      const ProgramForest& used = forests_[at(step.a)];
      require(used.forest && used.inputs.size() == used.forest->n_inputs(), "a forest has the wrong number of inputs");
      require(used.angles.size() == used.inputs.size(), "a forest must have one angle flag per input");
      for (const std::int32_t input : used.inputs) require(earlier(input, i), "a forest reads a later result");
    } else {
      for (const std::int32_t read : {step.a, step.b, step.c}) require(earlier(read, i), "a later result is read");
    }
  }
  require(!outputs_.empty(), "there are no outputs");
  for (const std::int32_t output : outputs_) require(earlier(output, instructions_.size()), "an output does not exist");
}

void StepProgram::bound(const AffineArithmetic& arithmetic, const double* inputs, Room& room) const {
  room.forms.resize(instructions_.size() * arithmetic.width());
  for (std::size_t i = 0; i < instructions_.size(); ++i)
    bound_one(arithmetic, instructions_[i], inputs, room.forms.data() + i * arithmetic.width(), room);
}

void StepProgram::bound_one(const AffineArithmetic& on, const Instruction& step, const double* inputs, double* z,
                            Room& room) const {
  if (step.operation == Operation::kConstant) return on.constant(step.value, z);
  if (step.operation == Operation::kInput) return on.copy(inputs + at(step.a) * on.width(), z);
  if (step.operation == Operation::kForest) return bound_forest(on, forests_[at(step.a)], z, room);
  const auto form = [&](std::int32_t i) { return room.forms.data() + at(i) * on.width(); };
  const double *x = form(step.a), *y = form(step.b);
  switch (step.operation) {
    case Operation::kAdd:
      return on.add(x, y, z);
    case Operation::kSubtract:
      return on.subtract(x, y, z);
    case Operation::kMultiply:
      return on.multiply(x, y, z);
    case Operation::kDivide: {
      // 1 / y is not stored in z, because a product may not overwrite its factors.
      std::vector<double>& reciprocal = room.slopes;
      reciprocal.resize(std::max(reciprocal.size(), on.width()));
      on.power(y, -1.0, reciprocal.data());
      return on.multiply(x, reciprocal.data(), z);
    }
    case Operation::kPower:
      return on.power(x, step.value, z);
    case Operation::kSine:
      return on.sine(x, z);
    case Operation::kCosine:
      return on.cosine(x, z);
    case Operation::kTangent:
      return on.tangent(x, z);
    case Operation::kExponential:
      return on.exponential(x, z);
    case Operation::kLogarithm:
      return on.logarithm(x, z);
    case Operation::kHyperbolicTangent:
      return on.hyperbolic_tangent(x, z);
    case Operation::kArcTangent:
      return on.arc_tangent(x, z);
    case Operation::kAbsolute:
      return on.absolute(x, z);
    default:
      return bound_logic(on, step, x, y, form(step.c), z);
  }
}

void StepProgram::bound_logic(const AffineArithmetic& on, const Instruction& step, const double* x, const double* y,
                              const double* w, double* z) const {
  const Interval a = on.range(x), b = on.range(y);
  const auto decided = [&](bool yes, bool no) {
    if (yes) return on.constant(1.0, z);
    if (no) return on.constant(0.0, z);
    return on.interval({0.0, 1.0}, z);
  };
  const int p = truth(a), q = truth(b);
  switch (step.operation) {
    case Operation::kMinimum:
    case Operation::kMaximum: {
      const bool least = step.operation == Operation::kMinimum;
      if (least ? a.hi <= b.lo : a.lo >= b.hi) return on.copy(x, z);
      if (least ? b.hi <= a.lo : b.lo >= a.hi) return on.copy(y, z);
      if (b.lo == b.hi) return on.clip(x, least ? -HUGE_VAL : b.lo, least ? b.hi : HUGE_VAL, z);
      if (a.lo == a.hi) return on.clip(y, least ? -HUGE_VAL : a.lo, least ? a.hi : HUGE_VAL, z);
      return on.either(x, y, z);
    }
    case Operation::kSign:
      if (a.lo > 0.0) return on.constant(1.0, z);
      if (a.hi < 0.0) return on.constant(-1.0, z);
      return on.interval({-1.0, 1.0}, z);
    case Operation::kLess:
      return decided(a.hi < b.lo, a.lo >= b.hi);
    case Operation::kLessEqual:
      return decided(a.hi <= b.lo, a.lo > b.hi);
    case Operation::kEqual:
      return decided(a.lo == a.hi && a.lo == b.lo && b.lo == b.hi, a.hi < b.lo || b.hi < a.lo);
    case Operation::kAnd:
      return decided(p == 1 && q == 1, p == 0 || q == 0);
    case Operation::kOr:
      return decided(p == 1 || q == 1, p == 0 && q == 0);
    case Operation::kNot:
      return decided(p == 0, p == 1);
    case Operation::kSelect:
      if (p == 1) return on.copy(y, z);
      if (p == 0) return on.copy(w, z);
      return on.either(y, w, z);
    case Operation::kWrap: {
      constexpr double pi = std::numbers::pi;
      const double turns = std::floor((a.lo + pi) / (2 * pi));
      if (a.lo > -pi + 2 * pi * turns + 1e-9 && a.hi < pi + 2 * pi * turns - 1e-9)
        return on.shift(x, -2 * pi * turns, z);
      return on.interval(outwards(-pi, pi), z);
    }
    default:
      return on.unbounded(z);
  }
}

void StepProgram::bound_forest(const AffineArithmetic& on, const ProgramForest& used, double* z, Room& room) const {
  const Forest& forest = *used.forest;
  const std::size_t n = forest.n_inputs();
  room.sides.resize(2 * n);
  room.slopes.resize(std::max(n, on.width()) + n * on.width());
  double* clipped = room.slopes.data() + std::max(n, on.width());
  for (std::size_t d = 0; d < n; ++d) {
    const double* x = room.forms.data() + at(used.inputs[d]) * on.width();
    if (!on.bounded(x)) return on.unbounded(z);
    if (used.angles[d]) {
      // The instruction's own result temporarily holds the angle.
      turn(on, x, {forest.box().lo[d], forest.box().hi[d]}, z);
      x = z;
    }
    on.clip(x, forest.box().lo[d], forest.box().hi[d], clipped + d * on.width());
    const Interval range = on.range(clipped + d * on.width());
    room.sides[d] = std::nextafter(std::max(range.lo, forest.box().lo[d]), -HUGE_VAL);
    room.sides[n + d] = std::min(range.hi, forest.box().hi[d]);
  }
  const ForestRange found =
      ForestBounds(forest).bound(room.sides.data(), room.sides.data() + n, room.slopes.data(), room.forest);
  on.interval(found.rest, z);
  for (std::size_t d = 0; d < n; ++d) on.add_scaled(clipped + d * on.width(), room.slopes[d], z);
}

namespace {

constexpr std::size_t kRows = 128;  // in a block: the results of several hundred operations stay in the cache

double result(const Instruction& step, double x, double y, double w) {
  switch (step.operation) {
    case Operation::kDivide:
      return x / y;
    case Operation::kPower:
      return std::pow(x, step.value);
    case Operation::kSine:
      return std::sin(x);
    case Operation::kCosine:
      return std::cos(x);
    case Operation::kTangent:
      return std::tan(x);
    case Operation::kExponential:
      return std::exp(x);
    case Operation::kLogarithm:
      return std::log(x);
    case Operation::kHyperbolicTangent:
      return std::tanh(x);
    case Operation::kArcTangent:
      return std::atan(x);
    case Operation::kAbsolute:
      return std::abs(x);
    case Operation::kMinimum:
      return std::min(x, y);
    case Operation::kMaximum:
      return std::max(x, y);
    case Operation::kSign:
      return static_cast<double>((x > 0.0) - (x < 0.0));
    case Operation::kLess:
      return x < y;
    case Operation::kLessEqual:
      return x <= y;
    case Operation::kEqual:
      return x == y;
    case Operation::kAnd:
      return x != 0.0 && y != 0.0;
    case Operation::kOr:
      return x != 0.0 || y != 0.0;
    case Operation::kNot:
      return x == 0.0;
    case Operation::kSelect:
      return x != 0.0 ? y : w;
    case Operation::kWrap:
      return wrapped(x);
    default:
      throw std::invalid_argument("program: an operation is unknown");
  }
}

}  // namespace

void StepProgram::run(const double* rows, std::size_t n, double* outputs, std::vector<double>& room) const {
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t count = std::min(kRows, n - first);
    room.resize(instructions_.size() * count);
    for (std::size_t i = 0; i < instructions_.size(); ++i)
      run_block(instructions_[i], rows + first * n_inputs_, count, room.data(), room.data() + i * count);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        outputs[(first + r) * outputs_.size() + i] = room[output(i) * count + r];
  }
}

// One operation for all rows of a block: `values` holds n results per instruction. The frequent operations have loops
// of their own, which compilers turn into vector instructions.
void StepProgram::run_block(const Instruction& step, const double* rows, std::size_t n, const double* values,
                            double* z) const {
  if (step.operation == Operation::kConstant) return void(std::fill_n(z, n, step.value));
  if (step.operation == Operation::kForest) return run_forest(forests_[at(step.a)], n, values, z);
  if (step.operation == Operation::kInput) {
    for (std::size_t r = 0; r < n; ++r) z[r] = rows[r * n_inputs_ + at(step.a)];
    return;
  }
  const double *x = values + at(step.a) * n, *y = values + at(step.b) * n, *w = values + at(step.c) * n;
  switch (step.operation) {
    case Operation::kAdd:
      for (std::size_t r = 0; r < n; ++r) z[r] = x[r] + y[r];
      return;
    case Operation::kSubtract:
      for (std::size_t r = 0; r < n; ++r) z[r] = x[r] - y[r];
      return;
    case Operation::kMultiply:
      for (std::size_t r = 0; r < n; ++r) z[r] = x[r] * y[r];
      return;
    default:
      for (std::size_t r = 0; r < n; ++r) z[r] = result(step, x[r], y[r], w[r]);
  }
}

void StepProgram::run_forest(const ProgramForest& used, std::size_t n, const double* values, double* z) const {
  const Box& box = used.forest->box();
  std::vector<double> row(used.inputs.size());
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t d = 0; d < row.size(); ++d) {
      const double x = values[at(used.inputs[d]) * n + r];
      row[d] = std::clamp(used.angles[d] ? wrap(x, {box.lo[d], box.hi[d]}) : x, box.lo[d], box.hi[d]);
    }
    z[r] = used.forest->predict(row.data());
  }
}

}  // namespace policyforest
