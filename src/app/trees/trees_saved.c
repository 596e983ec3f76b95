/* app/trees/trees_saved.c: boosted trees on disk. */
#include "app/trees/trees_job.h"

weft_status trees_recognise(saved_model *model, const weft_options *given)
{
    weft_forest forest = {0};
    forest_facts facts = {0};
    (void)given;
    WEFT_CHECK(model->own != NULL, WEFT_ERR_DATA, "%s: is no model of trees", model->path);
    weft_status status = forest_read(model->path, model->own, model->own_bytes, &forest, &facts);
    if (status == WEFT_OK && facts.loss != TREE_LOSS_LOGISTIC && facts.loss != TREE_LOSS_SOFTMAX) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, "%s: its trees predict numbers; this program answers with classes",
                           model->path);
    }
    if (status == WEFT_OK) {
        model->layers = 1;
        model->inputs = forest.columns;
        model->outputs = forest.outputs > 1 ? forest.outputs : 2;
        status = saved_model_show(model, OPT_MODEL, "trees");
    }
    if (status == WEFT_OK && model->classes.count == 0 && facts.class_name != NULL) {
        status = name_list_copy((const char *const *)facts.class_name, facts.classes, &model->classes);
    }
    forest_facts_free(&facts);
    forest_destroy(&forest);
    return status;
}

weft_status trees_load(workload *work, const char *path, const void *bytes, size_t count)
{
    trees_job *job = work->self;
    forest_destroy(&job->forest);
    forest_facts_free(&job->facts);
    WEFT_TRY(forest_read(path, bytes, count, &job->forest, &job->facts));
    const int64_t outputs = job->forest.outputs > 1 ? job->forest.outputs : 2;
    WEFT_CHECK(outputs == work->outputs, WEFT_ERR_DATA, "%s: has %lld classes, and %s %lld", path, (long long)outputs,
               work->name, (long long)work->outputs);
    if (job->facts.column != NULL) {
        WEFT_TRY(tree_rows_choose(&job->rows, work->name, job->facts.column, job->facts.columns));
    }
    WEFT_CHECK(job->rows.data.columns == job->forest.columns, WEFT_ERR_DATA, "%s: reads %d columns, and %s has %d",
               path, job->forest.columns, work->name, job->rows.data.columns);
    WEFT_TRY(tree_rows_recode(&job->rows, work->name, job->facts.words));
    weft_free(job->margin);
    job->margin = NULL;
    return WEFT_OK;
}
