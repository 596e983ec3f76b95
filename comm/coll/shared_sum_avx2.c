/* comm/coll/shared_sum_avx2.c: sums of float32 8 at a time. */
#include <immintrin.h>
#include <string.h>

#include "comm/coll/shared.h"

#define VECTOR       __m256
#define VECTOR_LOAD  _mm256_loadu_ps
#define VECTOR_ADD   _mm256_add_ps
#define VECTOR_STORE _mm256_storeu_ps
#define SHARED_SUM   shared_sum_avx2
#include "comm/coll/shared_sum_body.h"
