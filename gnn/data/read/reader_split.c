/*
 * gnn/data/read/reader_split.c: which vertices train, validate and test.
 *
 * Index lists (train, valid or val, test: int [m]) give one split; masks (bool [n], or [k, n] for k splits, also under
 * the names train_mask(s), ...) give k. A vertex is in one part at most; one in none keeps 255.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/data/read/reader_parts.h"

enum { SPLITS_MAX = 1000 };

const char *const reader_part_names[READER_PARTS] = {"train", "valid", "test"};

/* The array that holds a part, or -1. */
static int find_part(const reader_npz *npz, int part)
{
    static const char *const stems[READER_PARTS][3] = {{"train", NULL}, {"valid", "val", NULL}, {"test", NULL}};
    static const char *const endings[] = {"", "_mask", "_masks", "_idx"};
    for (size_t stem = 0; stems[part][stem] != NULL; stem++) {
        for (size_t ending = 0; ending < sizeof endings / sizeof *endings; ending++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", stems[part][stem], endings[ending]);
            int i = npz_find(npz->file, name);
            if (i >= 0) {
                return i;
            }
        }
    }
    return -1;
}

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

weft_status reader_put_list(const char *name, raw_graph *raw, const int64_t *index, int64_t count, int part)
{
    for (int64_t i = 0; i < count; i++) {
        WEFT_CHECK(index[i] >= 0 && index[i] < raw->vertices, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ": %" PRId64 ": vertices are 0 to %" PRId64, name, i, index[i],
                   raw->vertices - 1);
        WEFT_TRY(reader_put_part(name, raw, 0, index[i], part));
    }
    return WEFT_OK;
}

static weft_status put_mask(const char *label, raw_graph *raw, const npy_array *array, int part)
{
    const uint8_t *mask = array->data;
    for (int64_t k = 0; k < raw->splits; k++) {
        for (int64_t v = 0; v < raw->vertices; v++) {
            if (mask[k * raw->vertices + v] != 0) {
                WEFT_TRY(reader_put_part(label, raw, k, v, part));
            }
        }
    }
    return WEFT_OK;
}

static weft_status put_list(const char *label, raw_graph *raw, const npy_array *array, int part)
{
    int64_t *index;
    WEFT_TRY(npy_array_to_i64(label, array, &index));
    weft_status status = reader_put_list(label, raw, index, array->header.count, part);
    weft_free(index);
    return status;
}

/* How many splits an array describes: masks [n] and lists one, masks [k, n] k. */
static weft_status count_splits(const reader_npz *npz, const raw_graph *raw, int member, int64_t *splits)
{
    const char *name = npz_name(npz->file, member);
    npy_header header;
    WEFT_TRY(npz_read_header(npz->file, member, &header));
    bool mask = header.kind == 'b';
    *splits = mask && header.dims == 2 ? header.shape[0] : 1;
    bool shaped = header.dims == 1 || (mask && header.dims == 2);
    WEFT_CHECK(shaped && (!mask || header.shape[header.dims - 1] == raw->vertices), WEFT_ERR_DATA,
               "%s[%s]: expected a list of vertices, or masks of %" PRId64 " (vertices) each", npz->path, name,
               raw->vertices);
    WEFT_CHECK(*splits >= 1 && *splits <= SPLITS_MAX, WEFT_ERR_DATA,
               "%s[%s]: %" PRId64 " splits; 1 to %d are supported", npz->path, name, *splits, SPLITS_MAX);
    return WEFT_OK;
}

static weft_status put_part(const reader_npz *npz, raw_graph *raw, int member, int part)
{
    char label[FILE_PATH_MAX];
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, npz_name(npz->file, member)));
    npy_array array;
    WEFT_TRY(npz_read_header(npz->file, member, &array.header));
    WEFT_TRY(reader_check_fits(label, 2 * array.header.data_bytes, npz->memory_bytes));
    WEFT_TRY(npz_read(npz->file, member, &array));
    weft_status status =
        array.header.kind == 'b' ? put_mask(label, raw, &array, part) : put_list(label, raw, &array, part);
    npy_array_free(&array);
    return status;
}

weft_status reader_npz_splits(const reader_npz *npz, raw_graph *raw)
{
    int members[READER_PARTS];
    int found = 0;
    for (int part = 0; part < READER_PARTS; part++) {
        members[part] = find_part(npz, part);
        found += members[part] >= 0;
    }
    if (found == 0) {
        return WEFT_OK;
    }
    int64_t splits = 0;
    for (int part = 0; part < READER_PARTS; part++) {
        WEFT_CHECK(members[part] >= 0, WEFT_ERR_DATA,
                   "%s: a split without '%s'; train, valid (or val) and test are needed", npz->path,
                   reader_part_names[part]);
        int64_t count;
        WEFT_TRY(count_splits(npz, raw, members[part], &count));
        WEFT_CHECK(part == 0 || count == splits, WEFT_ERR_DATA, "%s[%s]: %" PRId64 " splits, but train has %" PRId64,
                   npz->path, npz_name(npz->file, members[part]), count, splits);
        splits = count;
    }
    WEFT_TRY(reader_new_splits(raw, splits));
    for (int part = 0; part < READER_PARTS; part++) {
        WEFT_TRY(put_part(npz, raw, members[part], part));
    }
    return WEFT_OK;
}
