// Calls with one row as functions of Python's own kind, bound to their object: such a call costs a third less than one
// through the bindings' dispatch, which is most of the time that a single tree takes.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace policyforest {

// What `call` returns; null and Python's error where it throws.
template <class Call>
PyObject* guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  }
  return nullptr;
}

// The getter of a property that is such a function.
template <PyMethodDef& method>
nanobind::object bound(nanobind::handle self) {
  return nanobind::steal(PyCFunction_New(&method, self.ptr()));
}

}  // namespace policyforest
