// Step functions of a block of states over the cells of the action axis (line_search.hpp). Part of kernels.inl.

// For each of 16 sets of four states a mask of lanes.
struct LaneMasks {
  alignas(32) long long lanes[16][4];
  constexpr LaneMasks() : lanes() {
    for (int set = 0; set < 16; ++set)
      for (int j = 0; j < 4; ++j) lanes[set][j] = (set >> j) & 1 ? -1 : 0;
  }
};
constexpr LaneMasks kLaneMasks;

inline Mask load_integers(const void* p) {
  Mask v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store_integers(void* p, Mask v) { std::memcpy(p, &v, sizeof v); }

void add_steps(std::int64_t* steps, std::int64_t* before, std::uint64_t states, std::int64_t value) {
  const Mask v = broadcast_integer(value);
  while (states) {
    const int at = lowest_bit(states) & ~3;
    const Mask chosen = load_integers(kLaneMasks.lanes[states >> at & 15]);
    states &= ~(std::uint64_t{15} << at);
    const Mask difference = (v - load_integers(before + at)) & chosen;
    store_integers(before + at, load_integers(before + at) + difference);
    store_integers(steps + at, load_integers(steps + at) + difference);
  }
}

// The sums of four states, and for each state its largest sum so far and where that occurred first.
struct LargestRun {
  Mask sum{}, best = broadcast_integer(std::numeric_limits<std::int64_t>::min()), first{}, end{};
  void take(std::int64_t* steps, Mask from, Mask to) {
    sum += load_integers(steps);
    store_integers(steps, Mask{});
    const Mask larger = sum > best;
    const Mask longer = larger | ((sum == best) & (end == from));
    best = choose(larger, sum, best);
    first = choose(larger, from, first);
    end = choose(longer, to, end);
  }
};

void largest_runs(std::int64_t* steps, std::size_t width, const std::int64_t* cells, std::size_t n_rows,
                  std::int64_t* first, std::int64_t* end) {
  for (std::size_t s = 0; s < width; s += 8) {
    const bool both = s + 8 <= width;
    LargestRun lower, upper;
    for (std::size_t i = 0; i < n_rows; ++i) {
      std::int64_t* row = steps + static_cast<std::size_t>(cells[i]) * width + s;
      const Mask from = broadcast_integer(cells[i]), to = broadcast_integer(cells[i + 1]);
      lower.take(row, from, to);
      if (both) upper.take(row + 4, from, to);
    }
    store_integers(first + s, lower.first);
    store_integers(end + s, lower.end);
    if (both) store_integers(first + s + 4, upper.first), store_integers(end + s + 4, upper.end);
  }
}
