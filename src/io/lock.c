/*
 * io/lock.c: see io/lock.h.
 *
 * Taking over must have one winner, though several may have found the holder dead, and one of them long ago. Whoever
 * wants the lock of a dead holder first takes a lock of its own beside it, whose name is a hash of what it read:
 *
 *     run.lock            the dead holder's record, R
 *     run.lock.HASH(R)    created by one of those who read R and found it dead: the only one who may replace R
 *
 * The winner looks again: if run.lock still is R it renames its file over it, which makes the claim the lock in one
 * step. If not, R was replaced before and the claim comes too late: it is removed, and all begins anew. R never comes
 * back, since no two records are the same. A claim whose own maker died is a dead lock like any other, taken over in
 * the same way: hence the recursion. What the hash is taken of includes the beat, so those who saw the holder alive in
 * between do not meet those who did not.
 */
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/disk/file_sync.h"
#include "base/file.h"
#include "base/log.h"
#include "io/lock_record.h"

enum { TRIES = 100, CLAIMS = 4, LATE_BEATS = 3, LOOKS_AT_THE_END = 2 };

static const file_lock_pace usual_pace = {.beat_s = 5, .look_s = 1, .looks = 30};

struct file_lock {
    char path[FILE_PATH_MAX];
    file_lock_pace pace;
    lock_record record;
    int fd; /* of this lock's own file, wherever it is renamed to */
    pthread_t thread;
    bool beating;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop; /* under the mutex */
    atomic_bool lost;
    _Atomic double beaten_at; /* clock_seconds() */
};

/* ---- the beat ---- */

static void nap(double seconds)
{
    struct timespec span = {.tv_sec = (time_t)seconds};
    span.tv_nsec = (long)((seconds - (double)span.tv_sec) * 1e9);
    (void)nanosleep(&span, NULL);
}

/* A beat that cannot be written is one that observers miss; the next one is tried all the same. */
static void beat(file_lock *lock, unsigned number)
{
    char digits[LOCK_BEAT_DIGITS + 1];
    lock_sight sight;
    snprintf(digits, sizeof digits, "%0*u", LOCK_BEAT_DIGITS, number);
    if (lock_look(lock->path, &sight) == WEFT_OK) {
        if (!lock_is_own(&sight, &lock->record)) {
            atomic_store(&lock->lost, true);
            return;
        }
        if (pwrite(lock->fd, digits, LOCK_BEAT_DIGITS, (off_t)lock->record.beat_at) == LOCK_BEAT_DIGITS &&
            fdatasync(lock->fd) == 0) {
            atomic_store(&lock->beaten_at, clock_seconds());
        }
    }
}

static struct timespec after(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long nanoseconds = t.tv_nsec + (long)((seconds - (double)(time_t)seconds) * 1e9);
    t.tv_sec += (time_t)seconds + nanoseconds / 1000000000L;
    t.tv_nsec = nanoseconds % 1000000000L;
    return t;
}

static void *beat_until_stopped(void *argument)
{
    file_lock *lock = argument;
    pthread_mutex_lock(&lock->mutex);
    for (unsigned number = 1; !lock->stop && !atomic_load(&lock->lost); ++number) {
        const struct timespec until = after(lock->pace.beat_s);
        while (!lock->stop && pthread_cond_timedwait(&lock->wake, &lock->mutex, &until) != ETIMEDOUT) {
        }
        if (!lock->stop) {
            pthread_mutex_unlock(&lock->mutex);
            beat(lock, number);
            pthread_mutex_lock(&lock->mutex);
        }
    }
    pthread_mutex_unlock(&lock->mutex);
    return NULL;
}

/* Signals are for the program's own threads. */
static weft_status start_beat(file_lock *lock)
{
    sigset_t all, before;
    pthread_condattr_t monotonic;
    atomic_store(&lock->beaten_at, clock_seconds());
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lock->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&lock->mutex, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&lock->thread, NULL, beat_until_stopped, lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    WEFT_CHECK(error == 0, WEFT_ERR_RESOURCE, "%s: no thread: %s; raise the limit of processes (ulimit -u)", lock->path,
               strerror(error));
    pthread_setname_np(lock->thread, "weft-lock");
    lock->beating = true;
    return WEFT_OK;
}

/* ---- taking ---- */

static void unmake(file_lock *lock, const char *path)
{
    close(lock->fd);
    lock->fd = -1;
    unlink(path);
}

/* 0, or why the record is not on the disk. */
static int write_record(int fd, const lock_record *record)
{
    size_t done = 0;
    while (done < record->bytes) {
        const ssize_t n = pwrite(fd, record->text + done, record->bytes - done, (off_t)done);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return file_sync(fd);
}

/* *made: the file is ours; otherwise one of that name was there. */
static weft_status make(file_lock *lock, const char *path, bool *made)
{
    *made = false;
    lock->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (lock->fd < 0) {
        return errno == EEXIST ? WEFT_OK : weft_fail_errno(errno, path);
    }
    const int error = write_record(lock->fd, &lock->record);
    if (error != 0) {
        unmake(lock, path);
        return weft_fail_errno(error, path);
    }
    *made = true;
    return WEFT_OK;
}

static weft_status fail_held(const char *path, const lock_sight *sight)
{
    char holder[512];
    lock_describe(sight, holder, sizeof holder);
    return weft_fail(WEFT_ERR_USAGE, "%s: held by %s", path, holder);
}

/* Look until the holder shows life, or is believed to be dead. *gone: the file changed hands, or went. */
static weft_status watch(const file_lock *lock, const char *path, const lock_sight *sight, bool *gone)
{
    char holder[512];
    lock_sight now;
    lock_describe(sight, holder, sizeof holder);
    log_info("%s: held by %s: waiting %g s for a sign of life", path, holder, lock->pace.look_s * lock->pace.looks);
    for (int i = 0; i < lock->pace.looks; ++i) {
        nap(lock->pace.look_s);
        WEFT_TRY(lock_look(path, &now));
        *gone = !now.there;
        if (*gone) {
            return WEFT_OK;
        }
        if (!lock_same_sight(sight, &now)) {
            return fail_held(path, &now);
        }
    }
    return WEFT_OK;
}

/* WEFT_OK: the holder is dead, or *gone. A job that was just told to end has a moment to do so. */
static weft_status find_dead(const file_lock *lock, const char *path, const lock_sight *sight, bool *gone)
{
    lock_holder holder;
    lock_sight now;
    const bool named = lock_read_holder(sight, &holder);
    process_fate fate = named ? process_find(&holder.process) : PROCESS_ELSEWHERE;
    *gone = false;
    for (int i = 0; i < LOOKS_AT_THE_END && fate == PROCESS_RUNS; ++i) {
        nap(lock->pace.look_s);
        WEFT_TRY(lock_look(path, &now));
        *gone = !now.there;
        if (*gone) {
            return WEFT_OK;
        }
        fate = process_find(&holder.process);
    }
    if (fate == PROCESS_RUNS) {
        return fail_held(path, sight);
    }
    return fate == PROCESS_ENDED ? WEFT_OK : watch(lock, path, sight, gone);
}

static weft_status take_at(file_lock *lock, const char *path, int claims);

/* *done: the dead holder's file is ours now. */
static weft_status take_over(file_lock *lock, const char *path, const lock_sight *dead, int claims, bool *done)
{
    char claim[FILE_PATH_MAX], hash[33], holder[512];
    lock_sight now;
    *done = false;
    WEFT_CHECK(claims > 0, WEFT_ERR_USAGE, "%s: several jobs died while they took it over: remove it and %s.*", path,
               path);
    file_hash(dead->text, dead->bytes, hash);
    WEFT_TRY(file_path(claim, "%s.%.16s", path, hash));
    WEFT_TRY(take_at(lock, claim, claims - 1));
    weft_status status = lock_look(path, &now);
    if (status != WEFT_OK || !lock_same_sight(dead, &now)) {
        unmake(lock, claim);
        return status;
    }
    if (rename(claim, path) != 0) {
        status = errno == ENOENT ? WEFT_OK : weft_fail_errno(errno, path);
        unmake(lock, claim);
        return status;
    }
    /* A process that slept between claim and rename may have lost the claim, and put its new holder's in place. */
    status = lock_look(path, &now);
    *done = status == WEFT_OK && lock_is_own(&now, &lock->record);
    if (!*done) {
        close(lock->fd);
        lock->fd = -1;
        return status;
    }
    lock_describe(dead, holder, sizeof holder);
    log_info("%s: taken over from %s, which has ended", path, holder);
    return WEFT_OK;
}

/* Another process has put this one's claim into its place. */
static weft_status hold_again(file_lock *lock, const char *path)
{
    lock->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return lock->fd >= 0 ? WEFT_OK : weft_fail_errno(errno, path);
}

static weft_status take_at(file_lock *lock, const char *path, int claims)
{
    for (int i = 0; i < TRIES; ++i) {
        lock_sight sight;
        bool done = false, gone = false;
        WEFT_TRY(make(lock, path, &done));
        if (!done) {
            WEFT_TRY(lock_look(path, &sight));
        }
        if (!done && lock_is_own(&sight, &lock->record)) {
            return hold_again(lock, path);
        }
        if (!done && sight.there) {
            WEFT_TRY(find_dead(lock, path, &sight, &gone));
            WEFT_TRY(gone ? WEFT_OK : take_over(lock, path, &sight, claims, &done));
        }
        if (done) {
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: changed hands %d times while it was waited for", path, TRIES);
}

weft_status file_lock_take(const char *path, const file_lock_pace *pace, file_lock **lock)
{
    file_lock *fresh = NULL;
    *lock = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&fresh, 1, WEFT_MEM_GENERAL));
    fresh->fd = -1;
    fresh->pace = pace != NULL ? *pace : usual_pace;
    weft_status status = file_path(fresh->path, "%s", path);
    status = status == WEFT_OK ? lock_record_make(&fresh->record) : status;
    WEFT_TRY_GOTO(status, status, fail);
    WEFT_TRY_GOTO(take_at(fresh, path, CLAIMS), status, fail);
    status = start_beat(fresh);
    if (status == WEFT_OK) {
        *lock = fresh;
        return WEFT_OK;
    }
    unmake(fresh, path);
fail:
    weft_free(fresh);
    return status;
}

/* ---- holding ---- */

static weft_status fail_lost(const file_lock *lock, const lock_sight *sight)
{
    char holder[512];
    if (!sight->there) {
        return weft_fail(WEFT_ERR_IO, "%s: was removed by somebody else while this process held it", lock->path);
    }
    lock_describe(sight, holder, sizeof holder);
    return weft_fail(WEFT_ERR_IO, "%s: taken over by %s, as this process stood still for %g s", lock->path, holder,
                     lock->pace.look_s * lock->pace.looks);
}

weft_status file_lock_check(file_lock *lock)
{
    lock_sight sight;
    if (lock == NULL) {
        return WEFT_OK;
    }
    const bool late = clock_seconds() - atomic_load(&lock->beaten_at) > LATE_BEATS * lock->pace.beat_s;
    if (!late && !atomic_load(&lock->lost)) {
        return WEFT_OK;
    }
    WEFT_TRY(lock_look(lock->path, &sight));
    if (lock_is_own(&sight, &lock->record)) {
        return WEFT_OK;
    }
    atomic_store(&lock->lost, true);
    return fail_lost(lock, &sight);
}

void file_lock_release(file_lock *lock)
{
    lock_sight sight;
    if (lock == NULL) {
        return;
    }
    pthread_mutex_lock(&lock->mutex);
    lock->stop = true;
    pthread_cond_signal(&lock->wake);
    pthread_mutex_unlock(&lock->mutex);
    pthread_join(lock->thread, NULL);
    pthread_cond_destroy(&lock->wake);
    pthread_mutex_destroy(&lock->mutex);
    if (lock_look(lock->path, &sight) != WEFT_OK) {
        weft_error_clear();
    } else if (lock_is_own(&sight, &lock->record)) {
        unlink(lock->path);
    }
    close(lock->fd);
    weft_free(lock);
}
