/*
 * dense/data/image_inner.c: a data set of images further down in a folder that is none itself. See
 * dense/data/image_store.h.
 *
 *      torchvision's root    MNIST/raw/train-images-idx3-ubyte, cifar-10-batches-bin/data_batch_1.bin
 *      an unpacked archive   imagenette2/train/CLASS/NAME.jpg
 *
 * Two levels are looked at. Loose images, and folders of classes alone, are nobody's inner set: any folder may hold
 * such.
 */
#include <dirent.h>
#include <string.h>

#include "base/text/append.h"
#include "dense/data/image_file.h"
#include "dense/data/image_reader.h"
#include "io/text/path_name.h"

enum { LEVELS = 2, FOLDERS_MAX = 1024 /* that are looked at */, NAMED = 4, NAMES_BYTES = 1024 };

typedef struct inner_search {
    int left; /* folders that may be looked at */
    int count;
    char first[FILE_PATH_MAX];   /* in order of names */
    char names[NAMES_BYTES];     /* of the first ones that were found */
    char pickled[FILE_PATH_MAX]; /* a folder of Python's files; "": none */
} inner_search;

static bool holds(const char *folder, const char *name)
{
    char path[FILE_PATH_MAX];
    return file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path) && !path_is_folder(path);
}

/* cifar-10-batches-py and cifar-100-python. */
static bool is_pickled(const char *folder)
{
    return (holds(folder, "data_batch_1") && holds(folder, "batches.meta")) ||
           (holds(folder, "train") && holds(folder, "test") && holds(folder, "meta"));
}

/* By names that are there as a rule: a folder of a class may hold a million files. */
static bool is_set(const char *path)
{
    static const char *const folders[] = {"train", "Train", "TRAIN", "training", "Training"};
    char inside[FILE_PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
        if (file_path(inside, "%s/%s", path, folders[i]) == WEFT_OK && path_is_folder(inside)) {
            return true;
        }
    }
    return image_file_find(path, "data_batch_1.bin", inside) || image_file_find(path, "train.bin", inside) ||
           image_reader_idx.matches(path);
}

static void look(const char *path, inner_search *search)
{
    if (search->pickled[0] == '\0' && is_pickled(path)) {
        snprintf(search->pickled, sizeof search->pickled, "%s", path);
    }
    if (!is_set(path)) {
        return;
    }
    if (search->count == 0 || strcmp(path, search->first) < 0) {
        snprintf(search->first, sizeof search->first, "%s", path);
    }
    if (search->count < NAMED) {
        text_append_item(search->names, sizeof search->names, "%s", path);
    }
    search->count += 1;
}

static void look_below(const char *path, int levels, inner_search *search)
{
    char inside[FILE_PATH_MAX];
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* whoever asks looks at weft_error_code */
    while (folder != NULL && search->left > 0 && (entry = folder_next(folder, path, &status)) != NULL) {
        if (entry->d_name[0] == '.' || file_path(inside, "%s/%s", path, entry->d_name) != WEFT_OK ||
            !path_is_folder(inside)) {
            continue;
        }
        search->left -= 1;
        const int before = search->count;
        look(inside, search);
        if (search->count == before && levels > 1) {
            look_below(inside, levels - 1, search);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void search_all(const char *path, inner_search *search)
{
    *search = (inner_search){.left = FOLDERS_MAX};
    if (is_pickled(path)) {
        snprintf(search->pickled, sizeof search->pickled, "%s", path);
    }
    look_below(path, LEVELS, search);
}

weft_status image_inner_find(const char *path, char found[FILE_PATH_MAX])
{
    inner_search search;
    weft_error_clear();
    search_all(path, &search);
    found[0] = '\0';
    if (weft_error_code() == WEFT_ERR_IO) { /* a folder could not be listed to its end */
        return WEFT_ERR_IO;
    }
    WEFT_CHECK(search.count <= 1, WEFT_ERR_DATA, "%s: holds %d data sets of images (%s%s): name one of them", path,
               search.count, search.names, search.count > NAMED ? ", ..." : "");
    WEFT_CHECK(search.count > 0 || search.pickled[0] == '\0', WEFT_ERR_DATA,
               "%s: CIFAR in Python's pickle format, which is not read, since such files can run programs: take the "
               "binary version (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz) and name its folder",
               search.pickled);
    snprintf(found, FILE_PATH_MAX, "%s", search.first);
    return WEFT_OK;
}

bool image_inner_exists(const char *path)
{
    inner_search search;
    if (!path_is_folder(path)) {
        return false;
    }
    search_all(path, &search);
    return search.count > 0 || search.pickled[0] != '\0';
}
