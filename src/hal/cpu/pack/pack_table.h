/*
 * hal/cpu/pack/pack_table.h: the kernels of one instruction set as the table PACK; included once by pack_base.c,
 * pack_avx2.c and pack_avx512.c behind their words for vectors, and after `compact` and `count_from`.
 */
#include "base/half.h"
#include "hal/cpu/pack/pack_bf16_body.h"
#include "hal/cpu/pack/pack_fp16_body.h"
#include "hal/cpu/pack/pack_magnitude_body.h"
#include "hal/cpu/pack/pack_sum_body.h"

const hal_pack PACK = {
    .bf16 = {encode_bf16, decode_bf16, decode_add_bf16},
    .fp16 = {encode_fp16, decode_fp16, decode_add_fp16},
    .sum = sum_all,
    .compact = compact,
    .count = count_from,
    .sum_magnitudes = sum_magnitudes,
};
