/*
 * Who drives: operations that end while nobody calls, order of lanes, callers and the communication thread side by
 * side, the watchdog. The oracles are closed forms of the sums and the order in which operations were posted.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "comm/core/comm_internal.h"
#include "support/comm_cases.h"
#include "support/halo_cases.h"
#include "support/test.h"

enum { PATIENCE = 30 }; /* seconds: far beyond what anything here takes */

static void nap(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Without a call that could drive: operations of the lane that have ended show in its busy time. */
static bool lane_was_busy(const weft_comm *comm, comm_lane lane, double before, double patience)
{
    double start = clock_seconds();
    while (comm_lane_stats(comm, lane).busy_seconds <= before && clock_seconds() - start < patience) {
        nap(1e-3);
    }
    return comm_lane_stats(comm, lane).busy_seconds > before;
}

/* ---- the order of driving, on an engine alone ---------------------------------------------------------------- */
typedef struct fake_operation {
    comm_operation operation;
    int id, steps; /* passes until it ends */
    weft_status outcome;
    bool cancelled;
    int *order; /* [8]: who was advanced */
    int *advanced;
} fake_operation;

static weft_status fake_advance(comm_operation *op, bool *done, bool *moved)
{
    fake_operation *fake = (fake_operation *)op;
    if (*fake->advanced < 8) {
        fake->order[(*fake->advanced)++] = fake->id;
    }
    *moved = true;
    *done = --fake->steps == 0;
    return *done && fake->outcome != WEFT_OK ? weft_fail(fake->outcome, "fake %d fails", fake->id) : WEFT_OK;
}

static void fake_cancel(comm_operation *op)
{
    ((fake_operation *)op)->cancelled = true;
}

static void fake_describe(const comm_operation *op, char *text, size_t bytes)
{
    snprintf(text, bytes, "fake %d", ((const fake_operation *)op)->id);
}

static fake_operation fake_make(weft_comm *comm, comm_lane lane, int id, int *order, int *advanced)
{
    fake_operation fake = {.id = id, .steps = 2, .order = order, .advanced = advanced};
    fake.operation.comm = comm;
    fake.operation.lane = lane;
    fake.operation.advance = fake_advance;
    fake.operation.cancel = fake_cancel;
    fake.operation.describe = fake_describe;
    return fake;
}

/* Posted backwards; each takes its first step when posted, then the pass goes by lane and by order of posting. */
static void test_lanes_have_priorities(void **state)
{
    (void)state;
    static const comm_lane lanes[] = {COMM_LANE_SHADOW, COMM_LANE_GRADIENT, COMM_LANE_GRADIENT, COMM_LANE_HALO};
    static const int expected[] = {0, 1, 2, 3, 3, 1, 2, 0};
    int order[8] = {0};
    int advanced = 0;
    weft_comm *comm = NULL;
    fake_operation fake[4];
    ASSERT_OK(comm_create_self(&comm));
    for (int i = 0; i < 4; ++i) {
        fake[i] = fake_make(comm, lanes[i], i, order, &advanced);
        progress_post(comm->progress, &fake[i].operation);
        assert_true(operation_active(&fake[i].operation));
    }
    progress_drive(comm->progress);
    assert_memory_equal(order, expected, sizeof expected);
    for (int i = 0; i < 4; ++i) {
        assert_false(operation_active(&fake[i].operation));
        ASSERT_OK(progress_status(&fake[i].operation));
    }
    comm_destroy(comm);
}

static void test_failure_and_cancel(void **state)
{
    (void)state;
    int order[8] = {0};
    int advanced = 0;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    fake_operation failing = fake_make(comm, COMM_LANE_HALO, 1, order, &advanced);
    fake_operation given_up = fake_make(comm, COMM_LANE_HALO, 2, order, &advanced);
    failing.outcome = WEFT_ERR_IO;
    given_up.steps = 1000000;
    progress_post(comm->progress, &given_up.operation);
    progress_post(comm->progress, &failing.operation);
    ASSERT_STATUS(progress_wait(comm->progress, &failing.operation), WEFT_ERR_IO);
    ASSERT_MESSAGE("fake 1 fails");
    assert_true(failing.cancelled);
    assert_true(operation_active(&given_up.operation));
    progress_cancel(comm->progress, &given_up.operation);
    assert_true(given_up.cancelled && !operation_active(&given_up.operation));
    comm_destroy(comm);
}

/* Posted while another holds the lock, it waits in the list and enters its lane in the order of posting. */
static void test_posts_beside_a_driver(void **state)
{
    (void)state;
    static const int expected[] = {0, 1, 2, 0, 1, 2};
    int order[8] = {0};
    int advanced = 0;
    weft_comm *comm = NULL;
    fake_operation fake[3];
    ASSERT_OK(comm_create_self(&comm));
    progress_lock(comm->progress);
    for (int i = 0; i < 3; ++i) {
        fake[i] = fake_make(comm, COMM_LANE_GRADIENT, i, order, &advanced);
        progress_post(comm->progress, &fake[i].operation);
    }
    assert_int_equal(advanced, 0);
    assert_false(progress_lock_for(comm->progress, 0.01));
    progress_unlock(comm->progress);
    ASSERT_OK(progress_wait(comm->progress, &fake[2].operation));
    assert_int_equal(advanced, 6);
    assert_memory_equal(order, expected, sizeof expected);
    comm_destroy(comm);
}

/* ---- behind the caller's back ---------------------------------------------------------------------------------- */
enum { HIDDEN_COUNT = 3001 };

/* Rings on two lanes: every rank has to act many times in between, and nobody calls. */
static weft_status hidden(weft_comm *comm, void *argument)
{
    bool threaded = *(const bool *)argument;
    static const comm_lane lanes[] = {COMM_LANE_GRADIENT, COMM_LANE_SHADOW};
    weft_status status = WEFT_OK;
    comm_plan *plan[2] = {NULL, NULL};
    comm_allreduce_desc desc[2];
    float *x = malloc(2 * HIDDEN_COUNT * sizeof *x);
    bool ended[2] = {false, false};
    if (threaded) {
        WEFT_TRY_GOTO(comm_thread_start(comm, -1), status, done);
    }
    for (int i = 0; i < 2; ++i) {
        desc[i] = case_desc(lanes[i], COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, HIDDEN_COUNT, x + i * HIDDEN_COUNT);
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc[i], &plan[i]), status, done);
        for (int k = 0; k < HIDDEN_COUNT; ++k) {
            x[i * HIDDEN_COUNT + k] = (float)case_value(comm_rank(comm), k);
        }
    }
    WEFT_TRY_GOTO(comm_barrier(comm), status, done);
    for (int i = 0; i < 2; ++i) {
        WEFT_TRY_GOTO(comm_post(plan[i]), status, done);
    }
    for (int i = 0; i < 2; ++i) {
        ended[i] = lane_was_busy(comm, lanes[i], 0.0, threaded ? PATIENCE : 0.02);
    }
    if (ended[0] != threaded || ended[1] != threaded) {
        status = weft_fail(WEFT_ERR_INTERNAL, "rank %d: ended: %d and %d, thread: %d", comm_rank(comm), ended[0],
                           ended[1], threaded);
        goto done;
    }
    for (int i = 0; i < 2; ++i) {
        WEFT_TRY_GOTO(comm_wait(plan[i]), status, done);
        WEFT_TRY_GOTO(case_check_reduced(comm, &desc[i], 0), status, done);
        if (threaded && comm_lane_stats(comm, lanes[i]).wait_seconds != 0.0) {
            status = weft_fail(WEFT_ERR_INTERNAL, "what had ended was waited for");
        }
    }
done:
    comm_plan_destroy(plan[0]);
    comm_plan_destroy(plan[1]);
    free(x);
    return status;
}

static void test_thread_moves_what_nobody_waits_for(void **state)
{
    (void)state;
    static const int ranks[] = {2, 4, 8};
    for (int i = 0; i < 3; ++i) {
        bool threaded = true;
        ASSERT_OK(comm_thread_run(ranks[i], hidden, &threaded));
    }
    bool threaded = false; /* the same operations stand still without it */
    ASSERT_OK(comm_thread_run(4, hidden, &threaded));
}

/* Destroyed while a message is under way that never comes: its memory is free afterwards. */
static weft_status destroy_posted(weft_comm *comm, void *argument)
{
    (void)argument;
    comm_plan *plan = NULL;
    float *x = calloc(100, sizeof *x);
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 100, x);
    weft_status status = comm_thread_start(comm, -1);
    for (int repeat = 0; repeat < 20 && status == WEFT_OK; ++repeat) {
        status = comm_allreduce_plan(comm, &desc, &plan);
        if (status == WEFT_OK && comm_rank(comm) != 0) {
            status = comm_post(plan);
        }
        if (repeat % 2 == 0) {
            sched_yield();
        }
        comm_plan_destroy(plan);
        plan = NULL;
        status = comm_agree(comm, status);
    }
    free(x);
    return status;
}

static void test_destroy_while_posted(void **state)
{
    (void)state;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    ASSERT_OK(comm_thread_run(3, destroy_posted, NULL));
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
}

static weft_status start_and_stop(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    float x[64];
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 64, x);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    for (int repeat = 0; repeat < 30; ++repeat) {
        for (int i = 0; i < 64; ++i) {
            x[i] = (float)case_value(comm_rank(comm), i);
        }
        bool between = repeat % 3 == 0; /* started, or stopped, while the operation is under way */
        if (between) {
            WEFT_TRY_GOTO(comm_post(plan), status, done);
        }
        WEFT_TRY_GOTO(comm_thread_start(comm, repeat % 2 == 0 ? -1 : 0), status, done);
        if (!between) {
            WEFT_TRY_GOTO(comm_post(plan), status, done);
        }
        if (repeat == 5 && comm_thread_start(comm, -1) != WEFT_ERR_INTERNAL) {
            status = weft_fail(WEFT_ERR_INTERNAL, "a second thread is started");
            goto done;
        }
        if (repeat % 5 == 0) {
            WEFT_TRY_GOTO(comm_wait(plan), status, done);
        }
        comm_thread_stop(comm);
        comm_thread_stop(comm);
        WEFT_TRY_GOTO(comm_wait(plan), status, done);
        WEFT_TRY_GOTO(case_check_reduced(comm, &desc, 0), status, done);
    }
done:
    comm_plan_destroy(plan);
    return status;
}

static void test_start_and_stop(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(3, start_and_stop, NULL));
}

/* Processor seconds within 0.4 s; a sanitizer has a thread of its own. */
#define ASLEEP  (0.4 * 0.05)
#define WAITING (0.4 * 0.25)
enum { LOOKS = 8 };

/* Rank 0 sleeps: first nothing is posted, then rank 1 is late. What its thread takes of a core is the process's. */
static weft_status idle_cost(weft_comm *comm, void *argument)
{
    double *cpu = argument; /* [2] */
    float x[64] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 64, x);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    weft_status status = comm_thread_start(comm, -1);
    for (int phase = 0; phase < 2 && status == WEFT_OK; ++phase) {
        status = comm_barrier(comm);
        if (phase == 1 && comm_rank(comm) == 0) {
            status = status == WEFT_OK ? comm_post(plan) : status;
        }
        for (int look = 0; look < LOOKS; ++look) { /* until the threads have come to rest, however late they begin */
            nap(0.15);
            double start = clock_cpu_seconds();
            nap(0.4);
            double spent = clock_cpu_seconds() - start;
            if (comm_rank(comm) == 0) {
                cpu[phase] = look == 0 ? spent : fmin(cpu[phase], spent);
            }
            if (spent < (phase == 0 ? ASLEEP : WAITING)) {
                break;
            }
        }
    }
    status = comm_agree(comm, status);
    if (status == WEFT_OK && comm_rank(comm) == 1) {
        status = comm_post(plan);
    }
    status = status == WEFT_OK ? comm_wait(plan) : status;
    comm_plan_destroy(plan);
    return status;
}

static void test_an_idle_thread_is_polite(void **state)
{
    (void)state;
    double cpu[2] = {0};
    ASSERT_OK(comm_thread_run(2, idle_cost, cpu));
    assert_true(cpu[0] < ASLEEP);
    assert_true(cpu[1] < WAITING);
    print_message("asleep %.2f %%, waiting for a late peer %.2f %% of a core\n", cpu[0] / 0.4 * 100,
                  cpu[1] / 0.4 * 100);
}

/* ---- several callers ------------------------------------------------------------------------------------------- */
typedef struct caller {
    weft_comm *comm;
    int repeats;
    weft_status status;
    char text[256];
} caller;

static weft_status call_often(weft_comm *comm, int repeats)
{
    enum { PLANS = 4, COUNT = 129 };
    weft_status status = WEFT_OK;
    comm_plan *plan[PLANS] = {NULL};
    comm_allreduce_desc desc[PLANS];
    float x[PLANS][COUNT];
    for (int p = 0; p < PLANS; ++p) {
        desc[p] = case_desc((comm_lane)(1 + p % 3), case_algorithms[1 + p], WEFT_DTYPE_F32, COMM_SUM, COUNT, x[p]);
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc[p], &plan[p]), status, done);
    }
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (int p = 0; p < PLANS; ++p) {
            for (int i = 0; i < COUNT; ++i) {
                x[p][i] = (float)case_value(comm_rank(comm), i);
            }
            WEFT_TRY_GOTO(comm_post(plan[p]), status, done);
        }
        for (int k = 0; k < PLANS; ++k) {
            int p = (k + repeat) % PLANS;
            WEFT_TRY_GOTO(comm_wait(plan[p]), status, done);
            WEFT_TRY_GOTO(case_check_reduced(comm, &desc[p], 0), status, done);
        }
        WEFT_TRY_GOTO(comm_barrier(comm), status, done);
    }
done:
    for (int p = 0; p < PLANS; ++p) {
        comm_plan_destroy(plan[p]);
    }
    return status;
}

static void *caller_main(void *argument)
{
    caller *self = argument;
    self->status = call_often(self->comm, self->repeats);
    snprintf(self->text, sizeof self->text, "%s", weft_error_message());
    return NULL;
}

/* Two communicators of one family, each with a caller of its own: one drives, the other watches or leaves its posts. */
static weft_status two_callers(weft_comm *comm, void *argument)
{
    bool threaded = *(const bool *)argument;
    pthread_t thread;
    caller second = {.repeats = 40};
    weft_status status = WEFT_OK;
    comm_set_stall_timeout(comm, PATIENCE);
    WEFT_TRY(comm_split(comm, 0, -comm_rank(comm), &second.comm));
    if (threaded) {
        WEFT_TRY_GOTO(comm_thread_start(comm, -1), status, done);
    }
    if (pthread_create(&thread, NULL, caller_main, &second) != 0) {
        status = weft_fail(WEFT_ERR_RESOURCE, "no second caller");
        goto done;
    }
    status = call_often(comm, 40);
    pthread_join(thread, NULL);
    if (status == WEFT_OK && second.status != WEFT_OK) {
        status = weft_fail(second.status, "second caller: %s", second.text);
    }
done:
    comm_destroy(second.comm);
    return status;
}

static void test_two_callers(void **state)
{
    (void)state;
    bool threaded = false;
    ASSERT_OK(comm_thread_run(3, two_callers, &threaded));
    threaded = true;
    ASSERT_OK(comm_thread_run(3, two_callers, &threaded));
}

/* ---- the backend is the caller's -------------------------------------------------------------------------------- */
static _Thread_local bool is_caller;

static weft_status gather_of_caller(weft_hal *hal, const hal_gather_rows_args *args)
{
    WEFT_CHECK(is_caller, WEFT_ERR_INTERNAL, "rows are packed by another thread");
    return fake_gather_rows(hal, args);
}

static weft_status scatter_of_caller(weft_hal *hal, const hal_scatter_rows_args *args)
{
    WEFT_CHECK(is_caller, WEFT_ERR_INTERNAL, "rows are unpacked by another thread");
    return fake_scatter_rows(hal, args);
}

static weft_status halo_on_caller(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_hal hal = fake_hal(false);
    is_caller = true;
    hal.op.gather_rows = gather_of_caller;
    hal.op.scatter_rows = scatter_of_caller;
    WEFT_TRY(comm_thread_start(comm, -1));
    return halo_all_settings(comm, &hal);
}

static void test_halo_packs_on_the_callers_thread(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(4, halo_on_caller, NULL));
}

/* Messages move while the caller computes; posting again before the wait is refused although they have arrived. */
static weft_status halo_hidden(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { WIDTH = 4 };
    const halo_setting setting = {.shuffled = true};
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    float *x = malloc(sizeof(float) * HALO_VERTICES * WIDTH);
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    comm_halo_desc desc = halo_desc_of(local);
    WEFT_TRY_GOTO(comm_thread_start(comm, -1), status, done);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo), status, done);
    for (int64_t i = 0; i < local->n * WIDTH; ++i) {
        x[i] = (float)halo_value(local->vertex[i / WIDTH], i % WIDTH, comm_rank(comm));
    }
    WEFT_TRY_GOTO(comm_halo_post(halo, HALO_REVERSE, WEFT_DTYPE_F32, x, WIDTH, WIDTH), status, done);
    if (!lane_was_busy(comm, COMM_LANE_HALO, 0.0, PATIENCE)) {
        status = weft_fail(WEFT_ERR_INTERNAL, "the exchange does not end by itself");
        goto done;
    }
    if (comm_halo_post(halo, HALO_REVERSE, WEFT_DTYPE_F32, x, WIDTH, WIDTH) != WEFT_ERR_INTERNAL) {
        status = weft_fail(WEFT_ERR_INTERNAL, "posted twice");
        goto done;
    }
    WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
    status = halo_check_matrix(comm, &setting, local, HALO_REVERSE, WEFT_DTYPE_F32, (double *)x, WIDTH, WIDTH);
done:
    comm_halo_destroy(halo);
    free(local);
    free(x);
    return status;
}

static void test_halo_moves_while_the_caller_computes(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(4, halo_hidden, NULL));
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */
/* Rank 1 never takes part. The others wait or look away; then the next post says what was missed. */
static weft_status stall(weft_comm *comm, void *argument)
{
    bool waits = *(const bool *)argument;
    float x[8] = {0};
    float y[8] = {0};
    comm_plan *plan[2] = {NULL, NULL};
    weft_status status = WEFT_OK;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 8, x);
    desc.name = "layer 3 weights";
    WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc, &plan[0]), status, done);
    desc.buffer = y;
    desc.lane = COMM_LANE_SHADOW;
    WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc, &plan[1]), status, done);
    WEFT_TRY_GOTO(comm_thread_start(comm, -1), status, done);
    if (comm_rank(comm) != 1) {
        comm_set_stall_timeout(comm, 0.2);
        WEFT_TRY_GOTO(comm_post(plan[0]), status, done);
        bool ended = waits || lane_was_busy(comm, COMM_LANE_GRADIENT, 0.0, PATIENCE);
        weft_status next = waits ? comm_wait(plan[0]) : comm_post(plan[1]);
        if (!waits && next == WEFT_OK) { /* posted while the thread drove: its wait tells */
            next = comm_wait(plan[1]);
        }
        char text[512];
        snprintf(text, sizeof text, "%s", weft_error_message());
        weft_status late = comm_wait(plan[0]);
        if (!ended || next != WEFT_ERR_STALL || late != WEFT_ERR_STALL || strcmp(text, weft_error_message()) != 0 ||
            strstr(text, "(layer 3 weights), reduce-scatter, round 1 of 4: ") == NULL ||
            strstr(text, "lane gradient") == NULL ||
            strstr(text, comm_rank(comm) == 2 ? "no message from rank 1" : "rank 1 has not taken") == NULL) {
            status = weft_fail(WEFT_ERR_INTERNAL, "rank %d, ended %d: %s", comm_rank(comm), ended, text);
        }
    } else {
        nap(0.5); /* its messages must not be freed under the others */
    }
done:
    comm_plan_destroy(plan[0]);
    comm_plan_destroy(plan[1]);
    return status;
}

static void test_stall(void **state)
{
    (void)state;
    bool waits = true;
    ASSERT_OK(comm_thread_run(3, stall, &waits));
    waits = false;
    ASSERT_OK(comm_thread_run(3, stall, &waits));
}

/* A peer fails while nobody waits: the failure is kept for the wait. */
static weft_status peer_fails(weft_comm *comm, void *argument)
{
    (void)argument;
    float x[64] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 64, x);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    weft_status status = comm_thread_start(comm, -1);
    if (comm_rank(comm) == 0) {
        comm_plan_destroy(plan);
        return weft_fail(WEFT_ERR_DIVERGED, "loss is NaN");
    }
    status = status == WEFT_OK ? comm_post(plan) : status;
    bool ended = lane_was_busy(comm, COMM_LANE_GRADIENT, 0.0, PATIENCE);
    status = status == WEFT_OK ? comm_wait(plan) : status;
    bool told = strstr(weft_error_message(), "rank 0 failed: loss is NaN") != NULL;
    comm_plan_destroy(plan);
    CASE_CHECK(ended && told && status == WEFT_ERR_LAUNCH, "ended %d, %s", ended, weft_status_name(status));
    return WEFT_OK;
}

static void test_failure_of_a_peer_is_kept(void **state)
{
    (void)state;
    ASSERT_STATUS(comm_thread_run(3, peer_fails, NULL), WEFT_ERR_DIVERGED);
    ASSERT_MESSAGE("loss is NaN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_have_priorities),
        cmocka_unit_test(test_failure_and_cancel),
        cmocka_unit_test(test_posts_beside_a_driver),
        cmocka_unit_test(test_thread_moves_what_nobody_waits_for),
        cmocka_unit_test(test_destroy_while_posted),
        cmocka_unit_test(test_start_and_stop),
        cmocka_unit_test(test_an_idle_thread_is_polite),
        cmocka_unit_test(test_two_callers),
        cmocka_unit_test(test_halo_packs_on_the_callers_thread),
        cmocka_unit_test(test_halo_moves_while_the_caller_computes),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_failure_of_a_peer_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
