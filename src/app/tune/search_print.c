/* app/tune/search_print.c: what a search shows: the table of trials on the log, summary.csv, best.toml, the result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/tune/search_front.h"
#include "app/tune/search_population.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/append.h"
#include "tune/space/space_rules.h"

enum { TOLD = 5, TEXT_BYTES = 512 };

static const double tell_every = 30.0;

static const char *const state_names[] = {"runs", "paused", "stopped", "complete", "failed"};

/* A score as it was measured. */
double search_measured(const search_state *s, double score)
{
    return (s->desk.lower & 1U) != 0 ? -score : score;
}

double search_figure(const search_state *s, int trial, int k)
{
    const double value = s->desk.trial[trial].at_best[k];
    return (s->desk.lower >> k & 1U) != 0 ? -value : value;
}

static const sched_trial *facts_of(const search_state *s, int trial)
{
    return sched_trial_at(s->desk.sched, trial);
}

int64_t search_epoch_of(const search_state *s, int64_t resource)
{
    const int64_t epoch = resource * s->desk.unit, most = option_int(s->options, OPT_EPOCHS);
    return epoch < most ? epoch : most;
}

const char *search_state_name(int state)
{
    return state_names[state];
}

void search_say_values(const search_state *s, int trial, char *text, size_t bytes)
{
    char value[SPACE_TEXT_MAX];
    text[0] = '\0';
    for (int d = 0; d < s->space.count; ++d) {
        const double *values = s->desk.trial[trial].values;
        const space_dimension *dimension = &s->space.dimension[d];
        if (space_is_active(&s->space, values, d)) {
            text_append(text, bytes, "%s%s %s", text[0] != '\0' ? ", " : "", dimension->name,
                        space_value_text(dimension, values[d], value));
        }
    }
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
    const search_ranked *x = a, *y = b;
    return x->best != y->best ? (x->best < y->best) - (x->best > y->best) : x->trial - y->trial;
}

int search_rank_trials(const search_state *s, search_ranked *order)
{
    int count = 0;
    for (int i = 0; i < s->desk.trials; ++i) {
        if (s->desk.trial[i].number >= 0 && !isnan(facts_of(s, i)->best)) {
            order[count++] = (search_ranked){i, facts_of(s, i)->best};
        }
    }
    qsort(order, (size_t)count, sizeof *order, by_score);
    return count;
}

int search_count_state(const search_state *s, sched_state state)
{
    int count = 0;
    for (int i = 0; i < s->desk.trials; ++i) {
        count += s->desk.trial[i].number >= 0 && facts_of(s, i)->state == state;
    }
    return count;
}

/* How many trials are in which state. */
static const char *say_counts(const search_state *s, char text[TEXT_BYTES])
{
    text[0] = '\0';
    text_append(text, TEXT_BYTES, "%d complete, %d paused, %d stopped, %d failed",
                search_count_state(s, SCHED_COMPLETED), search_count_state(s, SCHED_PAUSED),
                search_count_state(s, SCHED_STOPPED), search_count_state(s, SCHED_REMOVED));
    if (s->desk.outside > 0) {
        text_append(text, TEXT_BYTES, ", %d outside", s->desk.outside);
    }
    return text;
}

void search_tell(search_state *s, bool now)
{
    search_ranked *order = NULL;
    char text[TEXT_BYTES];
    if (!now && clock_seconds() - s->told_at < tell_every) {
        return;
    }
    s->told_at = clock_seconds();
    if (WEFT_NEW(&order, s->desk.trials + 1, WEFT_MEM_GENERAL) != WEFT_OK) {
        weft_error_clear();
        return;
    }
    const int count = search_rank_trials(s, order);
    log_info("%d of %" PRId64 " trials: %s", s->desk.trials, s->desk.limit, say_counts(s, text));
    for (int i = 0; i < count && i < TOLD; ++i) {
        const sched_trial *t = facts_of(s, order[i].trial);
        search_say_values(s, order[i].trial, text, sizeof text);
        log_info("  trial %4d  %10.5g at epoch %" PRId64 " of %" PRId64 ", %s: %s", order[i].trial,
                 search_measured(s, t->best), search_epoch_of(s, t->best_resource), search_epoch_of(s, t->resource),
                 state_names[t->state], text);
    }
    weft_free(order);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static weft_status begin_file(const search_state *s, const char *name, file_writer *writer)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", s->folder, name));
    return file_writer_open(path, writer);
}

/* Words of messages stay within their cell. */
static void write_cell(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; ++text) {
        fputc(*text == '"' ? '\'' : *text == '\n' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void write_number(FILE *out, double value)
{
    if (isnan(value)) {
        fputc(',', out);
    } else {
        fprintf(out, ",%.9g", value);
    }
}

/* The other objectives, and how many fronts are before that of the trial: 0, no other trial beats it. */
static void write_objectives(const search_state *s, const search_front *front, int trial, FILE *out)
{
    for (int k = 1; k < s->objectives.count; ++k) {
        write_number(out, search_figure(s, trial, k));
    }
    if (front->rank != NULL && front->rank[trial] >= 0) {
        fprintf(out, ",%d", front->rank[trial]);
    } else if (front->rank != NULL) {
        fputc(',', out);
    }
}

void search_write_values(const search_state *s, const double *values, FILE *out)
{
    char value[SPACE_TEXT_MAX];
    for (int d = 0; d < s->space.count; ++d) {
        const bool active = space_is_active(&s->space, values, d);
        fprintf(out, ",%s", active ? space_value_text(&s->space.dimension[d], values[d], value) : "");
    }
}

/* One line of desk_trial.settings. */
typedef struct setting {
    int name_length, length; /* of the value */
    const char *name, *value;
} setting;

/* [out] one: the setting that the text begins with. Returns what is behind it, or NULL where there is none. */
static const char *next_setting(const char *text, setting *one)
{
    const char *end = text != NULL ? strchr(text, '\n') : NULL, *equals = end != NULL ? strchr(text, '=') : NULL;
    if (equals == NULL || equals > end) {
        return NULL;
    }
    *one = (setting){(int)(equals - text), (int)(end - equals - 1), text, equals + 1};
    return end + 1;
}

/* Whether the setting is one of the dimension. */
static bool is_of(const setting *one, const space_dimension *d)
{
    return strlen(d->name) == (size_t)one->name_length && memcmp(d->name, one->name, (size_t)one->name_length) == 0;
}

/* Cells of a trial of another space: settings of both spaces in their columns, and the others beside the reason. */
static void write_outside(const search_state *s, const desk_trial *t, FILE *out)
{
    char text[TEXT_BYTES] = "";
    setting one;
    for (int d = 0; d < s->space.count; ++d) {
        fputc(',', out);
        for (const char *at = t->settings; (at = next_setting(at, &one)) != NULL;) {
            if (is_of(&one, &s->space.dimension[d])) {
                fprintf(out, "%.*s", one.length, one.value);
            }
        }
    }
    text_append(text, sizeof text, "%s", t->failed);
    for (const char *at = t->settings; (at = next_setting(at, &one)) != NULL;) {
        bool column = false;
        for (int d = 0; d < s->space.count; ++d) {
            column = column || is_of(&one, &s->space.dimension[d]);
        }
        if (!column) {
            text_append_item(text, sizeof text, "%.*s %.*s", one.name_length, one.name, one.length, one.value);
        }
    }
    fputc(',', out);
    write_cell(out, text);
}

static weft_status write_csv(const search_state *s, const search_front *front)
{
    file_writer writer;
    WEFT_TRY(begin_file(s, "summary.csv", &writer));
    FILE *out = writer.stream;
    fprintf(out, "trial,state,epochs,score,best_score,best_epoch,seconds,seed");
    for (int k = 1; k < s->objectives.count; ++k) {
        fprintf(out, ",%s", objective_name(&s->objectives, k));
    }
    fprintf(out, "%s", front->rank != NULL ? ",front" : "");
    for (int d = 0; d < s->space.count; ++d) {
        fprintf(out, ",%s", s->space.dimension[d].name);
    }
    fprintf(out, ",failed\n");
    for (int i = 0; i < s->desk.trials; ++i) {
        const sched_trial *t = facts_of(s, i);
        const desk_trial *own = &s->desk.trial[i];
        fprintf(out, "%d,%s,%" PRId64, i,
                own->number < 0 ? "outside"
                : t->diverged   ? "diverged"
                                : state_names[t->state],
                search_epoch_of(s, t->resource));
        write_number(out, search_measured(s, t->value));
        write_number(out, search_measured(s, t->best));
        fprintf(out, ",%" PRId64 ",%.3f,%" PRIu64, isnan(t->best) ? 0 : search_epoch_of(s, t->best_resource),
                own->seconds, own->seed + (uint64_t)option_int(s->options, OPT_SEED));
        write_objectives(s, front, i, out);
        if (own->number < 0) {
            write_outside(s, own, out);
        } else {
            search_write_values(s, own->values, out);
            fputc(',', out);
            write_cell(out, own->failed);
        }
        fputc('\n', out);
    }
    return file_writer_commit(&writer);
}

weft_status search_write_options(const search_state *s, int trial, const char *path)
{
    weft_options *options = NULL;
    file_writer writer;
    const desk_trial *t = &s->desk.trial[trial];
    WEFT_TRY(search_trial_options(s, SEARCH_NO_FOLDER, t->seed, t->values, &options));
    weft_status status = file_writer_open(path, &writer);
    if (status == WEFT_OK) {
        option_print_config(writer.stream, options);
        status = file_writer_commit(&writer);
    }
    option_destroy(options);
    return status;
}

/* ---- stdout ------------------------------------------------------------------------------------------------------ */

/* A better score than that of the best trial, which did not decide. */
static void tell_passed_over(const search_state *s, int best)
{
    const desk_trial *trial = s->desk.trial;
    const int other = desk_best_score(&s->desk);
    if (other < 0 || facts_of(s, best)->best >= facts_of(s, other)->best) {
        return;
    }
    const size_t bytes = (size_t)s->space.count * sizeof *trial->values;
    const char *why = "means and expected scores of configurations decide, for single scores are noisy";
    if (memcmp(trial[best].values, trial[other].values, bytes) == 0) {
        why = "it is another training of the same configuration";
    } else if (facts_of(s, other)->state != SCHED_COMPLETED) {
        why = "it was not trained to the end";
    }
    printf("trial %d has the better score %.6g: %s\n", other, search_measured(s, facts_of(s, other)->best), why);
}

static weft_status search_print(search_state *s, const search_front *front)
{
    int best = -1;
    searcher_leader leader;
    char text[TEXT_BYTES];
    search_tell(s, true);
    WEFT_TRY(desk_best(&s->desk, &best, &leader));
    printf("%d trials: %s\n", s->desk.trials, say_counts(s, text));
    if (s->desk.spent) {
        printf("the budget is spent: --resume with a larger " FLAG_BUDGET_EPOCHS " or " FLAG_BUDGET_HOURS " goes on\n");
    }
    if (s->seats > 1) {
        printf("ranks were idle for %.1f %% of the time\n", 100.0 * s->idle);
    }
    if (s->fits > s->opened && s->opened > 0) {
        printf("data opened %d times for %d trainings: %.1f s saved\n", s->opened, s->fits,
               s->open_seconds / s->opened * (s->fits - s->opened));
    }
    if (best < 0) {
        printf("no trial has a score\n");
        return WEFT_OK;
    }
    search_print_front(s, front);
    const sched_trial *t = facts_of(s, best);
    search_say_values(s, best, text, sizeof text);
    printf("best: trial %d, %s %.6g at epoch %" PRId64 ": %s\n", best,
           s->objectives.kind[0] == 0 ? "validation score" : objective_name(&s->objectives, 0),
           search_measured(s, t->best), search_epoch_of(s, t->best_resource), text);
    if (leader.runs > 1) {
        printf("its configuration was trained %" PRId64 " times: mean score %.6g\n", leader.runs,
               search_measured(s, -leader.score));
    }
    tell_passed_over(s, best);
    if (s->population) {
        printf("its weights: %s/trial-%04d; settings that trials had, and whose weights: %s/lineage.csv; a page: weft "
               "report %s\n",
               s->folder, best, s->folder, s->folder);
        return WEFT_OK;
    }
    printf("its options: %s/best.toml (weft train --config %s/best.toml); all trials: %s/summary.csv; a page of them: "
           "weft report %s\n",
           s->folder, s->folder, s->folder, s->folder);
    return WEFT_OK;
}

static weft_status write_files(search_state *s, const search_front *front)
{
    char path[FILE_PATH_MAX];
    searcher_leader leader;
    int best = -1;
    WEFT_TRY(desk_best(&s->desk, &best, &leader));
    WEFT_TRY(write_csv(s, front));
    WEFT_TRY(search_write_page(s, front));
    WEFT_TRY(search_write_optuna(s));
    WEFT_TRY(search_write_front(s, front));
    if (s->population) {
        return population_write(s); /* no options of one training stand for settings that changed on the way */
    }
    WEFT_TRY(file_path(path, "%s/best.toml", s->folder));
    return best >= 0 ? search_write_options(s, best, path) : WEFT_OK;
}

weft_status search_write(search_state *s)
{
    search_front front;
    weft_status status = search_find_front(s, &front);
    status = status == WEFT_OK ? write_files(s, &front) : status;
    if (status == WEFT_OK) {
        status = search_print(s, &front);
    }
    weft_free(front.rank);
    return status;
}
