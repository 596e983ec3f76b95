/* The halo exchange over the thread transport, on 1 to 8 ranks; its failures where rows lie in shared memory; how
 * rows choose their bits, against every choice there is and against errors that are made and counted. */
#include <math.h>

#include "base/log.h"
#include "comm/halo/halo_mix.h"
#include "support/comm_run.h"
#include "support/halo_cases.h"

/* ---- failures ---------------------------------------------------------------------------------------------------- */
enum { WIDTH = 4, TEXT_BYTES = 512 };

typedef struct halo_failure {
    char text[4][TEXT_BYTES]; /* by rank */
    int shared, messages;     /* jobs that had a window, and that did without */
} halo_failure;

typedef weft_status (*halo_failing_fn)(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure);

/* fn with a halo of the usual setting. */
static weft_status with_halo(weft_comm *comm, halo_failing_fn fn, halo_failure *failure)
{
    const halo_setting setting = {.shuffled = true};
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    float *x = calloc((size_t)HALO_VERTICES * WIDTH, sizeof *x);
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    const comm_halo_desc desc = halo_desc_of(local);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo), status, done);
    status = fn(comm, halo, x, failure);
done:
    comm_halo_destroy(halo);
    free(local);
    free(x);
    return status;
}

static weft_status exchange(comm_halo *halo, halo_direction direction, float *x)
{
    WEFT_TRY(comm_halo_post(halo, direction, WEFT_DTYPE_F32, x, WIDTH, WIDTH));
    return comm_halo_wait(halo);
}

/* Rank 2, which has replicas of 0 and 3 alone, never comes: they name it. */
static weft_status stall_on_two(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    comm_set_stall_timeout(comm, 1.0);
    if (comm_rank(comm) != 2) {
        weft_status status = exchange(halo, HALO_REVERSE, x);
        snprintf(failure->text[comm_rank(comm)], TEXT_BYTES, "%s", weft_error_message());
        CASE_CHECK(status == (comm_rank(comm) == 1 ? WEFT_OK : WEFT_ERR_STALL), "a stalled wait gives %s",
                   weft_status_name(status));
    }
    return WEFT_OK;
}

static weft_status run_stall(weft_comm *comm, void *argument)
{
    return with_halo(comm, stall_on_two, argument);
}

static void test_stall_names_the_missing_rank(void **state)
{
    (void)state;
    halo_failure failure = {0};
    ASSERT_OK(comm_thread_run(4, run_stall, &failure));
    for (int rank = 0; rank < 4; rank += 3) {
        if (strstr(failure.text[rank], "lane halo, halo reverse") == NULL ||
            strstr(failure.text[rank], "rank 2 has not come") == NULL) {
            fail_msg("rank %d says: %s", rank, failure.text[rank]);
        }
    }
}

/* Rank 1 fails while the other waits for it. */
static weft_status fail_on_one(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    (void)failure;
    for (int k = 0; k < 10; ++k) {
        if (comm_rank(comm) == 1 && k == 5) {
            return weft_fail(WEFT_ERR_DIVERGED, "loss is NaN");
        }
        WEFT_TRY(exchange(halo, HALO_FORWARD, x));
    }
    return WEFT_OK;
}

static weft_status run_fail(weft_comm *comm, void *argument)
{
    return with_halo(comm, fail_on_one, argument);
}

static void test_failing_rank_ends_all(void **state)
{
    (void)state;
    ASSERT_STATUS(comm_thread_run(2, run_fail, NULL), WEFT_ERR_DIVERGED);
    ASSERT_MESSAGE("loss is NaN");
}

static weft_status note_way(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    WEFT_TRY(exchange(halo, HALO_FORWARD, x));
    if (comm_rank(comm) == 0) {
        const comm_stats stats = comm_lane_stats(comm, COMM_LANE_HALO);
        failure->shared += stats.shared_bytes > 0;
        failure->messages += stats.messages_sent > 0;
    }
    return WEFT_OK;
}

static weft_status run_note(weft_comm *comm, void *argument)
{
    return with_halo(comm, note_way, argument);
}

/* The n-th allocation fails: there is no window and rows travel in messages, or there is no halo; nothing is lost. */
static void test_shortage(void **state)
{
    (void)state;
    halo_failure failure = {0};
    const uint64_t before = weft_mem_usage_total().current_bytes;
    log_set_level(LOG_QUIET);
    for (uint64_t n = 1; n < 150; ++n) { /* past the last allocation */
        weft_alloc_fail_after(n);
        weft_status status = comm_thread_run(2, run_note, &failure);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    log_set_level(LOG_INFO);
    assert_true(failure.shared > 10 && failure.messages > 3);
}

/* ---- rows that choose their bits --------------------------------------------------------------------------------- */

enum { MIX_ROWS = 300, MIX_COLS = 24, FEW_ROWS = 8, DRAWS = 600 };

static float uniform_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) * 0x1p-24f;
}

/* Magnitudes from 2^-8 to 2^8; every third row without negative numbers, every seventh nearly constant. */
static void draw_rows(float *x, int rows, uint64_t state)
{
    for (int i = 0; i < rows; ++i) {
        const float size = exp2f(16.0f * uniform_of(&state) - 8.0f);
        for (int c = 0; c < MIX_COLS; ++c) {
            const float u = uniform_of(&state);
            x[i * MIX_COLS + c] = i % 7 == 0 ? size * (1.0f + 0.01f * u) : size * (i % 3 == 0 ? u : 2.0f * u - 1.0f);
        }
    }
}

static void ranges_of(const float *x, int rows, halo_mix_range *range)
{
    for (int i = 0; i < rows; ++i) {
        range[i] = halo_mix_range_of(x + i * MIX_COLS, MIX_COLS);
        for (int c = 0; c < MIX_COLS; ++c) {
            assert_true(x[i * MIX_COLS + c] >= range[i].low && x[i * MIX_COLS + c] <= range[i].high);
        }
    }
}

static double cost_of(const halo_mix_range *range, int rows, const uint8_t *class, int64_t *bytes)
{
    double sum = 0.0, variance[MIX_CLASSES];
    *bytes = 0;
    for (int i = 0; i < rows; ++i) {
        halo_mix_variances(range[i], MIX_COLS, variance);
        sum += variance[class[i]];
        *bytes += hal_row_bytes(halo_mix_codecs[class[i]], MIX_COLS);
    }
    return sum;
}

static int64_t class_of_codec(hal_row_codec codec)
{
    int c = 0;
    while (halo_mix_codecs[c] != codec) {
        ++c;
    }
    return c;
}

/* The budget is kept and nearly used; at int4's bytes the variance is far below int4's, and it falls as bytes grow. */
static void test_mix_within_budget(void **state)
{
    (void)state;
    static float x[MIX_ROWS * MIX_COLS];
    static int64_t bucket[MIX_BUCKETS];
    halo_mix_range range[MIX_ROWS];
    uint8_t class[MIX_ROWS], uniform[MIX_ROWS];
    int64_t bytes, uniform_bytes;
    double last = INFINITY;
    draw_rows(x, MIX_ROWS, 7);
    ranges_of(x, MIX_ROWS, range);
    for (double bits = 2.0; bits <= 8.0; bits += 0.25) {
        const int64_t most = (int64_t)(MIX_ROWS * (4.0 + bits * MIX_COLS / 8.0));
        halo_mix_choose(range, MIX_ROWS, MIX_COLS, bits, bucket, class);
        const double cost = cost_of(range, MIX_ROWS, class, &bytes);
        assert_int_equal(halo_mix_bytes(MIX_ROWS, MIX_COLS, bits), most + (MIX_ROWS + 3) / 4);
        assert_true(bytes <= most);
        assert_true(bytes > most - 20 || bits > 6.5); /* rows that are nearly constant want two bits and no more */
        assert_true(cost <= last);
        last = cost;
    }
    memset(uniform, (int)class_of_codec(HAL_ROWS_INT4), sizeof uniform);
    const double even = cost_of(range, MIX_ROWS, uniform, &uniform_bytes);
    halo_mix_choose(range, MIX_ROWS, MIX_COLS, 4.0, bucket, class);
    const double mixed = cost_of(range, MIX_ROWS, class, &bytes);
    assert_true(bytes <= uniform_bytes && mixed < 0.05 * even);
}

/* Every choice for a few rows: the best within the budget is no better than ours, but for the piece that did not fit
 * whole. */
static void test_mix_against_every_choice(void **state)
{
    (void)state;
    static int64_t bucket[MIX_BUCKETS];
    float x[FEW_ROWS * MIX_COLS];
    halo_mix_range range[FEW_ROWS];
    uint8_t class[FEW_ROWS], other[FEW_ROWS];
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        const double bits = 2.0 + 0.15 * (double)seed;
        const int64_t most = (int64_t)(FEW_ROWS * (4.0 + bits * MIX_COLS / 8.0));
        int64_t bytes;
        double best = INFINITY, relaxed = INFINITY;
        draw_rows(x, FEW_ROWS, seed);
        ranges_of(x, FEW_ROWS, range);
        halo_mix_choose(range, FEW_ROWS, MIX_COLS, bits, bucket, class);
        const double ours = cost_of(range, FEW_ROWS, class, &bytes);
        assert_true(bytes <= most);
        for (int choice = 0; choice < 6561; ++choice) { /* 3^8 */
            for (int i = 0, rest = choice; i < FEW_ROWS; ++i, rest /= 3) {
                other[i] = (uint8_t)(rest % 3);
            }
            const double cost = cost_of(range, FEW_ROWS, other, &bytes);
            best = bytes <= most ? fmin(best, cost) : best;
            relaxed = bytes <= most - 18 ? fmin(relaxed, cost) : relaxed; /* a row from int2 to int8 */
        }
        assert_true(ours >= best * (1.0 - 1e-12));
        assert_true(ours <= relaxed * 1.05);
    }
}

static void test_mix_header(void **state)
{
    (void)state;
    uint8_t class[13], read[13], header[4];
    int32_t order[13];
    int64_t count[MIX_CLASSES], again[MIX_CLASSES];
    for (int i = 0; i < 13; ++i) {
        class[i] = (uint8_t)(i * 5 % 3);
    }
    halo_mix_write(class, 13, header);
    ASSERT_OK(halo_mix_read(header, 13, MIX_COLS, 8.0, read, count));
    assert_memory_equal(read, class, sizeof class);
    halo_mix_order(class, 13, again, order);
    assert_memory_equal(count, again, sizeof count);
    for (int i = 1; i < 13; ++i) {
        const int a = order[i - 1], b = order[i];
        assert_true(class[a] < class[b] || (class[a] == class[b] && a < b));
    }
    ASSERT_STATUS(halo_mix_read(header, 13, MIX_COLS, 2.0, read, count), WEFT_ERR_INTERNAL); /* more than fits */
    header[1] |= 0xc;
    ASSERT_STATUS(halo_mix_read(header, 13, MIX_COLS, 8.0, read, count), WEFT_ERR_INTERNAL);
    const float odd[3] = {1.0f, NAN, 2.0f}, endless[2] = {1.0f, INFINITY};
    assert_true(isnan(halo_mix_range_of(odd, 3).low) && isnan(halo_mix_range_of(endless, 2).high));
}

/* What is predicted of a codec is what it does: mean and variance of the error over many draws. */
static void test_mix_variances(void **state)
{
    (void)state;
    enum { TRIED = 12 };
    float x[TRIED * MIX_COLS], y[MIX_COLS];
    uint8_t coded[4 * MIX_COLS];
    weft_hal *ref = NULL;
    ASSERT_OK(weft_hal_open("ref", 1, &ref));
    draw_rows(x, TRIED, 3);
    for (int i = 0; i < TRIED * MIX_CLASSES; ++i) {
        const float *row = x + i / MIX_CLASSES * MIX_COLS;
        const hal_row_codec codec = halo_mix_codecs[i % MIX_CLASSES];
        const int64_t id = i, bytes = hal_row_bytes(codec, MIX_COLS);
        double variance[MIX_CLASSES], squares = 0.0, mean[MIX_COLS] = {0};
        halo_mix_variances(halo_mix_range_of(row, MIX_COLS), MIX_COLS, variance);
        for (uint32_t epoch = 0; epoch < DRAWS; ++epoch) {
            const hal_mat code = hal_mat_of(coded, WEFT_DTYPE_U8, 1, bytes, bytes);
            const hal_encode_rows_args encode = {.x = hal_mat_from(row, WEFT_DTYPE_F32, 1, MIX_COLS, MIX_COLS),
                                                 .id = hal_column_from(&id, WEFT_DTYPE_I64, 1),
                                                 .y = code,
                                                 .codec = codec,
                                                 .rounding = {.seed = 1, .purpose = 130, .epoch = epoch}};
            const hal_decode_rows_args decode = {
                .x = code, .y = hal_mat_of(y, WEFT_DTYPE_F32, 1, MIX_COLS, MIX_COLS), .codec = codec};
            ASSERT_OK(hal_encode_rows(ref, &encode));
            ASSERT_OK(hal_decode_rows(ref, &decode));
            for (int c = 0; c < MIX_COLS; ++c) {
                const double error = (double)y[c] - (double)row[c];
                mean[c] += error / DRAWS;
                squares += error * error / DRAWS;
            }
        }
        const double predicted = variance[i % MIX_CLASSES];
        if (i / MIX_CLASSES % 7 != 0) { /* places between two steps spread evenly but where all numbers are alike */
            assert_true(squares > 0.4 * predicted && squares < 2.0 * predicted);
        }
        for (int c = 0; c < MIX_COLS; ++c) { /* within five deviations, of a step at most */
            const double step = sqrt(6.0 * fmax(predicted, 1e-12) / MIX_COLS);
            assert_true(fabs(mean[c]) <= 5.0 * step / 2.0 / sqrt(DRAWS) * 1.1);
        }
    }
    weft_hal_close(ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mix_within_budget),
        cmocka_unit_test(test_mix_against_every_choice),
        cmocka_unit_test(test_mix_header),
        cmocka_unit_test(test_mix_variances),
        cmocka_unit_test(test_stall_names_the_missing_rank),
        cmocka_unit_test(test_failing_rank_ends_all),
        cmocka_unit_test(test_shortage),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + comm_run_threads(halo_cases, HALO_CASES, comm_run_case);
}
