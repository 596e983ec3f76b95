/* hal/cpu/sparse/shared_order.c: see hal/cpu/sparse/shared_order.h. */
#include "hal/cpu/sparse/shared_order.h"

#include <string.h>

enum { ROUNDS = 3 }; /* of labels: a fourth changes one row in two hundred */

/* Columns of the shared rows are sources, then partial sums. */
typedef struct ordering {
    const spmm_shared_rows *m;
    int32_t *label;   /* [sources + sums] a source that stands for a group of them */
    int64_t *size;    /* [sums] sources that a sum is made of, those of its sums included */
    int64_t *weight;  /* [sources] of each label in a row, zeros between two rows */
    int32_t *order;   /* [targets] rows in their new order */
    int32_t *place;   /* [sources + sums] new column of each; -1: none yet */
    int32_t *old_sum; /* [sums] number of the sum at each new one */
    int64_t *next;    /* [levels] the next new sum of each level */
    int64_t placed;   /* sources */
} ordering;

static bool is_sum(const spmm_shared_rows *m, int32_t column)
{
    return column >= m->sources;
}

static int64_t weight_of(const ordering *o, int32_t column)
{
    return is_sum(o->m, column) ? o->size[column - o->m->sources] : 1;
}

/* The label that most of what a row adds has; `own` of a row that adds nothing. */
static int32_t common_label(ordering *o, int64_t row, int32_t own)
{
    const spmm_shared_rows *m = o->m;
    int64_t most = 0;
    for (int64_t e = m->start[2 * row]; e < m->start[2 * row + 1]; e++) {
        const int32_t label = o->label[m->column[e]];
        o->weight[label] += weight_of(o, m->column[e]);
        if (o->weight[label] > most) {
            most = o->weight[label];
            own = label;
        }
    }
    for (int64_t e = m->start[2 * row]; e < m->start[2 * row + 1]; e++) {
        o->weight[o->label[m->column[e]]] = 0;
    }
    return own;
}

static void find_labels(ordering *o)
{
    const spmm_shared_rows *m = o->m;
    for (int64_t s = 0; s < m->sums; s++) { /* a sum is made of those of lower levels */
        for (int64_t e = m->start[2 * s]; e < m->start[2 * s + 1]; e++) {
            o->size[s] += weight_of(o, m->column[e]);
        }
    }
    for (int64_t i = 0; i < m->sources; i++) {
        o->label[i] = (int32_t)i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t s = 0; s < m->sums; s++) {
            o->label[m->sources + s] = common_label(o, s, 0);
        }
        for (int64_t t = 0; t < m->targets; t++) {
            o->label[t] = common_label(o, m->sums + t, o->label[t]);
        }
    }
}

/* Rows by label, those of one as they are numbered. weight becomes where the rows of each label end. */
static void order_rows(ordering *o)
{
    const spmm_shared_rows *m = o->m;
    int64_t begin = 0;
    for (int64_t t = 0; t < m->targets; t++) {
        o->weight[o->label[t]]++;
    }
    for (int64_t l = 0; l < m->sources; l++) {
        const int64_t rows = o->weight[l];
        o->weight[l] = begin;
        begin += rows;
    }
    for (int64_t t = 0; t < m->targets; t++) {
        o->order[o->weight[o->label[t]]++] = (int32_t)t;
    }
}

static void place_reads(ordering *o, int64_t row);

static void place_sum(ordering *o, int64_t sum)
{
    int level = 0;
    while (sum >= o->m->level[level + 1]) {
        level++;
    }
    o->old_sum[o->next[level]] = (int32_t)sum;
    o->place[o->m->sources + sum] = (int32_t)(o->m->sources + o->next[level]++);
    place_reads(o, sum);
}

/* Gives what a row reads, and what that is made of, places in the order in which they are met. */
static void place_reads(ordering *o, int64_t row)
{
    const spmm_shared_rows *m = o->m;
    for (int64_t e = m->start[2 * row]; e < m->start[2 * row + 2]; e++) {
        const int32_t column = m->column[e];
        if (o->place[column] >= 0) {
            continue;
        }
        if (is_sum(m, column)) {
            place_sum(o, column - m->sources);
        } else {
            o->place[column] = (int32_t)o->placed++;
        }
    }
}

static void place_all(ordering *o)
{
    const spmm_shared_rows *m = o->m;
    memset(o->place, 0xFF, (size_t)(m->sources + m->sums) * sizeof *o->place);
    memcpy(o->next, m->level, (size_t)m->levels * sizeof *o->next);
    for (int64_t i = 0; i < m->targets; i++) {
        place_reads(o, m->sums + o->order[i]);
    }
    for (int64_t s = 0; s < m->sums; s++) {
        if (o->place[m->sources + s] < 0) {
            place_sum(o, s);
        }
    }
    for (int64_t c = 0; c < m->sources; c++) {
        o->place[c] = o->place[c] >= 0 ? o->place[c] : (int32_t)o->placed++;
    }
}

/* Writes the rows anew: new rows, each with its reads in their order, in their places. */
static weft_status move_rows(const ordering *o, spmm_shared_rows *m)
{
    const int64_t rows = m->sums + m->targets, reads = m->start[2 * rows];
    weft_status status = WEFT_OK;
    int64_t *start = NULL;
    int32_t *column = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&start, 2 * rows + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&column, reads + 1, WEFT_MEM_WORKSPACE), status, done);
    start[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t old = row < m->sums ? o->old_sum[row] : m->sums + o->order[row - m->sums];
        const int64_t moved = start[2 * row] - m->start[2 * old];
        for (int64_t e = m->start[2 * old]; e < m->start[2 * old + 2]; e++) {
            column[e + moved] = o->place[m->column[e]];
        }
        start[2 * row + 1] = m->start[2 * old + 1] + moved;
        start[2 * row + 2] = m->start[2 * old + 2] + moved;
    }
    memcpy(m->start, start, (size_t)(2 * rows + 1) * sizeof *start);
    memcpy(m->column, column, (size_t)reads * sizeof *column);
done:
    WEFT_FREE_ALL(start, column);
    return status;
}

weft_status spmm_order_shared(hal_spmm *spmm)
{
    spmm_shared_rows *m = &spmm->shared;
    ordering o = {.m = m};
    weft_status status = WEFT_OK;
    if (m->targets > m->sources) {
        return WEFT_OK;
    }
    WEFT_TRY(spmm_new(spmm, (size_t)m->sources, sizeof *spmm->source, (void **)&spmm->source));
    WEFT_TRY(spmm_new(spmm, (size_t)m->targets, sizeof *spmm->order, (void **)&spmm->order));
    o.order = spmm->order;
    WEFT_TRY_GOTO(WEFT_NEW(&o.label, m->sources + m->sums, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&o.size, m->sums + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&o.weight, m->sources, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&o.place, m->sources + m->sums, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&o.old_sum, m->sums + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&o.next, m->levels + 1, WEFT_MEM_WORKSPACE), status, done);
    find_labels(&o);
    order_rows(&o);
    place_all(&o);
    for (int64_t c = 0; c < m->sources; c++) {
        spmm->source[o.place[c]] = (int32_t)c;
    }
    WEFT_TRY_GOTO(move_rows(&o, m), status, done);
done:
    WEFT_FREE_ALL(o.label, o.size, o.weight, o.place, o.old_sum, o.next);
    return status;
}
