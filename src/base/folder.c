/*
 * base/folder.c: whole folders that are complete or absent; see base/file.h.
 *
 * Content grows in a temporary folder beside the goal. Committing renames it; when an old folder is replaced the two
 * are exchanged in one step where the kernel can (renameat2), so that no moment has neither, and the old one is removed
 * last. Removal walks by file descriptors (openat, unlinkat): a symbolic link planted inside is unlinked, never
 * followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_options.def"
#include "base/file.h"

enum { NAME_TRIES = 100, DEPTH_MAX = 32 };

static weft_status trim_slashes(const char *path, char trimmed[FILE_PATH_MAX])
{
    WEFT_TRY(file_path(trimmed, "%s", path));
    size_t length = strlen(trimmed);
    while (length > 1 && trimmed[length - 1] == '/') {
        trimmed[--length] = '\0';
    }
    WEFT_CHECK(length > 0, WEFT_ERR_USAGE, "an empty path for an output folder");
    return WEFT_OK;
}

static weft_status refuse_existing(const char *path)
{
    return weft_fail(WEFT_ERR_USAGE, "%s: exists already; choose another name, or replace it with " FLAG_FORCE, path);
}

/* The process that a temporary name of `base` on this host carries, or 0. */
static pid_t owner_of(const char *name, const char *base, const char *host)
{
    size_t length = strlen(base);
    char mark[32];
    int marked = snprintf(mark, sizeof mark, ".tmp-%s-", host);
    if (strncmp(name, base, length) != 0 || strncmp(name + length, mark, (size_t)marked) != 0) {
        return 0;
    }
    char *end;
    long pid = strtol(name + length + marked, &end, 10);
    return *end == '-' && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* [out] error_number: 0 at the end, too. */
static const struct dirent *next_entry(DIR *folder, int *error_number)
{
    errno = 0;
    const struct dirent *entry = readdir(folder);
    *error_number = entry == NULL ? errno : 0;
    return entry;
}

const struct dirent *folder_next(DIR *folder, const char *path, weft_status *status)
{
    int error_number;
    const struct dirent *entry = next_entry(folder, &error_number);
    if (error_number != 0) {
        *status =
            weft_fail(WEFT_ERR_IO, "%s: the folder cannot be listed to its end: %s", path, strerror(error_number));
    }
    return entry;
}

/* Remove what killed processes of this host left of `goal`. Best effort: what resists stays. */
static void sweep(const char *goal)
{
    char parent[FILE_PATH_MAX];
    memcpy(parent, goal, strlen(goal) + 1);
    char *slash = strrchr(parent, '/');
    const char *base = slash != NULL ? goal + (slash - parent) + 1 : goal;
    if (slash != NULL) {
        slash[slash == parent] = '\0';
    }
    DIR *folder = opendir(slash != NULL ? parent : ".");
    char host[FILE_HOST_BYTES];
    file_host(host);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* a listing that fails leaves the rest to the next job */
    while (folder != NULL && (entry = folder_next(folder, parent, &status)) != NULL) {
        pid_t owner = owner_of(entry->d_name, base, host);
        char path[FILE_PATH_MAX];
        bool gone = owner > 0 && kill(owner, 0) != 0 && errno == ESRCH;
        if (gone && file_path(path, "%.*s%s", (int)(base - goal), goal, entry->d_name) == WEFT_OK &&
            unlink(path) != 0) {
            (void)folder_remove(path);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    weft_error_clear();
}

static weft_status make_temporary(const char *goal, char temporary[FILE_PATH_MAX])
{
    sweep(goal);
    char name[FILE_PATH_MAX];
    for (int i = 0;; i++) {
        WEFT_TRY(file_temporary_name(goal, name));
        if (mkdir(name, 0777) == 0) {
            break;
        }
        if (errno != EEXIST || i == NAME_TRIES) {
            return file_fail_output(errno, goal);
        }
    }
    memcpy(temporary, name, FILE_PATH_MAX);
    return WEFT_OK;
}

weft_status folder_begin(const char *path, bool force, char temporary[FILE_PATH_MAX])
{
    char goal[FILE_PATH_MAX];
    temporary[0] = '\0';
    WEFT_TRY(trim_slashes(path, goal));
    if (file_exists(goal) && !force) {
        return refuse_existing(goal);
    }
    struct stat facts;
    WEFT_CHECK(stat(goal, &facts) != 0 || S_ISDIR(facts.st_mode), WEFT_ERR_USAGE,
               "%s: a folder is to stand here, and what stands here is none: move it away, or choose another name",
               goal);
    return make_temporary(goal, temporary);
}

weft_status file_check_output(const char *path)
{
    char goal[FILE_PATH_MAX], temporary[FILE_PATH_MAX];
    WEFT_TRY(trim_slashes(path, goal));
    WEFT_TRY(make_temporary(goal, temporary));
    return rmdir(temporary) == 0 ? WEFT_OK : file_fail_output(errno, path);
}

/* Put `temporary` in the place of an existing `goal` and remove what was there. */
static weft_status replace_folder(const char *temporary, const char *goal)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, goal, RENAME_EXCHANGE) == 0) {
        return folder_remove(temporary);
    }
    /* The file system cannot exchange: move the old one aside, and back if the new one does not arrive. */
    char old[FILE_PATH_MAX];
    char aside[FILE_PATH_MAX];
    WEFT_TRY(file_path(old, "%s.old", goal)); /* a name that sweep() leaves alone: for a moment it is the only copy */
    WEFT_TRY(file_temporary_name(old, aside));
    if (rename(goal, aside) != 0) {
        return file_fail_output(errno, goal);
    }
    if (rename(temporary, goal) != 0) {
        weft_status status = file_fail_output(errno, goal);
        (void)rename(aside, goal);
        return status;
    }
    return folder_remove(aside);
}

static weft_status place_folder(const char *temporary, const char *goal)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, goal, RENAME_NOREPLACE) == 0) {
        return WEFT_OK;
    }
    if (errno == EEXIST) {
        return refuse_existing(goal);
    }
    if ((errno == EINVAL || errno == ENOSYS) && !file_exists(goal) && rename(temporary, goal) == 0) {
        return WEFT_OK;
    }
    return file_fail_output(errno, goal);
}

weft_status folder_commit(const char *temporary, const char *path, bool force)
{
    char goal[FILE_PATH_MAX];
    weft_status status = trim_slashes(path, goal);
    if (status == WEFT_OK) {
        status = file_sync_folder(temporary);
    }
    if (status == WEFT_OK) {
        status = force && file_exists(goal) ? replace_folder(temporary, goal) : place_folder(temporary, goal);
    }
    if (status == WEFT_OK) {
        return file_sync_parent(goal);
    }
    if (file_exists(temporary)) {
        char keep[2048];
        snprintf(keep, sizeof keep, "%s", weft_error_message());
        (void)folder_remove(temporary);
        return weft_fail(status, "%s", keep);
    }
    return status;
}

/* Empty the open folder `fd` (closed on return). */
static int empty_folder(int fd, int depth)
{
    DIR *folder = depth > 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        int error_number = depth > 0 ? errno : ELOOP;
        close(fd);
        return error_number;
    }
    int error_number = 0;
    const struct dirent *entry;
    while (error_number == 0 && (entry = next_entry(folder, &error_number)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        struct stat facts;
        if (fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
            error_number = errno;
        } else if (!S_ISDIR(facts.st_mode)) {
            error_number = unlinkat(fd, name, 0) == 0 ? 0 : errno;
        } else {
            int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            error_number = inner < 0 ? errno : empty_folder(inner, depth - 1);
            if (error_number == 0 && unlinkat(fd, name, AT_REMOVEDIR) != 0) {
                error_number = errno;
            }
        }
    }
    closedir(folder);
    return error_number;
}

weft_status folder_remove(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return weft_fail_errno(errno, path);
    }
    int error_number = empty_folder(fd, DEPTH_MAX);
    if (error_number == 0 && rmdir(path) != 0) {
        error_number = errno;
    }
    return error_number == 0 ? WEFT_OK : weft_fail_errno(error_number, path);
}

weft_status folder_make(const char *path)
{
    char part[FILE_PATH_MAX];
    WEFT_TRY(trim_slashes(path, part));
    for (char *slash = part;; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        struct stat facts;
        if (mkdir(part, 0777) != 0 && (errno != EEXIST || stat(part, &facts) != 0 || !S_ISDIR(facts.st_mode))) {
            return errno == EEXIST ? weft_fail(WEFT_ERR_IO, "%s: is not a folder", part)
                                   : file_fail_output(errno, part);
        }
        if (slash == NULL) {
            return WEFT_OK;
        }
    }
}
