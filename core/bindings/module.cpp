// The module policyforest._core: it only calls the register_* function of each file.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "numpy_rows.hpp"
#include "policyforest/support/kernels.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The native core (C++20). Typed Python in the rest of the package wraps all of it.";
  nb::set_leak_warnings(false);  // objects may outlive the interpreter
  using namespace policyforest;
  if (!import_numpy()) throw nb::python_error();
  m.def("simd_path", [] { return std::string(kernels().name); });
  register_forest(m);
  register_grow(m);
  register_algebra(m);
  register_best_action(m);
  register_certify(m);
  register_controller(m);
  register_dynamics(m);
  register_grid_planner(m);
  register_knownness(m);
  register_model(m);
  register_tracking(m);
}
