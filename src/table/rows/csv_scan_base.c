/* table/rows/csv_scan_base.c: kernels of table/rows/csv_scan.h for every x86-64, and the choice of a kernel. */
#include "table/rows/csv_scan.h"

#include <emmintrin.h>

#include "base/isa.h"

#define CSV_NAME(name) name##_base
#define CSV_PUT        csv_put_each

typedef struct csv_vector {
    __m128i quarter[4];
} csv_vector;

static inline csv_vector csv_load(const char *text)
{
    csv_vector part;
    for (int i = 0; i < 4; i++) {
        part.quarter[i] = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
    }
    return part;
}

static inline uint64_t csv_equal(csv_vector part, char byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(part.quarter[i], _mm_set1_epi8(byte))) << 16 * i;
    }
    return mask;
}

#include "table/rows/csv_scan_body.h"

csv_places_fn csv_places_best(void)
{
    const hal_isa isa = hal_isa_best();
    return isa == HAL_ISA_AVX512 ? csv_places_avx512 : isa == HAL_ISA_AVX2 ? csv_places_avx2 : csv_places_base;
}

csv_count_fn csv_count_best(void)
{
    const hal_isa isa = hal_isa_best();
    return isa == HAL_ISA_AVX512 ? csv_count_avx512 : isa == HAL_ISA_AVX2 ? csv_count_avx2 : csv_count_base;
}
