#define PF_KERNELS_NAME "plain"
#define PF_KERNELS_VARIABLE plain_kernels
#include "support/kernels.inl"
