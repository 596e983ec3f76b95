/*
 * base/npz_reader.c: arrays out of an .npz, a zip of .npy images.
 *
 * The .npy header of a member is unpacked first; its shape sizes the buffer into which the rest is inflated. Members
 * may be read in any order; each call unpacks its member from the start.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/npy.h"
#include "base/zip.h"

enum { MEMBERS_MAX = 10000 };

struct npz_file {
    file_map map;
    zip_directory directory;
    char path[FILE_PATH_MAX];
};

weft_status npz_open(const char *path, npz_file **npz)
{
    *npz = NULL;
    npz_file *file = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&file, 1, WEFT_MEM_GENERAL));
    weft_status status;
    WEFT_TRY_GOTO(file_path(file->path, "%s", path), status, done);
    WEFT_TRY_GOTO(file_map_open(path, &file->map), status, done);
    WEFT_CHECK_GOTO(file->map.size > 0, status, done, WEFT_ERR_DATA, "%s: is empty, expected an .npz", path);
    WEFT_CHECK_GOTO(file->map.data[0] != 0x80, status, done, WEFT_ERR_DATA,
                    "%s: is a Python pickle, which can run code when it is read; convert Planetoid files with "
                    "scripts/convert_planetoid, others with numpy.savez of plain arrays",
                    path);
    WEFT_TRY_GOTO(zip_directory_read(path, file->map.data, file->map.size, &file->directory), status, done);
    WEFT_CHECK_GOTO(file->directory.count <= MEMBERS_MAX, status, done, WEFT_ERR_DATA,
                    "%s: %zu arrays; the limit is %d", path, file->directory.count, MEMBERS_MAX);
    for (size_t i = 0; i < file->directory.count; i++) {
        char *name = file->directory.members[i].name;
        size_t length = strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0) {
            name[length - 4] = '\0';
        }
    }
    for (int i = 0; i < npz_count(file); i++) {
        WEFT_CHECK_GOTO(npz_find(file, npz_name(file, i)) == i, status, done, WEFT_ERR_DATA,
                        "%s: two arrays named '%s'", path, npz_name(file, i));
    }
    *npz = file;
    return WEFT_OK;
done:
    npz_close(file);
    return status;
}

void npz_close(npz_file *npz)
{
    if (npz != NULL) {
        zip_directory_free(&npz->directory);
        file_map_close(&npz->map);
        weft_free(npz);
    }
}

int npz_count(const npz_file *npz)
{
    return (int)npz->directory.count;
}

const char *npz_name(const npz_file *npz, int i)
{
    return npz->directory.members[i].name;
}

int npz_find(const npz_file *npz, const char *name)
{
    for (int i = 0; i < npz_count(npz); i++) {
        if (strcmp(npz_name(npz, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static weft_status member_label(const npz_file *npz, int i, char label[FILE_PATH_MAX])
{
    return file_path(label, "%s[%.256s]", npz->path, npz_name(npz, i));
}

/* Unpack the .npy header of a stream just opened; the stream then stands at the first element. */
static weft_status read_header(zip_stream *stream, npy_header *header)
{
    uint8_t lead[12];
    size_t size = (size_t)stream->member->bytes;
    size_t have = size < sizeof lead ? size : sizeof lead;
    WEFT_TRY(zip_stream_read(stream, lead, have));
    /* Where the header ends; a wrong magic, version or length is left for npy_parse_header to name. */
    size_t end = have;
    if (have == sizeof lead && memcmp(lead, "\x93NUMPY", 6) == 0) {
        bool wide = lead[6] > 1;
        size_t length = (size_t)lead[8] | (size_t)lead[9] << 8;
        length |= wide ? (size_t)lead[10] << 16 | (size_t)lead[11] << 24 : 0;
        end = (wide ? 12 : 10) + length;
    }
    if (end <= have || end > size || end > NPY_HEADER_MAX) {
        end = have;
    }
    uint8_t *text = NULL;
    WEFT_TRY(WEFT_NEW(&text, end + 1, WEFT_MEM_GENERAL));
    memcpy(text, lead, have);
    weft_status status;
    WEFT_TRY_GOTO(zip_stream_read(stream, text + have, end - have), status, done);
    WEFT_TRY_GOTO(npy_parse_header(stream->name, text, size, header), status, done);
    assert(header->data_offset == end);
done:
    weft_free(text);
    return status;
}

weft_status npz_read_header(npz_file *npz, int i, npy_header *header)
{
    char label[FILE_PATH_MAX];
    WEFT_TRY(member_label(npz, i, label));
    zip_stream stream;
    WEFT_TRY(zip_stream_open(label, npz->map.data, &npz->directory.members[i], &stream));
    weft_status status = read_header(&stream, header);
    zip_stream_close(&stream);
    return status;
}

static void swap_bytes(uint8_t *data, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++, data += width) {
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            uint8_t byte = data[low];
            data[low] = data[high];
            data[high] = byte;
        }
    }
}

/* Rewrite a Fortran-ordered array in C order: a walk over the output with a running source offset. */
static weft_status transpose(npy_header *header, void **data)
{
    uint8_t *out = NULL;
    WEFT_TRY(weft_malloc(header->data_bytes, 1, WEFT_MEM_GENERAL, (void **)&out));
    size_t item = (size_t)header->item_bytes;
    size_t stride[NPY_MAX_DIMS];
    int64_t index[NPY_MAX_DIMS] = {0};
    for (int d = 0; d < header->dims; d++) {
        stride[d] = d == 0 ? item : stride[d - 1] * (size_t)header->shape[d - 1];
    }
    const uint8_t *from = *data;
    uint8_t *to = out;
    for (int64_t i = 0; i < header->count; i++, to += item) {
        memcpy(to, from, item);
        for (int d = header->dims - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < header->shape[d]) {
                break;
            }
            from -= stride[d] * (size_t)header->shape[d];
            index[d] = 0;
        }
    }
    weft_free(*data);
    *data = out;
    return WEFT_OK;
}

/* Native byte order, C order. */
static weft_status normalise(npy_array *array)
{
    npy_header *header = &array->header;
    if (header->big_endian && header->data_bytes > 0) {
        size_t width = header->kind == 'U' ? 4 : (size_t)header->item_bytes;
        swap_bytes(array->data, header->data_bytes / width, width);
    }
    header->big_endian = false;
    if (header->fortran_order && header->dims > 1 && header->data_bytes > 0) {
        WEFT_TRY(transpose(header, &array->data));
    }
    header->fortran_order = false;
    return WEFT_OK;
}

weft_status npz_read(npz_file *npz, int i, npy_array *array)
{
    *array = (npy_array){.data = NULL};
    char label[FILE_PATH_MAX];
    WEFT_TRY(member_label(npz, i, label));
    zip_stream stream;
    WEFT_TRY(zip_stream_open(label, npz->map.data, &npz->directory.members[i], &stream));
    weft_status status;
    WEFT_TRY_GOTO(read_header(&stream, &array->header), status, done);
    WEFT_TRY_GOTO(weft_malloc(array->header.data_bytes, 1, WEFT_MEM_GENERAL, &array->data), status, done);
    WEFT_TRY_GOTO(zip_stream_read(&stream, array->data, array->header.data_bytes), status, done);
    WEFT_TRY_GOTO(zip_stream_finish(&stream), status, done);
    status = normalise(array);
done:
    zip_stream_close(&stream);
    if (status != WEFT_OK) {
        npy_array_free(array);
    }
    return status;
}
