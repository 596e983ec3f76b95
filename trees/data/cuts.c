/* trees/data/cuts.c: see trees/data/cuts.h. Columns are looked at in groups, so that memory stays small. */
#include "trees/data/cuts.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trees/data/quantiles.h"

enum { GROUP = 8, CHUNK = 4096 };

/* The different values of a column on this rank, ascending, while they are few. */
typedef struct few_values {
    int32_t count; /* -1: more than can be told apart */
    float value[TREE_VALUES];
} few_values;

/* Where x stands, or would stand, among the values. */
static int place_of(const few_values *few, float x)
{
    int low = 0;
    int high = few->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (few->value[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_value(few_values *few, float x, int most)
{
    const int at = place_of(few, x);
    if (at < few->count && few->value[at] == x) {
        return;
    }
    if (few->count == most) {
        few->count = -1;
        return;
    }
    memmove(few->value + at + 1, few->value + at, (size_t)(few->count - at) * sizeof *few->value);
    few->value[at] = x;
    few->count += 1;
}

static void find_few(const tree_columns *data, int column, const uint8_t *counts, int most, few_values *few)
{
    float value[CHUNK];
    few->count = 0;
    if (data->column[column].kind == TABLE_CATEGORY) {
        return;
    }
    for (int64_t first = 0; first < data->rows && few->count >= 0; first += CHUNK) {
        const int64_t rows = data->rows - first < CHUNK ? data->rows - first : CHUNK;
        tree_column_read(&data->column[column], first, rows, value);
        for (int64_t i = 0; i < rows && few->count >= 0; ++i) {
            if (counts[first + i] != 0 && value[i] == value[i]) {
                add_value(few, value[i] + 0.0F, most); /* -0 becomes 0 */
            }
        }
    }
}

static void merge(few_values *sum, const few_values *other, int most)
{
    if (other->count < 0) {
        sum->count = -1;
    }
    for (int i = 0; i < other->count && sum->count >= 0; ++i) {
        add_value(sum, other->value[i], most);
    }
}

static weft_status append(tree_cuts *cuts, int column, const float *value, int count)
{
    const int32_t first = cuts->first[column];
    cuts->first[column + 1] = first + count;
    WEFT_TRY(weft_realloc((void **)&cuts->value, (size_t)first + (size_t)count, sizeof *cuts->value, WEFT_MEM_TREES));
    if (count > 0) {
        memcpy(cuts->value + first, value, (size_t)count * sizeof *value);
    }
    return WEFT_OK;
}

typedef struct cut_search {
    weft_comm *comm;
    const tree_columns *data;
    const uint8_t *counts;
    int values, threads;
    few_values *few, *all; /* [GROUP] of this rank, [ranks, GROUP] */
} cut_search;

/* The values of all ranks for columns first .. first + width - 1, in s->few. */
static weft_status gather_few(cut_search *s, int first, int width)
{
    const int ranks = comm_size(s->comm);
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
    for (int c = 0; c < width; ++c) {
        find_few(s->data, first + c, s->counts, s->values, &s->few[c]);
    }
    WEFT_TRY(comm_allgather(s->comm, s->few, (int64_t)sizeof *s->few * GROUP, s->all));
    for (int c = 0; c < width; ++c) {
        s->few[c].count = 0;
        for (int r = 0; r < ranks; ++r) {
            merge(&s->few[c], &s->all[r * GROUP + c], s->values);
        }
    }
    return WEFT_OK;
}

/* Cuts of the columns with many values of a group. [out] quantile: [width, values], ascending. */
static weft_status gather_many(cut_search *s, int first, int width, float *quantile)
{
    int column[GROUP];
    int many = 0;
    for (int c = 0; c < width; ++c) {
        if (s->few[c].count < 0) {
            column[many++] = first + c;
        }
    }
    return tree_quantiles(s->comm, s->data, s->counts, column, many, s->values, s->threads, quantile);
}

/* Quantiles less the first and those that are equal to the one before: cuts. */
static int thin_out(float *quantile, int values)
{
    int kept = 0;
    float last = quantile[0];
    for (int i = 1; i < values; ++i) {
        if (quantile[i] > last) {
            last = quantile[kept++] = quantile[i];
        }
    }
    return kept;
}

/* A column of categories has as many cuts as its bins have borders. */
static weft_status append_borders(tree_cuts *cuts, int column)
{
    float border[TREE_VALUES];
    const int count = cuts->categories.bins[column] - 1;
    for (int i = 0; i < count; ++i) {
        border[i] = (float)(i + 1);
    }
    return append(cuts, column, border, count);
}

static weft_status cut_group(cut_search *s, int first, int width, float *quantile, tree_cuts *cuts)
{
    int many = 0;
    WEFT_TRY(gather_few(s, first, width));
    WEFT_TRY(gather_many(s, first, width, quantile));
    for (int c = 0; c < width; ++c) {
        const few_values *few = &s->few[c];
        float *own = quantile + (int64_t)many * s->values;
        if (cuts->categories.bins[first + c] > 0) {
            WEFT_TRY(append_borders(cuts, first + c));
            continue;
        }
        const bool is_many = few->count < 0;
        const int skipped = few->count > 0 ? 1 : 0; /* no value lies below the least one */
        WEFT_TRY(is_many ? append(cuts, first + c, own, thin_out(own, s->values))
                         : append(cuts, first + c, few->value + skipped, few->count - skipped));
        many += is_many;
    }
    return WEFT_OK;
}

weft_status tree_cuts_find(weft_comm *comm, const tree_columns *data, const uint8_t *counts, int values, int threads,
                           tree_cuts *cuts)
{
    cut_search s = {.comm = comm, .data = data, .counts = counts, .values = values, .threads = threads};
    float *quantile = NULL;
    assert(values >= 2 && values <= TREE_VALUES);
    *cuts = (tree_cuts){.columns = data->columns};
    weft_status status;
    weft_status local = WEFT_NEW_ZERO(&cuts->first, data->columns + 1, WEFT_MEM_TREES);
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&s.few, GROUP, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&s.all, GROUP * comm_size(comm), WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&quantile, GROUP * values, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(tree_categories_find(comm, data, counts, values, &cuts->categories), status, done);
    for (int first = 0; status == WEFT_OK && first < data->columns; first += GROUP) {
        const int width = data->columns - first < GROUP ? data->columns - first : GROUP;
        status = comm_agree(comm, cut_group(&s, first, width, quantile, cuts));
    }
done:
    WEFT_FREE_ALL(s.few, s.all, quantile);
    return status;
}

int64_t tree_cuts_bytes(int columns)
{
    return (columns < GROUP ? columns : GROUP) * (int64_t)QUANTILE_BYTES;
}

/* A search by halves, a step for all values at a time: no step waits for the one before, and nothing is guessed. */
void tree_find_bins(const float *cut, int cuts, const float *value, int64_t count, uint8_t *bin)
{
    float padded[TREE_VALUES + 1];
    int half = 1;
    while (half <= cuts) {
        half *= 2;
    }
    for (int i = 0; i < half; ++i) {
        padded[i] = i < cuts ? cut[i] : INFINITY;
    }
    memset(bin, 0, (size_t)count);
    for (half /= 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < count; ++i) {
            bin[i] = (uint8_t)(bin[i] + (padded[bin[i] + half - 1] <= value[i] ? half : 0));
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        const int found = bin[i] < cuts ? bin[i] : cuts; /* an infinite value passes the padding */
        bin[i] = (uint8_t)(value[i] != value[i] ? cuts + 1 : found);
    }
}

void tree_cuts_destroy(tree_cuts *cuts)
{
    WEFT_FREE_ALL(cuts->first, cuts->value);
    tree_categories_destroy(&cuts->categories);
    *cuts = (tree_cuts){0};
}
