/*
 * tests/toy/toy.c: a kind of workload as small as one can be: linear regression on a table, by gradients. No file of
 * src/app names it.
 *
 * The model is y = x W + b under squared loss. The column named target holds numbers, and so does every other column,
 * but one named split (app/setup/table_numbers.h). Ranks share the rows, and an epoch is one step over all.
 */
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/setup/table_numbers.h"
#include "app/workload/workload.h"
#include "base/clock.h"
#include "train/activities.h"
#include "train/layers/linear.h"

enum { TOY_TABLE = 9, OPT_INTERCEPT = OPTION_TABLE_FIRST(TOY_TABLE) };

typedef struct line {
    table_numbers rows;
    weft_tensor y; /* [rows, 1] answers */
    param_store params;
    train_linear map;
    train_model model;
} line;

static const weft_activity ACTIVITY_COLUMNS[1] = {{.text = "columns to rows", .kind = ACTIVITY_ONCE, .absorbs = true}};

static workload_claims toy_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL), *data = option_text(options, OPT_DATA);
    const size_t length = strlen(data);
    const bool table = (length > 4 && strcmp(data + length - 4, ".csv") == 0) || table_is_store(data);
    const workload_claim other = strcmp(model, "auto") == 0 ? CLAIM_POSSIBLE : CLAIM_NO;
    return (workload_claims){.model = strcmp(model, "line") == 0 ? CLAIM_CERTAIN : other,
                             .data = table ? CLAIM_CERTAIN : CLAIM_NO};
}

static weft_status toy_open(workload *work, const char *folder)
{
    (void)folder;
    line *w = work->self;
    const char *data = option_text(work->context->options, OPT_DATA);
    if (data[0] != '\0' && toy_claims(work->context->options).data == CLAIM_NO) {
        return workload_refuse_data(data);
    }
    activity_begin(ACTIVITY_COLUMNS);
    const weft_status status = table_numbers_open(work->context, work->paths > 0 ? work->path : &data,
                                                  work->paths > 0 ? work->paths : 1, &w->rows);
    activity_end(ACTIVITY_COLUMNS);
    snprintf(work->name, sizeof work->name, "%s", data);
    snprintf(work->hash, sizeof work->hash, "%032llx", (unsigned long long)w->rows.hash);
    work->labelled = w->rows.labelled;
    return status;
}

static weft_status toy_decide(workload *work, weft_options *options, bool training)
{
    static const option_id open[] = {OPT_MODEL, OPT_LOSS, OPT_RECIPE};
    static const char *const word[] = {"line", "squared", "lines"};
    (void)work;
    for (int i = 0; i < (training ? 3 : 2); ++i) {
        WEFT_TRY(option_is_auto(options, open[i]) ? option_decide(options, open[i], word[i]) : WEFT_OK);
    }
    return WEFT_OK;
}

static weft_status toy_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    const line *w = work->self;
    const int64_t count = w->rows.table.count;
    const train_memory_desc desc = {.trained = w->rows.inputs + 1, .largest = w->rows.inputs};
    const memory_training need = memory_plan_training(work->context, !work->trained, SYNC_SHARDS_SAMPLED, 1, &desc);
    memory_plan *memory = &work->memory;
    WEFT_CHECK(w->rows.inputs > 0 && (work->labelled || outputs > 0), WEFT_ERR_DATA,
               "%s: a line needs a column named target, and another: " FLAG_TARGET " COLUMN names one", work->name);
    WEFT_CHECK(option_choice(work->context->options, OPT_LOSS) == LOSS_SQUARED, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: lines have squared loss alone", option_text(work->context->options, OPT_LOSS));
    work->inputs = w->rows.inputs;
    work->outputs = 1;
    work->shares[0] = count;
    *memory = (memory_plan){.cure = "use more ranks"};
    memory_plan_add(memory, "process and table", clock_rss_bytes());
    memory_plan_add(memory, "rows on the backend", (uint64_t)(count * (w->rows.inputs + 1)) * sizeof(float));
    memory_plan_add(memory, "parameters and optimiser", need.parameters.kept + train_memory_passing(&need.parameters));
    memory_plan_sum(memory);
    return memory_plan_check(work->context, memory, option_size(work->context->options, OPT_MEMORY_LIMIT));
}

static weft_status toy_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    line *w = self;
    const linear_rows rows = {.x = &w->rows.x};
    const bool has_bias = w->map.bias != LINEAR_NO_BLOCK;
    const weft_tensor bias = param_value(&w->params, has_bias ? w->map.bias : w->map.weight);
    WEFT_TRY(linear_need(&w->map, pass));
    activity_begin(ACTIVITY_LINEAR);
    const weft_status status = linear_forward(&w->map, &rows, has_bias ? &bias : NULL, 0.0, &w->y);
    activity_end(ACTIVITY_LINEAR);
    *logits = tensor_view(&w->y, 0, w->y.rows, 0, 1);
    return status;
}

static weft_status toy_backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    line *w = self;
    WEFT_TRY(linear_weight_gradient(&w->map, pass, &(linear_rows){.x = &w->rows.x}, dlogits, false));
    WEFT_TRY(linear_bias_gradient(&w->map, dlogits, false));
    return linear_ready(&w->map, pass);
}

/* Parameters begin as zeros. */
static weft_status make_model(line *w, weft_hal *hal, bool intercept)
{
    param_store *p = &w->params;
    param_store_begin(p, hal, WEFT_DTYPE_F32);
    w->map = (train_linear){.params = p, .bias = LINEAR_NO_BLOCK};
    w->map.weight = param_add_block(p, PARAM_GROUP_DECAY, w->rows.inputs, 1);
    WEFT_TRY(param_add(p, w->map.weight, 0, 0, w->rows.inputs, 1, param_constant(0.0), "line.weight"));
    if (intercept) {
        w->map.bias = param_add_block(p, PARAM_GROUP_NO_DECAY, 1, 1);
        WEFT_TRY(param_add(p, w->map.bias, 0, 0, 1, 1, param_constant(0.0), "line.bias"));
    }
    w->model = (train_model){.name = "line", .self = w, .params = p, .forward = toy_forward, .backward = toy_backward};
    return tensor_create(hal, WEFT_DTYPE_F32, w->rows.table.count, 1, WEFT_MEM_ACTIVATION, &w->y);
}

static weft_status toy_build(workload *work)
{
    line *w = work->self;
    const app_context *context = work->context;
    const bool intercept = strcmp(option_text(context->options, OPT_INTERCEPT), "on") == 0;
    WEFT_TRY(comm_agree(context->comm, make_model(w, context->hal, intercept)));
    WEFT_TRY(param_store_commit(&w->params, context->comm));
    WEFT_TRY(comm_agree(context->comm, table_numbers_upload(&w->rows, context->hal, work->labelled)));
    work->model = &w->model;
    work->targets = &w->rows.labels.targets;
    work->source = source_whole(work->targets);
    work->held = (held_rows){.total = w->rows.table.rows, .count = w->rows.table.count, .id = w->rows.id};
    return WEFT_OK;
}

static void toy_end(workload *work)
{
    line *w = work->self;
    param_store_destroy(&w->params);
    tensor_destroy(&w->y);
    table_numbers_close(&w->rows);
}

static weft_status toy_recognise(saved_model *model, const weft_options *given)
{
    const train_weight *weight = weights_find(&model->weights, "line.weight");
    (void)given;
    WEFT_CHECK(weight != NULL && weight->rank == 2 && weight->shape[1] == 1, WEFT_ERR_DATA,
               "%s: has no matrix line.weight of one column", model->path);
    model->layers = 1;
    model->inputs = weight->shape[0];
    model->outputs = 1;
    WEFT_TRY(saved_model_show(model, OPT_INTERCEPT, weights_find(&model->weights, "line.bias") != NULL ? "on" : "off"));
    WEFT_TRY(saved_model_show(model, OPT_LOSS, "squared"));
    return saved_model_show(model, OPT_MODEL, "line");
}

static void data_facts(const workload *work, fact_list *list)
{
    facts_int(list, "rows", "rows", "", "", ((const line *)work->self)->rows.table.rows);
    facts_int(list, "inputs", "columns of inputs", "", "", work->inputs);
}

static void line_facts(const workload *work, fact_list *list)
{
    facts_group(list, "line", "Line");
    facts_int(list, "slopes", "slopes", "", "numbers of the map from inputs to the answer", work->inputs);
    facts_text(list, "intercept", "intercept", "", option_text(work->context->options, OPT_INTERCEPT));
}

static const option_row rows[] = {{"INTERCEPT", "intercept", "", OPTION_CHOICE, "line", "tables", "", "on", 0, 0,
                                   "on|off", "the line need not go through the origin"}};
static const option_section sections[] = {
    {"line", "Line", "A linear model of a table.", NULL, "train,eval,predict", OPTION_STAYS}, {.name = NULL}};
static const option_addition additions[] = {{OPT_DATA, "TABLE.csv", "", "tables: a file .csv, or a store of one"},
                                            {OPT_MODEL, "", "line", "tables: line"},
                                            {OPT_RECIPE, "", "lines", "tables: auto = lines"},
                                            {.id = OPTION_NONE}};
static const option_recipe_setting recipes[] = {
    {"lines", OPT_EPOCHS, "30"}, {"lines", OPT_OPTIMIZER, "sgd"}, {"lines", OPT_LR, "0.05"}, {.recipe = NULL}};
static const option_table table = {
    TOY_TABLE, "tables|gradients", rows, 1, .sections = sections, .additions = additions, .recipes = recipes};
static const workload_activity activities[] = {{ACTIVITY_COLUMNS, "", 15}, {.activity = NULL}};
static const option_id recorded[] = {OPT_INTERCEPT, OPTION_NONE};

const workload_ops toy_workload = {
    .options = &table,
    .claims = toy_claims,
    .activities = activities,
    .recorded = recorded,
    .data = "table",
    .field = "tables",
    .rows = "rows",
    .accepts = "table (.csv, or a store that weft convert made of one)",
    .split_cure = "a column named split says which rows validate",
    .test_cure = "a column named split says which rows test",
    .share = {{"table_rows", "rows", ""}},
    .self_bytes = sizeof(line),
    .open = toy_open,
    .decide = toy_decide,
    .plan = toy_plan,
    .build = toy_build,
    .end = toy_end,
    .data_facts = data_facts,
    .row_title = {"row", "row"},
    .shows_answers = true,
    .plan_facts = line_facts,
    .result_facts = line_facts,
    .recognise = toy_recognise,
};
