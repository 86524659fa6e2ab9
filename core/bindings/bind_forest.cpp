#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "fast_calls.hpp"
#include "numpy_rows.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

using Ints32 = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints64 = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Makes a forest from arrays of equal length. The Python side checks shapes and types; this validates the contents.
void make_forest(NativeForest* self, Ints32 feature, Vector split, Ints32 child, Ints64 node_offsets,
                 Rows2 coefficients, Rows2 box) {
  if (split.shape(0) != feature.shape(0) || child.shape(0) != feature.shape(0))
    throw std::invalid_argument("split, child: must be as long as feature (" + std::to_string(feature.shape(0)) + ")");
  std::vector<Node> nodes(feature.shape(0));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = {split(i), child(i), feature(i)};
  std::vector<std::int64_t> offsets(node_offsets.data(), node_offsets.data() + node_offsets.size());
  std::vector<double> models(coefficients.data(), coefficients.data() + coefficients.size());
  if (coefficients.size() > 0 && coefficients.shape(1) != box.shape(0) + 1)
    throw std::invalid_argument("coefficients: rows must hold a weight for each of the " +
                                std::to_string(box.shape(0)) + " inputs and an intercept");
  new (self) NativeForest(Forest(std::move(nodes), std::move(offsets), std::move(models), to_box(box)));
}

// A read-only view of one field of the nodes, which lie 16 bytes apart.
template <class T>
auto node_field(nb::handle self, const T* first) {
  const auto& forest = nb::cast<const NativeForest&>(self).forest;
  const std::size_t shape[1] = {forest.nodes().size()};
  const std::int64_t strides[1] = {static_cast<std::int64_t>(sizeof(Node) / sizeof(T))};
  return nb::ndarray<nb::numpy, const T>(first, 1, shape, self, strides);
}

template <class T>
auto view(nb::handle self, const std::vector<T>& numbers, std::vector<std::size_t> shape) {
  return nb::ndarray<nb::numpy, const T>(numbers.data(), shape.size(), shape.data(), self);
}

nb::dict arrays(nb::handle self) {
  const Forest& f = nb::cast<const NativeForest&>(self).forest;
  nb::dict result;
  result["feature"] = node_field(self, &f.nodes()[0].feature);
  result["split"] = node_field(self, &f.nodes()[0].split);
  result["child"] = node_field(self, &f.nodes()[0].child);
  result["node_offsets"] = view(self, f.node_offsets(), {f.n_trees() + 1});
  result["leaf_offsets"] = view(self, f.leaf_offsets(), {f.n_trees() + 1});
  result["coefficients"] = view(self, f.coefficients(), {f.linear() ? f.n_leaves() : 0, f.n_inputs() + 1});
  return result;
}

PyObject* predict_one(PyObject* self, PyObject* x) {
  return guarded([&] {
    const auto& native = *nb::inst_ptr<NativeForest>(self);
    const Row<double> row("x", x, native.forest.n_inputs());
    return PyFloat_FromDouble(native.predictor().one(row.data()));
  });
}

PyMethodDef kPredictOne = {"predict_one", predict_one, METH_O,
                           "predict_one(x, /)\n--\n\nF(x) for one row. A contiguous float64 array is read without a "
                           "copy; other real numbers are converted."};

auto predict_rows(const NativeForest& self, Rows2 rows, std::size_t n_threads) {
  constexpr std::size_t kPiece = 4096;
  const std::size_t n = rows.shape(0), width = rows.shape(1);
  std::vector<double> out(n);
  const auto work = [&](const std::atomic<bool>* cancel) {
    const Predictor& predictor = self.predictor();
    parallel_for((n + kPiece - 1) / kPiece, n_threads, [&] {
      return [&](std::size_t piece) {
        if (cancel && cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
        const std::size_t begin = piece * kPiece;
        predictor.many(rows.data() + begin * width, std::min(kPiece, n - begin), out.data() + begin);
      };
    });
  };
  if (n * self.forest.n_trees() < 1'000'000) {  // a few milliseconds: too little work for another thread
    const nb::gil_scoped_release release;
    work(nullptr);
  } else {
    run_interruptibly(work);
  }
  return to_numpy(std::move(out), {n});
}

auto predict_rows_plainly(const NativeForest& self, Rows2 rows) {
  const std::size_t n = rows.shape(0);
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = self.forest.predict(rows.data() + i * rows.shape(1));
  return to_numpy(std::move(out), {n});
}

nb::ndarray<nb::numpy, double> box_array(const NativeForest& self) {
  const Box& box = self.forest.box();
  std::vector<double> numbers;
  for (std::size_t d = 0; d < box.dims(); ++d) numbers.insert(numbers.end(), {box.lo[d], box.hi[d]});
  return to_numpy(std::move(numbers), {box.dims(), 2});
}

std::vector<std::size_t> tree_depths(const NativeForest& self) {
  std::vector<std::size_t> depths;
  for (std::size_t k = 0; k < self.forest.n_trees(); ++k) depths.push_back(depth(self.forest.tree(k)));
  return depths;
}

}  // namespace

void register_forest(nb::module_& m) {
  nb::class_<NativeForest>(m, "Forest")
      .def("__init__", make_forest, nb::arg("feature"), nb::arg("split"), nb::arg("child"), nb::arg("node_offsets"),
           nb::arg("coefficients"), nb::arg("box"))
      .def_prop_ro("n_trees", [](const NativeForest& f) { return f.forest.n_trees(); })
      .def_prop_ro("n_inputs", [](const NativeForest& f) { return f.forest.n_inputs(); })
      .def_prop_ro("n_leaves", [](const NativeForest& f) { return f.forest.n_leaves(); })
      .def_prop_ro("linear", [](const NativeForest& f) { return f.forest.linear(); })
      .def_prop_ro("depths", tree_depths)
      .def_prop_ro("box", box_array, nb::rv_policy::move)
      .def("arrays", arrays, nb::sig("def arrays(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"))
      .def("release_search", [](const NativeForest& f) { f.release_search(); })
      .def_prop_ro("predict_one", bound<kPredictOne>,
                   nb::for_getter(nb::sig("def predict_one(self) -> typing.Callable[[numpy.typing.ArrayLike], float]")))
      .def("predict", predict_rows, nb::arg("rows"), nb::arg("n_threads") = 1)
      .def("predict_plain", predict_rows_plainly, nb::arg("rows"));
}

}  // namespace policyforest
