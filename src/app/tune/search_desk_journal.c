/* app/tune/search_desk_journal.c: the desk's journal: its name, and the search that comes back from its lines. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/tune/search_desk_internal.h"
#include "app/tune/search_population.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text/append.h"

enum { BASE_BYTES = 1 << 16 };

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* An older journal does not have them. */
static weft_status read_settings(search_desk *d, const journal_line *line)
{
    const char *text = NULL;
    char **settings = &d->trial[d->trials - 1].settings;
    if (json_find(line->object, "settings") == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(json_get_text(line->where, line->object, "settings", &text));
    WEFT_TRY(WEFT_NEW(settings, strlen(text) + 1, WEFT_MEM_SEARCH));
    memcpy(*settings, text, strlen(text) + 1);
    return WEFT_OK;
}

static weft_status read_values(search_desk *d, const journal_line *line)
{
    double *values = NULL;
    int64_t seed = 0, number = 0;
    int count = 0;
    const json_value *list = json_find(line->object, "values");
    WEFT_TRY(json_get_int(line->where, line->object, "seed", 0, INT64_MAX, &seed));
    WEFT_TRY(WEFT_NEW(&values, d->space->count, WEFT_MEM_SEARCH));
    for (const json_value *v = list != NULL ? list->child : NULL; v != NULL && count < d->space->count; v = v->next) {
        values[count++] = v->kind == JSON_NUMBER ? v->number : (double)NAN;
    }
    const bool outside = json_find(line->object, "outside") != NULL;
    weft_status status = count == d->space->count ? WEFT_OK
                                                  : weft_fail(WEFT_ERR_DATA, "%s: %d values, and the space has %d",
                                                              line->where, count, d->space->count);
    if (status == WEFT_OK && !outside) {
        status = json_find(line->object, "whole") != NULL ? searcher_begin_again(d->searcher, values, &number)
                                                          : searcher_begin(d->searcher, values, &number);
    }
    status = status == WEFT_OK ? desk_add_trial(d, values, (uint64_t)seed, outside ? DESK_OUTSIDE : number) : status;
    weft_free(values);
    return status == WEFT_OK && outside ? read_settings(d, line) : status;
}

static weft_status resume_again(search_desk *d, const journal_line *line)
{
    int64_t trial = -1, source = -1;
    WEFT_TRY(json_get_int(line->where, line->object, "trial", 0, d->trials - 1, &trial));
    d->trial[trial].unended = true;
    if (json_find(line->object, "source") == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(json_get_int(line->where, line->object, "source", 0, d->trials - 1, &source));
    return population_explore(d, (int)trial, (int)source);
}

static weft_status end_again(search_desk *d, const journal_line *line)
{
    int64_t trial = 0;
    const char *failed = "";
    WEFT_TRY(json_get_int(line->where, line->object, "trial", 0, d->trials - 1, &trial));
    const double seconds = json_number(line->object, "seconds");
    d->trial[trial].unended = false;
    d->trial[trial].seconds += seconds;
    d->trial[trial].rank_seconds += seconds * json_number(line->object, "ranks");
    if (json_find(line->object, "failed") != NULL) {
        WEFT_TRY(json_get_text(line->where, line->object, "failed", &failed));
        (void)snprintf(d->trial[trial].failed, DESK_WORDS, "%s", failed);
    }
    return WEFT_OK;
}

/* What a report has beside the score: the other objectives; null: the worst. */
static weft_status read_report(search_desk *d, const journal_line *line, double *value)
{
    bool lower = false;
    int64_t lower_others = 0;
    int count = 1;
    WEFT_TRY(json_get_bool(line->where, line->object, "lower", &lower));
    if (d->objectives > 1) {
        WEFT_TRY(json_get_int(line->where, line->object, "lower_others", 0, UINT32_MAX, &lower_others));
    }
    const json_value *list = json_find(line->object, "others");
    for (const json_value *v = list != NULL ? list->child : NULL; v != NULL && count < OBJECTIVES_MOST; v = v->next) {
        value[count++] = v->kind == JSON_NUMBER ? v->number : -(double)INFINITY;
    }
    WEFT_CHECK(count == d->objectives, WEFT_ERR_DATA, "%s: %d objectives, and the search has %d", line->where, count,
               d->objectives);
    d->lower = (uint32_t)lower_others | (lower ? 1U : 0U);
    return WEFT_OK;
}

static weft_status report_again(search_desk *d, const journal_line *line)
{
    double value[OBJECTIVES_MOST];
    int64_t trial = -1;
    WEFT_TRY(json_get_int(line->where, line->object, "trial", 0, d->trials - 1, &trial));
    WEFT_TRY(read_report(d, line, value));
    value[0] = sched_trial_at(d->sched, (int)trial)->value;
    WEFT_TRY(desk_add_score(d, (int)trial, value));
    return desk_tell_searcher(d, (int)trial);
}

static weft_status visit(void *self, const journal_line *line)
{
    search_desk *d = self;
    bool known = false;
    int64_t trial = -1;
    if (strcmp(line->event, "space") == 0) {
        return WEFT_OK; /* for those who change it */
    }
    if (strcmp(line->event, "end") == 0) {
        return end_again(d, line);
    }
    WEFT_TRY(sched_log_apply(d->sched, line, &known));
    WEFT_CHECK(known, WEFT_ERR_DATA, "%s: there is no event '%.32s'", line->where, line->event);
    if (strcmp(line->event, "start") == 0) {
        WEFT_TRY(read_values(d, line));
        d->trial[d->trials - 1].unended = true;
        return desk_is_population(d) ? population_explore(d, d->trials - 1, -1) : WEFT_OK;
    }
    if (strcmp(line->event, "resume") == 0) {
        return resume_again(d, line);
    }
    if (strcmp(line->event, "report") == 0) {
        return report_again(d, line);
    }
    if (strcmp(line->event, "limit") == 0) {
        WEFT_TRY(json_get_int(line->where, line->object, "trials", 1, INT32_MAX, &d->limit));
        searcher_limit(d->searcher, d->limit);
    }
    if (strcmp(line->event, "remove") == 0) {
        WEFT_TRY(json_get_int(line->where, line->object, "trial", 0, d->trials - 1, &trial));
        return json_find(line->object, "cancelled") != NULL ? desk_forget(d, (int)trial)
                                                            : desk_tell_searcher(d, (int)trial);
    }
    return WEFT_OK;
}

/* Names everything that the answers of the desk depend on; space NULL: beside the space. */
static weft_status name_search(const weft_options *o, const search_desk *d, const char *base, const search_space *space,
                               char hex[JOURNAL_SPACE_BYTES])
{
    static const option_id asked[] = {OPT_SEARCHER,    OPT_SEARCH_SEED, OPT_REPEAT_SHARE, OPT_UNIVARIATE,
                                      OPT_GRID_VALUES, OPT_SCHEDULER,   OPT_GRACE,        OPT_REDUCTION,
                                      OPT_OBJECTIVES,  OPT_INTERVAL,    OPTION_NONE};
    char *text = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&text, BASE_BYTES, WEFT_MEM_SEARCH));
    text_append(text, BASE_BYTES, "%016" PRIx64 "\n%s\n", space != NULL ? space_digest(space) : 0, base);
    for (const option_id *id = asked; *id != OPTION_NONE; ++id) {
        text_append(text, BASE_BYTES, "%s=%s\n", option_row_in(o, *id)->name, option_value_text(o, *id));
    }
    if (option_flag(o, OPT_GP_WARP)) { /* so that a search without it has the name that it had before there was one */
        text_append(text, BASE_BYTES, FLAG_GP_WARP "=on\n");
    }
    if (desk_is_population(d)) {
        text_append(text, BASE_BYTES, "trials=%" PRId64 "\n", d->limit);
    }
    file_hash(text, strlen(text), hex);
    weft_free(text);
    return WEFT_OK;
}

/* From now on as many trials as options say. Nothing is written where the journal says so already. */
static weft_status set_limit(search_desk *d, int64_t before)
{
    json_writer *json;
    const int64_t now = d->limit;
    if (now == before || desk_is_population(d)) {
        return WEFT_OK; /* a population has its number in its name */
    }
    d->limit = before;
    WEFT_TRY(sched_limit(d->sched, (int)now));
    searcher_limit(d->searcher, now);
    d->limit = now;
    WEFT_TRY(sched_log_limit(d->journal, (int)now, &json));
    return journal_end(d->journal);
}

/* Trials that are not of the space any more do not go on. */
static weft_status remove_outside(search_desk *d)
{
    json_writer *json;
    for (int i = 0; i < d->trials; ++i) {
        const sched_state state = sched_trial_at(d->sched, i)->state;
        if (d->trial[i].number != DESK_OUTSIDE) {
            continue;
        }
        if (d->trial[i].failed[0] == '\0') {
            (void)snprintf(d->trial[i].failed, DESK_WORDS, "outside the space, which was changed by --force");
        }
        if (state == SCHED_RUNNING || state == SCHED_PAUSED) {
            WEFT_TRY(sched_remove(d->sched, i));
            WEFT_TRY(sched_log_remove(d->journal, i, &json));
            WEFT_TRY(journal_end(d->journal));
        }
    }
    return WEFT_OK;
}

static weft_status open_file(const char *path, const char *name, bool resume, search_desk *d)
{
    const journal_reader reader = {.space = name, .visit = visit, .self = d};
    const int64_t asked = d->limit;
    journal_facts facts;
    d->limit = 0;
    const weft_status status =
        resume ? journal_resume(path, &reader, &facts, &d->journal) : journal_create(path, name, &d->journal);
    if (status == WEFT_ERR_USAGE && resume) {
        return weft_fail_context(status, "a search goes on in a changed [space] only with --force: ");
    }
    WEFT_TRY(status);
    const int64_t before = d->limit;
    d->limit = asked;
    d->known = d->trials;
    (void)sched_lineage(d->sched, &d->moved); /* copied before the lines that tell of them */
    if (d->known > 0) {
        log_info("%s: %d trials are known%s", path, d->trials,
                 d->outside > 0 ? ", some of them outside the space" : "");
    }
    if (before > 0 && before != asked) {
        log_info("the search was to have %" PRId64 " trials, and has %" PRId64 " from now on", before, asked);
    }
    return set_limit(d, before);
}

weft_status desk_open_journal(const weft_options *options, const desk_subject *subject, bool resume, search_desk *d)
{
    char name[JOURNAL_SPACE_BYTES], rest[JOURNAL_SPACE_BYTES], path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/trials.jsonl", d->folder));
    WEFT_TRY(name_search(options, d, subject->base, d->space, name));
    WEFT_TRY(name_search(options, d, subject->base, NULL, rest));
    if (resume && option_flag(options, OPT_FORCE)) {
        WEFT_TRY(desk_respace(d, path, name, rest, subject->text));
    }
    WEFT_TRY(open_file(path, name, resume, d));
    if (journal_lines(d->journal) <= 2 && d->trials == 0) { /* the first one, and that of the limit */
        WEFT_TRY(desk_log_space(d->journal, rest, subject->text));
    }
    if (d->outside > 0) {
        WEFT_TRY(remove_outside(d));
        searcher_limit(d->searcher, d->limit - d->outside);
    }
    return WEFT_OK;
}
