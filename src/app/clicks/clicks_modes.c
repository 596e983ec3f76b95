/* app/clicks/clicks_modes.c: which mode the table of embeddings takes (embed/embed.h), by a trial on first batches, and
 * what the modes send on other numbers of ranks, for dry runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "base/log.h"
#include "base/number.h"
#include "embed/plan/embed_trial.h"
#include "embed/rows/row_store.h"

enum { TRIAL_BATCHES = 4, PLAN_RANKS_MOST = 1024 };

static const char *const mode_name[] = {EMBED_MODE_CHOICES(CHOICE_NAME)};

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

/* All rows on each rank: only where the node has the memory. The same on all ranks. Collective. */
static weft_status may_replicate(const workload *work, bool *may)
{
    const clicks_job *job = work->self;
    const int64_t ids = click_rows_ids(&job->rows);
    const uint64_t whole = (uint64_t)row_store_bytes(&job->table_desc, ids);
    const uint64_t share = (uint64_t)row_store_bytes(&job->table_desc, ids / comm_size(work->context->comm) + 1);
    const bool bounded = job->table_desc.memory_most > 0 && whole > (uint64_t)job->table_desc.memory_most;
    int64_t short_of = bounded || whole - share > memory_plan_room(work->context, &work->memory);
    WEFT_TRY(comm_allreduce(work->context->comm, &short_of, 1, WEFT_DTYPE_I64, COMM_MAX));
    *may = short_of == 0;
    return WEFT_OK;
}

static number_words say_saving(double share)
{
    number_words words = {.text = "none"};
    if (share >= 0.0) {
        (void)snprintf(words.text, sizeof words.text, "%.2f %%", 100.0 * share);
    }
    return words;
}

static void tell_trial(const clicks_job *job, const embed_trial *trial)
{
    const int timed = TRIAL_BATCHES - 1;
    log_info("rows of embeddings, a batch of %lld samples on %d ranks (least of %d): " FLAG_ROW_MODE " %s",
             (long long)trial->counts.samples, trial->counts.ranks, timed, mode_name[trial->fastest]);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        if (isnan(trial->seconds[m])) {
            log_info("  %-12s not tried: all rows on each rank would not fit", mode_name[m]);
        } else {
            log_info("  %-12s %9.3f ms, %s sent, %s by the formula", mode_name[m], 1e3 * trial->seconds[m],
                     number_say_bytes((uint64_t)(trial->sent[m] / timed)).text,
                     number_say_bytes((uint64_t)(trial->formula[m] / timed)).text);
        }
    }
    const double saving =
        embed_des_saving(&trial->counts, job->table_desc.width + job->table_desc.linear, trial->columns);
    log_info("  of the numbers that ranks would pull from a server of rows and push to it, des saves %s",
             say_saving(saving).text);
}

static weft_status try_modes(workload *work, embed_mode *mode)
{
    const clicks_job *job = work->self;
    weft_comm *comm = work->context->comm;
    embed_sums sums;
    embed_trial trial;
    const embed_trial_desc how = {.most = click_rows_most(&job->rows, job->desc.samples),
                                  .samples = job->desc.samples,
                                  .batches = TRIAL_BATCHES,
                                  .batch = trial_batch,
                                  .self = work,
                                  .sums = click_model_sums(&job->desc, &sums) ? &sums : NULL,
                                  .tries = {[EMBED_ALL_TO_ALL] = true, [EMBED_DES] = true}};
    embed_trial_desc tried = how;
    WEFT_TRY(may_replicate(work, &tried.tries[EMBED_REPLICATE]));
    WEFT_TRY(embed_try_modes(comm, &job->table_desc, &tried, &trial));
    tell_trial(job, &trial);
    *mode = trial.fastest;
    return WEFT_OK;
}

/* Returns EMBED_MODE_AUTO if no mode has this name. */
static embed_mode mode_of(const char *name)
{
    int m = 0;
    while (m < EMBED_MODES_COUNT && strcmp(name, mode_name[m]) != 0) {
        ++m;
    }
    return (embed_mode)m;
}

static weft_status check_mode(const char *code)
{
    WEFT_CHECK(mode_of(code) != EMBED_MODE_AUTO, WEFT_ERR_USAGE, "a code is a mode of " FLAG_ROW_MODE);
    return WEFT_OK;
}

const choice_kind clicks_mode_choice = {.key = "rows", .option = OPT_ROW_MODE, .check = check_mode};

weft_status clicks_choose_mode(workload *work)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    run_choices choices;
    embed_mode *mode = &job->table_desc.mode;
    if (*mode != EMBED_MODE_AUTO) {
        return WEFT_OK;
    }
    *mode = EMBED_ALL_TO_ALL;
    if (comm_size(context->comm) == 1 || work->trained || option_flag(context->options, OPT_REPRODUCIBLE)) {
        return WEFT_OK;
    }
    WEFT_TRY(choices_of(context, &clicks_mode_choice, &choices));
    *mode = mode_of(choices.own);
    WEFT_TRY(*mode == EMBED_MODE_AUTO ? try_modes(work, mode) : WEFT_OK);
    job->desc.sums = *mode == EMBED_DES;
    job->table_desc.squares = click_model_squares(&job->desc);
    (void)snprintf(work->choice, sizeof work->choice, "%s", mode_name[*mode]);
    return WEFT_OK;
}

/* ---- the table of a dry run -------------------------------------------------------------------------------------- */

/* A batch of rows that stand evenly among those that train. */
typedef struct sample_batch {
    int64_t samples;
    uint64_t *key; /* ids of all fields of the samples */
    float *weight; /* of each, where they have some */
    float *number; /* [numbers] scratch */
    int64_t *at;   /* [samples * fields + 1] */
} sample_batch;

static weft_status draw_sample(const workload *work, sample_batch *b)
{
    const clicks_job *job = work->self;
    const click_rows *rows = &job->rows;
    const int64_t train = rows->counted[TRAIN_SPLIT_TRAIN], fields = rows->fields;
    const int64_t batch = option_int(work->context->options, OPT_BATCH_SIZE);
    const click_scaling plain = {.kind = CLICK_SCALING_OFF};
    float target;
    b->samples = batch < train ? batch : train;
    const int64_t most = click_rows_most(rows, b->samples);
    WEFT_TRY(WEFT_NEW(&b->key, most, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->weight, most, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->number, rows->numbers, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->at, b->samples * fields + 1, WEFT_MEM_WORKSPACE));
    b->at[0] = 0;
    for (int64_t i = 0; i < b->samples; ++i) {
        const int64_t row = click_rows_train(rows, (int64_t)((double)train / (double)b->samples * (double)i));
        int64_t *at = b->at + i * fields;
        for (int f = 0; f < fields; ++f) {
            at[f + 1] = at[f] + click_rows_size(rows, row, f);
        }
        click_rows_read(rows, &plain, row, b->key + at[0], b->weight + at[0], b->number, &target);
    }
    return WEFT_OK;
}

static weft_status count_for(const clicks_job *job, const sample_batch *b, bag_index *index, embed_counts *counts)
{
    const int fields = job->rows.fields;
    int64_t *at = NULL;
    weft_status status = WEFT_NEW(&at, b->samples * fields + 1, WEFT_MEM_WORKSPACE);
    for (int p = 0; p < counts->ranks && status == WEFT_OK; ++p) {
        const int64_t first = b->samples * p / counts->ranks, end = b->samples * (p + 1) / counts->ranks;
        const int64_t begin = b->at[first * fields];
        for (int64_t i = 0; i <= (end - first) * fields; ++i) {
            at[i] = b->at[first * fields + i] - begin;
        }
        const embed_bags bags = {.samples = end - first,
                                 .fields = fields,
                                 .at = at,
                                 .key = b->key + begin,
                                 .weight = job->rows.weighted ? b->weight + begin : NULL};
        status = embed_counts_add(&bags, p, job->table_desc.seed, index, counts);
    }
    weft_free(at);
    return status;
}

static void print_line(FILE *out, const clicks_job *job, const embed_counts *counts)
{
    const int stride = job->table_desc.width + job->table_desc.linear;
    embed_sums sums;
    const int64_t columns = click_model_sums(&job->desc, &sums)
                                ? stride + sums.squares
                                : (int64_t)job->rows.fields * stride + job->table_desc.squares;
    fprintf(out, "  %5d", counts->ranks);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        fprintf(out, " %12s",
                number_say_bytes((uint64_t)embed_mode_bytes((embed_mode)m, counts, stride, columns, false)).text);
    }
    fprintf(out, "  %10s  %s\n", say_saving(embed_des_saving(counts, stride, columns)).text,
            mode_name[embed_mode_cheapest(counts, stride, columns, false)]);
}

void clicks_print_modes(const workload *work, FILE *out)
{
    const clicks_job *job = work->self;
    sample_batch b = {.samples = 0};
    bag_index index = {.positions = 0};
    weft_status status = work->trained ? WEFT_OK : draw_sample(work, &b);
    if (status == WEFT_OK && b.samples > 0) {
        fprintf(out, "rows of embeddings, bytes sent in a batch of %lld rows over all ranks:\n  ranks",
                (long long)b.samples);
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            fprintf(out, " %12s", mode_name[m]);
        }
        fprintf(out, "   des saves  least\n");
    }
    for (int ranks = 2; ranks <= PLAN_RANKS_MOST && b.samples > 0 && status == WEFT_OK; ranks *= 2) {
        embed_counts counts = {.ranks = ranks};
        status = count_for(job, &b, &index, &counts);
        if (status == WEFT_OK) {
            print_line(out, job, &counts);
        }
    }
    if (status == WEFT_OK && b.samples > 0) {
        fprintf(out, "  des saves: of the numbers that ranks would pull from a server of rows and push to it\n");
    } else if (status != WEFT_OK) {
        log_warn("bytes of rows are not told: %s", weft_error_message());
        weft_error_clear();
    }
    bag_index_free(&index);
    WEFT_FREE_ALL(b.key, b.weight, b.number, b.at);
}
