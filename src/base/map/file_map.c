/*
 * base/file_map.c: files that are mapped read-only, and the table of their names; see base/file.h.
 *
 * The kernel raises SIGBUS when a page is touched that the file no longer has, or that its disk does not deliver. A
 * handler may take no lock and call few functions, so the table is fixed memory: a slot is free, claimed by whoever
 * fills it in, or ready to be read. Files beyond MAPS_MAX have no name in the table. Memory: MAPS_MAX KiB, touched as
 * slots are used.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/escape.h"
#include "base/file.h"

enum { MAPS_MAX = 512, NAME_BYTES = 1000, PIECE = 4 << 20 };

enum { SLOT_FREE, SLOT_CLAIMED, SLOT_READY };

static struct map_slot {
    atomic_int state;
    uintptr_t begin, end; /* addresses */
    char name[NAME_BYTES];
} slots[MAPS_MAX];

static void note(const file_map *map, const char *name)
{
    for (int i = 0; i < MAPS_MAX; i++) {
        struct map_slot *slot = &slots[i];
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slot->state, &expected, SLOT_CLAIMED)) {
            slot->begin = (uintptr_t)map->data;
            slot->end = slot->begin + map->size;
            escape_text(slot->name, sizeof slot->name, name);
            atomic_store(&slot->state, SLOT_READY);
            return;
        }
    }
}

static struct map_slot *slot_of(const void *address)
{
    const uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < MAPS_MAX; i++) {
        if (atomic_load(&slots[i].state) == SLOT_READY && at >= slots[i].begin && at < slots[i].end) {
            return &slots[i];
        }
    }
    return NULL;
}

const char *file_map_name(const void *address)
{
    const struct map_slot *slot = slot_of(address);
    return slot != NULL ? slot->name : NULL;
}

weft_status file_map_descriptor(int fd, size_t size, const char *name, file_map *map)
{
    struct stat facts;
    *map = (file_map){.data = NULL, .size = 0};
    if (size == 0) {
        return WEFT_OK;
    }
    void *data = fstat(fd, &facts) == 0 ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (data == MAP_FAILED) {
        return weft_fail_errno(errno, name);
    }
    *map = (file_map){.data = data, .size = size, .device = facts.st_dev, .inode = facts.st_ino};
    note(map, name);
    return WEFT_OK;
}

weft_status file_map_open(const char *path, file_map *map)
{
    int fd;
    struct stat facts;
    *map = (file_map){.data = NULL, .size = 0};
    WEFT_TRY(file_open(path, &fd, &facts));
    const weft_status status = file_map_descriptor(fd, (size_t)facts.st_size, path, map);
    close(fd);
    return status;
}

void file_map_close(file_map *map)
{
    if (map->data != NULL) {
        struct map_slot *slot = slot_of(map->data);
        if (slot != NULL) {
            atomic_store(&slot->state, SLOT_FREE);
        }
        munmap((void *)(uintptr_t)map->data, map->size);
    }
    *map = (file_map){.data = NULL, .size = 0};
}

void file_map_forget(const void *data, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)data;
    const uintptr_t from = (at + page - 1) / page * page, to = (at + bytes) / page * page;
    if (from < to) {
        (void)madvise((void *)from, to - from, MADV_DONTNEED); /* a hint: the pages stay if the system says no */
    }
}

size_t file_map_piece(const file_map *map, size_t at)
{
    const size_t left = map->size - at;
    if (at > 0) {
        const size_t begin = (at - 1) / PIECE * PIECE;
        file_map_forget(map->data + begin, at - begin);
    }
    return left < PIECE ? left : PIECE;
}

void file_map_hash(const file_map *map, char hex[33])
{
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) { /* it takes memory */
        file_hash(map->data, map->size, hex);
        return;
    }
    XXH3_128bits_reset(state);
    for (size_t at = 0, bytes; (bytes = file_map_piece(map, at)) > 0; at += bytes) {
        XXH3_128bits_update(state, map->data + at, bytes);
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    file_hash_text(hash.high64, hash.low64, hex);
    XXH3_freeState(state);
}

/* A file of that name that is another one by now does no harm: the old one stays mapped. */
weft_status file_map_check(const char *path, const file_map *map)
{
    struct stat facts;
    const bool same =
        map->data != NULL && stat(path, &facts) == 0 && facts.st_dev == map->device && facts.st_ino == map->inode;
    WEFT_CHECK(!same || (uint64_t)facts.st_size >= map->size, WEFT_ERR_IO,
               "%s: was cut short while it was in use: %lld of %zu bytes are left", path, (long long)facts.st_size,
               map->size);
    return WEFT_OK;
}

weft_status file_copy(const char *from, const char *to)
{
    file_map map;
    file_writer writer;
    WEFT_TRY(file_map_open(from, &map));
    weft_status status = file_writer_open(to, &writer);
    if (status == WEFT_OK) {
        for (size_t at = 0, bytes; status == WEFT_OK && (bytes = file_map_piece(&map, at)) > 0; at += bytes) {
            status = file_write(&writer, map.data + at, bytes);
        }
        status = status == WEFT_OK ? file_writer_commit(&writer) : status;
        file_writer_discard(&writer);
    }
    file_map_close(&map);
    return status;
}
