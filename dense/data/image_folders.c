/*
 * dense/data/image_folders.c: files of images (image_files.h) in a folder of each split, in it a folder of each class;
 * folders of classes alone; or loose: a folder with all that is below it, or a single file.
 *
 * Folders are read down to DEEPEST levels below the one that is named. Links to files are followed, links to folders
 * only where a split or a class is one: others may lead anywhere.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dense/data/image_files.h"
#include "dense/data/image_reader.h"
#include "dense/data/names/image_names.h"
#include "io/text/path_name.h"

enum { DEEPEST = 32, LOOKED_AT = 4096 /* entries, to find out whether there is an image */ };

/* root: "" where names are paths already. */
static weft_status join(const char *root, const char *inside, char path[FILE_PATH_MAX])
{
    return file_path(path, "%s%s%s", root, root[0] != '\0' ? "/" : "", inside);
}

/* Of a file that had at least `bytes` when the set was opened. */
static weft_status load(void *self, const char *name, int64_t offset, size_t bytes, uint8_t *room, const uint8_t **data)
{
    char path[FILE_PATH_MAX];
    (void)offset;
    WEFT_TRY(join(self, name, path));
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
    char path[FILE_PATH_MAX], name[FILE_PATH_MAX];
    WEFT_TRY(join(root, inside, path));
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
    WEFT_TRY(join(root, inside, path));
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        image_files_pass_over(files, inside);
        return WEFT_OK;
    }
    return image_files_add(files, inside, &(image_place){.bytes = facts.st_size, .changed = image_changed(&facts)});
}

/* Returns true if an entry is a folder to go down into: no link, within DEEPEST, and readable. */
static bool goes_down(const char *root, const char *inside)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    int depth = 0;
    for (const char *at = inside; *at != '\0'; ++at) {
        depth += *at == '/';
    }
    return depth < DEEPEST && join(root, inside, path) == WEFT_OK && lstat(path, &facts) == 0 &&
           S_ISDIR(facts.st_mode) && access(path, R_OK | X_OK) == 0;
}

/* An image of a class, or all images of a folder below it. */
static weft_status add_file(const char *root, const char *inside, image_files *files)
{
    if (image_files_takes(inside)) {
        return add_any(root, inside, files);
    }
    if (goes_down(root, inside)) {
        return each_entry(root, inside, files, add_file);
    }
    image_files_pass_over(files, inside);
    return WEFT_OK;
}

static weft_status add_loose(const char *root, const char *inside, image_files *files)
{
    if (image_files_takes_loose(inside)) {
        return add_any(root, inside, files);
    }
    if (goes_down(root, inside)) {
        return each_entry(root, inside, files, add_loose);
    }
    if (image_name_foreign(inside) != NULL) {
        image_files_pass_over(files, inside);
    }
    return WEFT_OK;
}

static weft_status add_class(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(join(root, inside, path));
    if (!path_is_folder(path)) {
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

/* A folder of the root: a split, or one beside them. */
static weft_status add_split(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(join(root, inside, path));
    if (!path_is_folder(path)) {
        return WEFT_OK;
    }
    if (image_word_split(inside, strlen(inside)) >= 0) {
        return each_entry(root, inside, files, add_class);
    }
    if (!image_name_lies_beside(inside)) {
        image_files_note_beside(files, inside);
    }
    return WEFT_OK;
}

/* A file that is named by itself: other kinds than those that are read are a reason of their own. */
static weft_status add_single(const char *root, const char *inside, image_files *files)
{
    if (image_name_foreign(inside) != NULL) {
        image_files_pass_over(files, inside);
        return WEFT_OK;
    }
    return add_any(root, inside, files);
}

/* A file or a folder of loose images, without the slashes at its end that completion writes. */
static weft_status list_place(const char *path, image_files *files)
{
    char plain[FILE_PATH_MAX];
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "%s: there is no such file or folder", path);
    WEFT_TRY(file_path(plain, "%s", path));
    for (size_t length = strlen(plain); length > 1 && plain[length - 1] == '/'; --length) {
        plain[length - 1] = '\0';
    }
    return path_is_folder(plain) ? each_entry("", plain, files, add_loose) : add_single("", plain, files);
}

/* Files and folders of loose images, which keep the names that they were given by. */
static weft_status list_paths(const image_options *options, image_files *files)
{
    for (int i = 0; i < options->paths; ++i) {
        WEFT_TRY(list_place(options->path[i], files));
    }
    return WEFT_OK;
}

/* Where files are, and the one of them that is meant, or NULL. */
static weft_status find_root(const char *path, const image_options *options, image_layout layout, char **root,
                             const char **single)
{
    const char *slash = strrchr(path, '/');
    const bool several = options->paths > 1;
    *single =
        layout == IMAGE_LAYOUT_LOOSE && !several && !path_is_folder(path) ? (slash != NULL ? slash + 1 : path) : NULL;
    const size_t length = several ? 0 : *single == NULL ? strlen(path) : slash != NULL ? (size_t)(slash + 1 - path) : 1;
    WEFT_TRY(WEFT_NEW(root, length + 1, WEFT_MEM_GENERAL));
    memcpy(*root, *single != NULL && slash == NULL ? "." : path, length);
    (*root)[length] = '\0';
    return WEFT_OK;
}

static weft_status list_files(const char *path, const image_options *options, image_layout layout, char **root,
                              image_files *files)
{
    static const entry_fn of_entry[] = {
        [IMAGE_LAYOUT_SPLITS] = add_split, [IMAGE_LAYOUT_CLASSES] = add_class, [IMAGE_LAYOUT_LOOSE] = add_loose};
    const char *single;
    WEFT_TRY(find_root(path, options, layout, root, &single));
    if (options->paths > 1) {
        return list_paths(options, files);
    }
    return single == NULL ? each_entry(*root, "", files, of_entry[layout]) : add_single(*root, single, files);
}

static weft_status open_files(weft_comm *comm, const char *path, const image_options *options, image_layout layout,
                              image_set *set)
{
    image_files *files = NULL;
    char *root = NULL;
    weft_status status = image_files_create(layout, &files);
    status = status == WEFT_OK ? list_files(path, options, layout, &root, files) : status;
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
    return open_files(comm, path, options, IMAGE_LAYOUT_SPLITS, set);
}

static weft_status open_classes(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    return open_files(comm, path, options, IMAGE_LAYOUT_CLASSES, set);
}

static weft_status open_loose(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    return open_files(comm, path, options, IMAGE_LAYOUT_LOOSE, set);
}

/* ---- what a path holds ----------------------------------------------------------------------------------------- */

static bool is_image(const char *name)
{
    return image_files_takes_loose(name) || image_name_foreign(name) != NULL;
}

/* Returns true if an image stands `above` to `below` folders below this one. *left: entries that may be looked at. */
static bool holds_image(const char *path, int above, int below, int *left)
{
    char inside[FILE_PATH_MAX];
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* whoever asks looks at weft_error_code */
    bool found = false;
    while (folder != NULL && !found && (*left)-- > 0 && (entry = folder_next(folder, path, &status)) != NULL) {
        found = above <= 0 && is_image(entry->d_name);
        if (!found && below > 0 && entry->d_name[0] != '.' &&
            file_path(inside, "%s/%s", path, entry->d_name) == WEFT_OK && path_is_folder(inside)) {
            found = holds_image(inside, above - 1, below - 1, left);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* Returns true for a folder of training images, and for one of another split with an image in a class. */
static bool is_split(const char *path, const char *name)
{
    char inside[FILE_PATH_MAX];
    int left = LOOKED_AT;
    const int split = image_word_split(name, strlen(name));
    return split >= 0 && file_path(inside, "%s/%s", path, name) == WEFT_OK && path_is_folder(inside) &&
           (split == IMAGE_TRAIN || holds_image(inside, 1, 2, &left));
}

static bool matches_splits(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* whoever asks looks at weft_error_code */
    bool found = false;
    while (folder != NULL && !found && (entry = folder_next(folder, path, &status)) != NULL) {
        found = is_split(path, entry->d_name);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static bool matches_classes(const char *path)
{
    int left = LOOKED_AT;
    return path_is_folder(path) && holds_image(path, 1, 2, &left);
}

static bool matches_loose(const char *path)
{
    const char *slash = strrchr(path, '/');
    int left = INT_MAX;
    return path_is_folder(path) ? holds_image(path, 0, 0, &left)
                                : file_exists(path) && is_image(slash != NULL ? slash + 1 : path);
}

const image_reader image_reader_folders = {
    .format = IMAGE_FORMAT_FOLDERS, .matches = matches_splits, .open = open_splits};
const image_reader image_reader_classes = {
    .format = IMAGE_FORMAT_FOLDERS, .matches = matches_classes, .open = open_classes};
const image_reader image_reader_loose = {.format = IMAGE_FORMAT_LOOSE, .matches = matches_loose, .open = open_loose};
