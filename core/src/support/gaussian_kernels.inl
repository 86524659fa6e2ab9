// Sums of Gaussian functions around centres (learned_model.hpp). Part of kernels.inl.

inline double joined(Lanes s) { return (s[0] + s[2]) + (s[1] + s[3]); }

// e^-x for x >= 0 but for rounding, to a relative error of 1e-9; 0 from 700 on, and for what is no number. The standard
// function differs between libraries in its last bit, and has no lanes.
inline Lanes decay(Lanes x) {
  constexpr double kLog2 = 0.69314718055994530942, kRound = 6755399441055744.0;  // adding 1.5 * 2^52 rounds
  const Mask near = x < broadcast(700.0);
  x = choose(near, x, broadcast(700.0));
  const Lanes rounded = x * broadcast(1.0 / kLog2) + broadcast(kRound);
  const Lanes r = (rounded - broadcast(kRound)) * broadcast(kLog2) - x;  // within log(2) / 2 of 0
  constexpr double kInverse[] = {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
  Lanes power = broadcast(1.0 / 40320);
  for (const double c : kInverse) power = power * r + broadcast(c);
  Mask bits, one = broadcast_integer(1023);  // 2^-k as the bits of a double
  const Lanes zero = broadcast(kRound);
  std::memcpy(&bits, &zero, sizeof bits);
  one += bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits = (one - bits) << 52;
  Lanes halvings;
  std::memcpy(&halvings, &bits, sizeof halvings);
  return where(near, power * halvings);
}

inline double half_square(const double* z, std::size_t width) {
  double sum = 0.0;
  for (std::size_t d = 0; d < width; ++d) sum += z[d] * z[d];
  return 0.5 * sum;
}

// Four terms weight * e^(-|z - centre|^2 / 2), from centre i on, where |z - c|^2 / 2 = |z|^2 / 2 + |c|^2 / 2 - z c.
inline Lanes gaussian_terms(const double* z, double half, std::size_t width, const Gaussians& g, std::size_t i) {
  Lanes product{};
  for (std::size_t d = 0; d < width; ++d) product += broadcast(z[d]) * load(g.centres + d * g.n + i);
  return load(g.weights + i) * decay(broadcast(half) + load(g.half_squares + i) - product);
}

double gaussian_sum(const double* z, std::size_t width, const Gaussians& g) {
  Sum sum;
  const double half = half_square(z, width);
  for (std::size_t i = 0; i < g.n; i += 8)
    sum += Eight{gaussian_terms(z, half, width, g, i), gaussian_terms(z, half, width, g, i + 4)};
  return sum.join();
}

double gaussian_expansion(const double* z, std::size_t width, const Gaussians& g, double* lanes, double* slopes,
                          double* curvature) {
  const double half = half_square(z, width);
  const std::size_t n_sums = width + (curvature ? width * (width + 1) / 2 : 0);
  double* apart = lanes + 4 * n_sums;
  for (std::size_t k = 0; k < n_sums; ++k) store(lanes + 4 * k, Lanes{});
  Lanes sum{};
  for (std::size_t i = 0; i < g.n; i += 4) {
    const Lanes term = gaussian_terms(z, half, width, g, i);
    sum += term;
    double* to = lanes;
    for (std::size_t d = 0; d < width; ++d, to += 4) {
      const Lanes difference = load(g.centres + d * g.n + i) - broadcast(z[d]);
      store(apart + 4 * d, difference);
      store(to, load(to) + term * difference);
    }
    for (std::size_t d = 0; curvature && d < width; ++d) {
      const Lanes pulled = term * load(apart + 4 * d);
      for (std::size_t e = 0; e <= d; ++e, to += 4) store(to, load(to) + pulled * load(apart + 4 * e));
    }
  }
  const double value = joined(sum);
  for (std::size_t d = 0; d < width; ++d) slopes[d] = joined(load(lanes + 4 * d));
  const double* from = lanes + 4 * width;
  for (std::size_t d = 0; curvature && d < width; ++d)
    for (std::size_t e = 0; e <= d; ++e, from += 4) {
      const double mixed = joined(load(from)) - (d == e ? value : 0.0);
      curvature[d * width + e] = curvature[e * width + d] = mixed;
    }
  return value;
}
