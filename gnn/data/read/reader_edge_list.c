/*
 * gnn/data/read/reader_edge_list.c: plain lists of edges: SNAP's files, .csv, .tsv, arc lists decoded from BVGraphs.
 *
 *   # comments (also %), blank lines     skipped
 *   id,source,target,w                   a header: columns by name, in any order
 *   12 7 0.25                            else ids first; from 0, or --first-id; separated by blanks, tabs or a comma
 *
 * There are as many vertices as the largest id + 1, or --vertices, or as the tables that are given with it have rows
 * (gnn/data/read/reader_vertices.h). --relabel: as many as different ids, which may be names, and are kept.
 */
#include <inttypes.h>

#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/edges/table_facts.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"
#include "io/text/path_name.h"

enum { MANY = 10000000, FEW = 4 };

/* Rows of a table without ids are vertices in the order of ids, whatever order its writer had in mind. */
static void tell_order(const char *path)
{
    if (path_is_folder(path)) {
        return; /* lists of vertices */
    }
    log_warn("%s: has no column of ids: its rows are taken in the ascending order of the ids in the edges", path);
}

/* Of the edges, and of the tables that have a column of ids: a vertex need not have an edge. */
static weft_status collect_ids(const char *path, const edge_columns *columns, raw_graph *raw)
{
    edge_columns tables[READER_TABLES];
    id_file sources[1 + READER_TABLES] = {{.path = path, .columns = columns, .line_max = EDGE_LINE_MAX}};
    int count = 1;
    weft_status status = WEFT_OK;
    for (int i = 0; i < READER_TABLES && status == WEFT_OK; i++) {
        bool found = false;
        status = raw->tables[i] != NULL ? table_facts_ids(raw->tables[i], &tables[count - 1], &found) : WEFT_OK;
        if (found) {
            sources[count] =
                (id_file){.path = raw->tables[i], .columns = &tables[count - 1], .line_max = TEXT_TABLE_LINE};
            count++;
        } else if (status == WEFT_OK && raw->tables[i] != NULL) {
            tell_order(raw->tables[i]);
        }
    }
    status = status == WEFT_OK ? id_map_read(sources, count, raw->memory_bytes, &raw->ids) : status;
    for (int i = 0; i < count - 1; i++) {
        edge_columns_free(&tables[i]);
    }
    return status;
}

/* The vertices are the ids that occur. */
static weft_status read_ids(const char *path, const edge_columns *columns, raw_graph *raw)
{
    WEFT_TRY(collect_ids(path, columns, raw));
    raw->vertices = raw->ids.count;
    WEFT_CHECK(raw->asked_vertices == 0 || raw->asked_vertices == raw->vertices, WEFT_ERR_DATA,
               "%s: " FLAG_VERTICES " %" PRId64 ": there are %" PRId64 " different ids, and " FLAG_RELABEL
               " makes a vertex of each",
               path, raw->asked_vertices, raw->vertices);
    if (raw->vertices == 0 || id_map_is_plain(&raw->ids)) {
        log_info("%s: ids are 0 to %" PRId64 " as they stand", path, raw->vertices - 1);
        return WEFT_OK;
    }
    WEFT_TRY(id_map_names(&raw->ids, &raw->vertex_names));
    log_info("%s: %" PRId64 " ids, '%.40s' to '%.40s', are vertices 0 to %" PRId64 ", and the store keeps their names",
             path, raw->vertices, raw->vertex_names.text[0], raw->vertex_names.text[raw->vertices - 1],
             raw->vertices - 1);
    return WEFT_OK;
}

/* Before memory is taken for vertices that no edge can join. */
static void warn_of_gaps(const char *path, const raw_graph *raw)
{
    const int64_t edges = arcs_count(raw->arcs);
    if (raw->vertices >= MANY && edges < raw->vertices / FEW) {
        log_warn("%s: the largest id, %" PRId64 ", makes %" PRId64 " vertices, of which %" PRId64
                 " at most have an edge: " FLAG_RELABEL " makes a vertex of each id that occurs",
                 path, arcs_largest_id(raw->arcs) + raw->first_id, raw->vertices, 2 * edges);
    }
}

/* Some programs write the numbers of vertices and edges above the edges, where nothing tells them from an edge. */
static void warn_of_counts(const char *path, const edge_columns *columns, const raw_graph *raw)
{
    text_field field[2];
    int64_t number[2];
    for (int i = 0; i < 2; i++) {
        if (columns->header.named || !text_header_sample(&columns->header, i, &field[i]) ||
            !text_field_whole(&field[i], &number[i])) {
            return;
        }
    }
    if (number[1] > 0 && number[1] == arcs_count(raw->arcs) - 1 &&
        number[0] == arcs_largest_id(raw->arcs) + raw->first_id) {
        log_warn("%s: the first line, %" PRId64 " %" PRId64
                 ", is read as an edge, and says as well how many lines follow it: if "
                 "it counts vertices and edges, leave it out",
                 path, number[0], number[1]);
    }
}

static weft_status read_edges(const char *path, text_source *source, const edge_columns *columns, raw_graph *raw)
{
    const edge_text_ids ids = {.first = raw->asked_first_id,
                               .vertices = raw->asked_vertices > 0 ? raw->asked_vertices : -1,
                               .map = raw->relabels ? &raw->ids : NULL};
    raw->first_id = raw->asked_first_id;
    raw->kind = EDGE_FILE_TABLE;
    WEFT_TRY(raw->relabels ? read_ids(path, columns, raw) : WEFT_OK);
    WEFT_TRY(edge_text_table(source, columns, &ids, raw->arcs));
    if (!raw->relabels) {
        raw->vertices = raw->asked_vertices > 0 ? raw->asked_vertices : arcs_largest_id(raw->arcs) + 1;
        warn_of_gaps(path, raw);
        warn_of_counts(path, columns, raw);
    }
    return WEFT_OK;
}

static weft_status parse(const char *path, text_source *source, raw_graph *raw)
{
    edge_columns columns;
    WEFT_TRY(edge_columns_find(path, raw->weighs, true, &columns));
    weft_status status = columns.header.columns > 0 ? read_edges(path, source, &columns, raw) : WEFT_OK;
    edge_columns_free(&columns);
    WEFT_TRY(status);
    raw->vertices = raw->vertices > 0 ? raw->vertices : raw->asked_vertices;
    WEFT_CHECK(raw->vertices > 0, WEFT_ERR_DATA, "%s: holds no edges (" FLAG_VERTICES " N makes a graph without edges)",
               path);
    return WEFT_OK;
}

const reader_format reader_edge_list = {
    .name = "edge-list",
    .description = "text, a line an edge: SNAP, .csv, .tsv, arc lists; also .gz, .xz",
    .symmetrize = true,
    .takes_vertices = true,
    .takes_ids = true,
    .matches_text = edge_columns_match,
    .line_max = EDGE_LINE_MAX,
    .read_text = parse,
};
