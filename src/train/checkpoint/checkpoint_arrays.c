/*
 * train/checkpoint/checkpoint_arrays.c: parameters by name, in full precision, and the files of ranks.
 *
 * Names free the files from the layout of the flat buffer: a model whose blocks are arranged otherwise reads them, and
 * so does NumPy. What a synchronisation mode remembers has no such meaning and stays bytes.
 */
#include <string.h>

#include "base/alloc.h"
#include "comm/comm_options.def"
#include "train/checkpoint/checkpoint_internal.h"

const char *const checkpoint_file_names[CHECKPOINT_FILES] = {
    [FILE_LAST] = "last.npz",   [FILE_BEST] = "best.npz",     [FILE_AVERAGE] = "average.npz",
    [FILE_FIRST] = "first.npz", [FILE_SECOND] = "second.npz",
};

/* ---- by name ---- */

static bool is_in(const param_entry *entry, int64_t elements)
{
    return entry->offset < elements;
}

/* Between a parameter's place in the flat buffer and a matrix without gaps. */
static void copy_entry(const param_entry *entry, size_t item, unsigned char *flat, unsigned char *matrix, bool out)
{
    size_t row_bytes = (size_t)entry->cols * item;
    for (int64_t row = 0; row < entry->rows; ++row) {
        unsigned char *place = flat + (size_t)(entry->offset + row * entry->ld) * item;
        unsigned char *packed = matrix + (size_t)row * row_bytes;
        memcpy(out ? packed : place, out ? place : packed, row_bytes);
    }
}

weft_status checkpoint_write_named(const char *path, const param_store *params, const void *flat, int64_t elements)
{
    weft_status status = WEFT_OK;
    npz_writer *npz = NULL;
    unsigned char *matrix = NULL;
    int64_t most = 0; /* elements of a parameter */
    size_t item = weft_dtype_bytes(params->dtype);
    unsigned char *from = (unsigned char *)(uintptr_t)flat; /* only read */
    for (int i = 0; i < params->entries; ++i) {
        const int64_t count = params->entry[i].rows * params->entry[i].cols;
        most = count > most ? count : most;
    }
    WEFT_TRY_GOTO(weft_malloc((size_t)most, item, WEFT_MEM_WORKSPACE, (void **)&matrix), status, done);
    WEFT_TRY_GOTO(npz_writer_open(path, &npz), status, done);
    for (int i = 0; i < params->entries; ++i) {
        const param_entry *entry = &params->entry[i];
        if (is_in(entry, elements)) {
            copy_entry(entry, item, from, matrix, true);
            WEFT_TRY_GOTO(npz_writer_add(npz, entry->name, 'f', (int)item, entry->rank, entry->shape, matrix), status,
                          done);
        }
    }
    status = npz_writer_commit(npz);
    npz = NULL;
done:
    npz_writer_discard(npz);
    weft_free(matrix);
    return status;
}

static weft_status read_entry(const char *path, npz_file *npz, const param_entry *entry, int item, void *flat)
{
    npy_array array = {0};
    int member = npz_find(npz, entry->name);
    WEFT_CHECK(member >= 0, WEFT_ERR_DATA, "%s: no array \"%s\": it belongs to another model", path, entry->name);
    weft_status status = npz_read_header(npz, member, &array.header);
    if (status == WEFT_OK) {
        array.header.big_endian = false; /* swapped by npz_read, as is Fortran order */
        array.header.fortran_order = false;
        status = npy_expect(entry->name, &array.header, 'f', item, entry->rank, entry->shape);
    }
    if (status != WEFT_OK) {
        return weft_fail_context(status, "%s: ", path);
    }
    WEFT_TRY(npz_read(npz, member, &array));
    copy_entry(entry, (size_t)item, flat, array.data, false);
    npy_array_free(&array);
    return WEFT_OK;
}

weft_status checkpoint_read_named(const char *path, const param_store *params, void *flat, int64_t elements)
{
    weft_status status = WEFT_OK;
    npz_file *npz = NULL;
    int expected = 0;
    size_t item = weft_dtype_bytes(params->dtype);
    WEFT_TRY(npz_open(path, &npz));
    memset(flat, 0, (size_t)elements * item);
    for (int i = 0; i < params->entries; ++i) {
        if (is_in(&params->entry[i], elements)) {
            WEFT_TRY_GOTO(read_entry(path, npz, &params->entry[i], (int)item, flat), status, done);
            expected += 1;
        }
    }
    WEFT_CHECK_GOTO(npz_count(npz) == expected, status, done, WEFT_ERR_DATA,
                    "%s: %d arrays, the model has %d: it belongs to another model", path, npz_count(npz), expected);
done:
    npz_close(npz);
    return status;
}

/* ---- of a rank ---- */

weft_status checkpoint_rank_path(char path[FILE_PATH_MAX], const char *folder, int rank)
{
    return file_path(path, "%s/rank-%05d.npz", folder, rank);
}

static char kind_of(const checkpoint_piece *piece)
{
    return piece->item_bytes == 1 ? 'u' : 'f';
}

weft_status checkpoint_write_rank(const char *path, const checkpoint_piece *piece, int count, const void *data)
{
    weft_status status = WEFT_OK;
    npz_writer *npz = NULL;
    const unsigned char *next = data;
    WEFT_TRY(npz_writer_open(path, &npz));
    for (int i = 0; i < count; ++i) {
        const int64_t length = piece[i].bytes / piece[i].item_bytes;
        WEFT_TRY_GOTO(npz_writer_add(npz, piece[i].name, kind_of(&piece[i]), piece[i].item_bytes, 1, &length, next),
                      status, done);
        next += piece[i].bytes;
    }
    status = npz_writer_commit(npz);
    npz = NULL;
done:
    npz_writer_discard(npz);
    return status;
}

static weft_status read_piece(const char *path, npz_file *npz, const checkpoint_piece *piece, void *data)
{
    npy_header header;
    npy_array array = {0};
    const int64_t length = piece->bytes / piece->item_bytes;
    int member = npz_find(npz, piece->name);
    if (piece->optional) {
        memset(data, 0, (size_t)piece->bytes);
        if (member < 0) {
            return WEFT_OK;
        }
    }
    WEFT_CHECK(member >= 0, WEFT_ERR_DATA, "%s: no array \"%s\": " FLAG_SYNC " or the model has other options", path,
               piece->name);
    WEFT_TRY(npz_read_header(npz, member, &header));
    if (piece->optional && header.count != length) {
        return WEFT_OK;
    }
    WEFT_CHECK(header.kind == kind_of(piece) && header.item_bytes == piece->item_bytes && header.dims == 1 &&
                   header.count == length,
               WEFT_ERR_DATA, "%s: \"%s\" has %lld elements of %d bytes, expected %lld of %d", path, piece->name,
               (long long)header.count, header.item_bytes, (long long)length, piece->item_bytes);
    WEFT_TRY(npz_read(npz, member, &array));
    if (piece->bytes > 0) {
        memcpy(data, array.data, (size_t)piece->bytes);
    }
    npy_array_free(&array);
    return WEFT_OK;
}

weft_status checkpoint_read_rank(const char *path, const checkpoint_piece *piece, int count, void *data)
{
    weft_status status = WEFT_OK;
    npz_file *npz = NULL;
    unsigned char *next = data;
    WEFT_TRY(npz_open(path, &npz));
    for (int i = 0; i < count && status == WEFT_OK; ++i) {
        status = read_piece(path, npz, &piece[i], next);
        next += piece[i].bytes;
    }
    npz_close(npz);
    return status;
}

weft_status checkpoint_rank_fits(const char *path, const checkpoint_piece *piece, int count, bool *fits)
{
    weft_status status = WEFT_OK;
    npz_file *npz = NULL;
    *fits = true;
    WEFT_TRY(npz_open(path, &npz));
    for (int i = 0; i < count && status == WEFT_OK && *fits; ++i) {
        npy_header header = {0};
        const int member = npz_find(npz, piece[i].name);
        status = member >= 0 ? npz_read_header(npz, member, &header) : WEFT_OK;
        *fits = piece[i].optional || (member >= 0 && header.count == piece[i].bytes / piece[i].item_bytes);
    }
    npz_close(npz);
    return status;
}
