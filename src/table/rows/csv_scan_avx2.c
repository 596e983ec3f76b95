/* table/rows/csv_scan_avx2.c: see table/rows/csv_scan_body.h. */
#include "table/rows/csv_scan.h"

#include <immintrin.h>

#define CSV_NAME(name) name##_avx2
#define CSV_PUT        csv_put_each

typedef struct csv_vector {
    __m256i half[2];
} csv_vector;

static inline csv_vector csv_load(const char *text)
{
    return (csv_vector){{_mm256_loadu_si256((const __m256i *)(const void *)text),
                         _mm256_loadu_si256((const __m256i *)(const void *)(text + 32))}};
}

static inline uint64_t csv_equal(csv_vector part, char byte)
{
    const __m256i wanted = _mm256_set1_epi8(byte);
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(part.half[0], wanted));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(part.half[1], wanted));
    return (uint64_t)high << 32 | low;
}

#include "table/rows/csv_scan_body.h"
