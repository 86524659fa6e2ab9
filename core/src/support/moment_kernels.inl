// Sums of products and their elimination, for the least squares of linear leaves; a part of kernels.inl, inside its
// namespace. Every version adds the products of the rows one row after the other, so all versions give the same bits.

// Adds the products of `kRows` rows at once: each sum is loaded and stored once for all of them.
template <std::size_t kRows>
inline void add_products(const double* const* rows, std::size_t n_used, std::size_t width, double* moments) {
  for (std::size_t i = 0; i < n_used; ++i) {
    Lanes factor[kRows];
    for (std::size_t k = 0; k < kRows; ++k) factor[k] = broadcast(rows[k][i]);
    for (std::size_t j = i / 4 * 4; j < width; j += 4) {
      double* at = moments + i * width + j;
      Lanes sum = load(at);
      for (std::size_t k = 0; k < kRows; ++k) sum += factor[k] * load(rows[k] + j);
      store(at, sum);
    }
  }
}

std::size_t lower_moments(const double* rows, std::size_t n, std::size_t n_used, std::size_t width, const double* x,
                          double split, double* moments) {
  constexpr std::size_t kTogether = 4;
  const double* waiting[kTogether];
  std::size_t n_waiting = 0, count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (x && x[i] > split) continue;
    ++count;
    waiting[n_waiting++] = rows + i * width;
    if (n_waiting < kTogether) continue;
    add_products<kTogether>(waiting, n_used, width, moments);
    n_waiting = 0;
  }
  for (std::size_t k = 0; k < n_waiting; ++k) add_products<1>(waiting + k, n_used, width, moments);
  return count;
}

void eliminate(double* form, std::size_t n_used, std::size_t width, std::size_t pivot) {
  const double* top = form + pivot * width;
  for (std::size_t i = 0; i < n_used; ++i) {
    if (i == pivot) continue;
    double* row = form + i * width;
    const double factor = row[pivot] / top[pivot];
    if (factor == 0.0) continue;
    const Lanes factors = broadcast(factor);
    for (std::size_t j = 0; j < width; j += 4) store(row + j, load(row + j) - factors * load(top + j));
  }
  for (std::size_t i = 0; i < n_used; ++i) form[i * width + pivot] = form[pivot * width + i] = 0.0;
}
