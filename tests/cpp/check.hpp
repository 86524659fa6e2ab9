// The smallest test harness that names the line that failed: CHECK counts, main returns check::report().
#pragma once

#include <cstdio>
#include <stdexcept>

namespace check {
inline int failures = 0;
inline int checks = 0;

inline void that(bool holds, const char* what, const char* file, int line) {
  ++checks;
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

inline int report() {
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
}  // namespace check

#define CHECK(...) check::that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

// The expression must throw std::invalid_argument.
#define CHECK_INVALID(...)                                                    \
  do {                                                                        \
    bool thrown = false;                                                      \
    try {                                                                     \
      static_cast<void>(__VA_ARGS__);                                         \
    } catch (const std::invalid_argument&) {                                  \
      thrown = true;                                                          \
    }                                                                         \
    check::that(thrown, #__VA_ARGS__ " must be refused", __FILE__, __LINE__); \
  } while (false)
