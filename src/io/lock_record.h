/* io/lock_record.h: the text in the file of a lock: who holds it, since when, and a number that counts up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/status.h"
#include "io/process.h"

enum { LOCK_RECORD_BYTES = 1024, LOCK_BEAT_DIGITS = 10 };

/* The text of a record; the beat's digits stand at `beat_at`, everything before them is the holder's own. */
typedef struct lock_record {
    char text[LOCK_RECORD_BYTES];
    size_t bytes, beat_at;
} lock_record;

/* A file as it was found: what it held and which file it was. */
typedef struct lock_sight {
    bool there;
    char text[LOCK_RECORD_BYTES + 1];
    size_t bytes;
    dev_t device;
    ino_t file;
    struct timespec changed;
} lock_sight;

typedef struct lock_holder {
    process_name process;
    char since[32];
} lock_holder;

/* Of this process, now; no two are the same. */
weft_status lock_record_make(lock_record *record);
/* An absent file is no failure; a symbolic link, a folder or a longer file is. */
weft_status lock_look(const char *path, lock_sight *sight);
bool lock_same_sight(const lock_sight *a, const lock_sight *b);
bool lock_is_own(const lock_sight *sight, const lock_record *record);
/* False: the text is no whole record. */
bool lock_read_holder(const lock_sight *sight, lock_holder *holder);
/* "process 4711 on node17, since 2024-05-01T12:00:00Z, slurm 33" */
void lock_describe(const lock_sight *sight, char *text, size_t bytes);
