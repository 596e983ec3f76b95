/* app/trees/trees_workload.c: see app/trees/trees_workload.h. Training is in trees_fit.c, models on disk in
 * trees_saved.c. */
#include "app/trees/trees_workload.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/setup/table_setup.h"
#include "app/trees/trees_job.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "trees/forest/forest_format.h"

enum { CHUNK = 1024 /* rows that become answers together */ };

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
    work->labelled = rows->numbers ? rows->aimed : work->classes > 0;
    work->class_name = (const char *const *)rows->classes.text;
}

static tree_aim aim_of(loss_choice loss)
{
    return loss == LOSS_AUTO ? TREE_AIM_AUTO : loss <= LOSS_BCE ? TREE_AIM_CLASSES : TREE_AIM_NUMBERS;
}

static void tell_data(const workload *work)
{
    const tree_rows *rows = &((const trees_job *)work->self)->rows;
    if (rows->numbers) {
        log_info("%s: %lld rows of %d columns; the target is numbers", work->name, (long long)rows->table.rows,
                 rows->data.columns);
    } else {
        log_info("%s: %lld rows of %d columns in %lld classes", work->name, (long long)rows->table.rows,
                 rows->data.columns, (long long)work->classes);
    }
}

static weft_status trees_open(workload *work, const char *folder)
{
    (void)folder;
    trees_job *job = work->self;
    const weft_options *o = work->context->options;
    table_places places;
    WEFT_TRY(app_table_places(o, work->path, work->paths, !work->trained, &places));
    if (work->answers_with != NULL) {
        WEFT_TRY(comm_agree(work->context->comm, trees_read(job, work->answers_with)));
    }
    tree_rows_options options = {.request = app_table_request(o),
                                 .valid = option_real(o, OPT_VALID_SHARE),
                                 .test = option_real(o, OPT_TEST_SHARE),
                                 .part = app_table_parts(&places, !work->trained),
                                 .seed = 0,
                                 .aim = aim_of(option_choice(o, OPT_LOSS)),
                                 .column = job->facts.column,
                                 .columns = job->facts.column != NULL ? job->facts.columns : 0,
                                 .trained = work->trained};
    job->reads = (name_list){job->facts.column, options.columns};
    options.request.reads[0] = &job->reads;
    WEFT_TRY(trees_plan_room(work, &options.request));
    activity_begin(ACTIVITY_LOAD);
    const weft_status status = tree_rows_open(work->context->comm, places.path, places.paths, &options, &job->rows);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    (void)snprintf(work->name, sizeof work->name, "%s", option_text(o, OPT_DATA));
    (void)snprintf(work->hash, sizeof work->hash, "%032llx", (unsigned long long)job->rows.hash);
    trees_note_labels(work);
    tell_data(work);
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
    const bool numbers = ((const trees_job *)work->self)->rows.numbers;
    const char *const word[] = {"trees", numbers ? "squared" : "xent", "trees"};
    if (numbers && option_is_auto(options, OPT_LOSS)) {
        log_info(FLAG_LOSS " squared, as the target has fractions; absolute, quantile and poisson are others");
    }
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

static tree_loss loss_of_numbers(loss_choice loss)
{
    return loss == LOSS_ABSOLUTE   ? TREE_LOSS_ABSOLUTE
           : loss == LOSS_QUANTILE ? TREE_LOSS_QUANTILE
           : loss == LOSS_POISSON  ? TREE_LOSS_POISSON
           : loss == LOSS_RANK     ? TREE_LOSS_RANK
                                   : TREE_LOSS_SQUARED;
}

/* [out] base: the margin before the first tree, NaN under auto. */
static weft_status read_base(const weft_options *o, tree_loss loss, float *base)
{
    const char *text = option_text(o, OPT_TREE_BASE);
    double answer = 0.0;
    *base = NAN;
    if (strcmp(text, "auto") == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(number_parse_real(text, &answer), WEFT_ERR_USAGE, FLAG_TREE_BASE " %s: expected auto or a number", text);
    WEFT_CHECK(loss != TREE_LOSS_SOFTMAX, WEFT_ERR_USAGE,
               FLAG_TREE_BASE " %s: more than two classes begin at equal probabilities: leave it out", text);
    WEFT_CHECK(loss != TREE_LOSS_LOGISTIC || (answer > 0.0 && answer < 1.0), WEFT_ERR_USAGE,
               FLAG_TREE_BASE " %s: of two classes it is a probability, between 0 and 1", text);
    WEFT_CHECK(loss != TREE_LOSS_POISSON || answer > 0.0, WEFT_ERR_USAGE,
               FLAG_TREE_BASE " %s: " FLAG_LOSS " poisson begins at a mean above 0", text);
    *base = (float)forest_margin_of_answer(loss, answer);
    return WEFT_OK;
}

static weft_status read_options(const weft_options *o, tree_loss loss, boost_options *options)
{
    const int leaves = (int)option_int(o, OPT_TREE_LEAVES), depth = (int)option_int(o, OPT_TREE_DEPTH);
    const bool goss = option_choice(o, OPT_TREE_SAMPLING) == TREE_SAMPLING_GOSS;
    const bool dart = option_choice(o, OPT_TREE_BOOSTER) == TREE_BOOSTER_DART;
    *options = (boost_options){.values = (int)option_int(o, OPT_TREE_BINS),
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
                                          .set_most = (int)option_int(o, OPT_TREE_SET),
                                          .category_l2 = option_real(o, OPT_TREE_CATEGORY_L2),
                                          .one_hot = (int)option_int(o, OPT_TREE_ONE_HOT),
                                          .top = goss ? option_real(o, OPT_TREE_TOP) : 0.0,
                                          .other = option_real(o, OPT_TREE_OTHER),
                                          .max_step = option_real(o, OPT_TREE_STEP),
                                          .row_share = option_real(o, OPT_TREE_ROWS),
                                          .column_share = option_real(o, OPT_TREE_COLUMNS)}};
    const tree_growth *growth = &options->growth;
    WEFT_CHECK(loss == TREE_LOSS_LOGISTIC || option_real(o, OPT_TREE_POSITIVE) == 1.0, WEFT_ERR_USAGE,
               FLAG_TREE_POSITIVE " is for two classes: a column of weights (" FLAG_WEIGHT_COLUMN ") weighs any rows");
    WEFT_CHECK(growth->top == 0.0 || growth->top + growth->other <= 1.0, WEFT_ERR_USAGE,
               FLAG_TREE_TOP " %g and " FLAG_TREE_OTHER " %g are more than all rows", growth->top, growth->other);
    WEFT_CHECK(growth->top == 0.0 || growth->row_share == 1.0, WEFT_ERR_USAGE,
               FLAG_TREE_ROWS " draws from all rows alike: leave it or " FLAG_TREE_SAMPLING " goss out");
    WEFT_CHECK((loss != TREE_LOSS_ABSOLUTE && loss != TREE_LOSS_QUANTILE) ||
                   option_text(o, OPT_TREE_MONOTONE)[0] == '\0',
               WEFT_ERR_USAGE,
               FLAG_TREE_MONOTONE ": under " FLAG_LOSS " %s leaves become medians or quantiles of their "
                                  "rows, which heed no direction: leave it out, or take squared",
               option_text(o, OPT_LOSS));
    WEFT_CHECK((loss != TREE_LOSS_ABSOLUTE && loss != TREE_LOSS_QUANTILE) || growth->max_step == 0.0, WEFT_ERR_USAGE,
               FLAG_TREE_STEP ": under " FLAG_LOSS
                              " %s leaves become medians or quantiles of their rows, which heed no "
                              "bound: leave it out, or take squared",
               option_text(o, OPT_LOSS));
    return read_base(o, loss, &options->base);
}

static weft_status trees_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    trees_job *job = work->self;
    const tree_rows *rows = &job->rows;
    WEFT_CHECK(work->labelled || outputs > 0, WEFT_ERR_DATA,
               "%s: has no target: %s NAME says which column is to be predicted", work->name, FLAG_TARGET);
    const bool grouped = schema_find(&rows->table.schema, TABLE_GROUP) >= 0;
    const bool ranks = option_choice(work->context->options, OPT_LOSS) == LOSS_RANK;
    WEFT_CHECK(!grouped || ranks || work->trained, WEFT_ERR_UNSUPPORTED,
               "%s: %s is for " FLAG_LOSS " rank, which orders rows within groups: leave it out, or ask for that",
               work->name, FLAG_GROUP_COLUMN);
    WEFT_CHECK(!ranks || grouped || !work->labelled, WEFT_ERR_DATA,
               "%s: " FLAG_LOSS " rank orders rows within groups: %s COLUMN names the column that says them",
               work->name, FLAG_GROUP_COLUMN);
    WEFT_CHECK(option_choice(work->context->options, OPT_LOSS) != LOSS_HUBER, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " huber: trees learn numbers by squared or absolute errors, quantile or poisson");
    WEFT_CHECK(option_choice(work->context->options, OPT_LOSS) != LOSS_BCE, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: trees tell classes apart by xent", option_text(work->context->options, OPT_LOSS));
    WEFT_CHECK(work->context->device_ranks == 0, WEFT_ERR_UNSUPPORTED,
               "trees are grown on processors: leave --device out");
    work->inputs = rows->data.columns;
    work->outputs = rows->numbers ? 1 : work->labelled ? work->classes : outputs;
    WEFT_CHECK(rows->numbers || work->outputs >= 2, WEFT_ERR_DATA,
               "%s: all rows are of one class: there is nothing to tell apart", work->name);
    job->loss = rows->numbers        ? loss_of_numbers(option_choice(work->context->options, OPT_LOSS))
                : work->outputs == 2 ? TREE_LOSS_LOGISTIC
                                     : TREE_LOSS_SOFTMAX;
    WEFT_TRY(read_options(work->context->options, job->loss, &job->options));
    WEFT_TRY(work->trained ? WEFT_OK : trees_constrain(work));
    work->shares[0] = rows->data.rows;
    return trees_plan_memory(work);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

weft_status trees_answer(trees_job *job, const float *margin, weft_tensor *logits)
{
    float host[2 * CHUNK];
    const int64_t rows = job->rows.data.rows, outputs = job->answers.cols;
    const bool two = job->loss == TREE_LOSS_LOGISTIC, counts = job->loss == TREE_LOSS_POISSON;
    WEFT_TRY(two || counts ? WEFT_OK : tensor_upload(&job->answers, margin));
    for (int64_t first = 0; (two || counts) && first < rows; first += CHUNK) {
        const int64_t count = smaller(CHUNK, rows - first);
        for (int64_t i = 0; i < count && two; ++i) {
            host[2 * i] = 0.0F;
            host[2 * i + 1] = margin[first + i];
        }
        for (int64_t i = 0; i < count && counts; ++i) {
            host[i] = (float)tree_exp((double)margin[first + i]);
        }
        weft_tensor part = tensor_view(&job->answers, first, count, 0, outputs);
        WEFT_TRY(tensor_upload(&part, host));
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

/* Rows of the second class count `times` times. */
static weft_status weigh_positives(tree_rows *rows, float times)
{
    if (times == 1.0F) {
        return WEFT_OK;
    }
    const bool weighted = rows->weight != NULL;
    WEFT_TRY(weighted ? WEFT_OK : WEFT_NEW(&rows->weight, rows->data.rows, WEFT_MEM_TREES));
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        rows->weight[i] = (weighted ? rows->weight[i] : 1.0F) * (rows->labels.label[i] == 1 ? times : 1.0F);
    }
    return WEFT_OK;
}

/* Which rows train, and how answers are judged. */
static weft_status make_targets(workload *work)
{
    trees_job *job = work->self;
    tree_rows *rows = &job->rows;
    const int64_t count = rows->data.rows;
    WEFT_TRY(WEFT_NEW(&job->counts, count, WEFT_MEM_TREES));
    for (int64_t i = 0; i < count; ++i) {
        job->counts[i] = rows->labels.split[i] == TRAIN_SPLIT_TRAIN;
        WEFT_CHECK(job->loss != TREE_LOSS_POISSON || !(rows->labels.target[i] < 0.0F), WEFT_ERR_DATA,
                   "%s: row %lld: a target of %g: " FLAG_LOSS " poisson is for counts, of 0 and above", work->name,
                   (long long)(rows->table.first + i), (double)rows->labels.target[i]);
    }
    WEFT_TRY(weigh_positives(rows, (float)option_real(work->context->options, OPT_TREE_POSITIVE)));
    job->targets = (tree_targets){.loss = job->loss,
                                  .rows = count,
                                  .outputs = job->loss == TREE_LOSS_SOFTMAX ? (int)work->outputs : 1,
                                  .weight = rows->weight,
                                  .counts = job->counts,
                                  .quantile = option_real(work->context->options, OPT_TREE_QUANTILE)};
    rows->labels.targets.quantile = job->targets.quantile;
    rows->labels.targets.group = rows->group;
    rows->labels.targets.ndcg_at = (int)option_int(work->context->options, OPT_TREE_NDCG);
    rows->labels.targets.outputs = work->outputs;
    return tensor_create(work->context->hal, WEFT_DTYPE_F32, count, work->outputs, WEFT_MEM_TREES, &job->answers);
}

weft_status trees_take_answers(workload *work)
{
    trees_job *job = work->self;
    tree_rows *rows = &job->rows;
    if (job->y != NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&job->y, rows->data.rows, WEFT_MEM_TREES));
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        job->y[i] = rows->numbers ? rows->labels.target[i] : (float)rows->labels.label[i];
    }
    job->targets.y = job->y;
    return work->labelled ? labels_upload(&rows->labels, work->context->hal) : WEFT_OK;
}

static weft_status trees_build(workload *work)
{
    trees_job *job = work->self;
    const bool waits = !work->trained && job->loss != TREE_LOSS_RANK; /* until bins are made, which take less memory */
    WEFT_TRY(comm_agree(work->context->comm, make_targets(work)));
    WEFT_TRY(comm_agree(work->context->comm, waits ? WEFT_OK : trees_take_answers(work)));
    if (job->loss == TREE_LOSS_RANK && !work->trained) {
        WEFT_TRY(rank_groups_create(work->context->comm, job->rows.data.rows, job->rows.group, job->y, job->counts,
                                    (int)option_int(work->context->options, OPT_TREE_PAIRS), &job->groups));
        job->targets.groups = &job->groups;
    }
    job->model = (train_model){.name = "trees", .self = job, .forward = forward};
    work->model = &job->model;
    work->targets = &job->rows.labels.targets;
    work->source = source_whole(work->targets);
    work->held =
        (held_rows){.total = job->rows.table.rows, .count = job->rows.data.rows, .first = job->rows.table.first};
    return WEFT_OK;
}

static void trees_end(workload *work)
{
    trees_job *job = work->self;
    metrics_destroy(&job->metrics);
    boost_destroy(job->boost);
    rank_groups_destroy(&job->groups);
    forest_destroy(&job->forest);
    forest_destroy(&job->kept);
    WEFT_FREE_ALL(job->direction, job->group);
    forest_facts_free(&job->facts);
    tensor_destroy(&job->answers);
    WEFT_FREE_ALL(job->y, job->counts, job->margin, job->shares);
    tree_rows_close(&job->rows);
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void data_facts(const workload *work, fact_list *list)
{
    const tree_rows *rows = &((const trees_job *)work->self)->rows;
    facts_int(list, "rows", "rows", "", "", rows->table.rows);
    facts_int(list, "columns", "columns to learn from", "", "", rows->data.columns);
    if (rows->numbers) {
        facts_text(list, "target", "target", "", "numbers");
    } else {
        facts_int(list, FACT_CLASSES, "classes", "", "", work->classes);
    }
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

static const option_id recorded[] = {OPT_TREE_QUANTILE, OPT_TREE_NDCG, OPT_ABSENT, OPTION_NONE};
static const char *const model_head[] = {"{\"learner\"", "tree\n", "tree\r\n", NULL};

const workload_ops trees_workload = {
    .options = &trees_option_table,
    .recorded = recorded,
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
    .continues = true,
    .model_file = TREES_MODEL_FILE,
    .model_head = model_head,
    .save = trees_save,
    .load = trees_load,
    .explain = trees_explain,
    .input_name = trees_input_name,
    .input_values = trees_input_values,
    .detail = trees_detail,
    .drawings = trees_drawings,
    .column = trees_column,
    .data_facts = data_facts,
    .row_title = {"row", "row"},
    .shows_answers = true,
    .plan_facts = plan_facts,
    .print_plan = trees_print_scaling,
    .result_facts = result_facts,
    .recognise = trees_recognise,
};
