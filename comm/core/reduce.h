/* comm/core/reduce.h: the local half of a reduction. */
#ifndef WEFT_COMM_CORE_REDUCE_H
#define WEFT_COMM_CORE_REDUCE_H

#include "comm/comm.h"

/* Whether the op is defined on the type: everything but sums of bytes, which would overflow unseen. */
bool comm_reduce_supported(weft_dtype dtype, comm_op op);

/* to[i] = left[i] op right[i]; `to` may be left or right. In max and min NaN wins over every number; integers wrap. */
void comm_reduce(weft_dtype dtype, comm_op op, void *to, const void *left, const void *right, int64_t count);

#endif
