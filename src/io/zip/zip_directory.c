/*
 * io/zip/zip_directory.c: the central directory of a zip archive, believed only after checking.
 *
 *     local header | data | [descriptor]  ...  central directory  [zip64 end, its locator]  end record
 *
 * Refused, with the member's name: encryption, several disks, methods other than stored (0) and deflated (8), members
 * that overlap each other or the directory (an overlap bomb packs one stream under many names), names twice, and any
 * difference between a member's local header and the directory, so that no two readers can see different archives in
 * one file. Nothing may precede the end record but the directory, nor follow it but its own comment. Cost: O(m log m)
 * for m members. Format: PKWARE APPNOTE.TXT 6.3, sections 4.3.7 to 4.3.16 and 4.5.3.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/zip/zip.h"

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    FLAG_ENCRYPTED = 1 << 0,
    FLAG_DESCRIPTOR = 1 << 3,
    FLAG_STRONG = 1 << 6,
    FLAG_MASKED = 1 << 13,
    EXTRA_ZIP64 = 1
};
#define SIGNATURE_LOCAL      0x04034b50U
#define SIGNATURE_DESCRIPTOR 0x08074b50U
#define SIGNATURE_CENTRAL    0x02014b50U
#define SIGNATURE_END        0x06054b50U
#define SIGNATURE_END64      0x06064b50U
#define SIGNATURE_LOCATOR    0x07064b50U
#define DEFLATE_RATIO_MAX                                                                                              \
    1032 /* no deflate stream unpacks to more than this times its length (zlib's technical notes) */

typedef struct archive {
    const char *path;
    const uint8_t *data;
    size_t size;
    uint64_t directory_offset, directory_bytes, count;
} archive;

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* The end record is the last thing in the file: its comment must reach exactly to the end. */
static weft_status find_end(const archive *zip, size_t *end)
{
    WEFT_CHECK(zip->size >= END_BYTES, WEFT_ERR_DATA, "%s: %zu bytes: too short for a zip archive (.npz)", zip->path,
               zip->size);
    size_t lowest = zip->size > END_BYTES + 65535 ? zip->size - END_BYTES - 65535 : 0;
    for (size_t at = zip->size - END_BYTES + 1; at-- > lowest;) {
        if (get32(zip->data + at) == SIGNATURE_END && at + END_BYTES + get16(zip->data + at + 20) == zip->size) {
            *end = at;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_DATA, "%s: no zip end record: not an .npz file, or truncated", zip->path);
}

static weft_status read_end64(archive *zip, size_t locator, size_t *directory_end)
{
    const uint8_t *p = zip->data + locator;
    uint64_t at = get64(p + 8);
    WEFT_CHECK(get32(p + 4) == 0 && get32(p + 16) <= 1, WEFT_ERR_DATA, "%s: a zip archive of several disks", zip->path);
    WEFT_CHECK(locator >= END64_BYTES && at <= locator - END64_BYTES && get32(zip->data + at) == SIGNATURE_END64,
               WEFT_ERR_DATA, "%s: the zip64 end record is not at offset %" PRIu64, zip->path, at);
    p = zip->data + at;
    WEFT_CHECK(get64(p + 4) == locator - at - 12, WEFT_ERR_DATA, "%s: the zip64 end record has a wrong length",
               zip->path);
    WEFT_CHECK(get32(p + 16) == 0 && get32(p + 20) == 0 && get64(p + 24) == get64(p + 32), WEFT_ERR_DATA,
               "%s: a zip archive of several disks", zip->path);
    zip->count = get64(p + 32);
    zip->directory_bytes = get64(p + 40);
    zip->directory_offset = get64(p + 48);
    *directory_end = at;
    return WEFT_OK;
}

static weft_status locate_directory(archive *zip)
{
    size_t end = 0;
    WEFT_TRY(find_end(zip, &end));
    const uint8_t *p = zip->data + end;
    zip->count = get16(p + 10);
    zip->directory_bytes = get32(p + 12);
    zip->directory_offset = get32(p + 16);
    size_t directory_end = end;
    bool zip64 = end >= LOCATOR_BYTES && get32(p - LOCATOR_BYTES) == SIGNATURE_LOCATOR;
    if (zip64) {
        archive wide = *zip;
        WEFT_TRY(read_end64(&wide, end - LOCATOR_BYTES, &directory_end));
        /* The short record must hold the same values, or be saturated. */
        bool agree = (zip->count == 0xffff || zip->count == wide.count) && get16(p + 8) == get16(p + 10) &&
                     (zip->directory_bytes == 0xffffffffU || zip->directory_bytes == wide.directory_bytes) &&
                     (zip->directory_offset == 0xffffffffU || zip->directory_offset == wide.directory_offset);
        WEFT_CHECK(agree, WEFT_ERR_DATA, "%s: the zip64 and the short end record disagree", zip->path);
        *zip = wide;
    } else {
        WEFT_CHECK(get16(p + 4) == 0 && get16(p + 6) == 0 && get16(p + 8) == get16(p + 10), WEFT_ERR_DATA,
                   "%s: a zip archive of several disks", zip->path);
    }
    WEFT_CHECK(zip->directory_offset <= directory_end && zip->directory_bytes == directory_end - zip->directory_offset,
               WEFT_ERR_DATA, "%s: the zip directory (%" PRIu64 " bytes at %" PRIu64 ") does not end at its end record",
               zip->path, zip->directory_bytes, zip->directory_offset);
    WEFT_CHECK(zip->count <= zip->directory_bytes / CENTRAL_BYTES, WEFT_ERR_DATA,
               "%s: %" PRIu64 " members in a zip directory of %" PRIu64 " bytes", zip->path, zip->count,
               zip->directory_bytes);
    return WEFT_OK;
}

/* Find the zip64 block of an extra field. [out] block NULL when there is none. */
static weft_status find_zip64(const char *path, const char *name, const uint8_t *extra, size_t bytes,
                              const uint8_t **block, size_t *block_bytes)
{
    *block = NULL;
    *block_bytes = 0;
    while (bytes > 0) {
        WEFT_CHECK(bytes >= 4 && get16(extra + 2) <= bytes - 4, WEFT_ERR_DATA,
                   "%s: member '%s': the zip extra field is cut short", path, name);
        size_t length = get16(extra + 2);
        if (get16(extra) == EXTRA_ZIP64) {
            WEFT_CHECK(*block == NULL, WEFT_ERR_DATA, "%s: member '%s': two zip64 extra fields", path, name);
            *block = extra + 4;
            *block_bytes = length;
        }
        extra += 4 + length;
        bytes -= 4 + length;
    }
    return WEFT_OK;
}

/* Replace a saturated 32-bit value by the next one of the zip64 block. */
static weft_status widen(const char *path, const char *name, uint64_t *value, const uint8_t **block,
                         size_t *block_bytes)
{
    if (*value != 0xffffffffU) {
        return WEFT_OK;
    }
    WEFT_CHECK(*block_bytes >= 8, WEFT_ERR_DATA, "%s: member '%s': a 64-bit size without its zip64 field", path, name);
    *value = get64(*block);
    *block += 8;
    *block_bytes -= 8;
    return WEFT_OK;
}

static weft_status copy_name(const char *path, const uint8_t *text, size_t length, char **name)
{
    WEFT_CHECK(length > 0, WEFT_ERR_DATA, "%s: a zip member without a name", path);
    for (size_t i = 0; i < length; i++) {
        WEFT_CHECK(text[i] >= 32 && text[i] != 127, WEFT_ERR_DATA,
                   "%s: a control character (0x%02x) in a zip member's name", path, text[i]);
    }
    WEFT_TRY(weft_malloc(length + 1, 1, WEFT_MEM_GENERAL, (void **)name));
    memcpy(*name, text, length);
    (*name)[length] = '\0';
    return WEFT_OK;
}

static weft_status check_kind(const archive *zip, const zip_member *member)
{
    WEFT_CHECK((member->flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED)) == 0, WEFT_ERR_DATA,
               "%s: member '%s' is encrypted", zip->path, member->name);
    WEFT_CHECK(member->method == 0 || member->method == 8, WEFT_ERR_DATA,
               "%s: member '%s' is packed by method %u; numpy writes 0 (stored) and 8 (deflated)", zip->path,
               member->name, member->method);
    WEFT_CHECK(member->method != 0 || member->packed_bytes == member->bytes, WEFT_ERR_DATA,
               "%s: member '%s' is stored but has two sizes, %" PRIu64 " and %" PRIu64, zip->path, member->name,
               member->packed_bytes, member->bytes);
    WEFT_CHECK(member->packed_bytes <= zip->directory_offset, WEFT_ERR_DATA,
               "%s: member '%s': %" PRIu64 " packed bytes in a file of %zu", zip->path, member->name,
               member->packed_bytes, zip->size);
    WEFT_CHECK(member->bytes / DEFLATE_RATIO_MAX <= member->packed_bytes, WEFT_ERR_DATA,
               "%s: member '%s': %" PRIu64 " packed bytes cannot hold %" PRIu64, zip->path, member->name,
               member->packed_bytes, member->bytes);
    return WEFT_OK;
}

/* One entry of the directory at *at; *at moves past it. */
static weft_status read_central(const archive *zip, const uint8_t **at, size_t *left, zip_member *member)
{
    const uint8_t *p = *at;
    WEFT_CHECK(*left >= CENTRAL_BYTES && get32(p) == SIGNATURE_CENTRAL, WEFT_ERR_DATA,
               "%s: the zip directory is cut short or garbled at offset %td", zip->path, p - zip->data);
    size_t name_bytes = get16(p + 28), extra_bytes = get16(p + 30);
    size_t length = CENTRAL_BYTES + name_bytes + extra_bytes + get16(p + 32);
    WEFT_CHECK(length <= *left, WEFT_ERR_DATA, "%s: the zip directory is cut short at offset %td", zip->path,
               p - zip->data);
    WEFT_TRY(copy_name(zip->path, p + CENTRAL_BYTES, name_bytes, &member->name));
    member->flags = get16(p + 8);
    member->method = get16(p + 10);
    member->crc = get32(p + 16);
    member->packed_bytes = get32(p + 20);
    member->bytes = get32(p + 24);
    member->header_offset = get32(p + 42);
    const uint8_t *block;
    size_t block_bytes;
    WEFT_TRY(find_zip64(zip->path, member->name, p + CENTRAL_BYTES + name_bytes, extra_bytes, &block, &block_bytes));
    WEFT_TRY(widen(zip->path, member->name, &member->bytes, &block, &block_bytes));
    WEFT_TRY(widen(zip->path, member->name, &member->packed_bytes, &block, &block_bytes));
    WEFT_TRY(widen(zip->path, member->name, &member->header_offset, &block, &block_bytes));
    uint32_t disk = get16(p + 34);
    if (disk == 0xffff) {
        WEFT_CHECK(block_bytes >= 4, WEFT_ERR_DATA, "%s: member '%s': a disk number without its zip64 field", zip->path,
                   member->name);
        disk = get32(block);
    }
    WEFT_CHECK(disk == 0, WEFT_ERR_DATA, "%s: member '%s' lies on another disk (%u)", zip->path, member->name, disk);
    *at += length;
    *left -= length;
    return check_kind(zip, member);
}

static weft_status fail_mismatch(const archive *zip, const zip_member *member, const char *what)
{
    return weft_fail(WEFT_ERR_DATA, "%s: member '%s': %s differs between its local header and the directory", zip->path,
                     member->name, what);
}

/* A descriptor after the data repeats CRC and sizes: with or without signature, in 32 or 64 bits. */
static bool descriptor_agrees(const archive *zip, const zip_member *member, uint64_t end, uint64_t *length)
{
    for (int form = 0; form < 4; form++) {
        size_t lead = (form & 1) != 0 ? 0 : 4;
        size_t width = (form & 2) != 0 ? 4 : 8;
        size_t bytes = lead + 4 + 2 * width;
        if (bytes > zip->directory_offset - end) {
            continue;
        }
        const uint8_t *p = zip->data + end;
        bool signature = lead == 0 || get32(p) == SIGNATURE_DESCRIPTOR;
        p += lead;
        uint64_t packed = width == 8 ? get64(p + 4) : get32(p + 4);
        uint64_t plain = width == 8 ? get64(p + 12) : get32(p + 8);
        if (signature && get32(p) == member->crc && packed == member->packed_bytes && plain == member->bytes) {
            *length = bytes;
            return true;
        }
    }
    return false;
}

/* The local header must say what the directory says. [out] end  first byte after the member. */
static weft_status check_local(const archive *zip, zip_member *member, uint64_t *end)
{
    WEFT_CHECK(zip->directory_offset >= LOCAL_BYTES && member->header_offset <= zip->directory_offset - LOCAL_BYTES,
               WEFT_ERR_DATA, "%s: member '%s' is said to start at %" PRIu64 ", outside of the file's data", zip->path,
               member->name, member->header_offset);
    const uint8_t *p = zip->data + member->header_offset;
    WEFT_CHECK(get32(p) == SIGNATURE_LOCAL, WEFT_ERR_DATA, "%s: member '%s': no local header at offset %" PRIu64,
               zip->path, member->name, member->header_offset);
    size_t name_bytes = get16(p + 26), extra_bytes = get16(p + 28);
    uint64_t room = zip->directory_offset - member->header_offset - LOCAL_BYTES;
    WEFT_CHECK(name_bytes + extra_bytes <= room && member->packed_bytes <= room - name_bytes - extra_bytes,
               WEFT_ERR_DATA, "%s: member '%s' runs into the zip directory", zip->path, member->name);
    if (name_bytes != strlen(member->name) || memcmp(p + LOCAL_BYTES, member->name, name_bytes) != 0) {
        return fail_mismatch(zip, member, "the name");
    }
    if (get16(p + 6) != member->flags || get16(p + 8) != member->method) {
        return fail_mismatch(zip, member, "the method or a flag");
    }
    uint64_t packed = get32(p + 18), plain = get32(p + 22);
    const uint8_t *block;
    size_t block_bytes;
    WEFT_TRY(find_zip64(zip->path, member->name, p + LOCAL_BYTES + name_bytes, extra_bytes, &block, &block_bytes));
    WEFT_TRY(widen(zip->path, member->name, &plain, &block, &block_bytes));
    WEFT_TRY(widen(zip->path, member->name, &packed, &block, &block_bytes));
    member->data_offset = member->header_offset + LOCAL_BYTES + name_bytes + extra_bytes;
    *end = member->data_offset + member->packed_bytes;
    bool deferred = (member->flags & FLAG_DESCRIPTOR) != 0 && get32(p + 14) == 0 && packed == 0 && plain == 0;
    if (!deferred && (get32(p + 14) != member->crc || packed != member->packed_bytes || plain != member->bytes)) {
        return fail_mismatch(zip, member, "the CRC or a size");
    }
    if ((member->flags & FLAG_DESCRIPTOR) != 0) {
        uint64_t length;
        if (!descriptor_agrees(zip, member, *end, &length)) {
            return fail_mismatch(zip, member, "the data descriptor");
        }
        *end += length;
    }
    return WEFT_OK;
}

typedef struct extent {
    uint64_t start, end;
    const char *name;
} extent;

static int by_start(const void *a, const void *b)
{
    const extent *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const extent *)a)->name, ((const extent *)b)->name);
}

static weft_status check_together(const archive *zip, extent *extents, size_t count)
{
    if (count < 2) {
        return WEFT_OK;
    }
    qsort(extents, count, sizeof *extents, by_start);
    for (size_t i = 1; i < count; i++) {
        WEFT_CHECK(extents[i].start >= extents[i - 1].end, WEFT_ERR_DATA, "%s: members '%s' and '%s' overlap",
                   zip->path, extents[i - 1].name, extents[i].name);
    }
    qsort(extents, count, sizeof *extents, by_name);
    for (size_t i = 1; i < count; i++) {
        WEFT_CHECK(strcmp(extents[i].name, extents[i - 1].name) != 0, WEFT_ERR_DATA, "%s: two members named '%s'",
                   zip->path, extents[i].name);
    }
    return WEFT_OK;
}

weft_status zip_directory_read(const char *path, const uint8_t *data, size_t size, zip_directory *directory)
{
    *directory = (zip_directory){.members = NULL};
    archive zip = {.path = path, .data = data, .size = size};
    WEFT_TRY(locate_directory(&zip));
    extent *extents = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&directory->members, zip.count, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&extents, zip.count, WEFT_MEM_GENERAL), status, done);
    directory->count = (size_t)zip.count;
    const uint8_t *at = data + zip.directory_offset;
    size_t left = (size_t)zip.directory_bytes;
    for (size_t i = 0; i < directory->count; i++) {
        zip_member *member = &directory->members[i];
        WEFT_TRY_GOTO(read_central(&zip, &at, &left, member), status, done);
        extents[i] = (extent){.start = member->header_offset, .name = member->name};
        WEFT_TRY_GOTO(check_local(&zip, member, &extents[i].end), status, done);
    }
    WEFT_CHECK_GOTO(left == 0, status, done, WEFT_ERR_DATA, "%s: %zu bytes after the last entry of the zip directory",
                    path, left);
    status = check_together(&zip, extents, directory->count);
done:
    weft_free(extents);
    if (status != WEFT_OK) {
        zip_directory_free(directory);
    }
    return status;
}

void zip_directory_free(zip_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++) {
        weft_free(directory->members[i].name);
    }
    weft_free(directory->members);
    *directory = (zip_directory){.members = NULL};
}
