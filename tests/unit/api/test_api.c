/* The public library: options, context, graph, partition and training, through include/weft alone. */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "support/folder.h"
#include "weft/context.h"
#include "weft/graph.h"
#include "weft/options.h"
#include "weft/partition.h"
#include "weft/predictor.h"
#include "weft/trainer.h"

enum { N = 60, FEATURES = 3, SPLITS = 2 };

/* A ring with chords: v hears from v - 1, v + 1 and v + N/2, so every row has three sources. */
typedef struct ring {
    int64_t offset[N + 1];
    int32_t source[3 * N];
    float feature[N * FEATURES];
    int32_t label[N];
    uint8_t split[SPLITS * N];
    weft_graph_arrays arrays;
} ring;

static int compare_ids(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static void make_ring(ring *r)
{
    memset(r, 0, sizeof *r);
    for (int32_t v = 0; v < N; ++v) {
        int32_t *row = r->source + 3 * v;
        row[0] = (v + N - 1) % N;
        row[1] = (v + 1) % N;
        row[2] = (v + N / 2) % N;
        qsort(row, 3, sizeof *row, compare_ids);
        r->offset[v + 1] = 3 * (v + 1);
        r->label[v] = v >= N / 2;
        for (int f = 0; f < FEATURES; ++f) {
            r->feature[v * FEATURES + f] = (float)(v * f) / N;
        }
        r->split[v] = (uint8_t)(v % 5 == 0 ? 2 : v % 5 == 1 ? 1 : 0);
        r->split[N + v] = (uint8_t)(v % 2 == 0 ? 0 : 255);
    }
    r->arrays = (weft_graph_arrays){.vertices = N,
                                    .edges = 3 * N,
                                    .features = FEATURES,
                                    .classes = 2,
                                    .splits = SPLITS,
                                    .symmetric = true,
                                    .offset = r->offset,
                                    .source = r->source,
                                    .feature = r->feature,
                                    .label = r->label,
                                    .split = r->split,
                                    .name = "ring"};
}

static const char *text_of(const weft_options *options, const char *name)
{
    const char *text = NULL;
    ASSERT_OK(weft_options_get(options, name, &text));
    return text;
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

static void options_take_names_and_texts(void **state)
{
    (void)state;
    weft_options *options = NULL;
    const char *text = NULL;
    ASSERT_OK(weft_options_create("train", &options));
    assert_string_equal(text_of(options, "epochs"), "200");
    ASSERT_OK(weft_options_set(options, "epochs", "7"));
    ASSERT_OK(weft_options_set(options, "epochs", "8")); /* the last one counts */
    assert_string_equal(text_of(options, "epochs"), "8");
    ASSERT_OK(weft_options_set(options, "wd", "0.5")); /* an alias, and '_' for '-' */
    assert_string_equal(text_of(options, "weight_decay"), "0.5");
    ASSERT_OK(weft_options_set(options, "reproducible", "yes"));
    assert_string_equal(text_of(options, "reproducible"), "on");

    ASSERT_STATUS(weft_options_set(options, "epoch", "3"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean epochs?");
    ASSERT_STATUS(weft_options_set(options, "epochs", "many"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("epochs = many");
    ASSERT_STATUS(weft_options_set(options, "dropout", "1.5"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("0.999");
    ASSERT_STATUS(weft_options_set(options, "help", "model"), WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_options_set(options, "config", "a.conf"), WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_options_set(options, "parts", "3"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("partition");
    ASSERT_STATUS(weft_options_get(options, "hiden", &text), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean hidden?");
    assert_string_equal(text_of(options, "epochs"), "8"); /* nothing has changed */
    assert_string_equal(text_of(options, "dropout"), "0.5");
    weft_options_destroy(options);
    weft_options_destroy(NULL);

    ASSERT_STATUS(weft_options_create("trian", &options), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("train");
    assert_null(options);
}

static void config_files_give_way_to_the_program(void **state)
{
    static const char text[] = "[model]\nhidden = 64\nlayers = 3\n";
    const char *path = in_folder(state, "a.conf");
    put_file(path, text, sizeof text - 1);
    for (int program_first = 0; program_first < 2; ++program_first) {
        weft_options *options = NULL;
        ASSERT_OK(weft_options_create("train", &options));
        if (program_first) {
            ASSERT_OK(weft_options_set(options, "hidden", "32"));
        }
        ASSERT_OK(weft_options_load(options, path));
        assert_string_equal(text_of(options, "hidden"), program_first ? "32" : "64");
        ASSERT_OK(weft_options_set(options, "hidden", "32"));
        assert_string_equal(text_of(options, "hidden"), "32");
        assert_string_equal(text_of(options, "layers"), "3");
        weft_options_destroy(options);
    }
    weft_options *options = NULL;
    ASSERT_OK(weft_options_create("train", &options));
    ASSERT_STATUS(weft_options_load(options, in_folder(state, "absent.conf")), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("absent.conf");
    put_file(path, "hidden = wide\n", 14);
    ASSERT_STATUS(weft_options_load(options, path), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("line 1");
    weft_options_destroy(options);
}

/* ---- context ---------------------------------------------------------------------------------------------------- */

static void a_context_knows_its_place(void **state)
{
    (void)state;
    weft_options *options = NULL;
    weft_context *context = NULL;
    ASSERT_OK(weft_options_create("train", &options));
    ASSERT_OK(weft_options_set(options, "quiet", "on"));
    ASSERT_OK(weft_options_set(options, "threads", "1"));
    ASSERT_OK(weft_options_set(options, "backend", "ref"));
    ASSERT_OK(weft_context_create(options, &context));
    assert_int_equal(weft_context_rank(context), 0);
    assert_int_equal(weft_context_size(context), 1);
    assert_int_equal(weft_context_threads(context), 1);
    assert_string_equal(weft_context_backend(context), "ref");
    weft_context_destroy(context);

    ASSERT_STATUS(weft_options_set(options, "backend", "gpu"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--backend cuda");
    ASSERT_OK(weft_options_set(options, "verbose", "on"));
    ASSERT_STATUS(weft_context_create(options, &context), WEFT_ERR_USAGE);
    assert_null(context);
    ASSERT_MESSAGE("--quiet");
    weft_context_destroy(NULL);
    weft_options_destroy(options);
}

/* ---- graph ------------------------------------------------------------------------------------------------------ */

static void what_is_written_is_read_back(void **state)
{
    const char *path = in_folder(state, "ring.weft");
    static ring r;
    weft_graph *graph = NULL;
    weft_graph_arrays a;
    make_ring(&r);
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    for (int split = 0; split < SPLITS; ++split) {
        ASSERT_OK(weft_graph_open(path, split, &graph));
        ASSERT_OK(weft_graph_validate(graph));
        assert_int_equal(weft_graph_splits(graph), SPLITS);
        weft_graph_get(graph, &a);
        assert_int_equal(a.vertices, N);
        assert_int_equal(a.edges, 3 * N);
        assert_int_equal(a.features, FEATURES);
        assert_int_equal(a.classes, 2);
        assert_int_equal(a.tasks, 0);
        assert_int_equal(a.splits, 1);
        assert_true(a.symmetric);
        assert_string_equal(a.name, "ring");
        assert_null(a.source64);
        assert_null(a.target);
        assert_memory_equal(a.offset, r.offset, sizeof r.offset);
        assert_memory_equal(a.source, r.source, sizeof r.source);
        assert_memory_equal(a.feature, r.feature, sizeof r.feature);
        assert_memory_equal(a.label, r.label, sizeof r.label);
        assert_memory_equal(a.split, r.split + split * N, N);
        weft_graph_close(graph);
    }
    weft_graph_close(NULL);
    ASSERT_STATUS(weft_graph_open(path, SPLITS, &graph), WEFT_ERR_USAGE);
    assert_null(graph);
    ASSERT_STATUS(weft_graph_open(in_folder(state, "absent.weft"), 0, &graph), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("absent.weft");
    ASSERT_STATUS(weft_graph_write(path, &r.arrays, false), WEFT_ERR_USAGE); /* it exists */
    ASSERT_OK(weft_graph_write(path, &r.arrays, true));

    /* An open graph's arrays are a graph to write. */
    ASSERT_OK(weft_graph_open(path, 1, &graph));
    weft_graph_get(graph, &a);
    ASSERT_OK(weft_graph_write(in_folder(state, "copy.weft"), &a, false));
    weft_graph_close(graph);
}

/* Each spoils one thing; nothing is written, and the message names what is wrong. */
static void wrong_arrays_are_refused(void **state)
{
    const char *path = in_folder(state, "wrong.weft");
    static ring r;
    static const int64_t wide[1];
    static const float target[N];
    make_ring(&r);
#define REFUSED(spoil, status, text)                                                                                   \
    do {                                                                                                               \
        make_ring(&r);                                                                                                 \
        spoil;                                                                                                         \
        ASSERT_STATUS(weft_graph_write(path, &r.arrays, false), status);                                               \
        ASSERT_MESSAGE(text);                                                                                          \
        assert_int_not_equal(access(path, F_OK), 0);                                                                   \
    } while (0)
    REFUSED(r.arrays.vertices = 0, WEFT_ERR_USAGE, "0 vertices");
    REFUSED(r.arrays.vertices = INT64_C(1) << 31, WEFT_ERR_UNSUPPORTED, "2147483647");
    REFUSED(r.arrays.offset = NULL, WEFT_ERR_USAGE, "offset");
    REFUSED(r.arrays.source = NULL, WEFT_ERR_USAGE, "source");
    REFUSED(r.arrays.source64 = wide, WEFT_ERR_UNSUPPORTED, "source64");
    REFUSED(r.arrays.edges = -1, WEFT_ERR_USAGE, "edges");
    REFUSED(r.arrays.features = 0, WEFT_ERR_USAGE, "features");
    REFUSED(r.arrays.classes = 0, WEFT_ERR_USAGE, "classes");
    REFUSED(r.arrays.splits = 0, WEFT_ERR_USAGE, "splits");
    REFUSED(r.arrays.tasks = 1, WEFT_ERR_USAGE, "target");
    REFUSED(r.arrays.target = target, WEFT_ERR_USAGE, "label and target");
    REFUSED(r.offset[0] = 1, WEFT_ERR_DATA, "offset");
    REFUSED(r.offset[N] = 3 * N - 1, WEFT_ERR_DATA, "offset");
    REFUSED(r.source[5] = N, WEFT_ERR_DATA, "source");
    REFUSED(r.source[5] = r.source[4], WEFT_ERR_DATA, "row 1");
    REFUSED(r.source[0] = 2, WEFT_ERR_DATA, "reverse");
    REFUSED(r.feature[4] = NAN, WEFT_ERR_DATA, "feature, row 1, column 1");
    REFUSED(r.label[9] = 2, WEFT_ERR_DATA, "label, row 9");
    REFUSED(r.split[N + 3] = 7, WEFT_ERR_DATA, "split 1, row 3: 7");
    REFUSED(r.arrays.name = "a name that is longer than the sixty-three bytes that the manifest keeps", WEFT_ERR_USAGE,
            "63");
#undef REFUSED
}

/* ---- partition -------------------------------------------------------------------------------------------------- */

/* The replication factor counted the obvious way: a matrix of vertices and parts. */
static double count_replicas(const ring *r, const uint16_t *edge_part, const uint16_t *root, int parts, int64_t *cut)
{
    static bool held[N][16];
    int64_t sum = 0;
    memset(held, 0, sizeof held);
    *cut = 0;
    for (int v = 0; v < N; ++v) {
        assert_true(root[v] < parts);
        held[v][root[v]] = true;
        for (int64_t e = r->offset[v]; e < r->offset[v + 1]; ++e) {
            assert_true(edge_part[e] < parts);
            held[v][edge_part[e]] = true;
            held[r->source[e]][edge_part[e]] = true;
            *cut += root[v] != root[r->source[e]];
        }
    }
    for (int v = 0; v < N; ++v) {
        for (int p = 0; p < parts; ++p) {
            sum += held[v][p];
        }
    }
    return (double)sum / N;
}

static void partitions_are_what_they_report(void **state)
{
    static const char *const methods[] = {"random", "libra", "2d", "edgecut", "expand"};
    const char *path = in_folder(state, "parts.weft");
    static ring r;
    weft_options *options = NULL;
    weft_options *train = NULL;
    weft_graph *graph = NULL;
    weft_partition *partition = NULL;
    weft_partition_report report;
    make_ring(&r);
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    ASSERT_OK(weft_graph_open(path, 0, &graph));
    ASSERT_OK(weft_options_create("partition", &options));
    ASSERT_OK(weft_options_set(options, "parts", "4"));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        int64_t cut = 0;
        ASSERT_OK(weft_options_set(options, "method", methods[i]));
        ASSERT_OK(weft_partition_compute(graph, options, &partition, &report));
        assert_int_equal(weft_partition_parts(partition), 4);
        double replicas =
            count_replicas(&r, weft_partition_edge_part(partition), weft_partition_root(partition), 4, &cut);
        ASSERT_NEAR(report.replication_factor, replicas, 1e-12);
        assert_int_equal(report.cut_edges, cut);
        weft_partition_destroy(partition);
    }
    ASSERT_OK(weft_options_set(options, "parts", "1"));
    ASSERT_OK(weft_partition_compute(graph, options, &partition, NULL));
    assert_null(weft_partition_root(partition));
    assert_null(weft_partition_edge_part(partition));
    weft_partition_destroy(partition);
    weft_partition_destroy(NULL);

    ASSERT_OK(weft_options_create("train", &train));
    ASSERT_STATUS(weft_partition_compute(graph, train, &partition, &report), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft_options_create(\"partition\"");
    assert_null(partition);
    weft_options_destroy(train);
    weft_options_destroy(options);
    weft_graph_close(graph);
}

/* ---- trainer ---------------------------------------------------------------------------------------------------- */

static weft_options *training(void **state, const char *data, const char *run)
{
    weft_options *options = NULL;
    ASSERT_OK(weft_options_create("train", &options));
    ASSERT_OK(weft_options_set(options, "data", data));
    ASSERT_OK(weft_options_set(options, "run-dir", in_folder(state, run)));
    ASSERT_OK(weft_options_set(options, "epochs", "30"));
    ASSERT_OK(weft_options_set(options, "lr", "0.05"));
    ASSERT_OK(weft_options_set(options, "dropout", "0"));
    ASSERT_OK(weft_options_set(options, "quiet", "on"));
    return options;
}

/* Standard output goes to a file while weft_train runs: it must stay empty. */
static weft_status train_silently(void **state, const weft_options *options, weft_train_result *result)
{
    const char *path = in_folder(state, "stdout");
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(kept >= 0 && file >= 0);
    assert_true(dup2(file, STDOUT_FILENO) >= 0);
    weft_status status = weft_train(options, result);
    fflush(stdout);
    off_t bytes = lseek(STDOUT_FILENO, 0, SEEK_END);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(file);
    close(kept);
    assert_int_equal(bytes, 0);
    return status;
}

/* Labels are features: the model must learn them, in a known number of parameters. */
static void training_returns_its_figures(void **state)
{
    const char *path = in_folder(state, "learnable.weft");
    static ring r;
    weft_train_result result;
    make_ring(&r);
    for (int v = 0; v < N; ++v) {
        r.feature[v * FEATURES] = (float)(r.label[v] == 0 ? -1 : 1);
    }
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    weft_options *options = training(state, path, "run");
    ASSERT_OK(weft_options_set(options, "model", "mlp"));
    ASSERT_OK(weft_options_set(options, "hidden", "16"));
    ASSERT_OK(weft_options_set(options, "runs", "2"));
    ASSERT_OK(train_silently(state, options, &result));
    assert_int_equal(result.rank, 0);
    assert_int_equal(result.ranks, 1);
    assert_true(result.threads >= 1);
    assert_int_equal(result.runs, 2);
    assert_int_equal(result.epochs, 60);
    assert_int_equal(result.parameters, FEATURES * 16 + 16 + 16 * 2 + 2);
    ASSERT_NEAR(result.test_mean, 1.0, 1e-12);
    ASSERT_NEAR(result.test_std, 0.0, 1e-12);
    ASSERT_NEAR(result.valid_mean, 1.0, 1e-12);
    assert_true(result.epoch_s_median > 0 && result.epoch_s_q1 <= result.epoch_s_median &&
                result.epoch_s_median <= result.epoch_s_q3 && result.seconds >= 60 * result.epoch_s_q1 / 2);
    assert_true(result.predicted_peak_bytes > 0);
    assert_string_equal(result.run_dir, in_folder(state, "run"));
    char summary[FILE_PATH_MAX + 16];
    snprintf(summary, sizeof summary, "%s/summary.json", result.run_dir);
    assert_int_equal(access(summary, R_OK), 0);

    /* The folder holds a run now. */
    ASSERT_STATUS(weft_train(options, &result), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--force");
    assert_int_equal(result.runs, 0);
    ASSERT_OK(weft_options_set(options, "force", "on"));
    ASSERT_OK(weft_options_set(options, "dry-run", "on"));
    ASSERT_OK(train_silently(state, options, &result));
    assert_int_equal(result.runs, 0);
    assert_true(result.predicted_peak_bytes > 0);
    assert_string_equal(result.run_dir, "");
    weft_options_destroy(options);
}

/* Weights need no check of their inputs, whatever kind the model is. */
static void weights_of_clicks_open(void **state)
{
    weft_train_result result;
    weft_weights *weights = NULL;
    const int64_t *shape = NULL;
    weft_options *options = training(state, "synth:clicks,rows=2k,ids=100,fields=2,numbers=3", "clicks");
    ASSERT_OK(weft_options_set(options, "model", "lr"));
    ASSERT_OK(weft_options_set(options, "epochs", "1"));
    ASSERT_OK(train_silently(state, options, &result));
    ASSERT_OK(weft_weights_open(result.run_dir, &weights));
    int found = 0;
    for (int i = 0; i < weft_weights_count(weights); ++i) {
        if (strcmp(weft_weights_name(weights, i), "linear.numbers") == 0) {
            assert_int_equal(weft_weights_shape(weights, i, &shape), 1);
            assert_int_equal(shape[0], 3);
            ++found;
        }
    }
    assert_int_equal(found, 1);
    weft_weights_destroy(weights);
    weft_options_destroy(options);
}

/* What the watch of a training saw. */
typedef struct seen {
    int64_t epochs, stop_after;
    double loss, valid;
} seen;

static void see_epoch(void *self, const weft_train_epoch *epoch)
{
    seen *s = self;
    assert_int_equal(epoch->epoch, ++s->epochs);
    s->loss = epoch->loss;
    s->valid = epoch->valid;
}

static bool enough(void *self)
{
    const seen *s = self;
    return s->stop_after > 0 && s->epochs + 1 >= s->stop_after; /* asked before the epoch is told */
}

/* A training that was asked to stop, and goes on, ends where one in one piece does. */
static void a_watch_hears_of_epochs_and_stops(void **state)
{
    const char *path = in_folder(state, "watched.weft");
    static ring r;
    make_ring(&r);
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    weft_train_result whole, stopped, rest;
    seen all = {.stop_after = 0}, first = {.stop_after = 4}, last = {.epochs = 4};
    weft_options *options = training(state, path, "watched");
    ASSERT_OK(weft_train_watched(options, &(weft_train_watch){&all, see_epoch, enough}, &whole));
    assert_int_equal(all.epochs, whole.epochs);
    assert_true(all.loss > 0 && all.valid >= 0 && all.valid <= 1);

    ASSERT_OK(weft_options_set(options, "run-dir", in_folder(state, "in-two")));
    ASSERT_STATUS(weft_train_watched(options, &(weft_train_watch){&first, see_epoch, enough}, &stopped), WEFT_STOPPED);
    ASSERT_MESSAGE("--resume");
    assert_int_equal(first.epochs, 4);
    ASSERT_OK(weft_options_set(options, "resume", "on"));
    ASSERT_OK(weft_train_watched(options, &(weft_train_watch){&last, see_epoch, NULL}, &rest));
    assert_int_equal(last.epochs, whole.epochs);
    assert_true(last.loss == all.loss && rest.test_mean == whole.test_mean);
    weft_options_destroy(options);
}

static weft_answers *asked(const char *command, const char *model, const char *data)
{
    weft_options *options = NULL;
    weft_answers *answers = NULL;
    ASSERT_OK(weft_options_create(command, &options));
    ASSERT_OK(weft_options_set(options, "checkpoint", model));
    ASSERT_OK(weft_options_set(options, "data", data));
    ASSERT_OK(weft_options_set(options, "quiet", "on"));
    ASSERT_OK(strcmp(command, "eval") == 0 ? weft_eval(options, &answers) : weft_predict(options, &answers));
    weft_options_destroy(options);
    return answers;
}

/* Scores of weft_eval are those of the training, and the share of right answers that its logits give. */
static void an_evaluation_scores(void **state)
{
    static ring r;
    weft_train_result result;
    weft_scores scores, predicted;
    make_ring(&r);
    const char *path = in_folder(state, "scored.weft"), *bare = in_folder(state, "unlabelled.weft");
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    r.arrays.label = NULL;
    r.arrays.split = NULL;
    r.arrays.classes = r.arrays.splits = 0;
    ASSERT_OK(weft_graph_write(bare, &r.arrays, false));
    weft_options *options = training(state, path, "scored");
    ASSERT_OK(weft_options_set(options, "epochs", "3"));
    ASSERT_OK(train_silently(state, options, &result));
    weft_options_destroy(options);

    weft_answers *answers = asked("eval", result.run_dir, path);
    weft_answers_scores(answers, &scores);
    assert_int_equal(weft_answers_width(answers), 2);
    int64_t right = 0, rows = 0;
    for (int64_t i = 0; i < weft_answers_rows(answers); ++i) {
        const float *logit = weft_answers_values(answers) + 2 * i;
        const int64_t v = weft_answers_id(answers, i);
        rows += r.split[v] == 2;
        right += r.split[v] == 2 && (logit[1] > logit[0]) == (r.label[v] == 1);
    }
    assert_true(scores.labelled && rows == N / 5 && scores.test == result.test_mean &&
                scores.valid == result.valid_mean);
    ASSERT_NEAR(scores.test, (double)right / (double)rows, 1e-12);
    assert_string_equal(scores.metric, "acc");
    ASSERT_STATUS(weft_answers_write(answers, in_folder(state, "no-files")), WEFT_ERR_USAGE);
    assert_int_equal(access(in_folder(state, "no-files"), F_OK), -1);
    weft_answers_destroy(answers);

    answers = asked("predict", result.run_dir, path);
    weft_answers_scores(answers, &predicted);
    assert_true(predicted.test == scores.test && predicted.train == scores.train);
    weft_answers_destroy(answers);
    answers = asked("eval", result.run_dir, bare);
    weft_answers_scores(answers, &scores);
    assert_true(!scores.labelled && isnan(scores.test));
    weft_answers_destroy(answers);

    ASSERT_OK(weft_options_create("predict", &options));
    answers = (weft_answers *)&options;
    ASSERT_STATUS(weft_eval(options, &answers), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft_options_create(\"eval\"");
    assert_null(answers);
    weft_options_destroy(options);
}

static void training_failures_return(void **state)
{
    weft_train_result result;
    weft_options *options = training(state, in_folder(state, "absent.weft"), "failed");
    ASSERT_STATUS(weft_train(options, &result), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("absent.weft");
    weft_options_destroy(options);

    static ring r;
    const char *path = in_folder(state, "diverging.weft");
    make_ring(&r);
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    options = training(state, path, "diverged");
    ASSERT_OK(weft_options_set(options, "optimizer", "sgd"));
    ASSERT_OK(weft_options_set(options, "lr", "1e6"));
    ASSERT_OK(weft_options_set(options, "weight-decay", "1e6"));
    ASSERT_STATUS(weft_train(options, &result), WEFT_ERR_DIVERGED);
    weft_options_destroy(options);

    ASSERT_OK(weft_options_create("partition", &options));
    ASSERT_STATUS(weft_train(options, &result), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft_options_create(\"train\"");
    weft_options_destroy(options);
    ASSERT_OK(weft_options_create("train", &options));
    ASSERT_OK(weft_options_set(options, "quiet", "on"));
    ASSERT_OK(weft_options_set(options, "dry-run", "on"));
    ASSERT_STATUS(weft_train(options, &result), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--data is missing");
    weft_options_destroy(options);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Every allocation of opening a graph, dividing it and setting options fails once; nothing leaks, every status says so.
 */
static void failing_allocations_are_survived(void **state)
{
    const char *path = in_folder(state, "brutal.weft");
    static ring r;
    make_ring(&r);
    ASSERT_OK(weft_graph_write(path, &r.arrays, false));
    uint64_t live = weft_mem_usage_total().current_bytes;
    bool survived = false;
    for (uint64_t n = 1; !survived; ++n) {
        weft_options *options = NULL;
        weft_graph *graph = NULL;
        weft_partition *partition = NULL;
        assert_true(n < 2000);
        weft_alloc_fail_after(n);
        weft_status status = weft_options_create("partition", &options);
        status = status == WEFT_OK ? weft_options_set(options, "method", "libra") : status;
        status = status == WEFT_OK ? weft_graph_open(path, 0, &graph) : status;
        status = status == WEFT_OK ? weft_partition_compute(graph, options, &partition, NULL) : status;
        weft_alloc_fail_after(0);
        survived = status == WEFT_OK;
        assert_true(survived || status == WEFT_ERR_RESOURCE);
        weft_partition_destroy(partition);
        weft_graph_close(graph);
        weft_options_destroy(options);
        assert_int_equal(weft_mem_usage_total().current_bytes, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_take_names_and_texts), cmocka_unit_test(config_files_give_way_to_the_program),
        cmocka_unit_test(a_context_knows_its_place),    cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(wrong_arrays_are_refused),     cmocka_unit_test(partitions_are_what_they_report),
        cmocka_unit_test(training_returns_its_figures), cmocka_unit_test(training_failures_return),
        cmocka_unit_test(weights_of_clicks_open),       cmocka_unit_test(a_watch_hears_of_epochs_and_stops),
        cmocka_unit_test(an_evaluation_scores),         cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
