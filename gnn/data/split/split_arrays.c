/*
 * gnn/data/split/split_arrays.c: which vertices train, validate and test, from the arrays of an .npz or from one .npy.
 *
 *   .npz     an array for each part under one of its names (train, train_mask, train_idx, ...):
 *            gnn/data/split/split_part.h
 *   .npy     numbers [n], [k, n] or [n, k]: 0 train, 1 valid, 2 test, -1 or 255 none; or masks [3, n] or [n, 3] of
 *            train, valid and test. An array of 0 and 1 alone is never taken as numbers of parts, because a mask looks
 *            so.
 *
 * A vertex is in one part at most; one in none keeps 255.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/split/split_part.h"

const char *const reader_part_names[READER_PARTS] = {"train", "valid", "test"};
const char *const reader_part_stems[READER_PARTS][READER_STEMS] = {{"train"}, {"valid", "val", "validation"}, {"test"}};

weft_status reader_new_splits(raw_graph *raw, int64_t splits)
{
    uint8_t *split = NULL;
    WEFT_TRY(weft_malloc((size_t)splits, (size_t)raw->vertices, WEFT_MEM_GRAPH, (void **)&split));
    memset(split, READER_NONE, (size_t)(splits * raw->vertices));
    weft_free(raw->split);
    raw->split = split;
    raw->splits = splits;
    return WEFT_OK;
}

weft_status reader_put_part(const char *name, raw_graph *raw, int64_t k, int64_t v, int part)
{
    uint8_t *cell = &raw->split[k * raw->vertices + v];
    WEFT_CHECK(*cell == READER_NONE, WEFT_ERR_DATA, "%s: vertex %" PRId64 " is %s %s already (split %" PRId64 ")", name,
               v, *cell == part ? "listed in" : "in", reader_part_names[*cell % READER_PARTS], k);
    *cell = (uint8_t)part;
    return WEFT_OK;
}

/* ---- .npz ---- */

/* Finds the array of a part, or -1. Another one of the same part is left out with a warning. */
static int find_part(const reader_npz *npz, int part)
{
    static const char *const forms[] = {"%s",         "%s_mask",  "%s_masks", "%s_idx", "%s_index",
                                        "%s_indices", "%s_nodes", "idx_%s",   "%s_id",  "%s_ids"};
    int found = -1;
    for (const char *const *stem = reader_part_stems[part]; *stem != NULL; stem++) {
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            char name[32];
            snprintf(name, sizeof name, forms[form], *stem);
            const int i = npz_find(npz->file, name);
            if (found >= 0 && i >= 0) {
                log_warn("%s: the array '%s' is left out, because '%s' gives the %s part", npz->path, name,
                         npz_name(npz->file, found), reader_part_names[part]);
            }
            found = found < 0 ? i : found;
        }
    }
    return found;
}

/* Looks at the header before the data are unpacked: what is too large or of a wrong shape costs nothing. */
static weft_status read_part(const reader_npz *npz, int member, int64_t vertices, reader_part *part)
{
    WEFT_TRY(file_path(part->name, "%s[%s]", npz->path, npz_name(npz->file, member)));
    WEFT_TRY(npz_read_header(npz->file, member, &part->array.header));
    WEFT_TRY(reader_check_fits(part->name, part->array.header.data_bytes, npz->memory_bytes));
    WEFT_TRY(reader_part_shape(part, vertices));
    return npz_read(npz->file, member, &part->array);
}

weft_status reader_npz_splits(const reader_npz *npz, raw_graph *raw)
{
    int members[READER_PARTS], found = 0;
    for (int i = 0; i < READER_PARTS; i++) {
        members[i] = find_part(npz, i);
        found += members[i] >= 0;
    }
    if (found == 0) {
        return WEFT_OK;
    }
    reader_part part[READER_PARTS] = {{.name = ""}};
    weft_status status = WEFT_OK;
    for (int i = 0; i < READER_PARTS; i++) {
        WEFT_CHECK_GOTO(members[i] >= 0, status, failed, WEFT_ERR_DATA,
                        "%s: a split without '%s'; train, valid (or val) and test are needed", npz->path,
                        reader_part_names[i]);
        WEFT_TRY_GOTO(read_part(npz, members[i], raw->vertices, &part[i]), status, failed);
    }
    return reader_put_parts(part, raw);
failed:
    for (int i = 0; i < READER_PARTS; i++) {
        npy_array_free(&part[i].array);
    }
    return status;
}

/* ---- .npy ---- */

typedef struct taking {
    const char *path;
    raw_graph *raw;
    reader_layout layout;
} taking;

static weft_status take_code(void *self, int64_t element, int64_t value)
{
    const taking *t = self;
    const int64_t n = t->raw->vertices, v = reader_layout_vertex(&t->layout, n, element);
    const bool none = value == -1 || value == READER_NONE;
    WEFT_CHECK(none || (value >= 0 && value < READER_PARTS), WEFT_ERR_DATA,
               "%s: row %" PRId64 ": %" PRId64 ": 0 = train, 1 = valid, 2 = test, -1 = none", t->path, v, value);
    t->raw->split[reader_layout_split(&t->layout, n, element) * n + v] = none ? READER_NONE : (uint8_t)value;
    return WEFT_OK;
}

/* Of masks train, valid and test in the place of three splits. */
static weft_status take_mask(void *self, int64_t element, int64_t value)
{
    const taking *t = self;
    const int64_t n = t->raw->vertices;
    return value == 0 ? WEFT_OK
                      : reader_put_part(t->path, t->raw, 0, reader_layout_vertex(&t->layout, n, element),
                                        (int)reader_layout_split(&t->layout, n, element));
}

static weft_status take_array(taking *t, const npy_array *array)
{
    static const char cure[] = "Name the parts: numpy.savez(FILE, train=..., valid=..., test=...)";
    reader_census census;
    const npy_header *header = &array->header;
    WEFT_TRY(reader_layout_find(t->path, header, t->raw->vertices, "numbers of parts, ", &t->layout));
    WEFT_TRY(reader_count_values(t->path, array, &census));
    const bool mask = header->kind == 'b' || (census.ones > 0 && census.others == 0 && census.full == 0);
    if (!mask) {
        WEFT_TRY(reader_new_splits(t->raw, t->layout.splits));
        return reader_walk(t->path, array, take_code, t);
    }
    WEFT_CHECK(t->layout.splits != 1, WEFT_ERR_DATA, "%s: holds %s alone: a mask of one part; which? %s", t->path,
               header->kind == 'b' ? "true and false" : "0 and 1", cure);
    WEFT_CHECK(t->layout.splits == READER_PARTS, WEFT_ERR_DATA,
               "%s: holds %s alone: masks of %" PRId64 " parts, expected 3 (train, valid, test); %s", t->path,
               header->kind == 'b' ? "true and false" : "0 and 1", t->layout.splits, cure);
    WEFT_TRY(reader_new_splits(t->raw, 1));
    WEFT_TRY(reader_walk(t->path, array, take_mask, t));
    log_warn("%s: taken as the masks train, valid and test, in this order", t->path);
    return WEFT_OK;
}

weft_status reader_split_codes(const char *path, raw_graph *raw)
{
    npy_array array;
    taking t = {.path = path, .raw = raw};
    WEFT_TRY(npy_read(path, &array));
    weft_status status = take_array(&t, &array);
    npy_array_free(&array);
    return status;
}
