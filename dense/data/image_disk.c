/*
 * dense/data/image_disk.c: see dense/data/image_disk.h. The first rank of a node prepares the file, all read and write
 * it.
 *
 * A disk that takes no files costs decoding and nothing else: every failure here is a warning, and the file that an
 * earlier job left there is read as it is. Reading needs no lock, since every record has its checksum.
 */
#include "dense/data/image_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "comm/core/layout.h"
#include "dense/data/image_options.def"
#include "io/lock.h"

enum { HEAD = 4096, VERSION = 1, BLOCK = 512 /* of st_blocks */, RESERVE = 10 /* part of the disk that stays free */ };

struct image_disk {
    int fd;
    int64_t samples, placed; /* of the set; the last ones, which have a place */
    size_t sample_bytes;
    uint64_t salt;    /* of the checksums */
    bool read_only;   /* as an earlier job left it */
    atomic_bool full; /* takes no more */
    file_lock *lock;  /* the first rank's of the node */
    char path[FILE_PATH_MAX];
};

/* ---- records --------------------------------------------------------------------------------------------------- */

static int64_t record_bytes(const image_disk *disk)
{
    return (int64_t)(sizeof(uint64_t) + disk->sample_bytes);
}

static bool has_place(const image_disk *disk, int64_t number)
{
    return number >= disk->samples - disk->placed;
}

static int64_t place_of(const image_disk *disk, int64_t number)
{
    return HEAD + (disk->samples - 1 - number) * record_bytes(disk);
}

/* Never zero, which holes are. */
static uint64_t checksum(const image_disk *disk, int64_t number, const uint8_t *pixels)
{
    return file_checksum(pixels, disk->sample_bytes, disk->salt + (uint64_t)number) | 1;
}

bool image_disk_read(const image_disk *disk, int64_t number, uint8_t *pixels)
{
    uint64_t sum = 0;
    const struct iovec parts[] = {{&sum, sizeof sum}, {pixels, disk->sample_bytes}};
    return has_place(disk, number) &&
           preadv(disk->fd, parts, 2, (off_t)place_of(disk, number)) == (ssize_t)record_bytes(disk) &&
           sum == checksum(disk, number, pixels);
}

void image_disk_write(image_disk *disk, int64_t number, const uint8_t *pixels)
{
    if (!has_place(disk, number) || atomic_load(&disk->full)) {
        return;
    }
    uint64_t sum = checksum(disk, number, pixels);
    const struct iovec parts[] = {{&sum, sizeof sum}, {(void *)(uintptr_t)pixels, disk->sample_bytes}};
    errno = 0;
    if (pwritev(disk->fd, parts, 2, (off_t)place_of(disk, number)) != (ssize_t)record_bytes(disk) && errno != EINTR &&
        !atomic_exchange(&disk->full, true)) {
        log_warn("%s: %s: no more images are kept there; " FLAG_CACHE_DISK " bounds the file", disk->path,
                 strerror(errno != 0 ? errno : ENOSPC));
    }
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static void write_head(const image_disk_desc *desc, char head[HEAD])
{
    memset(head, 0, HEAD);
    snprintf(head, HEAD, "weft images %d\nidentity %s\nsamples %lld\nbytes %zu\n", VERSION, desc->identity,
             (long long)desc->samples, desc->sample_bytes);
}

/*
 * A file of this user's, or of the administrator's, and under this name alone: through a link a job would write what
 * lies elsewhere. O_NONBLOCK: a named pipe must not stop us.
 */
static weft_status open_file(image_disk *disk, int flags)
{
    struct stat facts;
    disk->fd = open(disk->path, O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0666);
    if (disk->fd < 0) {
        return errno == ELOOP ? weft_fail(WEFT_ERR_IO, "%s: is a symbolic link: remove it", disk->path)
                              : file_fail_output(errno, disk->path);
    }
    if (fstat(disk->fd, &facts) != 0) {
        return weft_fail_errno(errno, disk->path);
    }
    WEFT_CHECK(S_ISREG(facts.st_mode), WEFT_ERR_IO, "%s: is not a regular file: remove it", disk->path);
    WEFT_CHECK(facts.st_nlink == 1, WEFT_ERR_IO, "%s: is a hard link, one of %lld: remove it", disk->path,
               (long long)facts.st_nlink);
    WEFT_CHECK(facts.st_uid == geteuid() || facts.st_uid == 0, WEFT_ERR_PERMISSION, "%s: belongs to another user",
               disk->path);
    return WEFT_OK;
}

static void close_file(image_disk *disk)
{
    if (disk->fd >= 0) {
        close(disk->fd);
    }
    disk->fd = -1;
    file_lock_release(disk->lock);
    disk->lock = NULL;
    disk->placed = 0;
}

/* The head of this job stands at the front; where it did not before, nothing else does. */
static weft_status begin_anew(const image_disk *disk, const char head[HEAD])
{
    char found[HEAD];
    if (file_read_at(disk->fd, 0, found, HEAD) == HEAD && memcmp(found, head, HEAD) == 0) {
        return WEFT_OK;
    }
    if (ftruncate(disk->fd, 0) != 0 || pwrite(disk->fd, head, HEAD, 0) != HEAD) {
        return file_fail_output(errno, disk->path);
    }
    return WEFT_OK;
}

/* The samples that have room, and a file that is no longer than they need. */
static weft_status bound(image_disk *disk, uint64_t wanted)
{
    struct statvfs fs;
    struct stat facts;
    if (fstatvfs(disk->fd, &fs) != 0 || fstat(disk->fd, &facts) != 0) {
        return file_fail_output(errno, disk->path);
    }
    const uint64_t reserve = (uint64_t)fs.f_blocks * (uint64_t)fs.f_frsize / RESERVE;
    const uint64_t ours = (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize + (uint64_t)facts.st_blocks * BLOCK;
    const uint64_t most = wanted > 0 ? wanted : ours > reserve ? ours - reserve : 0;
    const uint64_t room = most > HEAD ? (most - HEAD) / (uint64_t)record_bytes(disk) : 0;
    disk->placed = room < (uint64_t)disk->samples ? (int64_t)room : disk->samples;
    const off_t end = (off_t)(HEAD + disk->placed * record_bytes(disk));
    if (facts.st_size > end && ftruncate(disk->fd, end) != 0) {
        return file_fail_output(errno, disk->path);
    }
    log_info("images are kept in %s: room for %lld of %lld", disk->path, (long long)disk->placed,
             (long long)disk->samples);
    return WEFT_OK;
}

/* A file that is written on: under a lock, made where it is missing. *held: another job has it. */
static weft_status prepare_to_write(const image_disk_desc *desc, const char head[HEAD], image_disk *disk, bool *held)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(folder_make(desc->folder));
    WEFT_TRY(file_path(path, "%s.lock", disk->path));
    const weft_status status = file_lock_take(path, NULL, &disk->lock);
    *held = status == WEFT_ERR_USAGE;
    WEFT_TRY(status);
    WEFT_TRY(open_file(disk, O_RDWR | O_CREAT));
    WEFT_TRY(begin_anew(disk, head));
    return bound(disk, desc->bytes);
}

/* What an earlier job left, where it is of these samples. */
static weft_status prepare_to_read(const char head[HEAD], image_disk *disk)
{
    char found[HEAD];
    struct stat facts;
    WEFT_TRY(open_file(disk, O_RDONLY));
    if (fstat(disk->fd, &facts) != 0) {
        return weft_fail_errno(errno, disk->path);
    }
    WEFT_CHECK(file_read_at(disk->fd, 0, found, HEAD) == HEAD && memcmp(found, head, HEAD) == 0, WEFT_ERR_DATA,
               "%s: holds other images", disk->path);
    const int64_t records = (int64_t)(facts.st_size - HEAD) / record_bytes(disk);
    disk->placed = records < disk->samples ? records : disk->samples;
    disk->read_only = true;
    return WEFT_OK;
}

/* By the first rank of a node. No placed record: this job has no file there. */
static void prepare(const image_disk_desc *desc, const char head[HEAD], image_disk *disk)
{
    bool held = false;
    if (prepare_to_write(desc, head, disk, &held) == WEFT_OK) {
        return;
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", weft_error_message());
    close_file(disk);
    if (!held && prepare_to_read(head, disk) == WEFT_OK) {
        log_warn("%s; images are read from %s, and no more are kept there", why, disk->path);
    } else {
        close_file(disk);
        log_warn("%s; this job keeps no images on disk", why);
    }
    weft_error_clear();
}

/* Everybody knows what the first rank of its node found. Collective. */
static weft_status tell_node(weft_comm *comm, image_disk *disk)
{
    const comm_layout *layout = comm_get_layout(comm);
    const int ranks = comm_size(comm);
    const int64_t mine[2] = {disk->placed, disk->read_only};
    int64_t *all = NULL;
    weft_status status = comm_agree(comm, WEFT_NEW(&all, 2 * (int64_t)ranks, WEFT_MEM_WORKSPACE));
    status = status == WEFT_OK ? comm_allgather(comm, mine, (int64_t)sizeof mine, all) : status;
    if (status == WEFT_OK && all != NULL) {
        const int64_t *first = &all[2 * (int64_t)layout->member[layout->first[layout->node_of[comm_rank(comm)]]]];
        disk->placed = first[0];
        disk->read_only = first[1] != 0;
        atomic_store(&disk->full, disk->read_only);
    }
    weft_free(all);
    return status;
}

static weft_status open_on_node(weft_comm *comm, const image_disk_desc *desc, image_disk *disk)
{
    char head[HEAD];
    write_head(desc, head);
    disk->samples = desc->samples;
    disk->sample_bytes = desc->sample_bytes;
    disk->salt = file_checksum(head, HEAD, 0);
    const bool first = comm_node_rank(comm) == 0;
    WEFT_TRY(comm_agree(comm, file_path(disk->path, "%s/images-%s.cache", desc->folder, desc->place)));
    if (first) {
        prepare(desc, head, disk);
    }
    WEFT_TRY(tell_node(comm, disk));
    if (!first && disk->placed > 0 && open_file(disk, disk->read_only ? O_RDONLY : O_RDWR) != WEFT_OK) {
        close_file(disk); /* the others of the node have it */
        weft_error_clear();
    }
    return WEFT_OK;
}

weft_status image_disk_open(weft_comm *comm, const image_disk_desc *desc, image_disk **out)
{
    image_disk *disk;
    *out = NULL;
    weft_status status = WEFT_NEW_ZERO(&disk, 1, WEFT_MEM_GENERAL);
    if (status == WEFT_OK) {
        disk->fd = -1;
    }
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? open_on_node(comm, desc, disk) : status;
    if (status != WEFT_OK || disk->placed == 0) {
        image_disk_close(disk);
        return status;
    }
    *out = disk;
    return WEFT_OK;
}

void image_disk_close(image_disk *disk)
{
    if (disk == NULL) {
        return;
    }
    close_file(disk);
    weft_free(disk);
}
