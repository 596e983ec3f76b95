/* table/rows/csv_scan_avx512.c: see table/rows/csv_scan_body.h. */
#include "table/rows/csv_scan.h"

#include <immintrin.h>

#define CSV_NAME(name) name##_avx512

typedef __m512i csv_vector;

static inline csv_vector csv_load(const char *text)
{
    return _mm512_loadu_si512(text);
}

static inline uint64_t csv_equal(csv_vector part, char byte)
{
    return _mm512_cmpeq_epi8_mask(part, _mm512_set1_epi8(byte));
}

#include "table/rows/csv_scan_body.h"
