/* base/isa.h: which vector instructions this processor has, asked once; kernels exist for three levels. And the mark of
 * what is compiled for a GPU too. */
#pragma once

/* Small functions that kernels of a GPU call. */
#ifdef __CUDACC__
#define WEFT_DEVICE __host__ __device__
#else
#define WEFT_DEVICE
#endif

/* AVX2: with FMA, F16C and BMI (Haswell, Zen). AVX-512: with BW, VL and DQ (Skylake-SP, Zen 4). */
typedef enum hal_isa { HAL_ISA_BASE, HAL_ISA_AVX2, HAL_ISA_AVX512 } hal_isa;
enum { HAL_ISAS = 3 };

hal_isa hal_isa_best(void); /* any thread */
const char *hal_isa_name(hal_isa isa);
