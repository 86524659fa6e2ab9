// Compiled with -mavx2 -mbmi2 -mpopcnt where the target is x86-64, and empty elsewhere.
#if defined(__AVX2__)
#define PF_KERNELS_NAME "avx2"
#define PF_KERNELS_VARIABLE avx2_kernels
#include "support/kernels.inl"
#endif
