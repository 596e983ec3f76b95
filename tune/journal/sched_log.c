/* tune/journal/sched_log.c: see tune/journal/sched_log.h. */
#include "tune/journal/sched_log.h"

#include <string.h>

static const char *const actions[] = {SCHED_ACTIONS(CHOICE_NAME)};
static const char *const decisions[] = {SCHED_DECISIONS(CHOICE_NAME)};

/* ---- write ---- */

weft_status sched_log_work(journal *j, const sched_work *work, json_writer **json)
{
    WEFT_TRY(journal_begin(j, actions[work->action], json));
    json_int(*json, "trial", work->trial);
    if (work->action == SCHED_RESUME) {
        json_int(*json, "from", work->from);
    }
    json_int(*json, "until", work->until);
    if (work->source >= 0) {
        json_int(*json, "source", work->source);
    }
    if (work->whole) {
        json_bool(*json, "whole", true);
    }
    return WEFT_OK;
}

weft_status sched_log_report(journal *j, int trial, int64_t resource, double value, sched_decision decision,
                             json_writer **json)
{
    WEFT_TRY(journal_begin(j, "report", json));
    json_int(*json, "trial", trial);
    json_int(*json, "resource", resource);
    json_real(*json, "value", value);
    json_text(*json, "decision", decisions[decision]);
    return WEFT_OK;
}

weft_status sched_log_remove(journal *j, int trial, json_writer **json)
{
    WEFT_TRY(journal_begin(j, "remove", json));
    json_int(*json, "trial", trial);
    return WEFT_OK;
}

weft_status sched_log_limit(journal *j, int trials, json_writer **json)
{
    WEFT_TRY(journal_begin(j, "limit", json));
    json_int(*json, "trials", trials);
    return WEFT_OK;
}

/* ---- apply ---- */

static weft_status get_trial(const journal_line *line, int *trial)
{
    int64_t value = 0;
    WEFT_TRY(json_get_int(line->where, line->object, "trial", 0, INT32_MAX, &value));
    *trial = (int)value;
    return WEFT_OK;
}

/* Failures of the scheduler are those of the journal: the call was made once, and succeeded. */
static weft_status blame(const journal_line *line, weft_status status)
{
    return status == WEFT_ERR_USAGE ? weft_fail_context(WEFT_ERR_DATA, "%s: ", line->where) : status;
}

static weft_status get_work(const journal_line *line, sched_work *work)
{
    int64_t source = 0;
    WEFT_TRY(get_trial(line, &work->trial));
    if (work->action == SCHED_RESUME) {
        WEFT_TRY(json_get_int(line->where, line->object, "from", 0, INT64_MAX, &work->from));
    }
    WEFT_TRY(json_get_int(line->where, line->object, "until", 1, INT64_MAX, &work->until));
    if (json_find(line->object, "source") != NULL) {
        WEFT_TRY(json_get_int(line->where, line->object, "source", 0, INT32_MAX, &source));
        work->source = (int)source;
    }
    return WEFT_OK;
}

static weft_status apply_work(sched *s, const journal_line *line, sched_action action)
{
    sched_work said = {.action = action, .source = -1}, work;
    WEFT_TRY(get_work(line, &said));
    const bool whole = action == SCHED_START && json_find(line->object, "whole") != NULL;
    WEFT_TRY(blame(line, whole ? sched_start_whole(s, &work) : sched_next(s, &work)));
    WEFT_CHECK(
        work.action == said.action && work.trial == said.trial && work.from == said.from && work.until == said.until &&
            work.source == said.source,
        WEFT_ERR_DATA,
        "%s: %s trial %d from %lld until %lld; the scheduler would %s (trial %d from %lld until %lld): the journal "
        "was written with other options, or by another version of the program: resume it with those",
        line->where, actions[said.action], said.trial, (long long)said.from, (long long)said.until,
        actions[work.action], work.trial, (long long)work.from, (long long)work.until);
    return WEFT_OK;
}

static weft_status apply_report(sched *s, const journal_line *line)
{
    int trial = 0;
    int64_t resource = 0;
    const char *said = NULL;
    sched_decision decision;
    WEFT_TRY(get_trial(line, &trial));
    WEFT_TRY(json_get_int(line->where, line->object, "resource", 1, INT64_MAX, &resource));
    WEFT_TRY(json_get_text(line->where, line->object, "decision", &said));
    WEFT_TRY(blame(line, sched_report(s, trial, resource, json_number(line->object, "value"), &decision)));
    WEFT_CHECK(strcmp(decisions[decision], said) == 0, WEFT_ERR_DATA,
               "%s: %s trial %d at %lld; the scheduler would %s: the journal was written with other options, or by "
               "another version of the program: resume it with those",
               line->where, said, trial, (long long)resource, decisions[decision]);
    return WEFT_OK;
}

static weft_status apply_remove(sched *s, const journal_line *line)
{
    int trial = 0;
    WEFT_TRY(get_trial(line, &trial));
    return blame(line, sched_remove(s, trial));
}

static weft_status apply_limit(sched *s, const journal_line *line)
{
    int64_t trials = 0;
    WEFT_TRY(json_get_int(line->where, line->object, "trials", 0, INT32_MAX, &trials));
    return blame(line, sched_limit(s, (int)trials));
}

weft_status sched_log_apply(sched *s, const journal_line *line, bool *known)
{
    *known = true;
    if (strcmp(line->event, actions[SCHED_START]) == 0) {
        return apply_work(s, line, SCHED_START);
    }
    if (strcmp(line->event, actions[SCHED_RESUME]) == 0) {
        return apply_work(s, line, SCHED_RESUME);
    }
    if (strcmp(line->event, "report") == 0) {
        return apply_report(s, line);
    }
    if (strcmp(line->event, "remove") == 0) {
        return apply_remove(s, line);
    }
    if (strcmp(line->event, "limit") == 0) {
        return apply_limit(s, line);
    }
    *known = false;
    return WEFT_OK;
}
