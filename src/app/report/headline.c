/* app/report/headline.c: what a run was, how it ended, and its figures in large letters. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/report/sections.h"

void section_title(const run_record *run, char *title, size_t bytes)
{
    const char *data = json_string(run->data, "name", "unknown data");
    const char *model = record_option(run, "model");
    snprintf(title, bytes, "%.200s%s%.100s", data, model[0] != '\0' ? " · " : "", model);
}

/* ---- what it was ---- */

static const char *plural(double count)
{
    return count == 1 ? "" : "s";
}

/* What the model is like: its own count of layers, else the options that set its size; and the shape of a row that has
 * one. */
static void add_model(phrase *p, const run_record *run)
{
    static const char *const sides[] = {"height", "width", "channels"};
    const json_value *layers = record_fact(run, "network_layers");
    const char *option = record_option(run, "layers"), *hidden = record_option(run, "hidden");
    quantity space;
    if (layers != NULL) {
        phrase_add(p, "%.20s layers", record_value_text(layers, UNIT_COUNT, &space));
    } else if (record_fact(run, sides[0]) == NULL && option[0] != '\0' && hidden[0] != '\0') {
        phrase_add(p, "%.20s layers, %.20s hidden columns", option, hidden);
    }
    for (int i = 0; i < 3 && record_fact(run, sides[0]) != NULL; ++i) {
        if (i == 0) {
            phrase_add(p, "%s%.60s of ", p->text[0] != '\0' ? ", " : "", record_rows_word(run));
        }
        phrase_add(p, "%s%.20s", i > 0 ? " x " : "", record_value_text(record_fact(run, sides[i]), UNIT_COUNT, &space));
    }
}

static void lead(report_text *out, const run_record *run)
{
    const record_figures *f = &run->figures;
    phrase model = {""}, times = {""};
    if (run->manifest != NULL) {
        add_model(&model, run);
    }
    if (isfinite(f->parameters)) {
        phrase_add(&model, ", %s parameters", quantity_count(f->parameters).text);
    }
    if (run->manifest != NULL) {
        phrase_add(&model, ", on %s rank%s with %s thread%s each", quantity_count(f->ranks).text, plural(f->ranks),
                   quantity_count(f->threads).text, plural(f->threads));
        if (f->nodes > 1) {
            phrase_add(&model, " (%s nodes)", quantity_count(f->nodes).text);
        }
    }
    const char *words = model.text + strspn(model.text, ", "); /* the first pieces may be unknown */
    text_paragraph(out, "lead", "%s; %s epoch%s in %d run%s.", words, quantity_count(f->epochs).text, plural(f->epochs),
                   f->runs, plural(f->runs));
    const char *started = json_string(run->manifest, "started", NULL);
    if (started != NULL) {
        phrase_add(&times, "Started %.40s, ended %.40s; ", started, json_string(run->manifest, "ended", "unknown"));
    }
    if (isfinite(f->seconds)) {
        double startup = json_number(run->summary, "startup_s");
        phrase_add(&times, "%s on the clock", quantity_seconds(f->seconds).text);
        if (isfinite(startup)) {
            phrase_add(&times, ", %s until the first epoch", quantity_seconds(startup).text);
        }
        phrase_add(&times, "; ");
    }
    text_paragraph(out, "muted", "%sfolder %s", times.text, run->folder);
}

/* ---- tiles ---- */

static void tile(report_text *out, const char *name, quantity value, phrase note)
{
    text_html(out, "<div class=\"tile\"><span>%s</span><b>%s</b><span>%s</span></div>\n", name, value.text, note.text);
    if (!out->html) {
        text_cell(out, "%s", name);
        text_cell_styled(out, (cell_style){.strong = true}, value.text);
        text_cell(out, "%s", note.text);
    }
}

static void score_tile(report_text *out, const record_figures *f, const char *split, double mean, double std, phrase at)
{
    phrase note = phrase_of("± %.2f over %d runs, %s", 100 * std, f->runs, at.text);
    tile(out, phrase_of("%s %s", split, f->metric).text, quantity_percent(mean), isfinite(std) ? note : at);
}

static void baseline_tile(report_text *out, const run_record *run)
{
    char class[RECORD_CLASS_BYTES];
    const record_figures *f = &run->figures;
    if (isfinite(f->baseline) && isnan(f->baseline_class)) {
        tile(out, "Baseline", quantity_percent(f->baseline), phrase_of("a guess"));
    } else if (isfinite(f->baseline)) {
        tile(out, "Baseline", quantity_percent(f->baseline),
             phrase_of("class %s, the largest in training: its share of the %s split",
                       record_class(run, f->baseline_class, class), f->baseline_split));
    }
}

static void sent_tile(report_text *out, const record_figures *f)
{
    static const char name[] = "Sent in an epoch";
    if (f->ranks == 1) {
        tile(out, name, quantity_bytes(f->epoch_bytes), phrase_of("one rank has nobody to send to"));
    } else if (f->bytes_of_rank_0) {
        tile(out, name, quantity_bytes(f->epoch_bytes), phrase_of("by rank 0, median"));
    } else {
        tile(out, name, quantity_bytes(f->epoch_bytes_all),
             phrase_of("by all ranks; %s by each, mean", quantity_bytes(f->epoch_bytes).text));
    }
}

static void tiles(report_text *out, const run_record *run)
{
    const record_figures *f = &run->figures;
    const bool chosen = isfinite(f->valid); /* by validation */
    phrase at =
        phrase_of(chosen ? "at the best validation epoch" : "after the last evaluation, as nothing was validated");
    if (isfinite(f->best_epoch)) {
        phrase_add(&at, ", %s of %s", quantity_count(f->best_epoch).text, quantity_count(f->last_epoch).text);
    }
    text_html(out, "<div class=\"tiles\">\n");
    if (!out->html) {
        text_table_begin(out, "lrl", "figure|value|");
    }
    score_tile(out, f, "Test", f->test, f->test_std, at);
    score_tile(out, f, "Validation", f->valid, f->valid_std,
               phrase_of(chosen ? "the best" : "no row of a validation split was scored"));
    baseline_tile(out, run);
    tile(out, "Time of an epoch", quantity_seconds(f->epoch_s),
         phrase_of("median; quartiles %s, %s", quantity_seconds(f->epoch_s_q1).text,
                   quantity_seconds(f->epoch_s_q3).text));
    sent_tile(out, f);
    tile(out, "Peak memory", quantity_bytes(f->peak_memory), phrase_of("of the largest rank"));
    if (!out->html) {
        text_table_end(out);
    }
    text_html(out, "</div>\n");
}

void section_lines(report_text *out, const json_value *array, const char *kind)
{
    for (const json_value *line = json_first(array, JSON_ARRAY); line != NULL; line = line->next) {
        if (line->kind == JSON_TEXT) {
            text_paragraph(out, kind, "%s", line->text);
        }
    }
}

void section_headline(report_text *out, run_record *run)
{
    lead(out, run);
    for (int i = 0; i < run->problems; ++i) {
        text_paragraph(out, "problem", "%s", run->problem[i]);
    }
    if (run->earlier) {
        text_paragraph(
            out, "muted",
            "An earlier version of Weft wrote this folder: facts about its data and their partition are left "
            "out, since they have another form now.");
    }
    section_lines(out, json_find(json_find(run->summary, "outcome"), "warnings"), "warning");
    tiles(out, run);
}
