/* app/trees/trees_fit.c: a training of boosted trees: an epoch is a round, which adds a tree for each output. */
#include <math.h>
#include <string.h>

#include "app/trees/trees_job.h"
#include "base/clock.h"
#include "base/file.h"
#include "train/activities.h"

/* Files of a checkpoint: the best model so far, and all trees. */
#define STATE_FILE "trees.json"

typedef struct trees_fit_run {
    workload *work;
    trees_job *job;
    const fit_services *services;
} trees_fit_run;

static void release_column(void *owner, int column, const tree_binned *binned)
{
    tree_rows_release(owner, column, binned);
}

static void release_rows(void *owner, int column, int64_t end)
{
    tree_rows *rows = owner;
    table_release_rows(&rows->table, rows->field[column], end);
}

/* Bins are made once for all runs, and the numbers then given back, unless somebody reads them again. begun:
 * trees that the run goes on from; no trees: none. */
static weft_status open_boost(trees_fit_run *r, const weft_forest *begun)
{
    trees_job *job = r->job;
    if (job->boost != NULL && !r->work->keeps) {
        return boost_restart(job->boost);
    }
    boost_destroy(job->boost);
    job->boost = NULL;
    const double start = clock_seconds();
    job->options.begun = begun;
    if (!trees_keeps_numbers(r->work)) {
        job->options.release = (tree_release){.rows = release_rows, .column = release_column, .owner = &job->rows};
    } else {
        job->options.release = (tree_release){.column = NULL};
    }
    const weft_status status = boost_create(r->services->comm, r->work->context->hal, &job->rows.data, &job->targets,
                                            &job->options, &job->boost);
    job->options.begun = NULL;
    job->binning = clock_seconds() - start;
    WEFT_TRY(status);
    WEFT_TRY(comm_agree(r->services->comm, trees_take_answers(r->work)));
    return boost_restart(job->boost);
}

/* Trees of another training answer for these data where they read the same columns, words and classes. */
static weft_status check_start(const trees_job *job, const char *path, const weft_forest *forest,
                               const forest_facts *facts)
{
    const tree_rows *rows = &job->rows;
    WEFT_CHECK(forest->outputs == job->targets.outputs && facts->loss == job->loss, WEFT_ERR_DATA,
               "%s: its trees have another " FLAG_LOSS " or other classes than this training", path);
    WEFT_CHECK(forest->columns == rows->data.columns, WEFT_ERR_DATA,
               "%s: its trees read %d columns, and the data have %d", path, forest->columns, rows->data.columns);
    for (int c = 0; c < forest->columns; ++c) {
        char *name = trees_column_name(job, c);
        WEFT_CHECK(facts->column == NULL || facts->columns <= c || strcmp(facts->column[c], name) == 0, WEFT_ERR_DATA,
                   "%s: its column %d is %s, and that of the data %s: put the columns in the model's order", path,
                   c + 1, facts->column[c], name);
        const name_list own = rows->words != NULL ? rows->words[c] : (name_list){0};
        const name_list model = facts->words != NULL ? facts->words[c] : (name_list){0};
        bool same = own.count == model.count;
        for (int64_t i = 0; same && i < own.count; ++i) {
            same = strcmp(own.text[i], model.text[i]) == 0;
        }
        WEFT_CHECK(same, WEFT_ERR_UNSUPPORTED,
                   "%s: %s: the model knows %lld words and the data have %lld, not the same: trees go on with the same "
                   "words alone; train anew on all of the data",
                   path, name, (long long)model.count, (long long)own.count);
    }
    return WEFT_OK;
}

/* [out] forest: the trees that the training goes on from, if there are any; for forest_destroy. */
static weft_status read_start(const trees_fit_run *r, weft_forest *forest)
{
    const saved_model *start = r->work->start;
    forest_facts facts = {0};
    if (start == NULL) {
        return WEFT_OK;
    }
    weft_status status = forest_read(start->path, start->own, start->own_bytes, forest, &facts);
    status = status == WEFT_OK ? check_start(r->job, start->path, forest, &facts) : status;
    forest_facts_free(&facts);
    return status;
}

static weft_status begin(void *self, uint64_t seed)
{
    trees_fit_run *r = self;
    weft_forest start = {0};
    (void)seed;
    weft_status status = comm_agree(r->services->comm, read_start(r, &start));
    status = status == WEFT_OK ? open_boost(r, &start) : status;
    if (status == WEFT_OK && r->work->start != NULL) {
        status = boost_resume(r->job->boost, &start);
    }
    r->job->best = start.trees;
    forest_destroy(&start);
    return status;
}

static weft_status epoch(void *self, uint64_t seed, train_epoch *record)
{
    trees_fit_run *r = self;
    record->lr = r->job->options.growth.rate;
    WEFT_TRY(boost_round(r->job->boost, seed));
    record->loss = boost_loss(r->job->boost) / (double)r->job->rows.labels.targets.loss_entries;
    return comm_allreduce(r->services->comm, &record->loss, 1, WEFT_DTYPE_F64, COMM_SUM);
}

static weft_status evaluate(void *self, uint64_t seed, train_epoch *record)
{
    trees_fit_run *r = self;
    trees_job *job = r->job;
    weft_tensor logits;
    (void)seed;
    activity_begin(ACTIVITY_EVALUATE);
    weft_status status = trees_answer(job, boost_margins(job->boost), &logits);
    status = status == WEFT_OK ? metrics_begin(&job->metrics) : status;
    status = status == WEFT_OK ? metrics_add(&job->metrics, &logits, r->work->targets) : status;
    status = comm_agree(r->services->comm, status);
    status = status == WEFT_OK ? metrics_end(&job->metrics, record->score) : status;
    activity_end(ACTIVITY_EVALUATE);
    return status;
}

static weft_status keep_best(void *self)
{
    trees_job *job = ((trees_fit_run *)self)->job;
    job->best = boost_forest(job->boost)->trees;
    forest_destroy(&job->kept);
    return job->options.drop > 0.0 ? forest_copy(boost_forest(job->boost), job->best, &job->kept) : WEFT_OK;
}

/* The forest whose first job->best trees are the best evaluation. */
static const weft_forest *best_of(const trees_job *job)
{
    return job->options.drop > 0.0 ? &job->kept : boost_forest(job->boost);
}

static weft_status use_best(void *self)
{
    const trees_fit_run *r = self;
    trees_job *job = r->job;
    forest_destroy(&job->forest);
    weft_free(job->margin);
    job->margin = boost_take_margins(job->boost);
    WEFT_TRY(forest_copy(best_of(job), job->best, &job->forest));
    if (job->options.drop > 0.0 || job->best < boost_forest(job->boost)->trees) {
        return forest_margins(&job->forest, &job->rows.data, 0, job->forest.trees, r->work->context->hal->threads,
                              job->margin);
    }
    return WEFT_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* facts: texts of the job. names: memory for pointers to names of columns [columns]. */
static forest_facts facts_of(const trees_job *job, char **names)
{
    const tree_rows *rows = &job->rows;
    for (int c = 0; c < rows->data.columns; ++c) {
        names[c] = trees_column_name(job, c);
    }
    return (forest_facts){.loss = job->loss,
                          .quantile = job->targets.quantile,
                          .column = names,
                          .columns = rows->data.columns,
                          .words = rows->words,
                          .class_name = rows->classes.text,
                          .classes = (int)rows->classes.count};
}

static weft_status write_forest(const trees_job *job, const weft_forest *forest, const char *path)
{
    file_writer writer;
    char **names = NULL;
    WEFT_TRY(WEFT_NEW(&names, job->rows.data.columns, WEFT_MEM_TREES));
    const forest_facts facts = facts_of(job, names);
    weft_status status = file_writer_open(path, &writer);
    if (status == WEFT_OK) {
        forest_write(forest, &facts, writer.stream);
        status = file_writer_commit(&writer);
    }
    weft_free(names);
    return status;
}

weft_status trees_save(const workload *work, const char *path)
{
    const trees_job *job = work->self;
    return path != NULL ? write_forest(job, &job->forest, path) : WEFT_OK;
}

static weft_status save(void *self, const char *folder)
{
    const trees_job *job = ((trees_fit_run *)self)->job;
    weft_forest best = {0};
    char path[FILE_PATH_MAX];
    if (folder == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/" STATE_FILE, folder));
    WEFT_TRY(write_forest(job, boost_forest(job->boost), path));
    WEFT_TRY(file_path(path, "%s/" TREES_MODEL_FILE, folder));
    weft_status status = forest_copy(best_of(job), job->best, &best);
    status = status == WEFT_OK ? write_forest(job, &best, path) : status;
    forest_destroy(&best);
    return status;
}

/* The bytes of a file of rank 0, on every rank. [out] text: for weft_free. Collective. */
static weft_status share_file(weft_comm *comm, const char *folder, const char *name, char **text, int64_t *bytes)
{
    char path[FILE_PATH_MAX];
    size_t count = 0;
    weft_status status = WEFT_OK;
    *text = NULL;
    if (folder != NULL) {
        status = file_path(path, "%s/%s", folder, name);
        status = status == WEFT_OK ? file_read_text(path, (size_t)1 << 30, text, &count) : status;
    }
    WEFT_TRY(comm_agree(comm, status));
    *bytes = (int64_t)count;
    WEFT_TRY(comm_bcast(comm, 0, bytes, sizeof *bytes));
    status = folder == NULL ? weft_malloc((size_t)*bytes + 1, 1, WEFT_MEM_TREES, (void **)text) : WEFT_OK;
    WEFT_TRY(comm_agree(comm, status));
    return comm_bcast(comm, 0, *text, *bytes);
}

static weft_status load_forest(weft_comm *comm, const char *folder, const char *name, const trees_job *job,
                               weft_forest *forest)
{
    char *text = NULL;
    int64_t bytes = 0;
    forest_facts facts = {0};
    weft_status status = share_file(comm, folder, name, &text, &bytes);
    status = status == WEFT_OK ? forest_read(name, text, (size_t)bytes, forest, &facts) : status;
    weft_free(text);
    if (status == WEFT_OK && (forest->columns != job->rows.data.columns || forest->outputs != job->targets.outputs ||
                              facts.loss != job->loss)) {
        status = weft_fail(WEFT_ERR_DATA, "%s: its trees are of other columns or classes than the data", name);
    }
    forest_facts_free(&facts);
    return comm_agree(comm, status);
}

static weft_status load(void *self, const char *folder)
{
    trees_fit_run *r = self;
    weft_forest all = {0}, best = {0};
    weft_status status = load_forest(r->services->comm, folder, STATE_FILE, r->job, &all);
    status = status == WEFT_OK ? load_forest(r->services->comm, folder, TREES_MODEL_FILE, r->job, &best) : status;
    if (status == WEFT_OK && best.trees > all.trees) {
        status = weft_fail(WEFT_ERR_DATA, TREES_MODEL_FILE " has more trees than " STATE_FILE);
    }
    status = status == WEFT_OK ? open_boost(r, &all) : status;
    status = status == WEFT_OK ? boost_resume(r->job->boost, &all) : status;
    r->job->best = best.trees;
    if (status == WEFT_OK && r->job->options.drop > 0.0) {
        forest_destroy(&r->job->kept);
        status = comm_agree(r->services->comm, forest_copy(&best, best.trees, &r->job->kept));
    }
    forest_destroy(&all);
    forest_destroy(&best);
    return status;
}

weft_status trees_fit(workload *work, const fit_services *services, train_result *result)
{
    trees_job *job = work->self;
    trees_fit_run run = {.work = work, .job = job, .services = services};
    const metrics_desc desc = {.metric = services->metric,
                               .loss = work->targets->loss,
                               .outputs = work->outputs,
                               .rows = job->rows.data.rows,
                               .dtype = WEFT_DTYPE_F32};
    const fit_method method = {.self = &run,
                               .name = "trees",
                               .begin = begin,
                               .epoch = epoch,
                               .evaluate = evaluate,
                               .keep_best = keep_best,
                               .use_best = use_best,
                               .save = save,
                               .load = load};
    metrics_destroy(&job->metrics);
    WEFT_TRY(metrics_create(services->comm, work->context->hal, &desc, &job->metrics));
    const weft_status status = fit_rounds(services, &method, result);
    boost_destroy(
        job->boost); /* the margins answer from now on; columns whose numbers were given back have none left */
    job->boost = NULL;
    tree_rows_forget(&job->rows);
    return status;
}
