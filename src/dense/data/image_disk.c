/* dense/data/image_disk.c: see dense/data/image_disk.h. The first rank of a node prepares the file, all read and write it. */
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
#include "base/number.h"
#include "comm/core/layout.h"
#include "dense/data/image_options.def"
#include "io/lock.h"

enum { HEAD = 4096, VERSION = 1, BLOCK = 512 /* of st_blocks */, RESERVE = 10 /* part of the disk that stays free */ };

struct image_disk {
    int fd;
    int64_t samples, placed; /* of the set; the last ones, which have a place */
    size_t sample_bytes;
    uint64_t salt;    /* of the checksums */
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

static weft_status open_file(image_disk *disk, int flags)
{
    disk->fd = open(disk->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
    return disk->fd >= 0 ? WEFT_OK : file_fail_output(errno, disk->path);
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

/* By the first rank of a node. */
static weft_status prepare(const image_disk_desc *desc, const char head[HEAD], image_disk *disk)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(folder_make(desc->folder));
    WEFT_TRY(file_path(path, "%s.lock", disk->path));
    const weft_status status = file_lock_take(path, NULL, &disk->lock);
    if (status == WEFT_ERR_USAGE) {
        log_warn("%s; this job keeps no images on disk", weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    WEFT_TRY(status);
    WEFT_TRY(open_file(disk, O_CREAT));
    WEFT_TRY(begin_anew(disk, head));
    return bound(disk, desc->bytes);
}

/* Everybody knows what the first rank of its node found. Collective. */
static weft_status tell_node(weft_comm *comm, image_disk *disk)
{
    const comm_layout *layout = comm_get_layout(comm);
    const int ranks = comm_size(comm);
    int64_t *placed = NULL;
    weft_status status = comm_agree(comm, WEFT_NEW(&placed, ranks, WEFT_MEM_WORKSPACE));
    if (status == WEFT_OK) {
        status = comm_allgather(comm, &disk->placed, (int64_t)sizeof *placed, placed);
    }
    if (status == WEFT_OK && placed != NULL) {
        disk->placed = placed[layout->member[layout->first[layout->node_of[comm_rank(comm)]]]];
    }
    weft_free(placed);
    return status;
}

static weft_status open_on_node(weft_comm *comm, const image_disk_desc *desc, image_disk *disk)
{
    char head[HEAD];
    write_head(desc, head);
    disk->samples = desc->samples;
    disk->sample_bytes = desc->sample_bytes;
    disk->salt = file_checksum(head, HEAD, 0);
    weft_status status = file_path(disk->path, "%s/images-%s.cache", desc->folder, desc->place);
    const bool first = comm_node_rank(comm) == 0;
    if (status == WEFT_OK && first) {
        status = prepare(desc, head, disk);
    }
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(tell_node(comm, disk));
    return comm_agree(comm, first || disk->placed == 0 ? WEFT_OK : open_file(disk, 0));
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
    if (disk->fd >= 0) {
        close(disk->fd);
    }
    file_lock_release(disk->lock);
    weft_free(disk);
}
