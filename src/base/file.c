/*
 * base/file.c: single files that are whole or absent; see base/file.h.
 *
 * A full disk is reported by the kernel only when the buffers are pushed out, so the commit checks fflush, fsync and
 * fclose each. Temporary names carry the process id and a counter and are created with O_EXCL: ranks on several hosts
 * of a shared file system cannot meet in one. Mapped files: base/file_map.c.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "base/disk/file_sync.h"

enum { NAME_TRIES = 100 };

weft_status file_path(char dst[FILE_PATH_MAX], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(dst, FILE_PATH_MAX, format, args);
    va_end(args);
    WEFT_CHECK(length >= 0 && length < FILE_PATH_MAX, WEFT_ERR_USAGE, "%.64s...: a path of %d bytes; the limit is %d",
               dst, length, FILE_PATH_MAX - 1);
    return WEFT_OK;
}

bool file_exists(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

/* O_NONBLOCK: a named pipe must not stop us before we see what it is. */
weft_status file_open(const char *path, int *fd, struct stat *facts)
{
    weft_status status = WEFT_OK;
    *facts = (struct stat){.st_size = 0};
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        return weft_fail_errno(errno, path);
    }
    if (fstat(*fd, facts) != 0) {
        status = weft_fail_errno(errno, path);
    } else if (S_ISDIR(facts->st_mode)) {
        status = weft_fail(WEFT_ERR_NOINPUT, "%s: is a folder, expected a file", path);
    } else if (!S_ISREG(facts->st_mode)) {
        status = weft_fail(WEFT_ERR_NOINPUT, "%s: is not a regular file", path);
    }
    if (status != WEFT_OK) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

/* Read until `capacity` or the end; *got tells how much came. */
static weft_status read_fully(int fd, const char *path, char *data, size_t capacity, size_t *got)
{
    *got = 0;
    while (*got < capacity) {
        ssize_t n = read(fd, data + *got, capacity - *got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return weft_fail_errno(errno, path);
        }
        if (n == 0) {
            break;
        }
        *got += (size_t)n;
    }
    return WEFT_OK;
}

ssize_t file_read_at(int fd, int64_t offset, void *out, size_t capacity)
{
    size_t got = 0;
    while (got < capacity) {
        const ssize_t n = pread(fd, (char *)out + got, capacity - got, (off_t)(offset + (int64_t)got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        got += (size_t)n;
    }
    return (ssize_t)got;
}

weft_status file_read_text(const char *path, size_t max_bytes, char **text, size_t *bytes)
{
    *text = NULL;
    *bytes = 0;
    int fd;
    struct stat facts;
    WEFT_TRY(file_open(path, &fd, &facts));
    const size_t size = (size_t)facts.st_size;
    char *data = NULL;
    size_t got = 0;
    weft_status status = WEFT_OK;
    WEFT_CHECK_GOTO(size <= max_bytes, status, done, WEFT_ERR_DATA,
                    "%s: %zu bytes; a file of this kind has at most %zu", path, size, max_bytes);
    WEFT_TRY_GOTO(weft_malloc(size + 1, 1, WEFT_MEM_GENERAL, (void **)&data), status, done);
    WEFT_TRY_GOTO(read_fully(fd, path, data, size, &got), status, done);
    data[got] = '\0';
    const char *nul = memchr(data, '\0', got);
    WEFT_CHECK_GOTO(nul == NULL, status, done, WEFT_ERR_DATA, "%s: a zero byte at offset %td; expected text", path,
                    nul - data);
    *text = data;
    *bytes = got;
    data = NULL;
done:
    weft_free(data);
    close(fd);
    return status;
}

void file_hash_text(uint64_t high, uint64_t low, char hex[33])
{
    snprintf(hex, 33, "%016" PRIx64 "%016" PRIx64, high, low);
}

void file_hash(const void *data, size_t bytes, char hex[33])
{
    const XXH128_hash_t hash = XXH3_128bits(data, bytes);
    file_hash_text(hash.high64, hash.low64, hex);
}

uint64_t file_checksum(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

/* ---- writing ---- */

/* The folder that holds `path`: "." when it names none. */
static void parent_of(const char *path, char parent[FILE_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (slash == NULL) {
        parent[length++] = '.';
    } else if (length == 0) {
        parent[length++] = '/';
    } else {
        memcpy(parent, path, length);
    }
    parent[length] = '\0';
}

/* Does the last component of `path` bear a name that this process made (file_temporary_name)? */
static bool is_temporary(const char *path)
{
    char mark[64], host[FILE_HOST_BYTES];
    const char *slash = strrchr(path, '/');
    file_host(host);
    snprintf(mark, sizeof mark, ".tmp-%s-%ld-", host, (long)getpid());
    return strstr(slash != NULL ? slash + 1 : path, mark) != NULL;
}

/* Shortens `path` to the part that is there, a folder or not. */
static void existing_part(char path[FILE_PATH_MAX], struct stat *facts)
{
    char parent[FILE_PATH_MAX];
    while (stat(path, facts) != 0 && strcmp(path, ".") != 0 && strcmp(path, "/") != 0) {
        parent_of(path, parent);
        memcpy(path, parent, sizeof parent);
    }
}

weft_status file_fail_output(int error_number, const char *path)
{
    char folder[FILE_PATH_MAX];
    char part[FILE_PATH_MAX];
    struct stat facts = {.st_mode = S_IFDIR};
    if (error_number != ENOENT && error_number != ENOTDIR) {
        return weft_fail_errno(error_number, path);
    }
    WEFT_TRY(file_path(part, "%s", path));
    parent_of(part, folder);
    const char *gone = is_temporary(path) ? path : is_temporary(folder) ? folder : NULL;
    WEFT_CHECK(gone == NULL || file_exists(gone), WEFT_ERR_IO,
               "%s: cannot be written: the temporary folder %s is gone: another program removed it", path, gone);
    memcpy(part, folder, sizeof folder);
    existing_part(part, &facts);
    WEFT_CHECK(S_ISDIR(facts.st_mode), WEFT_ERR_IO, "%s: cannot be written: %s is a file, not a folder", path, part);
    WEFT_CHECK(strcmp(part, folder) == 0, WEFT_ERR_IO, "%s: cannot be written: its folder does not exist (mkdir -p %s)",
               path, folder);
    return weft_fail(WEFT_ERR_IO,
                     "%s: cannot be written: the folder %s takes no files (removed, or the kernel's own), or its "
                     "temporary file is gone: another program removed it",
                     path, folder);
}

weft_status file_sync_parent(const char *path)
{
    char parent[FILE_PATH_MAX];
    parent_of(path, parent);
    return file_sync_folder(parent);
}

weft_status file_sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return file_fail_output(errno, path);
    }
    const int error = file_sync(fd);
    close(fd);
    return error == 0 ? WEFT_OK : weft_fail_errno(error, path);
}

void file_host(char host[FILE_HOST_BYTES])
{
    char name[256] = "";
    (void)gethostname(name, sizeof name - 1); /* an unknown name hashes like an empty one */
    snprintf(host, FILE_HOST_BYTES, "%08x", (unsigned)(XXH3_64bits(name, strlen(name)) & 0xffffffffU));
}

weft_status file_temporary_name(const char *path, char temporary[FILE_PATH_MAX])
{
    static atomic_uint counter;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char host[FILE_HOST_BYTES];
    file_host(host);
    return file_path(temporary, "%s.tmp-%s-%ld-%u-%lx", path, host, (long)getpid(), atomic_fetch_add(&counter, 1U),
                     (unsigned long)now.tv_nsec);
}

weft_status file_writer_open(const char *path, file_writer *writer)
{
    *writer = (file_writer){.stream = NULL};
    WEFT_TRY(file_path(writer->path, "%s", path));
    struct stat facts;
    if (lstat(path, &facts) == 0) {
        WEFT_CHECK(!S_ISDIR(facts.st_mode), WEFT_ERR_IO, "%s: is a folder, cannot be replaced by a file", path);
    }
    int fd = -1;
    for (int i = 0; fd < 0; i++) {
        WEFT_TRY(file_temporary_name(path, writer->temporary));
        fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && (errno != EEXIST || i == NAME_TRIES)) {
            return file_fail_output(errno, path);
        }
    }
    writer->hash = XXH3_createState();
    writer->stream = fdopen(fd, "w");
    if (writer->stream == NULL || writer->hash == NULL) {
        weft_status status = weft_fail_errno(ENOMEM, path);
        if (writer->stream == NULL) {
            close(fd);
            unlink(writer->temporary);
        }
        file_writer_discard(writer);
        return status;
    }
    XXH3_128bits_reset(writer->hash);
    return WEFT_OK;
}

weft_status file_write(file_writer *writer, const void *data, size_t bytes)
{
    if (bytes == 0) {
        return WEFT_OK;
    }
    errno = 0;
    if (fwrite(data, 1, bytes, writer->stream) != bytes) {
        return weft_fail_errno(errno != 0 ? errno : EIO, writer->path);
    }
    XXH3_128bits_update(writer->hash, data, bytes);
    return WEFT_OK;
}

void file_writer_hash(const file_writer *writer, char hex[33])
{
    const XXH128_hash_t hash = XXH3_128bits_digest(writer->hash);
    file_hash_text(hash.high64, hash.low64, hex);
}

static void free_hash(file_writer *writer)
{
    XXH3_freeState(writer->hash);
    writer->hash = NULL;
}

/* Push everything to the disk and close; the stream is gone afterwards either way. */
static weft_status finish_stream(file_writer *writer)
{
    int error_number = ferror(writer->stream) != 0 ? EIO : 0;
    const int synced = fflush(writer->stream) != 0 ? errno : file_sync(fileno(writer->stream));
    error_number = synced != 0 ? synced : error_number; /* it says more than that a write before failed */
    if (fclose(writer->stream) != 0 && error_number == 0) {
        error_number = errno;
    }
    writer->stream = NULL;
    return error_number == 0 ? WEFT_OK : weft_fail_errno(error_number, writer->path);
}

weft_status file_writer_commit(file_writer *writer)
{
    free_hash(writer);
    weft_status status = finish_stream(writer);
    if (status == WEFT_OK && rename(writer->temporary, writer->path) != 0) {
        status = file_fail_output(errno, writer->path);
    }
    if (status != WEFT_OK) {
        unlink(writer->temporary);
        return status;
    }
    return file_sync_parent(writer->path);
}

void file_writer_discard(file_writer *writer)
{
    if (writer->stream != NULL) {
        (void)fclose(writer->stream);
        writer->stream = NULL;
        unlink(writer->temporary);
    }
    free_hash(writer);
}
