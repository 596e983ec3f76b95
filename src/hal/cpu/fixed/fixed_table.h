/* hal/cpu/fixed/fixed_table.h: the kernels of sums in fixed point that an opened backend uses. */
#pragma once

#include "hal/cpu/fixed/fixed.h"

static inline const fixed_kernels *cpu_fixed_kernels(const weft_hal *hal)
{
    const hal_isa isa = cpu_state_of(hal)->isa;
    const bool pairs = isa == HAL_ISA_AVX512 && __builtin_cpu_supports("avx512vnni") != 0;
    return pairs ? &fixed_kernels_avx512vnni : isa >= HAL_ISA_AVX2 ? &fixed_kernels_avx2 : &fixed_kernels_base;
}
