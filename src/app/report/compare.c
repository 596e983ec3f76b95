/*
 * app/report/compare.c: several run folders side by side: their figures, the settings in which they differ, their
 * curves in one drawing.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum {
    FOLDERS_MAX = 32,   /* as the command line takes */
    SETTINGS_MAX = 1000 /* of a group and folder that are compared: a file from elsewhere may have any number */
};

static void score_cell(report_text *out, const record_figures *f, double mean, double std)
{
    const quantity score = quantity_of(mean, f->score_unit);
    text_cell(out, isfinite(std) ? "%s ± %s" : "%s", score.text, quantity_spread(std, f->score_unit).text);
}

static void table_of_figures(report_text *out, const run_record *runs, int count)
{
    TEXT_TABLE(out, "llrrrrrrrrr", "folder", "ended", "runs", "epochs", "test", "validation", "baseline",
               "epoch, median", "sent per epoch", "peak memory", "ranks");
    for (int k = 0; k < count; ++k) {
        const record_figures *f = &runs[k].figures;
        double code = json_number(runs[k].manifest, "exit");
        text_cell_styled(out, (cell_style){.patch = drawing_colour(k)}, runs[k].name);
        text_cell(out, isnan(code) ? "unknown" : code == 0 ? "well" : "with exit code %.0f", code);
        text_cell(out, "%d", f->runs);
        section_cell(out, f->epochs, UNIT_COUNT);
        score_cell(out, f, f->test, f->test_std);
        score_cell(out, f, f->valid, f->valid_std);
        section_cell(out, f->baseline, UNIT_PERCENT);
        section_cell(out, f->epoch_s, UNIT_SECONDS);
        section_cell(out, f->bytes_of_rank_0 ? f->epoch_bytes : f->epoch_bytes_all, UNIT_BYTES);
        section_cell(out, f->peak_memory, UNIT_BYTES);
        section_cell(out, f->ranks, UNIT_COUNT);
    }
    text_table_end(out);
    for (int k = 0; k < count; ++k) {
        if (runs[k].figures.bytes_of_rank_0 && runs[k].figures.ranks > 1) {
            text_paragraph(out, "muted", "%s: the bytes of an epoch are those of rank 0.", runs[k].name);
        }
    }
}

/* ---- settings that differ ---- */

/* Names of places, of output and of moments differ always, and change no result but its last bits. */
static bool is_housekeeping(const char *key)
{
    static const char *const names[] = {"run-dir", "choices",      "force",   "quiet", "verbose", "help",
                                        "version", "print-config", "config",  "trace", "dry-run", "tensorboard",
                                        "schema",  "command",      "started", "ended", "exit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strcmp(key, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Where run.json has settings: as its own texts and numbers, in objects, and in rows of facts. */
typedef enum setting_group { SET_OPTIONS, SET_TOP, SET_DATA, SET_FACTS, SET_VERSIONS, SET_GROUPS } setting_group;

static const json_value *members_of(const run_record *run, setting_group group)
{
    switch (group) {
    case SET_TOP:
        return json_first(run->manifest, JSON_OBJECT);
    case SET_DATA:
        return json_first(run->data, JSON_OBJECT);
    case SET_FACTS:
        return json_first(json_find(run->data, "facts"), JSON_ARRAY);
    default:
        return json_first(json_find(run->manifest, group == SET_OPTIONS ? "options" : "versions"), JSON_OBJECT);
    }
}

static const char *key_of(const json_value *member)
{
    return member->key != NULL ? member->key : json_string(member, "key", "");
}

/* The value of a member as text; NULL if it is no scalar. */
static const char *value_of(const json_value *member, quantity *space)
{
    const json_value *value = member != NULL && member->kind == JSON_OBJECT ? json_find(member, "value") : member;
    const bool scalar = value != NULL && value->kind != JSON_ARRAY && value->kind != JSON_OBJECT;
    return scalar ? record_value_text(value, UNIT_COUNT, space) : NULL;
}

static const json_value *member_of(const run_record *run, setting_group group, const char *key)
{
    const json_value *member = members_of(run, group);
    while (member != NULL && strcmp(key_of(member), key) != 0) {
        member = member->next;
    }
    return member;
}

static void begin_settings(report_text *out, const run_record *runs, int count)
{
    static const char align[] = "lllllllllllllllllllllllllllllllll"; /* FOLDERS_MAX + 1 */
    _Static_assert(sizeof align == FOLDERS_MAX + 2, "one letter per column");
    const char *names[FOLDERS_MAX + 1] = {"setting"};
    for (int k = 0; k < count; ++k) {
        names[k + 1] = runs[k].name;
    }
    text_table_named(out, align + FOLDERS_MAX - count, names);
}

/* What equals the first folder's value is plain, what differs from it is strong. Writes nothing if all are equal. */
static void setting_row(report_text *out, const run_record *runs, int count, setting_group group, const char *key,
                        bool *begun)
{
    quantity space[FOLDERS_MAX];
    const char *value[FOLDERS_MAX];
    bool differs = false;
    for (int k = 0; k < count; ++k) {
        value[k] = value_of(member_of(&runs[k], group, key), &space[k]);
        value[k] = value[k] != NULL ? value[k] : "–";
        differs = differs || strcmp(value[0], value[k]) != 0;
    }
    if (!differs) {
        return;
    }
    if (!*begun) {
        begin_settings(out, runs, count);
    }
    *begun = true;
    text_cell(out, group == SET_OPTIONS ? "--%s" : "%s", key);
    for (int k = 0; k < count; ++k) {
        text_cell_styled(out, (cell_style){.strong = strcmp(value[0], value[k]) != 0},
                         value[k][0] != '\0' ? value[k] : "(empty)");
    }
}

/* A row for each setting that this folder has and that no folder before it had. Returns false if it has too many. */
static bool rows_of_folder(report_text *out, const run_record *runs, int count, int folder, setting_group group,
                           bool *begun)
{
    quantity space;
    const json_value *m = members_of(&runs[folder], group);
    for (int seen = 0; m != NULL && seen < SETTINGS_MAX; m = m->next, ++seen) {
        bool fresh = !is_housekeeping(key_of(m)) && value_of(m, &space) != NULL;
        for (int k = 0; k < folder && fresh; ++k) {
            fresh = member_of(&runs[k], group, key_of(m)) == NULL;
        }
        if (fresh) {
            setting_row(out, runs, count, group, key_of(m), begun);
        }
    }
    return m == NULL;
}

static void table_of_settings(report_text *out, const run_record *runs, int count)
{
    bool begun = false, all = true;
    text_heading(out, 2, "Settings that differ");
    for (int i = 0; i < SET_GROUPS * count; ++i) {
        all = rows_of_folder(out, runs, count, i % count, (setting_group)(i / count), &begun) && all;
    }
    if (begun) {
        text_table_end(out);
        text_paragraph(out, "muted", "Emphasised: other than in %s.", runs[0].name);
    } else {
        text_paragraph(out, "muted", "None.");
    }
    if (!all) {
        text_paragraph(out, "problem", "Of a folder's options, facts or versions the first %d are compared.",
                       SETTINGS_MAX);
    }
}

/* ---- curves ---- */

static void overlay(report_text *out, run_record *runs, int count, record_field field, quantity_unit unit,
                    const char *title)
{
    drawing d = {.title = title, .unit = unit};
    for (int k = 0; k < count; ++k) {
        drawing_add_line(&d, record_curve_of(&runs[k], field), runs[k].name, drawing_colour(k), false);
    }
    if (!lines_draw(out, runs, &d)) {
        text_paragraph(out, "muted", "%s: no finite value.", title);
    }
}

void section_compare(report_text *out, run_record *runs, int count)
{
    assert(count <= FOLDERS_MAX);
    table_of_figures(out, runs, count);
    if (out->html) {
        text_html(out, PAIR_BEGIN);
        overlay(out, runs, count, RECORD_LOSS, UNIT_COUNT, "Training loss");
        text_html(out, PAIR_NEXT);
        overlay(out, runs, count, RECORD_VALID, UNIT_PERCENT, phrase_of("Validation %s", runs[0].figures.metric).text);
        text_html(out, PAIR_END);
    }
    table_of_settings(out, runs, count);
}
