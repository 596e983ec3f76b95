/* base/isa.h: which vector instructions this processor has, asked once. Kernels exist for three levels. */
#ifndef WEFT_BASE_ISA_H
#define WEFT_BASE_ISA_H

/* AVX2: with FMA, F16C and BMI (Haswell, Zen). AVX-512: with BW, VL and DQ (Skylake-SP, Zen 4). */
typedef enum hal_isa { HAL_ISA_BASE, HAL_ISA_AVX2, HAL_ISA_AVX512 } hal_isa;
enum { HAL_ISAS = 3 };

hal_isa hal_isa_best(void); /* any thread */
const char *hal_isa_name(hal_isa isa);

#endif
