/* app/report/settings.c: which options were given and where, and on what the run ran. */
#include <math.h>
#include <string.h>

#include "app/report/sections.h"

static bool is_default(const json_value *option)
{
    return strcmp(report_string(option, "source", ""), "default") == 0;
}

static void table_of_options(report_text *out, const json_value *options, bool defaults)
{
    text_table_begin(out, defaults ? "ll" : "lll", defaults ? "option|value" : "option|value|from");
    for (const json_value *o = options->child; o != NULL; o = o->next) {
        if (is_default(o) == defaults) {
            text_cell(out, "--%s", o->key);
            text_cell(out, "%s", report_string(o, "value", "(empty)"));
            if (!defaults) {
                text_cell(out, "%s", report_string(o, "source", "unknown"));
            }
        }
    }
    text_table_end(out);
}

/* As it was typed; under a launcher every rank was started with it. */
static void command_line(report_text *out, const report_run *run)
{
    const char *command = report_string(run->manifest, "command", "");
    double ranks = report_number(run->manifest, "ranks");
    if (command[0] == '\0') {
        return;
    }
    text_paragraph(out, "muted", ranks > 1 ? "The command line of each of the %s ranks:" : "The command line:",
                   quantity_count(ranks).text);
    text_code(out, command);
}

static void settings(report_text *out, const report_run *run, const json_value *options)
{
    int given = 0, count = 0;
    for (const json_value *o = options->child; o != NULL; o = o->next) {
        count += 1;
        given += !is_default(o);
    }
    text_heading(out, out->level, "Settings");
    command_line(out, run);
    if (given > 0) {
        table_of_options(out, options, false);
    } else {
        text_paragraph(out, "muted", "Every option has its default.");
    }
    if (count > given) {
        text_fold_begin(out, "Options that kept their defaults", true);
        table_of_options(out, options, true);
        text_fold_end(out);
    }
}

static void fact(report_text *out, const char *name, const char *value)
{
    text_cell(out, "%s", name);
    text_cell(out, "%s", value);
}

static void text_fact(report_text *out, const json_value *object, const char *key, const char *name)
{
    const char *value = report_string(object, key, NULL);
    if (value != NULL) {
        fact(out, name, value);
    }
}

static void count_fact(report_text *out, const json_value *object, const char *key, const char *name)
{
    double value = report_number(object, key);
    if (isfinite(value)) {
        fact(out, name, quantity_count(value).text);
    }
}

/* What the other kind of data has no figures of is left out. */
static void data_facts(report_text *out, const json_value *data, const char *heading)
{
    text_heading(out, out->level, "%s", heading);
    text_table_begin(out, "ll", "fact|value");
    text_fact(out, data, "name", "name");
    count_fact(out, data, "vertices", "vertices");
    count_fact(out, data, "edges", "directed edges");
    count_fact(out, data, "features", "features");
    count_fact(out, data, "train", "training images");
    count_fact(out, data, "valid", "validation images");
    count_fact(out, data, "test", "test images");
    count_fact(out, data, "height", "height");
    count_fact(out, data, "width", "width");
    count_fact(out, data, "channels", "channels");
    count_fact(out, data, "classes", "classes");
    text_fact(out, data, "hash", "hash");
    text_table_end(out);
}

static void machine_facts(report_text *out, const report_run *run, const report_figures *f)
{
    const json_value *versions = json_find(run->manifest, "versions");
    text_heading(out, out->level, "Machine and versions");
    text_table_begin(out, "ll", "fact|value");
    text_fact(out, run->manifest, "host", "host of rank 0");
    text_fact(out, run->manifest, "cpu", "processor");
    fact(out, "nodes", quantity_count(f->nodes).text);
    fact(out, "ranks", quantity_count(f->ranks).text);
    fact(out, "threads per rank", quantity_count(f->threads).text);
    text_fact(out, run->manifest, "placement", "placement");
    text_fact(out, run->manifest, "backend", "backend");
    text_fact(out, run->manifest, "gpu_rows", "rows between GPUs");
    for (const json_value *v = versions != NULL && versions->kind == JSON_OBJECT ? versions->child : NULL; v != NULL;
         v = v->next) {
        if (v->kind == JSON_TEXT) {
            fact(out, v->key, v->text);
        }
    }
    text_table_end(out);
}

/* A job that was resumed: each of its starts. */
static void table_of_starts(report_text *out, const json_value *starts)
{
    text_heading(out, out->level, "Starts");
    text_table_begin(out, "lllrlr", "started|ended|host|ranks|after|exit code");
    for (const json_value *s = starts->child; s != NULL; s = s->next) {
        double run = report_number(s, "after_run"), epoch = report_number(s, "after_epoch");
        text_cell(out, "%s", report_string(s, "started", "–"));
        text_cell(out, "%s", report_string(s, "ended", "–"));
        text_cell(out, "%s", report_string(s, "host", "–"));
        text_cell(out, "%s", quantity_count(report_number(s, "ranks")).text);
        if (epoch > 0) {
            text_cell(out, "run %s, epoch %s", quantity_count(run).text, quantity_count(epoch).text);
        } else {
            text_cell(out, "–");
        }
        text_cell(out, "%s", quantity_count(report_number(s, "exit")).text);
    }
    text_table_end(out);
}

void section_settings(report_text *out, const report_run *run, const report_figures *figures)
{
    const json_value *options = json_find(run->manifest, "options");
    const json_value *data = report_data(run);
    const json_value *starts = json_find(run->manifest, "starts");
    if (options != NULL && options->kind == JSON_OBJECT) {
        settings(out, run, options);
    }
    if (data != NULL) {
        data_facts(out, data, report_images(run) != NULL ? "Images" : "Graph");
    }
    if (starts != NULL && starts->kind == JSON_ARRAY && starts->child != NULL && starts->child->next != NULL) {
        table_of_starts(out, starts);
    }
    if (run->manifest != NULL) {
        machine_facts(out, run, figures);
    }
}
