/* app/tune/search_front.c: see app/tune/search_front.h. */
#include "app/tune/search_front.h"

#include <math.h>

#include "tune/search/front.h"

enum { TEXT_BYTES = 512 };

static bool is_complete(const search_state *s, int trial)
{
    const sched_trial *t = sched_trial_at(s->desk.sched, trial);
    return s->desk.trial[trial].number >= 0 && t->state == SCHED_COMPLETED && !isnan(t->best);
}

weft_status search_find_front(const search_state *s, search_front *front)
{
    const int trials = s->desk.trials, n = s->objectives.count;
    double *points = NULL;
    int *rank = NULL, count = 0;
    weft_status status = WEFT_OK;
    *front = (search_front){.rank = NULL};
    if (n == 1) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&points, (size_t)(trials + 1) * (size_t)n, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&rank, trials + 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&front->rank, trials + 1, WEFT_MEM_GENERAL), status, done);
    for (int i = 0; i < trials; ++i) {
        for (int k = 0; k < n && is_complete(s, i); ++k) {
            points[count * n + k] = -s->desk.trial[i].at_best[k];
        }
        count += is_complete(s, i);
    }
    front_ranks(points, count, n, rank);
    count = 0;
    for (int i = 0; i < trials; ++i) {
        front->rank[i] = is_complete(s, i) ? rank[count++] : -1;
        front->count += front->rank[i] == 0;
    }
done:
    WEFT_FREE_ALL(points, rank);
    return status;
}

weft_status search_write_front(const search_state *s, const search_front *front)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    if (front->rank == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/front", s->folder));
    WEFT_TRY(file_exists(path) ? folder_remove(path) : WEFT_OK);
    WEFT_TRY(folder_make(path));
    for (int i = 0; i < s->desk.trials && status == WEFT_OK; ++i) {
        if (front->rank[i] == 0) {
            status = file_path(path, "%s/front/trial-%04d.toml", s->folder, i);
            status = status == WEFT_OK ? search_write_options(s, i, path) : status;
        }
    }
    return status;
}

void search_print_front(const search_state *s, const search_front *front)
{
    char text[TEXT_BYTES];
    if (front->rank == NULL) {
        return;
    }
    printf("front: %d trials, of those trained to the end, that no other beats; their options: %s/front\n",
           front->count, s->folder);
    for (int i = 0; i < s->desk.trials; ++i) {
        if (front->rank[i] != 0) {
            continue;
        }
        search_say_values(s, i, text, sizeof text);
        printf("  trial %d:", i);
        for (int k = 0; k < s->objectives.count; ++k) {
            printf("%s %s %.6g", k > 0 ? "," : "", objective_name(&s->objectives, k), search_figure(s, i, k));
        }
        printf("; %s\n", text);
    }
}

/* ---- drawings ---------------------------------------------------------------------------------------------------- */

static void draw_figures(const search_state *s, const search_front *front, bool best, int k, const char *key,
                         json_writer *json)
{
    json_array(json, key);
    for (int i = 0; i < s->desk.trials; ++i) {
        if (front->rank[i] >= 0 && (front->rank[i] == 0) == best && isfinite(search_figure(s, i, k))) {
            json_real(json, NULL, search_figure(s, i, k));
        }
    }
    json_end(json);
}

static bool has_rank(const search_state *s, const search_front *front, bool best)
{
    for (int i = 0; i < s->desk.trials; ++i) {
        if (front->rank[i] >= 0 && (front->rank[i] == 0) == best) {
            return true;
        }
    }
    return false;
}

void search_draw_front(const search_state *s, const search_front *front, json_writer *json)
{
    char title[128];
    for (int k = 1; k < s->objectives.count && front->count > 0; ++k) {
        (void)snprintf(title, sizeof title, "Trials by %s and %s", objective_name(&s->objectives, 0),
                       objective_name(&s->objectives, k));
        search_begin_drawing(json, "scatter", title, objective_name(&s->objectives, k),
                             objective_name(&s->objectives, 0));
        json_array(json, "series");
        for (int best = 1; best >= 0; --best) {
            if (has_rank(s, front, best != 0)) {
                json_object(json, NULL);
                json_text(json, "name", best != 0 ? "no other beats it" : "others");
                draw_figures(s, front, best != 0, k, "x", json);
                draw_figures(s, front, best != 0, 0, "y", json);
                json_end(json);
            }
        }
        search_end_drawing(json);
    }
}
