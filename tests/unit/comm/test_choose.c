/* Predictions of the synchronisation modes against closed forms, and what --sync auto makes of them. */
#include <math.h>

#include "base/log.h"
#include "comm/core/comm_internal.h"
#include "comm/sync/sync_mode.h"
#include "support/comm_cases.h"
#include "support/folder.h"
#include "support/test.h"

enum { RANKS = 4 };

/* One bucket, one matrix of `elements`. */
typedef struct choose_case {
    comm_model model;
    int ranks_per_node;
    int64_t elements;
    sync_options options;
    double sent; /* asp runs and sent this part of the updates; 0: nothing has run */
    sync_mode chosen;
    double seconds[SYNC_AUTO];
} choose_case;

/* Gigabit Ethernet as measured between hosts, and a fast network, over nodes with fast memory. */
static comm_model slow_network(void)
{
    comm_model model = comm_model_default();
    model.inter = (comm_link){112e-6, 1 / 0.118e9};
    return model;
}

static comm_model fast_network(void)
{
    comm_model model = comm_model_default();
    model.inter = (comm_link){3e-6, 1 / 11e9};
    return model;
}

static weft_status choose(weft_comm *comm, void *argument)
{
    choose_case *c = argument;
    double seconds[SYNC_AUTO];
    int32_t mode = 0;
    sync_mode chosen = SYNC_AUTO;
    WEFT_TRY(comm_imitate_nodes(comm, c->ranks_per_node));
    comm_set_model(comm, &c->model);
    const sync_bucket bucket = {0, c->elements};
    const sync_tensor tensor = {"weight", 0, c->elements / 16, 16};
    comm_sync sync = {.comm = comm,
                      .options = c->options,
                      .desc = {.dtype = WEFT_DTYPE_F32,
                               .trained = c->elements,
                               .elements = c->elements,
                               .bucket = &bucket,
                               .buckets = 1,
                               .tensor = &tensor,
                               .tensors = 1}};
    if (c->sent > 0) {
        sync.mode = SYNC_ASP;
        sync.figures = (sync_figures){.steps = 1, .density = comm_rank(comm) == 0 ? c->sent : 1.0};
    }
    for (int m = 0; m < SYNC_AUTO; ++m) {
        WEFT_TRY(sync_predict(&sync, (sync_mode)m, &seconds[m]));
        CASE_CHECK(isfinite(seconds[m]) && seconds[m] > 0, "%s takes %g s", sync_mode_name((sync_mode)m), seconds[m]);
    }
    WEFT_TRY(case_same_on_all(comm, seconds, sizeof seconds));
    WEFT_TRY(sync_choose(&sync, &chosen));
    mode = (int32_t)chosen;
    WEFT_TRY(case_same_on_all(comm, &mode, sizeof mode));
    if (comm_rank(comm) == 0) {
        c->chosen = chosen;
        memcpy(c->seconds, seconds, sizeof seconds);
    }
    return WEFT_OK;
}

static choose_case run_case(comm_model model, int ranks, int ranks_per_node, int64_t elements, sync_options options)
{
    choose_case c = {.model = model, .ranks_per_node = ranks_per_node, .elements = elements, .options = options};
    ASSERT_OK(comm_thread_run(ranks, choose, &c));
    return c;
}

/* A share of the elements to three other sites; finding them, handing them on and adding them, half of which hides;
 * four passes of arithmetic. */
static double asp_seconds(const comm_model *model, int64_t elements, double share, int bytes_each)
{
    const double sent = 3 * share * (double)elements;
    const double travels = 3 * model->inter.latency + sent * bytes_each * model->inter.seconds_per_byte;
    const double works = model->intra.latency +
                         sent * (bytes_each * model->intra.seconds_per_byte + model->scatter_per_element) +
                         (double)elements * model->select_per_element;
    return travels + works / 2 + 16.0 * (double)elements * model->reduce_per_byte;
}

/* 25.6 M elements on 4 hosts of one rank: 6/4 M through each link; pairs move M. */
static void test_closed_forms(void **state)
{
    (void)state;
    const int64_t d = 25600000;
    const double m = 4.0 * (double)d;
    const comm_model model = slow_network();
    const double b = model.inter.seconds_per_byte;
    sync_options options = sync_options_default();
    choose_case c = run_case(model, RANKS, 1, d, options);
    const double scan = m * model.reduce_per_byte / 3.0; /* of every mode: is the gradient finite? */
    double exact = 1.5 * m * b + 0.75 * m * model.reduce_per_byte;
    ASSERT_NEAR(c.seconds[SYNC_ALLREDUCE] / (exact + scan), 1.0, 0.01);
    double pairs = m * b + 0.5 * m * model.reduce_per_byte;
    ASSERT_NEAR(c.seconds[SYNC_DIVIDE_SHUFFLE] / (pairs + scan), 1.0, 0.02);
    double shadow = exact + 2 * m * model.reduce_per_byte;
    ASSERT_NEAR(c.seconds[SYNC_SHADOW] / (shadow + scan), 1.0, 0.01);
    options.shadow.gap = 10;
    ASSERT_NEAR(run_case(model, RANKS, 1, d, options).seconds[SYNC_SHADOW] / (shadow / 10 + scan), 1.0, 0.01);
    ASSERT_NEAR(c.seconds[SYNC_ASP] / (asp_seconds(&model, d, 0.05, 8) + scan), 1.0, 0.001);
    /* Where it runs, the part that its last step sent; all of it as floats without places. */
    c.sent = 0.2;
    ASSERT_OK(comm_thread_run(RANKS, choose, &c));
    ASSERT_NEAR(c.seconds[SYNC_ASP] / (asp_seconds(&model, d, 0.2, 8) + scan), 1.0, 0.001);
    c.sent = 1.0;
    ASSERT_OK(comm_thread_run(RANKS, choose, &c));
    ASSERT_NEAR(c.seconds[SYNC_ASP] / (asp_seconds(&model, d, 1.0, 4) + scan), 1.0, 0.001);
}

/* Tracked gradients are as many elements more, in the modes that track them; --sync auto counts them. */
static void test_tracking_is_counted(void **state)
{
    (void)state;
    const int64_t d = 4000000;
    sync_options options = sync_options_default();
    options.allow_lossy = true;
    options.shadow.gap = 3;
    const choose_case plain = run_case(slow_network(), RANKS, 1, d, options);
    const choose_case twice = run_case(slow_network(), RANKS, 1, 2 * d, options);
    options.shards = SYNC_SHARDS_REGIONS;
    const choose_case tracking = run_case(slow_network(), RANKS, 1, d, options);
    const double scan = 4.0 * (double)d * slow_network().reduce_per_byte / 3.0;
    assert_true(tracking.seconds[SYNC_ALLREDUCE] == plain.seconds[SYNC_ALLREDUCE]);
    assert_true(tracking.seconds[SYNC_TOPK] == plain.seconds[SYNC_TOPK]);
    for (int m = SYNC_DIVIDE_SHUFFLE; m <= SYNC_SHADOW; ++m) {
        ASSERT_NEAR((tracking.seconds[m] + scan) / twice.seconds[m], 1.0, 1e-6);
    }
    assert_true(tracking.seconds[SYNC_ASP] > plain.seconds[SYNC_ASP]);
    options.tracking = SYNC_TRACKING_OFF;
    const choose_case off = run_case(slow_network(), RANKS, 1, d, options);
    for (int m = 0; m < SYNC_AUTO; ++m) {
        assert_true(off.seconds[m] == plain.seconds[m]);
    }
}

/* One part in a hundred, or a thousand, of the elements pays on a slow network; half the bytes on the wire nearly half
 * the time. */
static void test_slow_network(void **state)
{
    (void)state;
    const int64_t d = 25600000;
    sync_options options = sync_options_default();
    choose_case dense = run_case(slow_network(), RANKS, 1, d, options);
    assert_int_equal(dense.chosen, SYNC_ALLREDUCE); /* the others are not exact */
    assert_true(dense.seconds[SYNC_ALLREDUCE] > 5 * dense.seconds[SYNC_TOPK]);
    options.allow_lossy = true;
    assert_int_equal(run_case(slow_network(), RANKS, 1, d, options).chosen, SYNC_TOPK);
    options.shadow.gap = 1000; /* next to nothing is sent */
    assert_int_equal(run_case(slow_network(), RANKS, 1, d, options).chosen, SYNC_SHADOW);
    options.shards = SYNC_SHARDS_DEALT; /* replicas stay equal */
    assert_int_equal(run_case(slow_network(), RANKS, 1, d, options).chosen, SYNC_TOPK);
    options.shards = SYNC_SHARDS_SAMPLED;
    options.topk.density = 0.001;
    choose_case sparser = run_case(slow_network(), RANKS, 1, d, options);
    assert_true(dense.seconds[SYNC_ALLREDUCE] > 10 * sparser.seconds[SYNC_TOPK]);
    options.wire = COMM_WIRE_BF16;
    choose_case rounded = run_case(slow_network(), RANKS, 1, d, options);
    assert_true(dense.seconds[SYNC_ALLREDUCE] > 1.8 * rounded.seconds[SYNC_ALLREDUCE]);
}

/* Where the exact sum takes as long as a selection, exactness is not given away. */
static void test_fast_network(void **state)
{
    (void)state;
    sync_options options = sync_options_default();
    options.allow_lossy = true;
    options.topk.density = 0.25;
    options.divide_shuffle.group = RANKS;
    choose_case c = run_case(fast_network(), RANKS, 1, 25600000, options);
    assert_int_equal(c.chosen, SYNC_ALLREDUCE);
    assert_true(c.seconds[SYNC_TOPK] > c.seconds[SYNC_ALLREDUCE]);
}

/* What is short goes dense in topk: then it is the all-reduce, and nothing is gained. */
static void test_short_tensors(void **state)
{
    (void)state;
    sync_options options = sync_options_default();
    options.topk.dense_below = 4096;
    choose_case c = run_case(slow_network(), RANKS, 2, 2048, options);
    assert_true(c.seconds[SYNC_TOPK] == c.seconds[SYNC_ALLREDUCE]);
}

/* Two hosts of two ranks: groups of two that are pairs in one round stand inside a host, in the other across, and two
 * groups share each link. */
static void test_groups_share_links(void **state)
{
    (void)state;
    const int64_t d = 4000000;
    const double m = 4.0 * (double)d;
    const comm_model model = slow_network();
    choose_case c = run_case(model, RANKS, 2, d, sync_options_default());
    double inside = m * model.intra.seconds_per_byte;
    double across = 2 * m * model.inter.seconds_per_byte;
    double mean = (inside + across) / 2 + 0.5 * m * model.reduce_per_byte;
    assert_true(c.seconds[SYNC_DIVIDE_SHUFFLE] <= 1.05 * mean);
    assert_true(c.seconds[SYNC_DIVIDE_SHUFFLE] >= across / 2);
}

/* More elements never take less, in any mode, and every rank agrees on any number of ranks. */
static void test_monotone(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 5, 8};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        choose_case before = run_case(slow_network(), ranks[i], 2, 1 << 10, sync_options_default());
        for (int64_t elements = 1 << 14; elements <= 1 << 26; elements <<= 4) {
            choose_case c = run_case(slow_network(), ranks[i], 2, elements, sync_options_default());
            for (int m = 0; m < SYNC_AUTO; ++m) {
                if (c.seconds[m] < before.seconds[m]) {
                    fail_msg("%d ranks: %s of %lld elements takes %g s, of fewer %g s", ranks[i],
                             sync_mode_name((sync_mode)m), (long long)elements, c.seconds[m], before.seconds[m]);
                }
            }
            before = c;
        }
    }
}

static weft_status refuse(weft_comm *comm, void *argument)
{
    (void)argument;
    double seconds = 0.0;
    comm_sync sync = {.comm = comm, .options = sync_options_default(), .desc = {.dtype = WEFT_DTYPE_F64}};
    CASE_CHECK(sync_predict(&sync, SYNC_TOPK, &seconds) == WEFT_ERR_UNSUPPORTED, "topk of float64 is predicted");
    CASE_CHECK(sync_predict(&sync, SYNC_AUTO, &seconds) != WEFT_OK, "auto is predicted");
    sync.desc.dtype = WEFT_DTYPE_F32;
    sync.options.asp.sites = "/nowhere/sites";
    CASE_CHECK(sync_predict(&sync, SYNC_ASP, &seconds) == WEFT_ERR_NOINPUT, "sites that are missing are predicted");
    return WEFT_OK;
}

static void test_refusals(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(2, refuse, NULL));
}

static weft_status predict_all(weft_comm *comm, void *argument)
{
    const uint64_t *fail_after = argument;
    const sync_bucket bucket = {0, 4096};
    const sync_tensor tensor = {"weight", 0, 64, 64};
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .trained = 4096,
                            .elements = 4096,
                            .bucket = &bucket,
                            .buckets = 1,
                            .tensor = &tensor,
                            .tensors = 1};
    comm_sync sync = {.comm = comm, .options = sync_options_default(), .desc = desc};
    sync_mode mode = SYNC_AUTO;
    WEFT_TRY(comm_imitate_nodes(comm, 2));
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 0) {
        weft_alloc_fail_after(*fail_after);
    }
    return sync_choose(&sync, &mode);
}

/* Whichever allocation fails: all ranks hear of it, and nothing leaks. */
static void test_memory_is_short(void **state)
{
    (void)state;
    int refused = 0;
    weft_status status = WEFT_ERR_RESOURCE;
    for (uint64_t n = 1; n < 200 && (status != WEFT_OK || n < 20); ++n) {
        status = comm_thread_run(3, predict_all, &n);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_LAUNCH);
        refused += status != WEFT_OK;
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms),    cmocka_unit_test(test_tracking_is_counted),
        cmocka_unit_test(test_slow_network),    cmocka_unit_test(test_fast_network),
        cmocka_unit_test(test_short_tensors),   cmocka_unit_test(test_groups_share_links),
        cmocka_unit_test(test_monotone),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory_is_short),
    };
    log_set_speaker(false); /* every rank of a test would say what it chose */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
