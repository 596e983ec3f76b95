/* The halo exchange with every backend of this build, on 1 to 4 ranks over threads. room: comm
 * trees: release asan
 * processors: one
 */
#include "base/log.h"
#include "support/halo_cases.h"
#include "support/open.h"

static weft_status run_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(test_device(argument), 1, &hal));
    weft_status status = halo_all_settings(comm, hal);
    weft_hal_close(hal);
    return status;
}

/* ---- rows in fewer bits ------------------------------------------------------------------------------------------ */

enum { CODED_WIDTH = 13 };

/* What arrives of the row of vertex g as `sender` has it: there and back on ref. */
static weft_status recoded(weft_hal *ref, const comm_halo_code *code, int g, int sender, float *row)
{
    const int64_t id = g, bytes = hal_row_bytes(code->codec, CODED_WIDTH);
    uint8_t coded[4 * CODED_WIDTH];
    float x[CODED_WIDTH];
    for (int c = 0; c < CODED_WIDTH; ++c) {
        x[c] = (float)halo_value(g, c, sender);
    }
    hal_encode_rows_args encode = {.x = hal_mat_from(x, WEFT_DTYPE_F32, 1, CODED_WIDTH, CODED_WIDTH),
                                   .id = hal_column_from(&id, WEFT_DTYPE_I64, 1),
                                   .y = hal_mat_of(coded, WEFT_DTYPE_U8, 1, bytes, bytes),
                                   .codec = code->codec,
                                   .rounding = code->rounding};
    encode.rounding.sender = (uint32_t)sender;
    WEFT_TRY(hal_encode_rows(ref, &encode));
    return hal_decode_rows(ref,
                           &(hal_decode_rows_args){.x = hal_mat_from(coded, WEFT_DTYPE_U8, 1, bytes, bytes),
                                                   .y = hal_mat_of(row, WEFT_DTYPE_F32, 1, CODED_WIDTH, CODED_WIDTH),
                                                   .codec = code->codec});
}

/* Row g of this rank afterwards; a root adds in the order of ranks. */
static weft_status coded_row(const weft_comm *comm, weft_hal *ref, const comm_halo_code *code,
                             const halo_setting *setting, halo_direction direction, int g, float *row)
{
    const int size = comm_size(comm), root = halo_root(size, g);
    float other[CODED_WIDTH];
    for (int c = 0; c < CODED_WIDTH; ++c) {
        row[c] = (float)halo_value(g, c, comm_rank(comm));
    }
    if (direction == HALO_FORWARD) {
        return halo_replica(size, setting, g, comm_rank(comm)) ? recoded(ref, code, g, root, row) : WEFT_OK;
    }
    for (int p = 0; root == comm_rank(comm) && p < size; ++p) {
        if (halo_replica(size, setting, g, p)) {
            WEFT_TRY(recoded(ref, code, g, p, other));
            for (int c = 0; c < CODED_WIDTH; ++c) {
                row[c] += other[c];
            }
        }
    }
    return WEFT_OK;
}

/* To the bit; which of the NaNs a product is, processors differ in. */
static bool same_row(const float *a, const float *b)
{
    for (int c = 0; c < CODED_WIDTH; ++c) {
        uint32_t one, other;
        memcpy(&one, &a[c], sizeof one);
        memcpy(&other, &b[c], sizeof other);
        if (one != other && !(isnan(a[c]) && isnan(b[c]))) {
            return false;
        }
    }
    return true;
}

/* Of rows that choose their bits: is it what one of the codecs makes of it? Rows that do not travel stay. */
static weft_status mixed_row(const weft_comm *comm, weft_hal *ref, const comm_halo_code *code,
                             const halo_setting *setting, int g, const float *row)
{
    float expected[CODED_WIDTH];
    for (hal_row_codec codec = HAL_ROWS_INT8; codec <= HAL_ROWS_INT2; ++codec) {
        const comm_halo_code one = {.codec = codec, .rounding = code->rounding};
        WEFT_TRY(coded_row(comm, ref, &one, setting, HALO_FORWARD, g, expected));
        if (same_row(expected, row)) {
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_INTERNAL, "vertex %d has a row that no codec makes", g);
}

/* Neither all of one codec nor all of another: a budget between two of them. */
static bool is_between(const comm_halo_code *code)
{
    return code->mean_bits > 2.0 && code->mean_bits < 8.0;
}

static weft_status coded_exchange(weft_comm *comm, weft_hal *hal, weft_hal *ref, const halo_setting *setting,
                                  const halo_local *local, comm_halo *halo, const comm_halo_code *code,
                                  halo_direction direction)
{
    static _Thread_local float host[HALO_VERTICES][CODED_WIDTH];
    const size_t bytes = (size_t)local->n * sizeof host[0];
    weft_status status = WEFT_OK;
    void *device = NULL;
    const comm_stats before = comm_lane_stats(comm, COMM_LANE_HALO);
    for (int64_t i = 0; i < local->n * CODED_WIDTH; ++i) {
        host[i / CODED_WIDTH][i % CODED_WIDTH] =
            (float)halo_value(local->vertex[i / CODED_WIDTH], i % CODED_WIDTH, comm_rank(comm));
    }
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_WORKSPACE, &device));
    WEFT_TRY_GOTO(hal->mem.upload(hal, device, host, bytes), status, done);
    WEFT_TRY_GOTO(comm_halo_post_coded(halo, direction, code, WEFT_DTYPE_F32, device, CODED_WIDTH, CODED_WIDTH), status,
                  done);
    WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
    WEFT_TRY_GOTO(hal->mem.download(hal, host, device, bytes), status, done);
    for (int64_t i = 0; i < local->n; ++i) {
        float row[CODED_WIDTH];
        if (is_between(code)) {
            WEFT_TRY_GOTO(mixed_row(comm, ref, code, setting, local->vertex[i], host[i]), status, done);
            continue;
        }
        WEFT_TRY_GOTO(coded_row(comm, ref, code, setting, direction, local->vertex[i], row), status, done);
        for (int c = 0; c < CODED_WIDTH; ++c) {
            if (host[i][c] != row[c] && !(isnan(host[i][c]) && isnan(row[c]))) {
                status = weft_fail(WEFT_ERR_INTERNAL, "codec %d, direction %d: vertex %d column %d is %.9g, not %.9g",
                                   (int)code->codec, (int)direction, local->vertex[i], c, (double)host[i][c],
                                   (double)row[c]);
                goto done;
            }
        }
    }
    status = code->mean_bits > 0.0 ? WEFT_OK
                                   : halo_check_traffic(comm, hal, local, halo, direction,
                                                        hal_row_bytes(code->codec, CODED_WIDTH), before);
done:
    hal->mem.free(hal, device);
    return status;
}

/* Every codec both ways, with exchanges of whole rows between them, and a maximum refused. */
static weft_status coded_rank(weft_comm *comm, const char *backend, comm_direct direct)
{
    weft_hal *hal = NULL, *ref = NULL;
    comm_halo *halo = NULL;
    char road[COMM_ROAD_BYTES];
    weft_status status = WEFT_OK;
    halo_local *local = malloc(sizeof *local);
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY_GOTO(weft_hal_open(test_device(backend), 1, &hal), status, done);
    WEFT_TRY_GOTO(comm_choose_direct(comm, hal, direct, road), status, done);
    WEFT_TRY_GOTO(weft_hal_open("ref", 1, &ref), status, done);
    for (int k = 0; k < 3; ++k) {
        const halo_setting setting = {.shuffled = k == 1, .chosen = k == 2}, all = {.shuffled = k == 1};
        halo_build(comm_rank(comm), comm_size(comm), &all, local);
        local->max_width = CODED_WIDTH;
        const comm_halo_desc desc = halo_desc_of(local);
        WEFT_TRY_GOTO(comm_halo_create(comm, hal, &desc, CODED_WIDTH, &halo), status, done);
        halo_build(comm_rank(comm), comm_size(comm), &setting, local);
        WEFT_TRY_GOTO(k == 2 ? comm_halo_choose(halo, &desc) : WEFT_OK, status, done);
        for (hal_row_codec codec = HAL_ROWS_INT2; codec >= HAL_ROWS_BF16; --codec) {
            const comm_halo_code code = {.codec = codec, .rounding = {.seed = 3, .purpose = 130, .epoch = 2}};
            WEFT_TRY_GOTO(coded_exchange(comm, hal, ref, &setting, local, halo, &code, HALO_FORWARD), status, done);
            WEFT_TRY_GOTO(coded_exchange(comm, hal, ref, &setting, local, halo, &code, HALO_REVERSE), status, done);
            WEFT_TRY_GOTO(halo_one_exchange(comm, hal, halo, &setting, local, HALO_REVERSE, WEFT_DTYPE_F32, CODED_WIDTH,
                                            CODED_WIDTH),
                          status, done);
            if (comm_halo_post_coded(halo, HALO_REVERSE_MAX, &code, WEFT_DTYPE_F32, NULL, 0, 0) !=
                WEFT_ERR_UNSUPPORTED) {
                status = weft_fail(WEFT_ERR_INTERNAL, "a maximum of rounded rows is taken");
                goto done;
            }
        }
        /* With 8 bits and with 2 there is nothing to choose; in between, backward adds what forward would bring. */
        for (int i = 0; i < 3; ++i) {
            const comm_halo_code code = {.codec = i == 0 ? HAL_ROWS_INT8 : HAL_ROWS_INT2,
                                         .mean_bits = i == 0   ? 8.0
                                                      : i == 1 ? 2.0
                                                               : 4.5,
                                         .rounding = {.seed = 3, .purpose = 131, .epoch = 5}};
            WEFT_TRY_GOTO(coded_exchange(comm, hal, ref, &setting, local, halo, &code, HALO_FORWARD), status, done);
            WEFT_TRY_GOTO(is_between(&code)
                              ? WEFT_OK
                              : coded_exchange(comm, hal, ref, &setting, local, halo, &code, HALO_REVERSE),
                          status, done);
        }
        comm_halo_destroy(halo);
        halo = NULL;
    }
done:
    comm_halo_destroy(halo);
    weft_hal_close(hal);
    weft_hal_close(ref);
    free(local);
    return status;
}

static weft_status run_coded_rank(weft_comm *comm, void *argument)
{
    return coded_rank(comm, argument, COMM_DIRECT_OFF);
}

/* ---- exchanges that follow each other while the device is behind ------------------------------------------------- */

static weft_status scale_rows(weft_hal *hal, void *x, int64_t rows, double scale)
{
    const hal_mat mat = hal_mat_of(x, WEFT_DTYPE_F32, rows, CODED_WIDTH, CODED_WIDTH);
    return hal_axpby(hal, &(hal_axpby_args){.x = mat, .y = mat, .alpha = scale, .beta = 0.0});
}

/* Nothing is looked at on the way, and the matrix is written again at once: buffers are used for the next rows while
 * copies of the last ones may be to come. Between post and wait the caller works on another matrix, as the driver
 * asks. */
static weft_status chain_of(weft_comm *comm, weft_hal *hal, const halo_local *local, float (*host)[CODED_WIDTH])
{
    const size_t bytes = (size_t)local->n * sizeof host[0];
    const comm_halo_desc desc = halo_desc_of(local);
    weft_status status = WEFT_OK;
    comm_halo *halo = NULL;
    void *device = NULL, *other = NULL;
    for (int64_t i = 0; i < local->n * CODED_WIDTH; ++i) {
        host[i / CODED_WIDTH][i % CODED_WIDTH] =
            case_noise(comm_rank(comm), local->vertex[i / CODED_WIDTH] * 1000 + i % CODED_WIDTH);
    }
    WEFT_TRY_GOTO(comm_halo_create(comm, hal, &desc, CODED_WIDTH, &halo), status, done);
    WEFT_TRY_GOTO(hal->mem.alloc(hal, bytes, WEFT_MEM_WORKSPACE, &device), status, done);
    WEFT_TRY_GOTO(hal->mem.alloc(hal, bytes, WEFT_MEM_WORKSPACE, &other), status, done);
    WEFT_TRY_GOTO(hal->mem.upload(hal, device, host, bytes), status, done);
    WEFT_TRY_GOTO(hal->mem.zero(hal, other, bytes), status, done);
    for (int k = 0; k < 24; ++k) {
        const comm_halo_code code = {.codec = k % 4 == 3 ? HAL_ROWS_INT8 : HAL_ROWS_NONE,
                                     .mean_bits = k % 8 == 6 ? 4.0 : 0.0,
                                     .rounding = {.seed = 3, .purpose = 130, .epoch = (uint32_t)k}};
        const halo_direction direction = k / 2 % 2 == 0 ? HALO_FORWARD : HALO_REVERSE;
        WEFT_TRY_GOTO(comm_halo_post_coded(halo, direction, &code, WEFT_DTYPE_F32, device, CODED_WIDTH, CODED_WIDTH),
                      status, done);
        for (int i = 0; i < 64 && !comm_halo_arrived(halo); ++i) {
            WEFT_TRY_GOTO(scale_rows(hal, other, local->n, 2.0), status, done);
        }
        WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
        WEFT_TRY_GOTO(scale_rows(hal, device, local->n, 0.5), status, done);
    }
    WEFT_TRY_GOTO(hal->mem.download(hal, host, device, bytes), status, done);
done:
    comm_halo_destroy(halo);
    hal->mem.free(hal, device);
    hal->mem.free(hal, other);
    return status;
}

/* The same on ref. */
static weft_status chained_rank(weft_comm *comm, weft_hal *hal)
{
    static _Thread_local float rows[HALO_VERTICES][CODED_WIDTH], expected[HALO_VERTICES][CODED_WIDTH];
    const halo_setting setting = {.shuffled = true};
    weft_hal *ref = NULL;
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    weft_status status = weft_hal_open("ref", 1, &ref);
    status = status == WEFT_OK ? chain_of(comm, ref, local, expected) : status;
    status = status == WEFT_OK ? chain_of(comm, hal, local, rows) : status;
    for (int64_t i = 0; status == WEFT_OK && i < local->n; ++i) {
        if (!same_row(rows[i], expected[i])) {
            status = weft_fail(WEFT_ERR_INTERNAL, "a chain of exchanges: vertex %d begins with %.9g, not %.9g",
                               local->vertex[i], (double)rows[i][0], (double)expected[i][0]);
        }
    }
    weft_hal_close(ref);
    free(local);
    return status;
}

static weft_status run_chained_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(test_device(argument), 1, &hal));
    weft_status status = chained_rank(comm, hal);
    weft_hal_close(hal);
    return status;
}

/* With a thread that drives, and asks the device. */
static weft_status run_threaded_rank(weft_comm *comm, void *argument)
{
    WEFT_TRY(comm_thread_start(comm, -1));
    WEFT_TRY(run_rank(comm, argument));
    WEFT_TRY(run_coded_rank(comm, argument));
    return run_chained_rank(comm, argument);
}

static void test_backend(void **state)
{
    static const comm_thread_fn ways[] = {run_rank, run_coded_rank, run_chained_rank, run_threaded_rank};
    weft_hal *hal = NULL;
    if (!open_if_there(test_device(*state), 1, &hal)) { /* of a program for cards, where there is none */
        skip();
    }
    weft_hal_close(hal);
    for (int i = 0; i < 4 * 4; ++i) {
        const int ranks = 1 + i / 4;
        /* A thread that drives keeps a core busy: with devices that it asks, and there with two ranks. */
        if (ways[i % 4] == run_threaded_rank && (ranks != 2 || getenv("WEFT_TEST_DEVICE") == NULL)) {
            continue;
        }
        weft_status status = comm_thread_run(ranks, ways[i % 4], *state);
        if (status != WEFT_OK) {
            fail_msg("%s on %d ranks: %s: %s", (const char *)*state, ranks, weft_status_name(status),
                     weft_error_message());
        }
    }
}

/* ---- messages that lie in a device's memory ---------------------------------------------------------------------- */

static weft_status no_wait(weft_hal *hal, hal_event *event)
{
    (void)hal, (void)event;
    return WEFT_OK;
}

static weft_status always(weft_hal *hal, hal_event *event, bool *yes)
{
    (void)hal, (void)event;
    *yes = true;
    return WEFT_OK;
}

/* Takes the stream for one that is done. */
static void be_hasty(weft_hal *hal)
{
    hal->stream.wait = no_wait;
    hal->stream.reached = hal->stream.reached != NULL ? always : NULL;
}

static weft_status refuse_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    (void)hal, (void)device, (void)host, (void)bytes;
    return weft_fail(WEFT_ERR_INTERNAL, "rows that go straight are uploaded");
}

static weft_status refuse_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    (void)hal, (void)host, (void)device, (void)bytes;
    return weft_fail(WEFT_ERR_INTERNAL, "rows that go straight are downloaded");
}

static weft_status run_straight_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    char road[COMM_ROAD_BYTES];
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(test_device("shadow"), 1, &hal));
    weft_status status = comm_choose_direct(comm, hal, COMM_DIRECT_AUTO, road);
    if (status == WEFT_OK) {
        hal->mem.upload_async = refuse_upload;
        hal->mem.download_async = refuse_download;
        if (argument != NULL) {
            be_hasty(hal);
        }
        status = halo_all_settings(comm, hal);
    }
    weft_hal_close(hal);
    return status;
}

/* Coded rows go straight too, mixed ones through the host; and ranks of both kinds understand each other. */
static weft_status run_straight_coded(weft_comm *comm, void *argument)
{
    (void)argument;
    return coded_rank(comm, "shadow", comm_rank(comm) == 1 ? COMM_DIRECT_OFF : COMM_DIRECT_AUTO);
}

/* Of devices that are opened from here on. */
static void open_memory(bool open)
{
    setenv("WEFT_SHADOW_DIRECT", open ? "1" : "0", 1);
    setenv("WEFT_CUDA_SHIM_DIRECT", open ? "1" : "0", 1);
}

static bool straight_is_tried(void)
{
    weft_hal *hal = NULL;
    open_memory(true);
    ASSERT_OK(weft_hal_open(test_device("shadow"), 1, &hal));
    const bool tried = hal->mem.reach == HAL_REACH_ALL;
    weft_hal_close(hal);
    open_memory(false);
    return tried;
}

static void test_straight(void **state)
{
    (void)state;
    if (!straight_is_tried()) {
        skip(); /* a device that is no imitation: this process's copies do not reach its memory */
    }
    open_memory(true);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        assert_int_equal(comm_thread_run(ranks, run_straight_rank, NULL), WEFT_OK);
        assert_int_equal(comm_thread_run(ranks, run_straight_coded, NULL), WEFT_OK);
    }
    open_memory(false);
}

/* ---- what a device must be waited for ---------------------------------------------------------------------------- */

/* A rank that sends its staging memory without waiting for it, or overwrites what is still uploaded. */
static weft_status run_hasty_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(test_device(argument), 1, &hal));
    be_hasty(hal);
    weft_status status = halo_all_settings(comm, hal);
    weft_hal_close(hal);
    return status;
}

/* Imitated devices catch a missing wait; on backends that complete at once it makes no difference, and on a card luck
 * decides. */
static void test_missing_wait(void **state)
{
    (void)state;
    log_set_level(LOG_QUIET);
    assert_int_equal(comm_thread_run(2, run_hasty_rank, (void *)(uintptr_t) "cpu"), WEFT_OK);
    if (straight_is_tried()) {
        assert_int_not_equal(comm_thread_run(2, run_hasty_rank, (void *)(uintptr_t) "shadow"), WEFT_OK);
        open_memory(true);
        assert_int_not_equal(comm_thread_run(2, run_straight_rank, (void *)(uintptr_t) "hasty"), WEFT_OK);
        open_memory(false);
    }
}

/* ---- what a device answers to the driver ------------------------------------------------------------------------- */

static weft_status never(weft_hal *hal, hal_event *event, bool *yes)
{
    (void)hal, (void)event;
    *yes = false;
    return WEFT_OK;
}

static weft_status broken(weft_hal *hal, hal_event *event, bool *yes)
{
    (void)hal, (void)event;
    *yes = false;
    return weft_fail(WEFT_ERR_INTERNAL, "wait: the GPU says 700");
}

typedef struct answer_case {
    weft_status (*reached)(weft_hal *hal, hal_event *event, bool *yes);
    bool threaded, waits;
    weft_status expected;
    const char *text;
} answer_case;

/* An exchange whose rows never come, or come to nothing; one that nobody waits for is given up with copies to come. */
static weft_status run_answer(weft_comm *comm, void *argument)
{
    const answer_case *c = argument;
    const halo_setting setting = {.shuffled = true};
    weft_status status = WEFT_OK;
    weft_hal *hal = NULL;
    comm_halo *halo = NULL;
    void *x = NULL;
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    const comm_halo_desc desc = halo_desc_of(local);
    comm_set_stall_timeout(comm, c->expected == WEFT_ERR_STALL ? 0.2 : 60.0);
    WEFT_TRY_GOTO(c->threaded ? comm_thread_start(comm, -1) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(weft_hal_open(test_device("shadow"), 1, &hal), status, done);
    WEFT_TRY_GOTO(comm_halo_create(comm, hal, &desc, 5, &halo), status, done);
    WEFT_TRY_GOTO(hal->mem.alloc(hal, (size_t)local->n * 5 * sizeof(float), WEFT_MEM_WORKSPACE, &x), status, done);
    WEFT_TRY_GOTO(hal->mem.zero(hal, x, (size_t)local->n * 5 * sizeof(float)), status, done);
    hal->stream.reached = c->reached;
    status = comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_F32, x, 5, 5);
    status = status == WEFT_OK && c->waits ? comm_halo_wait(halo) : status;
    if (status != c->expected || strstr(weft_error_message(), c->text) == NULL) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%s instead of %s: %s", weft_status_name(status),
                           weft_status_name(c->expected), weft_error_message());
    } else {
        status = WEFT_OK;
    }
done:
    comm_halo_destroy(halo);
    if (hal != NULL) {
        hal->mem.free(hal, x);
    }
    weft_hal_close(hal);
    free(local);
    return status;
}

static void test_answers(void **state)
{
    (void)state;
    static const answer_case cases[] = {
        {.reached = never, .expected = WEFT_OK, .text = ""},
        {.reached = never, .waits = true, .expected = WEFT_ERR_STALL, .text = "has not come past the packing"},
        {.reached = broken, .waits = true, .expected = WEFT_ERR_INTERNAL, .text = "the GPU says 700"}};
    for (int i = 0; i < 2 * 3; ++i) {
        answer_case c = cases[i / 2];
        c.threaded = i % 2 == 1;
        ASSERT_OK(comm_thread_run(2, run_answer, &c));
    }
}

int main(void)
{
    enum { MOST = 16 };
    struct CMUnitTest tests[MOST];
    int count = 0;
    memset(tests, 0, sizeof tests);
    for (const hal_backend *b = weft_hal_backend_at(0); b != NULL && count < MOST - 3; b = weft_hal_backend_at(count)) {
        tests[count].name = b->name;
        tests[count].test_func = test_backend;
        tests[count].initial_state = (void *)(uintptr_t)b->name; /* cmocka takes no const */
        ++count;
    }
    tests[count].name = "straight";
    tests[count].test_func = test_straight;
    ++count;
    tests[count].name = "missing wait";
    tests[count].test_func = test_missing_wait;
    ++count;
    tests[count].name = "answers";
    tests[count].test_func = test_answers;
    ++count;
    return _cmocka_run_group_tests("halo", tests, (size_t)count, NULL, NULL);
}
