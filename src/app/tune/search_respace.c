/*
 * app/tune/search_respace.c: a search goes on in another space (weft tune --resume --force).
 *
 * The journal says its space as the text of its file. All lines are written once more into a new journal, in which
 * settings are values of the new space. A trial that has a setting which the new space has not, or a value outside of
 * it, keeps its number, its results and, as text, its settings, is marked `outside`, and neither the searcher nor the
 * choice of the best hears of it. Only then the new journal takes the old one's place, so that a program that is
 * killed on the way has changed nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "app/tune/search_desk_internal.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text/append.h"
#include "tune/space/space_read.h"
#include "tune/space/space_rules.h"

enum {
    TEXT_MOST = JOURNAL_LINE_MOST / 8, /* every byte may take six in JSON */
    SETTING_MOST = SPACE_NAME_MAX + SPACE_TEXT_MAX + 2,
    COPIES_MOST = 1000
};

weft_status desk_log_space(journal *j, const char *rest, const char *text)
{
    json_writer *json;
    if (strlen(text) > TEXT_MOST) {
        return WEFT_OK; /* such a space cannot be changed later, which --force says */
    }
    WEFT_TRY(journal_begin(j, "space", &json));
    json_text(json, "rest", rest);
    json_text(json, "text", text);
    return journal_end(j);
}

typedef struct respace {
    const char *rest;       /* digest of the options beside the space */
    const search_space *to; /* the new space */
    search_space from;
    bool told; /* the journal says its space */
    journal *out;
    int kept, outside;
} respace;

/* ---- the space of the journal ------------------------------------------------------------------------------------ */

static weft_status look(void *self, const journal_line *line)
{
    respace *r = self;
    const char *rest = NULL, *text = NULL;
    char *others = NULL;
    if (r->told || strcmp(line->event, "space") != 0) {
        return WEFT_OK;
    }
    WEFT_TRY(json_get_text(line->where, line->object, "rest", &rest));
    WEFT_TRY(json_get_text(line->where, line->object, "text", &text));
    WEFT_CHECK(
        strcmp(rest, r->rest) == 0, WEFT_ERR_USAGE,
        "%s: other options than [space] are not those with which the search began, and --force changes the space "
        "alone: give the same, or begin a new search",
        line->where);
    const weft_status status = space_read(line->where, text, strlen(text), &r->from, &others);
    weft_free(others);
    r->told = true;
    return status == WEFT_ERR_USAGE ? weft_fail_context(WEFT_ERR_DATA, "the space of the journal: ") : status;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The value of a dimension that stands for `text`; NaN: it has none. */
static double value_of(const space_dimension *d, const char *text)
{
    double value = (double)NAN;
    for (int c = 0; d->kind == SPACE_CHOICE && c < d->choices; ++c) {
        if (strcmp(d->choice[c], text) == 0) {
            return c;
        }
    }
    if (d->kind == SPACE_CHOICE || !number_parse_real(text, &value)) {
        return (double)NAN;
    }
    const bool inside = value >= d->low && value <= d->high && (!space_is_whole(d) || floor(value) == value);
    return inside ? value : (double)NAN;
}

/* One dimension of a trial whose parents above have values already. */
static double translate(const respace *r, int k, const double *from, double *to)
{
    const space_dimension *d = &r->to->dimension[k];
    char text[SPACE_TEXT_MAX];
    to[k] = d->low;
    if (!space_is_active(r->to, to, k)) {
        return d->low; /* whatever it is: space_settle says it */
    }
    const int old = space_find(&r->from, d->name);
    if (old < 0 || isnan(from[old]) || !space_is_active(&r->from, from, old)) {
        return (double)NAN;
    }
    return value_of(d, space_value_text(&r->from.dimension[old], from[old], text));
}

/* Returns true if the trial is one of the new space, too. */
static bool translate_all(const respace *r, const double *from, double *to)
{
    bool inside = true;
    for (int k = 0; k < r->from.count; ++k) {
        inside = inside && !isnan(from[k]);
    }
    for (int k = 0; k < r->to->count; ++k) {
        to[k] = inside ? translate(r, k, from, to) : (double)NAN;
        inside = inside && !isnan(to[k]);
    }
    for (int k = 0; inside && k < r->from.count; ++k) {
        inside = space_find(r->to, r->from.dimension[k].name) >= 0 || !space_is_active(&r->from, from, k);
    }
    if (inside) {
        space_settle(r->to, to);
    }
    return inside && space_allows(r->to, to);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void copy_member(json_writer *json, const json_value *v)
{
    switch (v->kind) {
    case JSON_NULL:
        json_null(json, v->key);
        break;
    case JSON_BOOL:
        json_bool(json, v->key, v->boolean);
        break;
    case JSON_NUMBER:
        if (v->integral) {
            json_int(json, v->key, v->integer);
        } else {
            json_real(json, v->key, v->number);
        }
        break;
    case JSON_TEXT:
        json_text(json, v->key, v->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT: /* the journal has none within a line */
        json_array(json, v->key);
        for (const json_value *item = v->child; item != NULL; item = item->next) {
            copy_member(json, item);
        }
        json_end(json);
        break;
    }
}

static void write_value(json_writer *json, double value)
{
    if (isnan(value)) {
        json_null(json, NULL);
    } else {
        json_real(json, NULL, value);
    }
}

/* The settings of a trial that is outside from now on. */
static void write_settings(const respace *r, const double *from, json_writer *json)
{
    char text[SPACE_DIMENSIONS_MAX * SETTING_MOST] = "", value[SPACE_TEXT_MAX];
    for (int k = 0; k < r->from.count; ++k) {
        const space_dimension *d = &r->from.dimension[k];
        if (space_is_active(&r->from, from, k)) {
            text_append(text, sizeof text, "%s=%s\n", d->name, space_value_text(d, from[k], value));
        }
    }
    json_text(json, "settings", text);
}

static void move_values(respace *r, const json_value *list, bool was_outside, json_writer *json)
{
    double from[SPACE_DIMENSIONS_MAX], to[SPACE_DIMENSIONS_MAX];
    const json_value *v = list->child;
    for (int k = 0; k < r->from.count; ++k) {
        from[k] = v != NULL && v->kind == JSON_NUMBER && !was_outside ? v->number : (double)NAN;
        v = v != NULL ? v->next : NULL;
    }
    const bool inside = translate_all(r, from, to);
    json_array(json, "values");
    for (int k = 0; k < r->to->count; ++k) {
        write_value(json, to[k]);
    }
    json_end(json);
    if (!inside) {
        json_bool(json, "outside", true);
    }
    if (!inside && !was_outside) {
        write_settings(r, from, json);
    }
    r->kept += inside;
    r->outside += !inside;
}

static weft_status move(void *self, const journal_line *line)
{
    respace *r = self;
    json_writer *json;
    const bool was_outside = json_find(line->object, "outside") != NULL;
    if (strcmp(line->event, "space") == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(journal_begin(r->out, line->event, &json));
    for (const json_value *v = line->object->child; v != NULL; v = v->next) {
        const bool own = strcmp(v->key, "seq") == 0 || strcmp(v->key, "event") == 0 || strcmp(v->key, "sum") == 0 ||
                         strcmp(v->key, "outside") == 0;
        if (strcmp(v->key, "values") == 0) {
            move_values(r, v, was_outside, json);
        } else if (!own) {
            copy_member(json, v);
        }
    }
    return journal_end(r->out);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static weft_status write_new(respace *r, const char *path, const char *made, const char *name, const char *text)
{
    const journal_reader reader = {.visit = move, .self = r};
    journal_facts facts;
    (void)unlink(made); /* of a program that was killed here */
    WEFT_TRY(journal_create(made, name, &r->out));
    WEFT_TRY(desk_log_space(r->out, r->rest, text));
    WEFT_TRY(journal_read(path, &reader, &facts));
    return journal_commit(r->out);
}

/* The old journal keeps its bytes under a name of its own. */
static weft_status replace(const char *path, const char *made, const char *folder)
{
    char aside[FILE_PATH_MAX];
    int number = 1;
    do {
        WEFT_TRY(file_path(aside, "%s/trials-before-%d.jsonl", folder, number));
    } while (file_exists(aside) && ++number < COPIES_MOST);
    WEFT_CHECK(link(path, aside) == 0 && rename(made, path) == 0, WEFT_ERR_IO,
               "%s: cannot be kept as %s while the search changes its space: free that name", path, aside);
    return file_sync_parent(path);
}

weft_status desk_respace(const search_desk *d, const char *path, const char *name, const char *rest, const char *text)
{
    respace r = {.rest = rest, .to = d->space};
    const journal_reader reader = {.visit = look, .self = &r};
    journal_facts facts;
    char made[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    WEFT_TRY(file_path(made, "%s.new", path));
    if (!file_exists(path)) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(journal_read(path, &reader, &facts), status, done);
    if (facts.lines == 0 || strcmp(facts.space, name) == 0) {
        goto done;
    }
    WEFT_CHECK_GOTO(r.told, status, done, WEFT_ERR_USAGE,
                    "%s: does not say its space, which is too long or of an older version of the program, so --force "
                    "cannot change it: begin a new search",
                    path);
    WEFT_CHECK_GOTO(!desk_is_population(d), status, done, WEFT_ERR_USAGE,
                    "--force: " FLAG_SCHEDULER " pbt has one space from its beginning, as settings went on from one "
                    "trial to another: begin a new search");
    WEFT_TRY_GOTO(write_new(&r, path, made, name, text), status, done);
    WEFT_TRY_GOTO(replace(path, made, d->folder), status, done);
    log_warn("the search has another space from now on (--force): %d trials are of it, %d are outside and stay as "
             "history",
             r.kept, r.outside);
done:
    journal_close(r.out);
    space_free(&r.from);
    return status;
}
