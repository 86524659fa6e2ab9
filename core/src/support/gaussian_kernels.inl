// Sums of Gaussian functions around centres (learned_model.hpp). Part of kernels.inl.

inline double joined(Lanes s) { return (s[0] + s[2]) + (s[1] + s[3]); }

// e^-x for x >= 0 (up to rounding), with a relative error of 1e-9; 0 for x >= 700 and for NaN. The standard function
// differs between libraries in its last bit, and has no vector form.
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

// 4 * kBlocks terms weight * e^(-|z - centre|^2 / 2), from centre i on, where |z - c|^2 / 2 = |z|^2 / 2 + |c|^2 / 2 - z
// c. A block depends only on its own sums, so several blocks keep the processor busy.
template <std::size_t kBlocks>
inline void gaussian_terms(const double* z, double half, std::size_t width, const Gaussians& g, std::size_t i,
                           Lanes* terms) {
  Lanes product[kBlocks] = {};
  for (std::size_t d = 0; d < width; ++d) {
    const Lanes here = broadcast(z[d]);
    for (std::size_t b = 0; b < kBlocks; ++b) product[b] += here * load(g.centres + d * g.n + i + 4 * b);
  }
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const std::size_t at = i + 4 * b;
    terms[b] = load(g.weights + at) * decay(broadcast(half) + load(g.half_squares + at) - product[b]);
  }
}

double gaussian_sum(const double* z, std::size_t width, const Gaussians& g) {
  Sum sum;
  Lanes terms[4];
  const double half = half_square(z, width);
  std::size_t i = 0;
  for (; i + 16 <= g.n; i += 16) {
    gaussian_terms<4>(z, half, width, g, i, terms);
    sum += Eight{terms[0], terms[1]};
    sum += Eight{terms[2], terms[3]};
  }
  if (i < g.n) {
    gaussian_terms<2>(z, half, width, g, i, terms);
    sum += Eight{terms[0], terms[1]};
  }
  return sum.join();
}

// Sums of term * (centre - z) for each dimension, without curvature.
double gaussian_slopes(const double* z, double half, std::size_t width, const Gaussians& g, double* lanes) {
  Lanes sum{}, terms[2];
  for (std::size_t i = 0; i < g.n; i += 8) {
    gaussian_terms<2>(z, half, width, g, i, terms);
    sum += terms[0];
    sum += terms[1];
    for (std::size_t d = 0; d < width; ++d) {
      const Lanes here = broadcast(z[d]);
      const double* column = g.centres + d * g.n + i;
      Lanes pulled = load(lanes + 4 * d);
      pulled += terms[0] * (load(column) - here);
      pulled += terms[1] * (load(column + 4) - here);
      store(lanes + 4 * d, pulled);
    }
  }
  return joined(sum);
}

// The same with curvature: also the sums of term * (centre - z) (centre - z)', as the lower half of a matrix.
double gaussian_curvature(const double* z, double half, std::size_t width, const Gaussians& g, double* lanes,
                          double* apart) {
  Lanes sum{}, term;
  for (std::size_t i = 0; i < g.n; i += 4) {
    gaussian_terms<1>(z, half, width, g, i, &term);
    sum += term;
    double* to = lanes;
    for (std::size_t d = 0; d < width; ++d, to += 4) {
      const Lanes difference = load(g.centres + d * g.n + i) - broadcast(z[d]);
      store(apart + 4 * d, difference);
      store(to, load(to) + term * difference);
    }
    for (std::size_t d = 0; d < width; ++d) {
      const Lanes pulled = term * load(apart + 4 * d);
      for (std::size_t e = 0; e <= d; ++e, to += 4) store(to, load(to) + pulled * load(apart + 4 * e));
    }
  }
  return joined(sum);
}

double gaussian_expansion(const double* z, std::size_t width, const Gaussians& g, double* lanes, double* slopes,
                          double* curvature) {
  const double half = half_square(z, width);
  const std::size_t n_sums = width + (curvature ? width * (width + 1) / 2 : 0);
  for (std::size_t k = 0; k < n_sums; ++k) store(lanes + 4 * k, Lanes{});
  const double value = curvature ? gaussian_curvature(z, half, width, g, lanes, lanes + 4 * n_sums)
                                 : gaussian_slopes(z, half, width, g, lanes);
  for (std::size_t d = 0; d < width; ++d) slopes[d] = joined(load(lanes + 4 * d));
  const double* from = lanes + 4 * width;
  for (std::size_t d = 0; curvature && d < width; ++d)
    for (std::size_t e = 0; e <= d; ++e, from += 4) {
      const double mixed = joined(load(from)) - (d == e ? value : 0.0);
      curvature[d * width + e] = curvature[e * width + d] = mixed;
    }
  return value;
}
