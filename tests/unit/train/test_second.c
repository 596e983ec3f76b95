/*
 * Second order: what a step makes of a gradient is compared with dense solves (Gaussian elimination in double) of the
 * systems that train/second/second.h states, whichever ranks have the rows; one step of `input` solves a least squares
 * problem; the clip is worked out anew; state goes on between two inversions to the bit. Whole networks stand in
 * test_second_proof.c.
 */
#include <math.h>

#include "support/labelled_graphs.h"
#include "support/random.h"
#include "train/second/second_cost.h"

enum { ROWS = 40, IN = 6, OUT = 4, MOST_IN = IN + 1, MOST_RANKS = 3, WEIGHTS = MOST_IN * OUT, STEPS = 4 };
#define RHO   0.3
#define DECAY 0.8

/* Rows of all ranks, and the gradients of the rows that they give. */
typedef struct second_rows {
    double x[ROWS][IN], dy[ROWS][OUT];
} second_rows;

/* One map on some ranks for some steps. */
typedef struct second_case {
    second_kind kind;
    const char *backend;
    int ranks, steps;
    bool transposed, joined, bias;
    double damping, clip, first;
    int64_t interval;
    double lr[STEPS];
    second_rows rows[STEPS];
    int resumed_at;                      /* the step before which a checkpoint is read by another object; 0: none */
    double step[STEPS][WEIGHTS];         /* [out] the directions, weights [IN, OUT], then the bias */
    precondition_figures figures[STEPS]; /* [out] */
} second_case;

static void draw_rows(second_rows *rows, uint64_t seed)
{
    uint64_t state = seed;
    for (int r = 0; r < ROWS; ++r) {
        for (int i = 0; i < IN; ++i) {
            rows->x[r][i] = test_uniform(&state) - 0.3 + 0.2 * i * (r % 2);
        }
        for (int o = 0; o < OUT; ++o) {
            rows->dy[r][o] = (test_uniform(&state) - 0.5) / ROWS;
        }
    }
}

/* An input row with the 1 of the bias behind it. */
static double input_at(const second_rows *rows, int r, int i)
{
    return i < IN ? rows->x[r][i] : 1.0;
}

/* [out] gradient [IN + 1, OUT] of all rows. */
static void gradient_of(const second_rows *rows, double *gradient)
{
    for (int i = 0; i < MOST_IN; ++i) {
        for (int o = 0; o < OUT; ++o) {
            gradient[i * OUT + o] = 0.0;
            for (int r = 0; r < ROWS; ++r) {
                gradient[i * OUT + o] += input_at(rows, r, i) * rows->dy[r][o];
            }
        }
    }
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

typedef struct second_rank {
    weft_hal *hal;
    param_store params;
    train_map map;
    train_model model;
    int64_t id[ROWS];
    train_second *second;
} second_rank;

static weft_status open_rank(weft_comm *comm, const second_case *c, second_rank *r)
{
    const int rank = comm_rank(comm);
    WEFT_TRY(weft_hal_open(test_device(c->backend), 1, &r->hal));
    param_store_begin(&r->params, r->hal, WEFT_DTYPE_F64);
    r->map = (train_map){.transposed = c->transposed, .joined = c->joined};
    r->map.block = param_add_block(&r->params, PARAM_GROUP_DECAY, c->transposed ? OUT : IN, c->transposed ? IN : OUT);
    r->map.bias = param_add_block(&r->params, PARAM_GROUP_NO_DECAY, 1, OUT);
    r->map.bias = c->bias ? r->map.bias : -1;
    WEFT_TRY(param_store_commit(&r->params, NULL));
    r->model = (train_model){.name = "test", .params = &r->params, .map = &r->map, .maps = 1, .row_id = r->id};
    for (int64_t i = ROWS - 1 - rank; i >= 0; i -= c->ranks) { /* some order that is no rank's own */
        r->id[r->model.row_ids++] = i;
    }
    return WEFT_OK;
}

static weft_status open_second(weft_comm *comm, const second_case *c, second_rank *r)
{
    const second_options options = {.kind = c->kind,
                                    .damping = c->damping,
                                    .clip = c->clip,
                                    .first = c->first,
                                    .decay = DECAY,
                                    .factors = 1,
                                    .interval = c->interval,
                                    .seed = 1};
    return second_create(comm, &r->model, &options, &r->second);
}

static void close_rank(second_rank *r)
{
    second_destroy(r->second);
    param_store_destroy(&r->params);
    weft_hal_close(r->hal);
}

static weft_status set_gradients(const second_case *c, const second_rank *r, const double *gradient)
{
    double dw[IN * OUT];
    for (int i = 0; i < IN; ++i) {
        for (int o = 0; o < OUT; ++o) {
            dw[c->transposed ? o * IN + i : i * OUT + o] = gradient[i * OUT + o];
        }
    }
    weft_tensor weights = param_grad(&r->params, r->map.block);
    WEFT_TRY(tensor_upload(&weights, dw));
    if (!c->bias) {
        return WEFT_OK;
    }
    weft_tensor bias = param_grad(&r->params, r->map.bias);
    return tensor_upload(&bias, gradient + (ptrdiff_t)IN * OUT);
}

static weft_status get_step(const second_case *c, const second_rank *r, double *step)
{
    double dw[IN * OUT];
    const weft_tensor weights = param_grad(&r->params, r->map.block);
    WEFT_TRY(tensor_download(&weights, dw));
    for (int i = 0; i < IN; ++i) {
        for (int o = 0; o < OUT; ++o) {
            step[i * OUT + o] = dw[c->transposed ? o * IN + i : i * OUT + o];
        }
    }
    const weft_tensor bias = param_grad(&r->params, c->bias ? r->map.bias : r->map.block + 1);
    return tensor_download(&bias, step + (ptrdiff_t)IN * OUT);
}

/* The rank's rows, in two runs. */
static weft_status show_rows(const second_rank *r, const second_rows *all, const train_pass *pass)
{
    const train_tap *tap = second_tap(r->second);
    const int64_t n = r->model.row_ids, border = n / 3;
    double x[ROWS * IN], dy[ROWS * OUT];
    weft_tensor rows = {0}, gradients = {0};
    for (int64_t i = 0; i < n; ++i) {
        memcpy(x + i * IN, all->x[r->id[i]], sizeof all->x[0]);
        memcpy(dy + i * OUT, all->dy[r->id[i]], sizeof all->dy[0]);
    }
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_F64, n, IN, WEFT_MEM_WORKSPACE, &rows));
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_F64, n, OUT, WEFT_MEM_WORKSPACE, &gradients));
    weft_status status = tensor_upload(&rows, x);
    status = status == WEFT_OK ? tensor_upload(&gradients, dy) : status;
    for (int part = 0; part < 2 && status == WEFT_OK; ++part) {
        const int64_t first = part == 0 ? border : 0, count = part == 0 ? n - border : border;
        const weft_tensor some = tensor_view(&rows, first, count, 0, IN);
        const weft_tensor of_some = tensor_view(&gradients, first, count, 0, OUT);
        const tap_rows told = {.block = r->map.block,
                               .transposed = r->map.transposed,
                               .first = first,
                               .rows = r->map.transposed ? OUT : IN,
                               .cols = r->map.transposed ? IN : OUT,
                               .x = &some,
                               .dy = &of_some};
        status = count > 0 ? tap->take(tap->self, pass, &told) : WEFT_OK;
    }
    tensor_destroy(&rows);
    tensor_destroy(&gradients);
    return status;
}

/* An object goes on from the state of the one before it, which ends. */
static weft_status take_over(train_second *before, train_second *now)
{
    const sync_buffer *from = NULL, *to = NULL;
    int count = 0;
    WEFT_TRY(second_preconditioner(before)->state(before, &from, &count));
    WEFT_TRY(second_preconditioner(now)->state(now, &to, &count));
    for (int i = 0; i < count; ++i) {
        WEFT_CHECK(from[i].bytes == to[i].bytes, WEFT_ERR_INTERNAL, "another length");
        if (to[i].bytes > 0) {
            memcpy(to[i].data, from[i].data, (size_t)to[i].bytes);
        }
    }
    second_destroy(before);
    return second_preconditioner(now)->restored(now);
}

static weft_status go_on(weft_comm *comm, const second_case *c, second_rank *r)
{
    train_second *before = r->second;
    WEFT_TRY(open_second(comm, c, r));
    return take_over(before, r->second);
}

static weft_status run_steps(weft_comm *comm, second_case *c, second_rank *r)
{
    const train_targets targets = {.loss_entries = ROWS};
    const train_batch batch = {.targets = &targets};
    for (int s = 0; s < c->steps; ++s) {
        const train_pass pass = {.training = true, .parts = 1, .batch = &batch};
        double gradient[WEIGHTS];
        WEFT_TRY(s > 0 && s == c->resumed_at ? go_on(comm, c, r) : WEFT_OK);
        const train_tap *tap = second_tap(r->second);
        const train_preconditioner *turn = second_preconditioner(r->second);
        WEFT_TRY(tap->wants(tap->self, &pass) ? show_rows(r, &c->rows[s], &pass) : WEFT_OK);
        gradient_of(&c->rows[s], gradient);
        WEFT_TRY(set_gradients(c, r, gradient));
        WEFT_TRY(turn->apply(turn->self, &r->params, c->lr[s]));
        WEFT_TRY(comm_rank(comm) == 0 ? get_step(c, r, c->step[s]) : WEFT_OK);
        c->figures[s] = comm_rank(comm) == 0 ? turn->figures(turn->self) : c->figures[s];
    }
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    second_case *c = argument;
    second_rank r = {.hal = NULL};
    weft_status status = open_rank(comm, c, &r);
    status = status == WEFT_OK ? open_second(comm, c, &r) : status;
    status = status == WEFT_OK ? run_steps(comm, c, &r) : status;
    close_rank(&r);
    return status;
}

static second_case case_of(second_kind kind, int steps)
{
    second_case c = {.kind = kind,
                     .backend = "ref",
                     .ranks = 1,
                     .steps = steps,
                     .joined = true,
                     .bias = true,
                     .damping = RHO,
                     .interval = 1,
                     .lr = {1, 1, 1, 1}};
    for (int s = 0; s < steps; ++s) {
        draw_rows(&c.rows[s], 5 + (uint64_t)s);
    }
    return c;
}

/* ---- the same by hand -------------------------------------------------------------------------------------------- */

/* x = m^-1 x with pivots. */
static void solve(int n, double *m, double *x)
{
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i) {
            pivot = fabs(m[i * n + k]) > fabs(m[pivot * n + k]) ? i : pivot;
        }
        for (int j = 0; j < n; ++j) {
            const double swap = m[k * n + j];
            m[k * n + j] = m[pivot * n + j];
            m[pivot * n + j] = swap;
        }
        const double swap = x[k];
        x[k] = x[pivot];
        x[pivot] = swap;
        for (int i = k + 1; i < n; ++i) {
            const double f = m[i * n + k] / m[k * n + k];
            for (int j = k; j < n; ++j) {
                m[i * n + j] -= f * m[k * n + j];
            }
            x[i] -= f * x[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) {
            x[k] -= m[k * n + j] * x[j];
        }
        x[k] /= m[k * n + k];
    }
}

/* Running averages of the factors after step `last`. */
typedef struct hand_factors {
    int n;
    double a[MOST_IN * MOST_IN], g[OUT * OUT], a_mean, g_mean;
} hand_factors;

static void factors_of(const second_case *c, int last, hand_factors *f)
{
    *f = (hand_factors){.n = c->bias && c->joined ? MOST_IN : IN};
    for (int s = 0; s <= last; ++s) {
        const double old = s == 0 ? 0.0 : DECAY;
        for (int i = 0; i < f->n * f->n; ++i) {
            double sum = 0.0;
            for (int r = 0; r < ROWS; ++r) {
                sum += input_at(&c->rows[s], r, i / f->n) * input_at(&c->rows[s], r, i % f->n) / ROWS;
            }
            f->a[i] = old * f->a[i] + (1.0 - old) * sum;
        }
        for (int i = 0; i < OUT * OUT; ++i) {
            double sum = 0.0;
            for (int r = 0; r < ROWS; ++r) {
                sum += c->rows[s].dy[r][i / OUT] * c->rows[s].dy[r][i % OUT] * ROWS;
            }
            f->g[i] = old * f->g[i] + (1.0 - old) * sum;
        }
    }
    for (int i = 0; i < f->n; ++i) {
        f->a_mean += f->a[i * f->n + i] / f->n;
    }
    for (int o = 0; o < OUT; ++o) {
        f->g_mean += f->g[o * OUT + o] / OUT;
    }
}

/* step = (A (x) G + rho a b I)^-1 gradient as one dense system; `input` has b I in the place of G. */
static void step_by_hand(const second_case *c, int s, double *step)
{
    static double m[WEIGHTS * WEIGHTS];
    hand_factors f;
    factors_of(c, s, &f);
    const int n = f.n * OUT;
    gradient_of(&c->rows[s], step);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            const double b = i % OUT == j % OUT ? f.g_mean : 0.0;
            const double g = c->kind == SECOND_KFAC ? f.g[i % OUT * OUT + j % OUT] : b;
            m[i * n + j] = f.a[i / OUT * f.n + j / OUT] * g + (i == j ? c->damping * f.a_mean * f.g_mean : 0.0);
        }
    }
    solve(n, m, step);
    for (int i = n; i < WEIGHTS && c->bias; ++i) { /* a loose bias is a map of the constant 1 */
        step[i] /= f.g_mean * (1.0 + c->damping);
    }
}

static void check_step(const double *step, const double *expected, int count, double tolerance)
{
    double most = 0.0;
    for (int i = 0; i < count; ++i) {
        most = fmax(most, fabs(expected[i]));
    }
    for (int i = 0; i < count; ++i) {
        if (!(fabs(step[i] - expected[i]) <= tolerance * most)) {
            fail_msg("element %d: %.15g instead of %.15g", i, step[i], expected[i]);
        }
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_steps_are_dense_solves(void **state)
{
    (void)state;
    for (int i = 0; i < 24; ++i) {
        second_case c = case_of(i % 2 == 0 ? SECOND_INPUT : SECOND_KFAC, 3);
        c.ranks = 1 + i / 2 % MOST_RANKS;
        c.transposed = i / 6 % 2 != 0;
        c.joined = i / 12 == 0;
        c.bias = i != 13;
        c.backend = i % 5 == 0 ? "shadow" : "ref";
        ASSERT_OK(comm_thread_run(c.ranks, run_rank, &c));
        for (int s = 0; s < c.steps; ++s) {
            double expected[WEIGHTS];
            step_by_hand(&c, s, expected);
            check_step(c.step[s], expected, c.bias ? WEIGHTS : IN * OUT, 1e-10);
            assert_true(c.figures[s].clip == 1.0 && c.figures[s].refused == 0);
        }
    }
}

/* Squared loss of one map: the step over the curvature of its targets ends where the gradient is 0. */
static void test_one_step_solves_least_squares(void **state)
{
    (void)state;
    second_case c = case_of(SECOND_INPUT, 1);
    double target[ROWS][OUT], gradient[WEIGHTS], after[WEIGHTS];
    hand_factors f;
    c.damping = 1e-12;
    for (int i = 0; i < ROWS * OUT; ++i) { /* weights begin at 0 */
        target[i / OUT][i % OUT] = sin(1.0 + 3.0 * i);
        c.rows[0].dy[i / OUT][i % OUT] = -target[i / OUT][i % OUT] / ROWS;
    }
    ASSERT_OK(comm_thread_run(1, run_rank, &c));
    factors_of(&c, 0, &f);
    gradient_of(&c.rows[0], gradient);
    second_rows moved = c.rows[0];
    for (int i = 0; i < ROWS * OUT; ++i) {
        double answer = 0.0;
        for (int k = 0; k < MOST_IN; ++k) {
            answer -= input_at(&moved, i / OUT, k) * f.g_mean * c.step[0][k * OUT + i % OUT];
        }
        moved.dy[i / OUT][i % OUT] = (answer - target[i / OUT][i % OUT]) / ROWS;
    }
    gradient_of(&moved, after);
    for (int i = 0; i < WEIGHTS; ++i) {
        assert_true(fabs(after[i]) < 1e-10 && fabs(gradient[i]) > 1e-6);
    }
}

/* The clip of each step, worked out anew: its bound halves from `first` times `clip` down to `clip`. */
static void check_clips(double first, const double *bound, int free_from)
{
    second_case c = case_of(SECOND_KFAC, 3), free_of_it = c;
    c.clip = 1e-3;
    c.first = first;
    c.lr[0] = 0.5;
    c.lr[1] = 0.1;
    c.lr[2] = 1e-6;
    ASSERT_OK(comm_thread_run(1, run_rank, &c));
    ASSERT_OK(comm_thread_run(1, run_rank, &free_of_it));
    for (int s = 0; s < c.steps; ++s) {
        double gradient[WEIGHTS], dot = 0.0, expected[WEIGHTS];
        gradient_of(&c.rows[s], gradient);
        for (int i = 0; i < WEIGHTS; ++i) {
            dot += gradient[i] * free_of_it.step[s][i];
        }
        const double nu = fmin(1.0, sqrt(bound[s] / (c.lr[s] * c.lr[s] * dot)));
        for (int i = 0; i < WEIGHTS; ++i) {
            expected[i] = nu * free_of_it.step[s][i];
        }
        assert_true(fabs(c.figures[s].clip - nu) < 1e-12 && (s >= free_from) == (nu == 1.0));
        check_step(c.step[s], expected, WEIGHTS, 1e-12);
    }
}

static void test_clip_bounds_the_step(void **state)
{
    (void)state;
    check_clips(0.0, (const double[]){1e-3, 1e-3, 1e-3}, 2);
    check_clips(3.0, (const double[]){3e-3, 1.5e-3, 1e-3}, 2);
}

static void test_state_goes_on_to_the_bit(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        second_case whole = case_of(i % 2 == 0 ? SECOND_INPUT : SECOND_KFAC, STEPS), resumed;
        whole.interval = 3;
        whole.ranks = 1 + i / 2;
        resumed = whole;
        resumed.resumed_at = 2; /* an inversion of step 0 acts, factors are newer */
        ASSERT_OK(comm_thread_run(whole.ranks, run_rank, &whole));
        ASSERT_OK(comm_thread_run(whole.ranks, run_rank, &resumed));
        assert_memory_equal(whole.step, resumed.step, sizeof whole.step);
    }
}

static weft_status restore_damaged(weft_comm *comm, void *argument)
{
    const second_case *c = argument;
    second_rank r = {.hal = NULL};
    const sync_buffer *buffer = NULL;
    int count = 0;
    WEFT_TRY(open_rank(comm, c, &r));
    WEFT_TRY(open_second(comm, c, &r));
    const train_preconditioner *p = second_preconditioner(r.second);
    WEFT_TRY(p->state(p->self, &buffer, &count));
    WEFT_TRY(p->restored(p->self));
    for (int i = 0; i < 4; ++i) { /* the step, a verdict, an overhead, and an element of a matrix */
        static const double wrong[4] = {NAN, 8.0, -1.0, INFINITY};
        WEFT_TRY(p->state(p->self, &buffer, &count));
        memcpy((double *)buffer[i / 3].data + i % 3, &wrong[i], sizeof wrong[i]);
        WEFT_CHECK(p->restored(p->self) == WEFT_ERR_DATA, WEFT_ERR_INTERNAL, "number %d was taken", i);
    }
    close_rank(&r);
    return WEFT_OK;
}

static void test_damaged_state_is_refused(void **state)
{
    (void)state;
    second_case c = case_of(SECOND_INPUT, 1);
    ASSERT_OK(comm_thread_run(1, restore_damaged, &c));
}

/* ---- thousands of columns ---------------------------------------------------------------------------------------- */

enum { WIDE = SECOND_WIDE + 6, WIDE_ROWS = 24, WIDE_OUT = 2 };

/* Rows of the layer; `summed`: the model makes them, and the rows that the listener sees are others. `beside`: the
 * weights of their first half stand beside those of the second. */
typedef struct wide_case {
    const char *place;
    double x[WIDE_ROWS][WIDE];
    bool summed, beside;
} wide_case;

/* The place of column k and output o in the block of weights. */
static int wide_at(const wide_case *c, int k, int o)
{
    const int half = WIDE / 2;
    return c->beside ? k % half * 2 * WIDE_OUT + k / half * WIDE_OUT + o : k * WIDE_OUT + o;
}

/* train_map.sums of one rank, whose rows are those of the case. */
static weft_status give_sums(void *self, const int64_t *row, int64_t count, weft_tensor *columns)
{
    const wide_case *c = self;
    static double block[WIDE * WIDE_OUT];
    for (int i = 0; i < WIDE * WIDE_OUT; ++i) {
        const int64_t j = i % WIDE_OUT;
        block[i] = j < count && row[j] >= 0 ? c->x[row[j]][i / WIDE_OUT] : 0.0;
    }
    return tensor_upload(columns, block);
}

/* A step of the rows that are shown. step: [out] */
static weft_status wide_step(second_rank *r, const train_pass *pass, const tap_rows *rows, const double *gradient,
                             double *step)
{
    const train_tap *tap = second_tap(r->second);
    weft_tensor grad = param_grad(&r->params, r->map.block);
    WEFT_CHECK(tap->wants(tap->self, pass), WEFT_ERR_INTERNAL, "not wanted");
    WEFT_TRY(tap->take(tap->self, pass, rows));
    WEFT_TRY(tensor_upload(&grad, gradient));
    WEFT_TRY(second_preconditioner(r->second)->apply(r->second, &r->params, 1.0));
    return tensor_download(&grad, step);
}

static weft_status run_wide(weft_comm *comm, void *argument)
{
    wide_case *c = argument;
    const double(*x)[WIDE] = c->x;
    const int parts = c->beside ? 2 : 1;
    double gradient[WIDE * WIDE_OUT], step[WIDE * WIDE_OUT], later[WIDE * WIDE_OUT];
    int64_t id[WIDE_ROWS], mine = 0;
    double dy[WIDE_ROWS * WIDE_OUT], trace = 0.0, b = 0.0, most = 0.0;
    second_rank r = {
        .map = {
            .bias = -1, .constant = true, .sums = c->summed ? give_sums : NULL, .sums_self = c, .beside = c->beside}};
    const train_targets targets = {.loss_entries = WIDE_ROWS};
    const train_batch batch = {.targets = &targets};
    const train_pass pass = {.training = true, .parts = 1, .batch = &batch};
    second_options options = {
        .kind = SECOND_INPUT, .damping = RHO, .decay = DECAY, .factors = 2, .interval = 2, .seed = 1};
    const second_ranks job = {.rank = comm_rank(comm), .ranks = comm_size(comm), .nodes = 1, .population = WIDE_ROWS};
    uint64_t planned = 0;
    WEFT_CHECK(second_place_parse(c->place, &options.place), WEFT_ERR_INTERNAL, "%s", c->place);
    WEFT_TRY(weft_hal_open(test_device("cpu"), 1, &r.hal));
    param_store_begin(&r.params, r.hal, WEFT_DTYPE_F64);
    r.map.block = param_add_block(&r.params, PARAM_GROUP_DECAY, WIDE / parts, WIDE_OUT * parts);
    WEFT_TRY(param_store_commit(&r.params, NULL));
    r.model = (train_model){.name = "wide", .params = &r.params, .map = &r.map, .maps = 1, .row_id = id};
    for (int i = comm_rank(comm); i < WIDE_ROWS; i += comm_size(comm)) {
        id[mine++] = i;
    }
    r.model.row_ids = mine;
    weft_tensor rows, gradients;
    WEFT_TRY(tensor_create(r.hal, WEFT_DTYPE_F64, mine, WIDE, WEFT_MEM_WORKSPACE, &rows));
    WEFT_TRY(tensor_create(r.hal, WEFT_DTYPE_F64, mine, WIDE_OUT, WEFT_MEM_WORKSPACE, &gradients));
    for (int64_t i = 0; i < mine; ++i) {
        weft_tensor row = tensor_view(&rows, i, 1, 0, WIDE);
        WEFT_TRY(tensor_upload(&row, x[id[i]]));
        for (int o = 0; o < WIDE_OUT; ++o) {
            dy[i * WIDE_OUT + o] = cos(1.0 + (double)id[i] * 2.0 + o) / WIDE_ROWS;
        }
    }
    WEFT_TRY(tensor_upload(&gradients, dy));
    weft_tensor other;
    WEFT_TRY(tensor_create(r.hal, WEFT_DTYPE_F64, mine, WIDE_OUT, WEFT_MEM_WORKSPACE, &other));
    WEFT_TRY(tensor_zero(&other));
    for (int i = 0; i < WIDE_ROWS * WIDE_OUT; ++i) {
        const int row = i / WIDE_OUT;
        const double d = cos(1.0 + 2.0 * row + i % WIDE_OUT) / WIDE_ROWS;
        b += d * d * WIDE_ROWS / WIDE_OUT;
    }
    for (int i = 0; i < WIDE * WIDE_OUT; ++i) {
        gradient[i] = sin(0.1 * i);
    }
    WEFT_TRY(second_plan_bytes(&r.model, &options, &job, r.hal, &planned, NULL));
    WEFT_TRY(second_create(comm, &r.model, &options, &r.second));
    WEFT_CHECK(second_bytes(r.second) == planned, WEFT_ERR_INTERNAL, "%llu bytes held, %llu planned",
               (unsigned long long)second_bytes(r.second), (unsigned long long)planned);
    if (c->summed) {
        WEFT_TRY(tensor_zero(&rows));
    }
    const tap_rows told = {.rows = WIDE / parts,
                           .cols = WIDE_OUT * parts,
                           .x = &rows,
                           .dy = c->summed ? &other : &gradients,
                           .dsum = c->summed ? &gradients : NULL};
    WEFT_TRY(wide_step(&r, &pass, &told, gradient, step));
    train_second *before = r.second; /* the sampled rows are not in its state: they are taken again between two looks */
    WEFT_TRY(second_create(comm, &r.model, &options, &r.second));
    WEFT_TRY(take_over(before, r.second));
    WEFT_TRY(wide_step(&r, &pass, &told, gradient, later));
    for (int i = 0; i < WIDE * WIDE_OUT; ++i) {
        WEFT_CHECK(step[i] == later[i], WEFT_ERR_INTERNAL, "%g became %g by a break", step[i], later[i]);
    }
    for (int i = 0; i < WIDE_ROWS * WIDE; ++i) {
        trace += x[i / WIDE][i % WIDE] * x[i / WIDE][i % WIDE] / WIDE_ROWS;
    }
    for (int o = 0; o < WIDE_OUT; ++o) { /* the system, applied to its solution, gives the gradient */
        double product[WIDE_ROWS] = {0.0};
        for (int i = 0; i < WIDE_ROWS * WIDE; ++i) {
            product[i / WIDE] += x[i / WIDE][i % WIDE] * step[wide_at(c, i % WIDE, o)];
        }
        for (int k = 0; k < WIDE; ++k) {
            double sum = RHO * trace / WIDE * step[wide_at(c, k, o)];
            for (int i = 0; i < WIDE_ROWS; ++i) {
                sum += x[i][k] * product[i] / WIDE_ROWS;
            }
            most = fmax(most, fabs(sum * b - gradient[wide_at(c, k, o)]));
        }
    }
    TENSOR_DESTROY_ALL(&rows, &gradients, &other);
    close_rank(&r);
    WEFT_CHECK(most < 1e-9, WEFT_ERR_INTERNAL, "off by %g", most);
    return WEFT_OK;
}

static void test_wide_inputs_are_solved_by_their_rows(void **state)
{
    (void)state;
    static wide_case c;
    static const char *const places[] = {"everywhere", "comm-opt", "mem-opt"};
    uint64_t bits = 3;
    for (int i = 0; i < WIDE_ROWS * WIDE; ++i) {
        c.x[i / WIDE][i % WIDE] = test_uniform(&bits) < 0.02 ? 1.0 + test_uniform(&bits) : 0.0;
    }
    for (int i = 0; i < 6; ++i) {
        c.place = places[i % 3];
        c.summed = i >= 4; /* on one rank */
        c.beside = i == 5;
        ASSERT_OK(comm_thread_run(i == 0 || c.summed ? 1 : 2, run_wide, &c));
    }
}

/* ---- damping ----------------------------------------------------------------------------------------------------- */

static void test_damping_follows_the_rows(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
        second_case c = case_of(SECOND_INPUT, 1);
        c.ranks = ranks;
        c.damping = 0.0;
        ASSERT_OK(comm_thread_run(c.ranks, run_rank, &c));
        assert_float_equal(c.figures[0].damping, 10.0 * MOST_IN / ROWS, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_dense_solves),   cmocka_unit_test(test_one_step_solves_least_squares),
        cmocka_unit_test(test_clip_bounds_the_step),     cmocka_unit_test(test_state_goes_on_to_the_bit),
        cmocka_unit_test(test_damaged_state_is_refused), cmocka_unit_test(test_wide_inputs_are_solved_by_their_rows),
        cmocka_unit_test(test_damping_follows_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
