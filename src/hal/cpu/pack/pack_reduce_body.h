/*
 * hal/cpu/pack/pack_reduce_body.h: the three reductions of one element type; included by pack_reduce.c once a type with
 *   REDUCE_TYPE   the type      REDUCE_SUM_TYPE  the type sums are done in      REDUCE_NAME(op)  the functions' names
 */
static void REDUCE_NAME(sum)(REDUCE_TYPE *to, const REDUCE_TYPE *left, const REDUCE_TYPE *right, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] = (REDUCE_TYPE)((REDUCE_SUM_TYPE)left[i] + (REDUCE_SUM_TYPE)right[i]);
    }
}

static void REDUCE_NAME(max)(REDUCE_TYPE *to, const REDUCE_TYPE *left, const REDUCE_TYPE *right, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] = left[i] > right[i] || REDUCE_IS_NAN(left[i]) ? left[i] : right[i];
    }
}

static void REDUCE_NAME(min)(REDUCE_TYPE *to, const REDUCE_TYPE *left, const REDUCE_TYPE *right, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] = left[i] < right[i] || REDUCE_IS_NAN(left[i]) ? left[i] : right[i];
    }
}

static void REDUCE_NAME(run)(hal_reduction reduction, void *to, const void *left, const void *right, int64_t count)
{
    switch (reduction) {
    case HAL_SUM:
        REDUCE_NAME(sum)(to, left, right, count);
        break;
    case HAL_MAX:
        REDUCE_NAME(max)(to, left, right, count);
        break;
    case HAL_MIN:
        REDUCE_NAME(min)(to, left, right, count);
        break;
    }
}

#undef REDUCE_TYPE
#undef REDUCE_SUM_TYPE
#undef REDUCE_NAME
#undef REDUCE_IS_NAN
