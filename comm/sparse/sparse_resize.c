/* comm/sparse/sparse_resize.c: a plan for another number of elements, which remembers what the old one held back. */
#include <assert.h>
#include <string.h>

#include "comm/sparse/sparse_internal.h"

/* The choice that runs, so that a plan of another size makes it again. The half keeps rounding from changing
 * dense_from. */
static sparse_choice running_choice(const sparse_plan *plan)
{
    return (sparse_choice){.exchange = plan->exchange,
                           .dense_from = ((double)plan->dense_from - 0.5) / (double)plan->desc.count,
                           .allreduce = plan->desc.preferred.allreduce};
}

static void copy_bytes(void *to, int64_t to_bytes, const void *from, int64_t bytes)
{
    assert(to_bytes == bytes);
    (void)to_bytes;
    if (bytes > 0) {
        memcpy(to, from, (size_t)bytes);
    }
}

/* Residual, selection and exchange, as a checkpoint would carry them over. */
static void copy_state(sparse_plan *to, sparse_plan *from)
{
    int64_t begin[2], count[2], bytes[2];
    const float *old = sparse_residual(from, &begin[0], &count[0]);
    float *residual = sparse_residual(to, &begin[1], &count[1]);
    assert(begin[0] == begin[1]);
    copy_bytes(residual, count[1] * (int64_t)sizeof *residual, old, count[0] * (int64_t)sizeof *old);
    const void *selection = selector_state(from->selector, &bytes[0]);
    void *copy = selector_state(to->selector, &bytes[1]);
    copy_bytes(copy, bytes[1], selection, bytes[0]);
    const void *exchange = sparse_state(from, &bytes[0]);
    copy = sparse_state(to, &bytes[1]);
    copy_bytes(copy, bytes[1], exchange, bytes[0]);
}

weft_status sparse_resize(sparse_plan **plan, int64_t most)
{
    sparse_plan *old = *plan;
    sparse_plan *fresh = NULL;
    sparse_desc desc = old->desc;
    desc.most = most;
    desc.preferred = desc.count > 0 ? running_choice(old) : desc.preferred;
    WEFT_TRY(sparse_create(old->comm, &desc, &fresh));
    assert(fresh->exchange == old->exchange && fresh->dense_from == old->dense_from);
    weft_status status = sparse_residual_to_host(old);
    status = comm_agree(old->comm, status == WEFT_OK ? sparse_residual_to_host(fresh) : status);
    if (status == WEFT_OK) {
        copy_state(fresh, old);
        status = sparse_restored(fresh);
    }
    if (status != WEFT_OK) {
        sparse_destroy(fresh);
        return status;
    }
    sparse_destroy(old);
    *plan = fresh;
    return WEFT_OK;
}
