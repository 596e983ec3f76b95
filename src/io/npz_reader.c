/*
 * io/npz_reader.c: arrays out of an .npz, a zip of .npy images.
 *
 * The .npy header of a member is unpacked first; its shape sizes the buffer into which the rest is inflated. Members
 * may be read in any order; each call unpacks its member from the start. A stream hands out a member in pieces that it
 * converts through a buffer of 256 KiB.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "io/foreign_kind.h"
#include "io/npy.h"
#include "io/npy_order.h"
#include "io/zip/zip.h"

enum { MEMBERS_MAX = 10000, PIECE_BYTES = 256 << 10 };

struct npz_file {
    file_map map;
    zip_directory directory;
    char path[FILE_PATH_MAX];
};

/* Other zip archives may hold arrays, too: their members tell. */
static weft_status check_kind(const char *path, const file_map *map)
{
    const foreign_kind *kind = foreign_kind_of(map->data, map->size < FOREIGN_HEAD ? map->size : FOREIGN_HEAD);
    WEFT_CHECK(kind == NULL || kind == &foreign_arrays || kind == &foreign_zip, WEFT_ERR_DATA, "%s: is %s: %s", path,
               kind->what, kind->cure);
    return WEFT_OK;
}

weft_status npz_open(const char *path, npz_file **npz)
{
    *npz = NULL;
    npz_file *file = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&file, 1, WEFT_MEM_GENERAL));
    weft_status status;
    WEFT_TRY_GOTO(file_path(file->path, "%s", path), status, done);
    WEFT_TRY_GOTO(file_map_open(path, &file->map), status, done);
    WEFT_CHECK_GOTO(file->map.size > 0, status, done, WEFT_ERR_DATA, "%s: is empty, expected an .npz", path);
    WEFT_TRY_GOTO(check_kind(path, &file->map), status, done);
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
    status = npy_array_order(array);
done:
    zip_stream_close(&stream);
    if (status != WEFT_OK) {
        npy_array_free(array);
    }
    return status;
}

/* ---- in pieces ---- */

struct npz_stream {
    char label[FILE_PATH_MAX];
    zip_stream zip;
    npy_header header;
    int64_t next; /* the element that comes next */
    uint8_t piece[PIECE_BYTES];
};

weft_status npz_stream_open(npz_file *npz, int i, npz_stream **stream)
{
    *stream = NULL;
    npz_stream *fresh = NULL;
    WEFT_TRY(WEFT_NEW(&fresh, 1, WEFT_MEM_GENERAL));
    fresh->next = 0;
    fresh->zip = (zip_stream){.name = NULL};
    weft_status status;
    WEFT_TRY_GOTO(member_label(npz, i, fresh->label), status, done);
    WEFT_TRY_GOTO(zip_stream_open(fresh->label, npz->map.data, &npz->directory.members[i], &fresh->zip), status, done);
    WEFT_TRY_GOTO(read_header(&fresh->zip, &fresh->header), status, done);
    WEFT_CHECK_GOTO(!fresh->header.fortran_order || fresh->header.dims < 2, status, done, WEFT_ERR_DATA,
                    "%s: is stored in Fortran order; save numpy.ascontiguousarray of it", fresh->label);
    *stream = fresh;
    return WEFT_OK;
done:
    npz_stream_close(fresh);
    return status;
}

const npy_header *npz_stream_header(const npz_stream *stream)
{
    return &stream->header;
}

/* The next piece, at most `most` elements, into the buffer in native byte order. */
static weft_status next_piece(npz_stream *stream, int64_t most, int64_t *count)
{
    const npy_header *header = &stream->header;
    int64_t item = header->item_bytes;
    WEFT_CHECK(item > 0 && item <= 8, WEFT_ERR_DATA, "%s: holds text, expected numbers", stream->label);
    WEFT_CHECK(most <= header->count - stream->next, WEFT_ERR_INTERNAL, "%s: read beyond its end", stream->label);
    *count = most < PIECE_BYTES / item ? most : PIECE_BYTES / item;
    WEFT_TRY(zip_stream_read(&stream->zip, stream->piece, (size_t)(*count * item)));
    if (header->big_endian) {
        npy_swap_bytes(stream->piece, (size_t)*count, (size_t)item);
    }
    return WEFT_OK;
}

weft_status npz_stream_i64(npz_stream *stream, int64_t count, int64_t *out)
{
    for (int64_t done = 0, piece; done < count; done += piece) {
        WEFT_TRY(next_piece(stream, count - done, &piece));
        WEFT_TRY(npy_convert_i64(stream->label, &stream->header, stream->piece, stream->next, piece, out + done));
        stream->next += piece;
    }
    return WEFT_OK;
}

weft_status npz_stream_f32(npz_stream *stream, int64_t count, float *out)
{
    for (int64_t done = 0, piece; done < count; done += piece) {
        WEFT_TRY(next_piece(stream, count - done, &piece));
        WEFT_TRY(npy_convert_f32(stream->label, &stream->header, stream->piece, stream->next, piece, out + done));
        stream->next += piece;
    }
    return WEFT_OK;
}

weft_status npz_stream_skip(npz_stream *stream, int64_t count)
{
    for (int64_t done = 0, piece; done < count; done += piece) {
        WEFT_TRY(next_piece(stream, count - done, &piece));
        stream->next += piece;
    }
    return WEFT_OK;
}

weft_status npz_stream_finish(npz_stream *stream)
{
    return zip_stream_finish(&stream->zip);
}

void npz_stream_close(npz_stream *stream)
{
    if (stream != NULL) {
        zip_stream_close(&stream->zip);
        weft_free(stream);
    }
}
