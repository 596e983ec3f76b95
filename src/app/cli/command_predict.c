/*
 * app/cli/command_predict.c: weft eval and weft predict: a trained model on a graph store or on images, on any number of ranks.
 *
 * The model's options come from where the model comes from (app/workload/saved_model.h); data and model are made
 * as for training (app/workload/workload.h), then there is one forward pass. eval prints what it is worth, predict writes the
 * answers too. A store without labels, or without a split of them, gets predictions but no scores; rows that have names, files
 * of images, are answered by name.
 */
#include <string.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/signals.h"
#include "app/predict/answer_table.h"
#include "app/predict/predictions.h"
#include "app/predict/score_table.h"
#include "app/setup/comm_setup.h"
#include "app/workload/class_match.h"
#include "app/workload/workload.h"
#include "base/escape.h"
#include "base/log.h"

typedef struct predict_job {
    app_context context;
    workload work;
    const weft_options *asked;
    weft_options *options;       /* of the command train */
    saved_model *model;          /* on every rank */
    char scratch[FILE_PATH_MAX]; /* a name; whoever needs the folder makes it */
    char folder[FILE_PATH_MAX];  /* weft predict: of the answers, until it is renamed to --out */
    float *logits;
    score_table table;
    const char **path; /* of the data, [paths]; NULL: --data alone */
    int paths;
    answer_table lines; /* on rank 0, */
    char *row_numbers;  /* and names of rows in them that have none */
} predict_job;

/* ---- the model ---- */

static weft_status open_model(predict_job *p)
{
    const app_context *context = &p->context;
    const char *path = option_text(p->asked, OPT_CHECKPOINT);
    WEFT_CHECK(path[0] != '\0', WEFT_ERR_USAGE,
               "--checkpoint is missing: name a run folder, a checkpoint, weights.npz or a .safetensors file");
    weft_status status = comm_rank(context->comm) == 0 ? saved_model_open(path, p->asked, &p->model) : WEFT_OK;
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(saved_model_share(context->comm, &p->model));
    WEFT_TRY(comm_agree(context->comm, saved_model_options(p->model, p->asked, &p->options)));
    const saved_model *m = p->model;
    if (m->inputs > 0) {
        log_info("model %s, %d layers, %lld -> %lld, from %s", option_text(p->options, OPT_MODEL), m->layers,
                 (long long)m->inputs, (long long)m->outputs, m->path);
    } else {
        log_info("model %s, %d layers, %lld classes, from %s", option_text(p->options, OPT_MODEL), m->layers,
                 (long long)m->outputs, m->path);
    }
    return WEFT_OK;
}

/* The data's rows must be what the model was made for: said here in the user's words, not in shapes of arrays. After plan. */
static weft_status check_fit(const predict_job *p)
{
    const saved_model *made = p->model;
    const workload *here = &p->work;
    WEFT_CHECK(made->inputs == 0 || made->inputs == here->inputs, WEFT_ERR_DATA,
               "%s: made for %lld features, and %s has %lld", p->model->path, (long long)made->inputs, here->name,
               (long long)here->inputs);
    WEFT_CHECK(made->outputs == here->outputs, WEFT_ERR_DATA, "%s: answers with %lld classes or tasks, and %s has %lld",
               p->model->path, (long long)made->outputs, here->name, (long long)here->outputs);
    return WEFT_OK;
}

/* Rank 0: the model's class of each of the data's. *classes: of the model; 0: it knows none of them, which is no fault of an answer. */
static weft_status match_classes(const predict_job *p, bool answers, int32_t *class_of, int64_t *rows, int64_t *classes)
{
    const saved_model *m = p->model;
    const workload *work = &p->work;
    char names[CLASS_LIST_BYTES];
    char others[CLASS_LIST_BYTES];
    int64_t known = 0;
    const bool tasks = option_choice(p->options, OPT_LOSS) == LOSS_BCE;
    *classes = tasks ? 2 : m->outputs;
    const class_side model = {m->path, m->classes.count == *classes ? (const char *const *)m->classes.text : NULL,
                              *classes};
    const class_side data = {work->name, work->class_name, work->classes};
    work->ops->count_classes(work, rows);
    WEFT_TRY(class_match(&model, &data, rows, work->ops->rows, class_of, &known));
    int64_t labelled = 0;
    for (int64_t i = 0; i < data.classes; ++i) {
        labelled += rows[i];
    }
    if (known > 0 || labelled == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(answers, WEFT_ERR_DATA, "%s: the model knows none of these classes (%s): it knows %s", data.origin,
               class_side_list(&data, others), class_side_list(&model, names));
    *classes = 0;
    return WEFT_OK;
}

/* Labels become the model's classes, on every rank. */
static weft_status relabel(predict_job *p, bool answers)
{
    weft_comm *comm = p->context.comm;
    workload *work = &p->work;
    int32_t *class_of = NULL;
    int64_t *rows = NULL;
    int64_t classes = 0;
    const bool first = comm_rank(comm) == 0;
    if (!work->labelled || work->classes == 0) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&class_of, work->classes, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&rows, work->classes, WEFT_MEM_WORKSPACE) : status;
    if (status == WEFT_OK && first) {
        status = match_classes(p, answers, class_of, rows, &classes);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_bcast(comm, 0, &classes, (int64_t)sizeof classes), status, done);
    WEFT_TRY_GOTO(comm_bcast(comm, 0, class_of, work->classes * (int64_t)sizeof *class_of), status, done);
    const bool named = first && classes > 0 && p->model->classes.count == classes;
    status = comm_agree(comm, work->ops->relabel(work, class_of, classes, named ? p->model->classes.text : NULL));
done:
    weft_free(class_of);
    weft_free(rows);
    return status;
}

/* --data and the arguments are places of the data alike; all but images have one. */
static weft_status place_data(predict_job *p)
{
    const bool named = option_is_set(p->asked, OPT_DATA);
    const int arguments = option_argument_count(p->asked);
    const int count = arguments + (named ? 1 : 0);
    if (arguments == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&p->path, count, WEFT_MEM_GENERAL));
    for (int i = 0; i < count; ++i) {
        p->path[i] = named && i == 0 ? option_text(p->asked, OPT_DATA) : option_argument(p->asked, i - (named ? 1 : 0));
    }
    WEFT_TRY(option_assign(p->options, option_row_in(p->options, OPT_DATA)->name, p->path[0]));
    WEFT_CHECK(count == 1 || workload_of(p->options)->shows_answers, WEFT_ERR_USAGE,
               "%d places of data: a model on graphs answers for one graph store at a time", count);
    p->paths = count;
    return WEFT_OK;
}

static const option_id idle_without_smoothing[] = {OPT_CORRECT_ALPHA, OPT_SMOOTH_ALPHA, OPT_SMOOTH_ITERATIONS,
                                                   OPTION_NONE};

static weft_status load(predict_job *p, bool answers)
{
    app_context *context = &p->context;
    workload *work = &p->work;
    WEFT_TRY(file_path(p->scratch, "weft-eval-%ld", (long)getpid()));
    WEFT_TRY(comm_bcast(context->comm, 0, p->scratch, (int64_t)sizeof p->scratch));
    context->options = p->options;
    WEFT_TRY(comm_agree(context->comm, place_data(p)));
    WEFT_TRY(workload_begin(workload_of(p->options), context, work));
    work->path = p->path;
    work->paths = p->paths;
    work->moments = &p->model->weights.moments;
    const score_split split = option_choice(p->asked, OPT_SCORED_SPLIT);
    work->smooths = option_flag(p->asked, OPT_SMOOTH);
    work->trained = true;
    work->scores_training = split == SCORE_TRAIN || split == SCORE_LABELLED;
    if (!work->smooths && work->ops->smooth != NULL) {
        option_warn_idle(p->asked, idle_without_smoothing, "without " FLAG_SMOOTH);
    }
    WEFT_CHECK(!work->smooths || work->ops->smooth != NULL, WEFT_ERR_USAGE,
               FLAG_SMOOTH " follows edges, of which %s have none: leave it out", work->ops->data);
    option_warn_unserved(p->asked, work->ops->options->traits, work->ops->field);
    WEFT_TRY(comm_setup(context, false));
    WEFT_TRY(work->ops->open(work, p->scratch));
    WEFT_TRY(relabel(p, answers));
    WEFT_CHECK(answers || work->labelled || work->ops->label_cure == NULL, WEFT_ERR_DATA,
               "%s: %s without classes have no scores: %s", work->name, work->ops->data, work->ops->label_cure);
    WEFT_TRY(workload_decide(work, context, false));
    WEFT_CHECK(work->labelled || option_choice(context->options, OPT_LOSS) != LOSS_AUTO, WEFT_ERR_USAGE,
               "%s does not say whether it answers with classes or tasks, and %s has no labels to tell: name the run "
               "folder, or a file of weft export",
               p->model->path, work->name);
    WEFT_TRY(work->ops->plan(work, p->scratch, p->model->outputs));
    WEFT_TRY(check_fit(p));
    WEFT_TRY(work->ops->build(work));
    WEFT_TRY(comm_agree(context->comm, weights_assign(&p->model->weights, p->model->path, work->model->params)));
    return work->ops->release(work);
}

/* ---- the answers ---- */

static train_metric metric_of(const weft_options *options, train_loss loss)
{
    const metric_choice metric = option_choice(options, OPT_METRIC);
    return metric == METRIC_ROCAUC || (metric == METRIC_AUTO && loss == TRAIN_LOSS_BCE) ? TRAIN_METRIC_ROCAUC
                                                                                        : TRAIN_METRIC_ACCURACY;
}

/* In both of their places. */
static weft_status smooth(predict_job *p, weft_tensor *view)
{
    WEFT_TRY(p->work.ops->smooth(&p->work, p->asked, p->logits));
    return comm_agree(p->context.comm, tensor_upload(view, p->logits));
}

static weft_status score(predict_job *p)
{
    const workload *work = &p->work;
    const train_targets *targets = work->targets;
    weft_tensor view;
    weft_status status = predictions_logits(&p->context, work->model, &work->source, &view, &p->logits);
    status = comm_agree(p->context.comm, status);
    if (status == WEFT_OK && work->smooths) {
        status = smooth(p, &view);
    }
    if (status == WEFT_OK) {
        status = score_table_make(&p->context, targets, metric_of(p->options, targets->loss),
                                  option_choice(p->asked, OPT_SCORED_SPLIT), &view, p->logits, &p->table);
    }
    tensor_destroy(&view);
    WEFT_TRY(status);
    p->table.model = p->model->path;
    p->table.data = work->name;
    p->table.kind = work->ops->data;
    p->table.rows = work->ops->rows;
    p->table.class_name = p->table.classes > 0 ? work->class_name : NULL;
    if (!p->table.labelled) {
        log_info("%s has no labels%s: predictions only", work->name, work->labelled ? " with a split" : "");
    }
    return WEFT_OK;
}

/* Only what looks like predictions is replaced, whatever --force says; run folders have a predictions.npy as well. */
static weft_status begin_folder(predict_job *p)
{
    const char *out = option_text(p->asked, OPT_PREDICT_OUT);
    bool force = option_flag(p->asked, OPT_FORCE);
    char answers[FILE_PATH_MAX];
    WEFT_TRY(file_path(answers, "%s/scores.json", out));
    WEFT_CHECK(!force || !file_exists(out) || file_exists(answers), WEFT_ERR_USAGE,
               "%s: exists and holds no scores.json: --force replaces folders of predictions only", out);
    WEFT_TRY(folder_begin(out, force, p->folder));
    signals_remove_empty(p->folder);
    return WEFT_OK;
}

static weft_status write_table(const predict_job *p, const char *name, bool confusion)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/%s", p->folder, name));
    WEFT_TRY(file_writer_open(path, &writer));
    if (confusion) {
        score_table_print_confusion(writer.stream, &p->table);
    } else {
        score_table_print(writer.stream, &p->table, TABLE_JSON);
    }
    return file_writer_commit(&writer);
}

static weft_status write_tables(const predict_job *p)
{
    WEFT_TRY(write_table(p, "scores.json", false));
    return p->table.classes > 0 ? write_table(p, "confusion.csv", true) : WEFT_OK;
}

/* Names of the rows; without names their numbers, in *numbers. */
static weft_status name_rows(const workload *work, const char **names, char **numbers)
{
    enum { NUMBER_BYTES = 21 };
    const int64_t rows = work->held.total;
    const bool named = work->ops->row_name(work, 0) != NULL;
    if (!named) {
        WEFT_TRY(WEFT_NEW(numbers, rows * NUMBER_BYTES, WEFT_MEM_WORKSPACE));
    }
    for (int64_t i = 0; i < rows; ++i) {
        char *number = named ? NULL : *numbers + i * NUMBER_BYTES;
        if (!named) {
            snprintf(number, NUMBER_BYTES, "%lld", (long long)i);
        }
        names[i] = named ? work->ops->row_name(work, i) : number;
    }
    return WEFT_OK;
}

static weft_status print_lines(predict_job *p, const char *path, const char *const *names)
{
    const workload *work = &p->work;
    char probabilities[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(probabilities, "%s/probabilities.npy", p->folder));
    const answer_table_desc desc = {.model = p->model->path,
                                    .data = work->name,
                                    .kind = work->ops->data,
                                    .title = work->ops->row_title[p->row_numbers != NULL],
                                    .malformed = work->malformed,
                                    .probabilities = probabilities,
                                    .row_name = names,
                                    .class_name =
                                        p->model->classes.count == work->outputs ? p->model->classes.text : NULL,
                                    .top = (int)option_int(p->asked, OPT_TOP)};
    WEFT_TRY(answer_table_make(&desc, &p->lines));
    WEFT_TRY(file_writer_open(path, &writer));
    answer_table_print(writer.stream, &p->lines, TABLE_CSV);
    return file_writer_commit(&writer);
}

/* Rank 0's, where rows or classes have names. */
static weft_status write_lines(predict_job *p)
{
    const workload *work = &p->work;
    const int64_t rows = work->held.total;
    char path[FILE_PATH_MAX];
    const char **names = NULL;
    const bool classes = p->model->classes.text != NULL && p->model->classes.count == work->outputs;
    if (rows == 0 || (work->ops->row_name(work, 0) == NULL && !classes)) {
        return WEFT_OK;
    }
    if (rows > WORKLOAD_NAMED_ROWS && !work->ops->shows_answers) {
        log_info("no answers.csv: %lld %s are more than %d; predictions.npy has them", (long long)rows, work->ops->rows,
                 WORKLOAD_NAMED_ROWS);
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/answers.csv", p->folder));
    weft_status status = WEFT_NEW(&names, rows, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? name_rows(work, names, &p->row_numbers) : status;
    status = status == WEFT_OK ? print_lines(p, path, names) : status;
    weft_free(names);
    return status;
}

static weft_status write_answers(predict_job *p)
{
    const app_context *context = &p->context;
    const workload *work = &p->work;
    bool first = comm_rank(context->comm) == 0;
    WEFT_TRY(predictions_write(context, p->folder, &work->held, work->targets, p->logits));
    WEFT_TRY(predictions_write_probabilities(context, p->folder, &work->held, work->targets, p->logits));
    weft_status status = first ? write_tables(p) : WEFT_OK;
    status = first && status == WEFT_OK ? write_lines(p) : status;
    WEFT_TRY(comm_agree(context->comm, status));
    if (first) {
        status = folder_commit(p->folder, option_text(p->asked, OPT_PREDICT_OUT), option_flag(p->asked, OPT_FORCE));
        p->folder[0] = '\0';
    }
    return comm_agree(context->comm, status);
}

/* ---- the job ---- */

static weft_status run(predict_job *p, bool answers)
{
    const app_context *context = &p->context;
    WEFT_TRY(open_model(p));
    weft_status status = answers && comm_rank(context->comm) == 0 ? begin_folder(p) : WEFT_OK;
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(load(p, answers));
    WEFT_TRY(score(p));
    return answers ? write_answers(p) : WEFT_OK;
}

/* Nothing half-done stays; the message of what went wrong does. */
static weft_status clean_up(predict_job *p, weft_status status)
{
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    workload_abandon(&p->work);
    const char *const folders[] = {p->scratch, p->folder};
    bool first = p->context.comm != NULL && comm_rank(p->context.comm) == 0;
    for (int i = 0; first && i < 2; ++i) {
        if (folders[i][0] != '\0' && file_exists(folders[i]) && folder_remove(folders[i]) != WEFT_OK) {
            log_warn("left behind: %s", weft_error_message());
        }
    }
    weft_error_clear();
    return status != WEFT_OK && message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

static void print_result(const predict_job *p, bool answers)
{
    table_format format = option_choice(p->asked, OPT_FORMAT_OUT);
    const bool lines = !p->table.labelled && p->lines.lines.rows > 0 && p->work.ops->shows_answers;
    if (lines) {
        answer_table_print(stdout, &p->lines, format);
    } else {
        score_table_print(stdout, &p->table, format);
    }
    if (answers && format == TABLE_MD) {
        printf("%spredictions: %s\n", p->table.labelled || lines ? "\n" : "",
               escape_say(option_text(p->asked, OPT_PREDICT_OUT)).text);
    }
}

static weft_status run_and_print(predict_job *p, const weft_options *options, bool answers)
{
    const app_context *context = &p->context;
    weft_status status = app_context_open(options, &p->context);
    if (status == WEFT_OK) {
        p->asked = context->options;
        status = run(p, answers);
    }
    status = clean_up(p, status);
    if (status != WEFT_OK) {
        app_context_fail(context, status);
    } else if (comm_rank(context->comm) == 0) {
        print_result(p, answers);
    }
    return status;
}

static weft_status predict(const weft_options *options, bool answers)
{
    predict_job *p = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&p, 1, WEFT_MEM_GENERAL));
    weft_status status = run_and_print(p, options, answers);
    score_table_destroy(&p->table);
    answer_table_destroy(&p->lines);
    weft_free(p->path);
    weft_free(p->row_numbers);
    weft_free(p->logits);
    saved_model_close(p->model);
    option_destroy(p->options);
    workload_end(&p->work);
    app_context_close(&p->context);
    weft_free(p);
    return status;
}

weft_status app_eval(const weft_options *options)
{
    return predict(options, false);
}

weft_status app_predict(const weft_options *options)
{
    return predict(options, true);
}
