/* app/tune/search_desk.c: see app/tune/search_desk.h. */
#include "app/tune/search_desk_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "app/tune/search_population.h"
#include "base/grow.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text/append.h"

enum { BASE_BYTES = 1 << 16, CANCEL_BYTES = 4096 };

/* ---- the two that decide ----------------------------------------------------------------------------------------- */

/* Trials that pause at rungs and are promoted from them. */
static bool promotes(sched_kind kind)
{
    return kind == SCHED_ASHA || kind == SCHED_PASHA;
}

searcher_desc desk_searcher(const weft_options *options, int64_t trials, bool repeats)
{
    const bool grid = option_choice(options, OPT_SEARCHER) == SEARCHER_GRID; /* it has each point once */
    return (searcher_desc){.kind = option_choice(options, OPT_SEARCHER),
                           .seed = (uint64_t)option_int(options, OPT_SEARCH_SEED),
                           .trials = trials,
                           .repeats = repeats && !grid ? option_real(options, OPT_REPEAT_SHARE) : 0.0,
                           .univariate = option_flag(options, OPT_UNIVARIATE),
                           .warp = option_flag(options, OPT_GP_WARP),
                           .grid = (int)option_int(options, OPT_GRID_VALUES)};
}

/* A grid has so many configurations, and no more trials are begun. */
static int64_t trials_of(const weft_options *o, const search_space *space)
{
    const int64_t trials = option_int(o, OPT_TRIALS);
    const searcher_desc desc = desk_searcher(o, trials, false);
    const int64_t runs = option_int(o, OPT_RUNS), configs = (trials + runs - 1) / runs;
    return desc.kind == SEARCHER_GRID ? smaller(searcher_grid_points(space, &desc, configs) * runs, trials) : trials;
}

/* pbt: units between two exchanges; a tenth of a training, if nobody says it. */
static int64_t interval_of(const weft_options *o, int64_t units, int64_t unit)
{
    const int64_t asked = option_int(o, OPT_INTERVAL);
    return asked > 0 ? (asked + unit - 1) / unit : (units + 9) / 10;
}

static weft_status open_deciders(const weft_options *o, search_desk *d)
{
    const int64_t epochs = option_int(o, OPT_EPOCHS);
    d->limit = trials_of(o, d->space);
    d->runs = option_int(o, OPT_RUNS);
    d->epochs_most = option_int(o, OPT_BUDGET_EPOCHS);
    d->rank_hours_most = option_real(o, OPT_BUDGET_HOURS);
    const sched_kind kind = option_choice(o, OPT_SCHEDULER);
    const bool graced = kind != SCHED_KIND_FIFO && kind != SCHED_HYPERBAND && kind != SCHED_PBT;
    d->unit = option_int(o, OPT_EVAL_EVERY);
    WEFT_CHECK(d->unit > 0 || kind == SCHED_KIND_FIFO, WEFT_ERR_USAGE,
               "--eval-every 0 tells no score before the end, and " FLAG_SCHEDULER " %s stops trials by it: give 1, or "
               "take " FLAG_SCHEDULER " fifo",
               option_text(o, OPT_SCHEDULER));
    d->unit = d->unit > 0 ? d->unit : epochs;
    const int64_t units = (epochs + d->unit - 1) / d->unit, grace = option_int(o, OPT_GRACE);
    WEFT_CHECK(grace == 0 || graced, WEFT_ERR_USAGE,
               FLAG_GRACE ": " FLAG_SCHEDULER " %s has no first rung: leave it out", option_text(o, OPT_SCHEDULER));
    WEFT_TRY(kind == SCHED_PBT ? population_check(d->space) : WEFT_OK);
    const int64_t interval = kind == SCHED_PBT ? interval_of(o, units, d->unit) : 0;
    WEFT_CHECK(kind == SCHED_PBT || option_int(o, OPT_INTERVAL) == 0, WEFT_ERR_USAGE,
               FLAG_INTERVAL ": " FLAG_SCHEDULER " %s exchanges no weights: leave it out",
               option_text(o, OPT_SCHEDULER));
    const sched_desc schedule = {.kind = kind,
                                 .interval = interval,
                                 .trials = kind == SCHED_PBT ? (int)d->limit : 0,
                                 .seed = kind == SCHED_PBT ? (uint64_t)option_int(o, OPT_SEARCH_SEED) : 0,
                                 .maximise = true,
                                 .max_resource = units,
                                 .grace = grace > 0 ? (grace + d->unit - 1) / d->unit : 0,
                                 .reduction = option_int(o, OPT_REDUCTION)};
    WEFT_TRY(sched_open(&schedule, &d->sched));
    searcher_desc search = desk_searcher(o, d->limit, kind == SCHED_KIND_FIFO || promotes(kind));
    search.on_request = promotes(kind);
    search.objectives = d->objectives;
    d->repeat_share = promotes(kind) ? search.repeats : 0.0;
    return searcher_open(d->space, &search, &d->searcher);
}

weft_status desk_add_trial(search_desk *d, const double *values, uint64_t seed, int64_t number)
{
    WEFT_TRY(grow_array((void **)&d->trial, sizeof *d->trial, d->trials, &d->room, WEFT_MEM_SEARCH));
    desk_trial *t = &d->trial[d->trials];
    *t = (desk_trial){.seed = seed, .number = number};
    d->outside += number == DESK_OUTSIDE;
    for (int k = 0; k < OBJECTIVES_MOST; ++k) {
        t->at_best[k] = (double)NAN;
    }
    WEFT_TRY(WEFT_NEW(&t->values, d->space->count, WEFT_MEM_SEARCH));
    memcpy(t->values, values, (size_t)d->space->count * sizeof *values);
    d->trials += 1;
    return WEFT_OK;
}

static int64_t epochs_of(const search_desk *d, int64_t resource)
{
    return resource * d->unit;
}

weft_status desk_add_score(search_desk *d, int trial, const double *value)
{
    const sched_trial *t = sched_trial_at(d->sched, trial);
    WEFT_TRY(grow_array((void **)&d->score, sizeof *d->score, d->scores, &d->score_room, WEFT_MEM_SEARCH));
    d->score[d->scores++] = (desk_score){trial, epochs_of(d, t->resource), t->value};
    if (t->best_resource == t->resource) {
        memcpy(d->trial[trial].at_best, value, (size_t)d->objectives * sizeof *value);
    }
    return WEFT_OK;
}

/* Trials of one configuration have seeds of their own. */
static uint64_t seed_of(const search_desk *d, const double *values)
{
    uint64_t seed = 0;
    for (int i = 0; i < d->trials; ++i) {
        seed += memcmp(d->trial[i].values, values, (size_t)d->space->count * sizeof *values) == 0;
    }
    return seed;
}

/* ---- what searchers hear ----------------------------------------------------------------------------------------- */

bool desk_is_population(const search_desk *d)
{
    return sched_desc_of(d->sched)->kind == SCHED_PBT;
}

weft_status desk_tell_searcher(search_desk *d, int trial)
{
    const sched_trial *t = sched_trial_at(d->sched, trial);
    const int64_t number = d->trial[trial].number;
    if (desk_is_population(d) || number == DESK_OUTSIDE) {
        return WEFT_OK; /* of a population settings change on the way, and nothing is suggested after the first ones */
    }
    const double share = (double)t->resource / (double)sched_desc_of(d->sched)->max_resource;
    static const double diverged[OBJECTIVES_MOST] = {(double)NAN};
    double value[OBJECTIVES_MOST];
    for (int k = 0; k < d->objectives; ++k) {
        value[k] = -d->trial[trial].at_best[k];
    }
    switch (t->state) {
    case SCHED_COMPLETED:
        return searcher_report_all(d->searcher, number, 1.0, value);
    case SCHED_STOPPED:
    case SCHED_PAUSED:
        return t->diverged ? searcher_report_all(d->searcher, number, 1.0, diverged)
                           : searcher_report_all(d->searcher, number, share, value);
    case SCHED_REMOVED:
        return searcher_report_all(d->searcher, number, 1.0, diverged);
    case SCHED_RUNNING:
        break;
    }
    return WEFT_OK;
}

weft_status desk_forget(search_desk *d, int trial)
{
    const int64_t number = d->trial[trial].number;
    (void)snprintf(d->trial[trial].failed, DESK_WORDS, "cancelled");
    return number == DESK_OUTSIDE ? WEFT_OK : searcher_forget(d->searcher, number);
}

static void write_values(json_writer *json, const desk_trial *t, int dimensions)
{
    json_array(json, "values");
    for (int i = 0; i < dimensions; ++i) {
        json_real(json, NULL, t->values[i]);
    }
    json_end(json);
    json_int(json, "seed", (int64_t)t->seed);
}

weft_status desk_check(const weft_options *options, const search_space *space)
{
    search_desk desk = {.space = space, .objectives = 1};
    const weft_status status = open_deciders(options, &desk);
    desk_close(&desk);
    return status;
}

weft_status desk_open(const weft_options *options, int objectives, const search_space *space, const char *folder,
                      const desk_subject *subject, bool resume, search_desk *desk)
{
    *desk = (search_desk){.space = space, .folder = folder, .objectives = objectives};
    WEFT_TRY(open_deciders(options, desk));
    return desk_open_journal(options, subject, resume, desk);
}

void desk_close(search_desk *d)
{
    for (int i = 0; i < d->trials; ++i) {
        WEFT_FREE_ALL(d->trial[i].values, d->trial[i].settings);
    }
    WEFT_FREE_ALL(d->trial, d->score);
    population_free(d);
    journal_close(d->journal);
    searcher_close(d->searcher);
    sched_close(d->sched);
    *d = (search_desk){.space = NULL};
}

weft_status desk_trial_path(const char *folder, int trial, const char *name, char *path)
{
    return name != NULL ? file_path(path, "%s/trial-%04d/%s", folder, trial, name)
                        : file_path(path, "%s/trial-%04d", folder, trial);
}

/* ---- trials that the user ends ----------------------------------------------------------------------------------- */

static weft_status cancel(search_desk *d, int trial)
{
    json_writer *json;
    WEFT_TRY(sched_remove(d->sched, trial));
    WEFT_TRY(sched_log_remove(d->journal, trial, &json));
    json_bool(json, "cancelled", true);
    WEFT_TRY(journal_end(d->journal));
    return desk_forget(d, trial);
}

/* One line of the file. What is no trial that could go on is told and does nothing. */
static weft_status hear_line(search_desk *d, const char *path, const char *line, const char *end)
{
    char text[32];
    int64_t trial;
    (void)snprintf(text, sizeof text, "%.*s", (int)(end - line), line);
    const bool number = number_parse_int(text, &trial) && trial >= 0;
    const sched_trial *t = number && trial < d->trials ? sched_trial_at(d->sched, (int)trial) : NULL;
    if (t == NULL) {
        log_warn("%s: '%s' is no trial of the %d that have begun: a line has one number", path, text, d->trials);
        return WEFT_OK;
    }
    d->trial[trial].ends = t->state == SCHED_RUNNING;
    return t->state == SCHED_PAUSED ? cancel(d, (int)trial) : WEFT_OK;
}

/* text: the file behind what was read before. A line that is not whole yet is read once more, unless it is no line. */
static weft_status hear_lines(search_desk *d, const char *path, const char *text, size_t bytes)
{
    const char *line = text, *stop;
    while ((stop = memchr(line, '\n', bytes - (size_t)(line - text))) != NULL) {
        WEFT_TRY(hear_line(d, path, line, stop));
        line = stop + 1;
    }
    if (line == text && bytes == CANCEL_BYTES) {
        log_warn("%s: %d bytes without an end of line are left out: a line has one number", path, CANCEL_BYTES);
        line += bytes;
    }
    d->cancel_bytes += line - text;
    return WEFT_OK;
}

/* A file that became shorter is another one. */
static weft_status hear_user(search_desk *d)
{
    char path[FILE_PATH_MAX], text[CANCEL_BYTES];
    struct stat facts;
    int fd = -1;
    WEFT_TRY(file_path(path, "%s/cancel", d->folder));
    if (stat(path, &facts) != 0 || facts.st_size == d->cancel_bytes) {
        return WEFT_OK;
    }
    d->cancel_bytes = facts.st_size < d->cancel_bytes ? 0 : d->cancel_bytes;
    if (file_open(path, &fd, &facts) != WEFT_OK) {
        log_warn("trials that are to end: %s", weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    const ssize_t bytes = file_read_at(fd, d->cancel_bytes, text, sizeof text);
    (void)close(fd);
    return bytes > 0 ? hear_lines(d, path, text, (size_t)bytes) : WEFT_OK;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static desk_order order_of(const search_desk *d, int trial, int64_t from, int64_t until)
{
    return (desk_order){
        .trial = trial, .from = epochs_of(d, from), .until = epochs_of(d, until), .seed = d->trial[trial].seed};
}

/* Whether something of a trial is missing that the journal tells of: a part that a killed search had not ended, weights
 * of a trained trial that were not written, the checkpoint of one that pauses, which others of a population may go on
 * from. [out] order: the part that brings it. */
static weft_status find_missing(const search_desk *d, int trial, desk_order *order, bool *found)
{
    const sched_trial *t = sched_trial_at(d->sched, trial);
    const bool runs = t->state == SCHED_RUNNING, outside = d->trial[trial].number == DESK_OUTSIDE;
    *found = runs || (t->state == SCHED_COMPLETED && d->trial[trial].unended && !outside);
    if (desk_is_population(d) && (*found || t->state == SCHED_PAUSED)) {
        int64_t epoch;
        WEFT_TRY(population_epoch(d, trial, &epoch));
        *found = *found || (epoch < epochs_of(d, t->resource) && isfinite(t->value));
    }
    *order = order_of(d, trial, t->resource, runs ? t->until : t->resource);
    return WEFT_OK;
}

/* Trials of a journal that was read again go on first. [out] found: there is one, and order is its order. */
static weft_status find_known(search_desk *d, desk_order *order, bool *found)
{
    *found = false;
    for (; d->again < d->known && !*found; ++d->again) {
        if (sched_trial_at(d->sched, d->again)->state == SCHED_RUNNING && d->trial[d->again].ends) {
            WEFT_TRY(cancel(d, d->again));
        } else {
            WEFT_TRY(find_missing(d, d->again, order, found));
        }
    }
    return WEFT_OK;
}

/* Weights of a population move when all checkpoints are there: a trial pauses with its last score, before it has
 * written one. */
static bool are_written(const search_desk *d)
{
    for (int i = 0; i < d->trials; ++i) {
        if (d->trial[i].busy && sched_trial_at(d->sched, i)->state == SCHED_PAUSED) {
            return false;
        }
    }
    return true;
}

/* A configuration for the trial that the scheduler has begun. again: a leading one. */
static weft_status suggest(search_desk *d, bool again)
{
    double *values = NULL;
    int64_t number = -1;
    WEFT_TRY(WEFT_NEW(&values, d->space->count, WEFT_MEM_SEARCH));
    weft_status status = WEFT_OK;
    if (again) {
        status = searcher_again(d->searcher, values, &number);
    } else if (d->trials % d->runs != 0) {
        memcpy(values, d->trial[d->trials - 1].values, (size_t)d->space->count * sizeof *values);
        status = searcher_begin(d->searcher, values, &number);
    } else {
        status = searcher_suggest(d->searcher, values, &number);
    }
    if (status == WEFT_OK && number != d->trials - d->outside) {
        status = weft_fail(WEFT_ERR_INTERNAL, "trial %d has no configuration", d->trials);
    }
    status = status == WEFT_OK ? desk_add_trial(d, values, seed_of(d, values), number) : status;
    weft_free(values);
    return status;
}

/* Epochs up to where every trial is, or will be when it pauses or ends. */
static int64_t epochs_begun(const search_desk *d)
{
    int64_t sum = 0;
    for (int i = 0; i < d->trials; ++i) {
        const sched_trial *t = sched_trial_at(d->sched, i);
        sum += epochs_of(d, t->state == SCHED_RUNNING ? t->until : t->resource);
    }
    return sum;
}

static double rank_hours(const search_desk *d)
{
    double sum = 0.0;
    for (int i = 0; i < d->trials; ++i) {
        sum += d->trial[i].rank_seconds;
    }
    return sum / 3600.0;
}

static void check_budget(search_desk *d)
{
    d->spent = d->spent || (d->epochs_most > 0 && epochs_begun(d) >= d->epochs_most) ||
               (d->rank_hours_most > 0.0 && rank_hours(d) >= d->rank_hours_most);
}

/* Where promotions are over, leading configurations are trained to the end with other seeds, as often as the share of
 * all epochs that is theirs allows. */
static bool repeat_is_due(const search_desk *d)
{
    int64_t sum = 0, repeats = 0;
    bool trained = false;
    for (int i = 0; i < d->trials; ++i) {
        const sched_trial *t = sched_trial_at(d->sched, i);
        if (t->state == SCHED_RUNNING && !t->whole) {
            return false;
        }
        trained = trained || t->state == SCHED_COMPLETED;
        repeats += t->whole;
        sum += t->whole ? 0 : t->resource;
    }
    const double room = d->repeat_share / (1.0 - d->repeat_share) * (double)sum;
    return trained && (double)((repeats + 1) * sched_desc_of(d->sched)->max_resource) <= room;
}

/* [out] work: what trains next, which the journal does not have yet. */
static weft_status choose_work(search_desk *d, sched_work *work)
{
    *work = (sched_work){.action = sched_running(d->sched) > 0 ? SCHED_WAIT : SCHED_DONE};
    check_budget(d);
    if (d->spent) {
        return WEFT_OK;
    }
    WEFT_TRY(sched_next(d->sched, work));
    const bool idle = work->action == SCHED_WAIT || work->action == SCHED_DONE;
    return idle && repeat_is_due(d) ? sched_start_whole(d->sched, work) : WEFT_OK;
}

/* The scheduler's next order, in the journal. */
static weft_status decide(search_desk *d, desk_order *order)
{
    sched_work work;
    json_writer *json;
    WEFT_TRY(choose_work(d, &work));
    *order = (desk_order){.over = work.action == SCHED_DONE, .waits = work.action == SCHED_WAIT};
    if (order->over || order->waits) {
        return WEFT_OK;
    }
    WEFT_TRY(work.action == SCHED_START ? suggest(d, work.whole) : WEFT_OK);
    if (desk_is_population(d)) {
        WEFT_TRY(population_exchange(d));
        WEFT_TRY(work.action == SCHED_START || work.source >= 0 ? population_explore(d, work.trial, work.source)
                                                                : WEFT_OK);
    }
    WEFT_TRY(sched_log_work(d->journal, &work, &json));
    if (work.action == SCHED_START) {
        write_values(json, &d->trial[work.trial], d->space->count);
    }
    WEFT_TRY(journal_end(d->journal));
    *order = order_of(d, work.trial, work.from, work.until);
    return WEFT_OK;
}

weft_status desk_next(search_desk *d, desk_order *order)
{
    *order = (desk_order){.waits = true};
    WEFT_TRY(hear_user(d));
    WEFT_TRY(d->holds ? WEFT_OK : find_known(d, &d->held, &d->holds));
    if (!d->holds && (!desk_is_population(d) || are_written(d))) {
        WEFT_TRY(decide(d, &d->held));
        d->holds = !d->held.over && !d->held.waits;
        *order = d->held;
    }
    if (d->holds && d->trial[d->held.trial].busy) {
        *order = (desk_order){.waits = true};
    } else if (d->holds) {
        d->trial[d->held.trial].busy = true;
        d->holds = false;
        *order = d->held;
    }
    return WEFT_OK;
}

static void write_others(const search_desk *d, const desk_news *news, json_writer *json)
{
    json_bool(json, "lower", (news->lower & 1U) != 0);
    if (d->objectives == 1) {
        return;
    }
    json_array(json, "others");
    for (int k = 1; k < d->objectives; ++k) {
        if (isfinite(news->value[k])) {
            json_real(json, NULL, news->value[k]);
        } else {
            json_null(json, NULL);
        }
    }
    json_end(json);
    json_int(json, "lower_others", (int64_t)(news->lower & ~1U));
}

weft_status desk_report(search_desk *d, const desk_news *said, bool *stops)
{
    sched_decision decision = SCHED_CONTINUE;
    json_writer *json;
    const int trial = said->trial;
    const double score = said->value[0];
    const int64_t resource = (said->epoch + d->unit - 1) / d->unit;
    const bool news = resource > sched_trial_at(d->sched, trial)->resource;
    *stops = false;
    WEFT_TRY(hear_user(d));
    if (sched_trial_at(d->sched, trial)->state == SCHED_RUNNING && d->trial[trial].ends) {
        *stops = true;
        return cancel(d, trial);
    }
    if (!news || sched_trial_at(d->sched, trial)->state != SCHED_RUNNING) {
        return WEFT_OK;
    }
    d->lower = said->lower;
    WEFT_TRY(sched_report(d->sched, trial, resource, score, &decision));
    WEFT_TRY(desk_add_score(d, trial, said->value));
    WEFT_TRY(sched_log_report(d->journal, trial, resource, score, decision, &json));
    write_others(d, said, json);
    WEFT_TRY(journal_end(d->journal));
    *stops = decision != SCHED_CONTINUE;
    return *stops ? desk_tell_searcher(d, trial) : WEFT_OK;
}

weft_status desk_end(search_desk *d, const desk_ended *ended, const char *failed)
{
    const int trial = ended->trial;
    json_writer *json;
    if (failed != NULL && sched_trial_at(d->sched, trial)->state == SCHED_RUNNING) {
        WEFT_TRY(sched_remove(d->sched, trial));
        WEFT_TRY(sched_log_remove(d->journal, trial, &json));
        WEFT_TRY(journal_end(d->journal));
        WEFT_TRY(desk_tell_searcher(d, trial));
    }
    d->trial[trial].busy = false;
    d->trial[trial].seconds += ended->seconds;
    d->trial[trial].rank_seconds += ended->seconds * ended->ranks;
    WEFT_TRY(journal_begin(d->journal, "end", &json));
    json_int(json, "trial", trial);
    json_real(json, "seconds", ended->seconds);
    json_int(json, "ranks", ended->ranks);
    if (failed != NULL && d->trial[trial].failed[0] == '\0') {
        (void)snprintf(d->trial[trial].failed, DESK_WORDS, "%s", failed);
        json_text(json, "failed", d->trial[trial].failed);
    }
    return journal_end(d->journal);
}

int64_t desk_first_part(const search_desk *d)
{
    const sched_desc *desc = sched_desc_of(d->sched);
    return epochs_of(d, desc->grace > 0 ? desc->grace : desc->max_resource);
}

int desk_best_score(const search_desk *d)
{
    int leader = -1;
    for (int i = 0; i < d->trials; ++i) {
        const double best = sched_trial_at(d->sched, i)->best;
        if (isfinite(best) && d->trial[i].number != DESK_OUTSIDE &&
            (leader < 0 || best > sched_trial_at(d->sched, leader)->best)) {
            leader = i;
        }
    }
    return leader;
}

weft_status desk_best(search_desk *d, int *trial, searcher_leader *leader)
{
    *leader = (searcher_leader){.trial = -1};
    WEFT_TRY(desk_is_population(d) ? WEFT_OK : searcher_best(d->searcher, leader));
    *trial = desk_best_score(d);
    for (int i = 0; i < d->trials && leader->trial >= 0; ++i) {
        if (d->trial[i].number == leader->trial) {
            *trial = i;
        }
    }
    return WEFT_OK;
}
