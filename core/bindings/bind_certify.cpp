// Closed loops and their invariant sets for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "policyforest/certify/closed_loop.hpp"
#include "policyforest/certify/invariant_search.hpp"
#include "policyforest/certify/step_program.hpp"

namespace policyforest {

namespace {

using Numbers = std::vector<double>;
using Codes = nb::ndarray<const std::int32_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Arrays = nb::ndarray<nb::numpy, double>;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

std::shared_ptr<const Forest> shared(const NativeForest* native) {
  require(native != nullptr, "forests: one is None");
  return std::make_shared<const Forest>(native->forest);
}

using UsedForest = std::tuple<const NativeForest*, std::vector<std::int32_t>, std::vector<bool>>;

// `codes` has a row (operation, a, b, c) per instruction. Each forest comes with the instructions that compute its
// inputs, and with flags for those that are angles.
void make_program(StepProgram* self, std::size_t n_inputs, const Codes& codes, const Vector& values,
                  const std::vector<UsedForest>& forests, std::vector<std::int32_t> outputs) {
  require(values.shape(0) == codes.shape(0), "values: must have one number per instruction");
  std::vector<Instruction> instructions;
  for (std::size_t i = 0; i < codes.shape(0); ++i)
    instructions.push_back({static_cast<Operation>(codes(i, 0)), codes(i, 1), codes(i, 2), codes(i, 3), values(i)});
  std::vector<ProgramForest> used;
  for (const auto& [native, inputs, angles] : forests) used.push_back({shared(native), inputs, angles});
  new (self) StepProgram(n_inputs, std::move(instructions), std::move(used), std::move(outputs));
}

Arrays run_program(const StepProgram& program, const Rows2& rows) {
  require(rows.shape(1) == program.n_inputs(), "rows: must have one column per input");
  const std::size_t n = rows.shape(0);
  Numbers out(n * program.n_outputs()), room;
  {
    const nb::gil_scoped_release release;
    program.run(rows.data(), n, out.data(), room);
  }
  return to_numpy(std::move(out), {n, program.n_outputs()});
}

PolicyArithmetic arithmetic_of(const std::string& name) {
  if (name == "float64") return PolicyArithmetic::kFloat64;
  if (name == "float32") return PolicyArithmetic::kFloat32;
  if (name == "int16") return PolicyArithmetic::kInt16;
  throw std::invalid_argument("precision: is " + name + ", must be float64, float32 or int16");
}

// `periods` has a row (lo, hi) per state, with lo == hi if it is not an angle. `cells` has a row (low, scale) per state
// and `outputs` a row (offset, factor) per action; both are empty unless the policy uses 16-bit numbers.
void make_policy(CertifiedPolicy* self, const std::string& precision, const std::vector<const NativeForest*>& forests,
                 const Rows2& actions, const std::vector<std::pair<double, double>>& periods,
                 const std::vector<std::pair<double, double>>& cells,
                 const std::vector<std::pair<double, double>>& outputs) {
  CertifiedPolicy policy;
  policy.arithmetic = arithmetic_of(precision);
  for (const NativeForest* forest : forests) policy.forests.push_back(shared(forest));
  policy.actions = to_box(actions);
  for (const auto& [lo, hi] : periods) policy.periods.push_back({lo, hi});
  for (const auto& [low, scale] : cells) {
    policy.low.push_back(static_cast<float>(low));
    policy.scale.push_back(static_cast<float>(scale));
  }
  for (const auto& [offset, factor] : outputs) {
    policy.offset.push_back(offset);
    policy.factor.push_back(factor);
  }
  new (self) CertifiedPolicy(std::move(policy));
}

void make_loop(ClosedLoop* self, const CertifiedPolicy& policy, const StepProgram& program, const Rows2& disturbance,
               Numbers model_error, Numbers slack, const Rows2& limits,
               const std::vector<std::pair<double, double>>& periods, std::size_t steps, const StepProgram* sensors) {
  LoopSettings settings;
  settings.disturbance = to_box(disturbance);
  settings.model_error = std::move(model_error);
  settings.slack = std::move(slack);
  settings.limits = to_box(limits);
  for (const auto& [lo, hi] : periods) settings.periods.push_back({lo, hi});
  settings.steps = steps;
  new (self)
      ClosedLoop(policy, program, std::move(settings), sensors ? std::optional<StepProgram>(*sensors) : std::nullopt);
}

// Computes a row of `width` numbers for each cell (lo …, hi …), with one of the functions of the loop.
template <class Ask>
Arrays ask_cells(const ClosedLoop& loop, const Rows2& cells, std::size_t width, const Ask& ask) {
  const std::size_t n = loop.n_states();
  require(cells.shape(1) == 2 * n, "cells: rows must hold the lower sides, then the upper ones");
  Numbers out(cells.shape(0) * width);
  {
    const nb::gil_scoped_release release;
    ClosedLoop::Room room;
    for (std::size_t i = 0; i < cells.shape(0); ++i)
      ask(cells.data() + 2 * n * i, cells.data() + 2 * n * i + n, out.data() + width * i, room);
  }
  return to_numpy(std::move(out), {cells.shape(0), width});
}

Arrays successors(const ClosedLoop& loop, const Rows2& cells) {
  Numbers whole(loop.successor_size());
  return ask_cells(loop, cells, 2 * loop.n_states(), [&](const double* lo, const double* hi, double* out, auto& room) {
    loop.successor(lo, hi, whole.data(), room);
    std::copy_n(whole.data(), 2 * loop.n_states(), out);
  });
}

Arrays action_ranges(const ClosedLoop& loop, const Rows2& cells) {
  return ask_cells(
      loop, cells, 2 * loop.policy().forests.size(),
      [&](const double* lo, const double* hi, double* out, auto& room) { loop.actions(lo, hi, out, room); });
}

void make_search(InvariantSearch* self, const ClosedLoop& loop, const Rows2& root, const std::optional<Rows2>& target,
                 Numbers smallest, std::size_t max_cells, std::optional<std::int32_t> horizon) {
  SearchSettings settings;
  settings.root = to_box(root);
  if (target) settings.target = to_box(*target);
  settings.smallest = std::move(smallest);
  settings.max_cells = max_cells;
  if (horizon) settings.horizon = *horizon;
  new (self) InvariantSearch(loop, std::move(settings));
}

// Boxes (lo …, hi …) and successors of all cells, and rows (status, rank); the rank is -1 if a cell is not proved.
std::tuple<Arrays, Arrays, Arrays> cells_of(const InvariantSearch& search, std::size_t n) {
  Numbers boxes, after, state;
  for (std::size_t i = 0; i < search.n_known(); ++i) {
    boxes.insert(boxes.end(), search.low(i), search.low(i) + 2 * n);
    after.insert(after.end(), search.successor(i), search.successor(i) + 2 * n);
    state.push_back(static_cast<double>(search.status(i)));
    state.push_back(search.rank(i) == InvariantSearch::kNever ? -1.0 : search.rank(i));
  }
  const std::size_t count = search.n_known();
  return {to_numpy(std::move(boxes), {count, 2 * n}), to_numpy(std::move(after), {count, 2 * n}),
          to_numpy(std::move(state), {count, 2})};
}

}  // namespace

void register_certify(nb::module_& m) {
  nb::class_<StepProgram>(m, "StepProgram")
      .def("__init__", &make_program, nb::arg("n_inputs"), nb::arg("codes"), nb::arg("values"), nb::arg("forests"),
           nb::arg("outputs"))
      .def("run", &run_program, nb::arg("rows"));
  nb::class_<CertifiedPolicy>(m, "CertifiedPolicy")
      .def("__init__", &make_policy, nb::arg("precision"), nb::arg("forests"), nb::arg("actions"), nb::arg("periods"),
           nb::arg("cells"), nb::arg("outputs"));
  nb::class_<ClosedLoop>(m, "ClosedLoop")
      .def("__init__", &make_loop, nb::arg("policy"), nb::arg("program"), nb::arg("disturbance"),
           nb::arg("model_error"), nb::arg("slack"), nb::arg("limits"), nb::arg("periods"), nb::arg("steps") = 1,
           nb::arg("sensors").none() = nb::none())
      .def("successors", &successors, nb::arg("cells"))
      .def("action_ranges", &action_ranges, nb::arg("cells"));
  nb::class_<InvariantSearch>(m, "InvariantSearch")
      .def("__init__", &make_search, nb::arg("loop"), nb::arg("root"), nb::arg("target").none(), nb::arg("smallest"),
           nb::arg("max_cells"), nb::arg("horizon").none(), nb::keep_alive<1, 2>())
      .def(
          "round",
          [](InvariantSearch& self, std::size_t n_threads) {
            bool more = false;
            run_interruptibly([&](const std::atomic<bool>* cancel) { more = self.round(n_threads, cancel); });
            return more;
          },
          nb::arg("n_threads") = 1)
      .def("cells", [](const InvariantSearch& self) { return cells_of(self, self.n_states()); })
      .def_prop_ro("exhausted", &InvariantSearch::exhausted);
}

}  // namespace policyforest
