/* app/report/settings.c: options that were given, facts of data and results, and the machine of a run. */
#include <string.h>

#include "app/report/sections.h"
#include "base/escape.h"

/* ---- options ---- */

static bool is_default(const json_value *option)
{
    return strcmp(json_string(option, "source", ""), "default") == 0;
}

static void table_of_options(report_text *out, const json_value *option, bool defaults)
{
    TEXT_TABLE(out, defaults ? "ll" : "lll", "option", "value", "from");
    for (; option != NULL; option = option->next) {
        if (is_default(option) == defaults) {
            text_cell(out, "--%s", option->key);
            text_cell(out, "%s", escape_short(json_string(option, "value", "(empty)")).text);
            TEXT_CELLS(out, defaults ? NULL : json_string(option, "source", "unknown"));
        }
    }
    text_table_end(out);
}

/* As it was typed; under a launcher every rank was started with it. */
static void command_line(report_text *out, const run_record *run)
{
    const char *command = json_string(run->manifest, "command", NULL);
    const double ranks = json_number(run->manifest, "ranks");
    if (command != NULL) {
        text_paragraph(out, "muted", ranks > 1 ? "The command line of each of the %s ranks:" : "The command line:",
                       quantity_count(ranks).text);
        text_code(out, command);
    }
}

static void settings(report_text *out, const run_record *run, const json_value *options)
{
    int given = 0, count = 0;
    for (const json_value *o = options->child; o != NULL; o = o->next) {
        count += 1;
        given += !is_default(o);
    }
    text_heading(out, out->level, "Settings");
    command_line(out, run);
    if (given > 0) {
        table_of_options(out, options->child, false);
    } else {
        text_paragraph(out, "muted", "Every option has its default.");
    }
    if (count > given) {
        text_fold_begin(out, true, "Options that kept their defaults", true);
        table_of_options(out, options->child, true);
        text_fold_end(out, true);
    }
}

/* ---- facts ---- */

/* Label, value and unit of a row of facts; with its meaning, where the table has that column. */
static void fact_row(report_text *out, const json_value *row, bool with_meaning)
{
    quantity space;
    const char *unit = json_string(row, "unit", "");
    const bool word = quantity_unit_named(unit) == UNIT_COUNT && unit[0] != '\0'; /* behind the value */
    text_cell(out, "%s", json_string(row, "label", json_string(row, "key", "–")));
    text_cell(out, "%s%s%s", record_value_text(json_find(row, "value"), quantity_unit_named(unit), &space),
              word ? " " : "", word ? unit : "");
    TEXT_CELLS(out, with_meaning ? json_string(row, "meaning", "") : NULL);
}

void section_facts(report_text *out, run_record *run)
{
    const json_value *group = json_first(json_find(run->summary, "facts"), JSON_ARRAY);
    for (; group != NULL; group = group->next) {
        const json_value *row = json_first(json_find(group, "rows"), JSON_ARRAY);
        if (row != NULL) {
            text_heading(out, out->level, "%s", json_string(group, "group", "Facts"));
            TEXT_TABLE(out, "lrl", "figure", "value", "meaning");
            for (; row != NULL; row = row->next) {
                fact_row(out, row, true);
            }
            text_table_end(out);
        }
    }
}

/* A row for a text or number of `object`, if it has one. */
static void fact(report_text *out, const json_value *object, const char *key, const char *name)
{
    quantity space;
    const json_value *value = json_find(object, key);
    if (value != NULL && (value->kind == JSON_TEXT || value->kind == JSON_NUMBER)) {
        TEXT_CELLS(out, name, record_value_text(value, UNIT_COUNT, &space));
    }
}

static void data_facts(report_text *out, const json_value *data)
{
    const char *kind = json_string(data, "kind", "data");
    const bool lower = kind[0] >= 'a' && kind[0] <= 'z';
    const json_value *row = json_first(json_find(data, "facts"), JSON_ARRAY);
    text_heading(out, out->level, "%c%s", lower ? kind[0] - 'a' + 'A' : kind[0], kind + 1);
    TEXT_TABLE(out, "ll", "fact", "value");
    fact(out, data, "name", "name");
    for (; row != NULL; row = row->next) {
        fact_row(out, row, false);
    }
    fact(out, data, "hash", "hash");
    text_table_end(out);
}

static void machine_facts(report_text *out, const run_record *run)
{
    static const char *const rows[][2] = {{"host", "host of rank 0"},
                                          {"cpu", "processor"},
                                          {"nodes", "nodes"},
                                          {"ranks", "ranks"},
                                          {"threads_per_rank", "threads per rank"},
                                          {"placement", "placement"},
                                          {"backend", "backend"},
                                          {"gpu_rows", "rows between GPUs"}};
    const json_value *versions = json_find(run->manifest, "versions");
    text_heading(out, out->level, "Machine and versions");
    TEXT_TABLE(out, "ll", "fact", "value");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        fact(out, run->manifest, rows[i][0], rows[i][1]);
    }
    for (const json_value *v = json_first(versions, JSON_OBJECT); v != NULL; v = v->next) {
        fact(out, versions, v->key, v->key);
    }
    text_table_end(out);
}

static void table_of_starts(report_text *out, const json_value *start)
{
    quantity space[2];
    text_heading(out, out->level, "Starts");
    TEXT_TABLE(out, "lllrlr", "started", "ended", "host", "ranks", "after", "exit code");
    for (; start != NULL; start = start->next) {
        const double run = json_number(start, "after_run"), epoch = json_number(start, "after_epoch");
        const phrase after =
            phrase_of(epoch > 0 ? "run %s, epoch %s" : "–", quantity_count(run).text, quantity_count(epoch).text);
        TEXT_CELLS(out, json_string(start, "started", "–"), json_string(start, "ended", "–"),
                   json_string(start, "host", "–"), record_value_text(json_find(start, "ranks"), UNIT_COUNT, &space[0]),
                   after.text, record_value_text(json_find(start, "exit"), UNIT_COUNT, &space[1]));
    }
    text_table_end(out);
}

void section_settings(report_text *out, run_record *run)
{
    const json_value *options = json_find(run->manifest, "options");
    const json_value *start = json_first(json_find(run->manifest, "starts"), JSON_ARRAY);
    if (options != NULL && options->kind == JSON_OBJECT) {
        settings(out, run, options);
    }
    if (run->data != NULL) {
        data_facts(out, run->data);
    }
    if (start != NULL && start->next != NULL) {
        table_of_starts(out, start);
    }
    if (run->manifest != NULL) {
        machine_facts(out, run);
    }
}
