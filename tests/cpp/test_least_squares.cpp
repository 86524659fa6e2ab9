// Linear leaves: what a leaf makes of few, equal and dependent samples, and how far all samples spread.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "grow/spread.hpp"
#include "policyforest/grow/least_squares.hpp"

using namespace policyforest;

namespace {

using Column = std::vector<double>;

// (w…, c) of a leaf with these samples, bounded in the box (none: not bounded).
Column model(const Spread& spread, const std::vector<Column>& x, const Column& y, const Column& weight = {},
             const std::vector<Interval>& box = {}) {
  std::vector<const double*> columns;
  for (const Column& column : x) columns.push_back(column.data());
  LinearFit leaf(spread);
  leaf.fit(columns, y.data(), weight.empty() ? nullptr : weight.data(), y.size(), x.size());
  Column result;
  leaf.append_model(box.empty() ? 1.0 : leaf.share_within(box), result);
  return result;
}

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

const Spread kUnit{{1.0, 1.0}, 1.0, {-2.0, 2.0}};

void two_samples_are_not_trusted() {
  // rank 1, m = 1, so sigma^2 = V: with dx = 1e-6 the plain slope would be 1e6.
  const Column w = model({{1.0}, 1.0, {-2.0, 2.0}}, {{0.0, 1e-6}}, {-0.5, 0.5});
  const double xx = 2 * 0.25e-12, xy = 2 * 0.25e-6, lambda = 0.25 / 4;
  CHECK(near(w[0], xy / (xx + lambda), 1e-12));
  CHECK(near(w[0] * 0.5e-6 + w[1], 0.0, 1e-12));  // the mean of y at the mean of x
}

void noise_shrinks_by_the_formula() {
  const Column x{-1, 0, 1, 2}, y{1, -1, 0.5, 2};
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    xx += (x[i] - 0.5) * (x[i] - 0.5);
    xy += (x[i] - 0.5) * (y[i] - 0.625);
    yy += (y[i] - 0.625) * (y[i] - 0.625);
  }
  const double noise = (yy - xy * xy / xx) / 3 + yy / 4 / 9;
  const double S = 3.0, Y = 5.0;
  CHECK(near(model({{S}, Y, {-9, 9}}, {x}, y)[0], xy / (xx + noise / (4 * Y * Y) * S * S), 1e-12));
}

void repeated_samples_are_one_with_a_larger_weight() {
  const Column once = model(kUnit, {{0, 1, 2}, {1, 0, 0.5}}, {0, 1, 5}, {1, 3, 2});
  const Column often = model(kUnit, {{0, 1, 1, 1, 2, 2}, {1, 0, 0, 0, 0.5, 0.5}}, {0, 1, 1, 1, 5, 5});
  const Column scaled = model(kUnit, {{0, 1, 2}, {1, 0, 0.5}}, {0, 1, 5}, {1e-30, 3e-30, 2e-30});
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(near(once[j], often[j], 1e-12));
    CHECK(near(once[j], scaled[j], 1e-12));
  }
}

void equal_columns_share_their_slope_and_constant_ones_have_none() {
  const Column x{0, 1, 2, 3, 4}, y{0, 1, 2, 3, 4}, constant(5, 7.0);
  const Column both = model(kUnit, {x, x}, y);
  CHECK(near(both[0], both[1], 1e-12));
  CHECK(near(both[0] + both[1], 1.0, 0.01));
  CHECK(model(kUnit, {x, constant}, y)[1] == 0.0);
  CHECK(model({{1.0, 0.0}, 1.0, {-2, 2}}, {x, {0, 1e-12, 0, 0, 0}}, y)[1] == 0.0);
  const Column flat = model({{0.0, 0.0}, 0.0, {3, 3}}, {x, x}, Column(5, 3.0));
  CHECK(flat == Column{0.0, 0.0, 3.0});
}

void predictions_in_the_box_are_bounded() {
  Column x, y;
  for (int i = 0; i <= 100; ++i) {
    x.push_back(i * 1e-3);
    y.push_back(i * 1e-2);
  }
  const Spread spread{{1.0}, 1.0, {0.0, 1.0}};
  const Column free = model(spread, {x}, y, {}, {{-0.5, 1.0}}), bounded = model(spread, {x}, y, {}, {{-5.0, 3.0}});
  CHECK(near(free[0], 10.0, 1e-2));  // 10 at 1, 5 below at -0.5: near enough
  CHECK(near(bounded[0] * -5.0 + bounded[1], -kReach, 1e-9));
  CHECK(near(bounded[0] * 0.05 + bounded[1], 0.5, 1e-12));
  CHECK(bounded[0] * 3.0 + bounded[1] <= 1.0 + kReach);
}

Spread spread_of_columns(const Column& x, const Column& y, std::vector<Period> periods = {}) {
  Column all = x;
  all.insert(all.end(), y.begin(), y.end());
  const TrainingSet data{y.size(), 1, all.data(), all.data() + y.size(), nullptr, nullptr};
  return spread_of(RootColumns(data, periods), periods);
}

void an_angle_spreads_as_far_wherever_its_seam_is() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.0, 0.2);
  Column angle, turned, y;
  for (int i = 0; i < 500; ++i) {
    angle.push_back(std::clamp(normal(random), -1.0, 1.0));
    turned.push_back(angle.back() < 0 ? angle.back() + 2 : angle.back() - 2);  // half a turn
    y.push_back(i);
  }
  const std::vector<Period> turn{{-2, 2}};
  const double plain = spread_of_columns(angle, y).inputs[0];
  CHECK(near(spread_of_columns(angle, y, turn).inputs[0], plain, 1e-9));
  CHECK(near(spread_of_columns(turned, y, turn).inputs[0], plain, 1e-9));
  CHECK(spread_of_columns(turned, y).inputs[0] > 5 * plain);
}

void spreads_have_no_unit() {
  const Column x{1, 2, 4}, y{3, 3, 9};
  CHECK(near(spread_of_columns(x, y).inputs[0], std::sqrt(14.0 / 9), 1e-12));
  CHECK(near(spread_of_columns(x, y).target, std::sqrt(8.0), 1e-12));
  CHECK(near(spread_of_columns({1e-200, 2e-200, 4e-200}, y).inputs[0] * 1e200, std::sqrt(14.0 / 9), 1e-12));
  CHECK(spread_of_columns({1, 1 + 1e-9, 1}, y).inputs[0] == 0.0);
  CHECK(spread_of_columns({0, 5e-324, 0}, y).inputs[0] == 0.0);  // slopes would be infinite
  CHECK(spread_of_columns(x, {3, 3, 3}).inputs[0] == 0.0);
}

}  // namespace

int main() {
  two_samples_are_not_trusted();
  noise_shrinks_by_the_formula();
  repeated_samples_are_one_with_a_larger_weight();
  equal_columns_share_their_slope_and_constant_ones_have_none();
  predictions_in_the_box_are_bounded();
  an_angle_spreads_as_far_wherever_its_seam_is();
  spreads_have_no_unit();
  return check::report();
}
