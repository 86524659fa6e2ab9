#define PF_KERNELS_NAME "plain"
#define PF_KERNELS_VARIABLE plain_kernels
#include "kernels.inl"
