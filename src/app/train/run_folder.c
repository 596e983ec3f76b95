/*
 * app/train/run_folder.c: see app/train/run_folder.h.
 *
 * Whether a folder holds a run is asked with its lock held, so that of two jobs that begin at the same moment the
 * second finds either the first one's lock or its run. A folder that is given back is renamed first: whoever comes at
 * that moment makes a new one, and never locks something that is being removed.
 */
#include "app/train/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 20 };

static weft_status fail_taken(const char *path)
{
    return weft_fail_context(WEFT_ERR_USAGE,
                             "%s is another job's: wait for its end, or choose another --run-dir: ", path);
}

static bool holds_run(const char *path)
{
    char manifest[FILE_PATH_MAX];
    return snprintf(manifest, sizeof manifest, "%s/run.json", path) < (int)sizeof manifest && file_exists(manifest);
}

/* How much of the path is there: bytes of its longest beginning that exists. */
static size_t standing(const char *path)
{
    char part[FILE_PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    while (part[0] != '\0' && !file_exists(part)) {
        char *slash = strrchr(part, '/');
        *(slash != NULL ? slash : part) = '\0';
    }
    return strlen(part);
}

/* What this job made of the path, from the inside out, as far as it is empty. */
static void remove_empty(const char *path, size_t stood)
{
    char part[FILE_PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    while (strlen(part) > stood && (rmdir(part) == 0 || errno == ENOENT)) {
        char *slash = strrchr(part, '/');
        *(slash != NULL ? slash : part) = '\0';
    }
}

static weft_status remove_made(const char *path, size_t stood)
{
    char aside[FILE_PATH_MAX];
    WEFT_TRY(file_temporary_name(path, aside));
    if (rename(path, aside) != 0 && errno != ENOENT) {
        return file_fail_output(errno, path);
    }
    weft_status status = file_exists(aside) ? folder_remove(aside) : WEFT_OK;
    remove_empty(path, stood);
    return status;
}

static weft_status refuse_run(const char *path)
{
    return weft_fail(
        WEFT_ERR_USAGE,
        "%s already holds a run: choose another --run-dir, add --resume to go on with it, or --force to replace it",
        path);
}

/* Returns WEFT_ERR_USAGE if the folder is that of a trial whose search runs. */
static weft_status check_search(const char *path)
{
    char name[FILE_PATH_MAX];
    file_lock *lock = NULL;
    WEFT_TRY(file_path(name, "%s/../" SEARCH_LOCK_NAME, path));
    if (!file_exists(name)) {
        return WEFT_OK;
    }
    WEFT_TRY(file_lock_take(name, NULL, &lock));
    file_lock_release(lock);
    return WEFT_OK;
}

static weft_status lock_folder(const char *path, const char *name, bool of_search, run_folder *folder)
{
    if (of_search && !file_exists(name)) {
        return WEFT_OK;
    }
    WEFT_TRY(of_search ? WEFT_OK : check_search(path));
    return file_lock_take(name, NULL, &folder->lock);
}

/* Make the folder and lock it. One that is given back by another job at this moment is made once more. */
static weft_status make_and_lock(const char *path, bool of_search, run_folder *folder)
{
    char name[FILE_PATH_MAX];
    weft_status status = WEFT_ERR_NOINPUT;
    WEFT_TRY(file_path(name, "%s/" RUN_LOCK_NAME, path));
    for (int i = 0; i < TRIES && status == WEFT_ERR_NOINPUT; ++i) {
        folder->stood = standing(path);
        status = folder_make(path);
        if (status == WEFT_OK) {
            status = lock_folder(path, name, of_search, folder);
            status = status == WEFT_ERR_USAGE ? fail_taken(path) : status;
        }
        if (status != WEFT_OK) {
            remove_empty(path, folder->stood);
        }
    }
    return status;
}

/* free: a folder that holds a run may be taken. */
static weft_status open_asked(const char *asked, bool of_search, bool free, char path[FILE_PATH_MAX],
                              run_folder *folder)
{
    WEFT_TRY(file_path(path, "%s", asked));
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; --end) {
        path[end - 1] = '\0';
    }
    weft_status status = make_and_lock(path, of_search, folder);
    if (status != WEFT_ERR_USAGE && !free &&
        holds_run(path)) { /* also where it may not be written: that is the better advice */
        file_lock_release(folder->lock);
        folder->lock = NULL;
        return refuse_run(path);
    }
    WEFT_TRY(status);
    folder->made = folder->stood < strlen(path) && !holds_run(path);
    return WEFT_OK;
}

/* The first weft-run-NNNN that this job, and no other started at the same moment, makes. */
static weft_status open_numbered(char path[FILE_PATH_MAX], run_folder *folder)
{
    char name[FILE_PATH_MAX];
    for (int number = 1; number < 10000; ++number) {
        WEFT_TRY(file_path(path, "weft-run-%04d", number));
        if (mkdir(path, 0777) != 0) {
            if (errno != EEXIST) {
                return file_fail_output(errno, path);
            }
            continue;
        }
        WEFT_TRY(file_path(name, "%s/" RUN_LOCK_NAME, path));
        weft_status status = file_lock_take(name, NULL, &folder->lock);
        if (status == WEFT_OK && !holds_run(path)) {
            folder->made = true;
            folder->stood = strlen(path);
            return WEFT_OK;
        }
        if (status != WEFT_OK && status != WEFT_ERR_USAGE) {
            rmdir(path);
            return status;
        }
        file_lock_release(folder->lock); /* a --resume that looked for the newest was faster */
        folder->lock = NULL;
    }
    return weft_fail(WEFT_ERR_USAGE, "9999 folders named weft-run-NNNN exist here: name one with --run-dir");
}

/* The newest weft-run-NNNN here, to go on with; path is "" when there is none. */
static weft_status find_numbered(char path[FILE_PATH_MAX])
{
    int newest = 0;
    DIR *list = opendir(".");
    if (list == NULL) {
        return weft_fail_errno(errno, ".");
    }
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    while ((entry = folder_next(list, ".", &status)) != NULL) {
        const char *digits = entry->d_name + strlen("weft-run-");
        if (strncmp(entry->d_name, "weft-run-", strlen("weft-run-")) == 0 && strlen(digits) == 4 &&
            strspn(digits, "0123456789") == 4 && atoi(digits) > newest) {
            newest = atoi(digits);
        }
    }
    closedir(list);
    path[0] = '\0';
    WEFT_TRY(status);
    return newest > 0 ? file_path(path, "weft-run-%04d", newest) : WEFT_OK;
}

weft_status run_folder_open(const weft_options *options, bool of_search, char path[FILE_PATH_MAX], run_folder *folder)
{
    const bool resume = option_flag(options, OPT_RESUME);
    const char *asked = option_text(options, OPT_RUN_DIR);
    char newest[FILE_PATH_MAX] = "";
    *folder = (run_folder){.lock = NULL};
    if (option_flag(options, OPT_DRY_RUN)) {
        WEFT_TRY(file_path(path, "weft-dry-run-%ld", (long)getpid()));
        folder->made = true;
        folder->stood = strlen(path);
        return WEFT_OK;
    }
    if (asked[0] == '\0' && resume) {
        WEFT_TRY(find_numbered(newest));
        asked = newest;
    }
    return asked[0] != '\0' ? open_asked(asked, of_search, resume || option_flag(options, OPT_FORCE), path, folder)
                            : open_numbered(path, folder);
}

weft_status run_folder_close(const char *path, run_folder *folder, bool keep)
{
    weft_status status = WEFT_OK;
    if (folder->made && !keep && file_lock_check(folder->lock) == WEFT_OK) {
        status = remove_made(path, folder->stood);
    }
    file_lock_release(folder->lock);
    *folder = (run_folder){.lock = NULL};
    return status;
}
