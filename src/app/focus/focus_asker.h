/*
 * app/focus/focus_asker.h: the expensive network of a query: rank 0 asks for the classes of items, all ranks compute.
 *
 *      rank 0                                   other ranks
 *      focus_asker_ask(&a, item, count)         focus_asker_serve(&a)      returns when rank 0 is done, or failed
 *      ...
 *      focus_asker_dismiss(&a, status)
 *
 * An item that the index has an answer for is not asked again; new answers are written into the index at once.
 */
#pragma once

#include "app/focus/focus_match.h"
#include "app/predict/predictor.h"
#include "focus/index/focus_index.h"

typedef struct focus_asker {
    predictor *network; /* opened and loaded, on every rank */
    bool failed;        /* all ranks know */
    int64_t *row;       /* [count] rows of the data that are being answered for, on every rank */
    int64_t count;
    item_origin *origin; /* [origins] of the items, on every rank, where they are moving things; else NULL */
    int64_t origins;
    /* ---- rank 0 ---- */
    int32_t *class;   /* [count] their classes */
    const char *path; /* of the index */
    focus_index *index;
    char hash[FOCUS_HASH_BYTES]; /* of the network */
    int64_t runs, known;         /* items that were run, and others that were asked for, which the index knew before */
    uint8_t *asked;              /* [index->items] 1: counted in `runs` or `known` */
    focus_named_row *by_name;    /* [network->work->held.total] rows by name; NULL: item i is row i */
} focus_asker;

/* Opens the index on rank 0; all ranks hear what moves in it, so that nobody looks for it again. Fails like
 * focus_index_open. Collective. */
weft_status focus_asker_open(focus_asker *a, weft_comm *comm);
/* Prepares rank 0: its path, index, hash and by_name. WEFT_ERR_USAGE: the index holds answers of another network;
 * WEFT_ERR_DATA: it is of other data (focus_match_check). Not collective. */
weft_status focus_asker_begin(focus_asker *a);
/* Rank 0: answers of these items [count, ascending, different], into index->answer and the file. WEFT_ERR_DATA: an item
 * is not among the data. */
weft_status focus_asker_ask(focus_asker *a, const int64_t *item, int64_t count);
/* The other ranks. */
weft_status focus_asker_serve(focus_asker *a);
/* Rank 0: the others return from focus_asker_serve; returns the worst of `status` and theirs. */
weft_status focus_asker_dismiss(focus_asker *a, weft_status status);
void focus_asker_free(focus_asker *a);
