/*
 * support/embed_reference.h: a table of embeddings (embed/embed.h) in the plainest C: keys in order, rows in double,
 * every rank with all rows. Gradients of all ranks are gathered and added up in the order of ranks and samples. SGD,
 * Adagrad and row-wise Adagrad; no admission, expiry or cap.
 *
 * A test that defines EMBED_REFERENCE_STANDS_IN first has these functions in the place of those of the room embed.
 */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "embed/embed.h"

typedef struct embed_reference {
    weft_comm *comm;
    embed_desc desc;
    int64_t rows;
    uint64_t *key; /* [rows] rising */
    double *value; /* [rows, stride] */
    double *state; /* [rows, stride] sums of squares; of row-wise Adagrad in columns 0 and `width` */
    const embed_bags *bags;
} embed_reference;

static inline int64_t embed_reference_stride(const embed_reference *t)
{
    return t->desc.width + (t->desc.linear ? 1 : 0);
}

/* The first row whose key is not smaller. */
static inline int64_t embed_reference_place(const embed_reference *t, uint64_t key)
{
    int64_t at = 0;
    while (at < t->rows && t->key[at] < key) {
        at += 1;
    }
    return at;
}

static inline bool embed_reference_has(const embed_reference *t, int64_t at, uint64_t key)
{
    return at < t->rows && t->key[at] == key;
}

static inline uint64_t embed_reference_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline double embed_reference_first(const embed_reference *t, uint64_t key, int64_t column)
{
    const uint64_t bits = embed_reference_mix(embed_reference_mix(key + t->desc.seed) + (uint64_t)column + 1);
    return t->desc.spread * (2.0 * ((double)(bits >> 11) + 0.5) * 0x1p-53 - 1.0);
}

/* Returns the row of a key, which is made if it is new. */
static inline double *embed_reference_row(embed_reference *t, uint64_t key)
{
    const int64_t stride = embed_reference_stride(t), at = embed_reference_place(t, key);
    if (!embed_reference_has(t, at, key)) {
        const size_t behind = (size_t)(t->rows - at);
        t->rows += 1;
        t->key = realloc(t->key, (size_t)t->rows * sizeof *t->key);
        t->value = realloc(t->value, (size_t)(t->rows * stride) * sizeof *t->value);
        t->state = realloc(t->state, (size_t)(t->rows * stride) * sizeof *t->state);
        memmove(t->key + at + 1, t->key + at, behind * sizeof *t->key);
        memmove(t->value + (at + 1) * stride, t->value + at * stride, behind * (size_t)stride * sizeof *t->value);
        memmove(t->state + (at + 1) * stride, t->state + at * stride, behind * (size_t)stride * sizeof *t->state);
        t->key[at] = key;
        for (int64_t j = 0; j < stride; ++j) {
            t->value[at * stride + j] = j < t->desc.width ? embed_reference_first(t, key, j) : 0.0;
            t->state[at * stride + j] = 0.0;
        }
    }
    return t->value + at * stride;
}

static inline double embed_reference_weight(const embed_bags *bags, int64_t k)
{
    return bags->weight == NULL ? 1.0 : (double)bags->weight[k];
}

/* The sum of squares of a sample's keys. */
static inline double embed_reference_squares(embed_reference *t, const embed_bags *bags, int64_t sample)
{
    double sum = 0.0;
    for (int64_t k = bags->at[sample * bags->fields]; k < bags->at[(sample + 1) * bags->fields]; ++k) {
        const double w = embed_reference_weight(bags, k);
        const bool has = embed_reference_has(t, embed_reference_place(t, bags->key[k]), bags->key[k]);
        for (int64_t j = 0; has && j < t->desc.width; ++j) {
            const double v = embed_reference_row(t, bags->key[k])[j];
            sum += w * w * v * v;
        }
    }
    return sum;
}

static inline weft_status embed_reference_forward(embed_reference *t, const embed_bags *bags, bool training,
                                                  float *pooled, int64_t ld)
{
    const int64_t stride = embed_reference_stride(t);
    t->bags = training ? bags : t->bags;
    for (int64_t bag = 0; bag < bags->samples * bags->fields; ++bag) {
        float *to = pooled + bag / bags->fields * ld + bag % bags->fields * stride;
        for (int64_t j = 0; j < stride; ++j) {
            double sum = 0.0;
            for (int64_t k = bags->at[bag]; k < bags->at[bag + 1]; ++k) {
                const int64_t at = embed_reference_place(t, bags->key[k]);
                if (training || embed_reference_has(t, at, bags->key[k])) {
                    sum += embed_reference_weight(bags, k) * embed_reference_row(t, bags->key[k])[j];
                }
            }
            to[j] = (float)sum;
        }
    }
    for (int64_t s = 0; s < bags->samples && t->desc.squares; ++s) {
        pooled[s * ld + bags->fields * stride] = (float)embed_reference_squares(t, bags, s);
    }
    return WEFT_OK;
}

/* Row-wise Adagrad: adds the mean of the squares of g to the first number of s. */
static inline void embed_reference_by_row(int64_t count, const double *g, double rate, double *w, double *s)
{
    double squares = 0.0;
    for (int64_t j = 0; j < count; ++j) {
        squares += g[j] * g[j] / (double)count;
    }
    for (int64_t j = 0; j < count; ++j) {
        s[0] += j == 0 ? squares : 0.0;
        w[j] -= rate * g[j] / (sqrt(s[0]) + 1e-8);
    }
}

/* Updates a row by g [stride]. The linear weight is a row of its own to row-wise Adagrad. */
static inline void embed_reference_update(embed_reference *t, uint64_t key, const double *g, double rate)
{
    const int64_t stride = embed_reference_stride(t), width = t->desc.width;
    double *w = embed_reference_row(t, key), *s = t->state + (w - t->value);
    if (t->desc.rule == EMBED_ROW_ADAGRAD) {
        embed_reference_by_row(width, g, rate, w, s);
        embed_reference_by_row(stride - width, g + width, rate, w + width, s + width);
    }
    for (int64_t j = 0; j < stride && t->desc.rule != EMBED_ROW_ADAGRAD; ++j) {
        s[j] += g[j] * g[j];
        w[j] -= rate * g[j] / (t->desc.rule == EMBED_ADAGRAD ? sqrt(s[j]) + 1e-10 : 1.0);
    }
}

/* A key of a bag and the gradient of the bag. */
typedef struct embed_reference_pair {
    uint64_t key;
    double g[64];
} embed_reference_pair;

static inline weft_status embed_reference_backward(embed_reference *t, const float *dpooled, int64_t ld, double rate)
{
    const embed_bags *bags = t->bags;
    const int64_t stride = embed_reference_stride(t), count = bags->at[bags->samples * bags->fields];
    embed_reference_pair *mine = calloc((size_t)count + 1, sizeof *mine);
    void *all = NULL;
    size_t *bytes_of = NULL, total = 0;
    for (int64_t bag = 0; bag < bags->samples * bags->fields; ++bag) {
        const float *g = dpooled + bag / bags->fields * ld + bag % bags->fields * stride;
        for (int64_t k = bags->at[bag]; k < bags->at[bag + 1]; ++k) {
            const double w = embed_reference_weight(bags, k), *row = embed_reference_row(t, bags->key[k]);
            const double squares =
                t->desc.squares ? (double)dpooled[bag / bags->fields * ld + bags->fields * stride] : 0.0;
            mine[k].key = bags->key[k];
            for (int64_t j = 0; j < stride; ++j) {
                mine[k].g[j] = w * (double)g[j] + (j < t->desc.width ? 2.0 * w * w * squares * row[j] : 0.0);
            }
        }
    }
    const weft_status status = comm_allgather_bytes(t->comm, mine, (size_t)count * sizeof *mine, &all, &bytes_of);
    for (int r = 0; status == WEFT_OK && r < comm_size(t->comm); ++r) {
        total += bytes_of[r];
    }
    embed_reference_pair *pair = all;
    for (size_t i = 0; i < total / sizeof *pair; ++i) {
        bool first = true;
        for (size_t k = 0; k < i && first; ++k) {
            first = pair[k].key != pair[i].key;
        }
        for (size_t k = i + 1; first && k < total / sizeof *pair; ++k) {
            for (int64_t j = 0; j < stride && pair[k].key == pair[i].key; ++j) {
                pair[i].g[j] += pair[k].g[j];
            }
        }
        if (first) {
            embed_reference_update(t, pair[i].key, pair[i].g, rate);
        }
    }
    free(mine);
    weft_free(all);
    weft_free(bytes_of);
    return status;
}

static inline void embed_reference_close(embed_reference *t)
{
    free(t->key);
    free(t->value);
    free(t->state);
    memset(t, 0, sizeof *t);
}

#ifdef EMBED_REFERENCE_STANDS_IN
struct embed_table {
    embed_reference reference;
};

weft_status embed_open(weft_comm *comm, const embed_desc *desc, int64_t most, embed_table **table)
{
    (void)most;
    *table = calloc(1, sizeof **table);
    (*table)->reference.comm = comm;
    (*table)->reference.desc = *desc;
    return WEFT_OK;
}

void embed_close(embed_table *table)
{
    if (table != NULL) {
        embed_reference_close(&table->reference);
        free(table);
    }
}

weft_status embed_forward(embed_table *table, const embed_bags *bags, bool training, float *pooled, int64_t ld)
{
    return embed_reference_forward(&table->reference, bags, training, pooled, ld);
}

weft_status embed_backward(embed_table *table, const float *dpooled, int64_t ld, double rate)
{
    return embed_reference_backward(&table->reference, dpooled, ld, rate);
}

/* The reference has all rows on all ranks: there is nothing to send ahead. */
bool embed_looks_ahead(const embed_table *table)
{
    (void)table;
    return false;
}

weft_status embed_ahead(embed_table *table, const embed_bags *bags)
{
    (void)table, (void)bags;
    return WEFT_OK;
}

weft_status embed_ahead_rows(embed_table *table)
{
    (void)table;
    return WEFT_OK;
}

/* The reference makes no sums over ids: models of mode EMBED_DES are compared with those of other modes. */
weft_status embed_sums_forward(embed_table *table, const embed_sums *sums, const embed_bags *bags,
                               const int64_t *samples_of, bool training, float *total, int64_t ld)
{
    (void)table, (void)sums, (void)bags, (void)samples_of, (void)training, (void)total, (void)ld;
    return weft_fail(WEFT_ERR_UNSUPPORTED, "no sums over ids");
}

weft_status embed_sums_backward(embed_table *table, const float *dtotal, int64_t ld, double rate, float *dweight)
{
    (void)table, (void)dtotal, (void)ld, (void)rate, (void)dweight;
    return weft_fail(WEFT_ERR_UNSUPPORTED, "no sums over ids");
}
#endif
