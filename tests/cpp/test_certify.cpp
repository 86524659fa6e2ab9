// Bounds of closed loops: affine forms hold exact results, programs refuse what is not there, sets are invariant.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "policyforest/certify/closed_loop.hpp"
#include "policyforest/certify/invariant_search.hpp"
#include "policyforest/support/random.hpp"

using namespace policyforest;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x = 1 + 0.5 eps_0, y = -2 + 0.25 eps_0 + eps_1 - 0.5 eps_2
struct Pair {
  std::vector<double> x{1.0, 0.0, 0.5, 0.0, 0.0}, y{-2.0, 0.0, 0.25, 1.0, -0.5};
  static double x_at(const double* e) { return 1.0 + 0.5 * e[0]; }
  static double y_at(const double* e) { return -2.0 + 0.25 * e[0] + e[1] - 0.5 * e[2]; }
};

template <class Apply, class Exact>
void check_holds(const AffineArithmetic& on, const Apply& apply, const Exact& exact) {
  const Pair pair;
  std::vector<double> z(on.width());
  apply(pair.x.data(), pair.y.data(), z.data());
  RandomStream random(7, 0);
  for (int i = 0; i < 2000; ++i) {
    double e[3], linear = z[0];
    for (std::size_t k = 0; k < 3; ++k) {
      e[k] = i % 3 == 0 ? (random.uniform() < 0.5 ? -1.0 : 1.0) : 2.0 * random.uniform() - 1.0;
      linear += z[2 + k] * e[k];
    }
    CHECK(std::abs(exact(Pair::x_at(e), Pair::y_at(e)) - linear) <= z[1] + 1e-12);
  }
}

void check_operations(const AffineArithmetic& on) {
  using P = const double*;
  check_holds(on, [&](P x, P y, double* z) { on.add(x, y, z); }, [](double x, double y) { return x + y; });
  check_holds(on, [&](P x, P y, double* z) { on.subtract(x, y, z); }, [](double x, double y) { return x - y; });
  check_holds(on, [&](P x, P y, double* z) { on.multiply(x, y, z); }, [](double x, double y) { return x * y; });
  check_holds(on, [&](P x, P, double* z) { on.power(x, -1.0, z); }, [](double x, double) { return 1.0 / x; });
  check_holds(on, [&](P, P y, double* z) { on.power(y, 3.0, z); }, [](double, double y) { return y * y * y; });
  check_holds(on, [&](P x, P, double* z) { on.sine(x, z); }, [](double x, double) { return std::sin(x); });
  check_holds(on, [&](P, P y, double* z) { on.cosine(y, z); }, [](double, double y) { return std::cos(y); });
  check_holds(on, [&](P x, P, double* z) { on.exponential(x, z); }, [](double x, double) { return std::exp(x); });
  check_holds(on, [&](P x, P, double* z) { on.logarithm(x, z); }, [](double x, double) { return std::log(x); });
  check_holds(on, [&](P, P y, double* z) { on.absolute(y, z); }, [](double, double y) { return std::abs(y); });
  for (const double low : {-3.0, -2.5, -kInfinity})
    check_holds(
        on, [&](P, P y, double* z) { on.clip(y, low, -1.5, z); },
        [low](double, double y) { return std::clamp(y, low, -1.5); });
}

void check_unbounded() {
  const AffineArithmetic on(1, 1);
  const std::vector<double> around_zero{0.0, 0.0, 1.0};
  std::vector<double> z(3);
  on.power(around_zero.data(), -1.0, z.data());
  CHECK(!on.bounded(z.data()));
  on.logarithm(around_zero.data(), z.data());
  CHECK(!on.bounded(z.data()));
  on.sine(z.data(), z.data());
  CHECK(on.range(z.data()).hi >= 1.0 && on.range(z.data()).hi < 1.001);
}

StepProgram pushed() {  // s' = 0.5 s + 0.1 u + w
  using Op = Operation;
  std::vector<Instruction> steps{
      {Op::kInput, 0, 0, 0, 0.0},    {Op::kInput, 1, 0, 0, 0.0},    {Op::kInput, 2, 0, 0, 0.0},
      {Op::kConstant, 0, 0, 0, 0.5}, {Op::kMultiply, 3, 0, 0, 0.0}, {Op::kConstant, 0, 0, 0, 0.1},
      {Op::kMultiply, 5, 1, 1, 0.0}, {Op::kAdd, 4, 6, 6, 0.0},      {Op::kAdd, 7, 2, 2, 0.0}};
  return StepProgram(3, steps, {}, {8});
}

CertifiedPolicy constant_policy(double value) {
  CertifiedPolicy policy;
  policy.forests.push_back(std::make_shared<const Forest>(
      std::vector<Node>{{value, 0, -1}}, std::vector<std::int64_t>{0, 1}, std::vector<double>{}, Box{{-1.0}, {1.0}}));
  policy.actions = {{-1.0}, {1.0}};
  return policy;
}

LoopSettings settings(double noise) {
  LoopSettings made;
  made.disturbance = {{-noise}, {noise}};
  made.model_error = {0.0};
  made.slack = {1e-9};
  made.limits = {{-1.0}, {1.0}};
  return made;
}

double proved_share(double noise, std::size_t steps, std::size_t n_threads) {
  LoopSettings made = settings(noise);
  made.steps = steps;
  const ClosedLoop loop(constant_policy(0.0), pushed(), made);
  SearchSettings wanted;
  wanted.root = {{-1.0}, {1.0}};
  wanted.smallest = {1e-3};
  InvariantSearch search(loop, wanted);
  while (search.round(n_threads, nullptr)) {
  }
  double share = 0.0;
  for (std::size_t i = 0; i < search.n_cells(); ++i)
    if (search.status(i) == InvariantSearch::Status::kProved) share += (search.high(i)[0] - search.low(i)[0]) / 2;
  return share;
}

void check_sets() {
  for (const std::size_t threads : {1u, 3u}) {
    CHECK(proved_share(0.4, 1, threads) > 0.999);
    CHECK(proved_share(0.6, 1, threads) == 0.0);
    CHECK(proved_share(0.4, 5, threads) > 0.999);
  }
}

void check_cancel() {
  const ClosedLoop loop(constant_policy(0.0), pushed(), settings(0.4));
  SearchSettings wanted;
  wanted.root = {{-1.0}, {1.0}};
  wanted.smallest = {1e-3};
  InvariantSearch search(loop, wanted);
  CHECK(search.round(1, nullptr));
  const std::atomic<bool> cancel{true};
  bool stopped = false;
  try {
    search.round(1, &cancel);
  } catch (const std::runtime_error&) {
    stopped = true;
  }
  CHECK(stopped || !search.round(1, nullptr));
  CHECK(search.status(0) == InvariantSearch::Status::kProved);
}

void check_refusals() {
  using Op = Operation;
  CHECK_INVALID(StepProgram(1, {{Op::kInput, 1, 0, 0, 0.0}}, {}, {0}));
  CHECK_INVALID(StepProgram(1, {{Op::kAdd, 0, 0, 0, 0.0}}, {}, {0}));
  CHECK_INVALID(StepProgram(1, {{Op::kConstant, 0, 0, 0, kInfinity}}, {}, {0}));
  CHECK_INVALID(StepProgram(1, {{Op::kForest, 0, 0, 0, 0.0}}, {}, {0}));
  CHECK_INVALID(StepProgram(1, {{static_cast<Op>(99), 0, 0, 0, 0.0}}, {}, {0}));
  CHECK_INVALID(StepProgram(1, {{Op::kInput, 0, 0, 0, 0.0}}, {}, {}));
  CHECK_INVALID(StepProgram(1, {{Op::kInput, 0, 0, 0, 0.0}}, {}, {1}));
  LoopSettings wrong = settings(0.1);
  wrong.slack = {};
  CHECK_INVALID(ClosedLoop(constant_policy(0.0), pushed(), wrong));
  wrong = settings(-0.1);
  CHECK_INVALID(ClosedLoop(constant_policy(0.0), pushed(), wrong));
  wrong = settings(0.1);
  wrong.steps = 0;
  CHECK_INVALID(ClosedLoop(constant_policy(0.0), pushed(), wrong));
}

void check_last_below() {
  CertifiedPolicy policy = constant_policy(0.0);
  for (const double threshold : {-1.5, -1e-30, 0.0, 0.1, 3.7e8}) {
    policy.arithmetic = PolicyArithmetic::kFloat32;
    const double last = policy.last_below(0, static_cast<float>(threshold));
    CHECK(policy.compared(0, last) <= static_cast<float>(threshold));
    CHECK(policy.compared(0, std::nextafter(last, kInfinity)) > static_cast<float>(threshold));
  }
}

}  // namespace

int main() {
  check_operations(AffineArithmetic(3, 3));
  check_operations(AffineArithmetic(3, 1));
  check_unbounded();
  check_sets();
  check_cancel();
  check_refusals();
  check_last_below();
  return check::report();
}
