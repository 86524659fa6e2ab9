#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <tuple>

#include "bindings.hpp"
#include "policyforest/best_action/best_action.hpp"
#include "policyforest/best_action/line_search.hpp"
#include "policyforest/support/near_order.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

namespace {

using Array = nb::ndarray<nb::numpy, double>;
using Results = std::tuple<Array, Array, Array, Array>;  // value (n), action (n, A), lo (n, A), hi (n, A)

struct Maxima {
  std::size_t n, width;
  std::vector<double> value, action, lo, hi;
  Maxima(std::size_t rows, std::size_t actions)
      : n(rows), width(actions), value(n), action(n * width), lo(n * width), hi(n * width) {}
  void set(std::size_t i, const BestAction& best) {
    value[i] = best.value;
    for (std::size_t j = 0; j < width; ++j) {
      action[i * width + j] = best.action[j];
      lo[i * width + j] = best.lo[j];
      hi[i * width + j] = best.hi[j];
    }
  }
  Results results() {
    return {to_numpy(std::move(value), {n}), to_numpy(std::move(action), {n, width}),
            to_numpy(std::move(lo), {n, width}), to_numpy(std::move(hi), {n, width})};
  }
};

Results line_search(const NativeForest& self, Rows2 rows, std::size_t action_dim, std::size_t n_threads) {
  Maxima maxima(rows.shape(0), 1);
  const LineMaxima out{maxima.value.data(), maxima.action.data(), maxima.lo.data(), maxima.hi.data()};
  const auto work = [&](const std::atomic<bool>* cancel) {
    (*self.line_search(action_dim))(rows.data(), maxima.n, out, n_threads, cancel);
  };
  if (maxima.n <= 16) {  // a control step: too little work for another thread
    const nb::gil_scoped_release release;
    work(nullptr);
  } else {
    run_interruptibly(work);
  }
  return maxima.results();
}

// Calls `search(x)` for each state; the states are shared among the threads.
template <class Search>
Results each_state(const NativeForest& self, const Rows2& rows, std::size_t n_actions, std::size_t n_threads,
                   const Search& make_search) {
  Maxima maxima(rows.shape(0), n_actions);
  run_interruptibly([&](const std::atomic<bool>* cancel) {
    const auto search = make_search(cancel);
    parallel_for(maxima.n, n_threads, [&] {
      return [&](std::size_t i) {
        if (cancel->load(std::memory_order_relaxed)) throw std::runtime_error("cancelled");
        maxima.set(i, search(std::span(rows.data() + i * self.forest.n_inputs(), self.forest.n_inputs())));
      };
    });
  });
  return maxima.results();
}

std::size_t count(const std::vector<std::uint8_t>& mask) {
  return static_cast<std::size_t>(std::count_if(mask.begin(), mask.end(), [](auto m) { return m != 0; }));
}

Results branch_and_bound(const NativeForest& self, Rows2 rows, const std::vector<std::uint8_t>& is_action,
                         std::size_t n_threads) {
  return each_state(self, rows, count(is_action), n_threads, [&](const std::atomic<bool>* cancel) {
    return [search = BranchAndBound(self.forest, is_action), cancel](std::span<const double> x) {
      return search(x, cancel);
    };
  });
}

Results merged(const NativeForest& self, Rows2 rows, const std::vector<std::uint8_t>& is_action, std::size_t max_leaves,
               std::size_t n_threads) {
  return each_state(self, rows, count(is_action), n_threads, [&](const std::atomic<bool>* cancel) {
    return [&, cancel](std::span<const double> x) {
      return merged_best_action(self.forest, x, is_action, max_leaves, cancel);
    };
  });
}

// An order of rows of states in which neighbours are near each other, on a grid of up to 2^24 cells.
auto near_rows(Rows2 rows) {
  auto* kept = new std::vector<std::uint32_t>(near_order(rows.data(), rows.shape(0), rows.shape(1), rows.shape(1), 24));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::uint32_t>*>(p); });
  return nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

}  // namespace

void register_best_action(nb::module_& m) {
  m.def("near_order", near_rows, nb::arg("rows"));
  m.def("line_search", line_search, nb::arg("forest"), nb::arg("rows"), nb::arg("action_dim"), nb::arg("n_threads"));
  m.def("branch_and_bound", branch_and_bound, nb::arg("forest"), nb::arg("rows"), nb::arg("is_action"),
        nb::arg("n_threads"));
  m.def("merged_best_action", merged, nb::arg("forest"), nb::arg("rows"), nb::arg("is_action"), nb::arg("max_leaves"),
        nb::arg("n_threads"));
}

}  // namespace policyforest
