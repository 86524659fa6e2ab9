// Shared by the bindings: the forest of the Python side, array types, and calls that Ctrl-C can stop.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "policyforest/best_action/line_search.hpp"
#include "policyforest/forest/forest.hpp"
#include "policyforest/forest/predictor.hpp"

namespace nb = nanobind;

namespace policyforest {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A forest and its compiled form, made when it is first needed.
struct NativeForest {
  Forest forest;
  explicit NativeForest(Forest f) : forest(std::move(f)) {}
  const Predictor& predictor() const {
    std::call_once(compiled, [this] { predictor_ = std::make_unique<Predictor>(forest); });
    return *predictor_;
  }
  // The search over one action dimension, kept for later calls because compiling it visits every node. Each dimension
  // has its own, since a search over several dimensions needs one after the other.
  std::shared_ptr<const LineSearch> line_search(std::size_t action) const {
    const std::lock_guard lock(searched);
    auto& kept = searches_[action];
    if (!kept) kept = std::make_shared<const LineSearch>(forest, action);
    return kept;
  }

  // Frees the searches, each of which holds a copy of every node; they are made again when they are needed.
  void release_search() const {
    const std::lock_guard lock(searched);
    searches_.clear();
  }

 private:
  mutable std::once_flag compiled;
  mutable std::unique_ptr<Predictor> predictor_;
  mutable std::mutex searched;
  mutable std::map<std::size_t, std::shared_ptr<const LineSearch>> searches_;
};

// An array that owns the numbers of a vector, without a copy.
inline nb::ndarray<nb::numpy, double> to_numpy(std::vector<double> numbers, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<double>(std::move(numbers));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.data(), owner);
}

inline Box to_box(const Rows2& box) {
  Box result;
  for (std::size_t d = 0; d < box.shape(0); ++d) {
    result.lo.push_back(box(d, 0));
    result.hi.push_back(box(d, 1));
  }
  return result;
}

// Runs work(const std::atomic<bool>* cancel) in its own thread without the GIL and checks for Ctrl-C twenty times
// per second. On Ctrl-C it stops the work and raises Python's exception.
template <class Work>
void run_interruptibly(const Work& work) {
  std::atomic<bool> cancel{false};
  bool done = false;
  std::exception_ptr error;
  std::mutex mutex;
  std::condition_variable finished;
  const nb::gil_scoped_release release;
  std::thread thread([&] {
    try {
      work(&cancel);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    finished.notify_one();
  });
  bool interrupted = false;
  for (std::unique_lock lock(mutex); !finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; });) {
    if (interrupted) continue;
    lock.unlock();
    {
      const nb::gil_scoped_acquire acquire;
      interrupted = PyErr_CheckSignals() != 0;
    }
    if (interrupted) cancel = true;
    lock.lock();
  }
  thread.join();
  if (interrupted) {
    const nb::gil_scoped_acquire acquire;
    throw nb::python_error();
  }
  if (error) std::rethrow_exception(error);
}

void register_forest(nb::module_& m);
void register_grow(nb::module_& m);
void register_algebra(nb::module_& m);
void register_best_action(nb::module_& m);
void register_certify(nb::module_& m);
void register_controller(nb::module_& m);
void register_dynamics(nb::module_& m);
void register_grid_planner(nb::module_& m);
void register_knownness(nb::module_& m);
void register_model(nb::module_& m);
void register_tracking(nb::module_& m);

}  // namespace policyforest
