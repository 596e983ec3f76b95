/*
 * app/train/run_folder.h: which folder a run takes, the lock that makes it this job's alone, and how it is given back.
 *
 * Rank 0 holds RUN_DIR/run.lock (io/lock.h) from before its first look into the folder until the job's end. A second
 * job is refused and touches nothing. Readers (weft report, eval, predict) take no lock.
 */
#pragma once

#include <stdbool.h>

#include "app/options/app_options.h"
#include "base/file.h"
#include "io/lock.h"

typedef struct run_folder {
    file_lock *lock; /* NULL: none is held */
    bool made;       /* by this job; nobody else's run has been in it */
    size_t stood;    /* bytes of its path that were there before: parents that this job made lie behind them */
} run_folder;

#define RUN_LOCK_NAME "run.lock"
/* A search holds this one in the folder above those of its trials, in the place of theirs. */
#define SEARCH_LOCK_NAME "search.lock"

/*
 * Make and lock the folder: --run-dir, or the first free weft-run-NNNN. One that already holds a run is refused
 * unless --force or --resume is given; with --resume the default is the newest weft-run-NNNN. For --dry-run a name
 * only: whoever needs the folder makes it. of_search: this job holds the lock of a search in the folder above, and
 * takes none where there is none of somebody else. WEFT_ERR_USAGE: it is another job's, with host, process and time;
 * or holds a run.
 */
weft_status run_folder_open(const weft_options *options, bool of_search, char path[FILE_PATH_MAX], run_folder *folder);
/* Unlock; unless `keep`, a folder that this job made goes, with the parents that it made. */
weft_status run_folder_close(const char *path, run_folder *folder, bool keep);
