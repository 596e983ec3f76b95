/* Made rows of five columns of all kinds, and trainings of boosted trees on them by ranks, threads and dealings. */
#pragma once

#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/boost/boost.h"
#include "trees/shap/tree_shap.h"

enum { ROWS = 600, COLUMNS = 5, MOST_NODES = 128, MOST_RANKS = 8, ROUNDS = 6, OUTPUTS = 3 };

/* The rows of all ranks. */
typedef struct rows {
    float real[3][ROWS];
    int32_t whole[ROWS];
    int64_t large[ROWS];
    float y[ROWS], weight[ROWS];
    uint8_t counts[ROWS];
} rows;

static rows all;

static double value_levels = 200.0; /* values of the first and third columns */

static inline void draw(tree_loss loss)
{
    uint64_t state = 7;
    for (int i = 0; i < ROWS; ++i) {
        all.real[0][i] = (float)(floor(value_levels * test_uniform(&state)) / value_levels);
        all.real[1][i] = (float)floor(6.0 * test_uniform(&state)) - 2.0F;
        all.real[2][i] = test_uniform(&state) < 0.3 ? NAN : (float)floor(value_levels * test_uniform(&state));
        all.whole[i] = test_uniform(&state) < 0.1 ? TABLE_NO_INTEGER : (int32_t)(40.0 * test_uniform(&state));
        all.large[i] = ((int64_t)1 << 40) * (int64_t)(3.0 * test_uniform(&state));
        const double f = 3.0 * (double)all.real[0][i] * (double)all.real[1][i] + (isnan(all.real[2][i]) ? 1.5 : 0.0) +
                         (all.whole[i] > 20 ? -2.0 : 0.0) + 2.0 * test_uniform(&state);
        all.y[i] = loss == TREE_LOSS_SQUARED                                  ? (f > 1.0 ? 1.0F : -1.0F)
                   : loss == TREE_LOSS_SOFTMAX                                ? (float)(f > 3.0 ? 2 : f > 0.0)
                   : loss == TREE_LOSS_POISSON                                ? (float)floor(fabs(f))
                   : loss == TREE_LOSS_ABSOLUTE || loss == TREE_LOSS_QUANTILE ? (float)f
                                                                              : (float)(f > 1.0);
        all.weight[i] = (float)(1.0 + floor(3.0 * test_uniform(&state)));
        all.counts[i] = i % 7 != 3;
    }
}

/* One training on some ranks. */
typedef struct training {
    tree_loss loss;
    boost_options options;
    int ranks, threads, dealing, rounds; /* dealing 0: runs of rows, 1: by turns, 2: rank 0 has few */
    bool weighted, resumed;
    bool releases;      /* numbers are given back once they are binned */
    int released;       /* [out] columns that rank 0 gave back */
    int64_t summed;     /* [out] rows of rank 0 that were added to histograms, since the last resume */
    weft_forest forest; /* [out] rank 0's */
    double *shap;       /* [out] [ROWS, COLUMNS + 1] contributions to the answer of each row; NULL: not asked for */
} training;

static inline int owner(const training *t, int row)
{
    if (t->dealing == 0) {
        return row * t->ranks / ROWS;
    }
    return t->dealing == 1 ? (row * 5 + 3) % t->ranks : t->ranks == 1 || row < 5 ? 0 : 1 + row % (t->ranks - 1);
}

/* A rank's rows. */
typedef struct share {
    int64_t count, id[ROWS], large[ROWS];
    float real[3][ROWS], y[ROWS], weight[ROWS];
    int32_t whole[ROWS];
    uint8_t counts[ROWS];
    tree_column column[COLUMNS];
    int released;
    int64_t spoilt; /* rows of the column that is given back */
    tree_columns data;
    tree_targets targets;
} share;

static inline share *take_share(const training *t, int rank)
{
    share *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < ROWS; ++i) {
        if (owner(t, i) == rank) {
            const int64_t at = s->count++;
            s->id[at] = i;
            for (int c = 0; c < 3; ++c) {
                s->real[c][at] = all.real[c][i];
            }
            s->whole[at] = all.whole[i];
            s->large[at] = all.large[i];
            s->y[at] = all.y[i];
            s->weight[at] = all.weight[i];
            s->counts[at] = all.counts[i];
        }
    }
    for (int c = 0; c < 3; ++c) {
        s->column[c] = (tree_column){TABLE_REAL, s->real[c]};
    }
    s->column[3] = (tree_column){TABLE_INTEGER, s->whole};
    s->column[4] = (tree_column){TABLE_LONG, s->large};
    s->data = (tree_columns){.rows = s->count, .columns = COLUMNS, .column = s->column, .id = s->id};
    s->targets = (tree_targets){.loss = t->loss,
                                .rows = s->count,
                                .outputs = t->loss == TREE_LOSS_SOFTMAX ? OUTPUTS : 1,
                                .y = s->y,
                                .weight = t->weighted ? s->weight : NULL,
                                .counts = s->counts,
                                .quantile = 0.8};
    return s;
}

/* The numbers are spoilt, so that whoever still reads them is found out. */
static inline void release_rows(void *owner, int column, int64_t end)
{
    share *s = owner;
    void *const numbers[COLUMNS] = {s->real[0], s->real[1], s->real[2], s->whole, s->large};
    memset(numbers[column], 0, (size_t)end * table_kind_bytes(s->column[column].kind));
    s->spoilt = end;
}

static inline void release(void *owner, int column, const tree_binned *binned)
{
    share *s = owner;
    s->spoilt = s->spoilt == s->count ? 0 : -1; /* all rows of the column went before it */
    s->column[column] = (tree_column){TREE_BINNED, binned};
    s->released += s->spoilt == 0;
}

/* Margins that the boost kept must be those that the forest answers. */
static inline weft_status check_margins(const tree_boost *boost, const share *s)
{
    const weft_forest *forest = boost_forest(boost);
    const float *kept = boost_margins(boost);
    float *margin = calloc((size_t)(s->count * forest->outputs) + 1, sizeof *margin);
    weft_status status = forest_margins(forest, &s->data, 0, forest->trees, 2, margin);
    for (int64_t i = 0; status == WEFT_OK && i < s->count * forest->outputs; ++i) {
        if (margin[i] != kept[i]) {
            status = weft_fail(WEFT_ERR_INTERNAL, "margin %lld is %g, and the forest answers %g", (long long)i,
                               (double)kept[i], (double)margin[i]);
        }
    }
    free(margin);
    return status;
}

static inline weft_status go_on(weft_comm *comm, weft_hal *hal, share *s, const training *t, tree_boost **boost)
{
    weft_forest half = {0};
    weft_status status = forest_copy(boost_forest(*boost), boost_forest(*boost)->trees, &half);
    if (t->releases) {
        status = status == WEFT_OK ? boost_restart(*boost) : status;
    } else {
        boost_destroy(*boost);
        status = status == WEFT_OK ? boost_create(comm, hal, &s->data, &s->targets, &t->options, boost) : status;
    }
    status = status == WEFT_OK ? boost_resume(*boost, &half) : status;
    forest_destroy(&half);
    return status;
}

/* Each rank answers for its rows. */
static inline weft_status explain(const training *t, const tree_boost *boost, const share *s)
{
    double *phi = calloc((size_t)(s->count * (COLUMNS + 1)) + 1, sizeof *phi);
    const weft_status status = tree_shap(boost_forest(boost), &s->data, 0, s->count, t->threads, phi);
    for (int64_t i = 0; i < s->count; ++i) {
        memcpy(t->shap + s->id[i] * (COLUMNS + 1), phi + i * (COLUMNS + 1), (COLUMNS + 1) * sizeof *phi);
    }
    free(phi);
    return status;
}

static inline weft_status train_rank(weft_comm *comm, void *argument)
{
    training *t = argument;
    share *s = take_share(t, comm_rank(comm));
    weft_hal *hal = NULL;
    tree_boost *boost = NULL;
    weft_status status = weft_hal_open("cpu", t->threads, &hal);
    WEFT_TRY_GOTO(status, status, done);
    boost_options how = t->options;
    how.release = (tree_release){.owner = s};
    if (t->releases) {
        how.release.rows = release_rows;
        how.release.column = release;
    }
    WEFT_TRY_GOTO(boost_create(comm, hal, &s->data, &s->targets, &how, &boost), status, done);
    WEFT_TRY_GOTO(boost_restart(boost), status, done);
    for (int round = 0; round < t->rounds; ++round) {
        if (t->resumed && round == t->rounds / 2) {
            WEFT_TRY_GOTO(go_on(comm, hal, s, t, &boost), status, done);
        }
        WEFT_TRY_GOTO(boost_round(boost, 5), status, done);
    }
    WEFT_TRY_GOTO(check_margins(boost, s), status, done);
    WEFT_TRY_GOTO(t->shap != NULL ? explain(t, boost, s) : WEFT_OK, status, done);
    if (comm_rank(comm) == 0) {
        t->released = s->released;
        t->summed = grower_work(boost_grower(boost))->summed;
        status = forest_copy(boost_forest(boost), boost_forest(boost)->trees, &t->forest);
    }
done:
    boost_destroy(boost);
    weft_hal_close(hal);
    free(s);
    return comm_agree(comm, status);
}

static inline void train(training *t)
{
    ASSERT_OK(comm_thread_run(t->ranks, train_rank, t));
}

static inline boost_options options(int depth, int leaves, bool leaf_wise)
{
    return (boost_options){.values = TREE_BYTE_VALUES,
                           .base = NAN,
                           .growth = {.depth = depth,
                                      .leaves = leaves,
                                      .leaf_wise = leaf_wise,
                                      .rate = 0.3,
                                      .lambda = 1.0,
                                      .min_hessian = 1.0,
                                      .row_share = 1.0,
                                      .column_share = 1.0}};
}
