#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "policyforest/algebra/algebra.hpp"

namespace policyforest {

namespace {

NativeForest* run(const std::function<Forest(const std::atomic<bool>*)>& make) {
  std::optional<Forest> forest;
  run_interruptibly([&](const std::atomic<bool>* cancel) { forest.emplace(make(cancel)); });
  return new NativeForest(std::move(*forest));
}

NativeForest* project_forest(const NativeForest& self, Vector x, const std::vector<std::uint8_t>& fixed) {
  const nb::gil_scoped_release release;
  return new NativeForest(project(self.forest, std::span(x.data(), x.size()), fixed));
}

NativeForest* average_forest(const NativeForest& self, const std::vector<double>& weights, std::size_t max_leaves) {
  return run([&](const std::atomic<bool>* cancel) {
    std::vector<Tree> trees;
    trees.push_back(average(self.forest, max_leaves, weights, cancel));
    return Forest(std::move(trees), self.forest.box());
  });
}

NativeForest* prune_forest(const NativeForest& self, std::size_t max_leaves) {
  return run([&](const std::atomic<bool>* cancel) {
    std::vector<Tree> trees;
    for (std::size_t k = 0; k < self.forest.n_trees(); ++k) {
      if (cancel->load()) throw std::runtime_error("cancelled");
      trees.push_back(prune(self.forest.tree(k), self.forest.box(), max_leaves));
    }
    return Forest(std::move(trees), self.forest.box());
  });
}

NativeForest* select_trees(const NativeForest& self, const std::vector<std::size_t>& numbers) {
  std::vector<Tree> trees;
  for (std::size_t k : numbers) {
    const TreeView view = self.forest.tree(k);
    trees.push_back(
        {{view.nodes.begin(), view.nodes.end()}, {view.coefficients.begin(), view.coefficients.end()}, view.n_inputs});
  }
  return new NativeForest(Forest(std::move(trees), self.forest.box()));
}

NativeForest* join_forests(const std::vector<const NativeForest*>& parts) {
  std::vector<const Forest*> forests;
  for (const NativeForest* part : parts) forests.push_back(&part->forest);
  const nb::gil_scoped_release release;
  return new NativeForest(Forest(std::span<const Forest* const>(forests)));
}

}  // namespace

void register_algebra(nb::module_& m) {
  m.def("project", project_forest, nb::arg("forest"), nb::arg("x"), nb::arg("fixed"), nb::rv_policy::take_ownership);
  m.def("average", average_forest, nb::arg("forest"), nb::arg("weights"), nb::arg("max_leaves"),
        nb::rv_policy::take_ownership);
  m.def("prune", prune_forest, nb::arg("forest"), nb::arg("max_leaves"), nb::rv_policy::take_ownership);
  m.def("select_trees", select_trees, nb::arg("forest"), nb::arg("numbers"), nb::rv_policy::take_ownership);
  m.def("join_forests", join_forests, nb::arg("parts"), nb::rv_policy::take_ownership);
}

}  // namespace policyforest
