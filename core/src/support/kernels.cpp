#include "policyforest/support/kernels.hpp"

namespace policyforest {

extern const Kernels plain_kernels;
#if defined(PF_WITH_AVX2)
extern const Kernels avx2_kernels;
#endif

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> versions{&plain_kernels};
#if defined(PF_WITH_AVX2)
  if (__builtin_cpu_supports("avx2")) versions.push_back(&avx2_kernels);
#endif
  return versions;
}

const Kernels& kernels() {
  static const Kernels& best = *available_kernels().back();
  return best;
}

}  // namespace policyforest
