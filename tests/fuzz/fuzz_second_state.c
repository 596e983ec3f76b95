/*
 * Fuzz target: what a second-order method remembers, out of a checkpoint. The first byte chooses method, type and
 * width; then changes of 11 bytes each: the buffer (numbers, or a matrix), a place of two bytes, and eight bytes that
 * go there. The state is refused as damaged, or two steps go on from it, of which the first looks at rows and inverts.
 * Seeds: tests/fuzz/make_seeds DIR.
 */
#include "fuzz/fuzz_support.h"
#include "train/second/second.h"

enum { ROWS = 8, OUT = 2, MAPS = 2, WIDE = SECOND_WIDE + 3, CHANGE_BYTES = 11, CHANGES = 16, STATED_LIMIT = 64 << 20 };

typedef struct fuzz_model {
    weft_comm *comm;
    weft_hal *hal;
    param_store params;
    train_map map[MAPS];
    train_model model;
    int64_t id[ROWS];
    weft_tensor x[MAPS], dy;
    train_second *second;
} fuzz_model;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static weft_status put_rows(weft_hal *hal, weft_dtype dtype, int64_t cols, weft_tensor *t)
{
    static double wide[ROWS * WIDE];
    static float narrow[ROWS * WIDE];
    for (int64_t i = 0; i < ROWS * cols; i++) {
        wide[i] = (double)(i % 7) - 2.5;
        narrow[i] = (float)wide[i];
    }
    WEFT_TRY(tensor_create(hal, dtype, ROWS, cols, WEFT_MEM_WORKSPACE, t));
    return tensor_upload(t, dtype == WEFT_DTYPE_F64 ? (const void *)wide : (const void *)narrow);
}

/* variant: 1 = kfac, 2 = float64, 4 = a layer of thousands of constant columns */
static weft_status open_model(fuzz_model *m, int variant)
{
    const weft_dtype dtype = (variant & 2) != 0 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32;
    const int64_t cols[MAPS] = {(variant & 4) != 0 ? WIDE : 3, OUT};
    const second_options options = {.kind = (variant & 1) != 0 ? SECOND_KFAC : SECOND_INPUT,
                                    .damping = 0.1,
                                    .clip = 0.01,
                                    .decay = 0.5,
                                    .factors = 1,
                                    .interval = 2,
                                    .seed = 1};
    WEFT_TRY(comm_create_self(&m->comm));
    WEFT_TRY(weft_hal_open("ref", 1, &m->hal));
    param_store_begin(&m->params, m->hal, dtype);
    for (int i = 0; i < MAPS; i++) {
        m->map[i] = (train_map){.joined = i == 1, .constant = i == 0};
        m->map[i].block = param_add_block(&m->params, PARAM_GROUP_DECAY, cols[i], OUT);
        m->map[i].bias = i == 1 ? param_add_block(&m->params, PARAM_GROUP_NO_DECAY, 1, OUT) : -1;
    }
    WEFT_TRY(param_store_commit(&m->params, NULL));
    for (int i = 0; i < ROWS; i++) {
        m->id[i] = i;
    }
    for (int i = 0; i < MAPS; i++) {
        WEFT_TRY(put_rows(m->hal, dtype, cols[i], &m->x[i]));
    }
    WEFT_TRY(put_rows(m->hal, dtype, OUT, &m->dy));
    m->model = (train_model){
        .name = "fuzzed", .params = &m->params, .map = m->map, .maps = MAPS, .row_id = m->id, .row_ids = ROWS};
    return second_create(m->comm, &m->model, &options, &m->second);
}

static void close_model(fuzz_model *m)
{
    second_destroy(m->second);
    TENSOR_DESTROY_ALL(&m->x[0], &m->x[1], &m->dy);
    param_store_destroy(&m->params);
    weft_hal_close(m->hal);
    comm_destroy(m->comm);
}

static weft_status step(fuzz_model *m)
{
    const train_targets targets = {.loss_entries = ROWS};
    const train_batch batch = {.targets = &targets};
    const train_pass pass = {.training = true, .parts = 1, .batch = &batch};
    const train_tap *tap = second_tap(m->second);
    const train_preconditioner *turn = second_preconditioner(m->second);
    const bool wanted = tap->wants(tap->self, &pass);
    for (int i = MAPS - 1; wanted && i >= 0; i--) {
        const tap_rows rows = {
            .block = m->map[i].block, .rows = m->x[i].cols, .cols = OUT, .x = &m->x[i], .dy = &m->dy};
        WEFT_TRY(tap->take(tap->self, &pass, &rows));
    }
    return turn->apply(turn->self, &m->params, 0.1);
}

/* A change of the state: `record` as the head of this file says. */
static void change(const sync_buffer *buffer, int count, const uint8_t *record)
{
    const sync_buffer *b = &buffer[record[0] % count];
    const size_t words = (size_t)b->bytes / 8, place = (size_t)record[1] + 256 * (size_t)record[2];
    if (words > 0) {
        memcpy((unsigned char *)b->data + 8 * (place % words), record + 3, 8);
    }
}

static weft_status go_on(fuzz_model *m, const uint8_t *data, size_t size)
{
    const train_preconditioner *turn = second_preconditioner(m->second);
    const sync_buffer *buffer = NULL;
    int count = 0;
    WEFT_TRY(step(m));
    WEFT_TRY(turn->state(turn->self, &buffer, &count));
    for (size_t at = 1; at + CHANGE_BYTES <= size && at < CHANGES * CHANGE_BYTES; at += CHANGE_BYTES) {
        change(buffer, count, data + at);
    }
    WEFT_TRY(turn->restored(turn->self));
    WEFT_TRY(step(m));
    return step(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_model m = {.comm = NULL};
    if (size == 0) {
        return 0;
    }
    weft_status status = open_model(&m, data[0] % 8);
    const bool open = status == WEFT_OK;
    status = open ? go_on(&m, data, size) : status;
    close_model(&m);
    if (!open || (status != WEFT_OK && status != WEFT_ERR_DATA)) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        abort();
    }
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
