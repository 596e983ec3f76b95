/* Modes of a table of embeddings on 1 to 8 ranks against one rank, and the bytes that they send. */
#include <math.h>
#include <stdlib.h>

#include "embed/embed.h"
#include "embed/embed_key.h"
#include "embed/exchange/row_route.h"
#include "embed/plan/embed_trial.h"
#include "support/folder.h"
#include "support/test.h"

enum { SAMPLES = 23, FIELDS = 3, WIDTH = 4, STRIDE = WIDTH + 1, BAG_MOST = 5, IDS = 40, STEPS = 12, PRODUCTS = 2 };
enum { BAGS = SAMPLES * FIELDS, KEYS = BAGS * BAG_MOST, INPUTS = FIELDS * STRIDE, SUMS = STRIDE + 1 + PRODUCTS };
enum { LD = INPUTS + 2 };

typedef enum job_form { FORM_POOLED, FORM_SUMS, FORM_SUMS_OF_WHOLE } job_form;

typedef struct job {
    embed_mode mode;
    embed_rule rule;
    const uint8_t *mode_of; /* [FIELDS]; NULL: all are in `mode` */
    job_form form;
    bool weighted; /* keys have weights, and pooled rows a column of squares */
    float weight[FIELDS * STRIDE * PRODUCTS];
    float out[STEPS][SAMPLES * (INPUTS + 1)]; /* what the passes gave, of all samples */
    float dweight[8][FIELDS * STRIDE * PRODUCTS];
    embed_figures figures;
    const char *save, *load; /* folders of the rows after, and before the steps; or NULL */
    int steps;
} job;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* The batch of a step; every third bag is empty on average, and ids repeat. */
static void fill(int step, int64_t *at, uint64_t *key, float *weight)
{
    uint32_t state = (uint32_t)step * 77U + 5U;
    int64_t n = 0;
    for (int b = 0; b < BAGS; ++b) {
        at[b] = n;
        const uint32_t keys = draw(&state) % 3 == 0 ? 0 : draw(&state) % BAG_MOST + 1;
        for (uint32_t k = 0; k < keys; ++k) {
            weight[n] = 0.3F * (float)((step + b + (int)k) % 7) - 0.5F;
            key[n++] = embed_key(b % FIELDS, draw(&state) % IDS);
        }
    }
    at[BAGS] = n;
}

/* Samples of rank p of `ranks`; one rank has none where there are several. */
static int first_of(int p, int ranks)
{
    return ranks == 1 ? p * SAMPLES : p == 0 ? 0 : SAMPLES * (p - 1) / (ranks - 1);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What a batch has of each field, one key after the other. */
static void count(int ranks, bool weighted, const int64_t *at, const uint64_t *key, embed_counts counts[FIELDS])
{
    for (int f = 0; f < FIELDS; ++f) {
        counts[f] = (embed_counts){.ranks = ranks, .samples = SAMPLES, .weighted = weighted, .stride = STRIDE};
        for (int p = 0; p < ranks; ++p) {
            const int columns = STRIDE * (p + 1) / ranks - STRIDE * p / ranks;
            counts[f].kept += (first_of(p + 1, ranks) - first_of(p, ranks)) * columns;
        }
    }
    for (int p = 0; p < ranks; ++p) {
        uint64_t sorted[KEYS];
        int64_t n = 0;
        for (int64_t k = at[first_of(p, ranks) * FIELDS]; k < at[first_of(p + 1, ranks) * FIELDS]; ++k) {
            sorted[n++] = key[k];
            counts[embed_key_field(key[k])].keys += 1;
            counts[embed_key_field(key[k])].keys_away += row_route_owner(key[k], 7, ranks) != p;
        }
        qsort(sorted, (size_t)n, sizeof *sorted, compare);
        for (int64_t k = 0; k < n; ++k) {
            const bool fresh = k == 0 || sorted[k] != sorted[k - 1];
            embed_counts *of = &counts[embed_key_field(sorted[k])];
            of->distinct += fresh;
            of->distinct_away += fresh && row_route_owner(sorted[k], 7, ranks) != p;
        }
    }
}

/* By formulas, what a step sends. */
static int64_t formula_of(const job *j, int ranks, int columns, const int64_t *at, const uint64_t *key)
{
    embed_counts counts[FIELDS];
    count(ranks, j->weighted, at, key, counts);
    const embed_counts all = embed_counts_sum(counts, FIELDS, NULL, j->mode);
    return j->mode_of != NULL ? embed_modes_bytes(counts, FIELDS, j->mode_of, STRIDE, j->weighted)
                              : embed_mode_bytes(j->mode, &all, STRIDE, columns, j->form == FORM_SUMS_OF_WHOLE);
}

static weft_status step_of(weft_comm *comm, job *j, embed_table *table, int step)
{
    const int ranks = comm_size(comm), rank = comm_rank(comm), first = first_of(rank, ranks);
    const embed_sums sums = {.rows = true, .squares = true, .products = PRODUCTS, .weight = j->weight};
    const int columns = j->form == FORM_POOLED ? INPUTS + j->weighted : SUMS, ld = columns + 1;
    int64_t at[BAGS + 1], own[BAGS + 1], samples_of[8];
    uint64_t key[KEYS];
    float total[SAMPLES * LD], weight[KEYS];
    fill(step, at, key, weight);
    embed_bags bags = {
        .samples = SAMPLES, .fields = FIELDS, .at = at, .key = key, .weight = j->weighted ? weight : NULL};
    for (int p = 0; p < ranks; ++p) {
        samples_of[p] = first_of(p + 1, ranks) - first_of(p, ranks);
    }
    if (j->form != FORM_SUMS_OF_WHOLE) {
        const int64_t begin = at[first * FIELDS];
        for (int64_t b = 0; b <= samples_of[rank] * FIELDS; ++b) {
            own[b] = at[first * FIELDS + b] - begin;
        }
        bags = (embed_bags){.samples = samples_of[rank],
                            .fields = FIELDS,
                            .at = own,
                            .key = key + begin,
                            .weight = j->weighted ? weight + begin : NULL};
    }
    const comm_stats before = comm_lane_stats(comm, COMM_LANE_ROWS);
    if (j->form == FORM_POOLED) {
        WEFT_TRY(embed_forward(table, &bags, true, total, ld));
    } else {
        const int64_t *all = j->form == FORM_SUMS_OF_WHOLE ? samples_of : NULL;
        WEFT_TRY(embed_sums_forward(table, &sums, &bags, all, true, total, ld));
    }
    float gradient[SAMPLES * LD];
    for (int64_t s = 0; s < samples_of[rank]; ++s) { /* the loss: half the sum of squares of all */
        for (int c = 0; c < columns; ++c) {
            j->out[step][(first + s) * columns + c] = total[s * ld + c];
            gradient[s * ld + c] = (total[s * ld + c] + 0.01F * (float)c) / SAMPLES;
        }
    }
    if (j->form == FORM_POOLED) {
        WEFT_TRY(embed_backward(table, gradient, ld, 0.1));
    } else {
        WEFT_TRY(embed_sums_backward(table, gradient, ld, 0.1, j->dweight[rank]));
    }
    const comm_stats after = comm_lane_stats(comm, COMM_LANE_ROWS);
    int64_t bytes = (int64_t)(after.bytes_sent - before.bytes_sent);
    WEFT_TRY(comm_allreduce(comm, &bytes, 1, WEFT_DTYPE_I64, COMM_SUM));
    const int64_t formula = formula_of(j, ranks, columns, at, key);
    WEFT_CHECK(bytes == formula, WEFT_ERR_INTERNAL, "%lld bytes, not %lld", (long long)bytes, (long long)formula);
    return WEFT_OK;
}

static weft_status run(weft_comm *comm, void *argument)
{
    job *j = argument;
    const embed_desc desc = {.fields = FIELDS,
                             .width = WIDTH,
                             .linear = true,
                             .rule = j->rule,
                             .spread = 0.1,
                             .seed = 7,
                             .admit_after = 2,
                             .squares = j->weighted && j->form == FORM_POOLED,
                             .weighted = j->weighted,
                             .mode = j->mode,
                             .mode_of = j->mode_of};
    embed_table *table = NULL;
    comm_set_stall_timeout(comm, 60);
    WEFT_TRY(embed_open(comm, &desc, KEYS, &table));
    weft_status status = j->load == NULL ? WEFT_OK : comm_agree(comm, embed_load(table, j->load, "rows", 7));
    if (j->load != NULL && status == WEFT_OK) {
        status = comm_agree(comm, embed_load_counts(table, j->load, "rows"));
    }
    for (int step = 0; step < j->steps && status == WEFT_OK; ++step) {
        status = step_of(comm, j, table, step);
    }
    if (status == WEFT_OK && j->save != NULL) {
        status = comm_agree(comm, embed_save(table, j->save, "rows", 7));
    }
    embed_figures figures = {0};
    status = status == WEFT_OK ? embed_measure(table, &figures) : status;
    if (comm_rank(comm) == 0) {
        j->figures = figures;
    }
    embed_close(table);
    return status;
}

static job *new_job(embed_mode mode, job_form form, bool weighted)
{
    job *j = test_calloc(1, sizeof *j);
    j->mode = mode;
    j->rule = EMBED_ROW_ADAGRAD;
    j->form = form;
    j->weighted = weighted;
    j->steps = STEPS;
    for (int i = 0; i < FIELDS * STRIDE * PRODUCTS; ++i) {
        j->weight[i] = 0.3F * sinf((float)i);
    }
    return j;
}

static job *run_on(int ranks, embed_mode mode, job_form form, bool weighted)
{
    job *j = new_job(mode, form, weighted);
    ASSERT_OK(comm_thread_run(ranks, run, j));
    return j;
}

static void check_near(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        assert_true(fabsf(a[i] - b[i]) <= 1e-5F * (1 + fabsf(b[i])));
    }
}

static void check_weighted(embed_mode mode, job_form form, bool weighted)
{
    static const int ranks[] = {1, 2, 3, 4, 8};
    job *one =
        run_on(1, form == FORM_POOLED ? EMBED_ALL_TO_ALL : EMBED_DES, form == FORM_POOLED ? form : FORM_SUMS, weighted);
    assert_true(one->figures.rows > 0);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        job *many = run_on(ranks[i], mode, form, weighted);
        assert_int_equal(many->figures.rows, one->figures.rows);
        check_near(many->out[0], one->out[0], (int64_t)STEPS * SAMPLES * (INPUTS + 1));
        for (int k = 0; k < FIELDS * STRIDE * PRODUCTS; ++k) {
            float sum = 0;
            for (int p = 0; p < ranks[i]; ++p) {
                sum += many->dweight[p][k];
            }
            check_near(&sum, &one->dweight[0][k], 1);
        }
        test_free(many);
    }
    test_free(one);
}

static void check_mode(embed_mode mode, job_form form)
{
    check_weighted(mode, form, false);
    check_weighted(mode, form, true);
}

static void all_to_all(void **state)
{
    (void)state;
    check_mode(EMBED_ALL_TO_ALL, FORM_POOLED);
}

static void replicate(void **state)
{
    (void)state;
    check_mode(EMBED_REPLICATE, FORM_POOLED);
}

static void partial_sums(void **state)
{
    (void)state;
    check_mode(EMBED_DES, FORM_POOLED);
}

static void sums_of_samples(void **state)
{
    (void)state;
    check_mode(EMBED_DES, FORM_SUMS);
    check_mode(EMBED_DES, FORM_SUMS_OF_WHOLE);
}

/* Fields in modes of their own give what they give in one mode; and what each mode sends stands among the figures. */
static void modes_by_field(void **state)
{
    (void)state;
    static const uint8_t modes[][FIELDS] = {{EMBED_ALL_TO_ALL, EMBED_REPLICATE, EMBED_DES},
                                            {EMBED_REPLICATE, EMBED_COLUMNS, EMBED_ALL_TO_ALL}};
    static const int ranks[] = {1, 2, 3, 4, 8};
    job *each[2]; /* without weights, and with them */
    for (int weighted = 0; weighted < 2; ++weighted) {
        each[weighted] = new_job(EMBED_ALL_TO_ALL, FORM_POOLED, weighted);
        each[weighted]->rule = EMBED_ADAGRAD;
        ASSERT_OK(comm_thread_run(1, run, each[weighted]));
    }
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        const bool weighted = ranks[i] % 2 == 0;
        const job *one = each[weighted];
        job *many = new_job(EMBED_ALL_TO_ALL, FORM_POOLED, weighted);
        many->rule = EMBED_ADAGRAD;
        many->mode_of = modes[i % 2];
        ASSERT_OK(comm_thread_run(ranks[i], run, many));
        assert_int_equal(many->figures.rows, one->figures.rows);
        check_near(many->out[0], one->out[0], (int64_t)STEPS * SAMPLES * (INPUTS + 1));
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            const bool has = modes[i % 2][0] == m || modes[i % 2][1] == m || modes[i % 2][2] == m;
            assert_int_equal(many->figures.sent[m] > 0, has && ranks[i] > 1);
        }
        test_free(many);
    }
    test_free(each[0]);
    test_free(each[1]);
}

/* Columns of rows by a rule that keeps a number for each; of 5 numbers no more than 5 ranks have some. What ranks write
 * together is read by another number of them, whole and by columns, and goes on alike. */
static void columns(void **state)
{
    const char *folder = *state;
    static const embed_rule rules[] = {EMBED_LAZY_ADAM, EMBED_ADAGRAD, EMBED_FTRL, EMBED_SGD};
    static const int ranks[] = {2, 3, 4, 5};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        job *one = new_job(EMBED_ALL_TO_ALL, FORM_POOLED, i % 2 == 1),
            *many = new_job(EMBED_COLUMNS, FORM_POOLED, i % 2 == 1);
        one->rule = many->rule = rules[i];
        many->save = folder;
        ASSERT_OK(comm_thread_run(1, run, one));
        ASSERT_OK(comm_thread_run(ranks[i], run, many));
        assert_int_equal(many->figures.rows, one->figures.rows);
        check_near(many->out[0], one->out[0], (int64_t)STEPS * SAMPLES * (INPUTS + 1));
        job *whole = new_job(EMBED_ALL_TO_ALL, FORM_POOLED, i % 2 == 1),
            *again = new_job(EMBED_COLUMNS, FORM_POOLED, i % 2 == 1);
        whole->rule = again->rule = rules[i];
        whole->load = again->load = folder;
        whole->steps = again->steps = 3;
        ASSERT_OK(comm_thread_run(1, run, whole));
        ASSERT_OK(comm_thread_run(ranks[(i + 1) % 4], run, again));
        assert_int_equal(whole->figures.rows, one->figures.rows);
        assert_int_equal(whole->figures.made, one->figures.made);
        assert_int_equal(again->figures.made, one->figures.made);
        check_near(again->out[0], whole->out[0], (int64_t)3 * SAMPLES * (INPUTS + 1));
        test_free(one);
        test_free(many);
        test_free(whole);
        test_free(again);
    }
}

static void columns_need_numbers(void **state)
{
    (void)state;
    job *many = new_job(EMBED_COLUMNS, FORM_POOLED, false);
    ASSERT_STATUS(comm_thread_run(2, run, many), WEFT_ERR_USAGE);
    many->rule = EMBED_SGD;
    ASSERT_STATUS(comm_thread_run(STRIDE + 1, run, many), WEFT_ERR_USAGE);
    test_free(many);
}

/* Sums of one rank are those of its pooled rows: columns of fields added up, and products with the weight. */
static void check_against_pooled(bool weighted)
{
    job *pooled = run_on(1, EMBED_ALL_TO_ALL, FORM_POOLED, weighted), *sums = run_on(1, EMBED_DES, FORM_SUMS, weighted);
    const int step = 1; /* the first with rows: those of keys that the batch before it had twice */
    for (int s = 0; s < SAMPLES; ++s) {
        const float *x = pooled->out[step] + s * (INPUTS + weighted), *y = sums->out[step] + s * SUMS;
        for (int c = 0; c < STRIDE; ++c) {
            assert_float_equal(x[c] + x[STRIDE + c] + x[2 * STRIDE + c], y[c], 1e-5);
        }
        assert_float_equal(weighted ? x[INPUTS] : y[STRIDE], y[STRIDE], 1e-5);
        for (int m = 0; m < PRODUCTS; ++m) {
            double product = 0;
            for (int c = 0; c < INPUTS; ++c) {
                product += x[c] * pooled->weight[c * PRODUCTS + m];
            }
            assert_float_equal(product, y[STRIDE + 1 + m], 1e-5);
        }
    }
    test_free(pooled);
    test_free(sums);
}

static void sums_are_those_of_pooled_rows(void **state)
{
    (void)state;
    check_against_pooled(false);
    check_against_pooled(true);
}

/* Rows that one mode wrote on some ranks go on in another mode on others. */
static void rows_move_between_modes(void **state)
{
    const char *folder = *state;
    static const embed_mode modes[] = {EMBED_REPLICATE, EMBED_DES, EMBED_ALL_TO_ALL, EMBED_REPLICATE};
    static const uint8_t by_field[FIELDS] = {EMBED_DES, EMBED_ALL_TO_ALL, EMBED_REPLICATE};
    static const int ranks[] = {3, 2, 4, 8};
    job *one = run_on(1, EMBED_ALL_TO_ALL, FORM_POOLED, false);
    for (int i = 0; i < 4; ++i) {
        job *part = new_job(modes[i], FORM_POOLED, false);
        part->mode_of = i == 2 ? by_field : NULL;
        part->load = i == 0 ? NULL : folder;
        part->save = folder;
        part->steps = i == 0 ? STEPS : 0;
        ASSERT_OK(comm_thread_run(ranks[i], run, part));
        assert_int_equal(part->figures.rows, one->figures.rows);
        assert_int_equal(part->figures.made, one->figures.made); /* counted on from the files */
        test_free(part);
    }
    test_free(one);
}

/* Sums and the update of one sample's rows in closed form; field 0 holds a key twice, field 2 nothing. times, squared:
 * sums of weights of each distinct key, and of their squares. */
enum { DISTINCT = 3 };
static void check_one_sample(const float *given, const float *times, const float *squared)
{
    const uint64_t key[] = {embed_key(0, 4), embed_key(0, 4), embed_key(0, 9), embed_key(1, 4)};
    const uint64_t distinct[DISTINCT] = {key[0], key[2], key[3]};
    const int64_t at[] = {0, 3, 4, 4}, apart[] = {0, 1, 2, 3, 3, 3, 3};
    const float gradient[SUMS] = {1, -2, 3, 0.5F, 7, 0.25F, -1, 2};
    const int field[DISTINCT] = {0, 0, 1};
    const embed_desc desc = {.fields = FIELDS,
                             .width = WIDTH,
                             .linear = true,
                             .weighted = true,
                             .spread = 0.5,
                             .seed = 3,
                             .mode = EMBED_DES};
    const embed_bags bags = {.samples = 1, .fields = FIELDS, .at = at, .key = key, .weight = given};
    const embed_bags each = {.samples = 2, .fields = FIELDS, .at = apart, .key = distinct}; /* a bag a key */
    float weight[FIELDS][STRIDE][PRODUCTS], dweight[FIELDS][STRIDE][PRODUCTS], total[SUMS];
    float before[2 * FIELDS][STRIDE], after[2 * FIELDS][STRIDE];
    const embed_sums sums = {.rows = true, .squares = true, .products = PRODUCTS, .weight = &weight[0][0][0]};
    weft_comm *comm = NULL;
    embed_table *table = NULL;
    for (int i = 0; i < FIELDS * STRIDE * PRODUCTS; ++i) {
        (&weight[0][0][0])[i] = cosf((float)i);
    }
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(embed_open(comm, &desc, 4, &table));
    ASSERT_OK(embed_sums_forward(table, &sums, &bags, NULL, true, total, SUMS)); /* makes the rows */
    ASSERT_OK(embed_forward(table, &each, false, &before[0][0], INPUTS));
    ASSERT_OK(embed_sums_forward(table, &sums, &bags, NULL, true, total, SUMS));
    ASSERT_OK(embed_sums_backward(table, gradient, SUMS, 0.1, &dweight[0][0][0]));
    ASSERT_OK(embed_forward(table, &each, false, &after[0][0], INPUTS));
    float squares = 0;
    for (int k = 0; k < DISTINCT; ++k) {
        for (int c = 0; c < STRIDE; ++c) {
            const float v = before[k][c];
            float d = times[k] * gradient[c] + (c < WIDTH ? 2 * squared[k] * v * gradient[STRIDE] : 0);
            squares += c < WIDTH ? squared[k] * v * v : 0;
            for (int m = 0; m < PRODUCTS; ++m) {
                d += times[k] * weight[field[k]][c][m] * gradient[STRIDE + 1 + m];
            }
            assert_float_equal(after[k][c], v - 0.1F * d, 1e-5);
        }
    }
    assert_true(squares > 0);
    assert_float_equal(total[STRIDE], squares, 1e-5);
    for (int c = 0; c < STRIDE; ++c) {
        for (int m = 0; m < PRODUCTS; ++m) {
            const float g = gradient[STRIDE + 1 + m];
            assert_float_equal(dweight[0][c][m], g * (times[0] * before[0][c] + times[1] * before[1][c]), 1e-5);
            assert_float_equal(dweight[1][c][m], g * times[2] * before[2][c], 1e-5);
            assert_float_equal(dweight[2][c][m], 0, 0);
        }
    }
    embed_close(table);
    comm_destroy(comm);
}

static void sums_of_one_sample(void **state)
{
    (void)state;
    const float weight[] = {2, -1, 0.5F, 3}, once[] = {1, 0.5F, 3}, twice[] = {5, 0.25F, 9}, counted[] = {2, 1, 1};
    check_one_sample(NULL, counted, counted);
    check_one_sample(weight, once, twice);
}

/* Gradients of pooled rows with a column of squares are those of a closed form where two samples share a key. */
static void squares_of_pooled_rows(void **state)
{
    (void)state;
    enum { COLUMNS = STRIDE + 1 };
    const uint64_t key[] = {embed_key(0, 4), embed_key(0, 9), embed_key(0, 4)};
    const int64_t at[] = {0, 2, 3}, apart[] = {0, 1, 2};
    const float weight[] = {2, -1, 3}, gradient[2][COLUMNS] = {{0, 0, 0, 0, 1, 0.5F}, {0, 0, 0, 0, 0, -1}};
    const embed_bags bags = {.samples = 2, .fields = 1, .at = at, .key = key, .weight = weight};
    const embed_bags each = {.samples = 2, .fields = 1, .at = apart, .key = key};
    float pooled[2][COLUMNS], before[2][COLUMNS], after[2][COLUMNS];
    for (int mode = 0; mode < EMBED_MODES_COUNT; ++mode) {
        const embed_desc desc = {.fields = 1,
                                 .width = WIDTH,
                                 .linear = true,
                                 .squares = true,
                                 .weighted = true,
                                 .spread = 0.5,
                                 .seed = 3,
                                 .mode = (embed_mode)mode};
        weft_comm *comm = NULL;
        embed_table *table = NULL;
        ASSERT_OK(comm_create_self(&comm));
        ASSERT_OK(embed_open(comm, &desc, 4, &table));
        ASSERT_OK(embed_forward(table, &each, true, &before[0][0], COLUMNS));
        ASSERT_OK(embed_forward(table, &bags, true, &pooled[0][0], COLUMNS));
        ASSERT_OK(embed_backward(table, &gradient[0][0], COLUMNS, 0.1));
        ASSERT_OK(embed_forward(table, &each, false, &after[0][0], COLUMNS));
        float square[2] = {0};
        for (int c = 0; c < WIDTH; ++c) {
            square[0] += before[0][c] * before[0][c];
            square[1] += before[1][c] * before[1][c];
            /* Key 4 has weight 2 where the gradient of squares is 0.5, and 3 where it is -1. */
            assert_float_equal(after[0][c], before[0][c] * (1 - 0.1F * 2 * (4 * 0.5F - 9)), 1e-5);
            assert_float_equal(after[1][c], before[1][c] * (1 - 0.1F * 2 * 0.5F), 1e-5);
        }
        assert_true(square[0] > 0);
        assert_float_equal(pooled[0][STRIDE], 4 * square[0] + square[1], 1e-5);
        assert_float_equal(pooled[1][STRIDE], 9 * square[0], 1e-5);
        assert_float_equal(after[0][WIDTH], -0.1F * 2, 1e-6);
        assert_float_equal(after[1][WIDTH], 0.1F, 1e-6);
        embed_close(table);
        comm_destroy(comm);
    }
}

/* 8 ranks, 300 ids a sample of which 60 % are distinct: logistic regression, FM of width 8, two crosses of width 8. */
static void few_numbers_save_most(void **state)
{
    (void)state;
    const embed_counts c = {
        .ranks = 8, .samples = 8 * 1024, .distinct = 8 * 1024 * 180, .distinct_away = 7 * 1024 * 180};
    assert_true(embed_des_saving(&c, 1, 1) > 0.95);
    assert_true(embed_des_saving(&c, 9, 10) > 0.95);
    assert_true(embed_des_saving(&c, 8, 3) > 0.95);
    assert_true(embed_des_saving(&c, 8, 50 * 8) < 0);
    assert_int_equal(embed_mode_cheapest(&c, 9, 10, true), EMBED_DES);
}

/* ---- trials ---- */

typedef struct trial_job {
    embed_trial_desc how;
    embed_counts counts[8][FIELDS];
    uint8_t mode_of[8][FIELDS];
    embed_trial trial[8]; /* of each rank */
    int64_t at[8][BAGS + 1];
    uint64_t key[8][KEYS];
    float weight[8][KEYS];
} trial_job;

typedef struct trial_rank {
    trial_job *job;
    int rank, ranks;
} trial_rank;

/* This rank's samples of a step. */
static weft_status trial_batch(void *self, int step, embed_bags *bags)
{
    const trial_rank *r = self;
    const int first = first_of(r->rank, r->ranks), end = first_of(r->rank + 1, r->ranks);
    int64_t *at = r->job->at[r->rank];
    fill(step, at, r->job->key[r->rank], r->job->weight[r->rank]);
    const int64_t begin = at[first * FIELDS];
    for (int b = 0; b <= (end - first) * FIELDS; ++b) {
        at[b] = at[first * FIELDS + b] - begin;
    }
    *bags = (embed_bags){.samples = end - first, .fields = FIELDS, .at = at, .key = r->job->key[r->rank] + begin};
    return WEFT_OK;
}

static weft_status try_rank(weft_comm *comm, void *argument)
{
    trial_job *j = argument;
    trial_rank self = {j, comm_rank(comm), comm_size(comm)};
    embed_trial_desc how = j->how;
    const embed_desc desc = {.fields = FIELDS, .width = WIDTH, .linear = true, .spread = 0.1, .seed = 7};
    static const bool shares[FIELDS] = {false, true, true};
    how.batch = trial_batch;
    how.shares = shares;
    how.counts = j->counts[self.rank];
    how.mode_of = j->mode_of[self.rank];
    how.self = &self;
    comm_set_stall_timeout(comm, 60);
    return embed_try_modes(comm, &desc, &how, &j->trial[self.rank]);
}

/* Bytes that modes send are those of the formulas, for the counts of the batches; all ranks take one mode, of
 * those that were tried. */
static void trials_count_bytes(void **state)
{
    (void)state;
    enum { RANKS = 4, BATCHES = 3 };
    const embed_sums sums = {.rows = true, .squares = true};
    for (int form = 0; form < 4; ++form) {
        trial_job *j = test_calloc(1, sizeof *j);
        j->how = (embed_trial_desc){.most = KEYS,
                                    .samples = SAMPLES,
                                    .batches = BATCHES,
                                    .tries = {form != 3, form < 2, form != 2, form == 0},
                                    .sums = form == 1 ? &sums : NULL};
        ASSERT_OK(comm_thread_run(RANKS, try_rank, j));
        const embed_trial *t = &j->trial[0];
        embed_counts all[FIELDS];
        for (int step = 0; step < BATCHES; ++step) {
            int64_t at[BAGS + 1];
            uint64_t key[KEYS];
            float weight[KEYS];
            embed_counts one[FIELDS];
            fill(step, at, key, weight);
            count(RANKS, false, at, key, one);
            for (int f = 0; f < FIELDS; ++f) {
                all[f] = step == 0 ? one[f] : embed_counts_join(&all[f], &one[f]);
            }
        }
        for (int f = 0; f < FIELDS; ++f) {
            int64_t least = INT64_MAX;
            for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
                const int64_t bytes = embed_mode_bytes((embed_mode)m, &all[f], STRIDE, STRIDE, false);
                least = (m == EMBED_REPLICATE || m == EMBED_COLUMNS) && f == 0 ? least : bytes < least ? bytes : least;
            }
            assert_int_equal(j->counts[0][f].distinct, all[f].distinct);
            assert_int_equal(embed_mode_bytes((embed_mode)j->mode_of[0][f], &all[f], STRIDE, STRIDE, false), least);
            assert_true(f > 0 || (j->mode_of[0][f] != EMBED_REPLICATE && j->mode_of[0][f] != EMBED_COLUMNS));
        }
        const embed_counts sum = embed_counts_sum(all, FIELDS, NULL, EMBED_ALL_TO_ALL);
        assert_int_equal(t->counts.samples, SAMPLES);
        assert_int_equal(t->counts.distinct, sum.distinct / BATCHES);
        assert_int_equal(t->counts.keys_away, sum.keys_away / BATCHES);
        assert_int_equal(t->columns, form == 1 ? STRIDE + 1 : INPUTS);
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            assert_int_equal(isnan(t->cost[m].seconds), !j->how.tries[m]);
            assert_true(!j->how.tries[m] || (t->cost[m].sent > 0 && t->cost[m].sent == t->cost[m].formula));
            assert_int_equal(t->cost[m].made, 0);
        }
        assert_true(isnan(t->by_field.seconds) || t->by_field.sent == t->by_field.formula);
        assert_true(j->how.tries[t->fastest]);
        for (int p = 1; p < RANKS; ++p) {
            assert_memory_equal(&j->trial[p].cost, t->cost, sizeof t->cost);
            assert_int_equal(j->trial[p].fastest, t->fastest);
            assert_int_equal(j->trial[p].fields_are_best, t->fields_are_best);
            assert_memory_equal(j->mode_of[p], j->mode_of[0], sizeof j->mode_of[0]);
        }
        test_free(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_to_all),
        cmocka_unit_test(replicate),
        cmocka_unit_test(partial_sums),
        cmocka_unit_test(sums_of_samples),
        cmocka_unit_test(modes_by_field),
        cmocka_unit_test_setup_teardown(columns, folder_setup, folder_teardown),
        cmocka_unit_test(columns_need_numbers),
        cmocka_unit_test(sums_are_those_of_pooled_rows),
        cmocka_unit_test_setup_teardown(rows_move_between_modes, folder_setup, folder_teardown),
        cmocka_unit_test(sums_of_one_sample),
        cmocka_unit_test(squares_of_pooled_rows),
        cmocka_unit_test(few_numbers_save_most),
        cmocka_unit_test(trials_count_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
