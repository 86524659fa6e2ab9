// The shortest way to the numbers of a NumPy array: its C structure (25 ns; nb::ndarray takes 100 ns).
#pragma once

#include <nanobind/nanobind.h>

namespace policyforest {

// Loads NumPy's C interface; called once by the module.
bool import_numpy();

// The numbers of a contiguous float64 array of shape (n,); null where `array` is anything else.
const double* vector_data(PyObject* array, Py_ssize_t n);

// A new float64 array of shape (n,) and its numbers.
PyObject* new_vector(Py_ssize_t n, double** data);

}  // namespace policyforest
