/*
 * gnn/data/read/reader_attach.c: see gnn/data/read/reader_parts.h. What a file is shows in its first bytes, not its
 * name.
 */
#include "gnn/data/read/reader_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/features/features_made.h"
#include "io/text/path_name.h"

typedef enum file_kind { KIND_FOLDER, KIND_NPY, KIND_NPZ, KIND_TEXT } file_kind;

static weft_status look_at(const char *path, file_kind *kind)
{
    *kind = KIND_FOLDER;
    if (path_is_folder(path)) {
        return WEFT_OK;
    }
    file_map map;
    WEFT_TRY(file_map_open(path, &map));
    *kind = map.size >= 6 && memcmp(map.data, "\x93NUMPY", 6) == 0 ? KIND_NPY
            : map.size >= 4 && memcmp(map.data, "PK", 2) == 0      ? KIND_NPZ
                                                                   : KIND_TEXT;
    file_map_close(&map);
    return WEFT_OK;
}

static weft_status refuse_folder(const char *option, const char *path)
{
    return weft_fail(WEFT_ERR_NOINPUT, "%s %s: is a folder, expected a .npy, .npz or .csv file", option, path);
}

/* The array of an .npz that bears one of the names, or the only one. */
static weft_status find_member(const reader_npz *npz, const char *const *names, int *member)
{
    *member = reader_npz_choose(npz, names);
    WEFT_CHECK(*member >= 0 || npz_count(npz->file) == 1, WEFT_ERR_DATA,
               "%s: holds %d arrays and none is named '%s' or '%s'", npz->path, npz_count(npz->file), names[0],
               names[1]);
    *member = *member < 0 ? 0 : *member;
    return WEFT_OK;
}

/* ---- features ---- */

/* A matrix that SciPy saved says its form, and the arrays of CSC have the names of CSR's. */
static weft_status refuse_other_forms(const reader_npz *npz)
{
    char format[16] = "csr";
    WEFT_TRY(reader_npz_has(npz, "format") && reader_npz_has(npz, "shape") ? reader_npz_text(npz, "format", format)
                                                                           : WEFT_OK);
    WEFT_CHECK(strcmp(format, "csr") == 0, WEFT_ERR_DATA,
               "%s[format]: '%s': sparse features are read in CSR form: save matrix.tocsr()", npz->path, format);
    return WEFT_OK;
}

static weft_status npz_features(const char *path, raw_graph *raw)
{
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, raw->memory_bytes, &npz));
    weft_status status;
    WEFT_TRY_GOTO(refuse_other_forms(&npz), status, done);
    if (reader_npz_has(&npz, "indptr") && reader_npz_has(&npz, "indices") && reader_npz_has(&npz, "data")) {
        status = reader_npz_sparse_features(&npz, "", raw);
        goto done;
    }
    int member;
    WEFT_TRY_GOTO(find_member(&npz, reader_feature_names, &member), status, done);
    status = reader_npz_dense_features(&npz, npz_name(npz.file, member), raw);
done:
    reader_npz_close(&npz);
    return status;
}

static weft_status attach_features(const char *path, raw_graph *raw)
{
    file_kind kind;
    WEFT_TRY(look_at(path, &kind));
    switch (kind) {
    case KIND_FOLDER:
        return refuse_folder(FLAG_FEATURES, path);
    case KIND_NPY:
        return reader_map_features(path, raw);
    case KIND_NPZ:
        return npz_features(path, raw);
    case KIND_TEXT:
        break;
    }
    return reader_text_features(path, raw);
}

/* What the option names wins over what the input has; features that are made come once the edges are sorted. */
static weft_status look_for_features(const char *text, raw_graph *raw)
{
    features_kind kind;
    int64_t width;
    WEFT_TRY(features_parse(text, &kind, &width));
    if (raw->features > 0) {
        log_info("features of %s replace the input's %" PRId64, text, raw->features);
    }
    reader_drop_features(raw);
    return kind == FEATURES_FILE ? attach_features(text, raw) : WEFT_OK;
}

/* ---- labels ---- */

static weft_status npz_labels(const char *path, raw_graph *raw)
{
    reader_npz npz;
    int member;
    WEFT_TRY(reader_npz_open(path, raw->memory_bytes, &npz));
    weft_status status = find_member(&npz, reader_label_names, &member);
    status = status == WEFT_OK ? reader_npz_label_array(&npz, member, raw) : status;
    reader_npz_close(&npz);
    return status;
}

static weft_status npy_labels(const char *path, raw_graph *raw)
{
    npy_array array;
    WEFT_TRY(npy_read(path, &array));
    weft_status status = reader_take_label_array(path, &array, raw);
    npy_array_free(&array);
    return status;
}

static weft_status attach_labels(const char *path, raw_graph *raw)
{
    file_kind kind;
    WEFT_TRY(look_at(path, &kind));
    switch (kind) {
    case KIND_FOLDER:
        return refuse_folder(FLAG_LABELS, path);
    case KIND_NPY:
        return npy_labels(path, raw);
    case KIND_NPZ:
        return npz_labels(path, raw);
    case KIND_TEXT:
        break;
    }
    return reader_text_labels(path, true, raw);
}

/* ---- splits ---- */

static weft_status npz_splits(const char *path, raw_graph *raw)
{
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, raw->memory_bytes, &npz));
    weft_free(raw->split);
    raw->split = NULL;
    raw->splits = 0;
    weft_status status = reader_npz_splits(&npz, raw);
    if (status == WEFT_OK && raw->splits == 0) {
        status = weft_fail(WEFT_ERR_DATA, "%s: holds no split: arrays train, valid (or val) and test are needed", path);
    }
    reader_npz_close(&npz);
    return status;
}

static weft_status attach_splits(const char *path, raw_graph *raw)
{
    file_kind kind;
    WEFT_TRY(look_at(path, &kind));
    switch (kind) {
    case KIND_FOLDER:
        return reader_split_lists(path, raw);
    case KIND_NPY:
        return reader_split_codes(path, raw);
    case KIND_NPZ:
        return npz_splits(path, raw);
    case KIND_TEXT:
        break;
    }
    return reader_text_split(path, raw);
}

weft_status reader_attach(const convert_options *options, raw_graph *raw)
{
    if (options->feature_path != NULL) {
        WEFT_TRY(look_for_features(options->feature_path, raw));
    }
    if (options->label_path != NULL) {
        WEFT_TRY(attach_labels(options->label_path, raw));
    }
    if (options->split_path != NULL) {
        WEFT_TRY(attach_splits(options->split_path, raw));
    }
    if (options->random_split == NULL) {
        return WEFT_OK;
    }
    if (raw->splits > 0) {
        log_info("the drawn split replaces the input's");
    }
    return reader_split_draw(options->random_split, options->seed, raw);
}
