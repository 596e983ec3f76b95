/*
 * A kind of workload that is not trained by gradients, in a list of its own: a threshold that moves by one row an
 * epoch. It trains, writes a run folder, stops, resumes to the same end, survives a damaged checkpoint, stops before a
 * time limit, dry-runs, is scored and explained, by the functions that serve every job. What it must come to is known
 * in closed form.
 *
 * Row i of `count:N` is of class 1 where 2 i >= N; the model answers 1 where i >= t. A run begins with t = seed % 4,
 * and each epoch adds 1. Rows i % 3 are of training, validation and test.
 *
 * ranks: 1 3
 */
#include <stdlib.h>
#include <unistd.h>

#include "app/predict/answers.h"
#include "base/alloc.h"
#include "io/npy.h"
#include "support/job_words.h"
#include "train/labels.h"

enum { ROWS = 60, STEPS = 4, EPOCHS = 50 };

#define MODEL_FILE "threshold.txt"

/* ---- the kind -------------------------------------------------------------------------------------------------- */

typedef struct threshold {
    int64_t rows, t, best;
    int64_t mine; /* rows of this rank: i % P == rank, in STEPS batches of an evaluation */
    int64_t *id;
    float *host;         /* [mine, 2] answers, or [mine, 2, 2] contributions */
    weft_tensor answers; /* [mine, 2] */
    train_labels labels; /* of this rank's rows; counts are of all */
    train_model model;
    weft_comm *comm;
} threshold;

static int64_t stop_at = -1;    /* --stop when the threshold is there; -1: never */
static useconds_t epoch_us = 0; /* an epoch takes so long */

static int64_t first_of(const threshold *w, int64_t step)
{
    return w->mine * step / STEPS;
}

static weft_status count_open(workload *work, const char *folder)
{
    (void)folder;
    threshold *w = work->self;
    const char *data = option_text(work->context->options, OPT_DATA);
    WEFT_CHECK(strncmp(data, "count:", 6) == 0, WEFT_ERR_NOINPUT, "%s: is no count:N", data);
    w->rows = atoll(data + 6);
    w->comm = work->context->comm;
    snprintf(work->name, sizeof work->name, "%s", data);
    snprintf(work->hash, sizeof work->hash, "%032lld", (long long)w->rows);
    work->labelled = true;
    work->classes = 2;
    return WEFT_OK;
}

static void count_classes(const workload *work, int64_t *rows)
{
    const threshold *w = work->self;
    rows[0] = w->rows / 2;
    rows[1] = w->rows - w->rows / 2;
}

static weft_status count_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names)
{
    (void)work;
    (void)names;
    WEFT_CHECK(classes == 2 && class_of[0] == 0 && class_of[1] == 1, WEFT_ERR_INTERNAL, "other classes");
    return WEFT_OK;
}

static weft_status count_decide(workload *work, weft_options *options, bool training)
{
    (void)work;
    (void)training;
    return option_is_auto(options, OPT_LOSS) ? option_decide(options, OPT_LOSS, "xent") : WEFT_OK;
}

static weft_status count_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    (void)outputs;
    work->inputs = 1;
    work->outputs = 2;
    return WEFT_OK;
}

static float answer_of(const threshold *w, int64_t row)
{
    return (float)(2 * (row - w->t) + 1); /* class 1 where it is above 0; never 0 */
}

/* The batch of a step: its rows alone. */
static weft_status count_batch(void *self, const train_pass *pass, train_batch *batch)
{
    threshold *w = self;
    *batch = (train_batch){.targets = &w->labels.targets};
    return pass->training ? weft_fail(WEFT_ERR_INTERNAL, "no training batches") : WEFT_OK;
}

static weft_status count_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    threshold *w = self;
    const int64_t first = first_of(w, pass->step);
    const int64_t end = first_of(w, pass->step + 1);
    for (int64_t i = first; i < end; ++i) {
        w->host[2 * i] = -answer_of(w, w->id[i]);
        w->host[2 * i + 1] = answer_of(w, w->id[i]);
    }
    *logits = tensor_view(&w->answers, first, end - first, 0, 2);
    return tensor_upload(logits, w->host + 2 * first);
}

static weft_status make_rows(threshold *w, weft_hal *hal)
{
    const int ranks = comm_size(w->comm), rank = comm_rank(w->comm);
    w->mine = (w->rows - rank + ranks - 1) / ranks;
    train_targets *targets = &w->labels.targets;
    *targets =
        (train_targets){.rows = w->mine, .outputs = 2, .loss = TRAIN_LOSS_XENT, .loss_entries = (w->rows + 2) / 3};
    WEFT_TRY(labels_create(&w->labels, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&w->id, w->mine, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&w->host, 4 * w->mine, WEFT_MEM_GENERAL));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, w->mine, 2, WEFT_MEM_GENERAL, &w->answers));
    for (int64_t i = 0; i < w->mine; ++i) {
        w->id[i] = i * ranks + rank;
        w->labels.label[i] = 2 * w->id[i] >= w->rows;
        w->labels.split[i] = (uint8_t)(w->id[i] % 3);
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        targets->counted[s] = (w->rows - s + 2) / 3;
    }
    return labels_upload(&w->labels, hal);
}

static weft_status count_build(workload *work)
{
    threshold *w = work->self;
    WEFT_TRY(comm_agree(w->comm, make_rows(w, work->context->hal)));
    w->model = (train_model){.name = "threshold", .self = w, .forward = count_forward};
    work->model = &w->model;
    work->targets = &w->labels.targets;
    work->held = (held_rows){.total = w->rows, .count = w->mine, .id = w->id};
    work->source = (train_source){.self = w,
                                  .eval_steps = STEPS,
                                  .eval_rows = w->mine,
                                  .loss = TRAIN_LOSS_XENT,
                                  .outputs = 2,
                                  .batch = count_batch};
    return WEFT_OK;
}

static void count_end(workload *work)
{
    threshold *w = work->self;
    weft_free(w->id);
    weft_free(w->host);
    tensor_destroy(&w->answers);
    labels_destroy(&w->labels);
}

/* ---- its fit --------------------------------------------------------------------------------------------------- */

static weft_status fit_begin(void *self, uint64_t seed)
{
    threshold *w = self;
    w->t = w->best = (int64_t)(seed % 4);
    return WEFT_OK;
}

static weft_status fit_epoch(void *self, uint64_t seed, train_epoch *record)
{
    threshold *w = self;
    (void)seed;
    usleep(epoch_us);
    w->t += 1;
    record->loss = (double)llabs(2 * w->t - w->rows) / (double)w->rows;
    return WEFT_OK;
}

static weft_status fit_evaluate(void *self, uint64_t seed, train_epoch *record)
{
    threshold *w = self;
    double right[TRAIN_SPLITS] = {0};
    (void)seed;
    for (int64_t i = 0; i < w->mine; ++i) {
        right[w->labels.split[i]] += (w->id[i] >= w->t) == (w->labels.label[i] == 1);
    }
    WEFT_TRY(comm_allreduce(w->comm, right, TRAIN_SPLITS, WEFT_DTYPE_F64, COMM_SUM));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        record->score[s] = right[s] / (double)w->labels.targets.counted[s];
    }
    return WEFT_OK;
}

static weft_status fit_keep_best(void *self)
{
    threshold *w = self;
    w->best = w->t;
    return WEFT_OK;
}

static weft_status fit_use_best(void *self)
{
    threshold *w = self;
    w->t = w->best;
    return WEFT_OK;
}

/* "BEST NOW": a model is the first of them. */
static weft_status write_file(const threshold *w, const char *path)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    fprintf(writer.stream, "%lld %lld\n", (long long)w->best, (long long)w->t);
    return file_writer_commit(&writer);
}

static weft_status read_bytes(threshold *w, const char *path, const char *text)
{
    long long best = 0, now = 0;
    WEFT_CHECK(sscanf(text, "%lld %lld", &best, &now) == 2 && best >= 0 && now >= 0, WEFT_ERR_DATA,
               "%s: holds no two numbers", path);
    w->best = best;
    w->t = now;
    return WEFT_OK;
}

static weft_status fit_save(void *self, const char *folder)
{
    char path[FILE_PATH_MAX];
    if (folder == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/" MODEL_FILE, folder));
    return write_file(self, path);
}

static weft_status fit_load(void *self, const char *folder)
{
    threshold *w = self;
    char path[FILE_PATH_MAX];
    int64_t state[2] = {0, 0};
    weft_status status = WEFT_OK;
    if (folder != NULL) {
        char *text = NULL;
        size_t bytes = 0;
        WEFT_TRY(file_path(path, "%s/" MODEL_FILE, folder));
        status = file_read_text(path, 1000, &text, &bytes);
        status = status == WEFT_OK ? read_bytes(w, path, text) : status;
        weft_free(text);
        state[0] = w->best;
        state[1] = w->t;
    }
    WEFT_TRY(comm_agree(w->comm, status));
    WEFT_TRY(comm_bcast(w->comm, 0, state, sizeof state));
    w->best = state[0];
    w->t = state[1];
    return WEFT_OK;
}

static weft_status count_fit(workload *work, const fit_services *services, train_result *result)
{
    const fit_method method = {.self = work->self,
                               .name = "threshold",
                               .begin = fit_begin,
                               .epoch = fit_epoch,
                               .evaluate = fit_evaluate,
                               .keep_best = fit_keep_best,
                               .use_best = fit_use_best,
                               .save = fit_save,
                               .load = fit_load};
    return fit_rounds(services, &method, result);
}

static weft_status count_save(const workload *work, const char *path)
{
    return path != NULL ? write_file(work->self, path) : WEFT_OK;
}

static weft_status count_load(workload *work, const char *path, const void *bytes, size_t count)
{
    threshold *w = work->self;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(count < 60 ? count : 60), (const char *)bytes);
    WEFT_TRY(read_bytes(w, path, text));
    w->t = w->best;
    return WEFT_OK;
}

/* An answer is 2 i for the row's number, and 1 - 2 t without it. */
static weft_status count_explain(const workload *work, const explain_request *how, int64_t step,
                                 const float **contribution, int64_t *rows)
{
    (void)how;
    threshold *w = work->self;
    const int64_t first = first_of(w, step);
    *rows = first_of(w, step + 1) - first;
    for (int64_t i = 0; i < *rows; ++i) {
        for (int side = 0; side < 2; ++side) {
            const float sign = side == 0 ? -1.0F : 1.0F;
            w->host[4 * i + 2 * side] = sign * (float)(2 * w->id[first + i]);
            w->host[4 * i + 2 * side + 1] = sign * (float)(1 - 2 * w->t);
        }
    }
    *contribution = w->host;
    return WEFT_OK;
}

static weft_status count_recognise(saved_model *model, const weft_options *given)
{
    (void)given;
    WEFT_CHECK(model->own != NULL, WEFT_ERR_DATA, "%s: is no threshold", model->path);
    model->layers = 1;
    model->inputs = 1;
    model->outputs = 2;
    return WEFT_OK;
}

static workload_claims count_claims(const weft_options *options)
{
    const bool counts = strncmp(option_text(options, OPT_DATA), "count:", 6) == 0;
    return (workload_claims){.model = CLAIM_POSSIBLE, .data = counts ? CLAIM_CERTAIN : CLAIM_NO};
}

static void data_facts(const workload *work, fact_list *list)
{
    (void)work;
    facts_int(list, FACT_CLASSES, "classes", "", "", 2);
}

static void result_facts(const workload *work, fact_list *list)
{
    facts_group(list, "threshold", "Threshold");
    facts_int(list, "threshold", "threshold", "", "", ((const threshold *)work->self)->t);
}

static const option_table count_table = {.number = 9, .traits = "counts"};

static const workload_ops count_workload = {
    .options = &count_table,
    .claims = count_claims,
    .data = "count",
    .field = "counts",
    .rows = "numbers",
    .split_cure = "none",
    .test_cure = "none",
    .self_bytes = sizeof(threshold),
    .open = count_open,
    .count_classes = count_classes,
    .relabel = count_relabel,
    .decide = count_decide,
    .plan = count_plan,
    .build = count_build,
    .fit = count_fit,
    .model_file = MODEL_FILE,
    .save = count_save,
    .load = count_load,
    .explain = count_explain,
    .end = count_end,
    .data_facts = data_facts,
    .row_title = {"number", "number"},
    .result_facts = result_facts,
    .recognise = count_recognise,
};

const workload_ops *const workload_list[] = {&count_workload, NULL};

/* ---- what it must come to -------------------------------------------------------------------------------------- */

/* Share of the split's rows that a threshold answers rightly. */
static double score_of(int64_t t, int split)
{
    int right = 0, rows = 0;
    for (int64_t i = split; i < ROWS; i += 3) {
        right += (i >= t) == (2 * i >= ROWS);
        rows += 1;
    }
    return (double)right / rows;
}

/* The first threshold after `from` with the best validation score. */
static int64_t best_after(int64_t from)
{
    int64_t best = from + 1;
    for (int64_t t = from + 1; t <= from + EPOCHS; ++t) {
        best = score_of(t, 1) > score_of(best, 1) ? t : best;
    }
    return best;
}

/* ---- jobs ------------------------------------------------------------------------------------------------------ */

typedef struct bench {
    const app_context *world;
    weft_comm *comm;
    char folder[FILE_PATH_MAX];
} bench;

static int epochs_heard;

static weft_status hear_epoch(void *self, const train_epoch *epoch)
{
    (void)self;
    (void)epoch;
    epochs_heard += 1;
    return WEFT_OK;
}

/* Behind the first: it has enough in epoch fail_at; -1: never. */
static int64_t fail_at = -1;

static weft_status hear_enough(void *self, const train_epoch *epoch)
{
    (void)self;
    return fail_at < 0 || epoch->epoch < fail_at ? WEFT_OK : weft_fail(WEFT_ERR_UNSUPPORTED, "the listener has enough");
}

static const threshold *running; /* model of the job that trains */

static bool asked(void *self)
{
    const train_job *job = self;
    running = job->work.self;
    return stop_at >= 0 && running->t >= stop_at;
}

/* A job of these words in folder/run. [out] result: as the job came to; its runs are the first one's alone. */
static weft_status train(const bench *b, const char *run, const char *more, train_result *result, int64_t *t)
{
    char where[FILE_PATH_MAX];
    const train_observer second = {.on_epoch = hear_enough};
    const train_observer listener = {.on_epoch = hear_epoch, .next = &second};
    app_context context = {.comm = NULL};
    weft_options *options = NULL;
    train_job *job = NULL;
    WEFT_TRY(file_path(where, "run-dir=%s/%s", b->folder, run));
    const char *word[] = {"data=count:60", "epochs=50", "seed=2", "calibrate=never", where, more};
    WEFT_TRY(job_options(word, more != NULL ? 6 : 5, &options));
    WEFT_TRY(train_job_create(&job));
    job->stop.asked = asked;
    job->observers = &listener;
    weft_status status = app_context_open_within(b->world, b->comm, options, "own", 0.0, &context);
    status = status == WEFT_OK ? train_job_run(job, &context) : status;
    *result = job->result;
    result->test_std = job->result.run != NULL ? (double)job->result.run[0].best_epoch : 0;
    *t = job->work.self != NULL ? ((const threshold *)job->work.self)->t : -1;
    train_job_destroy(job);
    app_context_close(&context);
    option_destroy(options);
    return status;
}

/* Rank 0 looks; all hear. */
static weft_status expect(const bench *b, bool good, const char *what)
{
    return comm_agree(b->comm, good ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "%s", what));
}

static bool has_file(const bench *b, const char *name)
{
    char path[FILE_PATH_MAX];
    return comm_rank(b->comm) != 0 || (file_path(path, "%s/%s", b->folder, name) == WEFT_OK && file_exists(path));
}

static weft_status check_straight(const bench *b)
{
    train_result result;
    int64_t t = 0;
    const int64_t best = best_after(2);
    epochs_heard = 0;
    WEFT_TRY(train(b, "straight", NULL, &result, &t));
    WEFT_TRY(expect(b, t == best && result.test_std == (double)(best - 2), "the best threshold"));
    WEFT_TRY(expect(b, result.test_mean == score_of(best, 2) && result.valid_mean == score_of(best, 1), "its scores"));
    WEFT_TRY(expect(b, epochs_heard == EPOCHS && result.epochs == EPOCHS, "an observer hears every epoch"));
    WEFT_TRY(expect(b,
                    has_file(b, "straight/" MODEL_FILE) && has_file(b, "straight/summary.json") &&
                        has_file(b, "straight/metrics.jsonl") && has_file(b, "straight/predictions.npy"),
                    "files of a run"));
    return expect(b, !has_file(b, "straight/weights.npz") || comm_rank(b->comm) != 0, "no weights");
}

static weft_status check_patience(const bench *b)
{
    train_result result;
    int64_t t = 0;
    WEFT_TRY(train(b, "patience", "patience=5", &result, &t));
    return expect(b, t == best_after(2) && result.epochs == best_after(2) - 2 + 5, "patience ends a run");
}

/* Whoever listens may end a training. */
static weft_status check_listener(const bench *b)
{
    train_result result;
    int64_t t = 0;
    fail_at = 7;
    epochs_heard = 0;
    weft_status status = train(b, "listener", NULL, &result, &t);
    fail_at = -1;
    WEFT_TRY(expect(b, status == WEFT_ERR_UNSUPPORTED && epochs_heard == 7, "a failing observer ends the training"));
    weft_error_clear();
    return WEFT_OK;
}

static weft_status check_resume(const bench *b)
{
    train_result result;
    int64_t t = 0;
    stop_at = 12;
    weft_status status = train(b, "stopped", NULL, &result, &t);
    stop_at = -1;
    WEFT_TRY(expect(b, status == WEFT_STOPPED && t == 12 && result.epochs == 10, "stopped where it was asked to"));
    weft_error_clear();
    WEFT_TRY(train(b, "stopped", "resume=on", &result, &t));
    return expect(b, t == best_after(2) && result.epochs == EPOCHS && result.resumed == 10, "resumed to the same end");
}

static weft_status check_damaged(const bench *b)
{
    train_result result;
    int64_t t = 0;
    char path[FILE_PATH_MAX];
    stop_at = 12;
    weft_status status = train(b, "damaged", "checkpoint-every=4", &result, &t);
    stop_at = -1;
    WEFT_TRY(expect(b, status == WEFT_STOPPED, "stopped"));
    weft_error_clear();
    if (comm_rank(b->comm) == 0) {
        WEFT_TRY(file_path(path, "%s/damaged/ckpt/epoch-00000010/" MODEL_FILE, b->folder));
        FILE *file = fopen(path, "w");
        WEFT_CHECK(file != NULL && fputs("9 9 9\n", file) >= 0 && fclose(file) == 0, WEFT_ERR_IO, "%s", path);
    }
    WEFT_TRY(train(b, "damaged", "resume=on", &result, &t));
    return expect(b, t == best_after(2) && result.resumed == 8, "went on from the checkpoint before");
}

static weft_status check_time(const bench *b)
{
    train_result result;
    int64_t t = 0;
    epoch_us = 20000;
    weft_status status = train(b, "timed", "max-hours=0.0001", &result, &t);
    epoch_us = 0;
    WEFT_TRY(expect(b, status == WEFT_STOPPED && result.epochs > 0 && result.epochs < EPOCHS, "stopped in time"));
    weft_error_clear();
    return WEFT_OK;
}

static weft_status check_dry(const bench *b)
{
    train_result result;
    int64_t t = 0;
    WEFT_TRY(train(b, "dry", "dry-run=on", &result, &t));
    return expect(b, result.run == NULL && (comm_rank(b->comm) != 0 || !has_file(b, "dry")),
                  "a dry run leaves nothing");
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

typedef struct seen_rows {
    const workload *work;
    int64_t rows, steps;
    int64_t t;
    bool good;
} seen_rows;

static weft_status see_rows(void *self, const predicted_rows *rows)
{
    seen_rows *seen = self;
    float logits[2 * ROWS];
    seen->good = seen->good && rows->first == seen->rows && rows->step == seen->steps && rows->steps == STEPS;
    seen->rows += rows->rows;
    seen->steps += 1;
    WEFT_TRY(tensor_download(rows->logits, logits));
    for (int64_t i = 0; i < rows->rows; ++i) {
        const int64_t id = seen->work->held.id[rows->first + i];
        seen->good = seen->good && logits[2 * i + 1] == (float)(2 * (id - seen->t) + 1);
    }
    return WEFT_OK;
}

/* What all inputs add up to is the answer. */
static weft_status see_reasons(void *self, const explained_rows *rows)
{
    seen_rows *seen = self;
    seen->rows += rows->rows;
    seen->good = seen->good && rows->inputs == 1 && rows->outputs == 2;
    for (int64_t i = 0; i < rows->rows; ++i) {
        const int64_t id = seen->work->held.id[rows->first + i];
        const float *one = rows->contribution + 4 * i + 2;
        seen->good = seen->good && one[0] + one[1] == (float)(2 * (id - seen->t) + 1);
    }
    return WEFT_OK;
}

static weft_status check_predictor(const bench *b, predictor *p, int64_t t)
{
    answers a;
    seen_rows seen = {.work = p->work, .t = t, .good = true};
    WEFT_TRY(predictor_run(p, see_rows, &seen));
    WEFT_TRY(expect(b, seen.good && seen.steps == STEPS && seen.rows == p->work->held.count, "rows by steps"));
    seen = (seen_rows){.work = p->work, .t = t, .good = true};
    WEFT_TRY(predictor_explain(p, &(explain_request){.pairs = false}, see_reasons, &seen));
    WEFT_TRY(expect(b, seen.good && seen.rows == p->work->held.count, "reasons by steps"));
    weft_status status = answers_make(p, &a);
    const bool good = status == WEFT_OK && a.table.score[2] == score_of(t, 2) && a.table.score[1] == score_of(t, 1);
    answers_free(&a);
    return status != WEFT_OK ? status : expect(b, good, "scores of a saved model");
}

static weft_status check_eval(const bench *b, const char *run, int64_t t)
{
    char model[FILE_PATH_MAX];
    app_context context = {.comm = NULL};
    const option_command *eval = NULL;
    weft_options *options = NULL;
    predictor p = {.work = NULL};
    WEFT_TRY(file_path(model, "%s/%s", b->folder, run));
    WEFT_TRY(option_command_find(app_catalog(), "eval", &eval));
    WEFT_TRY(option_create(eval, &options));
    WEFT_TRY(option_assign(options, "checkpoint", model));
    WEFT_TRY(option_assign(options, "data", "count:60"));
    weft_status status = app_context_open_within(b->world, b->comm, options, "eval", 0.0, &context);
    status = status == WEFT_OK ? predictor_open(&context, options, &p) : status;
    status = status == WEFT_OK ? predictor_load(&p, false) : status;
    status = status == WEFT_OK ? check_predictor(b, &p, t) : status;
    predictor_close(&p);
    app_context_close(&context);
    option_destroy(options);
    return status;
}

static weft_status check_all(const bench *b)
{
    WEFT_TRY(check_straight(b));
    WEFT_TRY(check_patience(b));
    WEFT_TRY(check_listener(b));
    WEFT_TRY(check_resume(b));
    WEFT_TRY(check_damaged(b));
    WEFT_TRY(check_time(b));
    WEFT_TRY(check_dry(b));
    WEFT_TRY(check_eval(b, "straight", best_after(2)));
    WEFT_TRY(check_eval(b, "straight/" MODEL_FILE, best_after(2)));
    return check_eval(b, "stopped/ckpt", best_after(2));
}

static weft_status run(const app_context *world, const char *const *word, int count)
{
    (void)word;
    (void)count;
    bench b = {.world = world};
    const char *base = getenv("TMPDIR");
    WEFT_TRY(file_path(b.folder, "%s/weft-own-XXXXXX", base != NULL ? base : "/tmp"));
    WEFT_CHECK(comm_rank(world->comm) != 0 || mkdtemp(b.folder) != NULL, WEFT_ERR_IO, "%s: cannot be made", b.folder);
    WEFT_TRY(comm_bcast(world->comm, 0, b.folder, sizeof b.folder));
    WEFT_TRY(comm_split(world->comm, 0, comm_rank(world->comm), &b.comm));
    const weft_status status = check_all(&b);
    comm_destroy(b.comm);
    WEFT_TRY(status);
    return comm_agree(world->comm, comm_rank(world->comm) == 0 ? folder_remove(b.folder) : WEFT_OK);
}

int main(int argc, char **argv)
{
    return job_host(run, argc, argv);
}
