#include "numpy_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace nb = nanobind;

namespace policyforest {

namespace {

template <class T>
constexpr int kType = std::is_same_v<T, double> ? NPY_DOUBLE : NPY_FLOAT;

PyArrayObject* as_array(const nb::object& array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

nb::object stolen(PyObject* result) {
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// The argument as np.asarray converts it. The ValueError for a ragged list is raised with the name of the argument.
nb::object any_array(const char* name, PyObject* given) {
  PyObject* array = PyArray_FromAny(given, nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr);
  if (array) return nb::steal(array);
  nb::python_error error;
  if (!error.matches(PyExc_ValueError)) throw error;
  nb::raise_from(error, PyExc_ValueError, "%s: not an array of numbers (%s)", name, nb::str(error.value()).c_str());
}

// Throws for a masked array with masked entries: any_array would drop the mask and read the masked entries as numbers.
void require_unmasked(const char* name, PyObject* given) {
  if (!PyArray_Check(given) || PyArray_CheckExact(given)) return;
  if (!nb::cast<bool>(nb::module_::import_("numpy.ma").attr("is_masked")(nb::handle(given)))) return;
  PyErr_Format(PyExc_ValueError, "%s: is a masked array with masked entries, must have all of its numbers", name);
  throw nb::python_error();
}

void require_real_vector(const char* name, const nb::object& array, Py_ssize_t n) {
  PyArrayObject* a = as_array(array);
  if (!std::strchr("fiub", PyArray_DESCR(a)->kind)) {
    PyErr_Format(PyExc_TypeError, "%s: holds %S, must hold real numbers", name,
                 reinterpret_cast<PyObject*>(PyArray_DESCR(a)));
    throw nb::python_error();
  }
  if (PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) != n) {
    const nb::object shape = array.attr("shape");
    PyErr_Format(PyExc_ValueError, "%s: has shape %S, must have shape (%zd,)", name, shape.ptr(), n);
    throw nb::python_error();
  }
}

nb::object cast_vector(const nb::object& array, int type) {
  return stolen(
      PyArray_FromArray(as_array(array), PyArray_DescrFromType(type), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
}

// Gymnasium's observations are mostly float32. This adds 80 ns to a call; NumPy's general conversion adds 260 ns.
nb::object widened_vector(const float* numbers, Py_ssize_t n) {
  double* out = nullptr;
  nb::object result = stolen(new_vector(n, &out));
  std::copy_n(numbers, n, out);
  return result;
}

// Rounds to the nearest float. NumPy would warn of overflow and underflow; here overflow is refused, underflow allowed.
nb::object rounded_vector(const char* name, const nb::object& doubles, Py_ssize_t n) {
  const double* numbers = vector_data<double>(doubles.ptr(), n);
  float* out = nullptr;
  nb::object result = stolen(new_vector(n, &out));
  for (Py_ssize_t d = 0; d < n; ++d) {
    out[d] = static_cast<float>(numbers[d]);
    if (std::isfinite(numbers[d]) && !std::isfinite(out[d])) {
      PyErr_Format(PyExc_ValueError,
                   "%s: holds %R at %zd, which is not finite in float32; must be at most 3.40282e+38 in size", name,
                   nb::float_(numbers[d]).ptr(), d);
      throw nb::python_error();
    }
  }
  return result;
}

}  // namespace

bool import_numpy() { return PyArray_ImportNumPyAPI() >= 0; }

template <class T>
const T* vector_data(PyObject* array, Py_ssize_t n) {
  if (!PyArray_CheckExact(array)) return nullptr;  // a subclass, such as a masked array, can mean other numbers
  auto* a = reinterpret_cast<PyArrayObject*>(array);
  if (PyArray_NDIM(a) != 1 || PyArray_TYPE(a) != kType<T> || PyArray_DIM(a, 0) != n || !PyArray_ISCARRAY_RO(a))
    return nullptr;
  return static_cast<const T*>(PyArray_DATA(a));
}

template <class T>
PyObject* new_vector(Py_ssize_t n, T** data) {
  npy_intp shape = n;
  PyObject* array = PyArray_SimpleNew(1, &shape, kType<T>);
  if (array) *data = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
  return array;
}

template <class T>
nb::object converted_vector(const char* name, PyObject* numbers, Py_ssize_t n) {
  if constexpr (std::is_same_v<T, double>) {
    if (const float* singles = vector_data<float>(numbers, n)) return widened_vector(singles, n);
  }
  require_unmasked(name, numbers);
  const nb::object array = any_array(name, numbers);
  require_real_vector(name, array, n);
  if (std::is_same_v<T, float> && PyArray_TYPE(as_array(array)) == NPY_DOUBLE)
    return rounded_vector(name, cast_vector(array, NPY_DOUBLE), n);
  return cast_vector(array, kType<T>);
}

void refuse_number(const char* name, double number, std::size_t where) {
  PyErr_Format(PyExc_ValueError, "%s: holds %R at %zu, all numbers must be finite", name, nb::float_(number).ptr(),
               where);
  throw nb::python_error();
}

template const double* vector_data(PyObject*, Py_ssize_t);
template const float* vector_data(PyObject*, Py_ssize_t);
template PyObject* new_vector(Py_ssize_t, double**);
template PyObject* new_vector(Py_ssize_t, float**);
template nb::object converted_vector<double>(const char*, PyObject*, Py_ssize_t);
template nb::object converted_vector<float>(const char*, PyObject*, Py_ssize_t);

}  // namespace policyforest
