/* gnn/data/read/reader_labels.c: classes and binary tasks from numbers; see gnn/data/read/reader_parts.h. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/read/reader_parts.h"

/* Classes counted from 1 are stored from 0; what the input calls unlabelled stays -1. */
static weft_status settle(const char *name, int64_t least, int64_t most, bool from_one, raw_graph *raw)
{
    WEFT_CHECK(most >= 0, WEFT_ERR_DATA, "%s: no vertex has a label", name);
    int32_t shift = from_one && least == 1 ? 1 : 0;
    if (shift == 1) {
        log_info("%s: labels 1 to %" PRId64 " are stored as 0 to %" PRId64, name, most, most - 1);
        for (int64_t v = 0; v < raw->vertices; v++) {
            raw->label[v] -= raw->label[v] >= 0 ? 1 : 0;
        }
    }
    raw->classes = most + 1 - shift;
    return WEFT_OK;
}

weft_status reader_take_labels(const char *name, const int64_t *values, bool from_one, raw_graph *raw)
{
    weft_free(raw->label);
    weft_free(raw->target);
    raw->label = NULL;
    raw->target = NULL;
    raw->tasks = 0;
    WEFT_TRY(WEFT_NEW(&raw->label, raw->vertices, WEFT_MEM_GRAPH));
    int64_t least = INT64_MAX;
    int64_t most = -1;
    for (int64_t v = 0; v < raw->vertices; v++) {
        WEFT_CHECK(values[v] >= -1 && values[v] < INT32_MAX, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ": %" PRId64 ": classes are 0 to 2147483646 (-1 = unlabelled)", name, v,
                   values[v]);
        least = values[v] >= 0 && values[v] < least ? values[v] : least;
        most = values[v] > most ? values[v] : most;
        raw->label[v] = (int32_t)values[v];
    }
    return settle(name, least, most, from_one, raw);
}

static weft_status take_classes(const char *name, const float *values, bool from_one, raw_graph *raw)
{
    int64_t *whole = NULL;
    WEFT_TRY(WEFT_NEW(&whole, raw->vertices, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_OK;
    for (int64_t v = 0; v < raw->vertices && status == WEFT_OK; v++) {
        float value = values[v];
        if (isnan(value)) {
            whole[v] = -1;
        } else if (fabsf(value) < 0x1p24F && value == nearbyintf(value)) {
            whole[v] = (int64_t)value;
        } else {
            status = weft_fail(WEFT_ERR_DATA,
                               "%s: row %" PRId64 ": %g is not a class (whole numbers: below 16777216 in text and "
                               "floats, up to 2147483646 in integers of a .npy)",
                               name, v, (double)value);
        }
    }
    if (status == WEFT_OK) {
        status = reader_take_labels(name, whole, from_one, raw);
    }
    weft_free(whole);
    return status;
}

weft_status reader_take_real_labels(const char *name, int64_t columns, float **values, bool from_one, raw_graph *raw)
{
    WEFT_CHECK(columns >= 1, WEFT_ERR_DATA, "%s: no column of labels", name);
    if (columns == 1) {
        return take_classes(name, *values, from_one, raw);
    }
    for (int64_t i = 0; i < raw->vertices * columns; i++) {
        float value = (*values)[i];
        WEFT_CHECK(isnan(value) || value == 0.0F || value == 1.0F, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ", column %" PRId64 ": %g: tasks are 0 or 1 (nan = unlabelled)", name,
                   i / columns, i % columns, (double)value);
    }
    weft_free(raw->label);
    weft_free(raw->target);
    raw->label = NULL;
    raw->classes = 0;
    raw->target = *values;
    raw->tasks = columns;
    *values = NULL;
    return WEFT_OK;
}
