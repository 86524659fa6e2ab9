#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
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

PyObject* act(const Controller& self, PyObject* state) {
  const double* numbers = vector_data(state, static_cast<Py_ssize_t>(self.n_states()));
  if (!numbers)
    throw std::invalid_argument("state: must be a contiguous float64 array of shape (" +
                                std::to_string(self.n_states()) + ",)");
  for (std::size_t d = 0; d < self.n_states(); ++d)
    if (!std::isfinite(numbers[d])) throw std::invalid_argument("state: holds NaN or infinity at " + std::to_string(d));
  double* action = nullptr;
  nb::object result = nb::steal(new_vector(static_cast<Py_ssize_t>(self.n_actions()), &action));
  if (result.is_valid()) self.act(numbers, action);
  return result.release().ptr();
}

// The fast path is a function of Python's own kind, bound to its controller: the call costs a third less than through
// the bindings' dispatch, which is most of the time that a single tree takes.
PyObject* act_of(PyObject* self, PyObject* state) {
  try {
    return act(*nb::inst_ptr<Controller>(self), state);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
}

PyMethodDef kAct = {"act", act_of, METH_O, "The action for a state: one contiguous float64 array in, one out."};

nb::object bound_act(nb::handle self) {
  return nb::steal(PyCFunction_New(&kAct, self.ptr()));
}

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

nb::object act_batch_float32(const Float32Controller& self, SingleRows states) {
  const std::size_t n = states.shape(0);
  if (states.shape(1) != self.n_states()) throw std::invalid_argument("states: has the wrong number of columns");
  auto* out = new std::vector<float>(n * self.n_actions());
  const nb::capsule owner(out, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  self.act_many(states.data(), n, out->data());
  return nb::cast(nb::ndarray<nb::numpy, float>(out->data(), {n, self.n_actions()}, owner));
}

}  // namespace

void register_controller(nb::module_& m) {
  nb::class_<Controller>(m, "Controller")
      .def("__init__", make_controller<Controller>, nb::arg("forests"), nb::arg("action_box"), nb::arg("period"))
      .def_prop_ro("n_states", &Controller::n_states)
      .def_prop_ro("n_actions", &Controller::n_actions)
      .def_prop_ro("act", bound_act)
      .def("act_batch", act_batch, nb::arg("states"));
  nb::class_<Float32Controller>(m, "Float32Controller")
      .def("__init__", make_controller<Float32Controller>, nb::arg("forests"), nb::arg("action_box"), nb::arg("period"))
      .def("act_batch", act_batch_float32, nb::arg("states"));
}

}  // namespace policyforest
