/*
 * Fuzz target: what modes of synchronisation remember, out of a checkpoint. The first byte chooses the mode; then
 * changes of 11 bytes each: the buffer, the word, whether all ranks or one have it, and the word's value. Two ranks on
 * threads: sync_restored refuses the state on both, or both take two steps and end, without a stall. Seeds:
 * tests/fuzz/make_seeds DIR.
 */
#include "comm/comm.h"
#include "comm/sync/sync.h"
#include "fuzz/fuzz_support.h"

enum { RANKS = 2, TRAINED = 24, ELEMENTS = 26, CHANGE_BYTES = 11, CHANGES = 16, STATED_LIMIT = 64 << 20 };

typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

static const char *sites;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char path[FILE_PATH_MAX];
    static const char text[] = "one: 0\nother: 1\n";
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    const char *folder = fuzz_folder();
    fuzz_put(folder, "sites", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/sites", folder);
    sites = path;
    return 0;
}

static sync_options options_of(int variant)
{
    sync_options options = sync_options_default();
    static const sync_mode modes[] = {SYNC_DIVIDE_SHUFFLE, SYNC_SHADOW, SYNC_SHADOW, SYNC_SHADOW, SYNC_ASP,
                                      SYNC_TOPK,           SYNC_TOPK};
    options.mode = modes[variant % 7];
    options.shadow.algorithm = (sync_shadow_algorithm)((variant + 2) % 3);
    options.shadow.gap = 2;
    options.asp.sites = sites;
    options.topk.exchange = variant % 7 == 5 ? SPARSE_OK_TOPK : SPARSE_ALL_GATHER;
    options.topk.select.method = variant % 7 == 5 ? SELECT_REUSE : SELECT_RADIX;
    options.topk.dense_below = 1;
    options.topk.density = 0.2;
    options.topk.warmup = 4;
    options.topk.momentum = 0.5;
    return options;
}

static weft_status step(comm_sync *sync, float *value, float *grad, int rank)
{
    WEFT_TRY(sync_begin(sync, 0.1, 1.0));
    for (int i = 0; i < TRAINED; i++) {
        grad[i] = 0.1f * value[i] + 0.01f * (float)(i % (rank + 2));
    }
    WEFT_TRY(sync_gradients(sync));
    for (int i = 0; i < TRAINED; i++) {
        value[i] -= 0.1f * grad[i];
    }
    return sync_parameters(sync);
}

/* Counters alone: numbers of a vector that are none would be a training that diverges. */
static bool counts(const sync_buffer *buffer)
{
    static const char *const words[] = {"step", "knobs", "counters", "clocks", "selection", "exchange"};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        found = found || strstr(buffer->name, words[i]) != NULL;
    }
    return found;
}

static void change(const sync_buffer *buffer, int count, int rank, const uint8_t *record)
{
    const sync_buffer *b = &buffer[record[0] % count];
    const int64_t words = b->bytes / 8;
    if (words > 0 && counts(b) && (record[2] % 2 == 0 || rank == RANKS - 1)) {
        memcpy((unsigned char *)b->data + (int64_t)(record[1] % words) * 8, record + 3, 8);
    }
}

static weft_status go_on(comm_sync *sync, const fuzz_input *input, float *value, float *grad, int rank)
{
    const sync_buffer *buffer = NULL;
    int count = 0;
    WEFT_TRY(step(sync, value, grad, rank));
    WEFT_TRY(sync_state(sync, &buffer, &count));
    for (size_t at = 1; at + CHANGE_BYTES <= input->size && at < CHANGES * CHANGE_BYTES; at += CHANGE_BYTES) {
        change(buffer, count, rank, input->data + at);
    }
    WEFT_TRY(sync_restored(sync));
    WEFT_TRY(step(sync, value, grad, rank));
    WEFT_TRY(step(sync, value, grad, rank));
    return sync_finish(sync);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    static const sync_bucket bucket[] = {{12, 12}, {0, 12}};
    static const sync_tensor tensor = {"w", 0, 4, 6};
    const fuzz_input *input = argument;
    float value[ELEMENTS], grad[TRAINED] = {0};
    comm_sync *sync = NULL;
    for (int i = 0; i < ELEMENTS; i++) {
        value[i] = 1.0f - 0.1f * (float)i;
    }
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = value,
                            .grad = grad,
                            .trained = TRAINED,
                            .elements = ELEMENTS,
                            .bucket = bucket,
                            .buckets = 2,
                            .tensor = &tensor,
                            .tensors = 1};
    const sync_options options = options_of(input->data[0]);
    comm_set_stall_timeout(comm, 5.0);
    WEFT_TRY(sync_create(comm, &options, &desc, &sync));
    weft_status status = sync_reset(sync);
    status = status == WEFT_OK ? go_on(sync, input, value, grad, comm_rank(comm)) : status;
    sync_destroy(sync);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {.data = data, .size = size};
    if (size == 0) {
        return 0;
    }
    const weft_status status = comm_thread_run(RANKS, run_rank, &input);
    if (status != WEFT_OK && status != WEFT_ERR_DATA) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        abort();
    }
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
