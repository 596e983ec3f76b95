/*
 * comm/core/reduce.c: to = left op right on every element type. Memory-bound: three streams. Threads are worth their start
 * only past the caches of one core.
 *
 * The kernels say "omp simd" because `to` may be one of the operands, which a compiler must otherwise test for.
 */
#include "comm/core/reduce.h"

#include <assert.h>

enum { BLOCK = 1 << 15, PARALLEL_BLOCKS = 8 };

#define REDUCE_TYPE      float
#define REDUCE_SUM_TYPE  float
#define REDUCE_NAME(op)  reduce_f32_##op
#define REDUCE_IS_NAN(x) ((x) != (x))
#include "comm/core/reduce_body.h"

#define REDUCE_TYPE      double
#define REDUCE_SUM_TYPE  double
#define REDUCE_NAME(op)  reduce_f64_##op
#define REDUCE_IS_NAN(x) ((x) != (x))
#include "comm/core/reduce_body.h"

#define REDUCE_TYPE      int32_t
#define REDUCE_SUM_TYPE  uint32_t
#define REDUCE_NAME(op)  reduce_i32_##op
#define REDUCE_IS_NAN(x) 0
#include "comm/core/reduce_body.h"

#define REDUCE_TYPE      int64_t
#define REDUCE_SUM_TYPE  uint64_t
#define REDUCE_NAME(op)  reduce_i64_##op
#define REDUCE_IS_NAN(x) 0
#include "comm/core/reduce_body.h"

#define REDUCE_TYPE      uint8_t
#define REDUCE_SUM_TYPE  uint32_t
#define REDUCE_NAME(op)  reduce_u8_##op
#define REDUCE_IS_NAN(x) 0
#include "comm/core/reduce_body.h"

bool comm_reduce_supported(weft_dtype dtype, comm_op op)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
    case WEFT_DTYPE_F64:
    case WEFT_DTYPE_I32:
    case WEFT_DTYPE_I64:
        return true;
    case WEFT_DTYPE_U8:
        return op != COMM_SUM;
    case WEFT_DTYPE_BF16: /* 16-bit floats travel as codecs (comm/codec) and are summed in float32 */
    case WEFT_DTYPE_F16:
    case WEFT_DTYPE_I8:
        break;
    }
    return false;
}

static void reduce_block(weft_dtype dtype, comm_op op, void *to, const void *left, const void *right, int64_t count)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
        reduce_f32_run(op, to, left, right, count);
        break;
    case WEFT_DTYPE_F64:
        reduce_f64_run(op, to, left, right, count);
        break;
    case WEFT_DTYPE_I32:
        reduce_i32_run(op, to, left, right, count);
        break;
    case WEFT_DTYPE_I64:
        reduce_i64_run(op, to, left, right, count);
        break;
    case WEFT_DTYPE_U8:
        reduce_u8_run(op, to, left, right, count);
        break;
    case WEFT_DTYPE_BF16:
    case WEFT_DTYPE_F16:
    case WEFT_DTYPE_I8:
        assert(false); /* refused by comm_reduce_supported */
        break;
    }
}

void comm_reduce(weft_dtype dtype, comm_op op, void *to, const void *left, const void *right, int64_t count)
{
    size_t element = weft_dtype_bytes(dtype);
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
    if (blocks < PARALLEL_BLOCKS) {
        reduce_block(dtype, op, to, left, right, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        size_t offset = (size_t)b * BLOCK * element;
        int64_t rest = count - b * BLOCK;
        reduce_block(dtype, op, (char *)to + offset, (const char *)left + offset, (const char *)right + offset,
                     rest < BLOCK ? rest : BLOCK);
    }
}
