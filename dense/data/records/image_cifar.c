/*
 * dense/data/records/image_cifar.c: the binary files of CIFAR-10 and CIFAR-100 (Krizhevsky, Learning multiple layers of
 * features from tiny images, 2009).
 *
 *      CIFAR-10    data_batch_*.bin, test_batch.bin    record: label, then 1024 bytes each of red, green, blue
 *      CIFAR-100   train.bin, test.bin                 record: coarse label, fine label, the same pixels
 *
 * Fine labels are the classes. Names stand in batches.meta.txt or fine_label_names.txt, a line each, where there is
 * one.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dense/data/image_reader.h"
#include "dense/data/records/image_records.h"
#include "io/text/path_name.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, CHANNELS = 3, BATCHES_MAX = 64 };

typedef struct cifar_layout {
    const char *test, *names;
    int64_t classes;
    size_t labels; /* bytes before the pixels; the last is the class */
} cifar_layout;

static const cifar_layout cifar10 = {.test = "test_batch.bin", .names = "batches.meta.txt", .classes = 10, .labels = 1};
static const cifar_layout cifar100 = {.test = "test.bin", .names = "fine_label_names.txt", .classes = 100, .labels = 2};

/* data_batch_*.bin and .bin.gz in the order of their names. */
typedef struct batch_list {
    char name[BATCHES_MAX][256];
    int count;
} batch_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static weft_status list_batches(const char *folder, batch_list *list)
{
    list->count = 0;
    DIR *open = opendir(folder);
    const struct dirent *entry;
    weft_status status = WEFT_OK;
    while (open != NULL && list->count < BATCHES_MAX && (entry = folder_next(open, folder, &status)) != NULL) {
        const bool binary = path_ends(entry->d_name, ".bin") || path_ends(entry->d_name, ".bin.gz");
        if (binary && strncmp(entry->d_name, "data_batch_", strlen("data_batch_")) == 0) {
            snprintf(list->name[list->count++], sizeof list->name[0], "%s", entry->d_name);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    qsort(list->name, (size_t)list->count, sizeof list->name[0], by_name);
    return status;
}

static bool matches(const char *path)
{
    char found[FILE_PATH_MAX];
    batch_list list;
    if (list_batches(path, &list) != WEFT_OK) {
        return false;
    }
    return list.count > 0 || image_file_find(path, "train.bin", found) || image_file_find(path, cifar10.test, found) ||
           image_file_find(path, cifar100.test, found);
}

static void take_pixels(const uint8_t *planes, uint8_t *pixels)
{
    for (int i = 0; i < PLANE; ++i) {
        for (int c = 0; c < CHANNELS; ++c) {
            pixels[i * CHANNELS + c] = planes[c * PLANE + i];
        }
    }
}

static weft_status take_labels(const char *path, const uint8_t *data, size_t bytes, const cifar_layout *layout,
                               image_part *part)
{
    const size_t record = layout->labels + CHANNELS * PLANE;
    WEFT_CHECK(bytes > 0, WEFT_ERR_DATA, "%s: is empty", path);
    WEFT_CHECK(bytes % record == 0, WEFT_ERR_DATA,
               "%s: %zu bytes are %zu records of %zu and %zu bytes more: cut off, or not a CIFAR-%lld file", path,
               bytes, bytes / record, record, bytes % record, (long long)layout->classes);
    const int64_t count = (int64_t)(bytes / record);
    WEFT_TRY(weft_realloc(&part->owned, (size_t)(part->count + count), sizeof *part->label, WEFT_MEM_IMAGE));
    int32_t *label = part->owned;
    part->label = label;
    for (int64_t i = 0; i < count; ++i, ++part->count) {
        const uint8_t *at = data + (size_t)i * record;
        label[part->count] = at[layout->labels - 1];
        WEFT_CHECK(label[part->count] < layout->classes, WEFT_ERR_DATA,
                   "%s: record %lld (byte %zu) has label %d; a CIFAR-%lld file has 0 to %lld", path, (long long)i,
                   (size_t)i * record, label[part->count], (long long)layout->classes, (long long)layout->classes - 1);
    }
    return WEFT_OK;
}

static weft_status read_batch(const char *path, const cifar_layout *layout, const image_options *options,
                              image_set *set, int split)
{
    const image_bytes *all;
    image_records *records = set->store->self;
    image_part *part = &set->store->part[split];
    const int64_t before = part->count;
    WEFT_TRY(image_records_open(set, path, options, NULL, &all));
    WEFT_TRY(take_labels(path, all->data, all->bytes, layout, part));
    image_records_count(records, part->count - before);
    image_hash_mix(set->hash, all->data, all->bytes);
    return WEFT_OK;
}

/* A line that is missing leaves its class without a name. */
static weft_status read_names(const char *path, image_set *set)
{
    name_list names = {.text = NULL};
    WEFT_TRY(image_set_name_classes(set, set->classes));
    WEFT_TRY(image_names_read(path, &names));
    for (int64_t class = 0; class < names.count && class < set->classes; ++class) {
        snprintf(set->class_name[class], IMAGE_NAME_BYTES, "%s", names.text[class]);
    }
    if (names.count != set->classes) {
        log_warn("%s: %lld names for %lld classes", path, (long long)names.count, (long long)set->classes);
    }
    name_list_free(&names);
    return WEFT_OK;
}

/* Files of training images; a trained model does without where there are others. */
static weft_status read_training(const char *path, const batch_list *list, const cifar_layout *layout,
                                 const image_options *options, image_set *set)
{
    char found[FILE_PATH_MAX];
    for (int i = 0; i < list->count; ++i) {
        WEFT_TRY(file_path(found, "%s/%s", path, list->name[i]));
        WEFT_TRY(read_batch(found, layout, options, set, IMAGE_TRAIN));
    }
    if (list->count > 0 || (options->trained && !image_file_find(path, "train.bin", found))) {
        return WEFT_OK;
    }
    WEFT_CHECK(image_file_find(path, "train.bin", found), WEFT_ERR_NOINPUT,
               "%s: has neither data_batch_*.bin (CIFAR-10) nor train.bin (CIFAR-100)", path);
    return read_batch(found, layout, options, set, IMAGE_TRAIN);
}

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    char found[FILE_PATH_MAX];
    batch_list list;
    image_records *records;
    (void)comm;
    WEFT_TRY(image_records_create(set, &records));
    WEFT_TRY(list_batches(path, &list));
    const bool ten =
        list.count > 0 || (!image_file_find(path, "train.bin", found) && image_file_find(path, cifar10.test, found));
    const cifar_layout *layout = ten ? &cifar10 : &cifar100;
    records->offset = layout->labels;
    records->stride = layout->labels + CHANNELS * PLANE;
    records->bytes = CHANNELS * PLANE;
    records->take = take_pixels;
    set->height = SIDE;
    set->width = SIDE;
    set->channels = CHANNELS;
    set->classes = layout->classes;
    WEFT_TRY(read_training(path, &list, layout, options, set));
    if (image_file_find(path, layout->test, found)) {
        WEFT_TRY(read_batch(found, layout, options, set, IMAGE_TEST));
    }
    return image_file_find(path, layout->names, found) ? read_names(found, set) : WEFT_OK;
}

const image_reader image_reader_cifar = {.format = IMAGE_FORMAT_CIFAR, .matches = matches, .open = open_set};
