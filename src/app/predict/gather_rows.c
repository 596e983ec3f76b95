/* app/predict/gather_rows.c: see app/predict/gather_rows.h. */
#include "app/predict/gather_rows.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

typedef struct row_gather {
    weft_comm *comm;
    const held_rows *held;
    int64_t width, stripe_rows, stripes;
    int64_t *start;  /* [stripes + 1] where each stripe begins in order */
    int32_t *order;  /* [held->count] rows by stripe */
    int64_t *counts; /* [P] rows of the stripe, then bytes */
    int64_t *gid, *all_gid;
    uint32_t *word, *all_word, *sorted;
} row_gather;

/* Held rows sorted by stripe (not within one: rank 0 puts every row in its place). */
static weft_status sort_by_stripe(row_gather *g)
{
    const held_rows *held = g->held;
    int64_t most = 0;
    WEFT_TRY(WEFT_NEW_ZERO(&g->start, g->stripes + 2, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&g->order, held->count, WEFT_MEM_WORKSPACE));
    int64_t *next = g->start + 1;
    for (int64_t i = 0; i < held->count; ++i) {
        next[held_row_id(held, i) / g->stripe_rows + 1] += 1;
    }
    for (int64_t s = 1; s <= g->stripes; ++s) {
        most = next[s] > most ? next[s] : most;
        next[s] += next[s - 1];
    }
    for (int64_t i = 0; i < held->count; ++i) {
        g->order[next[held_row_id(held, i) / g->stripe_rows]++] = (int32_t)i;
    }
    WEFT_TRY(WEFT_NEW(&g->gid, most, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&g->word, most * g->width, WEFT_MEM_WORKSPACE);
}

static weft_status gather_allocate(row_gather *g)
{
    WEFT_TRY(sort_by_stripe(g));
    WEFT_TRY(WEFT_NEW(&g->counts, comm_size(g->comm), WEFT_MEM_WORKSPACE));
    if (comm_rank(g->comm) != 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&g->all_gid, g->stripe_rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&g->all_word, g->stripe_rows * g->width, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&g->sorted, g->stripe_rows * g->width, WEFT_MEM_WORKSPACE);
}

/* counts[] rows of every rank become bytes of `item` each; rank 0 receives them one behind the other. */
static weft_status collect(row_gather *g, const void *mine, int64_t count, int64_t item, void *all)
{
    int ranks = comm_size(g->comm);
    memset(g->counts, 0, (size_t)ranks * sizeof *g->counts);
    g->counts[comm_rank(g->comm)] = count * item;
    WEFT_TRY(comm_allreduce(g->comm, g->counts, ranks, WEFT_DTYPE_I64, COMM_SUM));
    return comm_gatherv(g->comm, 0, mine, count * item, all, g->counts);
}

static weft_status gather_stripe(row_gather *g, int64_t stripe, const uint32_t *rows, file_writer *writer)
{
    const held_rows *held = g->held;
    int64_t first = stripe * g->stripe_rows;
    int64_t size = held->total - first < g->stripe_rows ? held->total - first : g->stripe_rows;
    int64_t count = g->start[stripe + 1] - g->start[stripe];
    size_t row_bytes = (size_t)g->width * sizeof *rows;
    for (int64_t k = 0; k < count; ++k) {
        int64_t i = g->order[g->start[stripe] + k];
        g->gid[k] = held_row_id(held, i);
        memcpy(g->word + k * g->width, rows + i * g->width, row_bytes);
    }
    WEFT_TRY(collect(g, g->gid, count, (int64_t)sizeof *g->gid, g->all_gid));
    WEFT_TRY(collect(g, g->word, count, (int64_t)row_bytes, g->all_word));
    weft_status status = WEFT_OK;
    if (comm_rank(g->comm) == 0) {
        for (int64_t k = 0; k < size; ++k) {
            memcpy(g->sorted + (g->all_gid[k] - first) * g->width, g->all_word + k * g->width, row_bytes);
        }
        status = file_write(writer, g->sorted, (size_t)size * row_bytes);
    }
    return comm_agree(g->comm, status);
}

weft_status gather_rows(weft_comm *comm, const held_rows *held, const void *rows, int64_t width, int64_t stripe_bytes,
                        file_writer *writer)
{
    assert(width > 0 && held->count <= held->total);
    int64_t row_bytes = width * (int64_t)sizeof(uint32_t);
    row_gather g = {.comm = comm, .held = held, .width = width, .stripe_rows = 1 + stripe_bytes / row_bytes};
    const int64_t most = held->total > 1 ? held->total : 1; /* images to train with alone: there is no stripe */
    g.stripe_rows = g.stripe_rows < most ? g.stripe_rows : most;
    g.stripes = (held->total + g.stripe_rows - 1) / g.stripe_rows;
    weft_status status = comm_agree(comm, gather_allocate(&g));
    log_progress progress = log_progress_begin("write rows", "rows", (double)held->total);
    for (int64_t stripe = 0; stripe < g.stripes && status == WEFT_OK; ++stripe) {
        status = gather_stripe(&g, stripe, rows, writer);
        log_progress_update(&progress, (double)((stripe + 1) * g.stripe_rows));
    }
    log_progress_end(&progress);
    WEFT_FREE_ALL(g.start, g.order, g.counts, g.gid, g.all_gid, g.word, g.all_word, g.sorted);
    return status;
}
