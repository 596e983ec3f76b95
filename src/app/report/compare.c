/*
 * app/report/compare.c: several run folders side by side: their figures, the settings in which they differ, their
 * curves in one drawing.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { FOLDERS_MAX = 32 }; /* that the command line takes */

static void score_cell(report_text *out, double mean, double std)
{
    if (isfinite(std)) {
        text_cell(out, "%s ± %.2f", quantity_percent(mean).text, 100 * std);
    } else {
        text_cell(out, "%s", quantity_percent(mean).text);
    }
}

static void table_of_figures(report_text *out, const run_record *runs, int count)
{
    text_table_begin(
        out, "llrrrrrrrrr",
        "folder|ended|runs|epochs|test|validation|baseline|epoch, median|sent per epoch|peak memory|ranks");
    for (int k = 0; k < count; ++k) {
        const record_figures *f = &runs[k].figures;
        double code = record_number(runs[k].manifest, "exit");
        text_cell_styled(out, (cell_style){.patch = drawing_colour(k)}, runs[k].name);
        text_cell(out, isnan(code) ? "unknown" : code == 0 ? "well" : "with exit code %.0f", code);
        text_cell(out, "%d", f->runs);
        text_cell(out, "%s", quantity_count(f->epochs).text);
        score_cell(out, f->test, f->test_std);
        score_cell(out, f->valid, f->valid_std);
        TEXT_CELLS(out, quantity_percent(f->baseline).text, quantity_seconds(f->epoch_s).text,
                   quantity_bytes(f->bytes_of_rank_0 ? f->epoch_bytes : f->epoch_bytes_all).text,
                   quantity_bytes(f->peak_memory).text, quantity_count(f->ranks).text);
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
    case SET_OPTIONS:
        return record_first(json_find(run->manifest, "options"), JSON_OBJECT);
    case SET_TOP:
        return record_first(run->manifest, JSON_OBJECT);
    case SET_DATA:
        return record_first(record_data(run), JSON_OBJECT);
    case SET_FACTS:
        return record_first(json_find(record_data(run), "facts"), JSON_ARRAY);
    default:
        return record_first(json_find(run->manifest, "versions"), JSON_OBJECT);
    }
}

static const char *key_of(const json_value *member)
{
    return member->key != NULL ? member->key : record_string(member, "key", "");
}

/* The value of a member as text; NULL if it is no scalar. */
static const char *value_of(const json_value *member, quantity *space)
{
    const json_value *value = member->kind == JSON_OBJECT ? json_find(member, "value") : member;
    const bool scalar = value != NULL && value->kind != JSON_ARRAY && value->kind != JSON_OBJECT;
    return scalar ? record_value_text(value, UNIT_COUNT, space) : NULL;
}

/* The value of a folder; "–" if it has none. */
static const char *setting_of(const run_record *run, setting_group group, const char *key, quantity *space)
{
    const json_value *member = members_of(run, group);
    while (member != NULL && strcmp(key_of(member), key) != 0) {
        member = member->next;
    }
    const char *text = member != NULL ? value_of(member, space) : NULL;
    return text != NULL ? text : "–";
}

static void begin_settings(report_text *out, const run_record *runs, int count)
{
    static const char align[] = "lllllllllllllllllllllllllllllllll"; /* FOLDERS_MAX + 1 */
    _Static_assert(sizeof align == FOLDERS_MAX + 2, "one letter per column");
    text_columns_begin(out, align + FOLDERS_MAX - count);
    text_column_name(out, "setting");
    for (int k = 0; k < count; ++k) {
        text_column_name(out, runs[k].name);
    }
    text_columns_end(out);
}

/* What equals the first folder's value is plain, what differs from it is strong. Writes nothing if all are equal. */
static void setting_row(report_text *out, const run_record *runs, int count, setting_group group, const char *key,
                        bool *begun)
{
    quantity space[FOLDERS_MAX];
    const char *value[FOLDERS_MAX];
    bool differs = false;
    for (int k = 0; k < count; ++k) {
        value[k] = setting_of(&runs[k], group, key, &space[k]);
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

/* Returns true if a folder before this one has the key: its row has been written. */
static bool seen_before(const run_record *runs, int folder, setting_group group, const char *key)
{
    for (int k = 0; k < folder; ++k) {
        for (const json_value *m = members_of(&runs[k], group); m != NULL; m = m->next) {
            if (strcmp(key_of(m), key) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void table_of_settings(report_text *out, const run_record *runs, int count)
{
    bool begun = false;
    quantity space;
    text_heading(out, 2, "Settings that differ");
    for (setting_group group = 0; group < SET_GROUPS; ++group) {
        for (int k = 0; k < count; ++k) {
            for (const json_value *m = members_of(&runs[k], group); m != NULL; m = m->next) {
                const char *key = key_of(m);
                const bool shown = !is_housekeeping(key) && value_of(m, &space) != NULL;
                if (shown && !seen_before(runs, k, group, key)) {
                    setting_row(out, runs, count, group, key, &begun);
                }
            }
        }
    }
    if (begun) {
        text_table_end(out);
        text_paragraph(out, "muted", "Emphasised: other than in %s.", runs[0].name);
    } else {
        text_paragraph(out, "muted", "None.");
    }
}

/* ---- curves ---- */

static void overlay(report_text *out, run_record *runs, int count, record_field field, quantity_unit unit,
                    const char *title)
{
    chart c = {.title = title, .unit = unit};
    for (int k = 0; k < count; ++k) {
        const record_curve *curve = record_curve_of(&runs[k], field);
        c.line[c.lines++] = (chart_line){.curve = curve, .name = runs[k].name, .colour = drawing_colour(k)};
    }
    if (!chart_draw(out, &c)) {
        text_paragraph(out, "muted", "%s: no finite value.", title);
    }
}

void section_compare(report_text *out, run_record *runs, int count)
{
    char title[64];
    assert(count <= FOLDERS_MAX);
    table_of_figures(out, runs, count);
    if (out->html) {
        snprintf(title, sizeof title, "Validation %s", runs[0].figures.metric);
        text_html(out, PAIR_BEGIN);
        overlay(out, runs, count, RECORD_LOSS, UNIT_COUNT, "Training loss");
        text_html(out, PAIR_NEXT);
        overlay(out, runs, count, RECORD_VALID, UNIT_PERCENT, title);
        text_html(out, PAIR_END);
    }
    table_of_settings(out, runs, count);
}
