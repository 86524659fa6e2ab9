#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "policyforest/knownness/knownness.hpp"

namespace policyforest {

namespace {

using Numbers = nb::ndarray<nb::numpy, double>;

void make_knownness(KnownnessForest* self, const Rows2& box, bool original, std::size_t n_trees, std::size_t max_points,
                    std::uint64_t seed, double enough) {
  const KnownnessForm form = original ? KnownnessForm::original : KnownnessForm::density;
  new (self) KnownnessForest(to_box(box), {form, n_trees, max_points, seed, enough});
}

void insert(KnownnessForest& self, const Rows2& points, std::size_t n_threads) {
  const nb::gil_scoped_release release;
  self.insert(points.data(), points.shape(0), n_threads);
}

Numbers knownness(const KnownnessForest& self, const Rows2& rows, std::size_t n_threads) {
  std::vector<double> out(rows.shape(0));
  {
    const nb::gil_scoped_release release;
    self.knownness(rows.data(), out.size(), out.data(), n_threads);
  }
  return to_numpy(std::move(out), {rows.shape(0)});
}

// (boxes, number of points in each, knownness of each)
std::tuple<Numbers, Numbers, Numbers> leaves(const KnownnessForest& self, std::size_t tree) {
  const std::vector<KnownnessLeaf> found = self.leaves(tree);
  std::vector<double> boxes, counts, known;
  for (const KnownnessLeaf& leaf : found) {
    for (std::size_t d = 0; d < self.dims(); ++d) boxes.insert(boxes.end(), {leaf.box.lo[d], leaf.box.hi[d]});
    counts.push_back(static_cast<double>(leaf.n_points));
    known.push_back(leaf.knownness);
  }
  const std::size_t n = found.size();
  return {to_numpy(std::move(boxes), {n, self.dims(), 2}), to_numpy(std::move(counts), {n}),
          to_numpy(std::move(known), {n})};
}

NativeForest* blend(const NativeForest& forest, const KnownnessForest& known, double optimistic, double fade,
                    std::size_t n_threads) {
  const nb::gil_scoped_release release;
  return new NativeForest(optimistic_leaves(forest.forest, known, optimistic, fade, n_threads));
}

}  // namespace

void register_knownness(nb::module_& m) {
  nb::class_<KnownnessForest>(m, "KnownnessForest")
      .def("__init__", make_knownness, nb::arg("box"), nb::arg("original"), nb::arg("n_trees"), nb::arg("max_points"),
           nb::arg("seed"), nb::arg("enough"))
      .def_prop_ro("n_points", &KnownnessForest::n_points)
      .def_prop_ro("n_leaves", &KnownnessForest::n_leaves)
      .def("insert", insert, nb::arg("points"), nb::arg("n_threads") = 1)
      .def("knownness", knownness, nb::arg("rows"), nb::arg("n_threads") = 1)
      .def("leaves", leaves, nb::arg("tree"));
  m.def("optimistic_leaves", blend, nb::arg("forest"), nb::arg("known"), nb::arg("optimistic"), nb::arg("fade"),
        nb::arg("n_threads") = 1, nb::rv_policy::take_ownership);
}

}  // namespace policyforest
