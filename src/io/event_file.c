/* io/event_file.c: see io/event_file.h. */
#include "io/event_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/protobuf.h"

enum { HEADER = 12, FOOTER = 4 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { NAMES_TRIED = 1000 };

/* ---- checksums ---- */

/* Bit by bit: a record is some hundred bytes. The polynomial 0x1edc6f41, reflected. */
uint32_t event_file_crc(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes; ++i) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
        }
    }
    return ~crc;
}

static uint32_t masked_crc(const void *data, size_t bytes)
{
    uint32_t crc = event_file_crc(data, bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* ---- messages ---- */

/* Little-endian, whatever the machine. */
static void put_fixed(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An Event's first fields. */
static void begin_event(protobuf *m, int64_t step)
{
    *m = (protobuf){.size = 0};
    protobuf_double(m, EVENT_TIME, wall_seconds());
    if (step > 0) {
        protobuf_int(m, EVENT_STEP, step);
    }
}

static weft_status append(const event_file *file, const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(file->fd, data, bytes);
        if (n < 0 && errno != EINTR) {
            return weft_fail_errno(errno, file->path);
        }
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return WEFT_OK;
}

/* Frames the event, appends it all at once, and frees it. */
static weft_status end_event(protobuf *m, const event_file *file)
{
    uint8_t *record = NULL;
    weft_status status = m->status;
    status = status == WEFT_OK ? WEFT_NEW(&record, HEADER + m->size + FOOTER, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        put_fixed(record, m->size, 8);
        put_fixed(record + 8, masked_crc(record, 8), 4);
        memcpy(record + HEADER, m->data, m->size);
        put_fixed(record + HEADER + m->size, masked_crc(m->data, m->size), 4);
        status = append(file, record, HEADER + m->size + FOOTER);
    }
    weft_free(record);
    protobuf_free(m);
    return status;
}

/* ---- writing ---- */

weft_status event_file_create(const char *folder, const char *host, event_file *file)
{
    static const char version[] = "brain.Event:2";
    protobuf m;
    long long second = (long long)wall_seconds();
    file->fd = -1;
    for (int i = 0; i < NAMES_TRIED && file->fd < 0; ++i) {
        WEFT_TRY(file_path(file->path, "%s/" EVENT_FILE_PREFIX "%010lld.%s", folder, second + i, host));
        file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file->fd < 0 && errno != EEXIST) {
            return weft_fail_errno(errno, file->path);
        }
    }
    WEFT_CHECK(file->fd >= 0, WEFT_ERR_IO, "%s and the %d names after it are taken", file->path, NAMES_TRIED);
    begin_event(&m, 0);
    protobuf_text(&m, EVENT_VERSION, version);
    weft_status status = end_event(&m, file);
    if (status != WEFT_OK) {
        event_file_close(file);
    }
    return status;
}

weft_status event_file_restart(event_file *file, int64_t step)
{
    static const uint8_t start[] = {1 << 3 | WIRE_VARINT, 1};
    protobuf m;
    begin_event(&m, step);
    protobuf_bytes(&m, EVENT_SESSION, start, sizeof start);
    return end_event(&m, file);
}

static void put_value(protobuf *summary, const event_value *value)
{
    protobuf v = {.size = 0};
    assert(strlen(value->tag) <= EVENT_TAG_MAX);
    protobuf_text(&v, 1, value->tag);
    protobuf_float(&v, 2, value->value);
    protobuf_message(summary, 1, &v);
    protobuf_free(&v);
}

weft_status event_file_write(event_file *file, int64_t step, const event_value *value, int count)
{
    protobuf m, summary = {.size = 0};
    for (int i = 0; i < count; ++i) {
        put_value(&summary, &value[i]);
    }
    begin_event(&m, step);
    protobuf_message(&m, EVENT_SUMMARY, &summary);
    protobuf_free(&summary);
    return end_event(&m, file);
}

void event_file_close(event_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}

/* ---- cutting ---- */

static uint64_t get_fixed(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static bool get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* The field behind a key is passed over; false past the end. */
static bool skip_field(const uint8_t **at, const uint8_t *end, unsigned wire)
{
    uint64_t bytes = wire == WIRE_64 ? 8 : wire == WIRE_32 ? 4 : 0;
    bool known = bytes > 0 || (wire == WIRE_BYTES && get_varint(at, end, &bytes));
    if (!known || bytes > (uint64_t)(end - *at)) {
        return false;
    }
    *at += bytes;
    return true;
}

/* The step of an event, 0 where it has none; false for what is no event. */
static bool step_of(const uint8_t *at, const uint8_t *end, int64_t *step)
{
    *step = 0;
    while (at < end) {
        uint64_t key = 0, value = 0;
        if (!get_varint(&at, end, &key)) {
            return false;
        }
        bool varint = (key & 7) == WIRE_VARINT;
        if (varint ? !get_varint(&at, end, &value) : !skip_field(&at, end, (unsigned)(key & 7))) {
            return false;
        }
        if (varint && key >> 3 == EVENT_STEP) {
            *step = (int64_t)value;
        }
    }
    return true;
}

/* Bytes of the record at the front of data[bytes], and its step; 0 when none is there, or a damaged one. */
static size_t record_at(const uint8_t *data, size_t bytes, int64_t *step)
{
    if (bytes < HEADER + FOOTER || get_fixed(data + 8, 4) != masked_crc(data, 8)) {
        return 0;
    }
    const uint64_t length = get_fixed(data, 8);
    if (length > bytes - HEADER - FOOTER ||
        get_fixed(data + HEADER + length, 4) != masked_crc(data + HEADER, (size_t)length) ||
        !step_of(data + HEADER, data + HEADER + length, step)) {
        return 0;
    }
    return (size_t)length + HEADER + FOOTER;
}

weft_status event_file_cut(const char *path, int64_t step)
{
    file_map map = {.data = NULL};
    size_t kept = 0, next = 0;
    int64_t here = 0;
    WEFT_TRY(file_map_open(path, &map));
    while (kept < map.size && (next = record_at(map.data + kept, map.size - kept, &here)) > 0 && here <= step) {
        kept += next;
    }
    const bool longer = kept < map.size;
    file_map_close(&map);
    WEFT_CHECK(kept > 0 || !longer, WEFT_ERR_DATA, "%s: is no event file: it stays as it is", path);
    return !longer || truncate(path, (off_t)kept) == 0 ? WEFT_OK : weft_fail_errno(errno, path);
}
