/*
 * dense/data/image_folders.c: files of images (image_files.h) in a folder of each split, in it a folder of each class; or
 * loose: in one folder, or a single one.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dense/data/image_files.h"

static const char *const split_folders[] = {"train", "val", "valid", "validation", "test"};
enum { SPLIT_FOLDERS = sizeof split_folders / sizeof split_folders[0], DEEPEST = 6 };

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static bool matches_splits(const char *path)
{
    char train[FILE_PATH_MAX];
    return file_path(train, "%s/train", path) == WEFT_OK && is_folder(train);
}

/* Of a file that had at least `bytes` when the set was opened. */
static weft_status load(void *self, const char *name, int64_t offset, size_t bytes, uint8_t *room, const uint8_t **data)
{
    char path[FILE_PATH_MAX];
    (void)offset;
    WEFT_TRY(file_path(path, "%s/%s", (const char *)self, name));
    int fd;
    struct stat facts;
    WEFT_TRY(file_open(path, &fd, &facts));
    const ssize_t got = file_read_at(fd, 0, room, bytes);
    const int error = errno;
    close(fd);
    if (got < 0) {
        return weft_fail_errno(error, path);
    }
    WEFT_CHECK((size_t)got == bytes, WEFT_ERR_DATA, "%s: %zd bytes are left of %zu", path, got, bytes);
    *data = room;
    return WEFT_OK;
}

typedef weft_status (*entry_fn)(const char *root, const char *inside, image_files *files);

/* fn for each entry of root/inside, whose name begins with no dot. */
static weft_status each_entry(const char *root, const char *inside, image_files *files, entry_fn fn)
{
    char path[FILE_PATH_MAX];
    char name[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    const char *between = inside[0] != '\0' ? "/" : "";
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return weft_fail_errno(errno, path);
    }
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = folder_next(folder, path, &status)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        status = file_path(name, "%s%s%s", inside, between, entry->d_name);
        status = status == WEFT_OK ? fn(root, name, files) : status;
    }
    closedir(folder);
    return status;
}

/* If it is a file; links may lead nowhere. */
static weft_status add_any(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        image_files_pass_over(files, inside);
        return WEFT_OK;
    }
    return image_files_add(files, inside, &(image_place){.bytes = facts.st_size, .changed = image_changed(&facts)});
}

/* What stands deeper than a class's files do, for the warning alone: links, which may lead anywhere, are not followed. */
static weft_status pass_over_below(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    int depth = 0;
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    for (const char *at = inside; *at != '\0'; ++at) {
        depth += *at == '/';
    }
    if (lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode) || depth >= DEEPEST || access(path, R_OK | X_OK) != 0) {
        image_files_pass_over(files, inside);
        return WEFT_OK;
    }
    return each_entry(root, inside, files, pass_over_below);
}

static weft_status add_file(const char *root, const char *inside, image_files *files)
{
    return image_files_takes(inside) ? add_any(root, inside, files) : pass_over_below(root, inside, files);
}

static weft_status add_loose(const char *root, const char *inside, image_files *files)
{
    return image_files_takes_loose(inside) ? add_any(root, inside, files) : WEFT_OK;
}

static weft_status add_class(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    if (!is_folder(path)) {
        image_files_pass_over(files, inside);
        return WEFT_OK;
    }
    const int64_t before = image_files_seen(files);
    WEFT_TRY(each_entry(root, inside, files, add_file));
    if (image_files_seen(files) == before) {
        WEFT_TRY(file_path(path, "%s/ (without images)", inside));
        image_files_pass_over(files, path);
    }
    return WEFT_OK;
}

static weft_status add_splits(const char *root, image_files *files)
{
    for (int i = 0; i < SPLIT_FOLDERS; ++i) {
        char path[FILE_PATH_MAX];
        WEFT_TRY(file_path(path, "%s/%s", root, split_folders[i]));
        if (is_folder(path)) {
            WEFT_TRY(each_entry(root, split_folders[i], files, add_class));
        }
    }
    return WEFT_OK;
}

/* Where files are, and the one of them that is meant, or NULL. */
static weft_status find_root(const char *path, bool loose, char **root, const char **single)
{
    const char *slash = strrchr(path, '/');
    *single = loose && !is_folder(path) ? (slash != NULL ? slash + 1 : path) : NULL;
    const size_t length = *single == NULL ? strlen(path) : slash != NULL ? (size_t)(slash + 1 - path) : 1;
    WEFT_TRY(WEFT_NEW(root, length + 1, WEFT_MEM_GENERAL));
    memcpy(*root, *single != NULL && slash == NULL ? "." : path, length);
    (*root)[length] = '\0';
    return WEFT_OK;
}

static weft_status list_files(const char *path, bool loose, char **root, image_files *files)
{
    const char *single;
    WEFT_TRY(find_root(path, loose, root, &single));
    if (!loose) {
        return add_splits(*root, files);
    }
    return single != NULL ? add_any(*root, single, files) : each_entry(*root, "", files, add_loose);
}

static weft_status open_files(weft_comm *comm, const char *path, const image_options *options, bool loose,
                              image_set *set)
{
    image_files *files = NULL;
    char *root = NULL;
    weft_status status = image_files_create(loose, &files);
    if (status == WEFT_OK) {
        status = list_files(path, loose, &root, files);
    }
    status = comm_agree(comm, status);
    if (status != WEFT_OK) {
        weft_free(root);
        image_files_destroy(files);
        return status;
    }
    return image_files_open(comm, path, options, files, load, root, weft_free, set);
}

static weft_status open_splits(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    return open_files(comm, path, options, false, set);
}

static weft_status open_loose(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    return open_files(comm, path, options, true, set);
}

static bool matches_loose(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!is_folder(path)) {
        return file_exists(path) && image_files_takes_loose(slash != NULL ? slash + 1 : path);
    }
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* whoever asks looks at weft_error_code */
    bool found = false;
    while (folder != NULL && !found && (entry = folder_next(folder, path, &status)) != NULL) {
        found = image_files_takes_loose(entry->d_name);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

const image_reader image_reader_folders = {
    .format = IMAGE_FORMAT_FOLDERS, .matches = matches_splits, .open = open_splits};
const image_reader image_reader_loose = {.format = IMAGE_FORMAT_LOOSE, .matches = matches_loose, .open = open_loose};
