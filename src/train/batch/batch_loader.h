/*
 * train/batch/batch_loader.h: threads that make the next batch of a source while the caller computes on the last one.
 *
 *      loader threads:   rows of batch t + 1        |  the caller:   forward, backward of batch t
 *                        into one of two slots      |
 *
 * A slot is the memory of one batch of this rank; the source owns both. Filling a slot is a job: its rows are taken one
 * by one by whoever works on it, so that a slow row holds up nobody else. The caller and the loaders meet under one
 * lock, twice a batch. Without loaders the caller's OpenMP threads fill the slot when the batch is asked for.
 *
 * The loader guesses the batch that training asks for next: the next part or step, then the evaluation if evaluations
 * follow epochs, then the next epoch. A wrong guess (another seed, a resumed training) costs time and changes nothing.
 *
 * Who looks at the next batch already while this one is in use (batch_loader_peek) has one slot more, so that loaders
 * make the batch behind it meanwhile. Without loaders the caller's threads make it then instead of later.
 *
 * Rows may come from other ranks (batch_work.arrive). Then a batch is two jobs: rows at hand while the others travel,
 * then the rows that travelled. Only the caller talks to other ranks, and a batch is begun ahead only inside an epoch,
 * because all ranks know how an epoch goes on: nothing is on its way when a training ends.
 *
 *      WEFT_TRY(batch_loader_take(loader, pass, &slot));       the batch of `pass` stands in slot `slot`
 *      ... upload it ...
 *      batch_loader_ahead(loader, pass);                       the next one is begun in another slot
 */
#pragma once

#include "train/batch/batch_order.h"
#include "train/source.h"

enum { BATCH_SLOTS = 2, BATCH_SLOTS_MOST = 3 };

/* The name of a batch. An evaluation is the same in every epoch, so its seed and epoch are 0. */
typedef struct batch_key {
    bool training;
    uint64_t seed;
    uint32_t epoch;
    batch_turn turn;
} batch_key;

/* Functions by which a source fills its slots. All but make_row are called by the thread that takes batches. */
typedef struct batch_work {
    void *self;
    /* The batch `key` is to be made in `slot`. [out] rows: of this rank. It also posts messages for rows of other
     * ranks. A failure is reported when the batch is taken. */
    weft_status (*begin)(void *self, int slot, const batch_key *key, int64_t *rows);
    /* Make a row. Any thread; worker: its number, 0 .. workers - 1. */
    weft_status (*make_row)(void *self, int slot, int64_t row, int worker);
    /* Returns true if a row of the batch that was begun last comes from another rank. Any thread. */
    bool (*travels)(void *self, int64_t row);
    /* Wait for the rows that travel. Collective. */
    weft_status (*arrive)(void *self);
} batch_work;

typedef struct batch_loader_desc {
    batch_work work;
    /* The backend that reads slots; it is waited for before the host writes to memory that it shares. */
    weft_hal *hal;
    /* Steps, parts and their function. It must outlive the loader. */
    const train_source *source;
    /* Parts that training asks for a batch in, >= 1. */
    int parts;
    /* Loader threads, on the CPUs of the creating thread; 0: the caller's `workers` OpenMP threads fill slots. */
    int loaders;
    /* Threads that make rows: `loaders`, or those of the caller; >= 1. */
    int workers;
    /* batch_loader_peek will be called; rows do not travel. */
    bool peeks;
} batch_loader_desc;

typedef struct batch_loader batch_loader;

/* Slots that a loader of so many threads fills: 1 or BATCH_SLOTS, and one more where it peeks. */
int batch_loader_slots(int loaders, bool peeks);

/* Not collective. WEFT_ERR_RESOURCE: memory or threads. */
weft_status batch_loader_create(const batch_loader_desc *desc, batch_loader **loader);
/* Ends the threads; NULL is allowed. */
void batch_loader_destroy(batch_loader *loader);
/* From now on rows travel: every batch waits for `arrive`. Before the first batch. */
void batch_loader_expect_travel(batch_loader *loader);

/* [out] slot: where the batch of `pass` stands until the next call. Collective where rows travel. A failure that a
 * worker met is returned with its message. */
weft_status batch_loader_take(batch_loader *loader, const train_pass *pass, int *slot);
/* The batch that was taken is in use: begin the one that comes next, in the other slot. */
void batch_loader_ahead(batch_loader *loader, const train_pass *pass);

/* [out] slot: where the batch that follows the one of `pass`, which was taken last, stands until it has been taken; -1:
 * `pass` is the last of its epoch. Waits until the batch is made. Errors of
 * batch_loader_take. Local. */
weft_status batch_loader_peek(batch_loader *loader, const train_pass *pass, int *slot);

/* Seconds that batch_loader_take took, all together. */
double batch_loader_wait_seconds(const batch_loader *loader);
