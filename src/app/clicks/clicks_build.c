/* app/clicks/clicks_build.c: the model of a job on clicks, its rows of embeddings, its batches and right answers. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "app/workload/precision.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "embed/plan/embed_plan.h"
#include "embed/rows/row_shard.h"
#include "embed/rows/row_store.h"
#include "table/table_options.def"
#include "train/batch/batch_order.h"

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static weft_status read_model(workload *work)
{
    clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    const click_kind kind = clicks_kind_of(o);
    weft_dtype values;
    WEFT_TRY(precision_of(work->context, &values));
    WEFT_CHECK(values != WEFT_DTYPE_F16, WEFT_ERR_UNSUPPORTED, "--precision f16: models of clicks take f32 or bf16");
    job->desc = (click_model_desc){.kind = kind,
                                   .fields = job->rows.fields,
                                   .numbers = job->rows.numbers,
                                   .width = click_model_width(kind, (int)option_int(o, OPT_CLICK_WIDTH)),
                                   .crosses = (int)option_int(o, OPT_CLICK_CROSSES),
                                   .dropout = option_real(o, OPT_CLICK_DROPOUT),
                                   .bf16 = values == WEFT_DTYPE_BF16,
                                   .sums = option_choice(o, OPT_ROW_MODE) == EMBED_DES,
                                   .bags = job->rows.bags,
                                   .training = !work->trained,
                                   .times_ahead = option_choice(o, OPT_ROW_AHEAD) == CLICK_AHEAD_AUTO &&
                                                  !option_flag(o, OPT_REPRODUCIBLE)};
    if (clicks_has_net(o)) {
        WEFT_TRY(clicks_open_net(work, &job->net));
        job->desc.net = &job->net;
        job->desc.own = (click_kind_row){.linear = job->net.wide, .vectors = true, .part = {[CLICK_PART_NET] = true}};
        return WEFT_OK;
    }
    WEFT_TRY(click_read_parts(FLAG_CLICK_PARTS, option_text(o, OPT_CLICK_PARTS), &job->desc.own));
    const bool dots = kind == CLICK_DLRM || (kind == CLICK_PARTS && job->desc.own.part[CLICK_PART_DOTS]);
    const char *mlp = option_text(o, OPT_CLICK_MLP), *bottom = option_text(o, OPT_CLICK_BOTTOM);
    char text[64];
    (void)snprintf(text, sizeof text, "512,256,64,%d", job->desc.width);
    WEFT_TRY(click_read_sizes(FLAG_CLICK_MLP,
                              strcmp(mlp, "auto") != 0 ? mlp
                              : dots                   ? "512,256"
                                                       : "128,64",
                              &job->desc.mlp));
    WEFT_TRY(dots ? click_read_sizes(FLAG_CLICK_BOTTOM, strcmp(bottom, "auto") != 0 ? bottom : text, &job->desc.bottom)
                  : WEFT_OK);
    return click_read_sizes(FLAG_CLICK_CIN, option_text(o, OPT_CLICK_CIN), &job->desc.cin);
}

static bool gathers(const workload *work)
{
    return option_choice(work->context->options, OPT_ROW_GROUPS) == CLICK_GROUP_NODE;
}

/* The same on all ranks. */
static bool looks_ahead(const workload *work)
{
    const app_context *context = work->context;
    const click_ahead asked = option_choice(context->options, OPT_ROW_AHEAD);
    const bool away = context->nodes > 1 && !gathers(work);
    return !work->trained && comm_size(context->comm) > 1 && clicks_workers(work) == 0 &&
           (asked == CLICK_AHEAD_ON || (asked == CLICK_AHEAD_AUTO && away));
}

static void read_table(workload *work)
{
    clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    job->table_desc = (embed_desc){.fields = job->rows.fields,
                                   .width = job->desc.width,
                                   .linear = click_model_linear(&job->desc),
                                   .squares = click_model_squares(&job->desc),
                                   .weighted = job->rows.weighted,
                                   .number = option_choice(o, OPT_ROW_NUMBER),
                                   .rule = option_choice(o, OPT_ROW_RULE),
                                   .mode = option_choice(o, OPT_ROW_MODE),
                                   .epsilon = option_real(o, OPT_ROW_EPSILON),
                                   .l1 = option_real(o, OPT_ROW_L1),
                                   .l2 = option_real(o, OPT_ROW_L2),
                                   .spread = option_real(o, OPT_ROW_SPREAD),
                                   .seed = (uint64_t)option_int(o, OPT_SEED),
                                   .admit_after = option_int(o, OPT_ROW_ADMIT),
                                   .admit_chance = option_real(o, OPT_ROW_CHANCE),
                                   .expire_after = option_int(o, OPT_ROW_EXPIRE),
                                   .expire_norm = option_real(o, OPT_ROW_NORM),
                                   .memory_most = (int64_t)option_size(o, OPT_ROW_MEMORY),
                                   .ahead = looks_ahead(work),
                                   .nodes = gathers(work)};
}

static weft_status check_rows(const workload *work)
{
    const app_context *context = work->context;
    const int ranks = comm_size(context->comm);
    const double norm = option_real(context->options, OPT_ROW_NORM);
    const bool ahead = !work->trained && option_choice(context->options, OPT_ROW_AHEAD) == CLICK_AHEAD_ON;
    const embed_mode mode = option_choice(context->options, OPT_ROW_MODE);
    const int64_t memory = (int64_t)option_size(context->options, OPT_ROW_MEMORY);
    WEFT_CHECK(memory == 0 || memory >= ROW_MEMORY_LEAST, WEFT_ERR_USAGE,
               FLAG_ROW_MEMORY " %s: 0 (no limit), or at least %dK for the rows of a rank and their index",
               number_say_bytes((uint64_t)memory).text, ROW_MEMORY_LEAST >> 10);
    WEFT_CHECK(norm == 0.0 || option_int(context->options, OPT_ROW_EXPIRE) > 0, WEFT_ERR_USAGE,
               FLAG_ROW_NORM " %g: small rows leave every " FLAG_ROW_EXPIRE " batches: give that, too", norm);
    if (ahead && (ranks == 1 || mode == EMBED_DES || mode == EMBED_COLUMNS)) {
        log_warn(FLAG_ROW_AHEAD " on has no effect: %s",
                 ranks == 1 ? "one rank has all rows"
                            : "ids of modes des and columns do not travel, all-to-all and replicate send them");
    }
    if (!gathers(work) || ranks == 1) {
        return WEFT_OK;
    }
    WEFT_CHECK(option_choice(context->options, OPT_ROW_AHEAD) != CLICK_AHEAD_ON, WEFT_ERR_USAGE,
               FLAG_ROW_GROUPS " node and " FLAG_ROW_AHEAD " on: keys of a node do not travel ahead: leave one of the "
                               "two out");
    WEFT_CHECK(embed_gathers_in_nodes(context->comm), WEFT_ERR_USAGE,
               FLAG_ROW_GROUPS " node: %d ranks on %d node%s: it needs several nodes, and equally many ranks, at least "
                               "two, on each",
               ranks, context->nodes, context->nodes == 1 ? "" : "s");
    return WEFT_OK;
}

static int64_t samples_of_rank(const workload *work)
{
    const clicks_job *job = work->self;
    const app_context *context = work->context;
    const int64_t batch = option_int(context->options, OPT_BATCH_SIZE);
    const int64_t rows = job->rows.counted[0] > job->rows.evaluated ? job->rows.counted[0] : job->rows.evaluated;
    const batch_plan plan = {.samples = rows, .batch = batch};
    return batch_order_most(&plan, 1, comm_size(context->comm));
}

/* Of rank 0, which has all scores for indexes at the end (train/indexes); numbers, labels and masks are of its own
 * rows. */
static int64_t answers_bytes(int64_t rows, int ranks)
{
    return 33 * (rows / ranks + 1) + (int64_t)sizeof(uint64_t) * 3 * rows;
}

/* Rows of a rank and their index. [out] files: working memory while they are written. */
static int64_t rows_bytes(const clicks_job *job, int ranks, int64_t *files)
{
    const embed_desc *d = &job->table_desc;
    embed_desc part = *d; /* mode columns */
    int64_t ids[EMBED_MODES_COUNT] = {0};
    for (int f = 0; f < job->rows.fields; ++f) {
        const embed_mode mode = d->mode_of != NULL           ? (embed_mode)d->mode_of[f]
                                : d->mode == EMBED_MODE_AUTO ? EMBED_ALL_TO_ALL
                                                             : d->mode;
        ids[mode] += job->rows.field[f].ids;
    }
    part.width = (d->width + d->linear) / ranks + 1;
    part.linear = false;
    const int64_t whole_rows = ids[EMBED_REPLICATE] + (ids[EMBED_ALL_TO_ALL] + ids[EMBED_DES]) / ranks + 1;
    *files = row_shard_bytes(larger(whole_rows, ids[EMBED_COLUMNS]));
    return row_store_bytes(d, whole_rows) + (ids[EMBED_COLUMNS] > 0 ? row_store_bytes(&part, ids[EMBED_COLUMNS]) : 0);
}

/* Code that libraries make and map when they first compute, stacks, and holes of the heap: 4 to 6 MB were measured, of
 * lr and of networks. */
enum { LIBRARY_BYTES = 5 << 20 };

/* A batch, its rows and its pass through the model: once for the rank, and once more for each worker. */
static void plan_batches(const workload *work, int ranks, memory_plan *memory)
{
    const clicks_job *job = work->self;
    const app_context *context = work->context;
    const int64_t samples = samples_of_rank(work), workers = clicks_workers(work);
    const int64_t loaders = option_int(context->options, OPT_LOADER_THREADS);
    const int64_t batches = click_source_bytes(&job->rows, samples, (int)loaders, job->table_desc.ahead) +
                            workers * click_source_bytes(&job->rows, samples, 0, false);
    const int64_t messages = embed_batch_bytes(&job->table_desc, ranks, click_rows_most(&job->rows, samples),
                                               click_rows_distinct(&job->rows, samples));
    memory_plan_add(memory, "batches", (uint64_t)batches);
    memory_plan_add(memory, "keys, rows and messages of a batch", (uint64_t)((1 + workers) * messages));
    memory_plan_add(memory, "model", (uint64_t)((1 + workers) * click_model_bytes(context->hal, &job->desc)));
}

static weft_status plan_memory(workload *work)
{
    const clicks_job *job = work->self;
    const app_context *context = work->context;
    const int ranks = comm_size(context->comm);
    int64_t files = 0, rows = rows_bytes(job, ranks, &files);
    train_memory_desc parameters = {.dtype = WEFT_DTYPE_F32};
    WEFT_TRY(comm_agree(context->comm,
                        click_model_count(context->hal, &job->desc, &parameters.trained, &parameters.largest)));
    const memory_training kept =
        memory_plan_training(context, !work->trained, clicks_workload.shards, ranks, &parameters);
    if (job->table_desc.memory_most > 0 && rows > job->table_desc.memory_most) {
        rows = job->table_desc.memory_most;
    }
    memory_plan *memory = &work->memory;
    *memory = (memory_plan){.cure = "use more ranks, fold ids (" FLAG_CLICK_HASH "), bound rows (" FLAG_ROW_MEMORY
                                    "), or evaluate fewer (" FLAG_VALID_SHARE ", " FLAG_TEST_SHARE ")"};
    memory_plan_add(memory, "process and table", clock_rss_bytes());
    memory_plan_add(memory, "libraries", LIBRARY_BYTES);
    memory_plan_add(memory, "rows of embeddings", (uint64_t)rows);
    plan_batches(work, ranks, memory);
    memory_plan_add(memory, "answers of an evaluation", (uint64_t)(answers_bytes(job->rows.evaluated, ranks)));
    memory_plan_add(memory, "parameters and optimiser", kept.parameters.kept);
    memory_plan_add(memory, "synchronisation", kept.sync);
    memory_plan_add(memory, "checkpoint, for a while",
                    work->trained ? 0 : train_memory_passing(&kept.parameters) + (uint64_t)files);
    memory_plan_sum(memory);
    return memory_plan_check(context, memory, option_size(context->options, OPT_MEMORY_LIMIT));
}

weft_status clicks_plan(workload *work, const char *folder, int64_t outputs)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    (void)folder;
    WEFT_CHECK(work->labelled || outputs > 0, WEFT_ERR_DATA,
               "%s: has no target: " FLAG_TARGET " NAME says which column tells what was clicked", work->name);
    WEFT_CHECK(context->device_ranks == 0, WEFT_ERR_UNSUPPORTED,
               "models of clicks are trained on processors: leave --device out");
    WEFT_CHECK(work->trained || job->rows.counted[0] > 0, WEFT_ERR_DATA, "%s: no row has a target and trains",
               work->name);
    WEFT_CHECK(work->trained || (job->rows.clicks[0] > 0 && job->rows.clicks[0] < job->rows.counted[0]), WEFT_ERR_DATA,
               "%s: all training rows are %s: there is nothing to tell apart", work->name,
               job->rows.clicks[0] > 0 ? "clicks" : "without a click");
    WEFT_TRY(read_model(work));
    read_table(work);
    WEFT_TRY(check_rows(work));
    WEFT_TRY(clicks_check_workers(work));
    WEFT_TRY(clicks_read_modes(work));
    job->desc.samples = samples_of_rank(work);
    work->inputs = job->rows.fields + job->rows.numbers;
    work->outputs = 1;
    work->shares[0] = job->rows.counted[0] / comm_size(context->comm);
    return plan_memory(work);
}

/* ---- build ------------------------------------------------------------------------------------------------------- */

/* The rows' rates follow the schedule of the others, from a rate of their own. */
static weft_status read_schedule(workload *work)
{
    clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    const double asked = option_real(o, OPT_ROW_LR);
    job->schedule = (train_schedule){.kind = option_choice(o, OPT_SCHEDULE),
                                     .base = asked > 0.0                  ? asked
                                             : job->desc.kind == CLICK_LR ? 0.2
                                                                          : 0.05,
                                     .gamma = option_real(o, OPT_SCHEDULE_GAMMA),
                                     .power = option_real(o, OPT_SCHEDULE_POWER),
                                     .cycle = option_int(o, OPT_SCHEDULE_CYCLE),
                                     .step = option_int(o, OPT_SCHEDULE_STEP),
                                     .warmup = option_int(o, OPT_WARMUP),
                                     .epochs = option_int(o, OPT_EPOCHS)};
    return schedule_read_decays(option_text(o, OPT_SCHEDULE_AT), &job->schedule);
}

/* The moments of a trained model, or those of the data. */
static weft_status scale_numbers(workload *work)
{
    clicks_job *job = work->self;
    const input_moments *known = work->moments;
    job->scaling.kind = option_choice(work->context->options, OPT_CLICK_SCALING);
    if (known == NULL || known->columns == 0) {
        WEFT_TRY(click_rows_measure(work->context->comm, &job->rows, &job->scaling));
    } else {
        WEFT_CHECK(known->columns == job->rows.numbers, WEFT_ERR_DATA,
                   "%s: the model scales %lld numbers, and the data have %lld", work->name, (long long)known->columns,
                   (long long)job->rows.numbers);
        WEFT_TRY(comm_agree(work->context->comm, input_moments_copy(known, &job->scaling.moments)));
    }
    work->moments = job->scaling.moments.columns > 0 ? &job->scaling.moments : NULL;
    return WEFT_OK;
}

/* [out] logit: [targets.rows] of what made the rows, NaN where nothing did. Threads share the rows: making them takes
 * time. */
static void read_answers(workload *work, float *logit)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    const click_rows *rows = &job->rows;
    const int64_t batch = option_int(context->options, OPT_BATCH_SIZE);
    const int64_t steps = click_source_of(job->source)->eval_steps;
    int64_t at = 0;
    for (int64_t step = 0; step < steps && rows->evaluated > 0; ++step) {
        const batch_share share =
            batch_order_share(rows->evaluated, batch, step, comm_size(context->comm), comm_rank(context->comm));
#pragma omp parallel for schedule(static) num_threads(context->placement.threads)
        for (int64_t i = 0; i < share.count; ++i) {
            const int64_t row = click_rows_eval(rows, share.begin + i);
            job->held_id[at + i] = share.begin + i;
            job->answers.split[at + i] = click_rows_split(rows, row);
            click_rows_answer(rows, row, &job->answers.target[at + i], &logit[at + i]);
        }
        at += share.count;
    }
    assert(at == job->answers.targets.rows); /* the source counts the same batches */
}

static weft_status take_answers(workload *work, float **logit)
{
    clicks_job *job = work->self;
    const click_rows *rows = &job->rows;
    const train_source *source = click_source_of(job->source);
    train_targets *t = &job->answers.targets;
    *t = (train_targets){.rows = source->eval_rows,
                         .outputs = 1,
                         .loss = TRAIN_LOSS_BCE,
                         .loss_entries = rows->counted[0],
                         .counted = {rows->counted[0], rows->counted[1], rows->counted[2]}};
    WEFT_TRY(labels_create(&job->answers, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&job->held_id, t->rows, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(logit, t->rows, WEFT_MEM_WORKSPACE));
    read_answers(work, *logit);
    return work->labelled ? labels_upload(&job->answers, work->context->hal) : WEFT_OK;
}

static weft_status prepare_answers(workload *work)
{
    clicks_job *job = work->self;
    float *logit = NULL;
    weft_status status = comm_agree(work->context->comm, take_answers(work, &logit));
    if (status == WEFT_OK && job->rows.teacher != NULL) {
        status = clicks_find_ceiling(work, logit);
    }
    weft_free(logit);
    return status;
}

/* The rows of a model to start from stand beside its weights, and their keys are of its columns. */
static weft_status find_start(workload *work)
{
    clicks_job *job = work->self;
    const saved_model *start = work->start;
    const weft_options *o = work->context->options;
    if (start == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(option_is_set(start->known, OPT_CLICK_COLUMNS) &&
                   strcmp(option_text(start->known, OPT_CLICK_COLUMNS), option_text(o, OPT_CLICK_COLUMNS)) == 0,
               WEFT_ERR_USAGE, "--init-weights %s: its rows are of other columns: " FLAG_CLICK_COLUMNS " '%s'",
               start->path, option_text(start->known, OPT_CLICK_COLUMNS));
    WEFT_CHECK(option_int(start->known, OPT_CLICK_HASH) == option_int(o, OPT_CLICK_HASH), WEFT_ERR_USAGE,
               "--init-weights %s: its ids are folded by " FLAG_CLICK_HASH " %lld: give the same", start->path,
               (long long)option_int(start->known, OPT_CLICK_HASH));
    static const option_id same[] = {OPT_CLICK_BAGS, OPT_CLICK_SEPARATOR};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        const char *theirs = option_text(start->known, same[i]);
        WEFT_CHECK(strcmp(theirs, option_text(o, same[i])) == 0, WEFT_ERR_USAGE,
                   "--init-weights %s: it reads several ids of a cell by " FLAG_CLICK_BAGS
                   " '%s' and " FLAG_CLICK_SEPARATOR " '%s': give the same",
                   start->path, option_text(start->known, OPT_CLICK_BAGS),
                   option_text(start->known, OPT_CLICK_SEPARATOR));
    }
    return saved_model_folder(start, job->start, &job->start_best);
}

weft_status clicks_build(workload *work)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    WEFT_TRY(comm_agree(context->comm, read_schedule(work)));
    WEFT_TRY(comm_agree(context->comm, find_start(work)));
    WEFT_TRY(scale_numbers(work));
    const click_source_options options = {.batch = option_int(context->options, OPT_BATCH_SIZE),
                                          .epoch_rows = option_int(context->options, OPT_CLICK_EPOCH),
                                          .scaling = &job->scaling,
                                          .loaders = (int)option_int(context->options, OPT_LOADER_THREADS),
                                          .threads = context->placement.threads,
                                          .ahead = job->table_desc.ahead};
    WEFT_TRY(click_source_create(context->comm, context->hal, &job->rows, &options, &job->source));
    job->desc.samples = click_source_most(job->source);
    job->desc.schedule = work->trained ? NULL : &job->schedule;
    job->desc.steps = click_source_of(job->source)->steps;
    WEFT_TRY(clicks_choose_mode(work));
    WEFT_TRY(embed_open(context->comm, &job->table_desc, click_rows_most(&job->rows, job->desc.samples), &job->table));
    WEFT_TRY(click_model_create(context->hal, context->comm, &job->desc, job->table, &job->model));
    job->beside = clicks_beside(job);
    work->model = click_model_interface(job->model);
    work->model->beside = &job->beside;
    WEFT_TRY(clicks_open_workers(work, &options));
    WEFT_TRY(prepare_answers(work));
    work->targets = &job->answers.targets;
    work->guess_cure = job->guess;
    work->source = *click_source_of(job->source);
    work->held = (held_rows){.total = job->rows.evaluated, .count = work->targets->rows, .id = job->held_id};
    return WEFT_OK;
}
