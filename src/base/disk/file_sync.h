/* base/disk/file_sync.h: waiting until what was written is on the disk. */
#pragma once

#include <stdbool.h>

/* Waits until an open file is on the disk, unless file_sync_later says otherwise. Returns 0, or an errno. File systems
 * that cannot wait say EINVAL, and the file is as durable as they make it. */
int file_sync(int fd);
/*
 * later: from now on commits of files, and locks that are taken, do not wait for the disk, until this is called with
 * false. For files that can be made again: a power failure may leave such a file empty, under its final name. One
 * switch for the whole process; whoever sets it also ends it, by setting what stood before, which it returns.
 */
bool file_sync_later(bool later);
