/*
 * io/text/text_stream.c: see io/text/text_stream.h.
 *
 * One read loop and three decoders behind it. Sizes that a compressed file states about itself are never used: data are
 * inflated into the caller's buffer, so a small file that unpacks to a huge one costs time, not memory.
 */
#include "io/text/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#ifdef WEFT_HAVE_LZMA
#include <lzma.h>
#endif

#include "base/alloc.h"
#include "base/file.h"

enum { INPUT_BYTES = 256 << 10, XZ_MEMORY = 256 << 20, MAGIC = 6 };

typedef enum stream_kind { STREAM_PLAIN, STREAM_GZIP, STREAM_XZ } stream_kind;

struct text_stream {
    char path[FILE_PATH_MAX];
    int fd;
    stream_kind kind;
    int64_t size;
    atomic_llong consumed;
    bool file_ended, ended;
    bool inside; /* gzip: a member has begun and not ended */
    z_stream gzip;
#ifdef WEFT_HAVE_LZMA
    lzma_stream xz;
#endif
    uint8_t *input; /* compressed bytes */
    size_t input_at, input_bytes;
};

static weft_status read_file(text_stream *s, void *out, size_t capacity, size_t *got)
{
    ssize_t n;
    do {
        n = read(s->fd, out, capacity);
    } while (n < 0 && errno == EINTR);
    *got = 0;
    if (n < 0) {
        return weft_fail_errno(errno, s->path);
    }
    *got = (size_t)n;
    s->file_ended = n == 0;
    atomic_fetch_add(&s->consumed, n);
    return WEFT_OK;
}

/* Make sure that compressed input is there unless the file has ended. */
static weft_status refill(text_stream *s)
{
    if (s->input_at < s->input_bytes || s->file_ended) {
        return WEFT_OK;
    }
    s->input_at = 0;
    return read_file(s, s->input, INPUT_BYTES, &s->input_bytes);
}

/* ---- gzip ---- */

static weft_status open_gzip(text_stream *s)
{
    /* 15 + 16: the largest window, gzip headers only. */
    WEFT_CHECK(inflateInit2(&s->gzip, 15 + 16) == Z_OK, WEFT_ERR_RESOURCE, "%s: no memory for the gzip decoder",
               s->path);
    return WEFT_OK;
}

/* Between members: another one, padding with zeros, or the end. */
static weft_status next_member(text_stream *s)
{
    while (s->input_at < s->input_bytes && s->input[s->input_at] == 0) {
        s->input_at++;
    }
    if (s->input_at == s->input_bytes) {
        s->ended = s->file_ended;
        return WEFT_OK;
    }
    WEFT_CHECK(s->input[s->input_at] == 0x1f, WEFT_ERR_DATA, "%s: bytes that are not gzip follow the compressed data",
               s->path);
    WEFT_CHECK(inflateReset(&s->gzip) == Z_OK, WEFT_ERR_INTERNAL, "%s: the gzip decoder cannot be reset", s->path);
    s->inside = true;
    return WEFT_OK;
}

static weft_status read_gzip(text_stream *s, char *out, size_t capacity, size_t *got)
{
    s->gzip.next_out = (Bytef *)out;
    s->gzip.avail_out = capacity > INT32_MAX ? INT32_MAX : (uInt)capacity;
    const uInt room = s->gzip.avail_out;
    while (s->gzip.avail_out == room && !s->ended) {
        WEFT_TRY(refill(s));
        if (!s->inside) {
            WEFT_TRY(next_member(s));
            continue;
        }
        WEFT_CHECK(s->input_at < s->input_bytes, WEFT_ERR_DATA, "%s: the compressed data are cut off", s->path);
        s->gzip.next_in = s->input + s->input_at;
        s->gzip.avail_in = (uInt)(s->input_bytes - s->input_at);
        int code = inflate(&s->gzip, Z_NO_FLUSH);
        s->input_at = s->input_bytes - s->gzip.avail_in;
        WEFT_CHECK(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, WEFT_ERR_DATA,
                   "%s: damaged gzip data near byte %lld (%s)", s->path, atomic_load(&s->consumed),
                   s->gzip.msg != NULL ? s->gzip.msg : "no reason given");
        s->inside = code != Z_STREAM_END;
    }
    *got = room - s->gzip.avail_out;
    return WEFT_OK;
}

/* ---- xz ---- */

#ifdef WEFT_HAVE_LZMA
static weft_status open_xz(text_stream *s)
{
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    WEFT_CHECK(lzma_stream_decoder(&s->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK, WEFT_ERR_RESOURCE,
               "%s: no memory for the xz decoder", s->path);
    return WEFT_OK;
}

static weft_status fail_xz(const text_stream *s, lzma_ret code)
{
    const char *reason = code == LZMA_BUF_ERROR ? "the compressed data are cut off"
                         : code == LZMA_MEMLIMIT_ERROR
                             ? "its decoder needs more than 256 MiB of memory: unpack it first (xz -dk)"
                         : code == LZMA_MEM_ERROR ? "no memory for the decoder"
                                                  : "damaged xz data";
    const bool memory = code == LZMA_MEM_ERROR || code == LZMA_MEMLIMIT_ERROR;
    return weft_fail(memory ? WEFT_ERR_RESOURCE : WEFT_ERR_DATA, "%s: %s (near byte %lld)", s->path, reason,
                     atomic_load(&s->consumed));
}

static weft_status read_xz(text_stream *s, char *out, size_t capacity, size_t *got)
{
    s->xz.next_out = (uint8_t *)out;
    s->xz.avail_out = capacity;
    while (s->xz.avail_out == capacity && !s->ended) {
        WEFT_TRY(refill(s));
        s->xz.next_in = s->input + s->input_at;
        s->xz.avail_in = s->input_bytes - s->input_at;
        lzma_ret code = lzma_code(&s->xz, s->file_ended ? LZMA_FINISH : LZMA_RUN);
        s->input_at = s->input_bytes - s->xz.avail_in;
        s->ended = code == LZMA_STREAM_END;
        if (code != LZMA_OK && code != LZMA_STREAM_END) {
            return fail_xz(s, code);
        }
    }
    *got = capacity - s->xz.avail_out;
    return WEFT_OK;
}

static void close_xz(text_stream *s)
{
    lzma_end(&s->xz);
}
#else
static weft_status open_xz(text_stream *s)
{
    return weft_fail(WEFT_ERR_UNSUPPORTED,
                     "%s: an .xz file, but this build of weft has no liblzma (install liblzma-dev and build again, or "
                     "unpack the file with xz -dk)",
                     s->path);
}

static weft_status read_xz(text_stream *s, char *out, size_t capacity, size_t *got)
{
    (void)out;
    *got = capacity - capacity;
    return open_xz(s);
}

static void close_xz(text_stream *s)
{
    s->ended = true;
}
#endif

/* ---- all of them ---- */

static weft_status open_file(text_stream *s)
{
    struct stat facts;
    WEFT_TRY(file_open(s->path, &s->fd, &facts));
    s->size = facts.st_size;
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint: failing does no harm */
    return WEFT_OK;
}

static weft_status look_at_magic(text_stream *s)
{
    uint8_t magic[MAGIC];
    ssize_t n = file_read_at(s->fd, 0, magic, MAGIC);
    if (n < 0) {
        return weft_fail_errno(errno, s->path);
    }
    if (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
        s->kind = STREAM_GZIP;
        s->inside = true;
        return open_gzip(s);
    }
    if (n == MAGIC && memcmp(magic,
                             "\xfd"
                             "7zXZ",
                             MAGIC) == 0) {
        WEFT_TRY(open_xz(s));
        s->kind = STREAM_XZ;
    }
    return WEFT_OK;
}

weft_status text_stream_open(const char *path, text_stream **stream)
{
    *stream = NULL;
    text_stream *s;
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_GENERAL));
    s->fd = -1;
    weft_status status;
    WEFT_TRY_GOTO(file_path(s->path, "%s", path), status, done);
    WEFT_TRY_GOTO(open_file(s), status, done);
    WEFT_TRY_GOTO(look_at_magic(s), status, done);
    if (s->kind != STREAM_PLAIN) {
        WEFT_TRY_GOTO(WEFT_NEW(&s->input, INPUT_BYTES, WEFT_MEM_WORKSPACE), status, done);
    }
    *stream = s;
    s = NULL;
done:
    text_stream_close(s);
    return status;
}

void text_stream_close(text_stream *s)
{
    if (s == NULL) {
        return;
    }
    if (s->kind == STREAM_GZIP) {
        (void)inflateEnd(&s->gzip);
    } else if (s->kind == STREAM_XZ) {
        close_xz(s);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    WEFT_FREE_ALL(s->input, s);
}

weft_status text_stream_read(text_stream *s, char *out, size_t capacity, size_t *got)
{
    switch (s->kind) {
    case STREAM_GZIP:
        return read_gzip(s, out, capacity, got);
    case STREAM_XZ:
        return read_xz(s, out, capacity, got);
    case STREAM_PLAIN:
    default:
        return read_file(s, out, capacity, got);
    }
}

bool text_stream_plain(const text_stream *s)
{
    return s->kind == STREAM_PLAIN;
}

weft_status text_stream_read_at(const text_stream *s, int64_t offset, char *out, size_t capacity, size_t *got)
{
    const ssize_t n = file_read_at(s->fd, offset, out, capacity);
    *got = n < 0 ? 0 : (size_t)n;
    return n < 0 ? weft_fail_errno(errno, s->path) : WEFT_OK;
}

int64_t text_stream_size(const text_stream *s)
{
    return s->size;
}

int64_t text_stream_consumed(const text_stream *s)
{
    return atomic_load(&s->consumed);
}
