/*
 * gnn/data/read/reader_edge_list.c: plain lists of edges: SNAP's files, .csv, .tsv, arc lists decoded from BVGraphs.
 *
 *   # comments (also %), blank lines, a header line "source,target"      skipped
 *   12 7            ids from 0, separated by blanks, tabs or a comma
 *   12 7 0.25       further numbers are read over
 *
 * There are as many vertices as the largest id + 1, or --vertices.
 */
#include <ctype.h>
#include <inttypes.h>

#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_text.h"

/* Two whole numbers at the beginning of a line? */
static bool begins_with_ids(const char *line)
{
    int64_t id;
    const char *at = text_skip_blanks(line);
    if (!text_scan_int(&at, &id)) {
        return false;
    }
    const char *second = text_skip_separator(at);
    return second != at && text_scan_int(&second, &id);
}

/* One of the first two lines that are no comments begins with two ids: the first may be a header. */
static bool matches(const char *path, const char *head)
{
    (void)path;
    int looked_at = 0;
    bool found = false;
    for (const char *line = head; *line != '\0' && looked_at < 2 && !found;) {
        const char *end = strchr(line, '\n');
        const char *first = text_skip_blanks(line);
        if (*first != '#' && *first != '%' && *first != '\n' && *first != '\r') {
            looked_at++;
            found = begins_with_ids(line) && (looked_at == 1 || isalpha((unsigned char)*text_skip_blanks(head)));
        }
        line = end != NULL ? end + 1 : line + strlen(line);
    }
    return found;
}

static weft_status parse(const char *path, text_source *source, raw_graph *raw)
{
    WEFT_TRY(edge_text_read(source, path, raw->asked_vertices > 0 ? raw->asked_vertices : -1, raw->weighs, raw->arcs));
    raw->vertices = raw->asked_vertices > 0 ? raw->asked_vertices : arcs_largest_id(raw->arcs) + 1;
    WEFT_CHECK(raw->vertices > 0, WEFT_ERR_DATA, "%s: holds no edges (" FLAG_VERTICES " N makes a graph without edges)",
               path);
    return WEFT_OK;
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    return reader_text_read(path, EDGE_LINE_MAX, parse, raw);
}

const reader_format reader_edge_list = {
    .name = "edge-list",
    .description = "text, a line an edge: SNAP, .csv, .tsv, arc lists; also .gz, .xz",
    .symmetrize = true,
    .takes_vertices = true,
    .matches_text = matches,
    .read = read_graph,
};
