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

/* How a file of each form is taken. A NULL folder is refused. */
typedef struct file_takers {
    const char *option;
    weft_status (*folder)(const char *path, raw_graph *raw);
    weft_status (*npy)(const char *path, raw_graph *raw);
    weft_status (*npz)(const reader_npz *npz, raw_graph *raw);
    weft_status (*text)(const char *path, raw_graph *raw);
} file_takers;

static weft_status take_file(const char *path, const file_takers *takers, raw_graph *raw)
{
    if (path_is_folder(path)) {
        WEFT_CHECK(takers->folder != NULL, WEFT_ERR_NOINPUT, "%s %s: is a folder, expected a .npy, .npz or .csv file",
                   takers->option, path);
        WEFT_CHECK(!raw->names_alone, WEFT_ERR_UNSUPPORTED,
                   "%s %s: vertices of this store have names: give a .npy or .npz", takers->option, path);
        return takers->folder(path, raw);
    }
    file_map map;
    WEFT_TRY(file_map_open(path, &map));
    const bool npy = map.size >= 6 && memcmp(map.data, "\x93NUMPY", 6) == 0;
    const bool npz = map.size >= 4 && memcmp(map.data, "PK", 2) == 0;
    file_map_close(&map);
    WEFT_CHECK(
        npy || npz || !raw->names_alone, WEFT_ERR_UNSUPPORTED,
        "%s %s: vertices of this store have names, by which texts are not read: give a .npy or .npz with a row for "
        "each vertex, in the store's order",
        takers->option, path);
    return npy ? takers->npy(path, raw) : npz ? reader_npz_read(path, takers->npz, raw) : takers->text(path, raw);
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

static weft_status npz_features(const reader_npz *npz, raw_graph *raw)
{
    int member;
    WEFT_TRY(refuse_other_forms(npz));
    if (reader_npz_has(npz, "indptr") && reader_npz_has(npz, "indices") && reader_npz_has(npz, "data")) {
        return reader_npz_sparse_features(npz, "", raw);
    }
    WEFT_TRY(find_member(npz, reader_feature_names, &member));
    return reader_npz_dense_features(npz, npz_name(npz->file, member), raw);
}

static const file_takers feature_takers = {
    .option = FLAG_FEATURES, .npy = reader_map_features, .npz = npz_features, .text = reader_text_features};

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
    return kind == FEATURES_FILE ? take_file(text, &feature_takers, raw) : WEFT_OK;
}

/* ---- labels ---- */

static weft_status npz_labels(const reader_npz *npz, raw_graph *raw)
{
    int member;
    WEFT_TRY(find_member(npz, reader_label_names, &member));
    return reader_npz_label_array(npz, member, raw);
}

static weft_status npy_labels(const char *path, raw_graph *raw)
{
    npy_array array;
    WEFT_TRY(npy_read(path, &array));
    weft_status status = reader_take_label_array(path, &array, raw);
    npy_array_free(&array);
    return status;
}

static weft_status text_labels(const char *path, raw_graph *raw)
{
    return reader_text_labels(path, true, raw);
}

static const file_takers label_takers = {
    .option = FLAG_LABELS, .npy = npy_labels, .npz = npz_labels, .text = text_labels};

/* ---- splits ---- */

static weft_status npz_splits(const reader_npz *npz, raw_graph *raw)
{
    weft_free(raw->split);
    raw->split = NULL;
    raw->splits = 0;
    WEFT_TRY(reader_npz_splits(npz, raw));
    WEFT_CHECK(raw->splits > 0, WEFT_ERR_DATA, "%s: holds no split: arrays train, valid (or val) and test are needed",
               npz->path);
    return WEFT_OK;
}

static const file_takers split_takers = {
    .folder = reader_split_lists, .npy = reader_split_codes, .npz = npz_splits, .text = reader_text_split};

weft_status reader_attach(const convert_options *options, raw_graph *raw)
{
    if (options->feature_path != NULL) {
        WEFT_TRY(look_for_features(options->feature_path, raw));
    }
    if (options->label_path != NULL) {
        WEFT_TRY(take_file(options->label_path, &label_takers, raw));
    }
    if (options->split_path != NULL) {
        WEFT_TRY(take_file(options->split_path, &split_takers, raw));
    }
    if (options->random_split == NULL) {
        return WEFT_OK;
    }
    if (raw->splits > 0) {
        log_info("the drawn split replaces the input's");
    }
    return reader_split_draw(options->random_split, options->seed, raw);
}
