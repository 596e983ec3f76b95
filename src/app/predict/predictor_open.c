/*
 * app/predict/predictor_open.c: the model and the data of a predictor (app/predict/predictor.h).
 *
 * The model's options come from where the model comes from (app/workload/saved_model.h); data and model are made as for
 * training (app/workload/workload.h). A store without labels, or without a split of them, gets answers but no scores.
 */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "app/predict/predictor.h"
#include "app/setup/comm_setup.h"
#include "app/workload/class_match.h"
#include "base/log.h"

/* ---- the model ---- */

static weft_status open_model(predictor *p, const char *path)
{
    const app_context *context = p->context;
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

/* The data's rows must be what the model was made for: said here in the user's words, not in shapes of arrays. After
 * plan. */
static weft_status check_fit(const predictor *p)
{
    const saved_model *made = p->model;
    const workload *here = p->work;
    WEFT_CHECK(made->inputs == 0 || made->inputs == here->inputs, WEFT_ERR_DATA,
               "%s: made for %lld features, and %s has %lld", p->model->path, (long long)made->inputs, here->name,
               (long long)here->inputs);
    WEFT_CHECK(made->outputs == here->outputs, WEFT_ERR_DATA, "%s: answers with %lld classes or tasks, and %s has %lld",
               p->model->path, (long long)made->outputs, here->name, (long long)here->outputs);
    return WEFT_OK;
}

/* Rank 0: the model's class of each of the data's. *classes: of the model; 0: it knows none of them, which is no fault
 * of an answer. */
static weft_status match_classes(const predictor *p, bool answers, int32_t *class_of, int64_t *rows, int64_t *classes)
{
    const saved_model *m = p->model;
    const workload *work = p->work;
    char names[CLASS_LIST_BYTES], others[CLASS_LIST_BYTES];
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
static weft_status relabel(predictor *p, bool answers)
{
    weft_comm *comm = p->context->comm;
    workload *work = p->work;
    int32_t *class_of = NULL;
    int64_t *rows = NULL, classes = 0;
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
    WEFT_FREE_ALL(class_of, rows);
    return status;
}

/* --data and the arguments are places of the data alike; kinds that show answers (workload_ops) take several. */
static weft_status place_data(predictor *p)
{
    const bool named = option_is_set(p->asked, OPT_DATA);
    const int arguments = option_argument_count(p->asked) - p->first;
    const int count = arguments + (named ? 1 : 0);
    if (arguments == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&p->path, count, WEFT_MEM_GENERAL));
    for (int i = 0; i < count; ++i) {
        p->path[i] = named && i == 0 ? option_text(p->asked, OPT_DATA)
                                     : option_argument(p->asked, p->first + i - (named ? 1 : 0));
    }
    WEFT_TRY(option_assign(p->options, option_row_in(p->options, OPT_DATA)->name, p->path[0]));
    WEFT_CHECK(count == 1 || workload_of(p->options)->shows_answers, WEFT_ERR_USAGE,
               "%d places of data: a model on %s answers for one at a time", count, workload_of(p->options)->field);
    p->paths = count;
    return WEFT_OK;
}

/* What one kind can smooth, another must refuse. */
static weft_status ask_smoothing(const predictor *p)
{
    workload *work = p->work;
    for (int i = 0; workload_list[i] != NULL; ++i) {
        const option_id *options = workload_list[i]->smooth_options;
        if (options == NULL) {
            continue;
        }
        const char *name = option_row_in(p->asked, options[0])->name;
        const bool here = workload_list[i] == work->ops, asked = option_flag(p->asked, options[0]);
        WEFT_CHECK(!asked || here, WEFT_ERR_USAGE, "--%s is not for models on %s: leave it out", name,
                   work->ops->field);
        work->smooths = work->smooths || asked;
        if (here && !asked) {
            char where[64];
            snprintf(where, sizeof where, "without --%s", name);
            option_warn_idle(p->asked, options + 1, where);
        }
    }
    return WEFT_OK;
}

static weft_status begin_work(predictor *p)
{
    app_context *context = p->context;
    workload *work = p->work;
    const score_split split = option_choice(p->asked, OPT_SCORED_SPLIT);
    /* Predictors that are open at once have scratch folders of their own. */
    WEFT_TRY(file_path(p->scratch, "weft-eval-%ld-%zx", (long)getpid(), (size_t)(uintptr_t)p));
    WEFT_TRY(comm_bcast(context->comm, 0, p->scratch, (int64_t)sizeof p->scratch));
    context->options = p->options;
    WEFT_TRY(comm_agree(context->comm, place_data(p)));
    WEFT_TRY(workload_begin(workload_of(p->options), context, work));
    work->path = p->path;
    work->paths = p->paths;
    work->moments = &p->model->weights.moments;
    work->known = p->known;
    work->known_count = p->known_count;
    work->trained = true;
    work->keeps = work->ops->answers_some; /* for predictor_select */
    work->answers_with = p->model;
    work->scores_training = split == SCORE_TRAIN || split == SCORE_LABELLED;
    WEFT_TRY(ask_smoothing(p));
    option_warn_unserved(p->asked, work->ops->options->traits, work->ops->field);
    WEFT_TRY(comm_setup_begin(context));
    return comm_setup(context, false);
}

/* What the model keeps beside its parameters stands beside the file of its weights. */
static weft_status place_beside(const predictor *p)
{
    const train_beside *beside = p->work->model->beside;
    char folder[FILE_PATH_MAX];
    if (beside == NULL) {
        return WEFT_OK;
    }
    bool best = false;
    uint64_t mark;
    WEFT_TRY(saved_model_folder(p->model, folder, &best));
    WEFT_TRY(param_mark(p->work->model->params, p->context->comm, &mark));
    return comm_agree(p->context->comm, beside->load(beside->self, folder, best, mark));
}

/* The trained model takes the place of the one that was built. */
static weft_status place_model(const predictor *p)
{
    const saved_model *m = p->model;
    workload *work = p->work;
    const weft_status placed = m->own != NULL ? work->ops->load(work, m->path, m->own, m->own_bytes)
                                              : weights_assign(&m->weights, m->path, work->model->params);
    WEFT_TRY(comm_agree(p->context->comm, placed));
    return place_beside(p);
}

static weft_status load(predictor *p, bool answers)
{
    app_context *context = p->context;
    workload *work = p->work;
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
    WEFT_TRY(place_model(p));
    return workload_release(work);
}

int predictor_data_from(const weft_options *asked)
{
    return !option_is_set(asked, OPT_CHECKPOINT) && option_argument_count(asked) > 0 ? 1 : 0;
}

weft_status predictor_open_model(app_context *context, const weft_options *asked, const char *path, int first,
                                 predictor *p)
{
    *p = (predictor){.context = context, .asked = asked, .first = first};
    p->work = &p->own;
    return open_model(p, path);
}

weft_status predictor_open(app_context *context, const weft_options *asked, predictor *p)
{
    const int first = predictor_data_from(asked);
    const char *path = first > 0 ? option_argument(asked, 0) : option_text(asked, OPT_CHECKPOINT);
    *p = (predictor){.context = context, .asked = asked};
    WEFT_CHECK(path[0] != '\0', WEFT_ERR_USAGE,
               "--checkpoint is missing: name a run folder, a checkpoint, weights.npz or a .safetensors file");
    const weft_status status = predictor_open_model(context, asked, path, first, p);
    return status != WEFT_OK && first > 0
               ? weft_fail_context(status, "without --checkpoint the first argument is the model: ")
               : status;
}

weft_status predictor_select(predictor *p, const int64_t *row, int64_t count)
{
    workload *work = p->work;
    const workload_ops *ops = work->ops;
    WEFT_CHECK(ops->answers_some && ops->unbuild != NULL, WEFT_ERR_UNSUPPORTED,
               "models on %s answer for all of their data at once, not for some %s", ops->field, ops->rows);
    int64_t *only = NULL;
    WEFT_TRY(comm_agree(p->context->comm, WEFT_NEW(&only, count, WEFT_MEM_GENERAL)));
    memcpy(only, row, (size_t)count * sizeof *only);
    ops->unbuild(work); /* whoever reads the rows of the last call ends here */
    weft_free(p->only);
    p->only = only;
    work->only = only;
    work->only_count = count;
    WEFT_TRY(ops->plan(work, p->scratch, p->model->outputs));
    WEFT_TRY(ops->build(work));
    return place_model(p);
}

weft_status predictor_load(predictor *p, bool answers)
{
    assert(p->model != NULL && p->work->self == NULL);
    WEFT_TRY(begin_work(p));
    p->work->answers = answers;
    return load(p, answers);
}
