/* base/disk/file_sync.c: see base/disk/file_sync.h. */
#include "base/disk/file_sync.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool sync_later;

bool file_sync_later(bool later)
{
    return atomic_exchange(&sync_later, later);
}

int file_sync(int fd)
{
    return atomic_load(&sync_later) || fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
}
