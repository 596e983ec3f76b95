/* app/trees/trees_workload.c: see app/trees/trees_workload.h. Training is in trees_fit.c, models on disk in
 * trees_saved.c. */
#include "app/trees/trees_workload.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/setup/table_setup.h"
#include "app/trees/trees_job.h"
#include "base/clock.h"
#include "base/log.h"

/* ---- the data ---------------------------------------------------------------------------------------------------- */

static bool is_table_file(const char *data)
{
    static const char *const ends[] = {".csv",    ".tsv",    ".libsvm", ".svm",    ".npy",       ".npz",
                                       ".csv.gz", ".csv.xz", ".tsv.gz", ".tsv.xz", ".libsvm.gz", ".libsvm.xz"};
    const size_t length = strlen(data);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        const size_t bytes = strlen(ends[i]);
        if (length > bytes && strcmp(data + length - bytes, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Files of edges look like tables, so a file is claimed for trees alone. */
static workload_claims trees_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL), *data = option_text(options, OPT_DATA);
    const bool named = strcmp(model, "trees") == 0;
    const workload_claim other = strcmp(model, "auto") == 0 ? CLAIM_POSSIBLE : CLAIM_NO;
    const bool table = data[0] != '\0' && (table_is_store(data) || (named && is_table_file(data)));
    return (workload_claims){.model = named ? CLAIM_CERTAIN : other, .data = table ? CLAIM_CERTAIN : CLAIM_NO};
}

void trees_note_labels(workload *work)
{
    const tree_rows *rows = &((const trees_job *)work->self)->rows;
    work->classes = rows->classes.count;
    work->labelled = work->classes > 0;
    work->class_name = (const char *const *)rows->classes.text;
}

static weft_status trees_open(workload *work, const char *folder)
{
    (void)folder;
    trees_job *job = work->self;
    const weft_options *o = work->context->options;
    const char *data = option_text(o, OPT_DATA);
    const tree_rows_options options = {.request = app_table_request(o),
                                       .valid = option_real(o, OPT_TREE_VALID),
                                       .test = option_real(o, OPT_TREE_TEST),
                                       .seed = 0,
                                       .trained = work->trained};
    WEFT_CHECK(data[0] != '\0' || work->paths > 0, WEFT_ERR_USAGE, "%s is missing: name a table", FLAG_DATA);
    activity_begin(ACTIVITY_LOAD);
    const weft_status status = tree_rows_open(work->context->comm, work->paths > 0 ? work->path : &data,
                                              work->paths > 0 ? work->paths : 1, &options, &job->rows);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    (void)snprintf(work->name, sizeof work->name, "%s", data);
    (void)snprintf(work->hash, sizeof work->hash, "%032llx", (unsigned long long)job->rows.hash);
    trees_note_labels(work);
    log_info("%s: %lld rows of %d columns in %lld classes", work->name, (long long)job->rows.table.rows,
             job->rows.data.columns, (long long)work->classes);
    return WEFT_OK;
}

static void trees_count_classes(const workload *work, int64_t *rows)
{
    const tree_rows *r = &((const trees_job *)work->self)->rows;
    memcpy(rows, r->counted, (size_t)r->classes.count * sizeof *rows);
}

static weft_status trees_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names)
{
    WEFT_TRY(tree_rows_relabel(&((trees_job *)work->self)->rows, class_of, classes, names));
    trees_note_labels(work);
    return WEFT_OK;
}

static weft_status trees_decide(workload *work, weft_options *options, bool training)
{
    static const option_id open[] = {OPT_MODEL, OPT_LOSS, OPT_RECIPE};
    static const char *const word[] = {"trees", "xent", "trees"};
    (void)work;
    for (int i = 0; i < (training ? 3 : 2); ++i) {
        WEFT_TRY(option_is_auto(options, open[i]) ? option_decide(options, open[i], word[i]) : WEFT_OK);
    }
    if (option_is_auto(options, OPT_TREE_ORDER)) {
        WEFT_TRY(
            option_decide(options, OPT_TREE_ORDER, option_int(options, OPT_TREE_LEAVES) > 0 ? "leaves" : "levels"));
    }
    return WEFT_OK;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static boost_options read_options(const weft_options *o)
{
    const int leaves = (int)option_int(o, OPT_TREE_LEAVES), depth = (int)option_int(o, OPT_TREE_DEPTH);
    const bool goss = option_choice(o, OPT_TREE_SAMPLING) == TREE_SAMPLING_GOSS;
    const bool dart = option_choice(o, OPT_TREE_BOOSTER) == TREE_BOOSTER_DART;
    return (boost_options){.values = (int)option_int(o, OPT_TREE_BINS),
                           .drop = dart ? option_real(o, OPT_TREE_DROP) : 0.0,
                           .skip = option_real(o, OPT_TREE_SKIP),
                           .growth = {.depth = depth == 0 && leaves == 0 ? 6 : depth,
                                      .leaves = leaves,
                                      .leaf_wise = option_choice(o, OPT_TREE_ORDER) == TREE_ORDER_LEAVES,
                                      .rate = option_real(o, OPT_LR),
                                      .lambda = option_real(o, OPT_TREE_LAMBDA),
                                      .alpha = option_real(o, OPT_TREE_ALPHA),
                                      .min_gain = option_real(o, OPT_TREE_MIN_GAIN),
                                      .min_hessian = option_real(o, OPT_TREE_MIN_HESSIAN),
                                      .smooth = option_real(o, OPT_TREE_SMOOTH),
                                      .category_l2 = option_real(o, OPT_TREE_CATEGORY_L2),
                                      .one_hot = (int)option_int(o, OPT_TREE_ONE_HOT),
                                      .top = goss ? option_real(o, OPT_TREE_TOP) : 0.0,
                                      .other = option_real(o, OPT_TREE_OTHER),
                                      .row_share = option_real(o, OPT_TREE_ROWS),
                                      .column_share = option_real(o, OPT_TREE_COLUMNS)}};
}

static weft_status trees_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    trees_job *job = work->self;
    const tree_rows *rows = &job->rows;
    const uint64_t count = (uint64_t)rows->data.rows;
    memory_plan *memory = &work->memory;
    WEFT_CHECK(work->labelled || outputs > 0, WEFT_ERR_DATA,
               "%s: has no target: %s NAME says which column is to be predicted", work->name, FLAG_TARGET);
    WEFT_CHECK(schema_find(&rows->table.schema, TABLE_GROUP) < 0, WEFT_ERR_UNSUPPORTED,
               "%s: trees do not rank rows within groups: leave %s out", work->name, FLAG_GROUP_COLUMN);
    WEFT_CHECK(strcmp(option_text(work->context->options, OPT_LOSS), "xent") == 0, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: trees tell classes apart by xent", option_text(work->context->options, OPT_LOSS));
    WEFT_CHECK(work->context->device_ranks == 0, WEFT_ERR_UNSUPPORTED,
               "trees are grown on processors: leave --device out");
    job->options = read_options(work->context->options);
    const tree_growth *growth = &job->options.growth;
    WEFT_CHECK(growth->top == 0.0 || growth->top + growth->other <= 1.0, WEFT_ERR_USAGE,
               FLAG_TREE_TOP " %g and " FLAG_TREE_OTHER " %g are more than all rows", growth->top, growth->other);
    WEFT_CHECK(growth->top == 0.0 || growth->row_share == 1.0, WEFT_ERR_USAGE,
               FLAG_TREE_ROWS " draws from all rows alike: leave it or " FLAG_TREE_SAMPLING " goss out");
    WEFT_TRY(work->trained ? WEFT_OK : trees_constrain(work));
    work->inputs = rows->data.columns;
    work->outputs = work->labelled ? work->classes : outputs;
    WEFT_CHECK(work->outputs >= 2, WEFT_ERR_DATA, "%s: all rows are of one class: there is nothing to tell apart",
               work->name);
    job->loss = work->outputs == 2 ? TREE_LOSS_LOGISTIC : TREE_LOSS_SOFTMAX;
    const uint64_t margins = work->outputs == 2 ? 1 : (uint64_t)work->outputs;
    const uint64_t training = work->trained ? 0 : count * (2 * (uint64_t)rows->data.columns + 24 + 12 * margins);
    work->shares[0] = rows->data.rows;
    *memory = (memory_plan){.cure = "use more ranks"};
    memory_plan_add(memory, "process and table", clock_rss_bytes());
    memory_plan_add(memory, "bins, gradients and lists of rows", training);
    memory_plan_add(memory, "answers", count * 4 * (margins + (uint64_t)work->outputs));
    for (int i = 0; i < memory->rows; ++i) {
        memory->peak += memory->row[i].bytes;
    }
    memory->device = memory->beside = memory->peak;
    return memory_plan_check(work->context, memory, option_size(work->context->options, OPT_MEMORY_LIMIT));
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

weft_status trees_answer(trees_job *job, const float *margin, weft_tensor *logits)
{
    const int64_t rows = job->rows.data.rows, outputs = job->answers.cols;
    if (job->loss == TREE_LOSS_SOFTMAX) {
        WEFT_TRY(tensor_upload(&job->answers, margin));
    } else {
        for (int64_t i = 0; i < rows; ++i) {
            job->host[2 * i] = 0.0F;
            job->host[2 * i + 1] = margin[i];
        }
        WEFT_TRY(tensor_upload(&job->answers, job->host));
    }
    *logits = tensor_view(&job->answers, 0, rows, 0, outputs);
    return WEFT_OK;
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    trees_job *job = self;
    (void)pass;
    if (job->margin == NULL) {
        WEFT_TRY(WEFT_NEW(&job->margin, job->rows.data.rows * job->forest.outputs, WEFT_MEM_TREES));
        WEFT_TRY(forest_margins(&job->forest, &job->rows.data, 0, job->forest.trees, job->answers.hal->threads,
                                job->margin));
    }
    return trees_answer(job, job->margin, logits);
}

static weft_status make_targets(workload *work)
{
    trees_job *job = work->self;
    tree_rows *rows = &job->rows;
    const int64_t count = rows->data.rows;
    WEFT_TRY(WEFT_NEW(&job->y, count, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&job->counts, count, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&job->host, 2 * count, WEFT_MEM_TREES));
    for (int64_t i = 0; i < count; ++i) {
        job->y[i] = (float)rows->labels.label[i];
        job->counts[i] = rows->labels.split[i] == TRAIN_SPLIT_TRAIN;
    }
    job->targets = (tree_targets){.loss = job->loss,
                                  .rows = count,
                                  .outputs = job->loss == TREE_LOSS_SOFTMAX ? (int)work->outputs : 1,
                                  .y = job->y,
                                  .weight = rows->weight,
                                  .counts = job->counts};
    rows->labels.targets.outputs = work->outputs;
    WEFT_TRY(tensor_create(work->context->hal, WEFT_DTYPE_F32, count, work->outputs, WEFT_MEM_TREES, &job->answers));
    return work->labelled ? labels_upload(&rows->labels, work->context->hal) : WEFT_OK;
}

static weft_status trees_build(workload *work)
{
    trees_job *job = work->self;
    WEFT_TRY(comm_agree(work->context->comm, make_targets(work)));
    job->model = (train_model){.name = "trees", .self = job, .forward = forward};
    work->model = &job->model;
    work->targets = &job->rows.labels.targets;
    work->source = source_whole(work->targets);
    work->held = (held_rows){.total = job->rows.table.rows, .count = job->rows.data.rows, .id = job->rows.id};
    return WEFT_OK;
}

static void trees_end(workload *work)
{
    trees_job *job = work->self;
    metrics_destroy(&job->metrics);
    boost_destroy(job->boost);
    forest_destroy(&job->forest);
    forest_destroy(&job->kept);
    WEFT_FREE_ALL(job->direction, job->group);
    forest_facts_free(&job->facts);
    tensor_destroy(&job->answers);
    WEFT_FREE_ALL(job->y, job->counts, job->margin, job->host, job->shares);
    tree_rows_close(&job->rows);
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void data_facts(const workload *work, fact_list *list)
{
    const tree_rows *rows = &((const trees_job *)work->self)->rows;
    facts_int(list, "rows", "rows", "", "", rows->table.rows);
    facts_int(list, "columns", "columns to learn from", "", "", rows->data.columns);
    facts_int(list, FACT_CLASSES, "classes", "", "", work->classes);
}

static void plan_facts(const workload *work, fact_list *list)
{
    const tree_growth *g = &((const trees_job *)work->self)->options.growth;
    facts_group(list, "trees", "Trees");
    facts_int(list, "depth", "depth", "", "splits on the way to a leaf, at most; 0: no bound", g->depth);
    facts_int(list, "leaves", "leaves", "", "of a tree, at most; 0: no bound", g->leaves);
    facts_text(list, "order", "grown", "which leaf is split next", g->leaf_wise ? "by leaves" : "by levels");
}

static void result_facts(const workload *work, fact_list *list)
{
    const trees_job *job = work->self;
    int64_t nodes = 0;
    for (int t = 0; t < job->forest.trees; ++t) {
        nodes += job->forest.tree[t].nodes;
    }
    plan_facts(work, list);
    facts_int(list, "trees", "trees", "", "of the best round", job->forest.trees);
    facts_int(list, "nodes", "nodes", "", "of all trees", nodes);
    facts_real(list, "binning_s", "binning", "s", "in which columns were cut into bins", job->binning);
}

static const char *const model_head[] = {"{\"learner\"", "tree\n", "tree\r\n", NULL};

const workload_ops trees_workload = {
    .options = &trees_option_table,
    .claims = trees_claims,
    .data = "tables",
    .field = "tables",
    .rows = "rows",
    .accepts = "table (a store of weft convert; with --model trees .csv, .tsv, .libsvm, .npy, .npz)",
    .split_cure = "--valid-share sets rows apart, or a column named split says which rows validate",
    .test_cure = "--test-share sets rows apart, or a column named split says which rows test",
    .share = {{"table_rows", "rows", ""}},
    .self_bytes = sizeof(trees_job),
    .open = trees_open,
    .count_classes = trees_count_classes,
    .relabel = trees_relabel,
    .decide = trees_decide,
    .plan = trees_plan,
    .build = trees_build,
    .end = trees_end,
    .fit = trees_fit,
    .model_file = TREES_MODEL_FILE,
    .model_head = model_head,
    .save = trees_save,
    .load = trees_load,
    .explain = trees_explain,
    .data_facts = data_facts,
    .row_title = {"row", "row"},
    .shows_answers = true,
    .plan_facts = plan_facts,
    .result_facts = result_facts,
    .recognise = trees_recognise,
};
