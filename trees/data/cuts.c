/* trees/data/cuts.c: see trees/data/cuts.h. Columns are looked at in groups, so that memory stays small. */
#include "trees/data/cuts.h"

#include <assert.h>
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trees/data/quantiles.h"

enum {
    GROUP = 8,                /* columns that are looked at together, at most */
    CHUNK = 4096,             /* rows */
    SEARCH_BYTES = 48u << 20, /* of a group's search */
    MANY = -1                 /* count of values that are more than can be told apart */
};

/* The different values of a column, ascending, while they are few: a count, and [values] numbers, all as float32, which
 * holds these counts exactly. */
typedef struct few_values {
    float *count, *value;
} few_values;

static few_values few_at(float *block, int values, int64_t i)
{
    float *own = block + i * (values + 1);
    return (few_values){own, own + 1};
}

/* Is x among the values? */
static bool is_among(const few_values *few, float x)
{
    int low = 0, high = (int)*few->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (few->value[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < (int)*few->count && few->value[low] == x;
}

static int compare_numbers(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Adds `count` values, none of which is among the others; most: values that can be told apart. */
static void add_values(few_values *few, float *more, int count, int most)
{
    int kept = 0;
    qsort(more, (size_t)count, sizeof *more, compare_numbers);
    for (int i = 0; i < count; ++i) {
        if (kept == 0 || more[i] > more[kept - 1]) {
            more[kept++] = more[i];
        }
    }
    int from = (int)*few->count, to = from + kept;
    if (to > most) {
        *few->count = MANY;
        return;
    }
    *few->count = (float)to;
    while (kept > 0) {
        few->value[--to] = from > 0 && few->value[from - 1] > more[kept - 1] ? few->value[--from] : more[--kept];
    }
}

static void find_few(const tree_columns *data, int column, const uint8_t *counts, int most, few_values *few)
{
    float value[CHUNK], more[CHUNK];
    *few->count = 0.0F;
    if (data->column[column].kind == TABLE_CATEGORY) {
        return;
    }
    for (int64_t first = 0; first < data->rows && *few->count >= 0.0F; first += CHUNK) {
        const int64_t rows = data->rows - first < CHUNK ? data->rows - first : CHUNK;
        int count = 0;
        tree_column_read(&data->column[column], first, rows, value);
        for (int64_t i = 0; i < rows; ++i) {
            const float x = value[i] + 0.0F; /* -0 becomes 0 */
            if (counts[first + i] != 0 && x == x && !is_among(few, x)) {
                more[count++] = x;
            }
        }
        add_values(few, more, count, most);
    }
}

/* scratch: [most] */
static void merge(few_values *sum, const few_values *other, int most, float *scratch)
{
    int count = 0;
    if (*other->count < 0.0F) {
        *sum->count = MANY;
    }
    for (int i = 0; i < (int)*other->count && *sum->count >= 0.0F; ++i) {
        if (!is_among(sum, other->value[i])) {
            scratch[count++] = other->value[i];
        }
    }
    if (*sum->count >= 0.0F) {
        add_values(sum, scratch, count, most);
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
    int group;        /* columns that are looked at together */
    float *few, *all; /* [group] few_values of this rank, [ranks, group] of all */
    float *quantile;  /* [group, values] */
} cut_search;

/* The values of all ranks for columns first .. first + width - 1, in s->few. */
static weft_status gather_few(cut_search *s, int first, int width)
{
    const int ranks = comm_size(s->comm);
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
    for (int c = 0; c < width; ++c) {
        few_values own = few_at(s->few, s->values, c);
        find_few(s->data, first + c, s->counts, s->values, &own);
    }
    WEFT_TRY(comm_allgather(s->comm, s->few, (int64_t)sizeof *s->few * s->group * (s->values + 1), s->all));
    for (int c = 0; c < width; ++c) {
        few_values sum = few_at(s->few, s->values, c);
        *sum.count = 0.0F;
        for (int r = 0; r < ranks; ++r) {
            const few_values own = few_at(s->all, s->values, (int64_t)r * s->group + c);
            merge(&sum, &own, s->values, s->quantile);
        }
    }
    return WEFT_OK;
}

/* Cuts of the columns with many values of a group. [out] s->quantile: ascending. */
static weft_status gather_many(cut_search *s, int first, int width)
{
    int column[GROUP];
    int many = 0;
    for (int c = 0; c < width; ++c) {
        if (*few_at(s->few, s->values, c).count < 0.0F) {
            column[many++] = first + c;
        }
    }
    return tree_quantiles(s->comm, s->data, s->counts, column, many, s->values, s->threads, s->quantile);
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
    float border[TREE_CATEGORY_BINS];
    const int count = cuts->categories.bins[column] - 1;
    for (int i = 0; i < count; ++i) {
        border[i] = (float)(i + 1);
    }
    return append(cuts, column, border, count);
}

static weft_status cut_group(cut_search *s, int first, int width, tree_cuts *cuts)
{
    int many = 0;
    WEFT_TRY(gather_few(s, first, width));
    WEFT_TRY(gather_many(s, first, width));
    for (int c = 0; c < width; ++c) {
        const few_values few = few_at(s->few, s->values, c);
        const int count = (int)*few.count;
        float *own = s->quantile + (int64_t)many * s->values;
        if (cuts->categories.bins[first + c] > 0) {
            WEFT_TRY(append_borders(cuts, first + c));
            continue;
        }
        const bool is_many = count < 0;
        const int skipped = count > 0 ? 1 : 0; /* no value lies below the least one */
        WEFT_TRY(is_many ? append(cuts, first + c, own, thin_out(own, s->values))
                         : append(cuts, first + c, few.value + skipped, count - skipped));
        many += is_many;
    }
    return WEFT_OK;
}

/* Columns that are looked at together, as far as memory goes: more than threads, as some have few values. */
static int group_of(int columns, int values, int threads)
{
    const int64_t fit = SEARCH_BYTES / tree_quantile_bytes(values);
    const int most = fit < 1 ? 1 : fit < GROUP ? (int)fit : GROUP;
    const int wanted = threads + 1 < most ? threads + 1 : most;
    return columns < wanted ? columns : wanted;
}

static weft_status allocate(cut_search *s)
{
    const int64_t numbers = (int64_t)s->group * (s->values + 1);
    WEFT_TRY(WEFT_NEW_ZERO(&s->few, numbers, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->all, numbers * comm_size(s->comm), WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&s->quantile, numbers, WEFT_MEM_WORKSPACE);
}

weft_status tree_cuts_find(weft_comm *comm, const tree_columns *data, const uint8_t *counts, int values, int threads,
                           tree_cuts *cuts)
{
    const int of_words = values < TREE_CATEGORY_BINS ? values : TREE_CATEGORY_BINS;
    cut_search s = {.comm = comm, .data = data, .counts = counts, .values = values, .threads = threads};
    int64_t most_threads = threads; /* of a rank: all look at as many columns together */
    assert(values >= 2 && values <= TREE_VALUES);
    *cuts = (tree_cuts){.columns = data->columns};
    WEFT_TRY(comm_allreduce(comm, &most_threads, 1, WEFT_DTYPE_I64, COMM_MAX));
    s.group = group_of(data->columns, values, (int)most_threads);
    weft_status status;
    weft_status local = WEFT_NEW_ZERO(&cuts->first, data->columns + 1, WEFT_MEM_TREES);
    local = local == WEFT_OK ? allocate(&s) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(tree_categories_find(comm, data, counts, of_words, &cuts->categories), status, done);
    for (int first = 0, width; status == WEFT_OK && first < data->columns; first += width) {
        status = comm_agree(comm, tree_columns_hold(data, first, &width));
        width = width < s.group ? width : s.group;
        status = status == WEFT_OK ? comm_agree(comm, cut_group(&s, first, width, cuts)) : status;
    }
done:
    WEFT_FREE_ALL(s.few, s.all, s.quantile);
    malloc_trim(0); /* what the search took goes back before bins stand beside all numbers */
    return status;
}

int64_t tree_cuts_bytes(int columns, int values, int threads)
{
    return group_of(columns, values, threads) * tree_quantile_bytes(values);
}

/* A search by halves, a step for all values at a time: no step waits for the one before, and nothing is guessed. */
void tree_find_bins(const float *cut, int cuts, const float *value, int64_t count, uint8_t *bin)
{
    float padded[TREE_BYTE_VALUES + 1];
    int half = 1;
    assert(cuts < TREE_BYTE_VALUES);
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

void tree_find_wide_bins(const float *cut, int cuts, const float *value, int64_t count, uint16_t *bin)
{
    for (int64_t i = 0; i < count; ++i) {
        const float x = value[i];
        int below = 0;
        for (int left = cuts; left > 0;) { /* the cuts [below, below + left) are not compared yet */
            const int half = (left + 1) / 2;
            below += cut[below + half - 1] <= x ? half : 0;
            left -= half;
        }
        bin[i] = (uint16_t)(x != x ? cuts + 1 : below);
    }
}

void tree_cuts_destroy(tree_cuts *cuts)
{
    WEFT_FREE_ALL(cuts->first, cuts->value);
    tree_categories_destroy(&cuts->categories);
    *cuts = (tree_cuts){0};
}
