/*
 * gnn/data/read/reader_metis.c: METIS graph files (gnn/data/edges/metis_text.h) as a format of graphs. That both
 * directions of each edge are there is checked when the CSR stands (gnn/data/read/reader_convert.c).
 */
#include "gnn/data/edges/metis_text.h"

#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static weft_status parse(const char *path, text_source *source, raw_graph *raw)
{
    WEFT_TRY(metis_edges_parse(path, source, raw->weighs, raw->arcs, &raw->vertices));
    raw->stores_both = true;
    raw->first_id = 1;
    raw->kind = EDGE_FILE_METIS;
    return WEFT_OK;
}

const reader_format reader_metis = {
    .name = "metis",
    .description = "METIS graph files (.graph), with or without weights; also .gz, .xz",
    .symmetrize = false,
    .matches_text = metis_is,
    .line_max = METIS_LINE_MAX,
    .read_text = parse,
};
