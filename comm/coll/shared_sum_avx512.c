/* comm/coll/shared_sum_avx512.c: sums of float32 16 at a time. */
#include <immintrin.h>
#include <string.h>

#include "comm/coll/shared.h"

#define VECTOR       __m512
#define VECTOR_LOAD  _mm512_loadu_ps
#define VECTOR_ADD   _mm512_add_ps
#define VECTOR_STORE _mm512_storeu_ps
#define SHARED_SUM   shared_sum_avx512
#include "comm/coll/shared_sum_body.h"
