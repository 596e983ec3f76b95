/*
 * trees/data/quantiles.c: see trees/data/quantiles.h.
 *
 * A float32 becomes a key of 32 bits with the order of the numbers. Three rounds count keys by their upper 16, middle 8
 * and lower 8 bits; behind the first only keys that begin like one of the quantiles' keys do are counted. Each quantile
 * thus finds its own bits, as a search by digits does:
 *
 *     round   counts                          what a quantile learns
 *       0     [65536] of all keys             upper 16 bits
 *       1     [open][256] of keys with the    next 8, where `open` numbers the
 *       2     [open][256]  prefixes so far    last 8   prefixes that quantiles have; at most one each
 */
#include "trees/data/quantiles.h"

#include <assert.h>
#include <string.h>

#include "base/exact/order_key.h"
#include "trees/data/cuts.h"

enum { CHUNK = 4096, ROUNDS = 3, DIGITS = 256, UPPER = 65536, NONE = 0xffff };

/* The search in one column. */
typedef struct digits {
    const tree_columns *data;
    const uint8_t *counted;
    int column, values;
    int64_t counts;   /* cells of a round */
    int64_t *count;   /* [counts] of a round, over all ranks once it is over */
    uint16_t *open;   /* [counts] round 1: by the upper 16 bits, rounds 2: by place in the counts before */
    uint16_t *last;   /* [counts] `open` of the round before */
    int64_t *before;  /* [values] of quantile k: its place among the keys that share its prefix */
    uint32_t *prefix; /* [values] */
    uint16_t *slot;   /* [values] number of its prefix */
} digits;

/* Where a key counts in this round; -1: nowhere. */
static int64_t cell_of(const digits *d, int round, uint32_t key)
{
    if (round == 0) {
        return key >> 16;
    }
    const uint16_t first = (round == 1 ? d->open : d->last)[key >> 16];
    if (first == NONE) {
        return -1;
    }
    const int64_t cell = (int64_t)first * DIGITS + (key >> 8 & 0xff);
    if (round == 1) {
        return cell;
    }
    return d->open[cell] == NONE ? -1 : (int64_t)d->open[cell] * DIGITS + (key & 0xff);
}

/* Every quantile may have a prefix of its own. */
static int64_t counts_for(int values)
{
    const int64_t open = (int64_t)values * DIGITS;
    return open > UPPER ? open : UPPER;
}

int64_t tree_quantile_bytes(int values)
{
    const int64_t bytes_of_count = sizeof(int64_t) + 2 * sizeof(uint16_t);
    const int64_t bytes_of_value = sizeof(int64_t) + sizeof(uint32_t) + sizeof(uint16_t);
    return counts_for(values) * bytes_of_count + values * bytes_of_value;
}

static void count_keys(digits *d, int round)
{
    float value[CHUNK];
    memset(d->count, 0, (size_t)d->counts * sizeof *d->count);
    for (int64_t first = 0; first < d->data->rows; first += CHUNK) {
        const int64_t rows = d->data->rows - first < CHUNK ? d->data->rows - first : CHUNK;
        tree_column_read(&d->data->column[d->column], first, rows, value);
        for (int64_t i = 0; i < rows; ++i) {
            if (d->counted[first + i] != 0 && value[i] == value[i]) {
                const int64_t cell = cell_of(d, round, order_key(value[i]));
                if (cell >= 0) { /* few are, behind the first round */
                    d->count[cell] += 1;
                }
            }
        }
    }
}

/* Round 0: the place of every quantile among all keys. */
static void set_places(digits *d)
{
    int64_t n = 0;
    for (int64_t i = 0; i < UPPER; ++i) {
        n += d->count[i];
    }
    assert(n > 0);
    for (int k = 0; k < d->values; ++k) {
        d->before[k] = n / d->values * k + n % d->values * k / d->values;
        d->prefix[k] = 0;
        d->slot[k] = 0;
    }
}

/* Every quantile finds the digit at its place. Quantiles ascend, so prefixes that are equal stand together. */
static void take_digits(digits *d, int round)
{
    const int64_t range = round == 0 ? UPPER : DIGITS;
    uint16_t *swap = d->last;
    int opened = 0;
    d->last = d->open;
    d->open = swap;
    memset(d->open, 0xff, (size_t)d->counts * sizeof *d->open);
    for (int k = 0; k < d->values; ++k) {
        const int64_t *count = d->count + (round == 0 ? 0 : (int64_t)d->slot[k] * DIGITS);
        int64_t digit = 0;
        while (digit < range - 1 && d->before[k] >= count[digit]) {
            d->before[k] -= count[digit++];
        }
        const int64_t cell = count - d->count + digit;
        d->prefix[k] = d->prefix[k] << (round == 0 ? 16 : 8) | (uint32_t)digit;
        if (d->open[cell] == NONE) {
            d->open[cell] = (uint16_t)opened++;
        }
        d->slot[k] = d->open[cell];
    }
}

static weft_status search(weft_comm *comm, digits *d, int many, int threads)
{
    for (int round = 0; round < ROUNDS; ++round) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int i = 0; i < many; ++i) {
            count_keys(&d[i], round);
        }
        WEFT_TRY(comm_allreduce(comm, d[0].count, many * d[0].counts, WEFT_DTYPE_I64, COMM_SUM));
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int i = 0; i < many; ++i) {
            if (round == 0) {
                set_places(&d[i]);
            }
            take_digits(&d[i], round);
        }
    }
    return WEFT_OK;
}

static void close_search(digits *d, int many)
{
    for (int i = 0; d != NULL && i < many; ++i) {
        WEFT_FREE_ALL(d[i].open, d[i].last, d[i].before, d[i].prefix, d[i].slot);
    }
    if (d != NULL) {
        weft_free(d[0].count);
    }
    weft_free(d);
}

/* as: what all columns share. */
static weft_status open_search(const digits *as, const int *column, int many, digits **search)
{
    int64_t *count = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(search, many, WEFT_MEM_WORKSPACE));
    digits *d = *search;
    WEFT_TRY(WEFT_NEW(&count, many * as->counts, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < many; ++i) {
        d[i] = *as;
        d[i].column = column[i];
        d[i].count = count + i * as->counts; /* one vector: ranks add all columns at once */
    }
    for (int i = 0; i < many; ++i) {
        WEFT_TRY(WEFT_NEW(&d[i].open, as->counts, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&d[i].last, as->counts, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&d[i].before, as->values, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&d[i].prefix, as->values, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&d[i].slot, as->values, WEFT_MEM_WORKSPACE));
    }
    return WEFT_OK;
}

weft_status tree_quantiles(weft_comm *comm, const tree_columns *data, const uint8_t *counts, const int *column,
                           int many, int values, int threads, float *quantile)
{
    const digits as = {.data = data, .counted = counts, .values = values, .counts = counts_for(values)};
    digits *d = NULL;
    if (many == 0) {
        return WEFT_OK;
    }
    assert(values <= TREE_VALUES);
    weft_status status;
    const weft_status local = open_search(&as, column, many, &d);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(search(comm, d, many, threads), status, done);
    for (int i = 0; i < many; ++i) {
        for (int k = 0; k < values; ++k) {
            quantile[(int64_t)i * values + k] = order_key_number(d[i].prefix[k]);
        }
    }
done:
    close_search(d, many);
    return status;
}
