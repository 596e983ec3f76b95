/* app/report/ranks.c: how the graph is divided, and what each rank holds, sends and needs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/chart.h"
#include "app/report/sections.h"
#include "base/alloc.h"

enum { ROWS_MAX = 64, BARS_MAX = 256 };

typedef enum column_id { OWNED, HELD, HALO, EDGES, SENT, EXPOSED, PEAK, ALLOCATED, COLUMNS } column_id;

static const char *const column_keys[COLUMNS] = {"owned_vertices", "held_vertices",       "halo_vertices",
                                                 "edges",          "epoch_sent_bytes",    "comm_exposed_s",
                                                 "peak_rss_bytes", "allocated_peak_bytes"};

typedef struct rank_table {
    double *column[COLUMNS];
    const char **host; /* [ranks], NULL where there is none */
    int ranks;
    bool images; /* a rank has a share of those, and neither replicas nor edges: OWNED alone is there */
} rank_table;

static void rank_table_free(rank_table *t)
{
    for (int c = 0; c < COLUMNS; ++c) {
        weft_free(t->column[c]);
    }
    weft_free((void *)t->host);
}

static weft_status rank_table_read(const report_run *run, rank_table *t)
{
    const json_value *per_rank = report_per_rank(run);
    *t = (rank_table){.ranks = report_rank_count(run), .images = report_images(run) != NULL};
    weft_status status = WEFT_OK;
    for (int c = 0; c < COLUMNS; ++c) {
        WEFT_TRY_GOTO(report_rank_column(per_rank, t->images && c == OWNED ? "train_images" : column_keys[c], t->ranks,
                                         &t->column[c]),
                      status, done);
    }
    WEFT_TRY_GOTO(weft_calloc((size_t)t->ranks, sizeof *t->host, WEFT_MEM_GENERAL, (void **)&t->host), status, done);
    const json_value *hosts = json_find(per_rank, "host");
    const json_value *host = hosts != NULL && hosts->kind == JSON_ARRAY ? hosts->child : NULL;
    for (int r = 0; r < t->ranks && host != NULL; ++r, host = host->next) {
        t->host[r] = host->kind == JSON_TEXT ? host->text : NULL;
    }
done:
    if (status != WEFT_OK) {
        rank_table_free(t);
    }
    return status;
}

static double cell(const rank_table *t, column_id c, int rank)
{
    return t->column[c] != NULL ? t->column[c][rank] : NAN;
}

/* ---- partition ---- */

static void quality_row(report_text *out, const char *name, const char *value, const char *meaning)
{
    text_cell(out, "%s", name);
    text_cell(out, "%s", value);
    text_cell(out, "%s", meaning);
}

static void share_row(report_text *out, const char *name, double count, double of, const char *meaning)
{
    char value[96];
    snprintf(value, sizeof value, "%s (%s)", quantity_count(count).text, quantity_percent(count / of).text);
    quality_row(out, name, value, meaning);
}

static void partition_quality(report_text *out, const report_run *run)
{
    const json_value *p = json_find(run->summary, "partition");
    const json_value *graph = json_find(run->manifest, "graph");
    if (p == NULL) {
        text_paragraph(out, "muted", "The partition's quality is written when a job ends well.");
        return;
    }
    text_heading(out, out->level, "Partition: %s", report_option(run, "partition"));
    text_table_begin(out, "lrl", "figure|value|meaning");
    quality_row(out, "replication factor", quantity_real(report_number(p, "replication_factor")).text,
                "ranks that hold a vertex, mean");
    quality_row(out, "edge balance", quantity_real(report_number(p, "edge_balance")).text,
                "edges of the largest part over the mean");
    quality_row(out, "vertex balance", quantity_real(report_number(p, "vertex_balance")).text,
                "vertices held by the largest part over the mean");
    quality_row(out, "root balance", quantity_real(report_number(p, "root_balance")).text,
                "vertices computed by the largest part over the mean");
    quality_row(out, "rows per layer", quantity_count(report_number(p, "rows_per_layer")).text,
                "sent forward by all ranks, and as many back");
    share_row(out, "split vertices", report_number(p, "split_vertices"), report_number(graph, "vertices"),
              "held by more than one rank");
    share_row(out, "cut edges", report_number(p, "cut_edges"), report_number(graph, "edges"),
              "whose ends are computed by different ranks");
    text_table_end(out);
}

/* ---- ranks ---- */

static void table_of_ranks(report_text *out, const rank_table *t, double epochs)
{
    int chosen[ROWS_MAX];
    int rows = report_rank_choice(t->ranks, t->column[PEAK], ROWS_MAX, chosen);
    text_table_begin(out, t->images ? "rlrrrrr" : "rlrrrrrrr",
                     t->images
                         ? "rank|host|training images|sent per epoch|exposed per epoch|peak memory|allocated at most"
                         : "rank|host|vertices computed|replicas|edges|sent per epoch|exposed per epoch|"
                           "peak memory|allocated at most");
    for (int i = 0; i < rows; ++i) {
        int r = chosen[i];
        text_cell(out, "%d", r);
        text_cell(out, "%s", t->host[r] != NULL ? t->host[r] : "–");
        text_cell(out, "%s", quantity_count(cell(t, OWNED, r)).text);
        if (!t->images) {
            text_cell(out, "%s", quantity_count(cell(t, HALO, r)).text);
            text_cell(out, "%s", quantity_count(cell(t, EDGES, r)).text);
        }
        text_cell(out, "%s", quantity_bytes(cell(t, SENT, r) / epochs).text);
        text_cell(out, "%s", quantity_seconds(cell(t, EXPOSED, r) / epochs).text);
        text_cell(out, "%s", quantity_bytes(cell(t, PEAK, r)).text);
        text_cell(out, "%s", quantity_bytes(cell(t, ALLOCATED, r)).text);
    }
    text_table_end(out);
    if (rows < t->ranks) {
        text_paragraph(out, "muted", "%d of %d ranks, the one with the largest memory among them.", rows, t->ranks);
    }
}

typedef struct bar_space {
    int chosen[BARS_MAX];
    char name[BARS_MAX][32];
    const char *names[BARS_MAX];
    double value[BARS_MAX];
} bar_space;

static weft_status draw_memory(report_text *out, const rank_table *t)
{
    static const char *const part_name[] = {"peak memory"}, *const part_colour[] = {"memory"};
    bar_space *space = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&space, 1, WEFT_MEM_GENERAL));
    int rows = report_rank_choice(t->ranks, t->column[PEAK], BARS_MAX, space->chosen);
    for (int i = 0; i < rows; ++i) {
        double bytes = cell(t, PEAK, space->chosen[i]);
        space->value[i] = isfinite(bytes) && bytes > 0 && bytes < 1e18 ? bytes : 0;
        snprintf(space->name[i], sizeof space->name[i], "rank %d", space->chosen[i]);
        space->names[i] = space->name[i];
    }
    bars b = {.title = "Peak memory by rank",
              .unit = CHART_BYTES,
              .rows = rows,
              .parts = 1,
              .row_name = space->names,
              .part_name = part_name,
              .part_colour = part_colour,
              .value = space->value};
    bars_draw(out, &b);
    weft_free(space);
    return WEFT_OK;
}

weft_status section_ranks(report_text *out, const report_run *run, const report_figures *f)
{
    rank_table t;
    weft_status status = WEFT_OK;
    if (f->ranks > 1 && report_images(run) == NULL) { /* images are not divided once and for all */
        partition_quality(out, run);
    }
    WEFT_TRY(rank_table_read(run, &t));
    if (t.ranks > 0) {
        text_heading(out, out->level, t.ranks > 1 ? "Ranks and memory" : "Memory");
        if (out->html) {
            status = draw_memory(out, &t);
        }
        table_of_ranks(out, &t, f->job_epochs > 0 ? f->job_epochs : NAN);
        text_paragraph(out, "muted",
                       "Predicted before training: %s per rank at most. Peak memory is what the system counts; pages "
                       "that were allocated and never written do not count.",
                       quantity_bytes(report_number(run->summary, "predicted_peak_bytes")).text);
    }
    rank_table_free(&t);
    return status;
}
