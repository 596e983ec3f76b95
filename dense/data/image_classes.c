/*
 * dense/data/image_classes.c: splits, classes and order of files of images, by their names; see
 * dense/data/image_list.h.
 *
 *      names --layout--> split, CLASS of each --letters_compose, sort--> numbers of classes --sort--> the order of the
 *      set
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/grow.h"
#include "base/letters/letters.h"
#include "base/log.h"
#include "dense/data/image_list.h"
#include "dense/data/image_options.def"
#include "dense/data/image_reader.h"
#include "dense/data/names/image_names.h"

/* ---- split and class of each name ------------------------------------------------------------------------------ */

static bool any_in_split(const image_files *files)
{
    image_words words;
    for (int i = 0; i < files->count; ++i) {
        if (image_name_in_split(files->file[i].name, false, &words)) {
            return true;
        }
    }
    return false;
}

/* Length of a name's folders that end before `end`, the slash included. */
static size_t folder_before(const char *name, size_t end)
{
    while (end > 0 && name[end - 1] != '/') {
        end -= 1;
    }
    return end;
}

/* Length of the folders that all names begin with. Where a file stands in the last of them, that one is a class. */
static size_t common_root(const image_files *files)
{
    const char *first = files->file[0].name;
    size_t root = folder_before(first, strlen(first));
    for (int i = 1; i < files->count; ++i) {
        size_t same = 0;
        while (same < root && files->file[i].name[same] == first[same]) {
            same += 1;
        }
        root = folder_before(first, same);
    }
    for (int i = 0; i < files->count; ++i) {
        if (strchr(files->file[i].name + root, '/') == NULL) {
            const size_t above = folder_before(first, root - 1);
            return first[above] == '.' ? root : above;
        }
    }
    return root;
}

/* A folder in place of a split that reads like one. */
static void look_for_near_split(image_files *files, const char *name)
{
    char folder[FILE_PATH_MAX];
    for (const char *part = name, *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        if (image_word_meant(part, (size_t)(slash - part)) != NULL && strchr(slash + 1, '/') != NULL) {
            snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
            image_files_note_beside(files, folder);
            return;
        }
    }
    image_files_pass_over(files, name);
}

static bool understand(const image_files *files, bool splits, size_t root, const char *name, image_words *words)
{
    return splits ? image_name_in_split(name, files->layout == IMAGE_LAYOUT_SPLITS, words)
                  : image_name_in_class(name, root, words);
}

/* Names that say no class leave the list. */
static void understand_all(image_files *files, bool splits, size_t root)
{
    int kept = 0;
    for (int i = 0; i < files->count; ++i) {
        image_file file = files->file[i];
        image_words words;
        if (!understand(files, splits, root, file.name, &words)) {
            look_for_near_split(files, file.name);
            weft_free(file.name);
            continue;
        }
        file.split = words.split;
        file.tail = words.class;
        file.class_bytes = (int32_t)words.class_bytes;
        files->file[kept++] = file;
    }
    files->count = kept;
}

/* Two folders of one split would be a guess: of a split, or of two sets. */
static weft_status check_splits(const char *path, const image_files *files)
{
    static const char *const names[TRAIN_SPLITS] = {"train", "val", "test"};
    image_words first[TRAIN_SPLITS] = {{.word = NULL}};
    for (int i = 0; i < files->count; ++i) {
        image_words words;
        (void)understand(files, true, 0, files->file[i].name, &words);
        image_words *before = &first[words.split];
        if (before->word == NULL) {
            *before = words;
        }
        WEFT_CHECK(before->word_bytes == words.word_bytes && memcmp(before->word, words.word, words.word_bytes) == 0,
                   WEFT_ERR_DATA,
                   "%s: %.*s/ and %.*s/ both mean the split %s: put their images into one folder, or take one away",
                   path, (int)before->word_bytes, before->word, (int)words.word_bytes, words.word, names[words.split]);
    }
    return WEFT_OK;
}

static weft_status resolve(const char *path, image_files *files)
{
    const bool any = files->layout == IMAGE_LAYOUT_ANY && files->count > 0;
    const bool splits = files->layout == IMAGE_LAYOUT_SPLITS || (any && any_in_split(files));
    WEFT_CHECK(splits || files->out.labels == 0, WEFT_ERR_DATA,
               "%s: a WebDataset shard (%s beside its image), which is not read: unpack it and move each image into a "
               "folder train/CLASS/, where CLASS is what its .cls file says",
               path, files->out.first_label);
    understand_all(files, splits, any && !splits ? common_root(files) : 0);
    if (splits) {
        return check_splits(path, files);
    }
    if (files->count > 0) {
        log_info("%s: folders of classes alone: all %d images are training images; " FLAG_VALID_IMAGES
                 " N sets some apart, folders train/, val/ and test/ divide them",
                 path, files->count);
    }
    return WEFT_OK;
}

/* ---- numbers of classes ---------------------------------------------------------------------------------------- */

/* Files that spell their class alike stand behind each other. */
typedef struct class_run {
    char name[IMAGE_NAME_BYTES]; /* composed */
    int first, end;              /* files */
    bool trained;                /* one of them is a training image */
} class_run;

typedef struct run_list {
    class_run *run;
    int count, capacity;
} run_list;

static int by_spelling(const void *a, const void *b)
{
    const image_file *x = a, *y = b;
    const size_t shorter = (size_t)(x->class_bytes < y->class_bytes ? x->class_bytes : y->class_bytes);
    const int order = memcmp(x->tail, y->tail, shorter);
    return order != 0 ? order : (x->class_bytes > y->class_bytes) - (x->class_bytes < y->class_bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const class_run *)a)->name, ((const class_run *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const image_file *x = a, *y = b;
    if (x->split != y->split) {
        return x->split < y->split ? -1 : 1;
    }
    if (x->class != y->class) {
        return x->class < y->class ? -1 : 1;
    }
    const int order = strcmp(x->tail, y->tail);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static weft_status add_run(const char *path, const image_files *files, int first, run_list *list)
{
    const image_file *file = &files->file[first];
    WEFT_TRY(grow_array((void **)&list->run, sizeof *list->run, list->count, &list->capacity, WEFT_MEM_WORKSPACE));
    class_run *run = &list->run[list->count];
    *run = (class_run){.first = first, .end = first};
    WEFT_CHECK(letters_compose(file->tail, (size_t)file->class_bytes, run->name, sizeof run->name), WEFT_ERR_DATA,
               "%s: %s: a name of a class of %d bytes; at most %d", path, file->name, file->class_bytes,
               IMAGE_NAME_BYTES - 1);
    for (; run->end < files->count && by_spelling(file, &files->file[run->end]) == 0; ++run->end) {
        run->trained = run->trained || files->file[run->end].split == IMAGE_TRAIN;
    }
    list->count += 1;
    return WEFT_OK;
}

/* Numbers of the classes that count, in the order of their names; the others have -1. */
static weft_status number_runs(const char *path, image_files *files, bool trained, const run_list *list, image_set *set)
{
    for (int i = 0, next; i < list->count; i = next) {
        bool counts = trained;
        for (next = i; next < list->count && strcmp(list->run[i].name, list->run[next].name) == 0; ++next) {
            counts = counts || list->run[next].trained;
        }
        if (next > i + 1) {
            log_info("%s: '%s' is spelled in two forms of Unicode, which are one class", path, list->run[i].name);
        }
        for (int k = i; k < next; ++k) {
            for (int f = list->run[k].first; f < list->run[k].end; ++f) {
                files->file[f].class = counts ? (int32_t)set->classes : -1;
            }
        }
        set->classes += counts;
    }
    WEFT_CHECK(set->classes <= IMAGE_CLASSES_MAX, WEFT_ERR_DATA, "%s: %lld classes; at most %d", path,
               (long long)set->classes, IMAGE_CLASSES_MAX);
    WEFT_TRY(image_set_name_classes(set, set->classes));
    for (int i = 0; i < list->count; ++i) {
        const int32_t class = files->file[list->run[i].first].class;
        if (class >= 0) {
            memcpy(set->class_name[class], list->run[i].name, IMAGE_NAME_BYTES);
        }
    }
    return WEFT_OK;
}

static weft_status find_classes(const char *path, image_files *files, bool trained, image_set *set)
{
    run_list list = {.run = NULL};
    weft_status status = WEFT_OK;
    qsort(files->file, (size_t)files->count, sizeof *files->file, by_spelling);
    for (int i = 0; i < files->count && status == WEFT_OK; i = list.run[list.count - 1].end) {
        WEFT_TRY_GOTO(add_run(path, files, i, &list), status, done);
    }
    if (list.count > 0) {
        qsort(list.run, (size_t)list.count, sizeof *list.run, by_name);
    }
    status = number_runs(path, files, trained, &list, set);
done:
    weft_free(list.run);
    return status;
}

static weft_status check_classes(const char *path, const image_files *files)
{
    for (int i = 0; i < files->count; ++i) {
        const image_file *file = &files->file[i];
        WEFT_CHECK(file->class >= 0, WEFT_ERR_DATA,
                   "%s: %s is of a class without training images: there is no train/%.*s", path, file->name,
                   file->class_bytes, file->tail);
    }
    return WEFT_OK;
}

/* ---- the order ------------------------------------------------------------------------------------------------- */

void image_list_find_splits(image_files *files)
{
    for (int s = 0, i = 0; s < TRAIN_SPLITS; ++s) {
        while (i < files->count && files->file[i].split < s) {
            i += 1;
        }
        files->first[s] = i;
    }
}

int image_list_split_end(const image_files *files, int split)
{
    return split + 1 < TRAIN_SPLITS ? files->first[split + 1] : files->count;
}

static void hash_names(image_files *files, image_set *set)
{
    for (int i = 0; i < files->count; ++i) {
        const image_file *file = &files->file[i];
        const int64_t facts[2] = {file->split, file->bytes};
        const int64_t places[2] = {file->offset, file->changed};
        files->largest = (size_t)file->bytes > files->largest ? (size_t)file->bytes : files->largest;
        image_hash_mix(set->hash, facts, sizeof facts);
        image_hash_mix(set->hash, file->tail, strlen(file->tail));
        image_hash_mix(set->store->identity, places, sizeof places);
    }
}

weft_status image_list_sort(const char *path, image_files *files, bool trained, image_set *set)
{
    const bool loose = image_list_is_loose(files);
    weft_free(files->slot); /* numbers change */
    files->slot = NULL;
    files->slots = 0;
    if (!loose) {
        WEFT_TRY(resolve(path, files));
    }
    image_list_tell_left_out(path, files);
    if (files->count == 0) {
        return image_list_fail_empty(path, files);
    }
    if (!loose) {
        WEFT_TRY(find_classes(path, files, trained, set));
    }
    qsort(files->file, (size_t)files->count, sizeof *files->file, by_place);
    image_list_find_splits(files);
    hash_names(files, set);
    if (loose || trained) {
        return WEFT_OK;
    }
    return files->first[IMAGE_VALID] > 0 ? check_classes(path, files) : image_list_fail_empty(path, files);
}
