#include "grow/small_subtree.hpp"

#include "support/bits.hpp"

namespace policyforest {

namespace {

using Bits = std::uint64_t;

inline std::size_t lowest(Bits bits) { return static_cast<std::size_t>(lowest_bit(bits)); }
inline std::size_t highest(Bits bits) { return static_cast<std::size_t>(highest_bit(bits)); }

inline std::size_t nth_lowest(Bits bits, int n) {
  for (; n > 1; --n) bits &= bits - 1;
  return lowest(bits);
}
inline std::size_t nth_highest(Bits bits, int n) {
  for (; n > 1; --n) bits ^= Bits{1} << highest(bits);
  return highest(bits);
}

}  // namespace

void SmallSubtree::sort(std::size_t input, const double* x, std::size_t n) {
  double* values = values_[input];
  std::uint8_t *numbers = numbers_[input], *places = places_[input];
  kernels_.rough_ranks(x, n, places);
  for (std::size_t i = 0; i < n; ++i) {
    values[places[i]] = x[i];
    numbers[places[i]] = static_cast<std::uint8_t>(i);
  }
  unsigned unsorted = 0;
  for (std::size_t p = 1; p < n; ++p) unsorted |= values[p] < values[p - 1];
  if (!unsorted) return;
  for (std::size_t p = 1; p < n; ++p) {  // few are out of place
    const double value = values[p];
    const std::uint8_t number = numbers[p];
    std::size_t to = p;
    for (; to > 0 && value < values[to - 1]; --to) {
      values[to] = values[to - 1];
      numbers[to] = numbers[to - 1];
    }
    values[to] = value;
    numbers[to] = number;
  }
  for (std::size_t p = 0; p < n; ++p) places[numbers[p]] = static_cast<std::uint8_t>(p);
}

void SmallSubtree::copy_sorted(std::size_t input, const double* x, const Rows& rows) {
  const std::size_t n = rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = rows.descending ? n - 1 - i : i;
    values_[input][i] = x[from];
    numbers_[input][i] = places_[input][i] = static_cast<std::uint8_t>(from);
  }
}

void SmallSubtree::load(const SampleColumns& samples, const Rows& rows) {
  y_ = samples.y(rows);
  score_ = samples.score(rows);
  scored_apart_ = samples.scored_apart();
  for (std::size_t d = 0; d < n_inputs_; ++d) {
    if (d == samples.sorted_input())
      copy_sorted(d, samples.input(rows, d), rows);
    else
      sort(d, samples.input(rows, d), rows.size());
  }
  for (std::size_t d = 0; d < n_inputs_; ++d)
    for (std::size_t e = 0; e < n_inputs_; ++e)
      if (e != d) kernels_.look_up(places_[e], numbers_[d], ranks_[d][e]);
}

// The sum of v over a set in the order of an input.
double SmallSubtree::sum(const double* v, std::size_t order, Bits set) const {
  double sum = 0.0;
  for (; set; set &= set - 1) sum += v[numbers_[order][lowest(set)]];
  return sum;
}

bool SmallSubtree::constant(Bits set, double& y) const {
  y = y_[numbers_[0][lowest(set)]];
  set &= set - 1;
  while (set && y_[numbers_[0][lowest(set)]] == y) set &= set - 1;
  return !set;
}

double SmallSubtree::leaf_value(Bits set, int n, double sum) const {
  double y;
  if (constant(set, y)) return y;
  return (scored_apart_ ? this->sum(y_, 0, set) : sum) / n;
}

bool SmallSubtree::settled(const Task& task) const {
  double y;
  if (constant(task.sets[0], y)) return true;
  if (min_variance_ <= 0.0) return false;
  const double mean = leaf_value(task.sets[0], task.n, task.sum);
  double deviation = 0.0;
  for (Bits rest = task.sets[0]; rest; rest &= rest - 1) {
    const double d = y_[numbers_[0][lowest(rest)]] - mean;
    deviation += d * d;
  }
  return deviation / task.n < min_variance_;
}

// Finds the samples up to the threshold, their number and their sum. The largest sample is never among them.
void SmallSubtree::cut(const Task& task, Split& split) const {
  const Bits set = task.sets[split.input];
  const double* values = values_[split.input];
  Bits rest = set;
  split.lower_sum = 0.0;
  split.n_lower = 0;
  for (std::size_t p = lowest(rest); values[p] <= split.threshold; p = lowest(rest)) {
    split.lower_sum += score_[numbers_[split.input][p]];
    ++split.n_lower;
    rest &= rest - 1;
  }
  split.lower = set ^ rest;
}

bool SmallSubtree::best_split(const Task& task, SplitDraw& draw, RandomStream& random, Split& best) const {
  double best_gain = 0.0;
  bool found = false;
  draw.for_inputs(random, [&](std::size_t input) {
    const Bits set = task.sets[input];
    const std::size_t low = nth_lowest(set, n_min_), high = nth_highest(set, n_min_);
    Split split;
    split.input = input;
    if (!draw.threshold(input, values_[input][low], values_[input][high], split.threshold, random)) return false;
    if (found && task.n == 2) return true;  // all splits of two samples are equally good
    cut(task, split);
    const double n_lower = split.n_lower, n_upper = task.n - split.n_lower;
    const double difference = split.lower_sum / n_lower - (task.sum - split.lower_sum) / n_upper;
    const double gain = n_lower * n_upper * (difference * difference);
    if (found && !SplitDraw::better(gain, best_gain)) return true;
    best = split;
    best_gain = gain;
    return found = true;
  });
  return found;
}

// Turns the task of a node into that of its upper child. Its sum is computed again, so that errors do not accumulate.
void SmallSubtree::divide(const Split& split, Task& task, Task& lower) const {
  const Bits above = task.sets[split.input] ^ split.lower;
  const int rank = static_cast<int>(lowest(above));  // all samples with a smaller rank are in the lower child
  lower.n = split.n_lower;
  task.n -= split.n_lower;
  lower.sum = split.lower_sum;
  task.sum = sum(score_, split.input, above);
  const bool leaves = lower.n < 2 * n_min_ && task.n < 2 * n_min_;  // they need only the order of input 0
  for (std::size_t e = 0; e < (leaves ? 1 : n_inputs_); ++e) {
    const Bits set = task.sets[e];
    lower.sets[e] = e == split.input ? split.lower : set & kernels_.ranks_below(ranks_[e][split.input], rank);
    task.sets[e] = set ^ lower.sets[e];
  }
}

void SmallSubtree::grow(const SampleColumns& samples, const Rows& rows, double sum, std::size_t root,
                        std::vector<Node>& nodes, SplitDraw& draw, RandomStream& random) {
  load(samples, rows);
  std::size_t n_nodes = nodes.size(), n_tasks = 1;
  nodes.resize(n_nodes + 2 * rows.size());  // enough for the largest subtree
  tasks_[0].node = root;
  tasks_[0].n = static_cast<int>(rows.size());
  tasks_[0].sum = sum;
  for (std::size_t e = 0; e < n_inputs_; ++e) tasks_[0].sets[e] = ~Bits{0} >> (kMaxSamples - rows.size());
  while (n_tasks > 0) {
    Task& task = tasks_[n_tasks - 1];
    Split split;
    if (task.n < 2 * n_min_ || settled(task) || !best_split(task, draw, random, split)) {
      nodes[task.node] = {leaf_value(task.sets[0], task.n, task.sum), 0, -1};
      --n_tasks;
      continue;
    }
    nodes[task.node] = {split.threshold, static_cast<std::int32_t>(n_nodes), static_cast<std::int32_t>(split.input)};
    Task& lower = tasks_[n_tasks++];
    divide(split, task, lower);
    lower.node = n_nodes++;
    task.node = n_nodes++;
  }
  nodes.resize(n_nodes);
}

}  // namespace policyforest
