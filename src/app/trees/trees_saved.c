/* app/trees/trees_saved.c: boosted trees on disk. */
#include "app/trees/trees_job.h"
#include "base/number.h"

/* Answers for a row: two classes have one margin. */
static int64_t trees_outputs(tree_loss loss, const weft_forest *forest)
{
    return loss == TREE_LOSS_LOGISTIC ? 2 : forest->outputs;
}

static weft_status show_options(saved_model *model, const forest_facts *facts)
{
    static const char *const word[] = {
        [TREE_LOSS_SQUARED] = "squared", [TREE_LOSS_LOGISTIC] = "xent",     [TREE_LOSS_SOFTMAX] = "xent",
        [TREE_LOSS_POISSON] = "poisson", [TREE_LOSS_ABSOLUTE] = "absolute", [TREE_LOSS_QUANTILE] = "quantile",
        [TREE_LOSS_RANK] = "rank"};
    char text[NUMBER_TEXT_MAX];
    WEFT_TRY(saved_model_show(model, OPT_MODEL, "trees"));
    WEFT_TRY(saved_model_show(model, OPT_LOSS, word[facts->loss]));
    return facts->loss == TREE_LOSS_QUANTILE
               ? saved_model_show(model, OPT_TREE_QUANTILE, number_format_real(facts->quantile, text))
               : WEFT_OK;
}

weft_status trees_recognise(saved_model *model, const weft_options *given)
{
    weft_forest forest = {0};
    forest_facts facts = {0};
    (void)given;
    WEFT_CHECK(model->own != NULL, WEFT_ERR_DATA, "%s: is no model of trees", model->path);
    weft_status status = forest_read(model->path, model->own, model->own_bytes, &forest, &facts);
    if (status == WEFT_OK) {
        model->layers = 1;
        model->inputs = forest.columns;
        model->outputs = trees_outputs(facts.loss, &forest);
        status = show_options(model, &facts);
    }
    if (status == WEFT_OK && model->classes.count == 0 && facts.class_name != NULL) {
        status = name_list_copy((const char *const *)facts.class_name, facts.classes, &model->classes);
    }
    forest_facts_free(&facts);
    forest_destroy(&forest);
    return status;
}

weft_status trees_read(trees_job *job, const saved_model *model)
{
    WEFT_TRY(forest_read(model->path, model->own, model->own_bytes, &job->forest, &job->facts));
    job->loss = job->facts.loss;
    return WEFT_OK;
}

/* The bytes are those of the model that trees_open read. */
weft_status trees_load(workload *work, const char *path, const void *bytes, size_t count)
{
    trees_job *job = work->self;
    (void)bytes;
    (void)count;
    const int64_t outputs = trees_outputs(job->facts.loss, &job->forest);
    WEFT_CHECK(outputs == work->outputs && job->loss == job->facts.loss, WEFT_ERR_DATA,
               "%s: has %lld answers a row, and %s %lld", path, (long long)outputs, work->name,
               (long long)work->outputs);
    WEFT_CHECK(job->rows.data.columns == job->forest.columns, WEFT_ERR_DATA, "%s: reads %d columns, and %s has %d",
               path, job->forest.columns, work->name, job->rows.data.columns);
    WEFT_TRY(tree_rows_recode(&job->rows, work->name, job->facts.words));
    weft_free(job->margin);
    job->margin = NULL;
    return WEFT_OK;
}
