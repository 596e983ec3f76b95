/*
 * Every n-th allocation fails once, over whole commands: convert from each format, partition by each method, three
 * epochs of training. Each failing run ends with WEFT_ERR_RESOURCE and a message, frees all it took, leaves nothing
 * half-written and does not hang; a run that survives (a cache or a trace that could not be kept) is a good run.
 * Strided so that the whole stays short; WEFT_LONG=1 fails every single one.
 * trees: asan
 */
#include <dirent.h>
#include <signal.h>

#include "app/cli/command.h"
#include "app/gnn/divide/command_partition.h"
#include "app/workload/app_catalog.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/npy.h"
#include "support/folder.h"

enum {
    VERTICES = 500,
    MOST_ARGUMENTS = 20,
    PATIENCE_S = 100,
    SHARE = 100 /* failing runs of a command unless WEFT_LONG */
};

typedef struct command_case {
    weft_status (*run)(const weft_options *options);
    const char *argument[MOST_ARGUMENTS];
    const char *before; /* what is at "out" when the command starts; NULL = nothing */
    const char *kept;   /* file of it that must begin as before after a failure; a run's after any end */
} command_case;

static char current[512]; /* what runs now, for the alarm */

static void on_alarm(int number)
{
    static const char hangs[] = "hangs: ";
    (void)number;
    (void)!write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    _exit(1);
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

static void add(npz_writer *writer, const char *name, char kind, int item_bytes, int64_t rows, int64_t columns,
                const void *data)
{
    const int64_t shape[2] = {rows, columns};
    int dims = rows == 0 ? 0 : columns == 0 ? 1 : 2;
    ASSERT_OK(npz_writer_add(writer, name, kind, item_bytes, dims, shape, data));
}

static void write_weft_npz(void **state)
{
    npz_writer *w;
    ASSERT_OK(npz_writer_open(in_folder(state, "plain.npz"), &w));
    add(w, "vertices", 'i', 8, 0, 0, (const int64_t[]){4});
    add(w, "edges", 'i', 4, 4, 2, (const int32_t[]){0, 1, 1, 2, 1, 0, 3, 2});
    add(w, "features", 'u', 1, 4, 1, (const uint8_t[]){7, 8, 9, 1});
    add(w, "labels", 'i', 4, 4, 0, (const int32_t[]){0, -1, 1, 1});
    add(w, "train", 'i', 8, 1, 0, (const int64_t[]){2});
    add(w, "val", 'i', 8, 1, 0, (const int64_t[]){0});
    add(w, "test", 'i', 8, 1, 0, (const int64_t[]){3});
    ASSERT_OK(npz_writer_commit(w));
}

static void write_heterophilous(void **state)
{
    npz_writer *w;
    ASSERT_OK(npz_writer_open(in_folder(state, "heterophilous.npz"), &w));
    add(w, "node_features", 'f', 4, 3, 2, (const float[]){1, 2, 3, 4, 5, 6});
    add(w, "node_labels", 'i', 8, 3, 0, (const int64_t[]){0, 1, 1});
    add(w, "edges", 'i', 8, 2, 2, (const int64_t[]){0, 1, 2, 1});
    add(w, "train_masks", 'b', 1, 1, 3, (const uint8_t[]){1, 0, 0});
    add(w, "val_masks", 'b', 1, 1, 3, (const uint8_t[]){0, 1, 0});
    add(w, "test_masks", 'b', 1, 1, 3, (const uint8_t[]){0, 0, 1});
    ASSERT_OK(npz_writer_commit(w));
}

static void write_gnn_benchmark(void **state)
{
    npz_writer *w;
    ASSERT_OK(npz_writer_open(in_folder(state, "benchmark.npz"), &w));
    add(w, "adj_indptr", 'i', 4, 5, 0, (const int32_t[]){0, 1, 2, 3, 4});
    add(w, "adj_indices", 'i', 4, 4, 0, (const int32_t[]){1, 2, 2, 0});
    add(w, "adj_data", 'f', 4, 4, 0, (const float[]){1, 1, 1, 1});
    add(w, "adj_shape", 'i', 8, 2, 0, (const int64_t[]){4, 4});
    add(w, "attr_indptr", 'i', 4, 5, 0, (const int32_t[]){0, 2, 2, 4, 5});
    add(w, "attr_indices", 'i', 4, 5, 0, (const int32_t[]){0, 2, 1, 1, 0});
    add(w, "attr_data", 'f', 4, 5, 0, (const float[]){1, 2, 3, 4, 5});
    add(w, "attr_shape", 'i', 8, 2, 0, (const int64_t[]){4, 3});
    add(w, "labels", 'i', 8, 4, 0, (const int64_t[]){1, 3, 2, 1});
    ASSERT_OK(npz_writer_commit(w));
}

/* ---- a command -------------------------------------------------------------------------------------------------- */

static int count_entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static weft_status run_command(const command_case *c)
{
    char *argv[MOST_ARGUMENTS];
    int argc = 0;
    const option_command *command = NULL;
    weft_options *options = NULL;
    for (; c->argument[argc] != NULL; argc++) {
        argv[argc] = (char *)(uintptr_t)c->argument[argc]; /* like main's: never written to */
    }
    WEFT_TRY(option_command_find(app_catalog(), argv[0], &command));
    WEFT_TRY(option_parse(command, argc, argv, &options));
    weft_status status = c->run(options);
    option_destroy(options);
    return status;
}

/* What the command finds, always the same. */
static void put_output(const command_case *c)
{
    char command[128];
    if (c->before != NULL) {
        snprintf(command, sizeof command, "cp -r '%s' out", c->before);
        assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): of a test, with its own words
    }
}

static void check_kept(const command_case *c)
{
    char before[FILE_PATH_MAX], after[FILE_PATH_MAX];
    size_t bytes = 0, left = 0;
    if (c->kept == NULL) {
        return;
    }
    ASSERT_OK(file_path(before, "%s/%s", c->before, c->kept));
    ASSERT_OK(file_path(after, "out/%s", c->kept));
    uint8_t *was = get_file(before, &bytes);
    uint8_t *is = get_file(after, &left);
    bool same = left >= bytes && memcmp(was, is, bytes) == 0;
    free(was);
    free(is);
    if (!same) {
        fail_msg("%s: %s is not what it was", current, c->kept);
    }
}

static void remove_output(void)
{
    if (unlink("out") != 0 && file_exists("out")) { /* a file or a folder */
        ASSERT_OK(folder_remove("out"));
    }
}

/* What stands for the whole output: a store's manifest holds the checksums of its arrays. */
typedef struct witness {
    const char *path; /* NULL: of this output there is none */
    uint8_t *data;
    size_t bytes;
} witness;

static witness take_witness(void)
{
    static const char *const paths[] = {"out/manifest.json", "out/weights.npz", "out/predictions.npy"};
    witness w = {.path = NULL};
    for (size_t i = 0; i < sizeof paths / sizeof *paths && w.path == NULL; i++) {
        if (file_exists(paths[i])) {
            w.path = paths[i];
            w.data = get_file(w.path, &w.bytes);
        }
    }
    return w;
}

static void check_survivor(const witness *undisturbed)
{
    witness w = take_witness();
    bool same = (w.path == NULL) == (undisturbed->path == NULL) && w.bytes == undisturbed->bytes &&
                (w.path == NULL || memcmp(w.data, undisturbed->data, w.bytes) == 0);
    free(w.data);
    if (!same) {
        fail_msg("%s: came to its end with another result", current);
    }
}

/* Returns whether the run came to its end all the same. */
static bool fail_allocation(const command_case *c, uint64_t n, const witness *undisturbed)
{
    uint64_t live = weft_mem_usage_total().current_bytes;
    int entries = count_entries(".");
    int used = snprintf(current, sizeof current, "allocation %llu of weft", (unsigned long long)n);
    for (int i = 0; c->argument[i] != NULL; i++) {
        used += snprintf(current + used, sizeof current - (size_t)used, " %s", c->argument[i]);
    }
    put_output(c);
    weft_error_clear();
    alarm(PATIENCE_S);
    weft_alloc_fail_after(n);
    weft_status status = run_command(c);
    weft_alloc_fail_after(0);
    alarm(0);
    if (status != WEFT_OK && (status != WEFT_ERR_RESOURCE || weft_error_message()[0] == '\0')) {
        fail_msg("%s: %s: '%s'", current, weft_status_name(status), weft_error_message());
    }
    if (weft_mem_usage_total().current_bytes != live) {
        fail_msg("%s: %lld bytes are not freed (%s)", current, (long long)(weft_mem_usage_total().current_bytes - live),
                 weft_status_name(status));
    }
    if (status == WEFT_OK) {
        check_survivor(undisturbed);
    }
    /* A run folder stays and tells of the failure; stores are whole or absent. */
    if (status != WEFT_OK || c->run == app_train) {
        check_kept(c);
    }
    if (status != WEFT_OK && c->run != app_train && c->before == NULL && file_exists("out")) {
        fail_msg("%s: failed, yet its output is there", current);
    }
    remove_output();
    if (count_entries(".") != entries) {
        fail_msg("%s: left something behind", current);
    }
    return status == WEFT_OK;
}

static void fail_each_allocation(const command_case *c)
{
    static bool quiet = false;
    uint64_t survived = 0, runs = 0;
    if (!quiet) {
        log_set_level(LOG_QUIET);
        quiet = true;
    }
    /* The first run takes what the process keeps; the second counts. */
    for (int i = 0; i < 2; i++) {
        put_output(c);
        ASSERT_OK(run_command(c));
        remove_output();
    }
    put_output(c);
    uint64_t before = weft_mem_usage_total().allocations;
    double started = clock_seconds();
    ASSERT_OK(run_command(c));
    double seconds = clock_seconds() - started;
    witness undisturbed = take_witness();
    remove_output();
    uint64_t count = weft_mem_usage_total().allocations - before;
    uint64_t stride = getenv("WEFT_LONG") != NULL ? 1 : (count + SHARE - 1) / SHARE;
    assert_true(count > 0);
    for (uint64_t n = 1; n <= count; n += stride) {
        survived += fail_allocation(c, n, &undisturbed);
        runs++;
    }
    free(undisturbed.data);
    fprintf(stderr, "weft %s %s ...: %llu allocations in %.3f s, %llu failed, %llu survived\n", c->argument[0],
            c->argument[1], (unsigned long long)count, seconds, (unsigned long long)runs, (unsigned long long)survived);
}

/* ---- cases ------------------------------------------------------------------------------------------------------ */

#define CONVERT(...)                                                                                                   \
    {                                                                                                                  \
        .run = app_convert, .argument = { "convert", __VA_ARGS__, "--out", "out", "--quiet", NULL }                    \
    }
#define PARTITION(...)                                                                                                 \
    {                                                                                                                  \
        .run = gnn_command_partition, .argument = { "partition", __VA_ARGS__, "--quiet", NULL }                        \
    }
#define TRAIN(...)                                                                                                     \
    {                                                                                                                  \
        .run = app_train, .argument = {                                                                                \
            "train",                                                                                                   \
            __VA_ARGS__,                                                                                               \
            "--epochs",                                                                                                \
            "3",                                                                                                       \
            "--threads",                                                                                               \
            "2",                                                                                                       \
            "--run-dir",                                                                                               \
            "out",                                                                                                     \
            "--quiet",                                                                                                 \
            NULL                                                                                                       \
        }                                                                                                              \
    }

/* Inputs of the other formats are made by convert itself. */
static const char *const layouts[][2] = {
    {"ogb", "in-ogb"},     {"ogb-binary", "in-papers"},    {"dgl-reddit", "in-reddit"}, {"graphsaint", "in-saint"},
    {"metis", "in.graph"}, {"matrix-market", "in.mtx.gz"}, {"edge-list", "in.txt"},
};

/* Few small images. */
#define PICTURES "synth:images,n=8,size=8,channels=1,classes=2,test=24"

static const command_case converts[] = {
    CONVERT("plain.npz"),
    CONVERT("heterophilous.npz", "--symmetrize", "off"),
    CONVERT("benchmark.npz"),
    CONVERT("synth:rmat,scale=6,edge-factor=4"),
    CONVERT("synth:quickstart,scale=0.01"),
    CONVERT("in-ogb"),
    CONVERT("in-papers"),
    CONVERT("in-reddit"),
    CONVERT("in-saint"),
    CONVERT("in.graph"),
    CONVERT("in.mtx.gz"),
    CONVERT("in.txt", "--features", "feature.csv", "--labels", "label.csv", "--random-split", "60/20/20"),
    CONVERT("store", "--to", "ogb"),
    CONVERT("store", "--to", "ogb-binary"),
    CONVERT("store", "--to", "graphsaint"),
    CONVERT("store", "--to", "edge-list"),
    CONVERT("plain.npz", "--features", "spectral:2", "--symmetrize", "off"),
    CONVERT("plain.npz", "--features", "degree", "--symmetrize", "off", "--memory", "64M"),
    {.run = app_convert,
     .argument = {"convert", "plain.npz", "--out", "out", "--force", "--quiet", NULL},
     .before = "store",
     .kept = "manifest.json"},
};

static const command_case partitions[] = {
    PARTITION("store", "--parts", "3", "--method", "metis", "--save", "off"),
    PARTITION("store", "--parts", "3", "--method", "libra", "--save", "off"),
    PARTITION("store", "--parts", "3", "--method", "edgecut", "--save", "off"),
    PARTITION("store", "--parts", "4", "--method", "2d", "--save", "off"),
    PARTITION("store", "--parts", "3", "--method", "random", "--save", "on", "--json"),
};

static const command_case trainings[] = {
    TRAIN("--data", "store"),
    TRAIN("--data", "store", "--model", "gcn", "--norm", "batch", "--trace"),
    TRAIN("--data", "store", "--model", "mlp", "--runs", "2", "--backend", "ref"),
    TRAIN("--data", "store", "--checkpoint-every", "1", "--init-weights", "trained"),
    {.run = app_train,
     .argument = {"train", "--data", "store", "--epochs", "4", "--threads", "2", "--run-dir", "out",
                  "--checkpoint-every", "1", "--resume", "--quiet", NULL},
     .before = "begun",
     .kept = "metrics.jsonl"},
};

static const command_case models[] = {
    {.run = app_eval, .argument = {"eval", "--data", "store", "--checkpoint", "trained", "--quiet", NULL}},
    {.run = app_predict,
     .argument = {"predict", "--data", "store", "--checkpoint", "trained", "--out", "out", "--quiet", NULL}},
    {.run = app_export, .argument = {"export", "trained", "--out", "out", "--quiet", NULL}},
    {.run = app_focus,
     .argument = {"focus", "query", "--data", PICTURES, "--index", "out/a.idx", "--expensive", "network", "--class",
                  "1", "--labels", "10", "--quiet", NULL},
     .before = "indexed",
     .kept = "a.idx"},
};

static void fail_each_of(const command_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fail_each_allocation(&cases[i]);
    }
}

static void test_convert(void **state)
{
    (void)state;
    fail_each_of(converts, sizeof converts / sizeof *converts);
}

static void test_partition(void **state)
{
    (void)state;
    fail_each_of(partitions, sizeof partitions / sizeof *partitions);
}

static void test_train(void **state)
{
    (void)state;
    fail_each_of(trainings, sizeof trainings / sizeof *trainings);
}

static void test_models(void **state)
{
    (void)state;
    fail_each_of(models, sizeof models / sizeof *models);
}

static void write_tables(void **state, int64_t vertices)
{
    FILE *feature = fopen(in_folder(state, "feature.csv"), "we");
    FILE *label = fopen(in_folder(state, "label.csv"), "we");
    assert_true(feature != NULL && label != NULL);
    for (int64_t v = 0; v < vertices; v++) {
        fprintf(feature, "%lld,%g\n", (long long)v, 0.5 * (double)v);
        fprintf(label, "%lld\n", (long long)(v % 3));
    }
    assert_true(fclose(feature) == 0 && fclose(label) == 0);
}

/* A run of four epochs as it was after three. */
static void interrupt_run(void)
{
    size_t bytes = 0;
    ASSERT_OK(folder_remove("begun/ckpt/epoch-00000004"));
    uint8_t *text = get_file("begun/metrics.jsonl", &bytes);
    const uint8_t *end = text;
    for (int line = 0; line < 3; line++) {
        end = (const uint8_t *)strchr((const char *)end, '\n') + 1;
    }
    put_file("begun/metrics.jsonl", text, (size_t)(end - text));
    free(text);
}

static int setup(void **state)
{
    static const command_case make[] = {
        {.run = app_convert,
         .argument = {"convert", "synth:quickstart,scale=0.005", "--out", "store", "--quiet", NULL}},
        {.run = app_train,
         .argument = {"train", "--data", "store", "--epochs", "2", "--run-dir", "trained", "--quiet", NULL}},
        {.run = app_train,
         .argument = {"train", "--data", "store", "--epochs", "4", "--threads", "2", "--run-dir", "begun",
                      "--checkpoint-every", "1", "--quiet", NULL}},
        {.run = app_train,
         .argument = {"train", "--data", PICTURES, "--model", "mlp", "--epochs", "1", "--run-dir", "network", "--quiet",
                      NULL}},
        {.run = app_focus,
         .argument = {"focus", "ingest", "--data", PICTURES, "--cheap", "network", "--index", "indexed/a.idx",
                      "--quiet", NULL}},
    };
    log_set_level(LOG_QUIET);
    signal(SIGALRM, on_alarm);
    if (folder_setup(state) != 0 || chdir(*state) != 0) {
        return -1;
    }
    write_weft_npz(state);
    write_heterophilous(state);
    write_gnn_benchmark(state);
    write_tables(state, VERTICES);
    ASSERT_OK(folder_make("indexed"));
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        ASSERT_OK(run_command(&make[i]));
    }
    interrupt_run();
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const command_case write = {
            .run = app_convert,
            .argument = {"convert", "store", "--to", layouts[i][0], "--out", layouts[i][1], "--quiet", NULL}};
        ASSERT_OK(run_command(&write));
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_partition),
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, setup, folder_teardown);
}
