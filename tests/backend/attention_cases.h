/*
 * backend/attention_cases.h: attention and maxima over edges on a backend against ref, with what attention does by
 * heads: graphs of few edges, some of them rows to themselves, and one row of very many.
 */
#pragma once

#include "backend/backend_env.h"
#include "base/philox.h"

/* ---- attention ------------------------------------------------------------------------------------------------- */

/* Rows of 0 to 12 edges among e->m vertices; for a device one of more than it keeps together. */
static void attention_variant(env *e, int heads, float drop)
{
    const int64_t rows = e->m;
    const int64_t d = 1 + e->n / heads;
    int_operand offset = int_operand_make(e, rows + 1, WEFT_DTYPE_I64);
    int64_t *at = offset.host;
    at[0] = 0;
    for (int64_t r = 0; r < rows; ++r) {
        at[r + 1] = at[r] + (r == 19 && sums_in_trees(e) ? 700 : r * 5 % 13);
    }
    int_operand column = int_operand_make(e, at[rows], WEFT_DTYPE_I32);
    for (int64_t i = 0; i < at[rows]; ++i) {
        ((int32_t *)column.host)[i] = (int32_t)((i * 2654435761LL >> 3) % rows);
    }
    int_operand id = int_operand_make(e, rows, WEFT_DTYPE_I64);
    for (int64_t r = 0; r < rows; ++r) {
        ((int64_t *)id.host)[r] = ((int64_t)5 << 32) + 7 * r;
    }
    int_operand_upload(e, &offset);
    int_operand_upload(e, &column);
    int_operand_upload(e, &id);
    operand x = operand_make(e, rows, heads * d, UNIT);
    operand dy = operand_make(e, rows, heads * d, UNIT);
    operand dx = operand_make(e, rows, heads * d, NOTHING);
    operand out = operand_make(e, rows, heads * d, NOTHING);
    operand source = operand_make(e, rows, heads, UNIT);
    operand target = operand_make(e, rows, heads, UNIT);
    operand highest = operand_make(e, rows, heads, NOTHING);
    operand total = operand_make(e, rows, heads, NOTHING);
    operand positive = operand_make(e, rows, heads, POSITIVE);
    operand mean = operand_make(e, rows, heads, UNIT);
    operand above = operand_make(e, rows, heads, POSITIVE); /* and more: no source is above */
    operand dtarget = operand_make(e, rows, heads, NOTHING);
    operand dsource = operand_make(e, rows, heads, NOTHING);
    operand meets = operand_make(e, rows, heads * d, UNIT);
    operand unit = operand_make(e, 1, heads * d, UNIT);
    operand vector = operand_make(e, 1, heads * d, NOTHING); /* no score of two ends is above 1 */
    operand most = operand_make(e, rows, heads, NOTHING);
    operand sums = operand_make(e, rows, heads * d, NOTHING);
    operand powers = operand_make(e, rows, heads, NOTHING);
    operand dmeets = operand_make(e, rows, heads * d, NOTHING);
    operand dvector = operand_make(e, rows, heads * d, NOTHING);
    operand dsum = operand_make(e, rows, heads * d, NOTHING);
    RUN(e, axpby, .alpha = 1.0, .x = ON(positive), .beta = 1.0, .y = ON(above));
    RUN(e, axpby, .alpha = 0.5 / (double)d, .x = ON(unit), .y = ON(vector));
    for (int b = 0; b < e->backends; ++b) {
        const hal_attention how = {.heads = heads,
                                   .slope = 0.2,
                                   .self = rows - rows / 3,
                                   .dropout = {.probability = drop,
                                               .seed = 12345678901ULL,
                                               .purpose = WEFT_RNG_EDGES + 1,
                                               .epoch = 9,
                                               .row_id = ints_on(&id, b)}};
        RUN_ON(e, b, attention_highest, .offset = ints_on(&offset, b), .column = ints_on(&column, b),
               .source = mat_on(&source, b), .highest = mat_on(&highest, b), .how = how);
        RUN_ON(e, b, attention_forward, .offset = ints_on(&offset, b), .column = ints_on(&column, b),
               .source = mat_on(&source, b), .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .x = mat_on(&x, b), .out = mat_on(&out, b), .total = mat_on(&total, b), .how = how);
        RUN_ON(e, b, attention_backward_targets, .offset = ints_on(&offset, b), .column = ints_on(&column, b),
               .source = mat_on(&source, b), .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dtarget = mat_on(&dtarget, b), .how = how);
        RUN_ON(e, b, attention_backward_sources, .offset = ints_on(&offset, b), .column = ints_on(&column, b),
               .source = mat_on(&source, b), .target = mat_on(&target, b), .highest = mat_on(&above, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dx = mat_on(&dx, b), .dsource = mat_on(&dsource, b), .how = how);
#define MEETING                                                                                                        \
    .x = mat_on(&x, b), .target = mat_on(&meets, b), .vector = mat_on(&vector, b), .offset = ints_on(&offset, b),      \
    .column = ints_on(&column, b), .how = how
        RUN_ON(e, b, dynamic_highest, MEETING, .highest = mat_on(&most, b));
        RUN_ON(e, b, dynamic_forward, MEETING, .highest = mat_on(&most, b), .out = mat_on(&sums, b),
               .total = mat_on(&powers, b));
        RUN_ON(e, b, dynamic_backward_targets, MEETING, .highest = mat_on(&most, b), .total = mat_on(&positive, b),
               .mean = mat_on(&mean, b), .dy = mat_on(&dy, b), .dtarget = mat_on(&dmeets, b),
               .dvector = mat_on(&dvector, b));
        RUN_ON(e, b, dynamic_backward_sources, MEETING, .highest = mat_on(&above, b), .total = mat_on(&positive, b),
               .mean = mat_on(&mean, b), .dy = mat_on(&dy, b), .dx = mat_on(&dsum, b));
    }
    operand_compare(e, &highest, 0.0);
    const double sum = sums_in_trees(e) ? 512.0 : 64.0; /* of 700 terms that cancel out */
    operand_compare(e, &out, sum);
    operand_compare(e, &total, 64.0);
    operand_compare(e, &dtarget, 64.0 * (double)d);
    operand_compare(e, &dx, sum);
    operand_compare(e, &dsource, 64.0 * (double)d);
    operand_compare(e, &most, 8.0 * (double)d);
    operand_compare(e, &sums, 64.0 * (double)d);
    operand_compare(e, &powers, 64.0 * (double)d);
    operand_compare(e, &dmeets, 64.0 * (double)d);
    operand_compare(e, &dvector, 64.0 * (double)d);
    operand_compare(e, &dsum, 64.0 * (double)d);
}

static void case_attention(env *e)
{
    if (e->m * e->n > 5000) { /* ref works out the powers of an edge once for every 64 columns */
        return;
    }
    attention_variant(e, 3, 0.4F);
    if (e->m > 80 && TEST_IMITATED && sums_in_trees(e)) { /* there more rows are more of the same, and slow */
        return;
    }
    attention_variant(e, 1, 0.0F);
    attention_variant(e, 11, 0.25F);
    if (e->m == 23 && sums_in_trees(e)) {
        attention_variant(e, 40, 0.4F);
    }
}

/* ---- maxima over edges ----------------------------------------------------------------------------------------- */

/* Rows of 0 to 12 edges among e->m vertices, and one of `centre`, whose values tie often; rows without edges have some
 * elsewhere or not. */
static void max_variant(env *e, fill how, int64_t centre)
{
    const int64_t rows = e->m;
    int_operand offset = int_operand_make(e, rows + 1, WEFT_DTYPE_I64);
    int64_t *at = offset.host;
    at[0] = 0;
    for (int64_t r = 0; r < rows; ++r) {
        at[r + 1] = at[r] + (r == 19 ? centre : r * 5 % 13);
    }
    int_operand column = int_operand_make(e, at[rows], WEFT_DTYPE_I32);
    int_operand elsewhere = int_operand_make(e, rows, WEFT_DTYPE_U8);
    for (int64_t i = 0; i < at[rows]; ++i) {
        ((int32_t *)column.host)[i] = (int32_t)((i * 2654435761LL >> 3) % rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
        ((uint8_t *)elsewhere.host)[r] = (uint8_t)(r / 13 % 2);
    }
    int_operand_upload(e, &offset);
    int_operand_upload(e, &column);
    int_operand_upload(e, &elsewhere);
    operand x = operand_make(e, rows, e->n, how);
    operand dy = operand_make(e, rows, e->n, UNIT);
    operand y = operand_make(e, rows, e->n, NOTHING);
    operand whole = operand_make(e, rows, e->n, NOTHING);
    operand dx = operand_make(e, rows, e->n, NOTHING);
    const weft_dtype dtype = e->dtype;
    e->dtype = dtype == WEFT_DTYPE_BF16 ? WEFT_DTYPE_F32 : dtype; /* of what is counted */
    operand ties = operand_make(e, rows, e->n, NOTHING);
    operand counted = operand_make(e, rows, e->n, NOTHING);
    e->dtype = dtype;
    for (int b = 0; b < e->backends; ++b) {
#define ALONG .offset = ints_on(&offset, b), .column = ints_on(&column, b)
        RUN_ON(e, b, max_forward, ALONG, .x = mat_on(&x, b), .elsewhere = ints_on(&elsewhere, b), .out = mat_on(&y, b));
        RUN_ON(e, b, max_forward, ALONG, .x = mat_on(&x, b), .out = mat_on(&whole, b));
        RUN_ON(e, b, max_ties, ALONG, .x = mat_on(&x, b), .y = mat_on(&whole, b), .ties = mat_on(&ties, b));
        hal_mat count = mat_on(&ties, b); /* of the last rows of x: whole numbers */
        count.rows = rows / 2;
        RUN_ON(e, b, max_ties, ALONG, .x = mat_on(&x, b), .y = mat_on(&whole, b), .count = count,
               .ties = mat_on(&counted, b));
        RUN_ON(e, b, max_share, .ties = mat_on(&ties, b), .dy = mat_on(&dy, b));
        RUN_ON(e, b, max_backward, ALONG, .x = mat_on(&x, b), .y = mat_on(&whole, b), .dy = mat_on(&dy, b),
               .dx = mat_on(&dx, b));
    }
    operand_compare(e, &y, 0.0);
    operand_compare(e, &whole, 0.0);
    operand_compare(e, &ties, 0.0);
    operand_compare(e, &counted, 0.0);
    operand_compare(e, &dy, 0.0);
    operand_compare(e, &dx, 64.0 + 0.1 * (double)centre);
}

static void case_max(env *e)
{
    max_variant(e, COARSE, 100);
    max_variant(e, SOME_NANS, 100);
    if (e->m > 19 && e->n < 200) { /* a row that threads share */
        max_variant(e, SOME_NANS, 3000);
    }
}

static void case_heads(env *e)
{
    const int heads = 3;
    const int64_t d = e->n;
    operand x = operand_make(e, e->m, heads * d, UNIT);
    operand y = operand_make(e, e->m, heads * d, UNIT);
    operand row = operand_make(e, 1, heads * d, UNIT);
    operand made = operand_make(e, e->m, heads * d, NOTHING);
    operand own = operand_make(e, e->m, heads, NOTHING);
    operand all = operand_make(e, e->m, heads, NOTHING);
    operand scale = operand_make(e, e->m, heads, POSITIVE);
    RUN(e, head_dot, .x = ON(x), .y = ON(y), .out = ON(own));
    RUN(e, head_dot, .x = ON(x), .y = ON(row), .out = ON(all));
    RUN(e, head_scale, .scale = ON(scale), .x = ON(row), .beta = 0.5, .y = ON(y));
    RUN(e, head_scale, .scale = ON(scale), .x = ON(y), .y = ON(made));
    RUN(e, head_scale, .scale = ON(scale), .x = ON(x), .divide = true, .y = ON(x));
    operand_compare(e, &own, 16.0 + (double)d);
    operand_compare(e, &all, 16.0 + (double)d);
    operand_compare(e, &y, 8.0);
    operand_compare(e, &made, 8.0);
    operand_compare(e, &x, 8.0);
}

static void case_elu(env *e)
{
    operand x = operand_make(e, e->m, e->n, WIDE);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    RUN(e, elu_forward, .x = ON(x), .y = ON(y));
    RUN(e, elu_forward, .x = ON(x), .y = ON(x));
    RUN(e, elu_backward, .dy = ON(dy), .y = ON(y), .keep = 0.75, .dx = ON(dy));
    operand_compare(e, &y, 4.0);
    operand_compare(e, &x, 4.0);
    operand_compare(e, &dy, 4.0);
}
