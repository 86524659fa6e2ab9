"""The benchmark systems as their equations are printed, one number at a time.

Each function takes a state and an action and returns (next state, reward, terminal) after one control step.
"""

from math import copysign, cos, exp, floor, inf, pi, sin, sqrt

from scipy.integrate import solve_ivp

Step = tuple[tuple[float, float], float, bool]


def inverted_pendulum(
    theta: float, omega: float, force: float, noise: float, cart_mass: float = 8.0, max_speed: float = inf
) -> Step:
    g, m, length = 9.8, 2.0, 0.5
    alpha = 1 / (m + cart_mass)
    u = force + noise
    for _ in range(100):
        numerator = g * sin(theta) - alpha * m * length * omega**2 * sin(2 * theta) / 2 - alpha * cos(theta) * u
        acceleration = numerator / (4 * length / 3 - alpha * m * length * cos(theta) ** 2)
        theta, omega = theta + 0.001 * omega, omega + 0.001 * acceleration
    if abs(theta) > pi / 2 or abs(omega) > max_speed:
        return (theta, omega), -1000.0, True
    return (theta, omega), -((2 * theta / pi) ** 2 + omega**2 + (force / 50) ** 2), False


def double_integrator(p: float, v: float, a: float) -> Step:
    reward = -(p**2 + a**2)
    for _ in range(10):
        p, v = p + 0.05 * v, v + 0.05 * a
    terminal = abs(p) > 1 or abs(v) > 1
    return (p, v), -50.0 if terminal else reward, terminal


def car_on_the_hill(p: float, s: float, u: float) -> Step:
    for _ in range(100):
        slope = 2 * p + 1 if p < 0 else (1 + 5 * p**2) ** -1.5
        curvature = 2.0 if p < 0 else -15 * p * (1 + 5 * p**2) ** -2.5
        acceleration = (u - 9.81 * slope - s**2 * slope * curvature) / (1 + slope**2)
        p, s = p + 0.001 * s, s + 0.001 * acceleration
    if p < -1 or abs(s) > 3:
        return (p, s), -1.0, True
    return (p, s), 1.0 if p > 1 else 0.0, p > 1


def swing_up(theta: float, omega: float, torque: float) -> Step:
    inertia, weight, damping, friction, h = 5.0 / 3, 5 * 9.81 / 2, 0.1, 0.1, 0.001
    for _ in range(100):
        # (I + h d) omega' = I omega + h (torque + weight) - the largest impulse that does not reverse.
        momentum = inertia * omega + h * (torque + weight * sin(theta))
        momentum -= copysign(min(h * friction, abs(momentum)), momentum)
        omega = momentum / (inertia + h * damping)
        theta += h * omega
    theta -= 2 * pi * floor((theta + pi) / (2 * pi))
    terminal = abs(omega) > 10
    return (theta, omega), -50.0 if terminal else -(abs(theta) / pi + (torque / 15) ** 2), terminal


def energy_of_the_rod(theta: float, omega: float) -> float:
    return 0.5 * (5.0 / 3) * omega**2 + 5 * 9.81 / 2 * cos(theta)


def cart_pole(
    x: float, v: float, theta: float, omega: float, force: float, track: float = 6.0, friction: float = 0.1
) -> tuple[tuple[float, float, float, float], float, bool]:
    """MC-PILCO's equations with its own angle, which is 0 for a hanging pole and turns the other way."""
    m1 = m2 = length = 0.5
    g = 9.81

    def derivative(t: float, y: tuple[float, float, float, float]) -> list[float]:
        _, v, q, w = y
        u = force - friction * v
        inertia = 4 * (m1 + m2) - 3 * m2 * cos(q) ** 2
        cart = (2 * m2 * length * w**2 * sin(q) + 3 * m2 * g * sin(q) * cos(q) + 4 * u) / inertia
        pole = -3 * m2 * length * w**2 * sin(q) * cos(q) - 6 * (m1 + m2) * g * sin(q) - 6 * u * cos(q)
        return [v, cart, w, pole / (length * inertia)]

    solved = solve_ivp(derivative, (0, 0.05), (x, v, pi - theta, -omega), method="DOP853", rtol=1e-12, atol=1e-12)
    x, v, hanging, omega = (float(y) for y in solved.y[:, -1])
    theta, omega = pi - hanging, -omega
    theta -= 2 * pi * floor((theta + pi) / (2 * pi))
    terminal = abs(x) > track or abs(v) > 10 or abs(omega) > 25
    return (x, v, theta, omega), exp(-((theta / 3) ** 2) - x**2), terminal


def energy_of_the_cart_pole(x: float, v: float, theta: float, omega: float) -> float:
    """Of two bodies: the cart, and a uniform rod, which translates with its middle and turns about it."""
    m, length = 0.5, 0.5
    across, up = v + length / 2 * omega * cos(theta), -length / 2 * omega * sin(theta)
    turning = m * length**2 / 12 * omega**2
    return 0.5 * (m * v**2 + m * (across**2 + up**2) + turning) + m * 9.81 * length / 2 * cos(theta)


def road(p: float) -> float:
    """The height whose derivatives car_on_the_hill uses."""
    return p**2 + p if p < 0 else p / sqrt(1 + 5 * p**2)
