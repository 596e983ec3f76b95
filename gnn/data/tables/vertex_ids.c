/* gnn/data/tables/vertex_ids.c: see gnn/data/tables/vertex_ids.h. */
#include "gnn/data/tables/vertex_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NAME_MOST = 4096 };

static int compare(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

weft_status vertex_ids_open(const raw_graph *raw, vertex_ids *ids)
{
    *ids = (vertex_ids){.vertices = raw->vertices};
    if (raw->vertex_names.text == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&ids->sorted, raw->vertices, WEFT_MEM_WORKSPACE));
    ids->names = &raw->vertex_names;
    const char *const *text = (const char *const *)raw->vertex_names.text;
    for (int64_t v = 0; v < raw->vertices; v++) {
        ids->sorted[v] = &text[v];
    }
    if (raw->vertices > 1) {
        qsort(ids->sorted, (size_t)raw->vertices, sizeof *ids->sorted, compare);
    }
    return WEFT_OK;
}

void vertex_ids_close(vertex_ids *ids)
{
    weft_free(ids->sorted);
    *ids = (vertex_ids){.vertices = 0};
}

static bool find_name(const vertex_ids *ids, const char *name, int64_t *vertex)
{
    int64_t low = 0, high = ids->vertices;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(*ids->sorted[middle], name);
        if (order == 0) {
            *vertex = ids->sorted[middle] - (const char *const *)ids->names->text;
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

bool vertex_ids_find(const vertex_ids *ids, const text_field *field, int64_t *vertex)
{
    const bool whole = text_field_whole(field, vertex);
    if (ids->names == NULL) {
        return whole && *vertex >= 0 && *vertex <= ids->vertices;
    }
    char name[NAME_MOST];
    const int64_t number = *vertex;
    if (text_copy_field(field, name, sizeof name) + 1 < sizeof name && find_name(ids, name, vertex)) {
        return true;
    }
    snprintf(name, sizeof name, "%" PRId64, number); /* 17.0 of a vertex named 17 */
    return whole && find_name(ids, name, vertex);
}
