/* gnn/links/link_ends.c: see gnn/links/link_ends.h. */
#include "gnn/links/link_ends.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/layers/aggregate.h"
#include "train/activities.h"

/* Where the vertices of all ranks stand: by rank, in the order of its rows. Collective. */
static weft_status find_places(const int64_t *gid, const int64_t *rows_of, link_ends *ends)
{
    const int ranks = comm_size(ends->comm);
    int64_t *all = NULL, *bytes = NULL;
    weft_status local = WEFT_NEW(&all, ends->vertices, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, ranks, WEFT_MEM_WORKSPACE) : local;
    weft_status status = comm_agree(ends->comm, local);
    if (local != WEFT_OK || status != WEFT_OK) {
        goto done;
    }
    for (int r = 0; r < ranks; ++r) {
        bytes[r] = rows_of[r] * (int64_t)sizeof *all;
        ends->begin += r < comm_rank(ends->comm) ? rows_of[r] : 0;
    }
    WEFT_TRY_GOTO(comm_allgatherv(ends->comm, gid, ends->owned * (int64_t)sizeof *gid, all, bytes), status, done);
    for (int64_t i = 0; i < ends->vertices; ++i) {
        ends->place[all[i]] = (int32_t)i;
    }
done:
    WEFT_FREE_ALL(all, bytes);
    return status;
}

static weft_status plan(link_ends *ends, int64_t *numbers_of)
{
    const int ranks = comm_size(ends->comm);
    assert(numbers_of != NULL && ends->width > 0);
    for (int r = 0; r < ranks; ++r) {
        numbers_of[r] *= ends->width;
    }
    comm_shares_desc desc = {.lane = COMM_LANE_ROWS,
                             .dtype = WEFT_DTYPE_F32,
                             .op = COMM_SUM,
                             .count = numbers_of,
                             .buffer = ends->row,
                             .name = "rows of links"};
    WEFT_TRY(comm_allgather_plan(ends->comm, &desc, &ends->gather));
    desc.buffer = ends->gradient;
    desc.name = "gradients of links";
    return comm_reduce_scatter_plan(ends->comm, &desc, &ends->scatter);
}

static weft_status reserve(link_ends *ends)
{
    WEFT_TRY(WEFT_NEW(&ends->place, ends->vertices, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW_ZERO(&ends->row, ends->vertices * ends->width, WEFT_MEM_ACTIVATION));
    WEFT_TRY(WEFT_NEW_ZERO(&ends->gradient, ends->vertices * ends->width, WEFT_MEM_ACTIVATION));
    WEFT_TRY(WEFT_NEW(&ends->offset, ends->vertices + 2, WEFT_MEM_GRAPH));
    return WEFT_NEW(&ends->entry, 2 * ends->capacity, WEFT_MEM_GRAPH);
}

weft_status link_ends_create(weft_comm *comm, int64_t vertices, const int64_t *gid, int64_t owned, int64_t width,
                             int64_t links, link_ends *ends)
{
    *ends = (link_ends){.comm = comm, .vertices = vertices, .owned = owned, .width = width, .capacity = links};
    int64_t *rows_of = NULL;
    weft_status local = links <= INT32_MAX ? reserve(ends)
                                           : weft_fail(WEFT_ERR_RESOURCE,
                                                       "%lld links and negatives on a rank, which has room for "
                                                       "2147483647: use more ranks or fewer negatives",
                                                       (long long)links);
    local = local == WEFT_OK ? WEFT_NEW(&rows_of, comm_size(comm), WEFT_MEM_WORKSPACE) : local;
    weft_status status = comm_agree(comm, local);
    if (local != WEFT_OK || status != WEFT_OK) {
        goto done;
    }
    WEFT_TRY_GOTO(comm_allgather(comm, &owned, sizeof owned, rows_of), status, done);
    WEFT_TRY_GOTO(find_places(gid, rows_of, ends), status, done);
    status = plan(ends, rows_of);
done:
    weft_free(rows_of);
    return status;
}

void link_ends_destroy(link_ends *ends)
{
    comm_plan_destroy(ends->gather);
    comm_plan_destroy(ends->scatter);
    WEFT_FREE_ALL(ends->place, ends->row, ends->gradient, ends->offset, ends->entry);
    *ends = (link_ends){.comm = NULL};
}

static weft_status exchange(comm_plan *plan)
{
    activity_begin(ACTIVITY_HALO);
    weft_status status = comm_post(plan);
    status = status == WEFT_OK ? comm_wait(plan) : status;
    activity_end(ACTIVITY_HALO);
    return status;
}

weft_status link_ends_gather(link_ends *ends, const weft_tensor *rows)
{
    WEFT_TRY(tensor_download(rows, ends->row + ends->begin * ends->width));
    return exchange(ends->gather);
}

/* Entries of each place, in the order of the links: offset[v + 1] counts, then moves from the first to behind the last
 * entry of v. */
static void sort_ends(const link_batch *batch, link_ends *ends)
{
    int64_t *next = ends->offset + 1;
    memset(ends->offset, 0, (size_t)(ends->vertices + 2) * sizeof *ends->offset);
    for (int64_t i = 0; i < batch->links; ++i) {
        next[batch->a[i] + 1] += 1;
        next[batch->b[i] + 1] += 1;
    }
    for (int64_t v = 0; v < ends->vertices; ++v) {
        next[v + 1] += next[v];
    }
    for (int64_t i = 0; i < batch->links; ++i) {
        ends->entry[next[batch->a[i]]++] = (int32_t)i;
        ends->entry[next[batch->b[i]]++] = ~(int32_t)i;
    }
}

/* sum [width] += what one link gives to one of its ends. */
static void add_end(float *restrict sum, const float *restrict other, const float *restrict factor, float coefficient,
                    int64_t width)
{
    for (int64_t c = 0; c < width; ++c) {
        sum[c] += (factor != NULL ? factor[c] : coefficient) * other[c];
    }
}

static void sum_ends(const link_batch *batch, const float *coefficient, const float *factor, const link_ends *ends)
{
    const int64_t width = ends->width;
#pragma omp parallel for schedule(static, 64)
    for (int64_t v = 0; v < ends->vertices; ++v) {
        float *sum = ends->gradient + v * width;
        memset(sum, 0, (size_t)width * sizeof *sum);
        for (int64_t e = ends->offset[v]; e < ends->offset[v + 1]; ++e) {
            const bool second = ends->entry[e] < 0;
            const int64_t link = second ? ~ends->entry[e] : ends->entry[e];
            const int64_t other = second ? batch->a[link] : batch->b[link];
            add_end(sum, ends->row + other * width, factor != NULL ? factor + link * width : NULL,
                    factor != NULL ? 0.0F : coefficient[link], width);
        }
    }
}

weft_status link_ends_scatter(link_ends *ends, const link_batch *batch, const float *coefficient, const float *factor,
                              weft_tensor *rows)
{
    activity_begin(ACTIVITY_ELEMENTWISE);
    sort_ends(batch, ends);
    sum_ends(batch, coefficient, factor, ends);
    activity_end(ACTIVITY_ELEMENTWISE);
    WEFT_TRY(exchange(ends->scatter));
    return tensor_upload(rows, ends->gradient + ends->begin * ends->width);
}
