/* hal/cpu/sparse/share_order.c: see hal/cpu/sparse/share_order.h. */
#include "hal/cpu/sparse/share_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { ROUNDS = 4 };

/* A vertex, or a partial sum, and its number. */
typedef struct numbered {
    float number;
    int32_t item;
} numbered;

typedef struct order_work {
    const hal_shared_rows *m;
    float *value;          /* [sources + sums] of columns, and of partial sums what a pass makes */
    float *row;            /* [targets] */
    float *reads;          /* [targets] columns that a row comes to; */
    float *readers;        /* [sources] rows that come to a column */
    float *terms;          /* [sums] columns that a partial sum comes to */
    numbered *by;          /* the longest of the three, to be sorted */
    int32_t *column, *sum; /* [sources], [sums] new numbers */
} order_work;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */
/* value of partial sums, and row = what each adds up of the values of columns. */
static void add_up(const hal_shared_rows *m, float *value, float *row)
{
    for (int64_t r = 0; r < m->sums + m->targets; r++) {
        float sum = 0.0F;
        for (int64_t e = m->plus_start[r]; e < m->plus_start[r + 1]; e++) {
            sum += value[m->plus[e]];
        }
        for (int64_t e = m->minus_start[r]; e < m->minus_start[r + 1]; e++) {
            sum -= value[m->minus[e]];
        }
        *(r < m->sums ? &value[m->sources + r] : &row[r - m->sums]) = sum;
    }
}

/* The other way: value of columns = what is added up of the rows that read them. */
static void hand_down(const hal_shared_rows *m, const float *row, float *value)
{
    memset(value, 0, (size_t)(m->sources + m->sums) * sizeof *value);
    for (int64_t r = m->sums + m->targets - 1; r >= 0; r--) {
        const float own = r < m->sums ? value[m->sources + r] : row[r - m->sums];
        for (int64_t e = m->plus_start[r]; e < m->plus_start[r + 1]; e++) {
            value[m->plus[e]] += own;
        }
        for (int64_t e = m->minus_start[r]; e < m->minus_start[r + 1]; e++) {
            value[m->minus[e]] -= own;
        }
    }
}

static void divide(float *value, const float *by, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        value[i] = by[i] > 0.0F ? value[i] / by[i] : 0.0F;
    }
}

/* Means come ever nearer to each other: mean 0, variance 1. */
static void spread(float *value, int64_t count)
{
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)value[i];
    }
    const float mean = (float)(sum / (double)(count > 0 ? count : 1));
    for (int64_t i = 0; i < count; i++) {
        value[i] -= mean;
        squares += (double)value[i] * (double)value[i];
    }
    const float scale = squares > 0.0 ? (float)sqrt((double)count / squares) : 0.0F;
    for (int64_t i = 0; i < count; i++) {
        value[i] *= scale;
    }
}

static void begin_numbers(const order_work *w)
{
    const hal_shared_rows *m = w->m;
    for (int64_t c = 0; c < m->sources; c++) {
        w->value[c] = 1.0F;
    }
    add_up(m, w->value, w->reads);
    memcpy(w->terms, w->value + m->sources, (size_t)m->sums * sizeof *w->terms);
    for (int64_t r = 0; r < m->targets; r++) {
        w->row[r] = 1.0F;
    }
    hand_down(m, w->row, w->value);
    memcpy(w->readers, w->value, (size_t)m->sources * sizeof *w->readers);
    for (int64_t c = 0; c < m->sources; c++) {
        uint32_t hash = (uint32_t)c * 0x9E3779B9U;
        hash = (hash ^ hash >> 15) * 0x85EBCA6BU;
        w->value[c] = (float)((hash ^ hash >> 13) & 0xFFFFFFU) * 0x1p-24F - 0.5F;
    }
}

/* value: numbers of columns and of partial sums; row: of rows. */
static void find_numbers(const order_work *w)
{
    const hal_shared_rows *m = w->m;
    begin_numbers(w);
    for (int round = 0; round < ROUNDS; round++) {
        add_up(m, w->value, w->row);
        divide(w->row, w->reads, m->targets);
        hand_down(m, w->row, w->value);
        divide(w->value, w->readers, m->sources);
        spread(w->value, m->sources);
    }
    add_up(m, w->value, w->row);
    divide(w->row, w->reads, m->targets);
    divide(w->value + m->sources, w->terms, m->sums);
}

/* ---- the order --------------------------------------------------------------------------------------------------- */
static int compare_numbers(const void *left, const void *right)
{
    const numbered *a = left, *b = right;
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->item < b->item ? -1 : a->item > b->item;
}

/* by[i]: the item that is i-th among items [first, first + count). */
static void sort_items(const float *number, int64_t first, int64_t count, numbered *by)
{
    for (int64_t i = 0; i < count; i++) {
        by[i] = (numbered){.number = number[first + i], .item = (int32_t)(first + i)};
    }
    qsort(by, (size_t)count, sizeof *by, compare_numbers);
}

static void place_columns(const order_work *w, int32_t *source)
{
    sort_items(w->value, 0, w->m->sources, w->by);
    for (int64_t i = 0; i < w->m->sources; i++) {
        source[i] = w->by[i].item;
        w->column[w->by[i].item] = (int32_t)i;
    }
}

static void place_sums(const order_work *w)
{
    const hal_shared_rows *m = w->m;
    for (int l = 0; l < m->levels; l++) {
        const int64_t first = m->level[l];
        sort_items(w->value + m->sources, first, m->level[l + 1] - first, w->by);
        for (int64_t i = first; i < m->level[l + 1]; i++) {
            w->sum[w->by[i - first].item] = (int32_t)i;
        }
    }
}

static void place_rows(const order_work *w, int32_t *target)
{
    sort_items(w->row, 0, w->m->targets, w->by);
    for (int64_t i = 0; i < w->m->targets; i++) {
        target[i] = w->by[i].item;
    }
}

/* Lists of one kind with rows and columns at their new places; old[i] is the row that comes i-th. */
static weft_status move_lists(const order_work *w, const int32_t *old, const int64_t *start, const int32_t *item,
                              int64_t **to_start, int32_t **to)
{
    const hal_shared_rows *m = w->m;
    const int64_t rows = m->sums + m->targets;
    int64_t next = 0;
    WEFT_TRY(WEFT_NEW(to_start, rows + 1, WEFT_MEM_MATRIX));
    WEFT_TRY(WEFT_NEW(to, start[rows] + 1, WEFT_MEM_MATRIX));
    for (int64_t i = 0; i < rows; i++) {
        (*to_start)[i] = next;
        for (int64_t e = start[old[i]]; e < start[old[i] + 1]; e++) {
            const int64_t sum = item[e] - m->sources;
            (*to)[next++] = sum >= 0 ? (int32_t)(m->sources + w->sum[sum]) : w->column[item[e]];
        }
    }
    (*to_start)[rows] = next;
    return WEFT_OK;
}

static weft_status move_rows(const order_work *w, const int32_t *target, hal_shared_rows *moved)
{
    const hal_shared_rows *m = w->m;
    weft_status status = WEFT_OK;
    int32_t *old = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&old, m->sums + m->targets, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t k = 0; k < m->sums; k++) {
        old[w->sum[k]] = (int32_t)k;
    }
    for (int64_t i = 0; i < m->targets; i++) {
        old[m->sums + i] = (int32_t)(m->sums + target[i]);
    }
    WEFT_TRY_GOTO(move_lists(w, old, m->plus_start, m->plus, &moved->plus_start, &moved->plus), status, done);
    WEFT_TRY_GOTO(move_lists(w, old, m->minus_start, m->minus, &moved->minus_start, &moved->minus), status, done);
done:
    weft_free(old);
    return status;
}

static weft_status new_work(const hal_shared_rows *m, order_work *w)
{
    const int64_t most = m->sources > m->targets ? m->sources : m->targets;
    *w = (order_work){.m = m};
    WEFT_TRY(WEFT_NEW(&w->value, m->sources + m->sums, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->row, m->targets, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->reads, m->targets, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->readers, m->sources, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->terms, m->sums, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->by, most > m->sums ? most : m->sums, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->column, m->sources, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&w->sum, m->sums, WEFT_MEM_WORKSPACE);
}

weft_status share_rows_order(hal_shared_rows *m, int32_t *source, int32_t *target)
{
    order_work w;
    weft_status status = WEFT_OK;
    hal_shared_rows moved = {.sums = 0};
    WEFT_TRY_GOTO(new_work(m, &w), status, done);
    find_numbers(&w);
    place_columns(&w, source);
    place_sums(&w);
    place_rows(&w, target);
    WEFT_TRY_GOTO(move_rows(&w, target, &moved), status, done);
    WEFT_FREE_ALL(m->plus_start, m->minus_start, m->plus, m->minus);
    m->plus_start = moved.plus_start;
    m->minus_start = moved.minus_start;
    m->plus = moved.plus;
    m->minus = moved.minus;
    moved = (hal_shared_rows){.sums = 0};
done:
    hal_shared_rows_free(&moved);
    WEFT_FREE_ALL(w.value, w.row, w.reads, w.readers, w.terms, w.by, w.column, w.sum);
    return status;
}
