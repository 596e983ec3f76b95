/*
 * base/file.h: files that are whole or absent.
 *
 * Writers go through file_writer: a temporary name in the same folder, every write checked, fflush + fsync + fclose
 * checked (a full disk shows itself only there), then rename and fsync of the folder. Whole folders: write into
 * folder_begin's temporary folder, then folder_commit renames it. Outputs are opened with O_NOFOLLOW and the user's
 * umask.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/status.h"

enum { FILE_PATH_MAX = 4096 };

/* dst = printf(...), WEFT_ERR_USAGE when it does not fit FILE_PATH_MAX. */
weft_status file_path(char dst[FILE_PATH_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Open a regular file for reading. Every input passes here: a named pipe, a device or a folder is refused at once, and
 * the program never waits for one. [out] facts: of the open file. WEFT_ERR_NOINPUT: no regular file.
 */
weft_status file_open(const char *path, int *fd, struct stat *facts);

typedef struct file_map {
    const uint8_t *data; /* NULL when size == 0 */
    size_t size;
    dev_t device; /* which file it is, for file_map_check */
    ino_t inode;
} file_map;

/*
 * Map a regular file read-only. Pages of a file that another program cuts short, or whose disk fails, raise SIGBUS when
 * they are touched; a table keeps the names of all mapped files, so that the program's handler can name the file.
 */
weft_status file_map_open(const char *path, file_map *map);
/* Maps the first `size` bytes of an open file; `name` is for the table. The descriptor may be closed afterwards. */
weft_status file_map_descriptor(int fd, size_t size, const char *name, file_map *map);
void file_map_close(file_map *map);
/* Mapped bytes that are not read soon no longer count as memory of this process. They may be read all the same. */
void file_map_forget(const void *data, size_t bytes);
/* For files that are read once from front to back: bytes of the piece that begins at `at`, 0 at the end. What stands
 * before it is forgotten (file_map_forget). `at`: 0, and then the end of the piece before. */
size_t file_map_piece(const file_map *map, size_t at);
/*
 * WEFT_ERR_IO if the file was cut short since it was mapped. The end of the last page that is left reads as zeros,
 * without a signal: whoever uses bytes there asks here afterwards.
 */
weft_status file_map_check(const char *path, const file_map *map);
/* The escaped name of the file that is mapped at this address; NULL: none is. A signal handler may call it. */
const char *file_map_name(const void *address);

typedef struct file_writer {
    FILE *stream;
    void *hash; /* XXH3 of what has been written */
    char path[FILE_PATH_MAX];
    char temporary[FILE_PATH_MAX];
} file_writer;

weft_status file_writer_open(const char *path, file_writer *writer);
weft_status file_write(file_writer *writer, const void *data, size_t bytes);
void file_writer_hash(const file_writer *writer, char hex[33]); /* file_hash of all bytes so far; before commit */
weft_status file_writer_commit(file_writer *writer);            /* on failure nothing is left behind */
void file_writer_discard(file_writer *writer);                  /* harmless after commit */
weft_status file_copy(const char *from, const char *to);        /* through a writer: `to` is whole or as it was */

/* A temporary folder beside `path` that becomes it; what processes of this host that were killed left of earlier
 * attempts (path.tmp-HOST-PID-...) is removed. An existing `path` is refused with the cure (--force) unless force.
 */
weft_status folder_begin(const char *path, bool force, char temporary[FILE_PATH_MAX]);
weft_status folder_commit(const char *temporary, const char *path, bool force);
/* Remove a folder of plain files and folders that Weft wrote; symbolic links are not followed. */
weft_status folder_remove(const char *path);
weft_status folder_make(const char *path); /* mkdir -p */
/*
 * The next entry of an open folder; NULL at the end. A listing that fails in its middle (a network file system) is not
 * the end: then *status and the message say so, and name `path`.
 */
const struct dirent *folder_next(DIR *folder, const char *path, weft_status *status);
bool file_exists(const char *path);

/* pread until `capacity` bytes are there or the file ends: how many, or -1 and errno. Any thread, beside others. */
ssize_t file_read_at(int fd, int64_t offset, void *out, size_t capacity);

/*
 * What every failure to make or write `path` is told with: WEFT_ERR_IO or WEFT_ERR_PERMISSION, never "an input is
 * missing", and in words which part of its folder does not exist, is a file, or takes no files; a temporary file or
 * folder of this process that is gone (another program cleaned up) is named as that.
 */
weft_status file_fail_output(int error_number, const char *path);
/* WEFT_OK, or the same for an output that could not be made now: before hours of work for it. It makes a folder beside
 * `path` and removes it again, since permission bits alone do not tell. */
weft_status file_check_output(const char *path);

/* 128-bit XXH3 of bytes, as 32 hex digits + NUL. */
void file_hash(const void *data, size_t bytes, char hex[33]);
void file_map_hash(const file_map *map, char hex[33]);          /* by pieces that are forgotten */
void file_hash_text(uint64_t high, uint64_t low, char hex[33]); /* the halves of such a hash, as digits */

/* 64-bit XXH3 of bytes: another number with another seed. */
uint64_t file_checksum(const void *data, size_t bytes, uint64_t seed);

/* This host in eight letters: part of temporary names, since a process id means something on one host only. */
enum { FILE_HOST_BYTES = 9 };
void file_host(char host[FILE_HOST_BYTES]);
/* A fresh name beside `path` for something that will be renamed to it: path.tmp-HOST-PID-... */
weft_status file_temporary_name(const char *path, char temporary[FILE_PATH_MAX]);
/* fsync a folder, or the one that holds `path`: makes a rename durable. */
weft_status file_sync_folder(const char *path);
weft_status file_sync_parent(const char *path);

/* All of a small text file (at most max_bytes), NUL-terminated, free of zero bytes; free with weft_free. */
weft_status file_read_text(const char *path, size_t max_bytes, char **text, size_t *bytes);
