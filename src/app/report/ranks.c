/* app/report/ranks.c: what the ranks sent each other and waited for, and what each of them holds, sends and needs. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { ROWS_MAX = 64, COLUMNS_MAX = 32 };

void section_cell(report_text *out, double value, quantity_unit unit)
{
    text_cell(out, "%s", quantity_of(value, unit).text);
}

void section_spread(report_text *out, const record_spread *spread, double per, quantity_unit unit)
{
    assert(!(per <= 0));
    section_cell(out, spread->min / per, unit);
    section_cell(out, spread->mean / per, unit);
    section_cell(out, spread->max / per, unit);
}

/* ---- communication ---- */

static void table_of_lanes(report_text *out, run_record *run)
{
    const json_value *sent = json_find(run->per_rank, "sent_bytes");
    const json_value *lane = json_first(sent, JSON_OBJECT);
    if (lane == NULL) {
        return;
    }
    TEXT_TABLE(out, "lrrrr", "sent per rank, whole job", "least", "mean", "most", "messages, mean");
    for (; lane != NULL; lane = lane->next) {
        const record_column bytes = record_numbers(run, sent, lane->key);
        const record_spread spread = record_spread_of(&bytes);
        const double messages =
            strcmp(lane->key, "groups") == 0
                ? json_number(run->summary, "group_sent_messages_avg")
                : json_number(json_find(json_find(run->summary, "lanes"), lane->key), "sent_messages_avg");
        text_cell(out, "%s", lane->key);
        section_spread(out, &spread, 1, UNIT_BYTES);
        section_cell(out, round(messages), UNIT_COUNT);
    }
    text_table_end(out);
}

static void say_waiting(report_text *out, run_record *run)
{
    const double epochs = run->figures.job_epochs;
    const record_column exposed = record_numbers(run, run->per_rank, "comm_exposed_s");
    const record_column shared = record_numbers(run, run->per_rank, "shared_bytes");
    const record_spread e = record_spread_of(&exposed), s = record_spread_of(&shared);
    if (epochs > 0 && isfinite(e.mean)) {
        text_paragraph(out, "",
                       "Exposed communication, for which a rank stands still, evaluation included: %s of an "
                       "epoch (mean over the ranks), %s (most); %s in the whole job (mean).",
                       quantity_seconds(e.mean / epochs).text, quantity_seconds(e.max / epochs).text,
                       quantity_seconds(e.mean).text);
    }
    if (s.max > 0) {
        text_paragraph(out, "",
                       "Through memory that the ranks of a node share, in place of messages: %s per rank "
                       "(mean), %s (most).",
                       quantity_bytes(s.mean).text, quantity_bytes(s.max).text);
    }
}

static void say_sync(report_text *out, const run_record *run)
{
    const char *sync = json_string(run->summary, "sync", record_option(run, "sync"));
    if (strcmp(sync, "allreduce") == 0) {
        text_paragraph(out, "", "Replicas are kept together by allreduce, which is exact.");
    } else if (sync[0] != '\0') {
        text_paragraph(out, "",
                       "Replicas are kept together by %s: density %s, distance between replicas %s, gap %s "
                       "steps, staleness at most %s.",
                       sync, quantity_real(json_number(run->summary, "sync_density")).text,
                       quantity_real(json_number(run->summary, "sync_distance")).text,
                       quantity_real(json_number(run->summary, "sync_gap")).text,
                       quantity_count(json_number(run->summary, "sync_staleness")).text);
    }
}

void section_communication(report_text *out, run_record *run)
{
    if (!(run->figures.ranks > 1)) {
        return;
    }
    text_heading(out, out->level, "Communication");
    say_sync(out, run);
    if (run->rank_count == 0) {
        text_paragraph(out, "muted", "Bytes by lane and waiting time are written when a job ends well.");
        return;
    }
    say_waiting(out, run);
    table_of_lanes(out, run);
}

/* ---- ranks ---- */

typedef struct rank_column {
    const char *key, *label;
    quantity_unit unit;
    bool per_epoch;
    record_column values;
} rank_column;

/* The kind's own columns, which the file names, and those of every kind. Returns their number. */
static int read_columns(run_record *run, rank_column columns[COLUMNS_MAX])
{
    static const rank_column common[] = {{"epoch_sent_bytes", "sent per epoch", UNIT_BYTES, true, {0}},
                                         {"comm_exposed_s", "exposed per epoch", UNIT_SECONDS, true, {0}},
                                         {"peak_rss_bytes", "peak memory", UNIT_BYTES, false, {0}},
                                         {"allocated_peak_bytes", "allocated at most", UNIT_BYTES, false, {0}}};
    const int more = sizeof common / sizeof *common;
    const json_value *own = json_first(json_find(run->per_rank, "columns"), JSON_ARRAY);
    int count = 0;
    for (; own != NULL && count < COLUMNS_MAX - more; own = own->next) {
        const char *key = json_string(own, "key", NULL);
        if (key != NULL) {
            columns[count++] = (rank_column){
                key, json_string(own, "label", key), quantity_unit_named(json_string(own, "unit", "")), false, {0}};
        }
    }
    memcpy(columns + count, common, sizeof common);
    count += more;
    for (int c = 0; c < count; ++c) {
        columns[c].values = record_numbers(run, run->per_rank, columns[c].key);
    }
    return count;
}

static void table_of_ranks(report_text *out, const run_record *run, const rank_column *columns, int count)
{
    int chosen[ROWS_MAX];
    char align[COLUMNS_MAX + 3] = "rl";
    const char *names[COLUMNS_MAX + 2] = {"rank", "host"};
    const int rows = record_rank_choice(run->rank_count, &columns[count - 2].values, ROWS_MAX, chosen);
    const json_value *host = json_first(json_find(run->per_rank, "host"), JSON_ARRAY);
    memset(align + 2, 'r', (size_t)count);
    for (int c = 0; c < count; ++c) {
        names[c + 2] = columns[c].label;
    }
    text_table_named(out, align, names);
    for (int i = 0, at = 0; i < rows; ++i) {
        for (; at < chosen[i]; ++at) {
            host = host != NULL ? host->next : NULL;
        }
        text_cell(out, "%d", chosen[i]);
        text_cell(out, "%s", host != NULL && host->kind == JSON_TEXT ? host->text : "–");
        for (int c = 0; c < count; ++c) {
            const double per = columns[c].per_epoch ? run->figures.job_epochs : 1;
            section_cell(out, record_at(&columns[c].values, chosen[i]) / per, columns[c].unit);
        }
    }
    text_table_end(out);
    if (rows < run->rank_count) {
        text_paragraph(out, "muted", "%d of %d ranks, the one with the largest memory among them.", rows,
                       run->rank_count);
    }
}

void section_ranks(report_text *out, run_record *run)
{
    rank_column columns[COLUMNS_MAX];
    if (run->rank_count == 0) {
        return;
    }
    const int count = read_columns(run, columns);
    text_heading(out, out->level, run->rank_count > 1 ? "Ranks and memory" : "Memory");
    if (out->html) {
        drawing d = {.title = "Peak memory by rank", .unit = UNIT_BYTES, .count = 1};
        d.series[0] = (drawing_series){.name = "peak memory",
                                       .colour = "memory",
                                       .values = record_numbers(run, run->per_rank, columns[count - 2].key)};
        bars_of_ranks(out, run, &d, 1);
    }
    table_of_ranks(out, run, columns, count);
    text_paragraph(out, "muted",
                   "Predicted before training: %s per rank at most. Peak memory is what the system counts; pages "
                   "that were allocated and never written do not count.",
                   quantity_bytes(json_number(run->summary, "predicted_peak_bytes")).text);
}
