/* base/isa.c: see base/isa.h. Files named *_avx2.c and *_avx512.c are compiled for all that a level has. */
#include "base/isa.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { F16C_BIT = 29 }; /* of ecx, leaf 1; clang before 14 has no name for it */

static hal_isa detect(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    __builtin_cpu_init();
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && ((c >> F16C_BIT) & 1u) != 0;
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2")) {
        return HAL_ISA_BASE;
    }
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return avx512 ? HAL_ISA_AVX512 : HAL_ISA_AVX2;
}

hal_isa hal_isa_best(void)
{
    /* Asking the processor is slow on virtual machines. Every thread finds the same answer. */
    static _Atomic int known = -1;
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) {
        isa = (int)detect();
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (hal_isa)isa;
}

const char *hal_isa_name(hal_isa isa)
{
    static const char *const names[HAL_ISAS] = {"base", "avx2", "avx512"};
    return names[isa];
}
