#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "fast_calls.hpp"
#include "numpy_rows.hpp"
#include "policyforest/policy/controller.hpp"
#include "policyforest/policy/float32_controller.hpp"

namespace policyforest {

namespace {

template <class AnyController>
void make_controller(AnyController* self, const std::vector<const NativeForest*>& forests, Rows2 action_box,
                     Rows2 period) {
  std::vector<const Forest*> members;
  for (const NativeForest* f : forests) members.push_back(&f->forest);
  std::vector<Period> periods;
  for (std::size_t d = 0; d < period.shape(0); ++d) periods.push_back({period(d, 0), period(d, 1)});
  new (self) AnyController(members, to_box(action_box), std::move(periods));
}

template <class AnyController, class T>
PyObject* act(PyObject* self, PyObject* state) {
  return guarded([&] {
    const auto& controller = *nb::inst_ptr<AnyController>(self);
    const Row<T> row("state", state, controller.n_states());
    T* action = nullptr;
    nb::object result = nb::steal(new_vector(static_cast<Py_ssize_t>(controller.n_actions()), &action));
    if (result.is_valid()) controller.act(row.data(), action);
    return result.release().ptr();
  });
}

PyMethodDef kAct = {
    "act", act<Controller, double>, METH_O,
    "act(state, /)\n--\n\nThe action for a state, as float64. A contiguous float64 array is read where it "
    "is; other real numbers are converted."};
PyMethodDef kActFloat32 = {"act", act<Float32Controller, float>, METH_O,
                           "act(state, /)\n--\n\nThe action for a state, as float32. Other numbers are rounded to the "
                           "nearest float32 first."};

auto act_batch(const Controller& self, Rows2 states) {
  const std::size_t n = states.shape(0);
  std::vector<double> out(n * self.n_actions());
  {
    const nb::gil_scoped_release release;
    self.act_many(states.data(), n, out.data());
  }
  return to_numpy(std::move(out), {n, self.n_actions()});
}

using SingleRows = nb::ndarray<const float, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

auto act_batch_float32(const Float32Controller& self, SingleRows states) {
  const std::size_t n = states.shape(0);
  if (states.shape(1) != self.n_states()) throw std::invalid_argument("states: has the wrong number of columns");
  auto* out = new std::vector<float>(n * self.n_actions());
  const nb::capsule owner(out, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  self.act_many(states.data(), n, out->data());
  return nb::ndarray<nb::numpy, float>(out->data(), {n, self.n_actions()}, owner);
}

}  // namespace

void register_controller(nb::module_& m) {
  nb::class_<Controller>(m, "Controller")
      .def("__init__", make_controller<Controller>, nb::arg("forests"), nb::arg("action_box"), nb::arg("period"))
      .def_prop_ro("n_states", &Controller::n_states)
      .def_prop_ro("n_actions", &Controller::n_actions)
      .def_prop_ro("act", bound<kAct>,
                   nb::for_getter(nb::sig(
                       "def act(self) -> typing.Callable[[numpy.typing.ArrayLike], numpy.ndarray[dtype=float64]]")))
      .def("act_batch", act_batch, nb::arg("states"));
  nb::class_<Float32Controller>(m, "Float32Controller")
      .def("__init__", make_controller<Float32Controller>, nb::arg("forests"), nb::arg("action_box"), nb::arg("period"))
      .def_prop_ro("act", bound<kActFloat32>,
                   nb::for_getter(nb::sig(
                       "def act(self) -> typing.Callable[[numpy.typing.ArrayLike], numpy.ndarray[dtype=float32]]")))
      .def("act_batch", act_batch_float32, nb::arg("states"));
}

}  // namespace policyforest
