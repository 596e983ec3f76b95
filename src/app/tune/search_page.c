/* app/tune/search_page.c: search.json, what weft report draws of a search (docs/formats.md). */
#include <inttypes.h>
#include <math.h>

#include "app/facts/fact_list.h"
#include "app/tune/search_front.h"
#include "base/text/append.h"
#include "tune/search/importance.h"

enum { CURVES = 24, AXES = 11, LEADING = 20, TEXT_BYTES = 512 };

/* ---- series ------------------------------------------------------------------------------------------------------ */

void search_begin_drawing(json_writer *json, const char *kind, const char *title, const char *x, const char *y)
{
    json_object(json, NULL);
    json_text(json, "kind", kind);
    json_text(json, "title", title);
    json_text(json, "x", x);
    json_text(json, "y", y);
    json_text(json, "unit", "");
}

void search_end_drawing(json_writer *json)
{
    json_end(json); /* the series */
    json_end(json);
}

static bool is_shown(const search_state *s, int trial, int state)
{
    const sched_trial *t = sched_trial_at(s->desk.sched, trial);
    return s->desk.trial[trial].number >= 0 && !isnan(t->best) && (state < 0 || (int)t->state == state);
}

/* One number a trial that has a score and this state, -1: any. */
static void trial_numbers(const search_state *s, json_writer *json, const char *key, int state,
                          double (*number)(const search_state *s, int trial))
{
    json_array(json, key);
    for (int i = 0; i < s->desk.trials; ++i) {
        if (is_shown(s, i, state)) {
            json_real(json, NULL, number(s, i));
        }
    }
    json_end(json);
}

static double trial_number(const search_state *s, int trial)
{
    (void)s;
    return trial;
}

static double trial_score(const search_state *s, int trial)
{
    return search_measured(s, sched_trial_at(s->desk.sched, trial)->best);
}

/* The best of the trials up to this one. */
static double best_until(const search_state *s, int trial)
{
    double best = -INFINITY;
    for (int i = 0; i <= trial; ++i) {
        best = fmax(best, sched_trial_at(s->desk.sched, i)->best); /* fmax leaves out what is not known */
    }
    return search_measured(s, best);
}

/* ---- drawings ---------------------------------------------------------------------------------------------------- */

static void draw_scores(const search_state *s, json_writer *json)
{
    static const struct {
        int state;
        const char *name;
    } states[] = {{SCHED_COMPLETED, "complete"}, {SCHED_PAUSED, "paused"}, {SCHED_STOPPED, "stopped"}};
    search_begin_drawing(json, "scatter", "Best score of each trial", "trial", "validation score");
    json_array(json, "series");
    for (size_t k = 0; k < sizeof states / sizeof *states; ++k) {
        int count = 0;
        for (int i = 0; i < s->desk.trials; ++i) {
            count += is_shown(s, i, states[k].state);
        }
        if (count == 0) {
            continue;
        }
        json_object(json, NULL);
        json_text(json, "name", states[k].name);
        trial_numbers(s, json, "x", states[k].state, trial_number);
        trial_numbers(s, json, "y", states[k].state, trial_score);
        json_end(json);
    }
    search_end_drawing(json);
}

static void draw_progress(const search_state *s, json_writer *json)
{
    search_begin_drawing(json, "line", "Best score so far", "trial", "validation score");
    json_array(json, "series");
    json_object(json, NULL);
    json_text(json, "name", "best");
    trial_numbers(s, json, "x", -1, trial_number);
    trial_numbers(s, json, "y", -1, best_until);
    json_end(json);
    search_end_drawing(json);
}

/* order: [count] trials, the best first. */
static void draw_curves(const search_state *s, const search_ranked *order, int count, json_writer *json)
{
    char name[32];
    search_begin_drawing(json, "line", "Scores of the leading trials", "epoch", "validation score");
    json_array(json, "series");
    for (int k = 0; k < count && k < CURVES; ++k) {
        (void)snprintf(name, sizeof name, "trial %d", order[k].trial);
        json_object(json, NULL);
        json_text(json, "name", name);
        for (int axis = 0; axis < 2; ++axis) {
            json_array(json, axis == 0 ? "x" : "y");
            for (int i = 0; i < s->desk.scores; ++i) {
                const desk_score *score = &s->desk.score[i];
                if (score->trial == order[k].trial) {
                    json_real(json, NULL, axis == 0 ? (double)score->epoch : search_measured(s, score->value));
                }
            }
            json_end(json);
        }
        json_end(json);
    }
    search_end_drawing(json);
}

static void draw_settings(const search_state *s, json_writer *json)
{
    char name[SPACE_NAME_MAX + 8];
    search_begin_drawing(json, "parallel", "Settings and scores", "", "");
    json_array(json, "series");
    for (int d = 0; d < s->space.count && d < AXES; ++d) {
        const space_dimension *dimension = &s->space.dimension[d];
        const bool logarithmic = dimension->kind == SPACE_LOG || dimension->kind == SPACE_INTEGER_LOG;
        (void)snprintf(name, sizeof name, logarithmic ? "log10 %s" : "%s", dimension->name);
        json_object(json, NULL);
        json_text(json, "name", name);
        json_array(json, "values");
        for (int i = 0; i < s->desk.trials; ++i) {
            if (is_shown(s, i, -1)) {
                const double value = s->desk.trial[i].values[d];
                json_real(json, NULL, logarithmic ? log10(value) : value);
            }
        }
        json_end(json);
        json_end(json);
    }
    json_object(json, NULL);
    json_text(json, "name", "score");
    trial_numbers(s, json, "values", -1, trial_score);
    json_end(json);
    search_end_drawing(json);
}

static weft_status draw_importance(const search_state *s, json_writer *json)
{
    double share[SPACE_DIMENSIONS_MAX];
    WEFT_TRY(searcher_importance(s->desk.searcher, share));
    if (isnan(share[0])) {
        return WEFT_OK;
    }
    search_begin_drawing(json, "bars", "What each setting explains of the score by itself, percent", "", "");
    json_array(json, "names");
    for (int d = 0; d < s->space.count; ++d) {
        json_text(json, NULL, s->space.dimension[d].name);
    }
    json_end(json);
    json_array(json, "series");
    json_object(json, NULL);
    json_text(json, "name", "explained");
    json_array(json, "values");
    for (int d = 0; d < s->space.count; ++d) {
        json_real(json, NULL, 100.0 * share[d]);
    }
    json_end(json);
    json_end(json);
    search_end_drawing(json);
    return WEFT_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void write_facts(const search_state *s, json_writer *json)
{
    fact_list list = {.rows = 0};
    double seconds = 0.0;
    for (int i = 0; i < s->desk.trials; ++i) {
        seconds += s->desk.trial[i].seconds;
    }
    facts_group(&list, "search", "Search");
    facts_text(&list, "searcher", "searcher", "", option_text(s->options, OPT_SEARCHER));
    facts_text(&list, "scheduler", "scheduler", "", option_text(s->options, OPT_SCHEDULER));
    facts_int(&list, "trials", "trials", "", "that have begun", s->desk.trials);
    for (int state = SCHED_PAUSED; state <= SCHED_REMOVED; ++state) {
        const int count = search_count_state(s, (sched_state)state);
        facts_int(&list, search_state_name(state), search_state_name(state), "", "", count);
    }
    if (s->desk.outside > 0) {
        facts_int(&list, "outside", "outside", "", "of an earlier space", s->desk.outside);
    }
    facts_real(&list, "seconds", "time of all trials", "s", "of a group of ranks each", seconds);
    facts_write_groups(&list, json);
}

static void write_trials(const search_state *s, const search_ranked *order, int count, json_writer *json)
{
    char text[TEXT_BYTES];
    json_array(json, "trials");
    for (int k = 0; k < count && k < LEADING; ++k) {
        const sched_trial *t = sched_trial_at(s->desk.sched, order[k].trial);
        search_say_values(s, order[k].trial, text, sizeof text);
        json_object(json, NULL);
        json_int(json, "trial", order[k].trial);
        json_text(json, "state", search_state_name((int)t->state));
        json_real(json, "score", search_measured(s, t->best));
        json_int(json, "epoch", search_epoch_of(s, t->best_resource));
        json_text(json, "settings", text);
        json_end(json);
    }
    json_end(json);
}

weft_status search_write_page(search_state *s, const search_front *front)
{
    char path[FILE_PATH_MAX];
    search_ranked *order = NULL;
    file_writer writer;
    WEFT_TRY(WEFT_NEW(&order, s->desk.trials + 1, WEFT_MEM_GENERAL));
    const int count = search_rank_trials(s, order);
    weft_status status = file_path(path, "%s/search.json", s->folder);
    status = status == WEFT_OK ? file_writer_open(path, &writer) : status;
    if (status == WEFT_OK) {
        json_writer json = json_begin(writer.stream, false);
        json_object(&json, NULL);
        json_text(&json, "format", "weft-search 1");
        json_text(&json, "data", option_text(s->options, OPT_DATA));
        write_facts(s, &json);
        write_trials(s, order, count, &json);
        json_array(&json, "drawings");
        if (count > 0) {
            draw_progress(s, &json);
            draw_scores(s, &json);
            search_draw_front(s, front, &json);
            draw_curves(s, order, count, &json);
            draw_settings(s, &json);
            status = draw_importance(s, &json);
        }
        json_end(&json);
        json_end(&json);
        json_line_end(&json);
        if (status == WEFT_OK) {
            status = file_writer_commit(&writer);
        } else {
            file_writer_discard(&writer);
        }
    }
    weft_free(order);
    return status;
}
