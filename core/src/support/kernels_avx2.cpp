// Compiled with -mavx2 and -mpopcnt if the build defines PF_WITH_AVX2 (x86-64, GCC or Clang), and empty otherwise.
#if defined(PF_WITH_AVX2)
#define PF_KERNELS_NAME "avx2"
#define PF_KERNELS_VARIABLE avx2_kernels
#include "support/kernels.inl"
#endif
