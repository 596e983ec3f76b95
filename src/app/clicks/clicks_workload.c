/* app/clicks/clicks_workload.c: see app/clicks/clicks_workload.h. The model is made in clicks_build.c. */
#include "app/clicks/clicks_workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/clicks/clicks_job.h"
#include "app/setup/layer_setup.h"
#include "app/setup/table_setup.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "clicks/data/click_names.h"
#include "table/table_options.def"
#include "train/loop/team.h"

/* ---- the data ---------------------------------------------------------------------------------------------------- */

/* Tables are claimed for these models alone: others learn from tables, too. Rows that are made are nobody else's. */
static workload_claims clicks_claims(const weft_options *options)
{
    const bool named = clicks_kind_of(options) != CLICK_KINDS;
    const bool made = click_spec_is(option_text(options, OPT_DATA));
    const bool layers = option_text(options, OPT_CLICK_LAYERS)[0] != '\0'; /* of a trained model */
    const bool data = made || (named && (layers || option_text(options, OPT_DATA)[0] != '\0'));
    return (workload_claims){.model = named                                        ? CLAIM_CERTAIN
                                      : made && option_is_auto(options, OPT_MODEL) ? CLAIM_POSSIBLE
                                                                                   : CLAIM_NO,
                             .data = data ? CLAIM_CERTAIN : CLAIM_NO};
}

/* Adds names to a list of columns. Returns its end. */
static char *add_names(char *end, bool first, const name_list *names)
{
    for (int64_t i = 0; i < names->count; ++i) {
        const char *name = names->text[i];
        if (strchr(name, ',') == NULL && strcmp(name, CLICK_GIVEN_NAME) != 0) { /* a list cannot hold such a name */
            end = stpcpy(stpcpy(end, first ? "" : ","), name);
            first = false;
        }
    }
    return end;
}

/* What the model reads as ids, and cells of several ids, are words, though cells of the data at hand look like
 * numbers. */
static weft_status ask_words(clicks_job *job, table_request *request)
{
    const char *given = request->category != NULL ? request->category : "";
    size_t bytes = strlen(given) + 1;
    for (int64_t i = 0; i < job->field_name.count; ++i) {
        bytes += strlen(job->field_name.text[i]) + 1;
    }
    for (int64_t i = 0; i < job->bag_name.count; ++i) {
        bytes += strlen(job->bag_name.text[i]) + 1;
    }
    WEFT_TRY(WEFT_NEW(&job->words, bytes, WEFT_MEM_GENERAL));
    char *end = stpcpy(job->words, given);
    end = add_names(end, end == job->words, &job->field_name);
    (void)add_names(end, end == job->words, &job->bag_name);
    request->category = job->words;
    request->categories_by = job->field_name.count > 0 ? "columns of ids that the model reads"
                             : job->bag_name.count > 0 ? FLAG_CLICK_BAGS " or " FLAG_CATEGORY
                                                       : NULL;
    return WEFT_OK;
}

static weft_status read_bags(clicks_job *job, const weft_options *o, click_rows_options *options)
{
    const char *bags = option_text(o, OPT_CLICK_BAGS);
    name_list others = {0};
    WEFT_TRY(click_names_parse(FLAG_CLICK_BAGS, bags, &job->bag_name, &others));
    const int64_t more = others.count;
    name_list_free(&others);
    WEFT_CHECK(more == 0, WEFT_ERR_USAGE,
               FLAG_CLICK_BAGS " %s: expected names with commas between them; a backslash stands in front of a "
                               "semicolon of a name",
               bags);
    options->bags = &job->bag_name;
    options->separator = option_text(o, OPT_CLICK_SEPARATOR);
    options->pooling = option_choice(o, OPT_CLICK_POOLING);
    WEFT_CHECK(options->separator[0] != '\0', WEFT_ERR_USAGE,
               FLAG_CLICK_SEPARATOR ": expected what stands between ids, and nothing is given");
    return WEFT_OK;
}

static weft_status read_options(workload *work, click_rows_options *options)
{
    clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    const char *columns = option_text(o, OPT_CLICK_COLUMNS), *from = option_text(o, OPT_CLICK_POSITIVE);
    *options = (click_rows_options){.request = app_table_request(o),
                                    .valid = option_real(o, OPT_VALID_SHARE),
                                    .test = option_real(o, OPT_TEST_SHARE),
                                    .seed = 0,
                                    .positive = NAN,
                                    .hash_bits = (int)option_int(o, OPT_CLICK_HASH),
                                    .threads = work->context->placement.threads,
                                    .trained = work->trained};
    WEFT_CHECK(from[0] == '\0' || number_parse_real(from, &options->positive), WEFT_ERR_USAGE,
               FLAG_CLICK_POSITIVE " %s: expected a number", from);
    options->request.keeps_given = true;
    WEFT_TRY(read_bags(job, o, options));
    if (columns[0] != '\0') {
        WEFT_TRY(click_names_parse(FLAG_CLICK_COLUMNS, columns, &job->field_name, &job->number_name));
        options->fields = &job->field_name;
        options->numbers = &job->number_name;
        options->request.reads[0] = options->fields;
        options->request.reads[1] = options->numbers;
    }
    return ask_words(job, &options->request);
}

/* Files become a store, which every rank maps; one rank reads them as they are. */
static weft_status share_files(workload *work, const char *const *path, int paths, const table_request *request)
{
    clicks_job *job = work->self;
    weft_comm *comm = work->context->comm;
    WEFT_TRY(comm_agree(comm, weft_malloc(FILE_PATH_MAX, 1, WEFT_MEM_GENERAL, (void **)&job->store)));
    weft_status status = file_path(job->store, "%s/" WORKLOAD_GENERATED "clicks.weft", job->folder);
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = folder_make(job->folder);
        status = status == WEFT_OK ? table_convert(path, paths, request, 0, job->store, true) : status;
    }
    work->generated = true;
    return comm_agree(comm, status);
}

static weft_status open_files(workload *work, click_rows_options *options)
{
    clicks_job *job = work->self;
    table_places places;
    const char *data = work->paths > 0 ? work->path[0] : option_text(work->context->options, OPT_DATA);
    if (strncmp(data, "synth:", strlen("synth:")) == 0) {
        WEFT_TRY(comm_agree(work->context->comm, clicks_check_made(work, data)));
        return click_rows_open(work->context->comm, &data, 1, options, &job->rows);
    }
    WEFT_TRY(app_table_places(work->context->options, work->path, work->paths, !work->trained, &places));
    const char *const *path = places.path;
    int paths = places.paths;
    options->part = app_table_parts(&places, !work->trained);
    const bool shares = comm_size(work->context->comm) > 1 && !table_is_store(path[0]);
    WEFT_CHECK(
        !shares || options->part == NULL, WEFT_ERR_UNSUPPORTED,
        "several ranks map one store, in which files of their own cannot be told apart: give %s, %s and " FLAG_DATA
        " to weft convert with a column named split, or train on one rank",
        FLAG_VALID_FILE, FLAG_TEST_FILE);
    if (shares) {
        WEFT_TRY(share_files(work, path, paths, &options->request));
        path = (const char *const *)&job->store;
        paths = 1;
    }
    return click_rows_open(work->context->comm, path, paths, options, &job->rows);
}

static void note_labels(workload *work)
{
    const click_rows *rows = &((const clicks_job *)work->self)->rows;
    work->labelled = rows->labelled;
    work->classes = 0;
}

static void tell_data(const workload *work)
{
    const click_rows *rows = &((const clicks_job *)work->self)->rows;
    const int64_t all = rows->counted[0] + rows->counted[1] + rows->counted[2];
    const int64_t clicks = rows->clicks[0] + rows->clicks[1] + rows->clicks[2];
    log_info("%s: %lld rows of %d columns of ids and %lld of numbers", work->name, (long long)rows->table.rows,
             rows->fields, (long long)rows->numbers);
    if (all > 0) {
        log_info("%lld/%lld/%lld rows to train/valid/test, of which %.2f %% are clicks", (long long)rows->counted[0],
                 (long long)rows->counted[1], (long long)rows->counted[2], 100.0 * (double)clicks / (double)all);
    }
}

static weft_status clicks_open(workload *work, const char *folder)
{
    clicks_job *job = work->self;
    click_rows_options options;
    WEFT_TRY(file_path(job->folder, "%s", folder));
    WEFT_TRY(comm_agree(work->context->comm, read_options(work, &options)));
    activity_begin(ACTIVITY_LOAD);
    const weft_status status = open_files(work, &options);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    (void)snprintf(work->name, sizeof work->name, "%s", option_text(work->context->options, OPT_DATA));
    (void)snprintf(work->hash, sizeof work->hash, "%032llx", (unsigned long long)job->rows.hash);
    note_labels(work);
    tell_data(work);
    return WEFT_OK;
}

static weft_status clicks_decide(workload *work, weft_options *options, bool training)
{
    const clicks_job *job = work->self;
    char *columns = NULL;
    WEFT_TRY(option_is_auto(options, OPT_LOSS) ? option_decide(options, OPT_LOSS, "bce") : WEFT_OK);
    WEFT_CHECK(option_choice(options, OPT_LOSS) == LOSS_BCE, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: a click is or is not, whose loss is bce", option_text(options, OPT_LOSS));
    if (training && option_is_auto(options, OPT_RECIPE)) {
        WEFT_TRY(option_decide(options, OPT_RECIPE, "clicks"));
    }
    WEFT_TRY(option_is_auto(options, OPT_MODEL) ? option_decide(options, OPT_MODEL, "deepfm") : WEFT_OK);
    WEFT_TRY(clicks_decide_net(work->context->comm, options));
    if (option_text(options, OPT_CLICK_COLUMNS)[0] != '\0') {
        return WEFT_OK;
    }
    weft_status status = click_names_join(&job->rows.field_name, &job->rows.number_name, &columns);
    status = status == WEFT_OK ? option_decide(options, OPT_CLICK_COLUMNS, columns) : status;
    weft_free(columns);
    return status;
}

static void clicks_abandon(workload *work)
{
    clicks_job *job = work->self;
    if (comm_rank(work->context->comm) != 0) {
        return;
    }
    clicks_forget_best(job);
    if (job->store != NULL && file_exists(job->store) && folder_remove(job->store) != WEFT_OK) {
        log_warn("a store that the job made stays: %s", weft_error_message());
        weft_error_clear();
    }
}

static void clicks_end(workload *work)
{
    clicks_job *job = work->self;
    clicks_close_workers(job);
    click_source_destroy(job->source);
    click_model_destroy(job->model);
    click_net_free(&job->net);
    embed_close(job->table);
    labels_destroy(&job->answers);
    input_moments_destroy(&job->scaling.moments);
    click_rows_close(&job->rows);
    name_list_free(&job->field_name);
    name_list_free(&job->number_name);
    name_list_free(&job->bag_name);
    WEFT_FREE_ALL(job->held_id, job->store, job->words, job->mode_of);
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void data_facts(const workload *work, fact_list *list)
{
    const click_rows *rows = &((const clicks_job *)work->self)->rows;
    facts_int(list, "rows", "rows", "", "", rows->table.rows);
    facts_int(list, "fields", "columns of ids", "", "", rows->fields);
    facts_int(list, "numbers", "columns of numbers", "", "", rows->numbers);
    facts_int(list, FACT_CLASSES, "classes", "", "", 0);
}

static void plan_facts(const workload *work, fact_list *list)
{
    const clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    facts_group(list, "clicks", "Model of clicks");
    facts_text(list, "model", "model", "", option_text(o, OPT_MODEL));
    facts_int(list, "width", "width of rows", "", "numbers of a row of embeddings", job->desc.width);
    facts_int(list, "batch_size", "batch", "rows", "of all ranks", option_int(o, OPT_BATCH_SIZE));
}

/* What users met whose AUC stayed at 0.5: rates of another set, ids that never got a row, a target that is turned. */
static void tell_guess(clicks_job *job)
{
    (void)snprintf(job->guess, sizeof job->guess,
                   "%.2f %% of the training rows are clicks, and %lld ids have a row: change " FLAG_ROW_LR
                   " (now %g), lower " FLAG_ROW_ADMIT " (now %lld), or look at the target and at " FLAG_CLICK_POSITIVE,
                   100.0 * (double)job->rows.clicks[0] / (double)larger(1, job->rows.counted[0]),
                   (long long)job->figures.rows, job->schedule.base, (long long)job->table_desc.admit_after);
}

/* Once, when the bound of memory has refused the first ids. */
static void tell_refused(clicks_job *job)
{
    if (job->table_desc.memory_most > 0 && job->figures.refused > 0 && !job->refusal_told) {
        job->refusal_told = true;
        log_warn("rows of embeddings have reached " FLAG_ROW_MEMORY
                 " (%s a rank): %lld times an id found no room. Such "
                 "ids read as zeros, and rows that there are stay and learn. Raise it, use more ranks, or take fewer "
                 "ids: " FLAG_ROW_EXPIRE " (now %lld), " FLAG_ROW_ADMIT " (now %lld), " FLAG_CLICK_HASH,
                 number_say_bytes((uint64_t)job->table_desc.memory_most).text, (long long)job->figures.refused,
                 (long long)job->table_desc.expire_after, (long long)job->table_desc.admit_after);
    }
}

static weft_status gather_epoch(const workload *work)
{
    clicks_job *job = work->self;
    WEFT_TRY(embed_measure(job->table, &job->figures));
    tell_refused(job);
    return WEFT_OK;
}

static weft_status gather_figures(const workload *work)
{
    WEFT_TRY(gather_epoch(work));
    tell_guess(work->self);
    return WEFT_OK;
}

/* Bytes that ranks sent for the fields in each mode; modes without any are left out. */
static void sent_facts(const embed_figures *figures, fact_list *list)
{
    static const char *const key[] = {"sent_all_to_all", "sent_replicate", "sent_des", "sent_columns"};
    static const char *const label[] = {"sent all-to-all", "sent replicate", "sent des", "sent columns"};
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        if (figures->sent[m] > 0) {
            facts_int(list, key[m], label[m], "bytes", "of all ranks, for the columns in this mode", figures->sent[m]);
        }
    }
}

static void row_facts(const embed_figures *figures, fact_list *list)
{
    facts_group(list, "embeddings", "Rows of embeddings");
    facts_int(list, "rows", "rows", "", "ids that have one", figures->rows);
    facts_int(list, "waiting", "waiting", "", "ids that were not seen often enough yet", figures->waiting);
    facts_int(list, "made", "made", "", "", figures->made);
    facts_int(list, "refused", "refused", "", "times that an id found no room", figures->refused);
    facts_int(list, "expired", "expired", "", "", figures->expired);
    if (figures->between > 0) {
        facts_int(list, "sent_between_nodes", "of these between nodes", "bytes", "of ids that nodes gather",
                  figures->between);
    }
    if (figures->reread > 0) {
        facts_int(list, "reread", "sent again", "", "rows that travelled ahead, and once more as a batch changed them",
                  figures->reread);
    }
    facts_int(list, "bytes", "memory", "bytes", "of the rank that has most", figures->bytes);
    sent_facts(figures, list);
}

/* So far. */
static void epoch_facts(const workload *work, fact_list *list)
{
    row_facts(&((const clicks_job *)work->self)->figures, list);
}

static void result_facts(const workload *work, fact_list *list)
{
    plan_facts(work, list);
    row_facts(&((const clicks_job *)work->self)->figures, list);
}

static void closing_facts(const workload *work, fact_list *list)
{
    row_facts(&((const clicks_job *)work->self)->figures, list);
}

static const workload_activity activities[] = {{ACTIVITY_CLICKS, "batches", 41},
                                               {ACTIVITY_ROWS, "batches", 42},
                                               {ACTIVITY_INTERACT, "aggregate", 51},
                                               {ACTIVITY_TEAM, "linear", 59},
                                               {NULL, NULL, 0}};
static const option_id recorded[] = {OPT_CLICK_COLUMNS,   OPT_CLICK_WIDTH,   OPT_CLICK_MLP,    OPT_CLICK_BOTTOM,
                                     OPT_CLICK_CIN,       OPT_CLICK_CROSSES, OPT_CLICK_HASH,   OPT_CLICK_SCALING,
                                     OPT_CLICK_POSITIVE,  OPT_ROW_RULE,      OPT_ROW_NUMBER,   OPT_CLICK_BAGS,
                                     OPT_CLICK_SEPARATOR, OPT_CLICK_POOLING, OPT_CLICK_LAYERS, OPTION_NONE};

static const option_id inputs[] = {OPT_CLICK_COLUMNS,   OPT_CLICK_SCALING, OPT_CLICK_HASH, OPT_CLICK_BAGS,
                                   OPT_CLICK_SEPARATOR, OPT_CLICK_POOLING, OPTION_NONE};
/* Files of rows are the same in every mode, memory is the machine's matter, and a run keeps its layers. */
static const option_id resumable[] = {OPT_CLICK_LAYERS, OPT_CLICK_WORKERS, OPT_ROW_MODE,   OPT_FIELD_MODES,
                                      OPT_ROW_AHEAD,    OPT_ROW_GROUPS,    OPT_ROW_MEMORY, OPTION_NONE};

static weft_status clicks_adopt(const app_context *context, const checkpoint *ck)
{
    return app_adopt_layers(context, ck, OPT_CLICK_LAYERS);
}

const workload_ops clicks_workload = {
    .options = &clicks_option_table,
    .claims = clicks_claims,
    .activities = activities,
    .recorded = recorded,
    .inputs = inputs,
    .resumable = resumable,
    .data = "clicks",
    .field = "clicks",
    .rows = "rows",
    .accepts =
        "table of clicks, with --model lr, fm, deepfm and others (.csv, .tsv, Criteo's and Avazu's files, a store "
        "of weft convert)",
    .split_cure = "--valid-share sets rows apart, or a column named split says which rows validate",
    .test_cure = "--test-share sets rows apart, or a column named split says which rows test",
    .share = {{"table_rows", "rows", ""}},
    .shards = SYNC_SHARDS_SAMPLED,
    .self_bytes = sizeof(clicks_job),
    .open = clicks_open,
    .decide = clicks_decide,
    .adopt = clicks_adopt,
    .plan = clicks_plan,
    .build = clicks_build,
    .abandon = clicks_abandon,
    .end = clicks_end,
    .data_facts = data_facts,
    .row_title = {"row", "row"},
    .shows_answers = true,
    .plan_facts = plan_facts,
    .print_plan = clicks_print_modes,
    .choice = &clicks_mode_choice,
    .gather_epoch = gather_epoch,
    .epoch_facts = epoch_facts,
    .gather_figures = gather_figures,
    .result_facts = result_facts,
    .closing_facts = closing_facts,
    .recognise = clicks_recognise,
    .write_named = clicks_write_named,
    .write_rows = clicks_write_rows,
};
