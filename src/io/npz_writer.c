/*
 * io/npz_writer.c: an .npz of stored members, as numpy.savez writes them.
 *
 * CRC and sizes are known before a member is written, so local headers are final and the file is never read back. Sizes
 * and offsets of 4 GiB and more go to zip64 fields. Member times are fixed: equal arrays make equal files.
 */
#include <string.h>

#include "base/alloc.h"
#include "io/npy.h"
#include "io/npy_text.h"
#include "io/zip/crc32.h"

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, VERSION_ZIP64 = 45, DATE_1980 = 33, NAME_MAX_BYTES = 200 };
#define SATURATED 0xffffffffU

typedef struct written_member {
    char name[NAME_MAX_BYTES + 8];
    uint32_t crc;
    uint64_t bytes, offset;
} written_member;

struct npz_writer {
    file_writer file;
    written_member *members;
    size_t count, capacity;
    uint64_t offset; /* bytes written so far */
};

/* A little-endian record being filled. */
typedef struct record {
    uint8_t bytes[160];
    size_t used;
} record;

static void put(record *to, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        to->bytes[to->used++] = (uint8_t)(value >> (8 * i));
    }
}

static weft_status emit(npz_writer *writer, const void *data, size_t bytes)
{
    WEFT_TRY(file_write(&writer->file, data, bytes));
    writer->offset += bytes;
    return WEFT_OK;
}

weft_status npz_writer_open(const char *path, npz_writer **writer)
{
    *writer = NULL;
    npz_writer *fresh = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&fresh, 1, WEFT_MEM_GENERAL));
    weft_status status = file_writer_open(path, &fresh->file);
    if (status != WEFT_OK) {
        weft_free(fresh);
        return status;
    }
    *writer = fresh;
    return WEFT_OK;
}

/* Version, flags, method, time, date, CRC and both sizes: what local header and directory have in common. */
static void put_facts(record *to, const written_member *member)
{
    uint64_t size = member->bytes < SATURATED ? member->bytes : SATURATED;
    put(to, VERSION_ZIP64, 2);
    put(to, 0, 2); /* flags */
    put(to, 0, 2); /* stored */
    put(to, 0, 2); /* midnight */
    put(to, DATE_1980, 2);
    put(to, member->crc, 4);
    put(to, size, 4);
    put(to, size, 4);
    put(to, strlen(member->name), 2);
}

static weft_status emit_local(npz_writer *writer, const written_member *member)
{
    bool wide = member->bytes >= SATURATED;
    record to = {.used = 0};
    put(&to, 0x04034b50U, 4);
    put_facts(&to, member);
    put(&to, wide ? 20 : 0, 2);
    WEFT_TRY(emit(writer, to.bytes, to.used));
    WEFT_TRY(emit(writer, member->name, strlen(member->name)));
    if (!wide) {
        return WEFT_OK;
    }
    to.used = 0;
    put(&to, 1, 2);
    put(&to, 16, 2);
    put(&to, member->bytes, 8);
    put(&to, member->bytes, 8);
    return emit(writer, to.bytes, to.used);
}

static weft_status emit_central(npz_writer *writer, const written_member *member)
{
    bool wide_size = member->bytes >= SATURATED, wide_offset = member->offset >= SATURATED;
    unsigned extra = (wide_size ? 16U : 0U) + (wide_offset ? 8U : 0U);
    record to = {.used = 0};
    put(&to, 0x02014b50U, 4);
    put(&to, VERSION_ZIP64, 2); /* made by: FAT attributes, specification 4.5 */
    put_facts(&to, member);
    put(&to, extra > 0 ? extra + 4 : 0, 2);
    put(&to, 0, 2); /* comment */
    put(&to, 0, 2); /* disk */
    put(&to, 0, 2); /* internal attributes */
    put(&to, 0, 4); /* external attributes */
    put(&to, wide_offset ? SATURATED : member->offset, 4);
    WEFT_TRY(emit(writer, to.bytes, to.used));
    WEFT_TRY(emit(writer, member->name, strlen(member->name)));
    to.used = 0;
    if (extra > 0) {
        put(&to, 1, 2);
        put(&to, extra, 2);
        if (wide_size) {
            put(&to, member->bytes, 8);
            put(&to, member->bytes, 8);
        }
        if (wide_offset) {
            put(&to, member->offset, 8);
        }
    }
    return emit(writer, to.bytes, to.used);
}

/* A new member at the end of the list. */
static weft_status remember(npz_writer *writer, const char *name)
{
    WEFT_CHECK(strlen(name) <= NAME_MAX_BYTES, WEFT_ERR_INTERNAL, "%s: array name '%.40s...' is longer than %d bytes",
               writer->file.path, name, NAME_MAX_BYTES);
    if (writer->count == writer->capacity) {
        size_t capacity = writer->capacity == 0 ? 16 : 2 * writer->capacity;
        WEFT_TRY(weft_realloc((void **)&writer->members, capacity, sizeof *writer->members, WEFT_MEM_GENERAL));
        writer->capacity = capacity;
    }
    written_member *member = &writer->members[writer->count++];
    snprintf(member->name, sizeof member->name, "%s.npy", name);
    for (size_t i = 0; i + 1 < writer->count; i++) {
        WEFT_CHECK(strcmp(writer->members[i].name, member->name) != 0, WEFT_ERR_INTERNAL, "%s: two arrays named '%s'",
                   writer->file.path, name);
    }
    return WEFT_OK;
}

/* The member's entry and everything before its data. */
static weft_status begin_member(npz_writer *writer, const char *name, const char *text, size_t text_bytes,
                                size_t data_bytes, uint32_t crc)
{
    WEFT_TRY(remember(writer, name));
    written_member *member = &writer->members[writer->count - 1];
    member->crc = crc;
    member->bytes = text_bytes + data_bytes;
    member->offset = writer->offset;
    WEFT_TRY(emit_local(writer, member));
    return emit(writer, text, text_bytes);
}

weft_status npz_writer_add(npz_writer *writer, const char *name, char kind, int item_bytes, int dims,
                           const int64_t *shape, const void *data)
{
    char text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    WEFT_TRY(npy_header_text(name, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    uint32_t crc = zip_crc32(0, text, text_bytes);
    crc = data_bytes > 0 ? zip_crc32(crc, data, data_bytes) : crc;
    WEFT_TRY(begin_member(writer, name, text, text_bytes, data_bytes, crc));
    return emit(writer, data, data_bytes);
}

weft_status npz_writer_add_filled(npz_writer *writer, const char *name, char kind, int item_bytes, int dims,
                                  const int64_t *shape,
                                  void (*fill)(const void *self, int64_t first, int64_t count, void *out),
                                  const void *self)
{
    enum { PIECE_BYTES = 1 << 20 };
    char text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    WEFT_TRY(npy_header_text(name, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    uint32_t crc = zip_crc32(0, text, text_bytes);
    void *piece = NULL;
    WEFT_TRY(weft_malloc(PIECE_BYTES, 1, WEFT_MEM_WORKSPACE, &piece));
    int64_t total = (int64_t)data_bytes / item_bytes, step = PIECE_BYTES / item_bytes;
    weft_status status = WEFT_OK;
    for (int pass = 0; pass < 2 && status == WEFT_OK; pass++) {
        for (int64_t first = 0; first < total && status == WEFT_OK; first += step) {
            int64_t count = total - first < step ? total - first : step;
            fill(self, first, count, piece);
            if (pass == 0) {
                crc = zip_crc32(crc, piece, (size_t)(count * item_bytes));
            } else {
                status = emit(writer, piece, (size_t)(count * item_bytes));
            }
        }
        if (pass == 0) {
            status = begin_member(writer, name, text, text_bytes, data_bytes, crc);
        }
    }
    weft_free(piece);
    return status;
}

/* End records; the zip64 ones only where a value needs them. */
static weft_status emit_end(npz_writer *writer, uint64_t start)
{
    uint64_t end = writer->offset, bytes = end - start;
    record to = {.used = 0};
    if (writer->count >= 0xffff || start >= SATURATED || bytes >= SATURATED) {
        put(&to, 0x06064b50U, 4);
        put(&to, 44, 8); /* what follows of this record */
        put(&to, VERSION_ZIP64, 2);
        put(&to, VERSION_ZIP64, 2);
        put(&to, 0, 4);
        put(&to, 0, 4);
        put(&to, writer->count, 8);
        put(&to, writer->count, 8);
        put(&to, bytes, 8);
        put(&to, start, 8);
        put(&to, 0x07064b50U, 4);
        put(&to, 0, 4);
        put(&to, end, 8);
        put(&to, 1, 4);
    }
    uint64_t count = writer->count < 0xffff ? writer->count : 0xffff;
    put(&to, 0x06054b50U, 4);
    put(&to, 0, 4); /* disks */
    put(&to, count, 2);
    put(&to, count, 2);
    put(&to, bytes < SATURATED ? bytes : SATURATED, 4);
    put(&to, start < SATURATED ? start : SATURATED, 4);
    put(&to, 0, 2); /* comment */
    return emit(writer, to.bytes, to.used);
}

weft_status npz_writer_commit(npz_writer *writer)
{
    uint64_t start = writer->offset;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < writer->count; i++) {
        WEFT_TRY_GOTO(emit_central(writer, &writer->members[i]), status, done);
    }
    WEFT_TRY_GOTO(emit_end(writer, start), status, done);
    status = file_writer_commit(&writer->file);
done:
    npz_writer_discard(writer);
    return status;
}

void npz_writer_discard(npz_writer *writer)
{
    if (writer != NULL) {
        file_writer_discard(&writer->file);
        WEFT_FREE_ALL(writer->members, writer);
    }
}
