/*
 * The training loop on a model small enough to follow by hand: softmax regression over rows dealt to ranks. Its result
 * is compared with the same arithmetic written out in double precision here.
 */
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "support/labelled_graphs.h"
#include "train/loop/loop.h"
#include "train/loop/plateau.h"

enum { ROWS = 24, TRAIN_ROWS = 8, INPUTS = 4, CLASSES = 3, EPOCHS = 30 };

typedef struct data_set {
    double x[ROWS * INPUTS];
    int32_t label[ROWS];
    uint8_t split[ROWS];
    uint8_t mask[TRAIN_SPLITS][ROWS];
} data_set;

typedef struct regression {
    param_store params;
    weft_tensor x, logits;
    int weight;
    train_model interface;
} regression;

static weft_status regression_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    regression *r = self;
    (void)pass;
    weft_tensor w = param_value(&r->params, r->weight);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &r->x, .b = &w}, &r->logits));
    *logits = r->logits;
    return WEFT_OK;
}

static weft_status regression_backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    regression *r = self;
    (void)pass;
    weft_tensor dw = param_grad(&r->params, r->weight);
    return tensor_gemm(&(tensor_product){.a = &r->x, .b = dlogits, .trans_a = true}, &dw);
}

typedef struct loop_case {
    data_set data;
    train_options options;
    double loss[EPOCHS];
    double score[EPOCHS][TRAIN_SPLITS];
    uint64_t late_allocations;
    int64_t epochs;
    train_run run;
    train_result result;
} loop_case;

static weft_status watch_epoch(void *self, const train_epoch *epoch)
{
    loop_case *c = self;
    c->loss[epoch->epoch - 1] = epoch->loss;
    memcpy(c->score[epoch->epoch - 1], epoch->score, sizeof epoch->score);
    c->late_allocations += epoch->epoch > 1 ? epoch->allocations : 0;
    c->epochs = epoch->epoch;
    return WEFT_OK;
}

static weft_status watch_run(void *self, int run, const train_run *result)
{
    loop_case *c = self;
    (void)run;
    c->run = *result;
    return WEFT_OK;
}

static weft_status ignore_epoch(void *self, const train_epoch *epoch)
{
    (void)self;
    (void)epoch;
    return WEFT_OK;
}

static weft_status ignore_run(void *self, int run, const train_run *result)
{
    (void)self;
    (void)run;
    (void)result;
    return WEFT_OK;
}

static weft_status loop_rank(weft_comm *comm, void *argument)
{
    loop_case *c = argument;
    bool first = comm_rank(comm) == 0;
    const hal_span own = hal_split_rows(ROWS, comm_size(comm), comm_rank(comm));
    weft_hal *hal = NULL;
    regression r = {0};
    train_result result = {0};
    train_targets targets = {.rows = own.end - own.begin, .outputs = CLASSES, .loss = TRAIN_LOSS_XENT};
    targets.label = targets.label_host = c->data.label + own.begin;
    targets.split_host = c->data.split + own.begin;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        targets.mask[s] = c->data.mask[s] + own.begin;
    }
    for (int i = 0; i < ROWS; ++i) {
        targets.counted[c->data.split[i]] += 1;
    }
    targets.loss_entries = targets.counted[0];
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(weft_hal_open("ref", 1, &hal), status, done);
    param_store_begin(&r.params, hal, WEFT_DTYPE_F64);
    r.weight = param_add_block(&r.params, PARAM_GROUP_DECAY, INPUTS, CLASSES);
    WEFT_TRY_GOTO(param_add(&r.params, r.weight, 0, 0, INPUTS, CLASSES, param_glorot(INPUTS, CLASSES), "w"), status,
                  done);
    WEFT_TRY_GOTO(param_store_commit(&r.params, comm), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F64, own.end - own.begin, INPUTS, WEFT_MEM_ACTIVATION, &r.x), status,
                  done);
    WEFT_TRY_GOTO(tensor_upload(&r.x, c->data.x + own.begin * INPUTS), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F64, own.end - own.begin, CLASSES, WEFT_MEM_ACTIVATION, &r.logits),
                  status, done);
    r.interface = (train_model){.name = "regression",
                                .self = &r,
                                .params = &r.params,
                                .forward = regression_forward,
                                .backward = regression_backward};
    const train_observer observer = {
        .self = c, .on_epoch = first ? watch_epoch : ignore_epoch, .on_run = first ? watch_run : ignore_run};
    const train_source source = source_whole(&targets);
    status = train_loop(comm, hal, &r.interface, &source, &c->options, &observer, &result);
    if (first) {
        c->result = result;
        c->result.run = NULL;
    }
done:
    weft_free(result.run);
    tensor_destroy(&r.x);
    tensor_destroy(&r.logits);
    param_store_destroy(&r.params);
    weft_hal_close(hal);
    return status;
}

static void make_case(loop_case *c)
{
    memset(c, 0, sizeof *c);
    draw_stream random = {.key = 8};
    for (int i = 0; i < ROWS; ++i) {
        c->data.label[i] = (int32_t)(draw_next(&random) % CLASSES);
        c->data.split[i] = (uint8_t)(i % 3);
        c->data.mask[i % 3][i] = 1;
        for (int k = 0; k < INPUTS; ++k) {
            c->data.x[i * INPUTS + k] =
                (double)philox_uniform(draw_next(&random)) + (k == c->data.label[i] ? 0.4 : 0.0);
        }
    }
    c->options = (train_options){.epochs = EPOCHS,
                                 .runs = 1,
                                 .seed = 4,
                                 .eval_every = 1,
                                 .metric = TRAIN_METRIC_ACCURACY,
                                 .sync = sync_options_default(),
                                 .optimizer = {.kind = OPTIMIZER_SGD, .momentum = 0.9, .weight_decay = 0.01},
                                 .schedule = {.kind = SCHEDULE_CONSTANT, .base = 0.5, .epochs = EPOCHS}};
}

/* The same training, written out: losses of each epoch. */
static void train_by_hand(const loop_case *c, double *loss)
{
    double w[INPUTS * CLASSES];
    double momentum[INPUTS * CLASSES] = {0};
    double limit = sqrt(6.0 / (INPUTS + CLASSES));
    for (int i = 0; i < INPUTS * CLASSES; ++i) {
        philox_block draw = philox4x32(philox_counter(0, (uint64_t)i / 4, WEFT_RNG_INIT, 0), c->options.seed);
        w[i] = limit * (2.0 * (double)philox_uniform(draw.word[i % 4]) - 1.0);
    }
    for (int epoch = 0; epoch < EPOCHS; ++epoch) {
        double g[INPUTS * CLASSES] = {0};
        double sum = 0;
        for (int i = 0; i < ROWS; i += 3) { /* the training split */
            double z[CLASSES];
            double norm = 0;
            for (int k = 0; k < CLASSES; ++k) {
                z[k] = 0;
                for (int j = 0; j < INPUTS; ++j) {
                    z[k] += c->data.x[i * INPUTS + j] * w[j * CLASSES + k];
                }
                norm += exp(z[k]);
            }
            for (int k = 0; k < CLASSES; ++k) {
                double smooth = c->options.smoothing / CLASSES;
                double wanted = k == c->data.label[i] ? 1.0 - c->options.smoothing + smooth : smooth;
                double d = (exp(z[k]) / norm - wanted) / TRAIN_ROWS;
                sum -= wanted * (z[k] - log(norm));
                for (int j = 0; j < INPUTS; ++j) {
                    g[j * CLASSES + k] += d * c->data.x[i * INPUTS + j];
                }
            }
        }
        loss[epoch] = sum / TRAIN_ROWS;
        for (int i = 0; i < INPUTS * CLASSES; ++i) {
            double gradient = g[i] + 0.01 * w[i];
            momentum[i] = epoch == 0 ? gradient : 0.9 * momentum[i] + gradient;
            w[i] -= 0.5 * momentum[i];
        }
    }
}

static void check_against_hand(double smoothing)
{
    loop_case *c = malloc(sizeof *c);
    double expected[EPOCHS];
    for (int ranks = 1; ranks <= 5; ranks += 2) {
        make_case(c);
        c->options.smoothing = smoothing;
        train_by_hand(c, expected);
        ASSERT_OK(comm_thread_run(ranks, loop_rank, c));
        assert_int_equal(c->epochs, EPOCHS);
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(c->loss[e], expected[e], 1e-10);
        }
        assert_true(c->loss[EPOCHS - 1] < c->loss[0]);
    }
    free(c);
}

static void test_losses_equal_hand_calculation(void **state)
{
    (void)state;
    check_against_hand(0.0);
}

static void test_smoothed_losses_equal_hand_calculation(void **state)
{
    (void)state;
    check_against_hand(0.2);
}

static void test_epochs_allocate_nothing(void **state)
{
    (void)state;
    loop_case *c = malloc(sizeof *c);
    make_case(c);
    ASSERT_OK(comm_thread_run(1, loop_rank, c));
    assert_int_equal(c->late_allocations, 0);
    free(c);
}

static void test_best_validation_picks_the_test_score(void **state)
{
    (void)state;
    loop_case *c = malloc(sizeof *c);
    make_case(c);
    ASSERT_OK(comm_thread_run(2, loop_rank, c));
    int best = 0;
    for (int e = 1; e < EPOCHS; ++e) {
        best = c->score[e][1] > c->score[best][1] ? e : best;
    }
    assert_int_equal(c->run.best_epoch, best + 1);
    ASSERT_NEAR(c->run.final_test, c->score[best][2], 0);
    ASSERT_NEAR(c->result.test_mean, c->score[best][2], 0);
    free(c);
}

static void test_patience_stops_early(void **state)
{
    (void)state;
    loop_case *c = malloc(sizeof *c);
    make_case(c);
    c->options.patience = 3;
    ASSERT_OK(comm_thread_run(2, loop_rank, c));
    assert_int_equal(c->epochs, c->run.best_epoch + 3);
    free(c);
}

static void test_divergence_stops_every_rank(void **state)
{
    (void)state;
    loop_case *c = malloc(sizeof *c);
    make_case(c);
    c->options.schedule.base = 1e300;
    ASSERT_STATUS(comm_thread_run(3, loop_rank, c), WEFT_ERR_DIVERGED);
    ASSERT_MESSAGE("epoch");
    ASSERT_MESSAGE("--lr");
    free(c);
}

static void test_runs_have_unbiased_deviation(void **state)
{
    (void)state;
    loop_case *c = malloc(sizeof *c);
    double test[3];
    double mean = 0;
    double squares = 0;
    for (int r = 0; r < 3; ++r) {
        make_case(c);
        c->options.seed = 4 + (uint64_t)r;
        ASSERT_OK(comm_thread_run(1, loop_rank, c));
        test[r] = c->run.final_test;
        mean += test[r] / 3;
    }
    for (int r = 0; r < 3; ++r) {
        squares += (test[r] - mean) * (test[r] - mean);
    }
    make_case(c);
    c->options.runs = 3;
    ASSERT_OK(comm_thread_run(1, loop_rank, c));
    ASSERT_NEAR(c->result.test_mean, mean, 1e-12);
    ASSERT_NEAR(c->result.test_std, sqrt(squares / 2), 1e-12);
    free(c);
}

/* Where an epoch is one step. */
static double half_cosine(double part)
{
    return 4.0 * (1.0 + cos(3.14159265358979323846 * part));
}

/* Behind a warm-up of 4 epochs a run of 60 has cycles of 10, 20 and 30, one of 50 has 10, 20 and 20, one of 49 has 10
 * and 39, and one of 19 is a single cycle. */
static void test_cycles_start_again(void **state)
{
    (void)state;
    train_schedule s = {.kind = SCHEDULE_COSINE, .base = 8, .cycle = 10, .warmup = 4};
    static const struct {
        int64_t epochs, epoch;
        double part;
    } at[] = {{64, 4, 0.0},  {64, 9, 0.5},  {64, 14, 0.0}, {64, 24, 0.5},         {64, 34, 0.0},        {64, 49, 0.5},
              {54, 34, 0.0}, {54, 44, 0.5}, {53, 14, 0.0}, {53, 34, 20.0 / 39.0}, {23, 14, 10.0 / 19.0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; ++i) {
        s.epochs = at[i].epochs;
        ASSERT_NEAR(schedule_lr(&s, at[i].epoch, 0, 1), half_cosine(at[i].part), 1e-12);
    }
    s.epochs = 64;
    ASSERT_NEAR(schedule_lr(&s, 8, 1, 2), half_cosine(0.45), 1e-12);
}

static void test_schedules_by_epoch(void **state)
{
    (void)state;
    train_schedule s = {.kind = SCHEDULE_STEP, .base = 8, .gamma = 0.5, .step = 10, .warmup = 4, .epochs = 104};
    ASSERT_NEAR(schedule_lr(&s, 0, 0, 1), 2, 0);
    ASSERT_NEAR(schedule_lr(&s, 3, 0, 1), 8, 0);
    ASSERT_NEAR(schedule_lr(&s, 13, 0, 1), 8, 0);
    ASSERT_NEAR(schedule_lr(&s, 14, 0, 1), 4, 0);
    ASSERT_NEAR(schedule_lr(&s, 34, 0, 1), 1, 0);
    ASSERT_OK(schedule_read_decays("30,60,80", &s));
    ASSERT_NEAR(schedule_lr(&s, 29, 0, 1), 8, 0);
    ASSERT_NEAR(schedule_lr(&s, 30, 0, 1), 4, 0);
    ASSERT_NEAR(schedule_lr(&s, 79, 0, 1), 2, 0);
    ASSERT_NEAR(schedule_lr(&s, 103, 0, 1), 1, 0);
    s.kind = SCHEDULE_COSINE;
    ASSERT_NEAR(schedule_lr(&s, 54, 0, 1), 4, 1e-12);
    s.kind = SCHEDULE_LINEAR;
    ASSERT_NEAR(schedule_lr(&s, 79, 0, 1), 2, 1e-12);
    s.kind = SCHEDULE_EXP;
    ASSERT_NEAR(schedule_lr(&s, 7, 0, 1), 1, 1e-12);
    s.kind = SCHEDULE_POLY;
    s.power = 2;
    ASSERT_NEAR(schedule_lr(&s, 54, 0, 1), 2, 1e-12);
    s.kind = SCHEDULE_CONSTANT;
    ASSERT_NEAR(schedule_lr(&s, 103, 0, 1), 8, 0);
}

/* Scores that rise and fall: the third in a row that is no better makes a decay, and so does the third behind it. */
static void test_plateau(void **state)
{
    (void)state;
    static const double score[] = {0.1, 0.5, 0.4, 0.5, 0.3, 0.2, 0.6, 0.1, NAN, 0.1, 0.6, 0.6};
    static const int64_t decays[] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2};
    train_schedule s = {.kind = SCHEDULE_PLATEAU, .base = 8, .gamma = 0.5, .patience = 2, .warmup = 3, .epochs = 20};
    for (int less = 0; less < 2; ++less) {
        train_plateau plateau = {0};
        plateau_hear(&s, 3, less ? -9.0 : 9.0, less != 0, &plateau); /* within the warm-up */
        for (int i = 0; i < 12; ++i) {
            plateau_hear(&s, 4 + i, less ? -score[i] : score[i], less != 0, &plateau);
            assert_int_equal(plateau.decays, decays[i]);
            ASSERT_NEAR(plateau_factor(&s, &plateau), pow(0.5, (double)decays[i]), 0);
        }
        s.kind = SCHEDULE_CONSTANT;
        ASSERT_NEAR(plateau_factor(&s, &plateau), 1, 0);
        s.kind = SCHEDULE_PLATEAU;
    }
    ASSERT_NEAR(schedule_lr(&s, 1, 0, 1), 8.0 * 2 / 3, 1e-12);
    ASSERT_NEAR(schedule_lr(&s, 15, 0, 1), 8, 0);
}

/* DAWNBench's ResNet-9: up to the peak over 5 epochs, down to 0 over 19; here by its corners and middles. */
static void test_schedules_by_step(void **state)
{
    (void)state;
    train_schedule s = {.kind = SCHEDULE_LINEAR, .base = 0.4, .gamma = 0.1, .step = 2, .warmup = 5, .epochs = 24};
    ASSERT_NEAR(schedule_lr(&s, 0, 0, 98), 0.4 / (5 * 98), 1e-15);
    ASSERT_NEAR(schedule_lr(&s, 2, 48, 98), 0.2, 1e-15);
    ASSERT_NEAR(schedule_lr(&s, 4, 97, 98), 0.4, 1e-15);
    ASSERT_NEAR(schedule_lr(&s, 5, 0, 98), 0.4, 1e-15);
    ASSERT_NEAR(schedule_lr(&s, 14, 49, 98), 0.2, 1e-15);
    ASSERT_NEAR(schedule_lr(&s, 23, 97, 98), 0.4 / (19 * 98), 1e-15);
    for (int64_t step = 1; step < 10; ++step) {
        s.kind = SCHEDULE_COSINE;
        assert_true(schedule_lr(&s, 9, step, 10) < schedule_lr(&s, 9, step - 1, 10));
        s.kind = SCHEDULE_STEP; /* decays between epochs only */
        ASSERT_NEAR(schedule_lr(&s, 6, step, 10), 0.4, 0);
        ASSERT_NEAR(schedule_lr(&s, 7, step, 10), 0.04, 1e-15);
    }
    s.kind = SCHEDULE_EXP;
    ASSERT_NEAR(schedule_lr(&s, 6, 1, 2), 0.4 * pow(0.1, 1.5), 1e-15);
}

/* Told exactly where no epoch has the rate, or none a decay. */
static void test_unreached_rates_are_told(void **state)
{
    (void)state;
    char line[SCHEDULE_LINE_BYTES];
    for (int i = 0; i < 6 * 6 * 6 * 2; ++i) {
        train_schedule s = {.kind = SCHEDULE_STEP, .base = 1, .gamma = 0.5};
        s.epochs = 1 + i % 6;
        s.warmup = i / 6 % 6;
        s.step = 1 + i / 36 % 6;
        s.decays = i / 216;
        s.decay[0] = s.step + s.warmup;
        bool reached = false;
        bool decayed = false;
        for (int64_t epoch = 0; epoch < s.epochs; ++epoch) {
            const double lr = schedule_lr(&s, epoch, 9, 10);
            reached = reached || lr == 1;
            decayed = decayed || (reached && lr < 1);
        }
        schedule_find_unreached(&s, line);
        assert_int_equal(strstr(line, "--warmup") != NULL, !reached);
        assert_int_equal(strstr(line, "the first decay") != NULL, reached && !decayed);
        s.kind = SCHEDULE_CONSTANT;
        schedule_find_unreached(&s, line);
        assert_int_equal(line[0] != '\0', !reached);
    }
}

static void test_decays_are_read(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "30,30", "60,30", "30,", ",30", "30 60", "1.5", "x", "30,60x", "-1", "1e10"};
    train_schedule s = {.decays = 3};
    ASSERT_OK(schedule_read_decays("", &s));
    assert_int_equal(s.decays, 0);
    ASSERT_OK(schedule_read_decays("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,100000", &s));
    assert_true(s.decays == 16 && s.decay[0] == 1 && s.decay[15] == 100000);
    ASSERT_STATUS(schedule_read_decays("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", &s), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("more than 16");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        ASSERT_STATUS(schedule_read_decays(bad[i], &s), WEFT_ERR_USAGE);
        ASSERT_MESSAGE("such as 100,150");
    }
}

static void make_store(param_store *params, weft_hal *hal)
{
    param_store_begin(params, hal, WEFT_DTYPE_F32);
    int wide = param_add_block(params, PARAM_GROUP_DECAY, 3, 10);
    int state = param_add_block(params, PARAM_GROUP_STATE, 1, 5);
    ASSERT_OK(param_add(params, wide, 0, 0, 3, 5, param_glorot(3, 5), "a.self"));
    ASSERT_OK(param_add(params, wide, 0, 5, 3, 5, param_glorot(3, 5), "a.neigh"));
    ASSERT_OK(param_add(params, state, 0, 0, 1, 5, param_constant(1.0), "a.var"));
    ASSERT_OK(param_store_commit(params, NULL));
}

static void test_parameters_survive_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-test-XXXXXX";
    char file[64];
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/w.npz", path);
    weft_hal *hal = NULL;
    param_store a;
    param_store b;
    float before[64];
    float after[64];
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    make_store(&a, hal);
    make_store(&b, hal);
    ASSERT_OK(param_initialise(&a, 1));
    ASSERT_OK(param_initialise(&b, 2));
    ASSERT_OK(param_save(&a, NULL, file));
    train_weights *saved = calloc(1, sizeof *saved);
    assert_non_null(saved);
    ASSERT_OK(weights_read_npz(file, saved));
    ASSERT_OK(weights_assign(saved, file, &b));
    ASSERT_OK(tensor_download(&a.value, before));
    ASSERT_OK(tensor_download(&b.value, after));
    assert_memory_equal(before, after, (size_t)a.elements * sizeof *before);
    assert_true(before[0] != 0 && before[0] != before[5]); /* self and neigh are drawn apart */
    snprintf(b.entry[1].name, sizeof b.entry[1].name, "a.other");
    ASSERT_STATUS(weights_assign(saved, file, &b), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a.other");
    saved->item[1].shape[0] += 1;
    snprintf(b.entry[1].name, sizeof b.entry[1].name, "%s", saved->item[1].name);
    ASSERT_STATUS(weights_assign(saved, file, &b), WEFT_ERR_DATA);
    ASSERT_MESSAGE("has shape");
    weights_destroy(saved);
    free(saved);
    param_store_destroy(&a);
    param_store_destroy(&b);
    weft_hal_close(hal);
    ASSERT_OK(folder_remove(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_equal_hand_calculation),
        cmocka_unit_test(test_smoothed_losses_equal_hand_calculation),
        cmocka_unit_test(test_epochs_allocate_nothing),
        cmocka_unit_test(test_best_validation_picks_the_test_score),
        cmocka_unit_test(test_patience_stops_early),
        cmocka_unit_test(test_divergence_stops_every_rank),
        cmocka_unit_test(test_runs_have_unbiased_deviation),
        cmocka_unit_test(test_schedules_by_epoch),
        cmocka_unit_test(test_cycles_start_again),
        cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_schedules_by_step),
        cmocka_unit_test(test_unreached_rates_are_told),
        cmocka_unit_test(test_decays_are_read),
        cmocka_unit_test(test_parameters_survive_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
