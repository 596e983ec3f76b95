/* comm/codec/bf16.c: bfloat16 on any processor. */
#define BF16_KERNELS codec_bf16_kernels
#include "comm/codec/bf16_body.h"
