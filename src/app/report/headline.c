/* app/report/headline.c: what a run was, how it ended, and its figures in large letters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/sections.h"

void section_title(const run_record *run, char *title, size_t bytes)
{
    if (run->search) {
        snprintf(title, bytes, "search · %.200s", json_string(run->summary, "data", "unknown data"));
        return;
    }
    const char *data = json_string(run->data, "name", "unknown data");
    const char *model = record_option(run, "model");
    snprintf(title, bytes, "%.200s%s%.100s", data, model[0] != '\0' ? " · " : "", model);
}

/* ---- what it was ---- */

/* ", 3 ranks" in a phrase; a count that is 1 has no s. */
static void add_count(phrase *p, const char *before, double count, const char *noun)
{
    phrase_add(p, "%s%s %s%s", before, quantity_count(count).text, noun, count == 1 ? "" : "s");
}

/* What the model is like: its own count of layers, else the options that set its size; and the shape of a row that has
 * one. */
static void add_model(phrase *p, const run_record *run)
{
    static const char *const sides[] = {"height", "width", "channels"};
    const json_value *layers = record_fact(run, "network_layers");
    const bool shaped = record_fact(run, sides[0]) != NULL;
    const char *option = record_option(run, "layers"), *hidden = record_option(run, "hidden");
    quantity space;
    if (layers != NULL) {
        phrase_add(p, "%.20s layers", record_value_text(layers, UNIT_COUNT, &space));
    } else if (!shaped && option[0] != '\0' && hidden[0] != '\0') {
        phrase_add(p, "%.20s layers, %.20s hidden columns", option, hidden);
    }
    if (shaped) {
        phrase_add(p, "%s%.60s of ", p->text[0] != '\0' ? ", " : "", record_rows_word(run));
    }
    for (int i = 0; i < 3 && shaped; ++i) {
        phrase_add(p, "%s%.20s", i > 0 ? " x " : "", record_value_text(record_fact(run, sides[i]), UNIT_COUNT, &space));
    }
}

static phrase model_of(const run_record *run)
{
    const record_figures *f = &run->figures;
    phrase model = {""};
    if (run->manifest != NULL) {
        add_model(&model, run);
    }
    if (isfinite(f->parameters)) {
        phrase_add(&model, ", %s parameters", quantity_count(f->parameters).text);
    }
    if (run->manifest != NULL) {
        add_count(&model, ", on ", f->ranks, "rank");
        add_count(&model, " with ", f->threads, "thread");
        phrase_add(&model, " each");
    }
    if (run->manifest != NULL && f->nodes > 1) {
        phrase_add(&model, " (%s nodes)", quantity_count(f->nodes).text);
    }
    add_count(&model, "; ", f->epochs, "epoch");
    phrase_add(&model, " in %d run%s.", f->runs, f->runs == 1 ? "" : "s");
    return model;
}

static void lead(report_text *out, const run_record *run)
{
    const double seconds = run->figures.seconds, startup = json_number(run->summary, "startup_s");
    const char *started = json_string(run->manifest, "started", NULL);
    const phrase model = model_of(run);
    phrase times = {""};
    text_paragraph(out, "lead", "%s", model.text + strspn(model.text, ", ")); /* the first pieces may be unknown */
    if (started != NULL) {
        phrase_add(&times, "Started %.40s, ended %.40s; ", started, json_string(run->manifest, "ended", "unknown"));
    }
    if (isfinite(seconds)) {
        phrase_add(&times, "%s on the clock", quantity_seconds(seconds).text);
        phrase_add(&times, isfinite(startup) ? ", %s until the first epoch; " : "; ", quantity_seconds(startup).text);
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
    const phrase note = phrase_of("± %s over %d runs, %s", quantity_spread(std, f->score_unit).text, f->runs, at.text);
    tile(out, phrase_of("%s %s", split, f->metric).text, quantity_of(mean, f->score_unit), isfinite(std) ? note : at);
}

static void baseline_tile(report_text *out, const run_record *run)
{
    char class[RECORD_CLASS_BYTES];
    const record_figures *f = &run->figures;
    if (isfinite(f->baseline)) {
        tile(out, "Baseline", quantity_percent(f->baseline),
             isnan(f->baseline_class) ? phrase_of("a guess")
                                      : phrase_of("class %s, the largest in training: its share of the %s split",
                                                  record_class(run, f->baseline_class, class), f->baseline_split));
    }
}

static void sent_tile(report_text *out, const record_figures *f)
{
    const bool all = f->ranks != 1 && !f->bytes_of_rank_0;
    tile(out, "Sent in an epoch", quantity_bytes(all ? f->epoch_bytes_all : f->epoch_bytes),
         f->ranks == 1 ? phrase_of("one rank has nobody to send to")
         : all         ? phrase_of("by all ranks; %s by each, mean", quantity_bytes(f->epoch_bytes).text)
                       : phrase_of("by rank 0, median"));
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
        TEXT_TABLE(out, "lrl", "figure", "value", "");
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
