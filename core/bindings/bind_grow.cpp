#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "policyforest/grow/grow.hpp"

namespace policyforest {

namespace {

// `grid` has rows (lo, hi, steps) and `period` rows (lo, hi), one per input; the Python side has checked everything.
NativeForest* grow_forest(Rows2 columns, Vector y, std::optional<Vector> score, std::optional<Vector> weight, Rows2 box,
                          Rows2 grid, Rows2 period, std::size_t n_trees, std::size_t max_features,
                          std::size_t min_samples_leaf, double min_variance, bool linear, std::uint64_t seed,
                          std::size_t first_tree, std::size_t n_threads) {
  const TrainingSet data{columns.shape(1),
                         columns.shape(0),
                         columns.data(),
                         y.data(),
                         score ? score->data() : nullptr,
                         weight ? weight->data() : nullptr};
  GrowParameters parameters{n_trees, max_features, min_samples_leaf, min_variance, linear, seed, first_tree, {}, {}};
  for (std::size_t d = 0; d < grid.shape(0); ++d)
    parameters.grids.push_back({grid(d, 0), grid(d, 1), static_cast<std::int32_t>(grid(d, 2))});
  for (std::size_t d = 0; d < period.shape(0); ++d) parameters.periods.push_back({period(d, 0), period(d, 1)});
  std::optional<Forest> forest;
  run_interruptibly(
      [&](const std::atomic<bool>* cancel) { forest.emplace(grow(data, parameters, to_box(box), n_threads, cancel)); });
  return new NativeForest(std::move(*forest));
}

}  // namespace

void register_grow(nb::module_& m) {
  m.def("grow_forest", grow_forest, nb::arg("columns"), nb::arg("y"), nb::arg("score").none(), nb::arg("weight").none(),
        nb::arg("box"), nb::arg("grid"), nb::arg("period"), nb::arg("n_trees"), nb::arg("max_features"),
        nb::arg("min_samples_leaf"), nb::arg("min_variance"), nb::arg("linear"), nb::arg("seed"), nb::arg("first_tree"),
        nb::arg("n_threads"), nb::rv_policy::take_ownership);
}

}  // namespace policyforest
