#include "numpy_rows.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace policyforest {

bool import_numpy() { return PyArray_ImportNumPyAPI() >= 0; }

const double* vector_data(PyObject* array, Py_ssize_t n) {
  if (!PyArray_Check(array)) return nullptr;
  auto* a = reinterpret_cast<PyArrayObject*>(array);
  if (PyArray_NDIM(a) != 1 || PyArray_TYPE(a) != NPY_DOUBLE || PyArray_DIM(a, 0) != n || !PyArray_ISCARRAY_RO(a))
    return nullptr;
  return static_cast<const double*>(PyArray_DATA(a));
}

PyObject* new_vector(Py_ssize_t n, double** data) {
  npy_intp shape = n;
  PyObject* array = PyArray_SimpleNew(1, &shape, NPY_DOUBLE);
  if (array) *data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
  return array;
}

}  // namespace policyforest
