/* embed/exchange/split_route.c: see embed/exchange/split_route.h. */
#include "embed/exchange/split_route.h"

#include <string.h>

#include "embed/exchange/embed_group.h"

static int width_of(const split_route *r, int rank)
{
    const int ranks = comm_size(r->comm);
    return split_route_first(r->whole, rank + 1, ranks) - split_route_first(r->whole, rank, ranks);
}

int64_t split_route_columns(const split_route *r, int rank)
{
    return (int64_t)r->fields * width_of(r, rank) + r->squares;
}

static int64_t samples_of(const split_route *r, int rank)
{
    return r->first[rank + 1] - r->first[rank];
}

void split_route_close(split_route *r)
{
    comm_exchange_destroy(r->sums);
    comm_exchange_destroy(r->back);
    WEFT_FREE_ALL(r->count, r->gradient);
    *r = (split_route){0};
}

/* Collective. back: from the ranks of samples to those of columns. */
static weft_status plan(split_route *r, bool back, const char *name, comm_exchange **exchange)
{
    for (int p = 0; p < comm_size(r->comm); ++p) {
        r->count[p] = r->samples * split_route_columns(r, back ? p : comm_rank(r->comm));
    }
    const comm_exchange_desc desc = {
        .lane = COMM_LANE_ROWS, .element_bytes = sizeof(float), .most = r->count, .name = name, .sent = &r->sent};
    return comm_exchange_plan(r->comm, &desc, exchange);
}

/* All ranks know all numbers of samples, so they plan together. */
weft_status split_route_begin(split_route *r, const int64_t *first)
{
    const int ranks = comm_size(r->comm);
    const int64_t samples = bag_route_most_samples(first, ranks);
    r->first = first;
    weft_status status = r->count == NULL ? WEFT_NEW(&r->count, ranks, WEFT_MEM_ROWS) : WEFT_OK;
    status = status == WEFT_OK ? embed_take_floats(&r->gradient, &r->gradients,
                                                   first[ranks] * split_route_columns(r, comm_rank(r->comm)))
                               : status;
    WEFT_TRY(comm_agree(r->comm, status));
    if (samples <= r->samples) {
        return WEFT_OK;
    }
    comm_exchange_destroy(r->sums);
    comm_exchange_destroy(r->back);
    r->sums = NULL;
    r->back = NULL;
    r->samples = samples;
    WEFT_TRY(plan(r, false, "columns of sums", &r->sums));
    return plan(r, true, "gradients of columns", &r->back);
}

float *split_route_part(split_route *r, int rank)
{
    return comm_exchange_area(r->sums, rank);
}

weft_status split_route_totals(split_route *r, float *total, int64_t ld)
{
    const int ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    for (int p = 0; p < ranks; ++p) {
        r->count[p] = samples_of(r, p) * split_route_columns(r, rank);
    }
    WEFT_TRY(comm_exchange_post(r->sums, r->count));
    WEFT_TRY(comm_exchange_wait(r->sums));
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < samples_of(r, rank); ++s) {
        float *to = total + s * ld;
        float squares = 0;
        for (int p = 0; p < ranks; ++p) {
            const int64_t columns = split_route_columns(r, p), width = width_of(r, p);
            int64_t count;
            const float *from = (const float *)comm_exchange_received(r->sums, p, &count) + s * columns;
            for (int f = 0; f < r->fields; ++f) {
                memcpy(to + (int64_t)f * r->whole + split_route_first(r->whole, p, ranks), from + f * width,
                       (size_t)width * sizeof *to);
            }
            squares += r->squares ? from[columns - 1] : 0.0F;
        }
        if (r->squares) {
            to[(int64_t)r->fields * r->whole] = squares;
        }
    }
    return WEFT_OK;
}

/* What rank p gets of this rank's gradients. */
static void pack(const split_route *r, const float *gradient, int64_t ld, int p, float *to)
{
    const int64_t columns = split_route_columns(r, p), width = width_of(r, p);
    const int first = split_route_first(r->whole, p, comm_size(r->comm));
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < samples_of(r, comm_rank(r->comm)); ++s) {
        const float *from = gradient + s * ld;
        for (int f = 0; f < r->fields; ++f) {
            memcpy(to + s * columns + f * width, from + (int64_t)f * r->whole + first, (size_t)width * sizeof *to);
        }
        if (r->squares) {
            to[(s + 1) * columns - 1] = from[(int64_t)r->fields * r->whole];
        }
    }
}

weft_status split_route_gradients(split_route *r, const float *gradient, int64_t ld, const float **all)
{
    const int ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    for (int p = 0; p < ranks; ++p) {
        r->count[p] = samples_of(r, rank) * split_route_columns(r, p);
        pack(r, gradient, ld, p, comm_exchange_area(r->back, p));
    }
    WEFT_TRY(comm_exchange_post(r->back, r->count));
    WEFT_TRY(comm_exchange_wait(r->back));
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const float *from = comm_exchange_received(r->back, p, &count);
        if (count > 0) {
            memcpy(r->gradient + r->first[p] * split_route_columns(r, rank), from, (size_t)count * sizeof *from);
        }
    }
    *all = r->gradient;
    return WEFT_OK;
}
