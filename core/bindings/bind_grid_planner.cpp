// The grid planner for Python.
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"
#include "policyforest/dynamics/grid_planner.hpp"

namespace policyforest {

namespace {

using Numbers = std::vector<double>;

// `axes` holds a row (lo, hi, points, power, periodic) for each of the two states.
std::unique_ptr<GridPlanner> make_planner(const System& system, const std::vector<Numbers>& axes, Numbers actions,
                                          Numbers noises, std::size_t n_threads) {
  if (axes.size() != 2 || axes[0].size() != 5 || axes[1].size() != 5)
    throw std::invalid_argument("axes: must be two rows of five numbers");
  std::array<GridAxis, 2> grid;
  for (std::size_t d = 0; d < 2; ++d) {
    const Numbers& row = axes[d];
    if (!(row[2] >= 2 && row[2] <= 10'000)) throw std::invalid_argument("axes: must have 2 to 10,000 points");
    grid[d] = {row[0], row[1], static_cast<std::size_t>(row[2]), row[3], row[4] != 0};
  }
  std::unique_ptr<GridPlanner> planner;
  run_interruptibly([&](const std::atomic<bool>* cancel) {
    planner = std::make_unique<GridPlanner>(system, grid, std::move(actions), std::move(noises), n_threads, cancel);
  });
  return planner;
}

const double* two(const Vector& state) {
  if (state.shape(0) != 2) throw std::invalid_argument("state: must have two numbers");
  return state.data();
}

}  // namespace

void register_grid_planner(nb::module_& m) {
  nb::class_<GridPlanner>(m, "GridPlanner")
      .def(nb::new_(&make_planner), nb::arg("system"), nb::arg("axes"), nb::arg("actions"), nb::arg("noises"),
           nb::arg("n_threads") = 1, nb::keep_alive<0, 2>())
      .def(
          "sweep",
          [](GridPlanner& self, double discount, std::size_t n_threads) {
            const nb::gil_scoped_release release;
            return self.sweep(discount, n_threads);
          },
          nb::arg("discount"), nb::arg("n_threads") = 1)
      .def(
          "value", [](const GridPlanner& self, const Vector& state) { return self.value(two(state)); },
          nb::arg("state"))
      .def(
          "act",
          [](const GridPlanner& self, const Vector& state, const Numbers& candidates, double discount) {
            if (candidates.empty()) throw std::invalid_argument("candidates: is empty; must hold at least one");
            return self.act(two(state), candidates, discount);
          },
          nb::arg("state"), nb::arg("candidates"), nb::arg("discount"));
}

}  // namespace policyforest
