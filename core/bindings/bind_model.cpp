// Learned models for Python: they are assembled part by part, stepped for many rows, and rolled out with a policy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "policyforest/model/rollouts.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

using Numbers = nb::ndarray<nb::numpy, double>;
using Streams = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sizes = std::vector<std::size_t>;
using Shapes = std::vector<std::tuple<std::size_t, std::size_t, bool>>;

// `inputs` holds a row (centre, scale, turn, low, high) for each input.
RegressorGroup make_group(Rows2 inputs) {
  if (inputs.shape(1) != 5) throw std::invalid_argument("inputs: must have five columns");
  RegressorGroup group;
  std::vector<Features::Input> features;
  for (std::size_t d = 0; d < inputs.shape(0); ++d) {
    features.push_back({inputs(d, 0), inputs(d, 1), inputs(d, 2)});
    group.range.lo.push_back(inputs(d, 3));
    group.range.hi.push_back(inputs(d, 4));
  }
  group.features = Features(std::move(features));
  return group;
}

void add_output(RegressorGroup& group, Vector coefficients, const NativeForest* forest) {
  Regressor output;
  output.coefficients.assign(coefficients.data(), coefficients.data() + coefficients.shape(0));
  if (forest) output.forest = std::make_shared<const Predictor>(forest->forest);
  group.outputs.push_back(std::move(output));
  group.check("outputs");
}

// Gives the last output a kernel expansion over the scaled inputs.
void set_kernel(RegressorGroup& group, Vector lengths, Rows2 centres, Vector weights) {
  if (group.outputs.empty()) throw std::invalid_argument("kernel: add an output first");
  const std::size_t width = lengths.shape(0);
  if (centres.shape(1) != width || centres.shape(0) != weights.shape(0))
    throw std::invalid_argument("centres: must have one row per weight and one column per length");
  const std::vector<double> scales(lengths.data(), lengths.data() + width);
  for (const double length : scales)
    if (!(length > 0.0)) throw std::invalid_argument("lengths: must be positive");
  group.outputs.back().kernel =
      std::make_shared<const Kernel>(scales, centres.data(), weights.data(), weights.shape(0));
  group.check("outputs");
}

Numbers group_predict(const RegressorGroup& group, Rows2 rows, std::size_t n_threads) {
  if (rows.shape(1) != group.features.n_inputs()) throw std::invalid_argument("rows: has the wrong number of columns");
  std::vector<double> out(rows.shape(0) * group.outputs.size());
  {
    const nb::gil_scoped_release release;
    constexpr std::size_t kRows = 512;
    parallel_for((rows.shape(0) + kRows - 1) / kRows, n_threads, [&] {
      return [&](std::size_t b) {
        const std::size_t begin = b * kRows, n = std::min(kRows, rows.shape(0) - begin);
        group.predict(rows.data() + begin * rows.shape(1), n, out.data() + begin * group.outputs.size());
      };
    });
  }
  return to_numpy(std::move(out), {rows.shape(0), group.outputs.size()});
}

Numbers group_features(const RegressorGroup& group, Rows2 rows, std::size_t degree) {
  if (degree < 1 || degree > Features::kMaxDegree) throw std::invalid_argument("degree: must be from 1 to 5");
  if (rows.shape(1) != group.features.n_inputs()) throw std::invalid_argument("rows: has the wrong number of columns");
  const std::size_t count = group.features.size(degree);
  std::vector<double> out(rows.shape(0) * count);
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    group.features.fill(rows.data() + i * rows.shape(1), count, out.data() + i * count);
  return to_numpy(std::move(out), {rows.shape(0), count});
}

void set_dynamics(LearnedModel& self, Sizes inputs, const RegressorGroup& group, Sizes plain,
                  const std::vector<std::tuple<std::size_t, std::size_t, double>>& circles) {
  self.inputs = std::move(inputs);
  self.dynamics = group;
  self.plain = std::move(plain);
  self.circles.clear();
  for (const auto& [sine, cosine, radius] : circles) self.circles.push_back({sine, cosine, radius});
}

void set_end(LearnedModel& self, const std::string& kind,
             const std::vector<std::tuple<std::size_t, double, double>>& thresholds, const RegressorGroup* chance,
             const RegressorGroup& reward) {
  using End = LearnedModel::End;
  if (kind != "thresholds" && kind != "logistic" && kind != "forest")
    throw std::invalid_argument("kind: is " + kind + ", must be thresholds, logistic or forest");
  self.end = kind == "thresholds" ? End::kThresholds : kind == "logistic" ? End::kLogistic : End::kForest;
  self.thresholds.clear();
  for (const auto& [dimension, sign, limit] : thresholds) self.thresholds.push_back({dimension, sign, limit});
  if (chance) self.end_chance = *chance;
  self.end_reward = reward;
}

void set_noise(LearnedModel& self, Rows2 residuals, const RegressorGroup* spread) {
  self.n_residuals = residuals.shape(0);
  self.residuals.assign(residuals.data(), residuals.data() + residuals.size());
  if (spread) self.spread = *spread;
}

void set_edge(LearnedModel& self, Rows2 box, Vector margin, bool ends, double value, double reward) {
  self.edge = to_box(box);
  self.margin.assign(margin.data(), margin.data() + margin.shape(0));
  self.leaving_ends = ends;
  self.leaving_value = value;
  self.leaving_reward = reward;
}

// Rows (low, high, rate, dead, step, first, last, steps) of the actuators, the state dimensions that hold their
// previous actions, and pairs (dimension, source) of copies.
void set_signals(LearnedModel& self, Rows2 actuators, Sizes before,
                 const std::vector<std::tuple<std::size_t, std::size_t>>& copies) {
  if (actuators.shape(1) != 8 || actuators.shape(0) != before.size())
    throw std::invalid_argument("actuators: must have eight columns, and one previous action each");
  self.actuators.clear();
  self.copies.clear();
  for (std::size_t j = 0; j < actuators.shape(0); ++j)
    self.actuators.push_back({actuators(j, 0), actuators(j, 1), actuators(j, 2), actuators(j, 3), actuators(j, 4),
                              actuators(j, 5), actuators(j, 6), actuators(j, 7), before[j]});
  for (const auto& [dimension, source] : copies) self.copies.push_back({dimension, source});
}

void require_columns(const char* name, std::size_t columns, std::size_t wanted) {
  if (columns != wanted)
    throw std::invalid_argument(std::string(name) + ": has " + std::to_string(columns) + " columns, must have " +
                                std::to_string(wanted));
}

using Stepped = std::tuple<Numbers, Numbers, Numbers, Numbers>;

Stepped step(const LearnedModel& self, Rows2 states, Rows2 actions, std::optional<Streams> residual_rows, bool keep) {
  const std::size_t n = states.shape(0);
  self.check();
  require_columns("states", states.shape(1), self.n_states);
  require_columns("actions", actions.shape(1), self.n_actions);
  if (actions.shape(0) != n || (residual_rows && residual_rows->shape(0) != n))
    throw std::invalid_argument("actions: must have one row per state");
  if (residual_rows)
    for (std::size_t i = 0; i < n; ++i)
      if ((*residual_rows)(i) >= self.n_residuals) throw std::invalid_argument("residual_rows: is out of range");
  ModelStep out;
  {
    const nb::gil_scoped_release release;
    ModelStepper stepper(self);
    stepper.step(states.data(), actions.data(), residual_rows ? residual_rows->data() : nullptr, n, out);
    if (keep) stepper.keep_in_data(n, out);
  }
  return {to_numpy(std::move(out.next_states), {n, self.n_states}), to_numpy(std::move(out.reward), {n}),
          to_numpy(std::move(out.end_chance), {n}), to_numpy(std::move(out.end_reward), {n})};
}

// The number of blocks of n rows, near the first n rows, that follow them.
std::size_t moves_around(const LearnedModel& self, Rows2 states, Rows2 actions, std::size_t n) {
  const std::size_t n_rows = states.shape(0);
  self.check();
  require_columns("states", states.shape(1), self.n_states);
  require_columns("actions", actions.shape(1), self.n_actions);
  if (actions.shape(0) != n_rows) throw std::invalid_argument("actions: must have one row per state");
  if (n == 0 || n_rows == 0 || n_rows % n != 0) throw std::invalid_argument("n: must divide the number of states");
  return n_rows / n - 1;
}

// Steps of the first n rows and of rows near them, which follow in blocks of n.
Stepped step_around(const LearnedModel& self, Rows2 states, Rows2 actions, std::size_t n) {
  const std::size_t n_rows = states.shape(0), n_moves = moves_around(self, states, actions, n);
  ModelStep out;
  {
    const nb::gil_scoped_release release;
    ModelStepper(self).step_around(states.data(), actions.data(), n, n_moves, out);
  }
  return {to_numpy(std::move(out.next_states), {n_rows, self.n_states}), to_numpy(std::move(out.reward), {n_rows}),
          to_numpy(std::move(out.end_chance), {n_rows}), to_numpy(std::move(out.end_reward), {n_rows})};
}

// Rewards, and probabilities and rewards of an end, for the same steps with given next states.
std::tuple<Numbers, Numbers, Numbers> earn_around(const LearnedModel& self, Rows2 states, Rows2 actions,
                                                  Rows2 next_states, std::size_t n) {
  const std::size_t n_rows = states.shape(0), n_moves = moves_around(self, states, actions, n);
  require_columns("next_states", next_states.shape(1), self.n_states);
  if (next_states.shape(0) != n_rows) throw std::invalid_argument("next_states: must have one row per state");
  ModelStep out;
  {
    const nb::gil_scoped_release release;
    ModelStepper(self).earn_around(states.data(), actions.data(), next_states.data(), n, n_moves, out);
  }
  return {to_numpy(std::move(out.reward), {n_rows}), to_numpy(std::move(out.end_chance), {n_rows}),
          to_numpy(std::move(out.end_reward), {n_rows})};
}

using RolledOut = std::tuple<Numbers, Numbers, nb::ndarray<nb::numpy, std::uint32_t>>;

RolledOut rollouts(const LearnedModel& self, const Controller& controller, Rows2 states,
                   std::optional<Rows2> first_actions, Streams streams, std::size_t n_steps, double discount,
                   std::uint64_t seed, bool noisy, double action_noise, bool trace, std::size_t n_threads) {
  const std::size_t n = states.shape(0);
  self.check();
  require_columns("states", states.shape(1), self.n_states);
  if (first_actions) require_columns("first_actions", first_actions->shape(1), self.n_actions);
  if (streams.shape(0) != n || (first_actions && first_actions->shape(0) != n))
    throw std::invalid_argument("streams: must have one entry per state");
  std::vector<double> values(n), visited(trace ? n * n_steps * self.n_states : 0);
  auto* alive = new std::vector<std::uint32_t>(trace ? n : 0);
  nb::capsule owner(alive, [](void* p) noexcept { delete static_cast<std::vector<std::uint32_t>*>(p); });
  run_interruptibly([&](const std::atomic<bool>* cancel) {
    const RolloutRules rules{n_steps, discount, seed, noisy, action_noise, n_threads, cancel};
    rollout_values(self, controller,
                   {states.data(), first_actions ? first_actions->data() : nullptr, streams.data(), n}, rules, values,
                   visited, *alive);
  });
  const std::size_t n_alive = alive->size();
  return {to_numpy(std::move(values), {n}), to_numpy(std::move(visited), {trace ? n : 0, n_steps, self.n_states}),
          nb::ndarray<nb::numpy, std::uint32_t>(alive->data(), {n_alive}, owner)};
}

nb::ndarray<nb::numpy, std::uint32_t> draws(std::uint64_t seed, Streams streams, std::size_t n_steps,
                                            std::size_t n_residuals) {
  if (n_residuals == 0) throw std::invalid_argument("n_residuals: is 0, must be at least 1");
  auto* out = new std::vector<std::uint32_t>(streams.shape(0) * n_steps);
  nb::capsule owner(out, [](void* p) noexcept { delete static_cast<std::vector<std::uint32_t>*>(p); });
  residual_draws(seed, streams.data(), streams.shape(0), n_steps, n_residuals, out->data());
  return nb::ndarray<nb::numpy, std::uint32_t>(out->data(), {streams.shape(0), n_steps}, owner);
}

Numbers noise_of_actions(std::uint64_t seed, Streams streams, std::size_t n_draws) {
  std::vector<double> out(streams.shape(0) * n_draws);
  action_draws(seed, streams.data(), streams.shape(0), n_draws, out.data());
  return to_numpy(std::move(out), {streams.shape(0), n_draws});
}

void register_learned_model(nb::module_& m) {
  nb::class_<LearnedModel>(m, "LearnedModel")
      .def(
          "__init__",
          [](LearnedModel* self, std::size_t n_states, std::size_t n_actions, Rows2 period) {
            new (self) LearnedModel();
            self->n_states = n_states;
            self->n_actions = n_actions;
            for (std::size_t d = 0; d < period.shape(0); ++d) self->periods.push_back({period(d, 0), period(d, 1)});
          },
          nb::arg("n_states"), nb::arg("n_actions"), nb::arg("period"))
      .def("set_dynamics", &set_dynamics, nb::arg("inputs"), nb::arg("group"), nb::arg("plain"), nb::arg("circles"))
      .def(
          "add_relation",
          [](LearnedModel& self, std::size_t dimension, Sizes sources, const RegressorGroup& formula) {
            self.relations.push_back({dimension, std::move(sources), formula});
          },
          nb::arg("dimension"), nb::arg("sources"), nb::arg("formula"))
      .def(
          "set_reward",
          [](LearnedModel& self, Sizes inputs, const Shapes& shapes, const RegressorGroup& group, double low,
             double high) {
            self.reward = group;
            self.reward_inputs = std::move(inputs);
            self.reward_shapes.clear();
            for (const auto& [sine, cosine, size] : shapes) self.reward_shapes.push_back({sine, cosine, size});
            self.reward_low = low;
            self.reward_high = high;
          },
          nb::arg("inputs"), nb::arg("shapes"), nb::arg("group"), nb::arg("low"), nb::arg("high"))
      .def("set_end", &set_end, nb::arg("kind"), nb::arg("thresholds"), nb::arg("chance").none(), nb::arg("reward"))
      .def("set_noise", &set_noise, nb::arg("residuals"), nb::arg("spread").none())
      .def("set_signals", &set_signals, nb::arg("actuators"), nb::arg("before"), nb::arg("copies"))
      .def("set_edge", &set_edge, nb::arg("box"), nb::arg("margin"), nb::arg("ends"), nb::arg("value"),
           nb::arg("reward"))
      .def("check", &LearnedModel::check)
      .def("step", &step, nb::arg("states"), nb::arg("actions"), nb::arg("residual_rows").none(), nb::arg("keep"))
      .def("step_around", &step_around, nb::arg("states"), nb::arg("actions"), nb::arg("n"))
      .def("earn_around", &earn_around, nb::arg("states"), nb::arg("actions"), nb::arg("next_states"), nb::arg("n"))
      .def("rollouts", &rollouts, nb::arg("controller"), nb::arg("states"), nb::arg("first_actions").none(),
           nb::arg("streams"), nb::arg("n_steps"), nb::arg("discount"), nb::arg("seed"), nb::arg("noisy"),
           nb::arg("action_noise"), nb::arg("trace"), nb::arg("n_threads"));
}

}  // namespace

void register_model(nb::module_& m) {
  nb::class_<RegressorGroup>(m, "RegressorGroup")
      .def(nb::new_(&make_group), nb::arg("inputs"))
      .def("add", &add_output, nb::arg("coefficients"), nb::arg("forest").none())
      .def("set_kernel", &set_kernel, nb::arg("lengths"), nb::arg("centres"), nb::arg("weights"))
      .def("features", &group_features, nb::arg("rows"), nb::arg("degree"))
      .def("predict", &group_predict, nb::arg("rows"), nb::arg("n_threads") = 1);
  register_learned_model(m);
  m.def("residual_draws", &draws, nb::arg("seed"), nb::arg("streams"), nb::arg("n_steps"), nb::arg("n_residuals"));
  m.def("action_draws", &noise_of_actions, nb::arg("seed"), nb::arg("streams"), nb::arg("n_draws"));
}

}  // namespace policyforest
