// The benchmark systems for Python: many independent steps at once, and whole rollouts.
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "policyforest/dynamics/dynamics.hpp"
#include "policyforest/policy/controller.hpp"

namespace policyforest {

namespace {

using Numbers = nb::ndarray<nb::numpy, double>;
using Truths = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

void require_shape(const char* name, const Rows2& rows, std::size_t n_rows, std::size_t n_columns) {
  if (rows.shape(0) != n_rows || rows.shape(1) != n_columns) {
    const auto shape = [](std::size_t n, std::size_t m) {
      return "(" + std::to_string(n) + ", " + std::to_string(m) + ")";
    };
    throw std::invalid_argument(std::string(name) + ": shape " + shape(rows.shape(0), rows.shape(1)) + "; must be " +
                                shape(n_rows, n_columns));
  }
}

// (states, actions, rewards, terminal); there is one more row of states than of actions.
using Played = std::tuple<Numbers, Numbers, Numbers, bool>;

Played roll_out(const System& system, const ControlLaw& control_law, const Vector& start, const Rows2& noise) {
  const std::size_t max_steps = noise.shape(0);
  require_shape("noise", noise, max_steps, system.n_noise());
  std::vector<double> states((max_steps + 1) * system.n_state());
  std::vector<double> actions(max_steps * system.n_action());
  std::vector<double> rewards(max_steps);
  RolloutEnd end{};
  {
    const nb::gil_scoped_release release;
    end = rollout(system, control_law, {start.data(), start.shape(0)}, {noise.data(), noise.size()}, max_steps,
                  {states, actions, rewards});
  }
  return {to_numpy(std::move(states), {end.steps + 1, system.n_state()}),
          to_numpy(std::move(actions), {end.steps, system.n_action()}), to_numpy(std::move(rewards), {end.steps}),
          end.terminal};
}

Played play(const System& system, const Controller& controller, const Vector& start, const Rows2& noise) {
  if (controller.n_states() != system.n_state() || controller.n_actions() != system.n_action()) {
    throw std::invalid_argument("controller: " + std::to_string(controller.n_states()) + " states and " +
                                std::to_string(controller.n_actions()) + " actions; must have " +
                                std::to_string(system.n_state()) + " and " + std::to_string(system.n_action()));
  }
  const ControlLaw law = [&controller](const double* state, double* action) { controller.act(state, action); };
  return roll_out(system, law, start, noise);
}

Played replay_actions(const System& system, const Rows2& actions, const Vector& start, const Rows2& noise) {
  require_shape("actions", actions, noise.shape(0), system.n_action());
  return roll_out(system, replay({actions.data(), actions.size()}, system.n_action()), start, noise);
}

std::tuple<Numbers, Numbers, Truths> step_many(const System& system, const Rows2& states, const Rows2& actions,
                                               const Rows2& noise) {
  const std::size_t n = states.shape(0);
  require_shape("states", states, n, system.n_state());
  require_shape("actions", actions, n, system.n_action());
  require_shape("noise", noise, n, system.n_noise());
  std::vector<double> next_states(states.data(), states.data() + states.size());
  std::vector<double> rewards(n);
  auto terminals = std::make_unique<bool[]>(n);
  {
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; ++i) {
      const StepResult result =
          system.step(next_states.data() + i * system.n_state(), actions.data() + i * system.n_action(),
                      noise.data() + i * system.n_noise());
      rewards[i] = result.reward;
      terminals[i] = result.terminal;
    }
  }
  nb::capsule owner(terminals.get(), [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  return {to_numpy(std::move(next_states), {n, system.n_state()}), to_numpy(std::move(rewards), {n}),
          Truths(terminals.release(), {n}, owner)};
}

Numbers pendulum_rows(const InvertedPendulum& pendulum, const Rows2& states, const Rows2& actions, const Rows2& noise) {
  const std::size_t n = states.shape(0);
  require_shape("states", states, n, 2);
  require_shape("actions", actions, n, 1);
  require_shape("noise", noise, n, 1);
  std::vector<double> after(states.data(), states.data() + states.size());
  {
    const nb::gil_scoped_release release;
    pendulum.step_rows(after.data(), actions.data(), noise.data(), n);
  }
  return to_numpy(std::move(after), {n, 2});
}

// Binds a system without parameters, which is created, copied and pickled without arguments.
template <class T>
void register_plain_system(nb::module_& m, const char* name) {
  nb::class_<T, System>(m, name)
      .def(nb::init<>())
      .def("__getstate__", [](const T&) { return std::make_tuple(); })
      .def("__setstate__", [](T& self, const std::tuple<>&) { new (&self) T(); });
}

}  // namespace

void register_dynamics(nb::module_& m) {
  nb::class_<System>(m, "System")
      .def_prop_ro("n_state", &System::n_state)
      .def_prop_ro("n_action", &System::n_action)
      .def_prop_ro("n_noise", &System::n_noise)
      .def("step_many", &step_many, nb::arg("states"), nb::arg("actions"), nb::arg("noise"))
      .def("play", &play, nb::arg("controller"), nb::arg("start"), nb::arg("noise"))
      .def("replay", &replay_actions, nb::arg("actions"), nb::arg("start"), nb::arg("noise"));
  nb::class_<InvertedPendulum, System>(m, "InvertedPendulum")
      .def(nb::init<double, double>(), nb::arg("cart_mass"), nb::arg("max_speed"))
      .def_prop_ro("cart_mass", &InvertedPendulum::cart_mass)
      .def_prop_ro("max_speed", &InvertedPendulum::max_speed)
      .def("step_rows", &pendulum_rows, nb::arg("states"), nb::arg("actions"), nb::arg("noise"))
      .def("__getstate__",
           [](const InvertedPendulum& self) { return std::make_tuple(self.cart_mass(), self.max_speed()); })
      .def("__setstate__", [](InvertedPendulum& self, const std::tuple<double, double>& state) {
        new (&self) InvertedPendulum(std::get<0>(state), std::get<1>(state));
      });
  register_plain_system<DoubleIntegrator>(m, "DoubleIntegrator");
  register_plain_system<CarOnTheHill>(m, "CarOnTheHill");
  register_plain_system<SwingUp>(m, "SwingUp");
  register_plain_system<Acrobot>(m, "Acrobot");
  nb::class_<CartPole, System>(m, "CartPole")
      .def(nb::init<double, double>(), nb::arg("track"), nb::arg("friction"))
      .def_prop_ro("track", &CartPole::track)
      .def_prop_ro("friction", &CartPole::friction)
      .def("__getstate__", [](const CartPole& self) { return std::make_tuple(self.track(), self.friction()); })
      .def("__setstate__", [](CartPole& self, const std::tuple<double, double>& state) {
        new (&self) CartPole(std::get<0>(state), std::get<1>(state));
      });
}

}  // namespace policyforest
