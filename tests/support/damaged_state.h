/*
 * support/damaged_state.h: what a mode of synchronisation does with a checkpoint whose counters are wrong behind a
 * right checksum: each whole number of its state takes values that it cannot have, on one rank and on all.
 * sync_restored refuses it on all ranks, or the mode goes on without a stall.
 */
#pragma once

#include <string.h>

#include "comm/sync/sync.h"
#include "support/comm_cases.h"

typedef struct damaged_rig {
    void *self;
    comm_sync *sync;
    weft_status (*put_back)(void *self); /* a good state into the buffers */
    weft_status (*steps)(void *self);    /* some steps from there */
} damaged_rig;

static inline bool damaged_counts(const sync_buffer *buffer)
{
    static const char *const words[] = {"step", "counters", "clocks", "selection", "exchange"};
    bool counts = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        counts = counts || strstr(buffer->name, words[i]) != NULL;
    }
    return counts;
}

enum { DAMAGES = 10 };

/* Even damages are those of the last rank, odd ones of all. */
static inline int64_t damaged_value(int64_t good, int damage)
{
    const int64_t values[DAMAGES / 2] = {-1, (int64_t)1 << 31, INT64_MIN, INT64_MAX, good + 1};
    return values[damage / 2];
}

/* One number, word `w` of buffer b. *refused: the damage was found. Collective. */
static inline weft_status damaged_try(weft_comm *comm, const damaged_rig *r, int b, int64_t w, int damage,
                                      bool *refused)
{
    const sync_buffer *buffer = NULL;
    int count = 0;
    WEFT_TRY(r->put_back(r->self));
    WEFT_TRY(sync_state(r->sync, &buffer, &count));
    const bool here = damage % 2 == 1 || comm_rank(comm) == comm_size(comm) - 1;
    if (here && (w + 1) * 8 <= buffer[b].bytes) {
        int64_t *word = (int64_t *)buffer[b].data + w;
        *word = damaged_value(*word, damage);
    }
    const weft_status status = sync_restored(r->sync);
    int64_t bounds[2] = {status, -(int64_t)status};
    WEFT_TRY(comm_allreduce(comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
    CASE_CHECK(bounds[0] == -bounds[1] && (status == WEFT_OK || status == WEFT_ERR_DATA),
               "%s, word %d, damage %d: status %d here, up to %d elsewhere", buffer[b].name, (int)w, damage,
               (int)status, (int)bounds[0]);
    *refused = status == WEFT_ERR_DATA;
    CASE_CHECK(!*refused || strstr(weft_error_message(), "damaged") != NULL, "%s", weft_error_message());
    return *refused ? WEFT_OK : r->steps(r->self);
}

/* Every number of the state; at least `least` damages must be found. Collective. */
static inline weft_status damaged_all(weft_comm *comm, const damaged_rig *r, int least)
{
    const sync_buffer *buffer = NULL;
    int count = 0, found = 0;
    WEFT_TRY(r->put_back(r->self));
    WEFT_TRY(sync_restored(r->sync));
    WEFT_TRY(r->steps(r->self));
    WEFT_TRY(sync_state(r->sync, &buffer, &count));
    for (int b = 0; b < count; ++b) {
        int64_t words = damaged_counts(&buffer[b]) ? buffer[b].bytes / 8 : 0;
        WEFT_TRY(comm_allreduce(comm, &words, 1, WEFT_DTYPE_I64, COMM_MAX));
        for (int64_t k = 0; k < words * DAMAGES; ++k) {
            bool refused = false;
            WEFT_TRY(damaged_try(comm, r, b, k / DAMAGES, (int)(k % DAMAGES), &refused));
            found += refused;
        }
    }
    CASE_CHECK(found >= least, "%d damages were found, at least %d ought to be", found, least);
    WEFT_TRY(r->put_back(r->self)); /* and nothing of them stays */
    WEFT_TRY(sync_restored(r->sync));
    WEFT_TRY(r->steps(r->self));
    return sync_state(r->sync, &buffer, &count); /* which ends what is under way */
}
