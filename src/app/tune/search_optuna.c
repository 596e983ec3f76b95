/*
 * app/tune/search_optuna.c: optuna.log, the search as a journal of Optuna 4 and 5, for its dashboard and its plots.
 *
 *     optuna-dashboard search/optuna.log
 *
 * A line an operation (op_code): 0 the study, 4 a trial with its parameters, 7 a score, 6 how a trial ended. Choices
 * are words, as options are given. A trial that pauses or was stopped is PRUNED there. All trials end when the file is
 * written, and begin as long before as they trained.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "app/tune/search_state.h"
#include "tune/space/space_rules.h"

typedef enum optuna_op { OP_STUDY = 0, OP_TRIAL = 4, OP_STATE = 6, OP_SCORE = 7 } optuna_op;
typedef enum optuna_state { OPTUNA_RUNNING, OPTUNA_COMPLETE, OPTUNA_PRUNED, OPTUNA_FAIL } optuna_state;

static json_writer begin_line(FILE *out, optuna_op op)
{
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_int(&json, "op_code", op);
    json_text(&json, "worker_id", "weft");
    return json;
}

static void end_line(json_writer *json)
{
    json_end(json);
    json_line_end(json);
}

/* now, or so many seconds earlier. */
static void write_time(json_writer *json, const char *key, const struct timespec *now, double earlier)
{
    char day[32], text[64];
    const double at = (double)now->tv_sec + 1e-9 * (double)now->tv_nsec - earlier;
    const time_t whole = (time_t)floor(at);
    struct tm parts;
    (void)gmtime_r(&whole, &parts);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, sizeof text, "%s.%06d+00:00", day, (int)(1e6 * (at - floor(at))));
    json_text(json, key, text);
}

static void write_study(const search_state *s, FILE *out)
{
    json_writer json = begin_line(out, OP_STUDY);
    json_text(&json, "study_name", s->folder);
    json_array(&json, "directions");
    for (int k = 0; k < s->objectives.count; ++k) {
        json_int(&json, NULL, (s->desk.lower >> k & 1U) != 0 ? 1 : 2); /* minimise, maximise */
    }
    json_end(&json);
    end_line(&json);
}

static void write_attributes(const space_dimension *d, json_writer *json)
{
    if (d->kind == SPACE_CHOICE) {
        json_array(json, "choices");
        for (int i = 0; i < d->choices; ++i) {
            json_text(json, NULL, d->choice[i]);
        }
        json_end(json);
        return;
    }
    const bool whole = space_is_whole(d);
    if (whole) {
        json_int(json, "low", (int64_t)d->low);
        json_int(json, "high", (int64_t)d->high);
        json_int(json, "step", 1);
    } else {
        json_real(json, "low", d->low);
        json_real(json, "high", d->high);
    }
    json_bool(json, "log", d->kind == SPACE_LOG || d->kind == SPACE_INTEGER_LOG);
}

/* A distribution is an object within a text. [out] text: free(); NULL: no memory. */
static char *say_distribution(const space_dimension *d)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_text(&json, "name",
              d->kind == SPACE_CHOICE ? "CategoricalDistribution"
              : space_is_whole(d)     ? "IntDistribution"
                                      : "FloatDistribution");
    json_object(&json, "attributes");
    write_attributes(d, &json);
    json_end(&json);
    json_end(&json);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void write_trial(const search_state *s, int trial, char *const *distribution, const struct timespec *now,
                        FILE *out)
{
    const double *values = s->desk.trial[trial].values;
    json_writer json = begin_line(out, OP_TRIAL);
    json_int(&json, "study_id", 0);
    write_time(&json, "datetime_start", now, s->desk.trial[trial].seconds);
    json_object(&json, "distributions");
    for (int d = 0; d < s->space.count; ++d) {
        if (space_is_active(&s->space, values, d)) {
            json_text(&json, s->space.dimension[d].name, distribution[d]);
        }
    }
    json_end(&json);
    json_object(&json, "params");
    for (int d = 0; d < s->space.count; ++d) {
        if (space_is_active(&s->space, values, d)) {
            json_real(&json, s->space.dimension[d].name, values[d]);
        }
    }
    json_end(&json);
    end_line(&json);
}

static void write_score(const search_state *s, const desk_score *score, FILE *out)
{
    if (isfinite(score->value)) {
        json_writer json = begin_line(out, OP_SCORE);
        json_int(&json, "trial_id", score->trial);
        json_int(&json, "step", score->epoch);
        json_real(&json, "intermediate_value", search_measured(s, score->value));
        end_line(&json);
    }
}

static optuna_state state_of(const sched_trial *t)
{
    switch (t->state) {
    case SCHED_RUNNING:
        return OPTUNA_RUNNING;
    case SCHED_COMPLETED:
        return OPTUNA_COMPLETE;
    case SCHED_PAUSED:
    case SCHED_STOPPED:
        return t->diverged || isnan(t->best) ? OPTUNA_FAIL : OPTUNA_PRUNED;
    case SCHED_REMOVED:
        break;
    }
    return OPTUNA_FAIL;
}

static void write_end(const search_state *s, int trial, const struct timespec *now, FILE *out)
{
    const sched_trial *t = sched_trial_at(s->desk.sched, trial);
    const optuna_state state = state_of(t);
    if (state == OPTUNA_RUNNING) {
        return;
    }
    json_writer json = begin_line(out, OP_STATE);
    json_int(&json, "trial_id", trial);
    json_int(&json, "state", state);
    write_time(&json, "datetime_complete", now, 0.0);
    if (state == OPTUNA_FAIL) {
        json_null(&json, "values");
    } else {
        json_array(&json, "values");
        for (int k = 0; k < s->objectives.count; ++k) {
            json_real(&json, NULL, search_figure(s, trial, k));
        }
        json_end(&json);
    }
    end_line(&json);
}

static void write_lines(const search_state *s, char *const *distribution, FILE *out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    write_study(s, out);
    for (int i = 0; i < s->desk.trials; ++i) {
        write_trial(s, i, distribution, &now, out);
    }
    for (int i = 0; i < s->desk.scores; ++i) {
        write_score(s, &s->desk.score[i], out);
    }
    for (int i = 0; i < s->desk.trials; ++i) {
        write_end(s, i, &now, out);
    }
}

weft_status search_write_optuna(const search_state *s)
{
    char path[FILE_PATH_MAX], *distribution[SPACE_DIMENSIONS_MAX] = {NULL};
    file_writer writer;
    weft_status status = WEFT_OK;
    for (int d = 0; d < s->space.count; ++d) {
        distribution[d] = say_distribution(&s->space.dimension[d]);
        WEFT_CHECK_GOTO(distribution[d] != NULL, status, done, WEFT_ERR_RESOURCE, "no memory for optuna.log");
    }
    WEFT_TRY_GOTO(file_path(path, "%s/optuna.log", s->folder), status, done);
    WEFT_TRY_GOTO(file_writer_open(path, &writer), status, done);
    write_lines(s, distribution, writer.stream);
    status = file_writer_commit(&writer);
done:
    for (int d = 0; d < s->space.count; ++d) {
        free(distribution[d]);
    }
    return status;
}
