/*
 * io/lock.h: a file that at most one process of all hosts holds, for what the file stands beside.
 *
 *     file_lock *lock = NULL;
 *     WEFT_TRY(file_lock_take("run/run.lock", NULL, &lock));   WEFT_ERR_USAGE: held; the message says by whom
 *     ...                                                      now and then WEFT_TRY(file_lock_check(lock))
 *     file_lock_release(lock);
 *
 * The file is the lock: it names its holder and goes with the release. A holder that was killed leaves it behind:
 *
 *     holder and observer below one kernel     the process is looked for: a dead one's lock is taken over at once
 *     on other hosts, or in other containers   the holder counts up in its file every beat; an observer that has looked
 *                                              `looks` times, a beat's part apart, and saw no change takes it over
 *
 * What is relied on, and what NFS version 3 and later, Lustre, GPFS, BeeGFS and local disks give: a file is created by
 * one process alone (O_CREAT | O_EXCL), rename replaces at once, and a file that is opened shows what others have
 * synced to it before (close-to-open). Clocks are not compared, and neither flock nor fcntl locks are used, which many
 * a cluster's mount options leave local. A process that stood still for longer than the observation (SIGSTOP, a machine
 * that slept) and then goes on finds that its lock is another's at its next file_lock_check.
 */
#pragma once

#include "base/status.h"

/* How fast a holder counts and how long an observer looks, in seconds. The same in all processes of a lock. */
typedef struct file_lock_pace {
    double beat_s, look_s;
    int looks;
} file_lock_pace;

typedef struct file_lock file_lock;

/*
 * pace: NULL for a beat every 5 s and 30 looks, 1 s apart. Looks are counted, not seconds: a file system that does not
 * answer for a while kills nobody. Takes a thread, which sleeps. WEFT_ERR_USAGE: another process holds it;
 * WEFT_ERR_IO, _PERMISSION, _NOINPUT (no such folder): it cannot be written; WEFT_ERR_RESOURCE.
 */
weft_status file_lock_take(const char *path, const file_lock_pace *pace, file_lock **lock);
/* Cheap while the beat is on time. WEFT_ERR_IO: another process has taken the lock over; what it guards is no longer
 * ours. Harmless with NULL. */
weft_status file_lock_check(file_lock *lock);
/* Ends the beat, and removes the file if it is still ours. Harmless with NULL. */
void file_lock_release(file_lock *lock);
