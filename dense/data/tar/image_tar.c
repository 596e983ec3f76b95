/*
 * dense/data/tar/image_tar.c: images in a tar, plain or packed (.tar, .tar.gz, .tar.xz), by the names of image_files.h.
 *
 *      block of 512 bytes: name, size, type, checksum | the file, filled up to whole blocks | ... | blocks of zeros
 *
 * The old format (v7), POSIX ustar and pax, and GNU's long names. A hard link is the file of that name before it; of a
 * name that comes twice the last counts. Nothing is unpacked to the disk: a name is only read, so that one with ".."
 * or a slash at its front does no harm. Of a plain archive images are read where they stand, when they are needed; of a
 * packed one all are in memory, packed as JPEG and PNG are, within the limit on memory, but for those whose first bytes
 * are no image's.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "dense/data/decode/image_decode.h"
#include "dense/data/image_files.h"
#include "dense/data/image_reader.h"
#include "dense/data/tar/tar_block.h"
#include "io/foreign_kind.h"
#include "io/text/text_stream.h"

enum {
    BLOCK = TAR_BLOCK,
    WORDS_MAX = 1 << 16, /* of a long name, or a pax header */
    SKIP_BYTES = 1 << 16,
    WINDOW_BYTES = 1 << 16, /* read at once of a plain archive of small files, */
    WINDOW_LEAST = 1 << 12, /* and of one whose next header stands far behind */
    AFTER_MAX = 1 << 28,    /* bytes behind the end of an archive, which is filled up with some zeros */
    NOT_HELD = -1           /* offset of a packed file that is no image by its first bytes */
};

typedef struct tar_file {
    char path[FILE_PATH_MAX];
    text_stream *stream;
    bool plain;
    bool loose;      /* files need no folder */
    int64_t at;      /* byte of the unpacked archive */
    uint8_t *window; /* [WINDOW_BYTES] of a plain archive: its bytes from window_at on */
    int64_t window_at;
    size_t window_bytes;
    uint8_t *held; /* images of a packed one, one after the other */
    size_t used, capacity;
    int64_t changed;       /* image_place */
    uint64_t most;         /* bytes to hold, */
    const char *most_flag; /* and the option that says so */
    char *words;           /* [WORDS_MAX + 1] of what stands before a file */
    bool named;            /* they name the next file: */
    char name[FILE_PATH_MAX];
    bool linked; /* or the target of the next link: */
    char link[FILE_PATH_MAX];
    int64_t pax_size; /* of the next file; -1: its own header says */
} tar_file;

static bool matches(const char *path)
{
    text_stream *stream;
    char block[BLOCK];
    struct stat facts;
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) || text_stream_open(path, &stream) != WEFT_OK) {
        return false;
    }
    size_t bytes = 0, got = 1;
    while (got > 0 && bytes < BLOCK && text_stream_read(stream, block + bytes, BLOCK - bytes, &got) == WEFT_OK) {
        bytes += got;
    }
    text_stream_close(stream);
    return bytes == BLOCK && tar_is_header((const uint8_t *)block);
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

static weft_status fail_short(const tar_file *t)
{
    return weft_fail(WEFT_ERR_DATA, "%s: the archive ends at byte %lld, in the middle: cut off", t->path,
                     (long long)t->at);
}

/* Bytes of a plain archive at t->at, through the window: headers of small files stand close together, and a call of the
 * system for each takes most of the time that opening the archive does. */
static weft_status read_plain(tar_file *t, void *out, size_t bytes, size_t *got)
{
    const int64_t end = t->window_at + (int64_t)t->window_bytes;
    if (t->at < t->window_at || t->at >= end) {
        const bool near = t->at >= end && t->at - end < WINDOW_BYTES;
        t->window_at = t->at;
        WEFT_TRY(text_stream_read_at(t->stream, t->at, (char *)t->window, near ? WINDOW_BYTES : WINDOW_LEAST,
                                     &t->window_bytes));
    }
    const size_t from = (size_t)(t->at - t->window_at), held = t->window_bytes - from;
    *got = bytes < held ? bytes : held;
    memcpy(out, t->window + from, *got);
    return WEFT_OK;
}

/* Fewer than `bytes` only where the archive ends. */
static weft_status read_some(tar_file *t, void *out, size_t bytes, size_t *read)
{
    *read = 0;
    for (size_t got = 1; *read < bytes && got > 0; *read += got, t->at += (int64_t)got) {
        char *to = (char *)out + *read;
        WEFT_TRY(t->plain ? read_plain(t, to, bytes - *read, &got)
                          : text_stream_read(t->stream, to, bytes - *read, &got));
    }
    return WEFT_OK;
}

static weft_status read_bytes(tar_file *t, void *out, size_t bytes)
{
    size_t read;
    WEFT_TRY(read_some(t, out, bytes, &read));
    return read == bytes ? WEFT_OK : fail_short(t);
}

static weft_status skip_bytes(tar_file *t, int64_t bytes)
{
    if (t->plain) {
        if (bytes > text_stream_size(t->stream) - t->at) {
            t->at = text_stream_size(t->stream);
            return fail_short(t);
        }
        t->at += bytes;
        return WEFT_OK;
    }
    while (bytes > 0) {
        const size_t some = bytes < SKIP_BYTES ? (size_t)bytes : SKIP_BYTES;
        WEFT_TRY(read_bytes(t, t->words, some));
        bytes -= (int64_t)some;
    }
    return WEFT_OK;
}

static int64_t padding(int64_t bytes)
{
    return (BLOCK - bytes % BLOCK) % BLOCK;
}

/* ---- headers --------------------------------------------------------------------------------------------------- */

static weft_status check_header(const tar_file *t, const uint8_t *block)
{
    if (t->at == BLOCK && !tar_is_header(block)) {
        WEFT_TRY(foreign_kind_check(t->path, block, BLOCK));
    }
    WEFT_CHECK(tar_is_header(block), WEFT_ERR_DATA,
               "%s: no header of a file at byte %lld of the archive: damaged, or not a tar", t->path,
               (long long)t->at - BLOCK);
    WEFT_CHECK(tar_number(block + TAR_SIZE_AT, TAR_SIZE_BYTES) >= 0, WEFT_ERR_DATA,
               "%s: the file at byte %lld of the archive has no size that could be read", t->path,
               (long long)t->at - BLOCK);
    return WEFT_OK;
}

static void take_name(tar_file *t, const uint8_t *block)
{
    const char *prefix = (const char *)block + TAR_PREFIX_AT;
    const char *name = (const char *)block + TAR_NAME_AT;
    const bool parted = tar_has_prefix(block);
    if (!t->named) {
        snprintf(t->name, sizeof t->name, "%.*s%s%.*s", parted ? TAR_PREFIX_BYTES : 0, prefix, parted ? "/" : "",
                 TAR_NAME_BYTES, name);
    }
    if (!t->linked) {
        snprintf(t->link, sizeof t->link, "%.*s", TAR_LINK_BYTES, (const char *)block + TAR_LINK_AT);
    }
    t->named = false;
    t->linked = false;
}

static weft_status read_words(tar_file *t, int64_t bytes)
{
    WEFT_CHECK(bytes <= WORDS_MAX, WEFT_ERR_DATA, "%s: a name or header of %lld bytes at byte %lld; at most %d",
               t->path, (long long)bytes, (long long)t->at, WORDS_MAX);
    WEFT_TRY(read_bytes(t, t->words, (size_t)bytes));
    t->words[bytes] = '\0';
    return WEFT_OK;
}

static void name_next(tar_file *t, const char *name, size_t length)
{
    snprintf(t->name, sizeof t->name, "%.*s", (int)length, name);
    t->named = true;
}

static void link_next(tar_file *t, const char *target, size_t length)
{
    snprintf(t->link, sizeof t->link, "%.*s", (int)length, target);
    t->linked = true;
}

/* Lines "LENGTH KEY=VALUE\n" of a pax header; LENGTH counts the whole line. */
static weft_status take_pax(tar_file *t, int64_t bytes)
{
    const char *end = t->words + bytes;
    for (const char *line = t->words; line < end;) {
        int64_t length = 0;
        const char *key = line;
        for (; key < end && *key >= '0' && *key <= '9' && length <= WORDS_MAX; ++key) {
            length = 10 * length + (*key - '0');
        }
        WEFT_CHECK(key > line && key < end && *key == ' ' && length > key - line + 1 && length <= end - line &&
                       line[length - 1] == '\n',
                   WEFT_ERR_DATA, "%s: a pax header before byte %lld of the archive cannot be read", t->path,
                   (long long)t->at);
        key += 1;
        const size_t rest = (size_t)(line + length - 1 - key);
        if (rest > 5 && memcmp(key, "path=", 5) == 0) {
            name_next(t, key + 5, rest - 5);
        } else if (rest > 9 && memcmp(key, "linkpath=", 9) == 0) {
            link_next(t, key + 9, rest - 9);
        } else if (rest > 5 && memcmp(key, "size=", 5) == 0) {
            char digits[NUMBER_TEXT_MAX];
            snprintf(digits, sizeof digits, "%.*s", (int)(rest - 5), key + 5);
            WEFT_CHECK(number_parse_int(digits, &t->pax_size) && t->pax_size >= 0, WEFT_ERR_DATA,
                       "%s: a file of size \"%s\" at byte %lld of the archive", t->path, digits, (long long)t->at);
        }
        line += length;
    }
    return WEFT_OK;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static weft_status fail_full(const tar_file *t)
{
    return weft_fail(
        WEFT_ERR_RESOURCE,
        "%s: its images are more than %s: raise %s, or unpack the archive to a .tar, which is read piece by piece",
        t->path, number_say_bytes(t->most).text, t->most_flag);
}

/* Room for so many bytes more, by doubling as long as the limit allows. */
static weft_status make_room(tar_file *t, size_t more)
{
    if (t->capacity - t->used >= more) {
        return WEFT_OK;
    }
    const uint64_t doubled = 2 * (uint64_t)t->capacity + SKIP_BYTES;
    const uint64_t least = (uint64_t)t->used + more;
    const uint64_t capacity = doubled < t->most ? doubled : t->most;
    t->capacity = capacity > least ? (size_t)capacity : (size_t)least;
    return weft_realloc((void **)&t->held, t->capacity, 1, WEFT_MEM_IMAGE);
}

/* Piece by piece: a header may state what the archive does not hold. What is no image by its first bytes is not
 * held. */
static weft_status hold(tar_file *t, int64_t bytes, image_place *place)
{
    place->offset = (int64_t)t->used;
    for (int64_t left = bytes; left > 0;) {
        const size_t some = left < SKIP_BYTES ? (size_t)left : SKIP_BYTES;
        if (t->used + some > t->most) {
            return fail_full(t);
        }
        WEFT_TRY(make_room(t, some));
        WEFT_TRY(read_bytes(t, t->held + t->used, some));
        left -= (int64_t)some;
        if ((int64_t)t->used == place->offset && !image_begins(t->held + t->used, some)) {
            place->offset = NOT_HELD;
            return skip_bytes(t, left);
        }
        t->used += some;
    }
    return WEFT_OK;
}

static bool takes(const tar_file *t, const char *name)
{
    return t->loose ? image_files_takes_loose(name) : image_files_takes(name);
}

static weft_status take_file(tar_file *t, image_files *files, int64_t bytes)
{
    const size_t length = strlen(t->name);
    const bool folder = length > 0 && t->name[length - 1] == '/'; /* of an archive without types (v7) */
    if (!takes(t, t->name)) {
        if (!folder) {
            image_files_pass_over(files, t->name);
        }
        return skip_bytes(t, bytes);
    }
    image_place place = {.offset = t->at, .bytes = bytes, .changed = t->changed};
    const weft_status status = image_files_add(files, t->name, &place);
    if (status != WEFT_OK) {
        return weft_fail_context(status, "%s: ", t->path);
    }
    if (t->plain) {
        return skip_bytes(t, bytes);
    }
    WEFT_TRY(hold(t, bytes, &place));
    return image_files_add(files, t->name, &place); /* where it is held */
}

/* A second name of a file that stands before it. */
static weft_status take_link(const tar_file *t, image_files *files)
{
    image_place place;
    if (takes(t, t->name) && image_files_find(files, t->link, &place)) {
        return image_files_add(files, t->name, &place);
    }
    image_files_pass_over(files, t->name);
    return WEFT_OK;
}

/*
 * Two blocks of zeros end an archive, and zeros fill it up. All is read, so that the checksum of a packed one is
 * compared, and so that nothing stands behind that would be left out without a word.
 */
static weft_status read_behind(tar_file *t)
{
    const int64_t mark = t->at - BLOCK;
    int64_t other = 0;
    uint8_t block[BLOCK];
    for (size_t read = BLOCK; read == BLOCK;) {
        memset(block, 0, BLOCK);
        WEFT_TRY(read_some(t, block, BLOCK, &read));
        WEFT_CHECK(!tar_is_header(block), WEFT_ERR_DATA,
                   "%s: a block of zeros at byte %lld ends the archive, and files stand behind it, the first at byte "
                   "%lld: damaged, or several archives in one (tar -xif reads them all: unpack it, and pack it again)",
                   t->path, (long long)mark, (long long)(t->at - (int64_t)read));
        other += !tar_is_zero(block);
        WEFT_CHECK(t->at - mark <= AFTER_MAX, WEFT_ERR_DATA,
                   "%s: a block of zeros at byte %lld ends the archive, and more than %d MiB stand behind it", t->path,
                   (long long)mark, AFTER_MAX >> 20);
    }
    if (other > 0) {
        log_warn(
            "%s: a block of zeros at byte %lld ends the archive, and %lld bytes that are no zeros stand behind it: "
            "they are left out, and a file may be missing",
            t->path, (long long)mark, (long long)other * BLOCK);
    }
    return WEFT_OK;
}

/* *end: there is none. An archive without the zeros at its end is whole as far as can be told: tar reads it, too. */
static weft_status read_header(tar_file *t, uint8_t *block, bool *end)
{
    size_t read;
    WEFT_TRY(read_some(t, block, BLOCK, &read));
    const bool between = !t->named && !t->linked && t->pax_size < 0 && t->at > 0;
    if (read == 0 && between) {
        log_warn("%s: the archive ends at byte %lld without the zeros that mark its end: files may be missing", t->path,
                 (long long)t->at);
    } else if (read < BLOCK) {
        return fail_short(t);
    }
    *end = read == 0 || tar_is_zero(block);
    return read > 0 && *end ? read_behind(t) : WEFT_OK;
}

/* A header and what belongs to it; *end: it was the last. */
static weft_status take_entry(tar_file *t, image_files *files, bool *end)
{
    uint8_t block[BLOCK];
    WEFT_TRY(read_header(t, block, end));
    if (*end) {
        return WEFT_OK;
    }
    WEFT_TRY(check_header(t, block));
    int64_t bytes = tar_number(block + TAR_SIZE_AT, TAR_SIZE_BYTES);
    switch (block[TAR_TYPE_AT]) {
    case 'L': /* GNU: the next file's name */
        WEFT_TRY(read_words(t, bytes));
        name_next(t, t->words, strlen(t->words));
        break;
    case 'x':
        WEFT_TRY(read_words(t, bytes));
        WEFT_TRY(take_pax(t, bytes));
        break;
    case 'K': /* GNU: the next link's target */
        WEFT_TRY(read_words(t, bytes));
        link_next(t, t->words, strlen(t->words));
        break;
    case '0':
    case '\0':
    case '7': /* in one piece on its disk, where that matters */
        bytes = t->pax_size >= 0 ? t->pax_size : bytes;
        t->pax_size = -1;
        take_name(t, block);
        WEFT_TRY(take_file(t, files, bytes));
        break;
    case 'g': /* global: the files' own say what matters here */
    case 'V': /* GNU: the archive's name */
        WEFT_TRY(skip_bytes(t, bytes));
        break;
    case '1':
        take_name(t, block);
        t->pax_size = -1;
        WEFT_TRY(take_link(t, files));
        WEFT_TRY(skip_bytes(t, bytes));
        break;
    default: /* folders, symbolic links, devices */
        take_name(t, block);
        t->pax_size = -1;
        if (block[TAR_TYPE_AT] != '5') {
            image_files_pass_over(files, t->name);
        }
        WEFT_TRY(skip_bytes(t, bytes));
    }
    return skip_bytes(t, padding(bytes));
}

static weft_status load(void *self, const char *name, int64_t offset, size_t bytes, uint8_t *room, const uint8_t **data)
{
    const tar_file *t = self;
    size_t got = 0;
    WEFT_CHECK(offset != NOT_HELD, WEFT_ERR_DATA, "%s: %s", name, image_unknown);
    if (!t->plain) {
        *data = t->held + offset;
        return WEFT_OK;
    }
    WEFT_TRY(text_stream_read_at(t->stream, offset, (char *)room, bytes, &got));
    WEFT_CHECK(got == bytes, WEFT_ERR_DATA, "%s: %s: %zu bytes are left of %zu", t->path, name, got, bytes);
    *data = room;
    return WEFT_OK;
}

static void close_tar(void *self)
{
    tar_file *t = self;
    if (t == NULL) {
        return;
    }
    text_stream_close(t->stream);
    WEFT_FREE_ALL(t->held, t->words, t->window, t);
}

static weft_status list_files(const char *path, const image_options *options, tar_file *t, image_files *files)
{
    struct stat facts;
    WEFT_TRY(file_path(t->path, "%s", path));
    if (stat(path, &facts) != 0) {
        return weft_fail_errno(errno, path);
    }
    t->changed = image_changed(&facts);
    WEFT_TRY(WEFT_NEW(&t->words, WORDS_MAX + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(text_stream_open(path, &t->stream));
    t->plain = text_stream_plain(t->stream);
    WEFT_TRY(t->plain ? WEFT_NEW(&t->window, WINDOW_BYTES, WEFT_MEM_GENERAL) : WEFT_OK);
    t->loose = options->motion;
    t->most = options->memory;
    t->most_flag = image_memory_flag(options);
    t->pax_size = -1;
    for (bool end = false; !end;) {
        WEFT_TRY(take_entry(t, files, &end));
    }
    return WEFT_OK;
}

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    image_files *files = NULL;
    tar_file *t = NULL;
    weft_status status = image_files_create(options->motion ? IMAGE_LAYOUT_LOOSE : IMAGE_LAYOUT_ANY, &files);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&t, 1, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        status = list_files(path, options, t, files);
        set->store->kept = options->motion ? 0 : t->capacity; /* boxes are what they are of, so their frames stay */
    }
    status = comm_agree(comm, status);
    if (status != WEFT_OK) {
        close_tar(t);
        image_files_destroy(files);
        return status;
    }
    return image_files_open(comm, path, options, files, load, t, close_tar, set);
}

const image_reader image_reader_tar = {.format = IMAGE_FORMAT_TAR, .matches = matches, .open = open_set};
