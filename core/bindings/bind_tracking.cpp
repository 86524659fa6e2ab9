// Trajectories in learned models for Python: playing sequences of actions and policies, the backward pass, and
// distances of states from visited ones.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "policyforest/model/nearest.hpp"
#include "policyforest/model/tracking.hpp"

namespace policyforest {

namespace {

using Numbers = nb::ndarray<nb::numpy, double>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tesseract = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Draws = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Played = std::tuple<Numbers, Numbers, Numbers, Numbers, Numbers>;

template <class Array>
void require_shape(const char* name, const Array& array, std::initializer_list<std::size_t> wanted) {
  std::size_t k = 0;
  for (const std::size_t size : wanted)
    if (array.shape(k++) != size)
      throw std::invalid_argument(std::string(name) + ": has length " + std::to_string(array.shape(k - 1)) +
                                  " on axis " + std::to_string(k - 1) + ", must have " + std::to_string(size));
}

TrackRules rules_of(const LearnedModel& model, const Rows2& starts, std::size_t n_steps, const Rows2& action_box,
                    const Rows2& reach) {
  model.check();
  require_shape("starts", starts, {starts.shape(0), model.n_states});
  require_shape("action_box", action_box, {model.n_actions, 2});
  require_shape("reach", reach, {model.n_states, 2});
  TrackRules rules{starts.data(), starts.shape(0), n_steps, to_box(action_box), to_box(reach)};
  for (const Box* box : {&rules.actions, &rules.reach})
    for (std::size_t d = 0; d < box->dims(); ++d)
      if (!(box->lo[d] <= box->hi[d])) throw std::invalid_argument("action_box, reach: a lower side exceeds the upper");
  return rules;
}

Played to_python(const LearnedModel& model, const TrackRules& rules, Paths paths) {
  const std::size_t n = rules.n, t = rules.n_steps;
  return {to_numpy(std::move(paths.states), {n, t + 1, model.n_states}),
          to_numpy(std::move(paths.actions), {n, t, model.n_actions}), to_numpy(std::move(paths.reward), {n, t}),
          to_numpy(std::move(paths.end_chance), {n, t}), to_numpy(std::move(paths.end_reward), {n, t})};
}

Played track_paths(const LearnedModel& model, Rows2 starts, Cube actions, std::optional<Tesseract> feedback,
                   std::optional<Cube> reference, Rows2 action_box, Rows2 reach) {
  const std::size_t n = starts.shape(0), n_steps = actions.shape(1), d = model.n_states, m = model.n_actions;
  const TrackRules rules = rules_of(model, starts, n_steps, action_box, reach);
  require_shape("actions", actions, {n, n_steps, m});
  if (feedback.has_value() != reference.has_value())
    throw std::invalid_argument("feedback, reference: must be given together");
  if (feedback) require_shape("feedback", *feedback, {n, n_steps, m, d});
  if (reference) require_shape("reference", *reference, {n, n_steps + 1, d});
  Paths paths;
  {
    const nb::gil_scoped_release release;
    paths = track(model, rules,
                  {actions.data(), feedback ? feedback->data() : nullptr, reference ? reference->data() : nullptr});
  }
  return to_python(model, rules, std::move(paths));
}

Played play_policy(const LearnedModel& model, const Controller& controller, Rows2 starts, Draws residual_rows,
                   std::optional<Cube> noise, Rows2 action_box, Rows2 reach) {
  const std::size_t n = starts.shape(0), n_steps = residual_rows.shape(0);
  const TrackRules rules = rules_of(model, starts, n_steps, action_box, reach);
  require_shape("residual_rows", residual_rows, {n_steps, n});
  if (noise) require_shape("noise", *noise, {n_steps, n, model.n_actions});
  for (std::size_t i = 0; i < residual_rows.size(); ++i)
    if (residual_rows.data()[i] >= model.n_residuals) throw std::invalid_argument("residual_rows: is out of range");
  Paths paths;
  {
    const nb::gil_scoped_release release;
    paths = play(model, rules, {controller, residual_rows.data(), noise ? noise->data() : nullptr});
  }
  return to_python(model, rules, std::move(paths));
}

std::tuple<Numbers, Numbers> backward(Tesseract slopes, Cube gradient, Tesseract curvature, Vector sizes, Cube actions,
                                      Rows2 damping, Rows2 action_box, double discount, double flattest) {
  const std::size_t n = actions.shape(0), n_steps = actions.shape(1), m = actions.shape(2), d = slopes.shape(2);
  const std::size_t w = d + m;
  require_shape("slopes", slopes, {n, n_steps, d, w});
  require_shape("gradient", gradient, {n, n_steps, w});
  require_shape("curvature", curvature, {n, n_steps, w, w});
  require_shape("sizes", sizes, {w});
  require_shape("damping", damping, {n, m});
  require_shape("action_box", action_box, {m, 2});
  if (!(flattest > 0.0)) throw std::invalid_argument("flattest: must be positive");
  const Expansion around{n,
                         n_steps,
                         d,
                         m,
                         slopes.data(),
                         gradient.data(),
                         curvature.data(),
                         sizes.data(),
                         actions.data(),
                         damping.data(),
                         discount,
                         flattest};
  Improvements made;
  {
    const nb::gil_scoped_release release;
    made = improve_backward(around, to_box(action_box));
  }
  return {to_numpy(std::move(made.change), {n, n_steps, m}), to_numpy(std::move(made.feedback), {n, n_steps, m, d})};
}

Numbers distances(Rows2 rows, Rows2 places, Vector scale, Rows2 periods) {
  const std::size_t d = rows.shape(1);
  require_shape("places", places, {places.shape(0), d});
  require_shape("scale", scale, {d});
  for (std::size_t k = 0; k < d; ++k)
    if (!(scale(k) > 0.0)) throw std::invalid_argument("scale: must be positive");
  if (periods.shape(0) != 0) require_shape("periods", periods, {d, 2});
  Places known{places.data(), places.shape(0), {scale.data(), scale.data() + d}, {}};
  for (std::size_t k = 0; k < periods.shape(0); ++k) known.periods.push_back({periods(k, 0), periods(k, 1)});
  std::vector<double> found;
  {
    const nb::gil_scoped_release release;
    found = nearest_distances(rows.data(), rows.shape(0), known);
  }
  return to_numpy(std::move(found), {rows.shape(0)});
}

}  // namespace

void register_tracking(nb::module_& m) {
  m.def("track", &track_paths, nb::arg("model"), nb::arg("starts"), nb::arg("actions"), nb::arg("feedback").none(),
        nb::arg("reference").none(), nb::arg("action_box"), nb::arg("reach"));
  m.def("play", &play_policy, nb::arg("model"), nb::arg("controller"), nb::arg("starts"), nb::arg("residual_rows"),
        nb::arg("noise").none(), nb::arg("action_box"), nb::arg("reach"));
  m.def("improve_backward", &backward, nb::arg("slopes"), nb::arg("gradient"), nb::arg("curvature"), nb::arg("sizes"),
        nb::arg("actions"), nb::arg("damping"), nb::arg("action_box"), nb::arg("discount"), nb::arg("flattest"));
  m.def("nearest_distances", &distances, nb::arg("rows"), nb::arg("places"), nb::arg("scale"), nb::arg("periods"));
}

}  // namespace policyforest
