/*
 * Batch norm over all ranks and of each rank by itself: values, gradients (central differences of the definition
 * written out here) and running statistics, in batches of changing size, some of them empty on a rank; and what
 * becomes of statistics that differ between ranks at an evaluation.
 */
#include <math.h>

#include "support/labelled_graphs.h"
#include "train/layers/norm.h"
#include "train/replica.h"

enum { COLS = 3, MOST = 12, STEPS = 4, MOST_RANKS = 3 };
#define EPSILON  1e-5
#define MOMENTUM 0.1

/* Rows of each rank in each step; their sum is a global batch. */
static const int rows_of[STEPS][MOST_RANKS] = {{5, 4, 3}, {4, 4, 4}, {2, 0, 1}, {6, 1, 5}};

typedef struct norm_case {
    norm_kind kind;
    const char *backend;
    weft_dtype dtype;
    int ranks;
    bool look; /* the mean over ranks is taken after every step, as evaluations do */
    /* results, [step][rank] */
    double y[STEPS][MOST_RANKS][MOST * COLS], dx[STEPS][MOST_RANKS][MOST * COLS];
    double own[STEPS][MOST_RANKS][2 * COLS];  /* running mean, running variance: of the rank */
    double mean[STEPS][MOST_RANKS][2 * COLS]; /* at an evaluation */
    double dgamma[STEPS][MOST_RANKS][COLS];
    double end[MOST_RANKS][2 * COLS];
} norm_case;

static double x_at(int step, int rank, int i)
{
    return sin(1.7 * i + 0.3 * step + 2.1 * rank) + 0.2 * (i % COLS) + 0.1 * rank;
}

static double weight_at(int step, int rank, int i) /* the loss is the sum of weight * y */
{
    return cos(0.9 * i + 1.3 * step + 0.7 * rank);
}

static const double gamma_value[COLS] = {1.5, 0.5, -1.0};
static const double beta_value[COLS] = {0.1, 0.2, 0.3};

/* ---- the library ----------------------------------------------------------------------------------------------- */

typedef struct norm_rank {
    weft_hal *hal;
    param_store params;
    train_norm norm;
    train_replica replica;
    weft_tensor x, y;
} norm_rank;

static weft_status put(const norm_rank *r, weft_tensor view, const double *value)
{
    float narrow[MOST * COLS];
    for (int64_t i = 0; i < view.rows * view.cols; ++i) {
        narrow[i] = (float)value[i];
    }
    return tensor_upload(&view, r->params.dtype == WEFT_DTYPE_F64 ? (const void *)value : (const void *)narrow);
}

static weft_status get(const norm_rank *r, weft_tensor view, double *value)
{
    float narrow[MOST * COLS];
    bool wide = r->params.dtype == WEFT_DTYPE_F64;
    WEFT_TRY(tensor_download(&view, wide ? (void *)value : (void *)narrow));
    for (int64_t i = 0; i < view.rows * view.cols && !wide; ++i) {
        value[i] = narrow[i];
    }
    return WEFT_OK;
}

static weft_status get_running(const norm_rank *r, double *value)
{
    WEFT_TRY(get(r, param_value(&r->params, r->norm.running_mean), value));
    return get(r, param_value(&r->params, r->norm.running_var), value + COLS);
}

static weft_status open_rank(weft_comm *comm, const norm_case *c, norm_rank *r)
{
    sync_options sync = sync_options_default();
    const optimizer_options plain = {.kind = OPTIMIZER_SGD};
    WEFT_TRY(weft_hal_open(c->backend, 1, &r->hal));
    param_store_begin(&r->params, r->hal, c->dtype);
    const norm_layer layer = {.kind = c->kind, .cols = COLS, .group = PARAM_GROUP_NO_DECAY, .layer = "norm"};
    WEFT_TRY(norm_declare(&r->norm, &r->params, &layer));
    WEFT_TRY(norm_declare_state(&r->norm));
    WEFT_TRY(param_store_commit(&r->params, comm));
    WEFT_TRY(norm_create(&r->norm, comm, MOST));
    WEFT_TRY(param_initialise(&r->params, 1));
    WEFT_TRY(put(r, param_value(&r->params, r->norm.gamma), gamma_value));
    WEFT_TRY(put(r, param_value(&r->params, r->norm.beta), beta_value));
    WEFT_TRY(tensor_create(r->hal, c->dtype, MOST, COLS, WEFT_MEM_ACTIVATION, &r->x));
    WEFT_TRY(tensor_create(r->hal, c->dtype, MOST, COLS, WEFT_MEM_ACTIVATION, &r->y));
    WEFT_TRY(replica_create(comm, &r->params, &sync, &plain, NULL, false, &r->replica));
    return replica_reset(&r->replica);
}

/* Forward, backward and an update with learning rate 0. */
static weft_status one_step(norm_case *c, norm_rank *r, int step, int rank)
{
    double x[MOST * COLS];
    double dy[MOST * COLS];
    int rows = rows_of[step][rank];
    int all = 0;
    for (int q = 0; q < c->ranks; ++q) {
        all += rows_of[step][q];
    }
    for (int i = 0; i < rows * COLS; ++i) {
        x[i] = x_at(step, rank, i);
        dy[i] = weight_at(step, rank, i);
    }
    weft_tensor in = tensor_view(&r->x, 0, rows, 0, COLS);
    weft_tensor out = tensor_view(&r->y, 0, rows, 0, COLS);
    WEFT_TRY(replica_begin(&r->replica, 0.0, 1.0));
    WEFT_TRY(put(r, in, x));
    norm_set_rows(&r->norm, rows, all);
    WEFT_TRY(norm_forward(&r->norm, true, &(norm_operands){.x = &in, .y = &out}));
    WEFT_TRY(get(r, out, c->y[step][rank]));
    WEFT_TRY(put(r, out, dy));
    WEFT_TRY(norm_backward(&r->norm, &(norm_operands){.x = &in}, &(norm_gradients){.dy = &out, .dx = &out}));
    WEFT_TRY(get(r, out, c->dx[step][rank]));
    WEFT_TRY(get(r, param_grad(&r->params, r->norm.gamma), c->dgamma[step][rank]));
    WEFT_TRY(get_running(r, c->own[step][rank]));
    WEFT_TRY(replica_gradients(&r->replica));
    WEFT_TRY(replica_update(&r->replica));
    if (!c->look) {
        return WEFT_OK;
    }
    WEFT_TRY(replica_average(&r->replica, false));
    WEFT_TRY(replica_average(&r->replica, false)); /* twice is once */
    return get_running(r, c->mean[step][rank]);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    norm_case *c = argument;
    norm_rank r = {.hal = NULL};
    weft_status status = open_rank(comm, c, &r);
    for (int step = 0; step < STEPS && status == WEFT_OK; ++step) {
        status = one_step(c, &r, step, comm_rank(comm));
    }
    status = status == WEFT_OK ? replica_average(&r.replica, true) : status;
    status = status == WEFT_OK ? get_running(&r, c->end[comm_rank(comm)]) : status;
    replica_destroy(&r.replica);
    norm_destroy(&r.norm);
    tensor_destroy(&r.x);
    tensor_destroy(&r.y);
    param_store_destroy(&r.params);
    weft_hal_close(r.hal);
    return status;
}

/* ---- by hand --------------------------------------------------------------------------------------------------- */

/* A set of rows that is normalised together. */
typedef struct rows_by_hand {
    int rows;
    double x[MOST_RANKS * MOST][COLS], weight[MOST_RANKS * MOST][COLS], y[MOST_RANKS * MOST][COLS];
    double mean[COLS], var[COLS];
} rows_by_hand;

/* Ranks [first, last]. */
static void take_rows(rows_by_hand *h, int step, int first, int last)
{
    h->rows = 0;
    for (int rank = first; rank <= last; ++rank) {
        for (int i = 0; i < rows_of[step][rank]; ++i, ++h->rows) {
            for (int k = 0; k < COLS; ++k) {
                h->x[h->rows][k] = x_at(step, rank, i * COLS + k);
                h->weight[h->rows][k] = weight_at(step, rank, i * COLS + k);
            }
        }
    }
}

static double loss_by_hand(rows_by_hand *h)
{
    double loss = 0;
    for (int k = 0; k < COLS; ++k) {
        h->mean[k] = h->var[k] = 0;
        for (int i = 0; i < h->rows; ++i) {
            h->mean[k] += h->x[i][k] / h->rows;
        }
        for (int i = 0; i < h->rows; ++i) {
            h->var[k] += (h->x[i][k] - h->mean[k]) * (h->x[i][k] - h->mean[k]) / h->rows;
        }
        for (int i = 0; i < h->rows; ++i) {
            h->y[i][k] = gamma_value[k] * (h->x[i][k] - h->mean[k]) / sqrt(h->var[k] + EPSILON) + beta_value[k];
            loss += h->weight[i][k] * h->y[i][k];
        }
    }
    return loss;
}

static double slope_by_hand(rows_by_hand *h, double *x)
{
    double keep = *x;
    double step = 1e-5;
    *x = keep + step;
    double above = loss_by_hand(h);
    *x = keep - step;
    double below = loss_by_hand(h);
    *x = keep;
    return (above - below) / (2 * step);
}

/* Rows of one rank, which begin at `first` of the set. */
static void check_rank(const norm_case *c, rows_by_hand *h, int step, int rank, int first)
{
    double tolerance = c->dtype == WEFT_DTYPE_F64 ? 1e-7 : 2e-4;
    double dgamma[COLS] = {0};
    for (int i = 0; i < rows_of[step][rank]; ++i) {
        for (int k = 0; k < COLS; ++k) {
            double slope = slope_by_hand(h, &h->x[first + i][k]);
            (void)loss_by_hand(h);
            ASSERT_NEAR(c->y[step][rank][i * COLS + k], h->y[first + i][k], tolerance);
            ASSERT_NEAR(c->dx[step][rank][i * COLS + k], slope, tolerance * 10);
            dgamma[k] += h->weight[first + i][k] * (h->y[first + i][k] - beta_value[k]) / gamma_value[k];
        }
    }
    for (int k = 0; k < COLS; ++k) {
        ASSERT_NEAR(c->dgamma[step][rank][k], dgamma[k], tolerance * 10);
    }
}

/* running[rank]: mean, then variance, moved by one step of the set's statistics. */
static void move(double running[2 * COLS], const rows_by_hand *h)
{
    double unbias = h->rows > 1 ? (double)h->rows / (h->rows - 1) : 1.0;
    for (int k = 0; k < COLS && h->rows > 0; ++k) {
        running[k] = (1 - MOMENTUM) * running[k] + MOMENTUM * h->mean[k];
        running[COLS + k] = (1 - MOMENTUM) * running[COLS + k] + MOMENTUM * unbias * h->var[k];
    }
}

static void check_running(const norm_case *c, int step, double running[MOST_RANKS][2 * COLS])
{
    double tolerance = c->dtype == WEFT_DTYPE_F64 ? 1e-12 : 1e-6;
    for (int k = 0; k < 2 * COLS; ++k) {
        double mean = 0;
        for (int rank = 0; rank < c->ranks; ++rank) {
            mean += running[rank][k] / c->ranks;
        }
        for (int rank = 0; rank < c->ranks; ++rank) {
            ASSERT_NEAR(c->own[step][rank][k], running[rank][k], tolerance);
            ASSERT_NEAR(c->look ? c->mean[step][rank][k] : mean, mean, tolerance);
            ASSERT_NEAR(step == STEPS - 1 ? c->end[rank][k] : mean, mean, tolerance);
        }
    }
}

static void check_case(norm_case *c)
{
    double running[MOST_RANKS][2 * COLS] = {{0}};
    rows_by_hand h;
    for (int i = 0; i < MOST_RANKS * COLS; ++i) {
        running[i / COLS][COLS + i % COLS] = 1.0;
    }
    for (int step = 0; step < STEPS; ++step) {
        int first = 0;
        for (int rank = 0; rank < c->ranks; ++rank) {
            bool local = c->kind == NORM_BATCH_LOCAL;
            take_rows(&h, step, local ? rank : 0, local ? rank : c->ranks - 1);
            (void)loss_by_hand(&h);
            move(running[rank], &h);
            check_rank(c, &h, step, rank, local ? 0 : first);
            first += rows_of[step][rank];
        }
        check_running(c, step, running);
    }
}

static void test_both_equal_the_definition(void **state)
{
    (void)state;
    norm_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    for (int i = 0; i < 24; ++i) {
        *c = (norm_case){.kind = i % 2 == 0 ? NORM_BATCH : NORM_BATCH_LOCAL,
                         .dtype = i / 2 % 2 == 0 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32,
                         .backend = i % 3 == 0 ? "shadow" : "ref",
                         .look = i / 4 % 2 == 0,
                         .ranks = 1 + i / 8};
        ASSERT_OK(comm_thread_run(c->ranks, run_rank, c));
        check_case(c);
    }
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_equal_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
