/*
 * Muon (train/second/muon.h) beside an optimiser: what a few steps make of every parameter is compared with the rule
 * written out by loops in double precision; ranks that share the matrices must have the bits of one rank that has them
 * all. The model is a list of maps and vectors without layers.
 */
#include <math.h>

#include "base/alloc.h"
#include "support/labelled_graphs.h"
#include "train/second/muon.h"

enum { STEPS = 3, MOST_RANKS = 3, BLOCKS = 8, MAPS = 6, MATRICES = 5, MOST_SIDE = 36, MOST = 4096 };

#define LR       0.05
#define RATE     0.3
#define DECAY    0.02
#define MOMENTUM 0.9

/* Blocks, of which the first and the last map keep the optimiser's rule; block 2 has two matrices side by side. */
static const int64_t block_rows[BLOCKS] = {6, 1, 9, 16, 1, 5, 20, 8};
static const int64_t block_cols[BLOCKS] = {9, 9, 10, 36, 16, 20, 5, 3};
static const bool block_decays[BLOCKS] = {true, false, true, true, false, true, false, true};
static const train_map maps[MAPS] = {{.block = 0, .bias = 1},
                                     {.block = 2, .bias = -1},
                                     {.block = 3, .bias = 4, .transposed = true},
                                     {.block = 5, .bias = -1},
                                     {.block = 6, .bias = -1, .transposed = true},
                                     {.block = 7, .bias = -1}};

/* The matrices of muon: block, first column, rows, columns, and outputs over inputs. */
typedef struct matrix_case {
    int block;
    int64_t col, rows, cols;
    double ratio;
} matrix_case;
static const matrix_case matrices[MATRICES] = {
    {2, 0, 9, 5, 5.0 / 9}, {2, 5, 9, 5, 5.0 / 9}, {3, 0, 16, 36, 16.0 / 36}, {5, 0, 5, 20, 4.0}, {6, 0, 20, 5, 4.0}};

static double value_at(int64_t i)
{
    return 0.1 * sin(3.0 + (double)i);
}

static double gradient_at(int64_t i, int step)
{
    return sin(1.0 + 1.7 * (double)i + 0.3 * (double)(i * i % 101) + 3.0 * step);
}

static weft_status declare(param_store *params, weft_hal *hal, weft_dtype dtype)
{
    const param_init zero = param_constant(0.0);
    const int64_t kernel[4] = {16, 4, 3, 3};
    param_store_begin(params, hal, dtype);
    for (int b = 0; b < BLOCKS; ++b) {
        (void)param_add_block(params, block_decays[b] ? PARAM_GROUP_DECAY : PARAM_GROUP_NO_DECAY, block_rows[b],
                              block_cols[b]);
    }
    for (int b = 0; b < BLOCKS; ++b) {
        if (b == 2) {
            WEFT_TRY(param_add(params, b, 0, 0, 9, 5, zero, "2.self"));
            WEFT_TRY(param_add(params, b, 0, 5, 9, 5, zero, "2.neigh"));
        } else if (b == 3) {
            WEFT_TRY(param_add_tensor(params, b, 4, kernel, zero, "3.weight"));
        } else {
            WEFT_TRY(param_add(params, b, 0, 0, block_rows[b], block_cols[b], zero, "%d", b));
        }
    }
    return param_store_commit(params, NULL);
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

typedef struct rank_case {
    weft_dtype dtype;
    const char *backend;
    optimizer_options optimizer;
    double share_from;
    bool zero; /* gradients are zeros */
    /* results, by rank */
    int64_t trained;
    int matrices;
    uint64_t sent[MOST_RANKS], late_allocations[MOST_RANKS];
    double value[MOST_RANKS][MOST], velocity[MOST_RANKS][MOST];
} rank_case;

static weft_status put(weft_tensor *t, const double *values)
{
    float narrow[MOST];
    for (int64_t i = 0; i < t->cols; ++i) {
        narrow[i] = (float)values[i];
    }
    return tensor_upload(t, t->dtype == WEFT_DTYPE_F64 ? (const void *)values : (const void *)narrow);
}

static weft_status get(const weft_tensor *t, double *values)
{
    float narrow[MOST];
    WEFT_TRY(tensor_download(t, t->dtype == WEFT_DTYPE_F64 ? (void *)values : (void *)narrow));
    for (int64_t i = 0; t->dtype != WEFT_DTYPE_F64 && i < t->cols; ++i) {
        values[i] = (double)narrow[i];
    }
    return WEFT_OK;
}

static uint64_t exchanged(const weft_comm *comm)
{
    const comm_stats stats = comm_lane_stats(comm, COMM_LANE_CONTROL);
    return stats.bytes_sent + stats.shared_bytes;
}

static weft_status steps(weft_comm *comm, rank_case *c, param_store *params, train_optimizer *optimizer)
{
    const int rank = comm_rank(comm);
    double host[MOST];
    weft_tensor values = tensor_view(&params->value, 0, 1, 0, params->trained);
    for (int64_t i = 0; i < params->trained; ++i) {
        host[i] = value_at(i);
    }
    WEFT_TRY(put(&values, host));
    for (int step = 0; step < STEPS; ++step) {
        for (int64_t i = 0; i < params->trained; ++i) {
            host[i] = c->zero ? 0.0 : gradient_at(i, step);
        }
        WEFT_TRY(put(&params->grad, host));
        WEFT_TRY(comm_barrier(comm));
        const uint64_t sent = exchanged(comm), allocated = weft_mem_usage_total().allocations;
        optimizer_begin(optimizer);
        WEFT_TRY(optimizer_step_range(optimizer, LR, 0, params->trained));
        c->sent[rank] += exchanged(comm) - sent;
        WEFT_TRY(comm_barrier(comm));
        c->late_allocations[rank] += step > 0 ? weft_mem_usage_total().allocations - allocated : 0;
    }
    WEFT_TRY(get(&optimizer->slot[0], c->velocity[rank]));
    return get(&values, c->value[rank]);
}

static weft_status create(weft_comm *comm, rank_case *c, param_store *params, train_muon *muon,
                          train_optimizer *optimizer)
{
    const train_model model = {.params = params, .map = maps, .maps = MAPS};
    muon_options options = muon_options_default(params->hal);
    options.rate = RATE;
    options.weight_decay = DECAY;
    options.share_from = c->share_from;
    uint64_t planned = 0;
    WEFT_TRY(muon_plan_bytes(&model, &options, comm != NULL ? comm_size(comm) : 1, &planned));
    WEFT_TRY(muon_create(&model, &options, comm, muon));
    WEFT_CHECK(muon_bytes(muon) == planned, WEFT_ERR_INTERNAL, "%llu bytes held, %llu planned",
               (unsigned long long)muon_bytes(muon), (unsigned long long)planned);
    c->trained = params->trained;
    c->matrices = muon->matrices;
    return optimizer_create(params, optimizer_rule_of(c->optimizer.kind), &c->optimizer, &muon->rule, NULL, optimizer);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    rank_case *c = argument;
    weft_hal *hal = NULL;
    param_store params = {0};
    train_muon muon = {0};
    train_optimizer optimizer = {0};
    const bool device = comm_rank(comm) == 1 && strcmp(c->backend, "cpu") == 0;
    weft_status status = weft_hal_open(test_device(device ? "shadow" : c->backend), 2, &hal);
    status = status == WEFT_OK ? declare(&params, hal, c->dtype) : status;
    status = status == WEFT_OK ? create(comm, c, &params, &muon, &optimizer) : status;
    status = status == WEFT_OK ? steps(comm, c, &params, &optimizer) : status;
    optimizer_destroy(&optimizer);
    muon_destroy(&muon);
    param_store_destroy(&params);
    weft_hal_close(hal);
    return status;
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static int64_t offset_of(int block)
{
    int64_t offset = 0;
    for (int b = 0; b < block; ++b) {
        offset += (block_rows[b] * block_cols[b] + 15) / 16 * 16;
    }
    return offset;
}

/* x = 3.4445 x + (-4.775 S + 2.0315 S S) x with S = x x^T, five times, after x = x / norm. */
static void iterate(double *x, int64_t rows, int64_t cols)
{
    static double s[MOST_SIDE][MOST_SIDE], p[MOST_SIDE][MOST_SIDE], y[MOST];
    double square = 0;
    for (int64_t i = 0; i < rows * cols; ++i) {
        square += x[i] * x[i];
    }
    for (int64_t i = 0; i < rows * cols && square > 0; ++i) {
        x[i] /= sqrt(square);
    }
    for (int step = 0; step < 5; ++step) {
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < rows; ++j) {
                s[i][j] = 0;
                for (int64_t k = 0; k < cols; ++k) {
                    s[i][j] += x[i * cols + k] * x[j * cols + k];
                }
            }
        }
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < rows; ++j) {
                p[i][j] = (i == j ? 3.4445 : 0.0) - 4.7750 * s[i][j];
                for (int64_t k = 0; k < rows; ++k) {
                    p[i][j] += 2.0315 * s[i][k] * s[k][j];
                }
            }
        }
        for (int64_t i = 0; i < rows * cols; ++i) {
            y[i] = 0;
            for (int64_t k = 0; k < rows; ++k) {
                y[i] += p[i / cols][k] * x[k * cols + i % cols];
            }
        }
        memcpy(x, y, sizeof *x * (size_t)(rows * cols));
    }
}

static void matrix_by_hand(const matrix_case *m, const rank_case *c, double *w, double *velocity)
{
    double x[MOST];
    for (int step = 0; step < STEPS; ++step) {
        for (int64_t i = 0; i < m->rows * m->cols; ++i) {
            const int64_t at = offset_of(m->block) + i / m->cols * block_cols[m->block] + m->col + i % m->cols;
            const double g = c->zero ? 0.0 : gradient_at(at, step);
            velocity[at] = 0.95 * velocity[at] + g;
            x[i] = g + 0.95 * velocity[at];
        }
        iterate(x, m->rows, m->cols);
        for (int64_t i = 0; i < m->rows * m->cols; ++i) {
            const int64_t at = offset_of(m->block) + i / m->cols * block_cols[m->block] + m->col + i % m->cols;
            const double decay = block_decays[m->block] ? DECAY : 0.0;
            w[at] = (1.0 - LR * RATE * decay) * w[at] - LR * RATE * sqrt(fmax(1.0, m->ratio)) * x[i];
        }
    }
}

/* torch.optim.SGD of a block. */
static void block_by_hand(int block, const rank_case *c, double *w, double *velocity)
{
    for (int64_t i = 0; i < block_rows[block] * block_cols[block]; ++i) {
        const int64_t at = offset_of(block) + i;
        for (int step = 0; step < STEPS; ++step) {
            const double decay = block_decays[block] ? c->optimizer.weight_decay : 0.0;
            const double g = (c->zero ? 0.0 : gradient_at(at, step)) + decay * w[at];
            velocity[at] = step == 0 ? g : c->optimizer.momentum * velocity[at] + g;
            w[at] -= LR * velocity[at];
        }
    }
}

static bool is_muons(int block)
{
    return block == 2 || block == 3 || block == 5 || block == 6;
}

static void compare(const rank_case *c, int rank, double tolerance)
{
    static double w[MOST], velocity[MOST];
    for (int64_t i = 0; i < c->trained; ++i) {
        w[i] = value_at(i);
        velocity[i] = 0;
    }
    for (int m = 0; m < MATRICES; ++m) {
        matrix_by_hand(&matrices[m], c, w, velocity);
    }
    for (int b = 0; b < BLOCKS; ++b) {
        if (!is_muons(b)) {
            block_by_hand(b, c, w, velocity);
        }
        for (int64_t i = offset_of(b); i < offset_of(b) + block_rows[b] * block_cols[b]; ++i) {
            if (!(fabs(c->value[rank][i] - w[i]) <= tolerance)) {
                fail_msg("block %d, element %d: %.17g, by hand %.17g", b, (int)(i - offset_of(b)), c->value[rank][i],
                         w[i]);
            }
            const bool kept = is_muons(b) || c->optimizer.momentum > 0.0;
            assert_true(!kept || fabs(c->velocity[rank][i] - velocity[i]) <= tolerance);
        }
    }
}

static optimizer_options sgd(double momentum)
{
    return (optimizer_options){.kind = OPTIMIZER_SGD, .momentum = momentum, .weight_decay = DECAY};
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_steps_equal_hand_calculation(void **state)
{
    (void)state;
    rank_case *c = calloc(1, sizeof *c);
    for (int i = 0; i < 4; ++i) {
        *c = (rank_case){.dtype = WEFT_DTYPE_F64,
                         .backend = i % 2 == 0 ? "ref" : "shadow",
                         .optimizer = sgd(i < 2 ? MOMENTUM : 0.0),
                         .zero = i == 3};
        ASSERT_OK(comm_thread_run(1, run_rank, c));
        assert_int_equal(c->matrices, MATRICES);
        compare(c, 0, 1e-12);
    }
    free(c);
}

/* Adam has two slots, LARS takes whole blocks; muon's matrices do not notice. */
static void test_every_rule_leaves_the_matrices(void **state)
{
    (void)state;
    rank_case *c = calloc(1, sizeof *c), *sgd_case = calloc(1, sizeof *c);
    *sgd_case = (rank_case){.dtype = WEFT_DTYPE_F64, .backend = "ref", .optimizer = sgd(MOMENTUM)};
    ASSERT_OK(comm_thread_run(1, run_rank, sgd_case));
    for (int lars = 0; lars < 2; ++lars) {
        *c = *sgd_case;
        c->optimizer.kind = lars ? OPTIMIZER_LARS : OPTIMIZER_ADAM;
        c->optimizer.trust = 0.1;
        c->optimizer.beta1 = c->optimizer.beta2 = 0.9;
        c->optimizer.epsilon = 1e-8;
        ASSERT_OK(comm_thread_run(1, run_rank, c));
        for (int b = 0; b < BLOCKS; ++b) {
            const size_t bytes = sizeof(double) * (size_t)(block_rows[b] * block_cols[b]);
            const int same = memcmp(c->value[0] + offset_of(b), sgd_case->value[0] + offset_of(b), bytes) == 0;
            assert_int_equal(same, is_muons(b));
        }
    }
    free(c);
    free(sgd_case);
}

/* Ranks that share the matrices send them, and have the bits of ranks that do not; no step after the first takes
 * memory. */
static void test_shared_matrices_are_the_same_bits(void **state)
{
    (void)state;
    rank_case *alone = calloc(1, sizeof *alone), *c = calloc(1, sizeof *c);
    *alone = (rank_case){.dtype = WEFT_DTYPE_F32, .backend = "cpu", .optimizer = sgd(MOMENTUM)};
    ASSERT_OK(comm_thread_run(1, run_rank, alone));
    compare(alone, 0, 0.02); /* products may be of bfloat16 */
    for (int ranks = 2; ranks <= MOST_RANKS; ++ranks) {
        for (int shared = 0; shared < 2; ++shared) {
            *c = *alone;
            memset(c->sent, 0, sizeof c->sent);
            c->share_from = shared ? 0.0 : 1e12;
            ASSERT_OK(comm_thread_run(ranks, run_rank, c));
            for (int r = 0; r < ranks; ++r) {
                assert_memory_equal(c->value[r], alone->value[0], sizeof alone->value[0]);
                assert_memory_equal(c->velocity[r], alone->velocity[0], sizeof alone->velocity[0]);
                assert_true((c->sent[r] > 0) == (shared == 1));
                assert_int_equal(c->late_allocations[r], 0);
            }
        }
    }
    free(alone);
    free(c);
}

static void test_two_layers_have_no_hidden_matrix(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    param_store params;
    train_muon muon;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    ASSERT_OK(declare(&params, hal, WEFT_DTYPE_F64));
    const train_model model = {.params = &params, .map = maps, .maps = 2};
    const muon_options options = muon_options_default(hal);
    assert_int_equal(muon_create(&model, &options, NULL, &muon), WEFT_ERR_USAGE);
    assert_non_null(strstr(weft_error_message(), "2 layers"));
    muon_destroy(&muon);
    param_store_destroy(&params);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_hand_calculation),
        cmocka_unit_test(test_every_rule_leaves_the_matrices),
        cmocka_unit_test(test_shared_matrices_are_the_same_bits),
        cmocka_unit_test(test_two_layers_have_no_hidden_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
