/* app/train/resume.c: see app/train/resume.h. */
#include "app/train/resume.h"

#include <stdarg.h>
#include <string.h>

#include "app/setup/shell.h"
#include "app/train/option_change.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text/append.h"
#include "machine/launcher.h"

/* ---- the plan ---- */

static weft_status parse_interval(const char *text, train_checkpoints *plan)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
    const char *end = text;
    double value = 0;
    bool good = number_scan_real(text, &end, &value) && value >= 0 && value <= 1e9;
    if (good && *end == '\0' && value == (double)(int64_t)value) {
        plan->every_epochs = (int64_t)value;
        return WEFT_OK;
    }
    if (good && strcmp(end, "steps") == 0 && value == (double)(int64_t)value) {
        plan->every_steps = (int64_t)value;
        return WEFT_OK;
    }
    for (size_t i = 0; good && i < sizeof units / sizeof *units; ++i) {
        if (strcmp(end, units[i].name) == 0) {
            plan->every_s = value * units[i].seconds;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE,
                     "--checkpoint-every %s: expected a number of epochs (20) or steps (500steps), a time (90s, 10min, "
                     "2h), or 0 for none",
                     text);
}

weft_status resume_plan(const weft_options *options, double started, train_checkpoints *plan)
{
    double hours = option_real(options, OPT_MAX_HOURS);
    *plan = (train_checkpoints){.stop_at = hours > 0 ? started + 3600 * hours : 0};
    WEFT_CHECK(!(option_flag(options, OPT_RESUME) && option_flag(options, OPT_FORCE)), WEFT_ERR_USAGE,
               "--resume goes on with a run and --force replaces it: give one of them");
    return parse_interval(option_text(options, OPT_CHECKPOINT_EVERY), plan);
}

/* ---- agreement ---- */

/* Returns true if weights that were trained with another value still fit: how training goes, not what is trained. */
static bool keeps_weights(const weft_options *options, option_id id)
{
    return strcmp(option_row_in(options, id)->section, "training") == 0 && id != OPT_SEED && id != OPT_LOSS;
}

/*
 * Another number of epochs than the checkpoint's is as if the training had been started with it, where no epoch so far
 * would have been another.
 */
static weft_status check_epochs(const weft_options *o, const checkpoint *ck, const char *before)
{
    const train_progress *p = checkpoint_progress(ck);
    const int64_t epochs = option_int(o, OPT_EPOCHS);
    const schedule_kind schedule = option_choice(o, OPT_SCHEDULE);
    WEFT_CHECK(p->run == 0, WEFT_ERR_USAGE,
               "--resume: %d of --runs %d have ended with --epochs %s each, and %lld would not compare: give --epochs "
               "%s, or another --run-dir",
               p->run, (int)option_int(o, OPT_RUNS), before, (long long)epochs, before);
    WEFT_CHECK(!schedule_is_of_epochs(schedule), WEFT_ERR_USAGE,
               "--resume: --schedule %s spreads over --epochs %s, and the epochs so far had its rates: give --epochs "
               "%s; or start from the weights with --init-weights, --epochs and another --run-dir",
               option_value_text(o, OPT_SCHEDULE), before, before);
    WEFT_CHECK(epochs > p->epoch || (p->run_ended && epochs == p->epoch), WEFT_ERR_USAGE,
               "--resume: the run has %lld epochs by now, --epochs %lld is %s: give more than %lld, or --epochs %s",
               (long long)p->epoch, (long long)epochs, epochs < p->epoch ? "less" : "no more", (long long)p->epoch,
               before);
    WEFT_CHECK(!p->run_ended || checkpoint_has_state(ck), WEFT_ERR_USAGE,
               "--resume: %s, of an earlier version, has no state of the optimiser after the last epoch: start from "
               "its weights with --init-weights and another --run-dir",
               checkpoint_path(ck));
    return WEFT_OK;
}

/* Said once: what more epochs mean for the run as it stands. */
static void tell_epochs(const weft_options *o, const checkpoint *ck, const char *before)
{
    const train_progress *p = checkpoint_progress(ck);
    const int64_t patience = option_int(o, OPT_PATIENCE);
    if (p->run_ended && patience > 0 && p->since_best >= patience) {
        log_warn("--epochs %s instead of %s changes nothing: --patience %lld ended the run after epoch %lld",
                 option_value_text(o, OPT_EPOCHS), before, (long long)patience, (long long)p->epoch);
        return;
    }
    log_info("--epochs %s instead of %s: as if it had been started so", option_value_text(o, OPT_EPOCHS), before);
}

static weft_status check_options(const app_context *context, const workload_ops *ops, const option_id *changed,
                                 const checkpoint *ck)
{
    char differs[512] = "";
    const weft_options *o = context->options;
    for (int i = 0; i < option_count(o); ++i) {
        const option_id id = option_at(o, i);
        const char *name = option_row_in(o, id)->name;
        const char *before = option_applies(option_command_of(o), id) ? checkpoint_option(ck, name) : NULL;
        const option_change change = option_change_of(ops, o, id);
        const bool follows = id == OPT_LOSS && before != NULL && strcmp(before, "auto") == 0; /* of earlier versions */
        const bool found = (id == OPT_LR && option_is_auto(o, id)) || /* it becomes the one of before */
                           option_id_listed(changed, id);
        if (before == NULL || change == OPTION_CHANGES || follows || found || option_same_value(o, id, before)) {
            continue;
        }
        if (id == OPT_EPOCHS) {
            WEFT_TRY(check_epochs(o, ck, before));
            tell_epochs(o, ck, before);
            continue;
        }
        WEFT_CHECK(change == OPTION_DISTURBS, WEFT_ERR_USAGE,
                   "--resume: the checkpoint %s was made with --%s %s, this job has %s: give the same, or another "
                   "--run-dir%s%s%s",
                   checkpoint_path(ck), name, before[0] != '\0' ? before : "(none)", option_value_text(o, id),
                   keeps_weights(o, id) ? "; or go on from the weights as they are: --init-weights " : "",
                   keeps_weights(o, id) ? checkpoint_path(ck) : "",
                   keeps_weights(o, id) ? " with a new --run-dir" : "");
        text_append(differs, sizeof differs, ", --%s %s (was %s)", name, option_value_text(o, id), before);
    }
    if (checkpoint_ranks(ck) != comm_size(context->comm)) {
        text_append(differs, sizeof differs, ", %d ranks (were %d)", comm_size(context->comm), checkpoint_ranks(ck));
    }
    if (checkpoint_threads(ck) != context->placement.threads) {
        text_append(differs, sizeof differs, ", %d threads a rank (were %d)", context->placement.threads,
                    checkpoint_threads(ck));
    }
    if (differs[0] != '\0') {
        log_info("going on with %s: not to the bit, as sums may be rounded otherwise", differs + 2);
    }
    return WEFT_OK;
}

static weft_status open_checkpoint(const run_dir *dir, const workload *work, checkpoint **ck)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/ckpt", dir->path));
    weft_status status = file_exists(path) ? checkpoint_open(path, ck) : WEFT_ERR_NOINPUT;
    if (status == WEFT_ERR_NOINPUT) {
        weft_error_clear();
        log_info("%s holds no checkpoint: training begins at the beginning", dir->path);
        return WEFT_OK;
    }
    if (status == WEFT_ERR_DATA) {
        char message[2048];
        snprintf(message, sizeof message, "%s", weft_error_message());
        return weft_fail(status, "%s: begin anew with --force instead of --resume, or with another --run-dir", message);
    }
    WEFT_TRY(status);
    WEFT_CHECK(
        strcmp(checkpoint_data_hash(*ck), work->hash) == 0, WEFT_ERR_USAGE,
        "--resume: the checkpoint %s belongs to other data than %s, or to other options that read it, such as the "
        "target or the columns left out: give the same, or another --run-dir",
        checkpoint_path(*ck), work->name);
    return WEFT_OK;
}

weft_status resume_open(const app_context *context, const run_dir *dir, const workload *work, const option_id *changed,
                        checkpoint **ck)
{
    weft_status status = WEFT_OK;
    *ck = NULL;
    if (option_flag(context->options, OPT_RESUME) && comm_rank(context->comm) == 0) {
        status = open_checkpoint(dir, work, ck);
    }
    WEFT_TRY(comm_agree(context->comm, status));
    if (option_flag(context->options, OPT_RESUME) && work->ops->adopt != NULL) {
        WEFT_TRY(work->ops->adopt(context, *ck));
    }
    return comm_agree(context->comm, *ck != NULL ? check_options(context, work->ops, changed, *ck) : WEFT_OK);
}

const char *resume_choices(const app_context *context, const checkpoint *ck)
{
    const bool alike = ck != NULL && checkpoint_ranks(ck) == comm_size(context->comm) &&
                       checkpoint_threads(ck) == context->placement.threads;
    return alike ? checkpoint_option(ck, option_row_in(context->options, OPT_CHOICES)->name) : NULL;
}

const char *resume_rate(const app_context *context, const checkpoint *ck)
{
    return ck != NULL ? checkpoint_option(ck, option_row_in(context->options, OPT_LR)->name) : NULL;
}

/* ---- how to go on ---- */

static void append_option(char *text, size_t bytes, const weft_options *options, option_id id)
{
    const option_row *row = option_row_in(options, id);
    if (row->type == OPTION_FLAG) {
        text_append(text, bytes, " --%s%s", option_flag(options, id) ? "" : "no-", row->name);
        return;
    }
    text_append(text, bytes, " --%s ", row->name);
    shell_append_word(text, bytes, option_value_text(options, id));
}

void resume_command(const app_context *context, const char *path, char *text, size_t bytes)
{
    const weft_options *o = context->options;
    launcher_command(comm_size(context->comm), text, bytes);
    shell_append_program(text, bytes);
    text_append(text, bytes, " train");
    for (int i = 0; i < option_count(o); ++i) {
        const option_id id = option_at(o, i);
        bool given = option_applies(option_command_of(o), id) && option_is_set(o, id) &&
                     option_source_of(o, id) != OPTION_ENVIRONMENT;
        if (given && id != OPT_RESUME && id != OPT_FORCE && id != OPT_RUN_DIR) {
            append_option(text, bytes, o, id);
        }
    }
    text_append(text, bytes, " --resume --run-dir ");
    shell_append_word(text, bytes, path);
}
