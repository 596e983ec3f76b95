/*
 * tests/toy/toy.c: a kind of workload as small as one can be: linear regression on a table, by gradients. No file of
 * src/app names it.
 *
 * The model is y = x W + b under squared loss. The column named target holds numbers, and so does every other column,
 * but one named split, in every row. Ranks share the rows (table/table.h), and an epoch is one step over all.
 */
#include <math.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/setup/table_setup.h"
#include "app/workload/workload.h"
#include "base/clock.h"
#include "table/table.h"
#include "train/activities.h"
#include "train/labels.h"
#include "train/layers/linear.h"

enum { TOY_TABLE = 9, OPT_INTERCEPT = OPTION_TABLE_FIRST(TOY_TABLE) };

typedef struct line {
    weft_table table;
    int64_t inputs;
    int64_t *id;      /* [table.count] numbers of this rank's rows */
    float *value;     /* [table.count] of one column */
    weft_tensor x, y; /* [table.count, inputs] and [table.count, 1], the answers */
    uint64_t hash;    /* of all ranks' rows */
    train_labels labels;
    param_store params;
    train_linear map;
    train_model model;
} line;

static const weft_activity ACTIVITY_COLUMNS[1] = {{.text = "columns to rows", .kind = ACTIVITY_ONCE, .absorbs = true}};

/* ---- the data -------------------------------------------------------------------------------------------------- */

static workload_claims toy_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL), *data = option_text(options, OPT_DATA);
    const size_t length = strlen(data);
    const bool table = (length > 4 && strcmp(data + length - 4, ".csv") == 0) || table_is_store(data);
    const workload_claim other = strcmp(model, "auto") == 0 ? CLAIM_POSSIBLE : CLAIM_NO;
    return (workload_claims){.model = strcmp(model, "line") == 0 ? CLAIM_CERTAIN : other,
                             .data = table ? CLAIM_CERTAIN : CLAIM_NO};
}

static bool is_number(const table_field *f)
{
    return f->role == TABLE_FEATURE || f->role == TABLE_TARGET;
}

/* Counts the inputs and hashes all numbers. Targets and splits are those of columns; without the latter all rows train. */
static weft_status take_columns(line *w, const char *path)
{
    char name[96];
    for (int64_t j = 0; j < w->table.schema.count; ++j) {
        const table_field *f = &w->table.schema.field[j];
        const void *data = w->table.column[j].data;
        WEFT_CHECK(!is_number(f) || (f->kind <= TABLE_LONG && (f->missing == 0 || f->role == TABLE_TARGET)),
                   WEFT_ERR_DATA, "%s: %s has no number in some row: weft convert " FLAG_DROP " leaves it out", path,
                   schema_say(&w->table.schema, j, name));
        float *value = f->role == TABLE_TARGET ? w->labels.target : w->value;
        w->inputs += f->role == TABLE_FEATURE;
        if (is_number(f)) {
            table_read_numbers(f->kind, data, 0, w->table.count, value);
        }
        for (int64_t i = 0; i < w->table.count; ++i) {
            w->labels.split[i] = f->role == TABLE_SPLIT_OF ? ((const uint8_t *)data)[i] : w->labels.split[i];
            w->hash += is_number(f) ? table_hash_number(w->table.first + i, j, value[i]) : 0;
        }
    }
    return WEFT_OK;
}

static weft_status take_rows(line *w, const char *path)
{
    const int64_t count = w->table.count;
    w->labels.targets = (train_targets){.rows = count, .outputs = 1, .loss = TRAIN_LOSS_VALUE};
    WEFT_TRY(labels_create(&w->labels, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&w->id, count, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&w->value, count, WEFT_MEM_TABLE));
    for (int64_t i = 0; i < count; ++i) {
        w->id[i] = w->table.first + i;
        w->labels.target[i] = NAN;
        w->labels.split[i] = TRAIN_SPLIT_TRAIN;
    }
    WEFT_TRY(take_columns(w, path));
    for (int64_t i = 0; i < count; ++i) {
        w->hash += table_hash_number(w->id[i], -1, w->labels.split[i]);
        w->labels.split[i] = isnan(w->labels.target[i]) ? TRAIN_SPLIT_NONE : w->labels.split[i];
    }
    return WEFT_OK;
}

static weft_status toy_open(workload *work, const char *folder)
{
    (void)folder;
    line *w = work->self;
    weft_comm *comm = work->context->comm;
    const char *data = option_text(work->context->options, OPT_DATA);
    const char *const *path = work->paths > 0 ? work->path : &data;
    const table_exchange exchange = {comm, comm_rank(comm), comm_size(comm), comm_allgather_bytes};
    const table_request request = app_table_request(work->context->options);
    if (data[0] != '\0' && toy_claims(work->context->options).data == CLAIM_NO) {
        return workload_refuse_data(data);
    }
    activity_begin(ACTIVITY_COLUMNS);
    const weft_status status = table_open(path, work->paths > 0 ? work->paths : 1, &request, &exchange, &w->table);
    activity_end(ACTIVITY_COLUMNS);
    WEFT_TRY(status);
    WEFT_TRY(comm_agree(comm, take_rows(w, path[0])));
    WEFT_TRY(labels_count(&w->labels, comm, &w->hash));
    snprintf(work->name, sizeof work->name, "%s", data);
    snprintf(work->hash, sizeof work->hash, "%032llx", (unsigned long long)w->hash);
    work->labelled = schema_find(&w->table.schema, TABLE_TARGET) >= 0;
    return WEFT_OK;
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
    const int64_t count = w->table.count;
    const train_memory_desc desc = {.trained = w->inputs + 1, .largest = w->inputs};
    const train_memory parameters =
        memory_plan_training(work->context, !work->trained, SYNC_SHARDS_SAMPLED, 1, &desc).parameters;
    memory_plan *memory = &work->memory;
    WEFT_CHECK(w->inputs > 0 && (work->labelled || outputs > 0), WEFT_ERR_DATA,
               "%s: a line needs a column named target, and another: " FLAG_TARGET " COLUMN names one", work->name);
    WEFT_CHECK(option_choice(work->context->options, OPT_LOSS) == LOSS_SQUARED, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: lines have squared loss alone", option_text(work->context->options, OPT_LOSS));
    work->inputs = w->inputs;
    work->outputs = 1;
    work->shares[0] = count;
    *memory = (memory_plan){.cure = "use more ranks"};
    memory_plan_add(memory, "process and table", clock_rss_bytes());
    memory_plan_add(memory, "rows on the backend", (uint64_t)(count * (w->inputs + 1)) * sizeof(float));
    memory_plan_add(memory, "parameters and optimiser", parameters.kept + train_memory_passing(&parameters));
    memory_plan_sum(memory);
    return memory_plan_check(work->context, memory, option_size(work->context->options, OPT_MEMORY_LIMIT));
}

/* ---- the model ------------------------------------------------------------------------------------------------- */

static weft_status toy_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    line *w = self;
    const linear_rows rows = {.x = &w->x};
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
    WEFT_TRY(linear_weight_gradient(&w->map, pass, &(linear_rows){.x = &w->x}, dlogits, false));
    WEFT_TRY(linear_bias_gradient(&w->map, dlogits, false));
    return linear_ready(&w->map, pass);
}

/* Parameters begin as zeros. */
static weft_status make_model(line *w, weft_hal *hal, bool intercept)
{
    param_store *p = &w->params;
    param_store_begin(p, hal, WEFT_DTYPE_F32);
    w->map = (train_linear){.params = p, .bias = LINEAR_NO_BLOCK};
    w->map.weight = param_add_block(p, PARAM_GROUP_DECAY, w->inputs, 1);
    WEFT_TRY(param_add(p, w->map.weight, 0, 0, w->inputs, 1, param_constant(0.0), "line.weight"));
    if (intercept) {
        w->map.bias = param_add_block(p, PARAM_GROUP_NO_DECAY, 1, 1);
        WEFT_TRY(param_add(p, w->map.bias, 0, 0, 1, 1, param_constant(0.0), "line.bias"));
    }
    w->model = (train_model){.name = "line", .self = w, .params = p, .forward = toy_forward, .backward = toy_backward};
    return tensor_create(hal, WEFT_DTYPE_F32, w->table.count, 1, WEFT_MEM_ACTIVATION, &w->y);
}

static weft_status upload_inputs(line *w, weft_hal *hal)
{
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, w->table.count, w->inputs, WEFT_MEM_TABLE, &w->x));
    for (int64_t j = 0, at = 0; j < w->table.schema.count; ++j) {
        const table_field *f = &w->table.schema.field[j];
        if (f->role == TABLE_FEATURE) {
            weft_tensor column = tensor_view(&w->x, 0, w->table.count, at++, 1);
            table_read_numbers(f->kind, w->table.column[j].data, 0, w->table.count, w->value);
            WEFT_TRY(tensor_upload(&column, w->value));
        }
    }
    return WEFT_OK;
}

static weft_status toy_build(workload *work)
{
    line *w = work->self;
    const app_context *context = work->context;
    const bool intercept = strcmp(option_text(context->options, OPT_INTERCEPT), "on") == 0;
    WEFT_TRY(comm_agree(context->comm, make_model(w, context->hal, intercept)));
    WEFT_TRY(param_store_commit(&w->params, context->comm));
    WEFT_TRY(comm_agree(context->comm, upload_inputs(w, context->hal)));
    WEFT_TRY(comm_agree(context->comm, work->labelled ? labels_upload(&w->labels, context->hal) : WEFT_OK));
    work->model = &w->model;
    work->targets = &w->labels.targets;
    work->source = source_whole(work->targets);
    work->held = (held_rows){.total = w->table.rows, .count = w->table.count, .id = w->id};
    return WEFT_OK;
}

static void toy_end(workload *work)
{
    line *w = work->self;
    param_store_destroy(&w->params);
    TENSOR_DESTROY_ALL(&w->x, &w->y);
    labels_destroy(&w->labels);
    WEFT_FREE_ALL(w->id, w->value);
    table_close(&w->table);
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

/* ---- what is told, and what can be asked ------------------------------------------------------------------------ */

static void data_facts(const workload *work, fact_list *list)
{
    facts_int(list, "rows", "rows", "", "", ((const line *)work->self)->table.rows);
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
    {"lines", OPT_EPOCHS, "30"}, {"lines", OPT_OPTIMIZER, "sgd"}, {"lines", OPT_LR, "0.5"}, {.recipe = NULL}};
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
