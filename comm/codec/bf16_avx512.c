/* comm/codec/bf16_avx512.c: bfloat16, sixteen at a time. (The processors' own conversion, where there is one, flushes
 * denormals to zero.) */
#define BF16_KERNELS codec_bf16_kernels_avx512
#include "comm/codec/bf16_body.h"
