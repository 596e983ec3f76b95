/* dense/data/image_fetch.c: see dense/data/image_fetch.h. */
#include "dense/data/image_fetch.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/exchange.h"

struct image_fetch {
    const image_set *set;
    comm_exchange *exchange;
    int ranks, rank;
    int64_t rows;           /* of this rank, of the last batch */
    int64_t *count;         /* [ranks] sent, then taken */
    int32_t *server;        /* [most rows] -1: at hand */
    const uint8_t **pixels; /* [most rows] */
};

/* The rows of a rank: [out] server of each, where it is this rank's; else what this one sends it. */
static weft_status send_rows(image_fetch *f, const image_fetch_batch *batch, int reader)
{
    const batch_share share = batch->share(batch->self, reader);
    const size_t bytes = (size_t)image_set_bytes(f->set);
    assert(reader >= 0 && reader < f->ranks && share.count >= 0);
    uint8_t *area = comm_exchange_area(f->exchange, reader);
    for (int64_t i = 0; i < share.count; ++i) {
        int split;
        int64_t index;
        batch->sample(batch->self, share.begin + i, &split, &index);
        const int server = image_set_server(f->set, split, index, reader);
        if (reader == f->rank) {
            f->server[i] = server;
        } else if (server == f->rank) {
            WEFT_TRY(image_set_serve(f->set, split, index, area + (size_t)f->count[reader] * bytes));
            f->count[reader] += 1;
        }
    }
    f->rows = reader == f->rank ? share.count : f->rows;
    return WEFT_OK;
}

weft_status image_fetch_post(image_fetch *f, const image_fetch_batch *batch)
{
    memset(f->count, 0, (size_t)f->ranks * sizeof *f->count);
    for (int r = 0; r < f->ranks; ++r) {
        WEFT_TRY(send_rows(f, batch, r));
    }
    return comm_exchange_post(f->exchange, f->count);
}

/* A rank sends in the order of the reader's rows. */
weft_status image_fetch_wait(image_fetch *f)
{
    WEFT_TRY(comm_exchange_wait(f->exchange));
    memset(f->count, 0, (size_t)f->ranks * sizeof *f->count);
    for (int64_t i = 0; i < f->rows; ++i) {
        const int server = f->server[i];
        if (server < 0) {
            continue;
        }
        int64_t sent;
        const uint8_t *area = comm_exchange_received(f->exchange, server, &sent);
        WEFT_CHECK(f->count[server] < sent, WEFT_ERR_INTERNAL, "rank %d sent %lld images, of which this one needs more",
                   server, (long long)sent);
        f->pixels[i] = area + f->count[server] * image_set_bytes(f->set);
        f->count[server] += 1;
    }
    return WEFT_OK;
}

bool image_fetch_is_away(const image_fetch *f, int64_t row)
{
    assert(row >= 0 && row < f->rows);
    return f->server[row] >= 0;
}

const uint8_t *image_fetch_pixels(const image_fetch *f, int64_t row)
{
    assert(row >= 0 && row < f->rows && f->server[row] >= 0);
    return f->pixels[row];
}

/* ---- create and destroy ---------------------------------------------------------------------------------------- */

static weft_status plan(weft_comm *comm, int64_t rows, image_fetch *f)
{
    for (int r = 0; r < f->ranks; ++r) {
        f->count[r] = r == f->rank ? 0 : rows;
    }
    const comm_exchange_desc desc = {
        .lane = COMM_LANE_SAMPLES, .element_bytes = image_set_bytes(f->set), .most = f->count, .name = "images"};
    return comm_exchange_plan(comm, &desc, &f->exchange);
}

weft_status image_fetch_create(weft_comm *comm, const image_set *set, int64_t rows, image_fetch **fetch)
{
    image_fetch *f;
    *fetch = NULL;
    if (!image_set_is_spread(set)) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW_ZERO(&f, 1, WEFT_MEM_IMAGE);
    if (status == WEFT_OK) {
        f->set = set;
        f->ranks = comm_size(comm);
        f->rank = comm_rank(comm);
        status = WEFT_NEW(&f->count, f->ranks, WEFT_MEM_IMAGE);
    }
    status = status == WEFT_OK ? WEFT_NEW(&f->server, rows, WEFT_MEM_IMAGE) : status;
    status = status == WEFT_OK ? WEFT_NEW(&f->pixels, rows, WEFT_MEM_IMAGE) : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? plan(comm, rows, f) : status;
    if (status != WEFT_OK) {
        image_fetch_destroy(f);
        return status;
    }
    *fetch = f;
    return WEFT_OK;
}

void image_fetch_destroy(image_fetch *f)
{
    if (f == NULL) {
        return;
    }
    comm_exchange_destroy(f->exchange);
    WEFT_FREE_ALL(f->count, f->server, f->pixels, f);
}
