// Calls with one row as built-in functions of Python, bound to their object. Such a call takes a third less time than
// one through nanobind's dispatch, and with a single tree the call is most of the time.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace policyforest {

// The result of `call`; if it throws, null with Python's error set.
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

// The getter of a property whose value is such a function.
template <PyMethodDef& method>
nanobind::object bound(nanobind::handle self) {
  return nanobind::steal(PyCFunction_New(&method, self.ptr()));
}

}  // namespace policyforest
