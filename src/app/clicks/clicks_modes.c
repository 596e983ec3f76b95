/* app/clicks/clicks_modes.c: which modes the fields of the table of embeddings take (embed/embed.h): those that are
 * asked for, or the fastest in a trial on first batches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text/append.h"
#include "clicks/data/click_names.h"
#include "embed/plan/embed_trial.h"
#include "embed/rows/row_store.h"

enum { TRIAL_BATCHES = 3, TOLD_FIELDS = 40 };

static const char *const mode_name[] = {EMBED_MODE_CHOICES(CHOICE_NAME)};
/* A mode of a field in a code of modes. */
static const char mode_letter[] = {
    [EMBED_ALL_TO_ALL] = 'a', [EMBED_REPLICATE] = 'r', [EMBED_DES] = 'd', [EMBED_COLUMNS] = 'c'};
static const char by_field[] = "fields:";

/* Returns EMBED_MODE_AUTO if no mode has this name. */
static embed_mode mode_of(const char *name)
{
    int m = 0;
    while (m < EMBED_MODES_COUNT && strcmp(name, mode_name[m]) != 0) {
        ++m;
    }
    return (embed_mode)m;
}

/* Modes of fields replace the mode of all. */
static void take_modes(clicks_job *job)
{
    bool sums = true;
    for (int f = 0; f < job->rows.fields; ++f) {
        sums = sums && job->mode_of[f] == EMBED_DES;
    }
    job->table_desc.mode_of = job->mode_of;
    job->desc.sums = sums;
    job->table_desc.squares = click_model_squares(&job->desc);
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

/* NAME=MODE. */
static weft_status read_mode(const clicks_job *job, const char *text)
{
    const char *mode = strrchr(text, '=');
    WEFT_CHECK(mode != NULL && mode_of(mode + 1) != EMBED_MODE_AUTO, WEFT_ERR_USAGE,
               FLAG_FIELD_MODES " %s: expected NAME=MODE, of which modes are those of " FLAG_ROW_MODE, text);
    for (int f = 0; f < job->rows.fields; ++f) {
        const char *name = job->rows.field_name.text[f];
        if (strlen(name) == (size_t)(mode - text) && strncmp(name, text, (size_t)(mode - text)) == 0) {
            WEFT_CHECK(job->mode_of[f] == EMBED_MODE_AUTO, WEFT_ERR_USAGE, FLAG_FIELD_MODES ": %s is named twice",
                       name);
            job->mode_of[f] = (uint8_t)mode_of(mode + 1);
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE, FLAG_FIELD_MODES " %s: the model reads no column of ids of that name", text);
}

weft_status clicks_read_modes(workload *work)
{
    clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    const char *text = option_text(o, OPT_FIELD_MODES);
    const embed_mode other = option_choice(o, OPT_ROW_MODE);
    name_list names = {0}, more = {0};
    weft_status status = job->mode_of == NULL ? WEFT_NEW(&job->mode_of, job->rows.fields, WEFT_MEM_CLICKS) : WEFT_OK;
    if (text[0] == '\0' || status != WEFT_OK) {
        return status;
    }
    WEFT_CHECK(job->table_desc.memory_most == 0, WEFT_ERR_USAGE,
               FLAG_FIELD_MODES " and " FLAG_ROW_MEMORY
                                ": columns in modes of their own have rows of their own, which one "
                                "bound does not hold: leave one of the two out");
    memset(job->mode_of, EMBED_MODE_AUTO, (size_t)job->rows.fields);
    WEFT_TRY_GOTO(click_names_parse(FLAG_FIELD_MODES, text, &names, &more), status, done);
    WEFT_CHECK_GOTO(more.count == 0, status, done, WEFT_ERR_USAGE,
                    FLAG_FIELD_MODES " %s: expected NAME=MODE with commas between them; a backslash stands in front of "
                                     "a semicolon of a name",
                    text);
    for (int64_t i = 0; i < names.count; ++i) {
        WEFT_TRY_GOTO(read_mode(job, names.text[i]), status, done);
    }
    for (int f = 0; f < job->rows.fields; ++f) {
        const embed_mode mode = other == EMBED_MODE_AUTO ? EMBED_ALL_TO_ALL : other;
        job->mode_of[f] = job->mode_of[f] == EMBED_MODE_AUTO ? (uint8_t)mode : job->mode_of[f];
    }
    take_modes(job);
done:
    name_list_free(&names);
    name_list_free(&more);
    return status;
}

/* ---- the trial --------------------------------------------------------------------------------------------------- */

static weft_status trial_batch(void *self, int i, embed_bags *bags)
{
    const workload *work = self;
    const clicks_job *job = work->self;
    const train_source *source = click_source_of(job->source);
    const train_pass pass = {.training = true,
                             .seed = (uint64_t)option_int(work->context->options, OPT_SEED),
                             .epoch = 1,
                             .step = i % source->steps,
                             .parts = 1};
    train_batch batch;
    WEFT_TRY(source->batch(source->self, &pass, &batch));
    *bags = ((const click_batch *)batch.input)->bags;
    return WEFT_OK;
}

/* What the trial reads and finds of each field. */
typedef struct trial_fields {
    bool *shares; /* all ranks may hold rows of its keys */
    embed_counts *counts;
} trial_fields;

/* Rows on each rank: those of fields of few ids first, as far as the memory of the node goes. [out] whole: all fields
 * fit. The same on all ranks. Collective. */
static weft_status may_share(const workload *work, bool *shares, bool *whole)
{
    const clicks_job *job = work->self;
    const int fields = job->rows.fields, ranks = comm_size(work->context->comm);
    const int64_t bound = job->table_desc.memory_most, room = (int64_t)memory_plan_room(work->context, &work->memory);
    int64_t most = 0; /* ids of a field that is shared */
    *whole = true;
    for (int f = 0; f < fields; ++f) {
        int64_t ids = 0; /* of this field and of those with fewer */
        for (int k = 0; k < fields; ++k) {
            ids += job->rows.field[k].ids <= job->rows.field[f].ids ? job->rows.field[k].ids : 0;
        }
        const int64_t here = row_store_bytes(&job->table_desc, ids);
        const bool fits =
            (bound == 0 || here <= bound) && here - row_store_bytes(&job->table_desc, ids / ranks + 1) <= room;
        most = fits ? larger(most, job->rows.field[f].ids) : most;
    }
    WEFT_TRY(comm_allreduce(work->context->comm, &most, 1, WEFT_DTYPE_I64, COMM_MIN));
    for (int f = 0; f < fields; ++f) {
        shares[f] = job->rows.field[f].ids <= most;
        *whole = *whole && shares[f];
    }
    return WEFT_OK;
}

static void tell_cost(const char *name, const trial_cost *cost)
{
    log_info("  %-12s %9.3f ms, %s sent, %s by the formula", name, 1e3 * cost->seconds,
             number_say_bytes((uint64_t)(cost->sent / TRIAL_BATCHES)).text,
             number_say_bytes((uint64_t)(cost->formula / TRIAL_BATCHES)).text);
}

/* Bytes of each field in each mode, and the mode that sends least of it. */
static void tell_fields(const clicks_job *job, const embed_counts *counts)
{
    const int stride = job->table_desc.width + job->table_desc.linear;
    for (int f = 0; f < job->rows.fields && f < TOLD_FIELDS; ++f) {
        char bytes[EMBED_MODES_COUNT * 48] = "";
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            const int64_t sent = embed_mode_bytes((embed_mode)m, &counts[f], stride, stride, false);
            if (sent < INT64_MAX) {
                text_append_item(bytes, sizeof bytes, "%s %s", mode_name[m],
                                 number_say_bytes((uint64_t)(sent / counts[f].batches)).text);
            }
        }
        log_info("  %s: %s (%s)", job->rows.field_name.text[f], mode_name[job->mode_of[f]], bytes);
    }
    if (job->rows.fields > TOLD_FIELDS) {
        log_info("  and %d fields more", job->rows.fields - TOLD_FIELDS);
    }
}

static void tell_trial(const clicks_job *job, const embed_trial *trial, const embed_counts *counts)
{
    const char *chosen = trial->fields_are_best ? "by field" : mode_name[trial->fastest];
    log_info("rows of embeddings, a batch of %lld samples on %d ranks (mean of %d, least of turns): " FLAG_ROW_MODE
             " %s",
             (long long)trial->counts.samples, trial->counts.ranks, TRIAL_BATCHES, chosen);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        if (isnan(trial->cost[m].seconds)) {
            log_info("  %-12s not tried: %s", mode_name[m],
                     m == EMBED_COLUMNS ? "rows cannot be split among so many ranks, or by this rule, or would not fit"
                                        : "all rows on each rank would not fit");
        } else {
            tell_cost(mode_name[m], &trial->cost[m]);
        }
    }
    if (!isnan(trial->by_field.seconds)) {
        tell_cost("by field", &trial->by_field);
        tell_fields(job, counts);
    }
    const double saving =
        embed_des_saving(&trial->counts, job->table_desc.width + job->table_desc.linear, trial->columns);
    log_info("  of the numbers that ranks would pull from a server of rows and push to it, des saves %s",
             clicks_say_saving(saving).text);
}

static weft_status run_trial(workload *work, const trial_fields *fields, embed_mode *mode)
{
    clicks_job *job = work->self;
    embed_sums sums;
    embed_trial trial;
    embed_trial_desc how = {.most = click_rows_most(&job->rows, job->desc.samples),
                            .samples = job->desc.samples,
                            .batches = TRIAL_BATCHES,
                            .batch = trial_batch,
                            .self = work,
                            .sums = click_model_sums(&job->desc, &sums) ? &sums : NULL,
                            .shares = fields->shares,
                            .counts = fields->counts,
                            .mode_of = job->mode_of,
                            .tries = {[EMBED_ALL_TO_ALL] = true, [EMBED_DES] = true}};
    WEFT_TRY(may_share(work, fields->shares, &how.tries[EMBED_REPLICATE]));
    how.tries[EMBED_COLUMNS] = how.tries[EMBED_REPLICATE];
    WEFT_TRY(embed_try_modes(work->context->comm, &job->table_desc, &how, &trial));
    tell_trial(job, &trial, fields->counts);
    *mode = trial.fields_are_best ? EMBED_MODE_AUTO : trial.fastest;
    return WEFT_OK;
}

/* [out] mode: of all fields; auto: each has that of job->mode_of. */
static weft_status try_modes(workload *work, embed_mode *mode)
{
    const clicks_job *job = work->self;
    trial_fields fields = {.shares = NULL};
    weft_status status = WEFT_NEW_ZERO(&fields.shares, job->rows.fields, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&fields.counts, job->rows.fields, WEFT_MEM_WORKSPACE) : status;
    status = comm_agree(work->context->comm, status);
    status = status == WEFT_OK ? run_trial(work, &fields, mode) : status;
    WEFT_FREE_ALL(fields.shares, fields.counts);
    return status;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* A code is a mode of all fields, or a letter for each field. */
static weft_status check_mode(const char *code)
{
    const size_t head = strlen(by_field);
    const bool fields = strncmp(code, by_field, head) == 0;
    WEFT_CHECK(fields ? strspn(code + head, "ardc") == strlen(code + head) : mode_of(code) != EMBED_MODE_AUTO,
               WEFT_ERR_USAGE, "a code is a mode of " FLAG_ROW_MODE ", or %s and a letter for each field", by_field);
    return WEFT_OK;
}

const choice_kind clicks_mode_choice = {.key = "rows", .option = OPT_ROW_MODE, .check = check_mode};

/* Reads what a run before has chosen; [out] known: it has. */
static weft_status read_code(clicks_job *job, const char *code, embed_mode *mode, bool *known)
{
    const size_t head = strlen(by_field);
    *known = code[0] != '\0';
    *mode = mode_of(code);
    if (*known && *mode == EMBED_MODE_AUTO) {
        const char *letter = code + head;
        WEFT_CHECK(strlen(letter) == (size_t)job->rows.fields, WEFT_ERR_USAGE,
                   "--choices: rows=%.40s is of %zu columns of ids, and the model reads %d", code, strlen(letter),
                   job->rows.fields);
        for (int f = 0; f < job->rows.fields; ++f) {
            job->mode_of[f] = (uint8_t)((const char *)memchr(mode_letter, letter[f], EMBED_MODES_COUNT) - mode_letter);
        }
    }
    return WEFT_OK;
}

static void write_code(const clicks_job *job, embed_mode mode, char *code)
{
    char *end = stpcpy(code, mode == EMBED_MODE_AUTO ? by_field : mode_name[mode]);
    for (int f = 0; f < job->rows.fields && mode == EMBED_MODE_AUTO; ++f) {
        *end++ = mode_letter[job->mode_of[f]];
    }
    *end = '\0';
}

weft_status clicks_choose_mode(workload *work)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    run_choices choices;
    embed_mode *mode = &job->table_desc.mode;
    bool known = false;
    if (comm_size(context->comm) == 1 && job->table_desc.mode_of != NULL) {
        log_info(FLAG_FIELD_MODES ": one rank holds the rows of all fields");
        job->table_desc.mode_of = NULL;
        job->desc.sums = *mode == EMBED_DES;
        job->table_desc.squares = click_model_squares(&job->desc);
    }
    if (*mode != EMBED_MODE_AUTO || job->table_desc.mode_of != NULL) {
        return WEFT_OK;
    }
    *mode = EMBED_ALL_TO_ALL;
    if (comm_size(context->comm) == 1 || work->trained || option_flag(context->options, OPT_REPRODUCIBLE)) {
        return WEFT_OK;
    }
    WEFT_TRY(choices_of(context, &clicks_mode_choice, &choices));
    WEFT_TRY(read_code(job, choices.own, mode, &known));
    WEFT_TRY(known ? WEFT_OK : try_modes(work, mode));
    write_code(job, *mode, work->choice);
    if (*mode == EMBED_MODE_AUTO) {
        *mode = EMBED_ALL_TO_ALL;
        take_modes(job);
    }
    job->desc.sums = job->desc.sums || *mode == EMBED_DES;
    job->table_desc.squares = click_model_squares(&job->desc);
    return WEFT_OK;
}
