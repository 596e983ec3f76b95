/*
 * train/replica_drift.c: do the ranks still hold the same parameters?
 *
 * In exact modes each rank updates its own replica with the same sums, so nothing but arithmetic keeps replicas
 * together: a processor that rounds otherwise, a device, or a broken one lets them part without a word. A hash tells
 * whether they did, at
 * 16 bytes a rank; only where it differs do rank 0's parameters travel, to say how far.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "train/replica.h"

static double value_at(const param_store *params, const void *values, int64_t i)
{
    return params->dtype == WEFT_DTYPE_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* The largest |own - root| over the root mean square of root; what is not a number counts as infinitely far. */
static double distance(const param_store *params, const void *own, const void *root)
{
    double most = 0.0, squares = 0.0;
    for (int64_t i = 0; i < params->elements; ++i) {
        const double value = value_at(params, root, i);
        const double apart = fabs(value_at(params, own, i) - value);
        most = apart <= most ? most : apart;
        squares += value * value;
    }
    const double size = sqrt(squares / (double)params->elements);
    const double part = most / (size > 0.0 ? size : 1.0);
    return isfinite(part) ? part : (double)INFINITY;
}

/* How far `own` is from rank 0's, which travels. */
static weft_status measure(train_replica *r, void *own, size_t bytes, double *drift)
{
    const bool first = comm_rank(r->comm) == 0;
    char *root = NULL;
    weft_status status = comm_agree(r->comm, first ? WEFT_OK : WEFT_NEW(&root, bytes, WEFT_MEM_WORKSPACE));
    void *const parameters = first ? own : root;
    status = status == WEFT_OK ? comm_bcast(r->comm, 0, parameters, (int64_t)bytes) : status;
    if (status == WEFT_OK) {
        *drift = distance(r->params, own, parameters);
        status = comm_allreduce(r->comm, drift, 1, WEFT_DTYPE_F64, COMM_MAX);
    }
    weft_free(root);
    return status;
}

static weft_status compare(train_replica *r, void *own, size_t bytes, double *drift)
{
    const uint64_t hash = file_checksum(own, bytes, 0);
    uint64_t first = hash;
    WEFT_TRY(comm_bcast(r->comm, 0, &first, sizeof first));
    int64_t differs = hash != first;
    WEFT_TRY(comm_allreduce(r->comm, &differs, 1, WEFT_DTYPE_I64, COMM_MAX));
    return differs == 0 ? WEFT_OK : measure(r, own, bytes, drift);
}

weft_status replica_drift(train_replica *r, double *drift)
{
    const size_t bytes = (size_t)r->params->elements * weft_dtype_bytes(r->params->dtype);
    char *own = NULL;
    *drift = 0.0;
    if (comm_size(r->comm) == 1 || bytes == 0) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&own, bytes, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? tensor_download(&r->params->value, own) : status;
    status = comm_agree(r->comm, status);
    status = status == WEFT_OK ? compare(r, own, bytes, drift) : status;
    weft_free(own);
    return status;
}
