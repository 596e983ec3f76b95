/* comm/codec/bf16_avx2.c: bfloat16, eight at a time. */
#define BF16_KERNELS codec_bf16_kernels_avx2
#include "comm/codec/bf16_body.h"
