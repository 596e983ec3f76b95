/* app/tune/search_trial.c: a part of a trial: options, open data, epochs, and its end. */
#include <math.h>
#include <string.h>

#include "app/setup/signals.h"
#include "app/tune/search_state.h"
#include "base/clock.h"
#include "base/log.h"
#include "tune/space/space_rules.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* What the search says for each trial, or for itself. */
static bool is_own(option_id id)
{
    static const option_id own[] = {OPT_RUN_DIR, OPT_RESUME,  OPT_MAX_HOURS, OPT_FORCE,  OPT_SEED,
                                    OPT_RUNS,    OPT_DRY_RUN, OPT_QUIET,     OPTION_NONE};
    return option_id_listed(own, id);
}

weft_status search_trial_options(const search_state *s, int trial, uint64_t seed, const double *values,
                                 weft_options **options)
{
    const weft_options *asked = s->options;
    const option_command *train = NULL;
    char text[SPACE_TEXT_MAX], folder[FILE_PATH_MAX];
    WEFT_TRY(option_command_find(option_catalog_of(asked), "train", &train));
    WEFT_TRY(option_create(train, options));
    for (int i = 0; i < option_count(asked); ++i) {
        const option_id id = option_at(asked, i);
        if (option_is_set(asked, id) && option_applies(train, id) && !is_own(id)) {
            WEFT_TRY(option_assign(*options, option_row_in(asked, id)->name, option_value_text(asked, id)));
        }
    }
    for (int d = 0; d < s->space.count; ++d) {
        const space_dimension *dimension = &s->space.dimension[d];
        if (space_is_active(&s->space, values, d)) {
            WEFT_TRY(option_assign(*options, dimension->name, space_value_text(dimension, values[d], text)));
        }
    }
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)(seed + (uint64_t)option_int(asked, OPT_SEED)));
    WEFT_TRY(option_assign(*options, "seed", text));
    if (trial == SEARCH_NO_FOLDER) {
        return WEFT_OK;
    }
    WEFT_TRY(desk_trial_path(s->folder, trial, NULL, folder));
    WEFT_TRY(option_assign(*options, "run-dir", folder));
    WEFT_TRY(option_assign(*options, "resume", "on"));
    return option_flag(asked, OPT_VERBOSE) ? WEFT_OK : option_assign(*options, "quiet", "on");
}

/* ---- who hears of epochs, and who asks to stop ------------------------------------------------------------------- */

static int64_t steps_of(const search_state *s)
{
    const workload *work = &s->job->work;
    return work->ops->fit == NULL ? work->source.steps : 1;
}

static weft_status on_start(void *self, const train_progress *from)
{
    search_state *s = self;
    s->told = from != NULL ? from->epoch : 0;
    s->last_step = steps_of(s) <= 1 || (from != NULL && from->step == steps_of(s) - 1);
    return WEFT_OK;
}

static weft_status on_step(void *self, const train_epoch *epoch)
{
    ((search_state *)self)->last_step = epoch->step == epoch->steps - 1;
    return WEFT_OK;
}

/* The group's first rank. */
static weft_status report(search_state *s, const train_epoch *epoch, double mean_epoch_s)
{
    desk_news news = {.trial = s->order.trial, .epoch = epoch->epoch};
    WEFT_TRY(objectives_measure(&s->objectives, s->job, epoch, mean_epoch_s, news.value, &news.lower));
    s->lower = news.lower;
    return link_report(&s->link, &news, &s->stops);
}

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    search_state *s = self;
    s->told = epoch->epoch;
    s->last_step = steps_of(s) <= 1;
    s->last = *epoch;
    s->epoch_s += epoch->epoch_s;
    s->epochs += 1;
    if (!search_leads(s) || !epoch->evaluated) {
        return WEFT_OK;
    }
    WEFT_TRY(report(s, epoch, s->epoch_s / (double)s->epochs));
    if (search_speaks(s)) {
        counter_hold(s->link.counter);
        search_tell(s, false);
        counter_release(s->link.counter);
    }
    return WEFT_OK;
}

void search_listen(search_state *s)
{
    s->observer = (train_observer){.self = s, .on_start = on_start, .on_step = on_step, .on_epoch = on_epoch};
}

static bool asked_to_stop(void *self)
{
    const train_job *job = self;
    search_state *s = job->observers->self;
    const bool over = s->deadline > 0.0 && clock_seconds() >= s->deadline;
    if (signals_asked(NULL) || over) {
        s->interrupted = true;
        return true;
    }
    const bool pauses = s->order.until < option_int(s->options, OPT_EPOCHS) && s->told + 1 >= s->order.until;
    return s->stops || (pauses && s->last_step);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

void search_close_job(search_state *s)
{
    train_job_destroy(s->job);
    if (s->context.comm != NULL) {
        app_context_close(&s->context);
    }
    option_destroy(s->job_began);
    s->job_began = NULL;
    s->job = NULL;
    s->context = (app_context){.comm = NULL};
}

static weft_status open_job(search_state *s, const weft_options *options)
{
    const double begin = clock_seconds();
    WEFT_TRY(comm_agree(s->group, option_copy(options, &s->job_began)));
    WEFT_TRY(train_job_create(&s->job));
    s->job->keeps = s->job->passing = true;
    s->job->observers = &s->observer;
    s->job->changed = s->population ? s->searched : NULL;
    s->job->stop = (train_stop){.asked = asked_to_stop, .training = signals_training};
    weft_status status = app_context_open_within(&s->world, s->group, s->job_began, "trial", 0.0, &s->context);
    status = status == WEFT_OK ? train_job_open(s->job, &s->context) : status;
    s->opened += status == WEFT_OK && search_leads(s);
    s->open_seconds += search_leads(s) ? clock_seconds() - begin : 0.0;
    return status;
}

/* Data that are open serve where they can. */
static weft_status take_job(search_state *s, const weft_options *options)
{
    if (s->job != NULL) {
        const weft_status status = train_job_again(s->job, options);
        if (status == WEFT_OK || (status != WEFT_ERR_USAGE && status != WEFT_ERR_UNSUPPORTED)) {
            return status;
        }
        weft_error_clear();
        search_close_job(s);
    }
    return open_job(s, options);
}

/* ---- a part ------------------------------------------------------------------------------------------------------ */

/* Statuses that concern a configuration, not the search. */
static bool is_result(weft_status status)
{
    return status == WEFT_ERR_DIVERGED || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_USAGE ||
           status == WEFT_ERR_UNSUPPORTED;
}

static weft_status train_part(search_state *s, const weft_options *options)
{
    WEFT_TRY(take_job(s, options));
    WEFT_TRY(train_job_build(s->job));
    s->fits += search_leads(s);
    return train_job_fit(s->job);
}

/* A run that --patience ended reported no last epoch: figures of its best one stand for it. */
static weft_status report_last(search_state *s)
{
    const train_result *result = &s->job->result;
    train_epoch best = s->last;
    best.epoch = option_int(s->options, OPT_EPOCHS);
    best.score[0] = result->train_mean;
    best.score[1] = result->valid_mean;
    best.loss = result->run[0].final_loss;
    return search_leads(s) ? report(s, &best, s->epochs > 0 ? s->epoch_s / (double)s->epochs : result->epoch_s_median)
                           : WEFT_OK;
}

/* A trial of a population goes on from another one's weights. */
static weft_status report_diverged(search_state *s)
{
    const desk_news news = {
        .trial = s->order.trial, .epoch = s->order.until, .lower = s->lower, .value = {(double)NAN}};
    return search_leads(s) ? link_report(&s->link, &news, &s->stops) : WEFT_OK;
}

weft_status search_train(search_state *s, const double *values, char failed[DESK_WORDS])
{
    weft_options *options = NULL;
    failed[0] = '\0';
    s->stops = s->interrupted = false;
    s->told = s->order.from;
    s->last = (train_epoch){.epoch = 0};
    s->epoch_s = 0.0;
    s->epochs = 0;
    weft_status status = comm_agree(s->group, search_trial_options(s, s->order.trial, s->order.seed, values, &options));
    status = status == WEFT_OK ? train_part(s, options) : status;
    option_destroy(options);
    if (status == WEFT_STOPPED) {
        s->refused = -1;
        weft_error_clear();
        return WEFT_OK;
    }
    if (status == WEFT_ERR_USAGE || status == WEFT_ERR_UNSUPPORTED) {
        s->refused += s->refused >= 0;
    } else {
        s->refused = -1;
    }
    if (status == WEFT_ERR_DIVERGED && s->population) {
        weft_error_clear();
        return comm_agree(s->group, report_diverged(s));
    }
    if (is_result(status)) {
        (void)snprintf(failed, DESK_WORDS, "%s", weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    return status == WEFT_OK ? comm_agree(s->group, report_last(s)) : status;
}
