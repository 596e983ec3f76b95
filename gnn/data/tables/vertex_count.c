/* gnn/data/tables/vertex_count.c: see gnn/data/read/reader_vertices.h. */
#include "gnn/data/read/reader_vertices.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/table_facts.h"

enum { MESSAGE = 2048 };

/* Options are for text; an array is saved otherwise. */
static const char *cure_from_one(const raw_graph *raw)
{
    return raw->takes_ids ? FLAG_FIRST_ID " 1" : "edge_index - 1 in the file";
}

typedef struct table_rows {
    int known;     /* tables whose rows could be counted */
    int64_t rows;  /* of all of them; -1: they differ */
    bool confirms; /* one has a row for each vertex: the others are not looked at */
} table_rows;

/* From the last to the first: text of features may be long. */
static weft_status look_at(const raw_graph *raw, bool quick, bool from_one, table_rows *found)
{
    for (int i = READER_TABLES - 1; i >= 0 && !found->confirms; i--) {
        const char *path = raw->tables[i];
        int64_t rows = -1;
        const bool counts = i != READER_TABLE_FEATURES || quick || found->known > 0 || from_one;
        if (path == NULL || !counts || table_facts_quick(path) != quick) {
            continue;
        }
        WEFT_TRY(table_facts_rows(path, i == READER_TABLE_SPLIT, &rows));
        if (rows >= 0) {
            found->rows = found->known == 0 || found->rows == rows ? rows : -1;
            found->known++;
            found->confirms = rows == raw->vertices;
        }
    }
    return WEFT_OK;
}

weft_status reader_vertices_settle(const char *input, raw_graph *raw)
{
    table_rows found = {.known = 0};
    if (raw->asked_vertices > 0 || raw->relabels || raw->arcs == NULL) {
        return WEFT_OK;
    }
    const int64_t largest = raw->vertices - 1 + raw->first_id;
    const bool from_one = raw->first_id == 0 && arcs_smallest_id(raw->arcs) == 1;
    WEFT_TRY(look_at(raw, true, from_one, &found));
    WEFT_TRY(look_at(raw, false, from_one, &found));
    if (found.confirms) {
        return WEFT_OK;
    }
    const bool agree = found.known > 0 && found.rows >= 0;
    WEFT_CHECK(!agree || raw->first_id != 0 || arcs_smallest_id(raw->arcs) < 1 || found.rows != largest, WEFT_ERR_DATA,
               "%s: no edge has vertex 0, the largest id is %" PRId64 ", and there are %" PRId64
               " rows for vertices: ids that count from 1 need %s",
               input, largest, found.rows, cure_from_one(raw));
    WEFT_CHECK(!agree || found.known > 1 || found.rows <= raw->vertices, WEFT_ERR_DATA,
               "%s: the largest id, %" PRId64 ", makes %" PRId64 " vertices, and there are %" PRId64
               " rows for them: " FLAG_VERTICES " %" PRId64 " where the last ones have no edge",
               input, largest, raw->vertices, found.rows, found.rows);
    if (agree && found.rows > raw->vertices) {
        log_info("%s: %" PRId64 " vertices, as the tables have so many rows; the largest id is %" PRId64, input,
                 found.rows, largest);
        raw->vertices = found.rows;
    } else if (from_one) {
        log_warn("%s: no edge has vertex 0: where ids count from 1, %s says so", input, cure_from_one(raw));
    }
    return WEFT_OK;
}

weft_status reader_vertices_hint(const char *input, const raw_graph *raw, weft_status status)
{
    char message[MESSAGE];
    bool differs = false;
    snprintf(message, sizeof message, "%s", weft_error_message());
    for (int i = 0; i < READER_TABLES && raw->asked_vertices == 0 && !raw->relabels; i++) {
        int64_t rows = -1;
        const bool known = raw->tables[i] != NULL &&
                           table_facts_rows(raw->tables[i], i == READER_TABLE_SPLIT, &rows) == WEFT_OK && rows >= 0;
        differs = differs || (known && rows != raw->vertices);
    }
    if (differs) {
        log_warn("%s: the largest id, %" PRId64 ", makes %" PRId64 " vertices; " FLAG_VERTICES " gives another number",
                 input, raw->vertices - 1 + raw->first_id, raw->vertices);
    }
    return weft_fail(status, "%s", message);
}

/* [vertices] which have an edge. */
static int64_t count_joined(const csr_graph *csr, uint8_t *joined)
{
    int64_t count = 0;
    for (int64_t e = 0; e < csr->entries; e++) {
        joined[csr->source[e]] = 1;
    }
    for (int64_t v = 0; v < csr->vertices; v++) {
        count += joined[v] != 0 || csr->offset[v] < csr->offset[v + 1];
    }
    return count;
}

void reader_vertices_tell(const char *input, const raw_graph *raw, const csr_graph *csr, bool symmetric)
{
    uint8_t *joined = NULL;
    int64_t count = 0;
    if (symmetric) {
        for (int64_t v = 0; v < csr->vertices; v++) {
            count += csr->offset[v] < csr->offset[v + 1];
        }
    } else if (WEFT_NEW_ZERO(&joined, csr->vertices, WEFT_MEM_WORKSPACE) == WEFT_OK) {
        count = count_joined(csr, joined);
        weft_free(joined);
    } else {
        weft_error_clear();
        return;
    }
    if (count == csr->vertices) {
        return;
    }
    if (2 * count < csr->vertices && raw->asked_vertices == 0 && !raw->relabels) {
        log_warn("%s: %" PRId64 " of %" PRId64
                 " vertices have an edge, as ids have gaps: %s makes a vertex of each id that occurs",
                 input, count, csr->vertices,
                 raw->takes_ids ? FLAG_RELABEL : "numpy.unique(edge_index, return_inverse=True)[1].reshape(2, -1)");
    } else {
        log_info("%s: %" PRId64 " of %" PRId64 " vertices have an edge", input, count, csr->vertices);
    }
}
