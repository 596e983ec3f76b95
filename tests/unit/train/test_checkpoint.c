/*
 * A checkpoint that was cut or changed anywhere is found out, with the file's name, and the one before it is used:
 * every file is cut at every length, and at random places bits are turned over. Old ones go, half-written ones go, and
 * what cannot be written leaves what was there.
 * processors: one
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/philox.h"
#include "support/folder.h"
#include "train/checkpoint/checkpoint_internal.h"

enum { ROWS = 3, COLS = 2, STEPS = 20, DAMAGES = 200 };

typedef struct small_model {
    weft_hal *hal;
    param_store params;
} small_model;

static void open_model(small_model *m, weft_dtype dtype)
{
    ASSERT_OK(weft_hal_open("ref", 1, &m->hal));
    param_store_begin(&m->params, m->hal, dtype);
    int trained = param_add_block(&m->params, PARAM_GROUP_DECAY, ROWS, COLS);
    int state = param_add_block(&m->params, PARAM_GROUP_STATE, 1, COLS);
    ASSERT_OK(param_add(&m->params, trained, 0, 0, ROWS, COLS, param_glorot(ROWS, COLS), "layer0.weight"));
    ASSERT_OK(param_add(&m->params, state, 0, 0, 1, COLS, param_constant(1.0), "layer0.running_mean"));
    ASSERT_OK(param_store_commit(&m->params, NULL));
}

static void close_model(small_model *m)
{
    param_store_destroy(&m->params);
    weft_hal_close(m->hal);
}

/* Epoch e of the training, or a step of the next: parameters are e, moments 10 e, the rank's bytes 100 + e. */
static const checkpoint_piece pieces[] = {{.name = "parameters", .item_bytes = 8, .bytes = 16},
                                          {.name = "residual of bucket 0", .item_bytes = 1, .bytes = 3},
                                          {.name = "nothing", .item_bytes = 1, .bytes = 0}};

/* Of a training in float16, from the second epoch on. */
static train_scaling scaling_at(int64_t epoch)
{
    return epoch > 1 ? (train_scaling){.scale = 96.5, .clean = 1999, .skipped = epoch} : (train_scaling){.scale = 0.0};
}

static weft_status write_place(void **state, small_model *m, checkpoint_place place)
{
    int64_t epoch = place.trained;
    checkpoint_writer writer;
    char path[FILE_PATH_MAX];
    double flat[64];
    float narrow[64];
    train_run runs[1] = {{.best_valid = 0.5, .final_test = (double)epoch, .best_epoch = epoch, .epochs = epoch}};
    const train_progress progress = {.epoch = epoch,
                                     .trained = epoch,
                                     .step = place.step,
                                     .steps = STEPS,
                                     .loss = 1.0 / 3.0,
                                     .loss_entries = 8 * place.step,
                                     .since_best = 2,
                                     .scaling = scaling_at(epoch),
                                     .result = runs};
    double moments[2] = {0.1, 2.0 / 3.0};
    const input_moments of_inputs = {.columns = 1, .mean = moments, .deviation = moments + 1};
    const checkpoint_facts facts = {.data_hash = "0123",
                                    .moments = &of_inputs,
                                    .sync = "topk",
                                    .ranks = 1,
                                    .threads = 4,
                                    .dtype = m->params.dtype,
                                    .has_ranks = true,
                                    .optimizer_steps = epoch};
    unsigned char bytes[19];
    memset(bytes, 100 + (int)epoch, sizeof bytes);
    WEFT_TRY(checkpoint_writer_begin(in_folder(state, "ckpt"), place, &writer));
    for (int file = 0; file < CHECKPOINT_FILES; ++file) {
        for (int i = 0; i < 64; ++i) {
            flat[i] = (double)epoch * (file >= FILE_FIRST ? 10 : 1) + 0.25 * i;
            narrow[i] = (float)flat[i];
        }
        const void *data = m->params.dtype == WEFT_DTYPE_F64 ? (const void *)flat : (const void *)narrow;
        ASSERT_OK(file_path(path, "%s/%s", writer.temporary, checkpoint_file_names[file]));
        ASSERT_OK(checkpoint_write_named(path, &m->params, data,
                                         file >= FILE_FIRST ? m->params.trained : m->params.elements));
    }
    ASSERT_OK(checkpoint_rank_path(path, writer.temporary, 0));
    ASSERT_OK(checkpoint_write_rank(path, pieces, 3, bytes));
    return checkpoint_writer_commit(&writer, &facts, &progress);
}

static weft_status write_epoch(void **state, small_model *m, int64_t epoch)
{
    return write_place(state, m, (checkpoint_place){.trained = epoch});
}

/* As one rank that reads its own. */
static weft_status load(const checkpoint *ck, checkpoint_which which, param_store *params)
{
    weft_comm *comm = NULL;
    WEFT_TRY(comm_create_self(&comm));
    weft_status status = checkpoint_load_shared(comm, ck, which, params);
    comm_destroy(comm);
    return status;
}

static int64_t newest(void **state)
{
    checkpoint *ck = NULL;
    ASSERT_OK(checkpoint_open(in_folder(state, "ckpt"), &ck));
    int64_t epoch = checkpoint_progress(ck)->epoch;
    checkpoint_close(ck);
    return epoch;
}

static void test_round_trip(void **state)
{
    for (int f64 = 0; f64 < 2; ++f64) {
        small_model m;
        checkpoint *ck = NULL;
        char path[FILE_PATH_MAX];
        double value = 0;
        float narrow = 0;
        unsigned char bytes[19] = {0};
        const checkpoint_piece longer[] = {{.name = "residual of bucket 0", .item_bytes = 1, .bytes = 4}};
        const checkpoint_piece other[] = {{.name = "residual of bucket 1", .item_bytes = 1, .bytes = 3}};
        const checkpoint_piece perhaps[] = {
            {.name = "residual of bucket 1", .item_bytes = 1, .bytes = 3, .optional = true},
            {.name = "residual of bucket 0", .item_bytes = 1, .bytes = 3, .optional = true},
            {.name = "residual of bucket 0", .item_bytes = 1, .bytes = 4, .optional = true},
        };
        open_model(&m, f64 == 1 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32);
        ASSERT_OK(write_epoch(state, &m, 7));
        ASSERT_OK(checkpoint_open(in_folder(state, "ckpt/epoch-00000007"), &ck));
        assert_int_equal(checkpoint_progress(ck)->since_best, 2);
        assert_int_equal(checkpoint_progress(ck)->result[0].best_epoch, 7);
        assert_int_equal(checkpoint_threads(ck), 4);
        assert_int_equal(ck->optimizer_steps, 7);
        assert_int_equal(checkpoint_dtype(ck), m.params.dtype);
        ASSERT_OK(load(ck, CHECKPOINT_BEST, &m.params));
        memcpy(&narrow, m.params.value.data, sizeof narrow);
        memcpy(&value, m.params.value.data, sizeof value);
        assert_true(f64 == 1 ? value == 7.0 : narrow == 7.0f);
        input_moments of_inputs;
        ASSERT_OK(checkpoint_moments(ck, &of_inputs));
        assert_int_equal(of_inputs.columns, 1);
        assert_true(of_inputs.mean[0] == 0.1 && of_inputs.deviation[0] == 2.0 / 3.0);
        input_moments_destroy(&of_inputs);
        ASSERT_OK(checkpoint_rank_path(path, checkpoint_path(ck), 0));
        ASSERT_OK(checkpoint_read_rank(path, pieces, 3, bytes));
        assert_true(bytes[0] == 107 && bytes[18] == 107);
        ASSERT_STATUS(checkpoint_read_rank(path, longer, 1, bytes), WEFT_ERR_DATA);
        ASSERT_MESSAGE("3 elements of 1 bytes, expected 4");
        ASSERT_STATUS(checkpoint_read_rank(path, other, 1, bytes), WEFT_ERR_DATA);
        ASSERT_MESSAGE("residual of bucket 1");
        ASSERT_OK(checkpoint_read_rank(path, perhaps, 3, bytes));
        assert_memory_equal(bytes, "\0\0\0kkk\0\0\0\0", 10); /* 107 */
        checkpoint_close(ck);
        close_model(&m);
        ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
    }
}

static void test_another_model(void **state)
{
    small_model m;
    small_model other;
    checkpoint *ck = NULL;
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_OK(write_epoch(state, &m, 7));
    ASSERT_OK(checkpoint_open(in_folder(state, "ckpt"), &ck));
    open_model(&other, WEFT_DTYPE_F64);
    ASSERT_STATUS(load(ck, CHECKPOINT_LAST, &other.params), WEFT_ERR_DATA);
    ASSERT_MESSAGE("layer0.weight");
    close_model(&other);
    open_model(&other, WEFT_DTYPE_F32);
    other.params.entry[0].shape[0] = 1;
    ASSERT_STATUS(load(ck, CHECKPOINT_LAST, &other.params), WEFT_ERR_DATA);
    other.params.entries = 1;
    other.params.entry[0].shape[0] = ROWS;
    ASSERT_STATUS(load(ck, CHECKPOINT_LAST, &other.params), WEFT_ERR_DATA);
    ASSERT_MESSAGE("2 arrays, the model has 1");
    close_model(&other);
    checkpoint_close(ck);
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

static const char *const files[] = {"manifest.json", "manifest.xxh3", "results.npy", "last.npz",
                                    "best.npz",      "first.npz",     "second.npz",  "rank-00000.npz"};

/* Damage one file of the newest checkpoint: the one before it is the newest good one, and asking for the damaged one by
 * name tells the file. */
static void expect_found(void **state, const char *file, const char *what, size_t place)
{
    checkpoint *ck = NULL;
    if (newest(state) != 1) {
        fail_msg("%s %s at byte %zu: not noticed", file, what, place);
    }
    weft_status status = checkpoint_open(in_folder(state, "ckpt/epoch-00000002"), &ck);
    if ((status != WEFT_ERR_DATA && status != WEFT_ERR_NOINPUT) || strstr(weft_error_message(), "manifest") == NULL) {
        fail_msg("%s %s at byte %zu: %s: %s", file, what, place, weft_status_name(status), weft_error_message());
    }
}

static void test_cut_anywhere(void **state)
{
    small_model m;
    char name[64];
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_OK(write_epoch(state, &m, 1));
    ASSERT_OK(write_epoch(state, &m, 2));
    assert_int_equal(newest(state), 2);
    for (size_t f = 0; f < sizeof files / sizeof *files; ++f) {
        size_t size = 0;
        snprintf(name, sizeof name, "ckpt/epoch-00000002/%s", files[f]);
        const char *path = in_folder(state, name);
        char keep[FILE_PATH_MAX];
        ASSERT_OK(file_path(keep, "%s", path));
        uint8_t *bytes = get_file(keep, &size);
        for (size_t cut = 0; cut < size; ++cut) {
            put_file(keep, bytes, cut);
            expect_found(state, files[f], "cut", cut);
        }
        put_file(keep, bytes, size + 1); /* get_file adds a zero byte */
        expect_found(state, files[f], "longer", size);
        assert_int_equal(unlink(keep), 0);
        assert_int_equal(newest(state), 1);
        put_file(keep, bytes, size);
        assert_int_equal(newest(state), 2);
        free(bytes);
    }
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

static void test_changed_anywhere(void **state)
{
    small_model m;
    char name[64];
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_OK(write_epoch(state, &m, 1));
    ASSERT_OK(write_epoch(state, &m, 2));
    for (uint32_t i = 0; i < DAMAGES; ++i) {
        size_t size = 0;
        char path[FILE_PATH_MAX];
        philox_block draw = philox4x32((philox_block){{i, 0, 0, 0}}, 20);
        snprintf(name, sizeof name, "ckpt/epoch-00000002/%s", files[i % (sizeof files / sizeof *files)]);
        ASSERT_OK(file_path(path, "%s", in_folder(state, name)));
        uint8_t *bytes = get_file(path, &size);
        size_t place = draw.word[0] % size;
        uint8_t bit = (uint8_t)(1U << (draw.word[1] % 8));
        bytes[place] ^= bit;
        put_file(path, bytes, size);
        expect_found(state, name, "changed", place);
        bytes[place] ^= bit;
        put_file(path, bytes, size);
        free(bytes);
    }
    assert_int_equal(newest(state), 2);
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

static void test_old_ones_go(void **state)
{
    small_model m;
    checkpoint *ck = NULL;
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_STATUS(checkpoint_open(in_folder(state, "ckpt"), &ck), WEFT_ERR_NOINPUT);
    for (int64_t epoch = 1; epoch <= 4; ++epoch) {
        ASSERT_OK(write_epoch(state, &m, epoch));
    }
    assert_false(file_exists(in_folder(state, "ckpt/epoch-00000002")));
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000003")));
    /* Number 4 is damaged, the training goes on from 3 and writes 5, then 4 again from another start: 5 is stale. */
    assert_int_equal(unlink(in_folder(state, "ckpt/epoch-00000004/last.npz")), 0);
    assert_int_equal(newest(state), 3);
    assert_int_equal(mkdir(in_folder(state, "ckpt/epoch-00000009.tmp-1-2-3"), 0777), 0);
    put_file(in_folder(state, "ckpt/notes.txt"), "mine", 4);
    ASSERT_OK(write_epoch(state, &m, 4));
    assert_int_equal(newest(state), 4);
    ASSERT_OK(write_epoch(state, &m, 3));
    assert_false(file_exists(in_folder(state, "ckpt/epoch-00000004")));
    assert_false(file_exists(in_folder(state, "ckpt/epoch-00000009.tmp-1-2-3")));
    assert_true(file_exists(in_folder(state, "ckpt/notes.txt")));
    /* All damaged: an error that names one, not a training from the beginning. */
    assert_int_equal(unlink(in_folder(state, "ckpt/epoch-00000003/manifest.json")), 0);
    ASSERT_STATUS(checkpoint_open(in_folder(state, "ckpt"), &ck), WEFT_ERR_DATA);
    ASSERT_MESSAGE("every checkpoint is damaged");
    ASSERT_MESSAGE("epoch-00000003");
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

/* A place within an epoch comes after the epoch's end and before the next one's, and says where it is. */
static void test_within_an_epoch(void **state)
{
    static const checkpoint_place places[] = {{1, 0}, {1, 2}, {1, 11}, {2, 0}, {2, 1}};
    small_model m;
    checkpoint *ck = NULL;
    open_model(&m, WEFT_DTYPE_F32);
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        ASSERT_OK(write_place(state, &m, places[i]));
        ASSERT_OK(checkpoint_open(in_folder(state, "ckpt"), &ck));
        const train_progress *p = checkpoint_progress(ck);
        assert_int_equal(p->trained, places[i].trained);
        assert_int_equal(p->step, places[i].step);
        assert_int_equal(p->steps, places[i].step > 0 ? STEPS : 0);
        assert_int_equal(p->loss_entries, 8 * places[i].step);
        const train_scaling wanted = scaling_at(places[i].trained);
        assert_memory_equal(&p->scaling, &wanted, sizeof wanted);
        assert_true(p->loss == (places[i].step > 0 ? 1.0 / 3.0 : 0.0));
        checkpoint_close(ck);
    }
    assert_false(file_exists(in_folder(state, "ckpt/epoch-00000001-step-00000011")));
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000002")));
    assert_int_equal(unlink(in_folder(state, "ckpt/epoch-00000002-step-00000001/last.npz")), 0);
    ASSERT_OK(checkpoint_open(in_folder(state, "ckpt"), &ck));
    assert_string_equal(progress_say(checkpoint_progress(ck)).text, "run 1, epoch 2");
    checkpoint_close(ck);
    ASSERT_OK(write_place(state, &m, places[1])); /* a training that went on from elsewhere: later ones are stale */
    ASSERT_OK(checkpoint_open(in_folder(state, "ckpt"), &ck));
    assert_string_equal(progress_say(checkpoint_progress(ck)).text, "run 1, epoch 2, step 2 of 20");
    checkpoint_close(ck);
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

/* While a training writes one checkpoint after the other, and removes each two later, what is opened is whole. On one
 * processor, and in a folder in memory, some are written while one is read. */
static void test_read_while_written(void **state)
{
    small_model m;
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_OK(write_epoch(state, &m, 1));
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int64_t epoch = 2;
        while (write_epoch(state, &m, epoch) == WEFT_OK) {
            ++epoch;
        }
        _exit(1);
    }
    int64_t last = 1;
    for (int i = 0; i < 300; ++i) {
        const int64_t now = newest(state);
        assert_true(now >= last);
        last = now;
    }
    int ended = 0;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    assert_true(last > 2);
    close_model(&m);
}

static void test_folder_that_refuses(void **state)
{
    small_model m;
    open_model(&m, WEFT_DTYPE_F32);
    ASSERT_OK(write_epoch(state, &m, 1));
    put_file(in_folder(state, "file"), "", 0);
    checkpoint_writer writer;
    ASSERT_STATUS(checkpoint_writer_begin(in_folder(state, "file"), (checkpoint_place){.trained = 2}, &writer),
                  WEFT_ERR_IO);
    ASSERT_MESSAGE("file");
    checkpoint_writer_discard(&writer);
    if (geteuid() != 0) { /* nobody refuses root */
        assert_int_equal(chmod(in_folder(state, "ckpt"), 0555), 0);
        ASSERT_STATUS(write_epoch(state, &m, 2), WEFT_ERR_PERMISSION);
        assert_int_equal(chmod(in_folder(state, "ckpt"), 0777), 0);
    }
    assert_int_equal(newest(state), 1);
    close_model(&m);
    ASSERT_OK(folder_remove(in_folder(state, "ckpt")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_another_model),
        cmocka_unit_test(test_cut_anywhere),        cmocka_unit_test(test_changed_anywhere),
        cmocka_unit_test(test_old_ones_go),         cmocka_unit_test(test_within_an_epoch),
        cmocka_unit_test(test_folder_that_refuses), cmocka_unit_test(test_read_while_written),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
