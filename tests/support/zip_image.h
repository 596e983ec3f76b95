/*
 * support/zip_image.h: zip archives made by hand, so that any field can be wrong.
 *
 * zip_add writes a member (local header, data, optional descriptor) and remembers it; zip_finish writes the directory.
 * Fields of the remembered members may be changed in between: the directory then lies. Offsets of everything are known.
 */
#pragma once

#include <zlib.h>

#include "support/test.h"

typedef struct zip_entry {
    char name[64];
    uint16_t flags, method, disk;
    uint32_t crc;
    uint64_t packed, bytes, offset; /* offset of the local header */
    size_t data;                    /* offset of the data */
    int wide;                       /* sizes in zip64 fields, as numpy.savez writes them */
} zip_entry;

typedef struct zip_image {
    uint8_t bytes[1 << 16];
    size_t size, directory, directory_bytes, end;
    zip_entry entries[16];
    int count;
    int count_said; /* entries that the end record tells of; -1 = the truth */
    int wide_end;   /* add zip64 end records */
    const char *comment;
} zip_image;

static inline void zip_put(zip_image *zip, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        zip->bytes[zip->size++] = (uint8_t)(value >> (8 * i));
    }
}

static inline void zip_put_bytes(zip_image *zip, const void *data, size_t bytes)
{
    memcpy(zip->bytes + zip->size, data, bytes);
    zip->size += bytes;
}

/* method 0 or 8; flags bit 3 adds a data descriptor (and zeroes in the local header). */
static inline zip_entry *zip_add(zip_image *zip, const char *name, int method, int flags, int wide, const void *data,
                                 size_t bytes)
{
    zip_entry *entry = &zip->entries[zip->count++];
    *entry = (zip_entry){
        .flags = (uint16_t)flags, .method = (uint16_t)method, .bytes = bytes, .offset = zip->size, .wide = wide};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->crc = (uint32_t)crc32(0, data, (uInt)bytes);
    static uint8_t packed[1 << 15];
    size_t packed_bytes = bytes;
    const uint8_t *payload = data;
    if (method == 8) {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                      .avail_in = (uInt)bytes,
                      .next_out = packed,
                      .avail_out = sizeof packed};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        packed_bytes = z.total_out;
        payload = packed;
        deflateEnd(&z);
    }
    entry->packed = packed_bytes;
    int later = (flags & 8) != 0;
    zip_put(zip, 0x04034b50, 4);
    zip_put(zip, 20, 2);
    zip_put(zip, entry->flags, 2);
    zip_put(zip, entry->method, 2);
    zip_put(zip, 0, 4);
    zip_put(zip, later ? 0 : entry->crc, 4);
    zip_put(zip, wide ? 0xffffffff : later ? 0 : packed_bytes, 4);
    zip_put(zip, wide ? 0xffffffff : later ? 0 : bytes, 4);
    zip_put(zip, strlen(name), 2);
    zip_put(zip, wide ? 20 : 0, 2);
    zip_put_bytes(zip, name, strlen(name));
    if (wide) {
        zip_put(zip, 1, 2);
        zip_put(zip, 16, 2);
        zip_put(zip, later ? 0 : bytes, 8);
        zip_put(zip, later ? 0 : packed_bytes, 8);
    }
    entry->data = zip->size;
    zip_put_bytes(zip, payload, packed_bytes);
    if (later) {
        zip_put(zip, 0x08074b50, 4);
        zip_put(zip, entry->crc, 4);
        zip_put(zip, packed_bytes, wide ? 8 : 4);
        zip_put(zip, bytes, wide ? 8 : 4);
    }
    return entry;
}

static inline void zip_finish(zip_image *zip)
{
    zip->directory = zip->size;
    for (int i = 0; i < zip->count; i++) {
        const zip_entry *entry = &zip->entries[i];
        zip_put(zip, 0x02014b50, 4);
        zip_put(zip, 20, 2);
        zip_put(zip, 20, 2);
        zip_put(zip, entry->flags, 2);
        zip_put(zip, entry->method, 2);
        zip_put(zip, 0, 4);
        zip_put(zip, entry->crc, 4);
        zip_put(zip, entry->wide ? 0xffffffff : entry->packed, 4);
        zip_put(zip, entry->wide ? 0xffffffff : entry->bytes, 4);
        zip_put(zip, strlen(entry->name), 2);
        zip_put(zip, entry->wide ? 28 : 0, 2);
        zip_put(zip, 0, 2);
        zip_put(zip, entry->disk, 2);
        zip_put(zip, 0, 6);
        zip_put(zip, entry->wide ? 0xffffffff : entry->offset, 4);
        zip_put_bytes(zip, entry->name, strlen(entry->name));
        if (entry->wide) {
            zip_put(zip, 1, 2);
            zip_put(zip, 24, 2);
            zip_put(zip, entry->bytes, 8);
            zip_put(zip, entry->packed, 8);
            zip_put(zip, entry->offset, 8);
        }
    }
    zip->directory_bytes = zip->size - zip->directory;
    uint64_t count = zip->count_said >= 0 ? (uint64_t)zip->count_said : (uint64_t)zip->count;
    if (zip->wide_end) {
        size_t end64 = zip->size;
        zip_put(zip, 0x06064b50, 4);
        zip_put(zip, 44, 8);
        zip_put(zip, 45, 2);
        zip_put(zip, 45, 2);
        zip_put(zip, 0, 8);
        zip_put(zip, count, 8);
        zip_put(zip, count, 8);
        zip_put(zip, zip->directory_bytes, 8);
        zip_put(zip, zip->directory, 8);
        zip_put(zip, 0x07064b50, 4);
        zip_put(zip, 0, 4);
        zip_put(zip, end64, 8);
        zip_put(zip, 1, 4);
    }
    zip->end = zip->size;
    zip_put(zip, 0x06054b50, 4);
    zip_put(zip, 0, 4);
    zip_put(zip, zip->wide_end ? 0xffff : count, 2);
    zip_put(zip, zip->wide_end ? 0xffff : count, 2);
    zip_put(zip, zip->wide_end ? 0xffffffff : zip->directory_bytes, 4);
    zip_put(zip, zip->wide_end ? 0xffffffff : zip->directory, 4);
    zip_put(zip, zip->comment != NULL ? strlen(zip->comment) : 0, 2);
    if (zip->comment != NULL) {
        zip_put_bytes(zip, zip->comment, strlen(zip->comment));
    }
}
