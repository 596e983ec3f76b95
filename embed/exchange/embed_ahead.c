/*
 * embed/exchange/embed_ahead.c: sends keys and rows of the next batch while this batch computes; bits stay the same.
 *
 *     forward t     values of t are there
 *     ahead         keys of t + 1 leave for their owners                       embed_group_ahead
 *     ahead rows    owners look keys up, and the rows of those leave           embed_group_ahead_rows
 *     backward t    gradients of t arrive and change rows
 *     forward t+1   owners count sightings, admit keys and expire rows; rows that changed since they were sent are
 *                   sent again                                                 embed_ahead_take
 *
 * Owners only look keys up early, and a look-up changes nothing, so a checkpoint between the two batches is the same as
 * without a look ahead. A row has changed if batch t updated it (its key is in both batches), or if the key got or lost
 * its row. Where rows expired, all rows count as changed, because new rows take the places of expired ones.
 *
 * Memory: keys of a second batch, and its index.
 */
#include <string.h>

#include "embed/exchange/embed_group.h"
#include "embed/rows/row_store_state.h"

bool embed_group_looks_ahead(const embed_group *t)
{
    return t->desc.ahead && !t->gathers && comm_size(t->comm) > 1 &&
           (t->desc.mode == EMBED_ALL_TO_ALL || t->desc.mode == EMBED_REPLICATE);
}

/* ---- what travels ------------------------------------------------------------------------------------------------ */

static weft_status drop(embed_group *t)
{
    const bool travels = t->ahead.stage != AHEAD_NONE;
    t->ahead.stage = AHEAD_NONE;
    return travels ? row_route_drop(&t->route) : WEFT_OK;
}

weft_status embed_group_ahead(embed_group *t, const embed_bags *bags)
{
    if (!embed_group_looks_ahead(t)) {
        return WEFT_OK;
    }
    WEFT_TRY(drop(t));
    WEFT_TRY(comm_agree(t->comm, embed_index_bags(t, bags, &t->ahead.index)));
    WEFT_TRY(row_route_post_keys(&t->route, &t->ahead.index));
    t->ahead.batch = bags->batch;
    t->ahead.void_rows = false;
    t->ahead.stage = AHEAD_KEYS;
    return WEFT_OK;
}

static weft_status reserve(group_ahead *a, int64_t keys)
{
    if (keys > a->held || a->held == 0) {
        const int64_t room = keys + keys / 2 + 1;
        WEFT_FREE_ALL(a->row, a->changed, a->place);
        a->row = NULL;
        a->changed = NULL;
        a->place = NULL;
        a->held = 0;
        WEFT_TRY(WEFT_NEW(&a->row, room, WEFT_MEM_ROWS));
        WEFT_TRY(WEFT_NEW(&a->changed, room, WEFT_MEM_ROWS));
        WEFT_TRY(WEFT_NEW(&a->place, room, WEFT_MEM_ROWS));
        a->held = room;
    }
    return WEFT_OK;
}

static weft_status look_up(embed_group *t)
{
    const route_batch *b = row_route_next(&t->route);
    const int64_t owned = b->own.distinct;
    WEFT_TRY(reserve(&t->ahead, owned));
    WEFT_TRY(row_store_touch(t->store, b->own.key, b->times, owned, false, t->ahead.row));
    row_store_read(t->store, t->ahead.row, owned, b->value, t->stride);
    t->ahead.expired = t->store->expired;
    return WEFT_OK;
}

weft_status embed_group_ahead_rows(embed_group *t)
{
    if (t->ahead.stage != AHEAD_KEYS) {
        return WEFT_OK;
    }
    WEFT_TRY(row_route_take_keys(&t->route));
    WEFT_TRY(comm_agree(t->comm, look_up(t)));
    WEFT_TRY(row_route_post_rows(&t->route));
    t->ahead.stage = AHEAD_ROWS;
    return WEFT_OK;
}

/* ---- what has changed -------------------------------------------------------------------------------------------- */

/* [out] t->ahead.changed and place. Returns how many rows changed. Keys of both batches are ascending. */
static int64_t find_changed(embed_group *t)
{
    const bag_index *now = &row_route_now(&t->route)->own, *before = &row_route_next(&t->route)->own;
    group_ahead *a = &t->ahead;
    const bool any_left = t->store->expired != a->expired;
    int64_t changed = 0, k = 0;
    for (int64_t i = 0; i < now->distinct; ++i) {
        while (k < before->distinct && before->key[k] < now->key[i]) {
            ++k;
        }
        const bool updated = k < before->distinct && before->key[k] == now->key[i];
        const bool other = t->row[i] != a->row[i] || (t->row[i] >= 0 && (updated || any_left));
        a->place[i] = other ? (int32_t)changed : -1;
        a->changed[changed] = t->row[i];
        changed += other;
    }
    return changed;
}

/* The batch's keys are seen as in a batch whose keys have just arrived; [out] changed rows and their values. */
static weft_status see_keys(embed_group *t)
{
    route_batch *b = row_route_now(&t->route);
    t->owned = b->own.distinct;
    WEFT_TRY(embed_take_rows(t, t->owned));
    WEFT_TRY(embed_touch(t, b->own.key, b->times, true));
    if (t->route.desc.all_own) {
        row_store_read(t->store, t->row, t->owned, b->value, t->stride);
        return WEFT_OK;
    }
    const int64_t changed = find_changed(t);
    WEFT_TRY(embed_take_floats(&t->ahead.value, &t->ahead.values, changed * t->stride));
    row_store_read(t->store, t->ahead.changed, changed, t->ahead.value, t->stride);
    return WEFT_OK;
}

weft_status embed_ahead_take(embed_group *t, const embed_bags *bags, bool training, bool *taken)
{
    group_ahead *a = &t->ahead;
    *taken = training && a->stage != AHEAD_NONE && !a->void_rows && bags->batch != 0 && bags->batch == a->batch;
    if (!*taken) {
        return drop(t);
    }
    WEFT_TRY(embed_group_ahead_rows(t));
    const bag_index index = t->index;
    t->index = a->index;
    a->index = index;
    a->stage = AHEAD_NONE;
    row_route_turn(&t->route, &t->index);
    WEFT_TRY(comm_agree(t->comm, see_keys(t)));
    return t->route.desc.all_own ? row_route_rows(&t->route, &t->value)
                                 : row_route_late_rows(&t->route, a->place, a->value, &t->value);
}
