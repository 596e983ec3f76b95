/* dense/data/image_folders.c: a folder of each split, in it a folder of each class, in it images (image_files.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dense/data/image_files.h"

static const char *const split_folders[] = {"train", "val", "valid", "validation", "test"};
enum { SPLIT_FOLDERS = sizeof split_folders / sizeof split_folders[0] };

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static bool matches(const char *path)
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return weft_fail_errno(errno, path);
    }
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
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return weft_fail_errno(errno, path);
    }
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        status = file_path(path, "%s/%s", inside, entry->d_name);
        status = status == WEFT_OK ? fn(root, path, files) : status;
    }
    closedir(folder);
    return status;
}

static weft_status add_file(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    if (!image_files_takes(inside) || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return WEFT_OK;
    }
    return image_files_add(files, inside, &(image_place){.bytes = facts.st_size, .changed = image_changed(&facts)});
}

static weft_status add_class(const char *root, const char *inside, image_files *files)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", root, inside));
    return is_folder(path) ? each_entry(root, inside, files, add_file) : WEFT_OK;
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

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    image_files *files = NULL;
    char *root = NULL;
    weft_status status = image_files_create(&files);
    if (status == WEFT_OK) {
        status = WEFT_NEW(&root, strlen(path) + 1, WEFT_MEM_GENERAL);
    }
    if (status == WEFT_OK) {
        memcpy(root, path, strlen(path) + 1);
        status = add_splits(path, files);
    }
    status = comm_agree(comm, status);
    if (status != WEFT_OK) {
        weft_free(root);
        image_files_destroy(files);
        return status;
    }
    return image_files_open(comm, path, options, files, load, root, weft_free, set);
}

const image_reader image_reader_folders = {.format = IMAGE_FORMAT_FOLDERS, .matches = matches, .open = open_set};
