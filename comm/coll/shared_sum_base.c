/* comm/coll/shared_sum_base.c: sums of float32 4 at a time. */
#include <immintrin.h>
#include <string.h>

#include "comm/coll/shared.h"

#define VECTOR       __m128
#define VECTOR_LOAD  _mm_loadu_ps
#define VECTOR_ADD   _mm_add_ps
#define VECTOR_STORE _mm_storeu_ps
#define SHARED_SUM   shared_sum_base
#include "comm/coll/shared_sum_body.h"
