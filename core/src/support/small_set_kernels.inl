// The kernels on sets of at most 64 rows or samples; a part of kernels.inl, inside its namespace.

std::uint64_t lower_bits(const double* x, double split, std::size_t n) {
  const Lanes v = broadcast(split);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const unsigned byte = bits_of(load(x + i) <= v) | bits_of(load(x + i + 4) <= v) << 4;
    bits |= static_cast<std::uint64_t>(byte) << i;
  }
  return n == 64 ? bits : bits & ((std::uint64_t{1} << n) - 1);
}

std::uint64_t ranks_below(const std::uint8_t* ranks, int rank) {
  std::uint64_t bits = 0;
#if defined(PF_AVX2)
  const __m256i limit = _mm256_set1_epi8(static_cast<char>(rank));
  for (int half = 0; half < 2; ++half) {
    const __m256i r = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ranks + 32 * half));
    const auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(limit, r)));
    bits |= static_cast<std::uint64_t>(mask) << 32 * half;
  }
#else
  for (int i = 0; i < 64; ++i) bits |= static_cast<std::uint64_t>(ranks[i] < rank) << i;
#endif
  return bits;
}

// Each number becomes a 16-bit key: ten bits for its place in the range and six for its index, so that no two keys are
// equal. Its rank is the number of smaller keys, counted for 32 numbers at a time.
void rough_ranks(const double* v, std::size_t n, std::uint8_t* places) {
  const Summary s = summary(v, n);
  const double range = s.max - s.min, scale = 1023.0 / range;
  constexpr double kMax = std::numeric_limits<double>::max();
  if (!(range <= kMax && scale <= kMax)) {  // too far from or too near to each other
    for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<std::uint8_t>(i);
    return;
  }
  alignas(32) std::int16_t keys[64];
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = static_cast<std::int16_t>((static_cast<int>((v[i] - s.min) * scale) << 6) + static_cast<int>(i) - 32768);
  for (std::size_t i = n; i < 64; ++i) keys[i] = std::numeric_limits<std::int16_t>::max();
  for (std::size_t i = 0; i < n; i += 32) {
    Keys k0, k1, count0{}, count1{};
    std::memcpy(&k0, keys + i, sizeof k0);
    std::memcpy(&k1, keys + i + 16, sizeof k1);
    for (std::size_t j = 0; j < n; ++j) {
      Keys key;
      for (int l = 0; l < 16; ++l) key[l] = keys[j];
      count0 -= key < k0;
      count1 -= key < k1;
    }
    std::int16_t counts[32];
    std::memcpy(counts, &count0, sizeof count0);
    std::memcpy(counts + 16, &count1, sizeof count1);
    for (std::size_t l = 0; l < 32; ++l) places[i + l] = static_cast<std::uint8_t>(counts[l]);
  }
}

void look_up(const std::uint8_t* table, const std::uint8_t* numbers, std::uint8_t* to) {
#if defined(PF_AVX2)
  // Sixteen entries of the table at a time: indices outside of them get their top bit set, for which the result is 0.
  for (int half = 0; half < 64; half += 32) {
    const __m256i n = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers + half));
    __m256i found = _mm256_setzero_si256();
    for (int first = 0; first < 64; first += 16) {
      const __m256i part =
          _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + first)));
      const __m256i inside =
          _mm256_adds_epu8(_mm256_sub_epi8(n, _mm256_set1_epi8(static_cast<char>(first))), _mm256_set1_epi8(0x70));
      found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, inside));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + half), found);
  }
#else
  for (int i = 0; i < 64; ++i) to[i] = table[numbers[i]];
#endif
}
