/*
 * backend/token_cases.h: attention, embedding and mean of tokens, with and without padding. The cases are rows of
 * test_backends.c.
 */
#pragma once

#include "backend/backend_env.h"

/* A column of whole numbers below `words`; every third one is 0, padding, and so are all of the first image where
 * `empty` says so. */
static operand token_ids(env *e, int64_t words, int64_t tokens, bool empty)
{
    operand id = {.dtype = env_param(e), .rows = e->m, .cols = 1, .ld = 1};
    const int64_t bytes = e->m * (int64_t)weft_dtype_bytes(id.dtype);
    void *host = malloc((size_t)bytes + 1);
    assert_non_null(host);
    for (int64_t i = 0; i < e->m; ++i) {
        const bool padding = i % 3 == 2 || (empty && i < tokens);
        store_real(host, id.dtype, i, padding ? 0.0 : (double)(1 + i * 7 % (words - 1)));
    }
    for (int b = 0; b < e->backends; ++b) {
        id.dev[b] = env_alloc(e, b, bytes);
        ASSERT_OK(e->hal[b]->mem.upload(e->hal[b], id.dev[b], host, (size_t)bytes));
    }
    free(host);
    return id;
}

/* Returns true if images of so many tokens fit the case's rows. */
static bool token_images_fit(const env *e, int64_t tokens)
{
    return tokens > 0 && e->m % tokens == 0 && tokens <= 90;
}

static void attend_variant(env *e, int64_t tokens, int64_t heads, bool masked)
{
    const int64_t most = tokens < 40 ? 40 : 9, width = e->n / heads < most ? e->n / heads : most, n = width * heads;
    operand x = operand_make(e, e->m, 3 * n, UNIT);
    operand dy = operand_make(e, e->m, n, UNIT);
    operand y = operand_make(e, e->m, n, NOTHING);
    operand dx = operand_make(e, e->m, 3 * n, NOTHING);
    operand key = token_ids(e, 5, tokens, true);
    const hal_mat none = {.data = NULL};
    RUN(e, attend_forward, .x = ON(x), .key = masked ? ON(key) : none, .y = ON(y), .tokens = tokens, .heads = heads);
    RUN(e, attend_backward, .dy = ON(dy), .x = ON(x), .key = masked ? ON(key) : none, .dx = ON(dx), .tokens = tokens,
        .heads = heads);
    operand_compare(e, &y, 32.0);
    operand_compare(e, &dx, 64.0);
}

static void case_attend(env *e)
{
    static const int64_t tokens[] = {1, 5, 17, 23, 40, 90};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; ++i) {
        if (token_images_fit(e, tokens[i])) {
            attend_variant(e, tokens[i], 1, true);
            attend_variant(e, tokens[i], 2, i % 2 == 0);
        }
    }
}

static void case_embed(env *e)
{
    enum { WORDS = 11 };
    operand id = token_ids(e, WORDS, 1, false);
    operand table = operand_own(e, false, WORDS, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand dtable = operand_own(e, false, WORDS, e->n, NOTHING);
    RUN(e, lookup_forward, .id = ON(id), .table = ON(table), .y = ON(y));
    RUN(e, lookup_backward, .dy = ON(dy), .id = ON(id), .dtable = ON(dtable));
    operand_compare(e, &y, 0.0);
    operand_compare(e, &dtable, 0.0);
}

static void case_token_mean(env *e)
{
    const int64_t tokens = e->m % 5 == 0 && e->m > 0 ? 5 : 1;
    operand key = token_ids(e, 5, tokens, true);
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m / tokens, e->n, NOTHING);
    operand dy = operand_make(e, e->m / tokens, e->n, UNIT);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    RUN(e, token_mean_forward, .x = ON(x), .key = ON(key), .y = ON(y), .tokens = tokens);
    RUN(e, token_mean_backward, .dy = ON(dy), .key = ON(key), .dx = ON(dx), .tokens = tokens);
    operand_compare(e, &y, 4.0);
    operand_compare(e, &dx, 2.0);
}
