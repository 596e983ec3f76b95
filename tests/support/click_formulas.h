/*
 * support/click_formulas.h: logits and gradients of a model of clicks against its formulas in double
 * (support/click_shadow.h). The table of embeddings is the reference of support/embed_reference.h.
 */
#pragma once

#define EMBED_REFERENCE_STANDS_IN
#include "support/click_bench.h"
#include "support/click_shadow.h"
#include "support/embed_reference.h"

/* sum over samples of weight[s] times the logit, from the values in `value` and the rows of the table. */
static inline double weighted(const bench *b, const stream *s, const double *value, const double *weight)
{
    const embed_reference *t = &b->table->reference;
    const int64_t stride = embed_reference_stride(t);
    double sum = 0.0;
    for (int64_t i = 0; i < s->batch.bags.samples; ++i) {
        double pooled[64] = {0}, squares = 0.0;
        for (int f = 0; f < b->desc.fields; ++f) {
            const int64_t bag = i * b->desc.fields + f;
            for (int64_t k = s->at[bag]; k < s->at[bag + 1]; ++k) {
                const double *row = t->value + embed_reference_place(t, s->key[k]) * stride;
                const double w = b->desc.bags ? (double)s->weight[k] : 1.0;
                for (int64_t j = 0; j < stride; ++j) {
                    pooled[f * stride + j] += w * row[j];
                    squares += j < b->desc.width ? w * w * row[j] * row[j] : 0.0;
                }
            }
        }
        const click_shadow shadow = {.desc = &b->desc,
                                     .store = b->train->params,
                                     .value = value,
                                     .pooled = pooled,
                                     .squares = squares,
                                     .number = s->number + i * b->desc.numbers};
        sum += weight[i] * shadow_logit(&shadow);
    }
    return sum;
}

/* The derivative by *at, by central differences of two steps, whose error is of the fourth order. */
static inline double difference(const bench *b, const stream *s, const double *value, const double *weight, double *at)
{
    static const double step = 1e-5;
    const double was = *at;
    double slope[2];
    for (int i = 0; i < 2; ++i) {
        const double h = step / (double)(1 << i);
        *at = was + h;
        slope[i] = weighted(b, s, value, weight);
        *at = was - h;
        slope[i] = (slope[i] - weighted(b, s, value, weight)) / (2.0 * h);
    }
    *at = was;
    return (4.0 * slope[1] - slope[0]) / 3.0;
}

static inline double *values_of(const param_store *store)
{
    double *value = calloc((size_t)store->elements, sizeof *value);
    for (int64_t i = 0; i < store->elements; ++i) {
        value[i] = (double)((const float *)store->value.data)[i];
    }
    return value;
}

/* No bias is 0 and linear weights are there, so that every term counts. */
static inline void stir(bench *b)
{
    uint64_t state = 99;
    float *value = b->train->params->value.data;
    for (int e = 0; e < b->train->params->entries; ++e) {
        const param_entry *entry = &b->train->params->entry[e];
        for (int64_t i = 0; i < entry->rows * entry->cols && entry->init.draw == PARAM_CONSTANT; ++i) {
            value[entry->offset + i] = (float)(test_uniform(&state) * 0.6 - 0.3);
        }
    }
}

enum { SAMPLES = 3 };
static const double WEIGHT[SAMPLES] = {0.75, -1.25, 0.5};
static const double LOOSE = 3e-6;

static inline void check_gradients(bench *b, stream *s, double *value)
{
    param_store *store = b->train->params;
    embed_reference *t = &b->table->reference;
    const int64_t numbers = t->rows * embed_reference_stride(t);
    double *before = calloc((size_t)numbers, sizeof *before), *after = calloc((size_t)numbers, sizeof *after);
    float dlogit[SAMPLES];
    for (int i = 0; i < SAMPLES; ++i) {
        dlogit[i] = (float)WEIGHT[i];
    }
    weft_tensor dlogits = {.hal = b->hal, .dtype = WEFT_DTYPE_F32, .rows = SAMPLES, .cols = 1, .ld = 1, .data = dlogit};
    memcpy(before, t->value, (size_t)numbers * sizeof *before);
    ASSERT_OK(pass_backward(b, &s->batch, &dlogits));
    memcpy(after, t->value, (size_t)numbers * sizeof *after);
    memcpy(t->value, before, (size_t)numbers * sizeof *before);
    for (int e = 0; e < store->entries; ++e) {
        const param_entry *entry = &store->entry[e];
        for (int64_t i = entry->offset; i < entry->offset + entry->rows * entry->cols; ++i) {
            const double wanted = difference(b, s, value, WEIGHT, &value[i]);
            const double got = (double)((const float *)store->grad.data)[i];
            if (!(fabs(got - wanted) <= LOOSE * (1.0 + fabs(wanted)))) {
                fail_msg("%s, %s[%lld]: %.9g, by differences %.9g", b->train->name, entry->name,
                         (long long)(i - entry->offset), got, wanted);
            }
        }
    }
    for (int64_t i = 0; i < numbers; ++i) {
        const double wanted = difference(b, s, value, WEIGHT, &t->value[i]);
        if (!(fabs(before[i] - after[i] - wanted) <= LOOSE * (1.0 + fabs(wanted)))) {
            fail_msg("%s, number %lld of the rows: %.9g, by differences %.9g", b->train->name, (long long)i,
                     before[i] - after[i], wanted);
        }
    }
    free(before);
    free(after);
}

/* Logits of three samples, and gradients by every parameter and row. */
static inline void check_formulas(const click_model_desc *desc, const char *backend)
{
    bench b;
    stream s;
    weft_comm *comm = NULL;
    weft_tensor logits;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(bench_open(&b, comm, backend, 2, desc, 0.8));
    stir(&b);
    stream_take(&s, desc, 1, SAMPLES);
    ASSERT_OK(pass_forward(&b, &s.batch, true, &logits));
    assert_int_equal(logits.rows, SAMPLES);
    double *value = values_of(b.train->params);
    for (int i = 0; i < SAMPLES; ++i) {
        double one[SAMPLES] = {0};
        one[i] = 1.0;
        const double wanted = weighted(&b, &s, value, one);
        ASSERT_NEAR(((const float *)logits.data)[i], wanted, LOOSE * (1.0 + fabs(wanted)));
    }
    check_gradients(&b, &s, value);
    free(value);
    bench_close(&b);
    comm_destroy(comm);
}
