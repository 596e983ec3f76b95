/*
 * dense/data/records/image_idx.c: IDX files, the format of MNIST (LeCun, Cortes, Burges) and of sets made in its
 * likeness.
 *
 *      images   00 00 08 03   n   height   width   pixels [n, height, width]        numbers: 32 bits, big-endian
 *      labels   00 00 08 01   n   labels [n]
 *
 * Files are called [PREFIX]train-images-idx3-ubyte, [PREFIX]t10k-images-idx3-ubyte (or test-), with a dot in place of
 * the last but one dash in many copies, and -labels-idx1-ubyte beside them; plain or .gz. A class is a value of the
 * labels (image_label_names.c).
 */
#include <dirent.h>
#include <string.h>

#include "base/alloc.h"
#include "dense/data/image_reader.h"
#include "dense/data/records/image_records.h"

enum { IDX_BYTES = 0x08, HEAD_IMAGES = 16, HEAD_LABELS = 8, PREFIXES_MAX = 8, PREFIX_BYTES = 64, LOOKED_AT = 256 };

/* ---- names of files ------------------------------------------------------------------------------------------- */

/* Where a set is: EMNIST keeps several in one folder, by a prefix. */
typedef struct idx_place {
    char folder[FILE_PATH_MAX], prefix[PREFIXES_MAX][PREFIX_BYTES];
    int prefixes;
} idx_place;

static const char *const part_words[TRAIN_SPLITS][2] = {
    [IMAGE_TRAIN] = {"train", "train"}, [IMAGE_TEST] = {"t10k", "test"}};

/* The file of a part. what: "images", "labels"; dims as its name says. [out] path: where it is, or should be. */
static bool find_file(const idx_place *place, int split, const char *what, int dims, char path[FILE_PATH_MAX])
{
    char name[FILE_PATH_MAX];
    for (int i = 0; i < 4; ++i) {
        if (file_path(name, "%s%s-%s%cidx%d-ubyte", place->prefix[0], part_words[split][i / 2], what, "-."[i % 2],
                      dims) == WEFT_OK &&
            image_file_find(place->folder, name, path)) {
            return true;
        }
    }
    (void)file_path(path, "%s/%s%s-%s-idx%d-ubyte", place->folder, place->prefix[0], part_words[split][0], what, dims);
    return false;
}

/* The prefix of a file of images, once each. */
static void take_prefix(const char *name, idx_place *place)
{
    static const char *const words[] = {"train-images", "t10k-images", "test-images"};
    const char *at = NULL;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && at == NULL; ++i) {
        at = strstr(name, words[i]);
        at = at != NULL && strncmp(at + strlen(words[i]) + 1, "idx3-ubyte", 10) == 0 ? at : NULL;
    }
    if (at == NULL || at - name >= PREFIX_BYTES || place->prefixes == PREFIXES_MAX) {
        return;
    }
    char *prefix = place->prefix[place->prefixes];
    snprintf(prefix, PREFIX_BYTES, "%.*s", (int)(at - name), name);
    for (int i = 0; i < place->prefixes; ++i) {
        if (strcmp(place->prefix[i], prefix) == 0) {
            return;
        }
    }
    place->prefixes += 1;
}

/* Sets in a folder, or the one that a file of images belongs to. A set without a prefix hides others. */
static void locate(const char *path, idx_place *place)
{
    char found[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    *place = (idx_place){.prefixes = 0};
    snprintf(place->folder, sizeof place->folder, "%s", path);
    if (find_file(place, IMAGE_TRAIN, "images", 3, found) || find_file(place, IMAGE_TEST, "images", 3, found)) {
        place->prefixes = 1;
        return;
    }
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK; /* whoever asks looks at weft_error_code */
    if (folder == NULL && file_exists(path)) {
        take_prefix(slash != NULL ? slash + 1 : path, place);
        snprintf(place->folder, sizeof place->folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                 slash != NULL ? path : ".");
    }
    for (int i = 0; folder != NULL && i < LOOKED_AT && (entry = folder_next(folder, path, &status)) != NULL; ++i) {
        take_prefix(entry->d_name, place);
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static bool matches(const char *path)
{
    idx_place place;
    locate(path, &place);
    return place.prefixes > 0;
}

/* ---- contents -------------------------------------------------------------------------------------------------- */

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool is_named_gz(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* A plain file of whatever name is read; what is neither is told by what its name promises. */
static weft_status check_magic(const char *path, const image_bytes *all, int dims, size_t head)
{
    const uint8_t *data = all->data;
    const size_t bytes = all->bytes;
    const bool right = bytes >= 4 && big_endian(data) == (IDX_BYTES << 8 | (uint32_t)dims);
    WEFT_CHECK(right || all->unpacked != NULL || !is_named_gz(path), WEFT_ERR_DATA,
               "%s: its %zu bytes are not gzip data, as the name says: fetch the file again", path, bytes);
    WEFT_CHECK(bytes >= head, WEFT_ERR_DATA, "%s: %zu bytes, its header alone has %zu: the file is cut off", path,
               bytes, head);
    WEFT_CHECK(right, WEFT_ERR_DATA,
               "%s: begins %02x %02x %02x %02x, expected 00 00 08 %02x: not an IDX file of bytes with %d dimensions",
               path, data[0], data[1], data[2], data[3], (unsigned)dims, dims);
    return WEFT_OK;
}

/* Header and values; 0: the header is not whole, or not one of bytes. */
static uint64_t stated_bytes(const uint8_t *data, size_t bytes)
{
    const uint32_t magic = bytes >= 4 ? big_endian(data) : 0;
    const size_t dims = magic & 0xff, head = 4 + 4 * dims;
    uint64_t values = 1;
    if (magic >> 8 != IDX_BYTES || dims > 3 || bytes < head) {
        return 0;
    }
    for (size_t d = 0; d < dims; ++d) {
        const uint64_t side = big_endian(data + 4 + 4 * d);
        values = side > 0 && values > (UINT64_MAX >> 1) / side ? UINT64_MAX >> 1 : values * side;
    }
    return head + values;
}

static weft_status read_images(const char *path, const image_options *options, image_records *records, image_set *set,
                               image_part *part)
{
    const image_bytes *all;
    WEFT_TRY(image_records_open(set, path, options, stated_bytes, &all));
    const uint8_t *data = all->data;
    const size_t bytes = all->bytes;
    WEFT_TRY(check_magic(path, all, 3, HEAD_IMAGES));
    const int64_t count = big_endian(data + 4), height = big_endian(data + 8);
    const int64_t width = big_endian(data + 12);
    WEFT_CHECK(height >= 1 && width >= 1 && height <= IMAGE_SIDE_MAX && width <= IMAGE_SIDE_MAX, WEFT_ERR_DATA,
               "%s: images of %lld x %lld pixels; each side has 1 to %d", path, (long long)height, (long long)width,
               IMAGE_SIDE_MAX);
    const size_t needed = (size_t)(count * height * width), pixels = bytes - HEAD_IMAGES;
    const bool more = all->unpacked != NULL && pixels > needed; /* the rest was not unpacked */
    WEFT_CHECK(pixels == needed, WEFT_ERR_DATA,
               "%s: %s%zu bytes of pixels, %lld images of %lld x %lld need %zu: cut off, or not IDX", path,
               more ? "more than " : "", more ? needed : pixels, (long long)count, (long long)height, (long long)width,
               needed);
    WEFT_CHECK(set->height == 0 || (set->height == height && set->width == width), WEFT_ERR_DATA,
               "%s: images of %lld x %lld pixels, the training images have %lld x %lld", path, (long long)height,
               (long long)width, (long long)set->height, (long long)set->width);
    set->height = height;
    set->width = width;
    records->stride = records->bytes = (size_t)(height * width);
    image_records_count(records, count);
    part->count = count;
    image_hash_mix(set->hash, data, bytes);
    return WEFT_OK;
}

static weft_status take_labels(const char *path, const image_bytes *all, image_part *part)
{
    const uint8_t *data = all->data;
    const size_t bytes = all->bytes;
    WEFT_TRY(check_magic(path, all, 1, HEAD_LABELS));
    const int64_t count = big_endian(data + 4), held = (int64_t)(bytes - HEAD_LABELS);
    const bool more = all->unpacked != NULL && held > count; /* the rest was not unpacked */
    WEFT_CHECK(held == count, WEFT_ERR_DATA, "%s: states %lld labels and holds %s%lld: cut off, or not IDX", path,
               (long long)count, more ? "more than " : "", (long long)(more ? count : held));
    WEFT_CHECK(count == part->count, WEFT_ERR_DATA, "%s: %lld labels for %lld images", path, (long long)count,
               (long long)part->count);
    int32_t *label;
    WEFT_TRY(WEFT_NEW(&label, count, WEFT_MEM_IMAGE));
    for (int64_t i = 0; i < count; ++i) {
        label[i] = data[HEAD_LABELS + i];
    }
    part->owned = label;
    part->label = label;
    return WEFT_OK;
}

static weft_status read_labels(const char *path, const image_options *options, image_set *set, image_part *part)
{
    image_bytes all;
    WEFT_TRY(image_bytes_open(path, options, stated_bytes, &all));
    weft_status status = take_labels(path, &all, part);
    image_hash_mix(set->hash, all.data, all.bytes);
    image_bytes_close(&all);
    return status;
}

static weft_status read_part(const idx_place *place, int split, const image_options *options, image_set *set)
{
    char path[FILE_PATH_MAX], labels[FILE_PATH_MAX];
    image_records *records = set->store->self;
    image_part *part = &set->store->part[split];
    WEFT_CHECK(find_file(place, split, "images", 3, path), WEFT_ERR_NOINPUT, "%s: is missing, plain and packed (%s.gz)",
               path, strrchr(path, '/') + 1);
    WEFT_TRY(read_images(path, options, records, set, part));
    WEFT_CHECK(part->count > 0 || split != IMAGE_TRAIN, WEFT_ERR_DATA, "%s: holds no training images", path);
    WEFT_CHECK(find_file(place, split, "labels", 1, labels), WEFT_ERR_NOINPUT,
               "%s: the labels of %s are missing, plain and packed (%s.gz)", labels, strrchr(path, '/') + 1,
               strrchr(labels, '/') + 1);
    return read_labels(labels, options, set, part);
}

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    char found[FILE_PATH_MAX];
    idx_place place;
    image_records *records;
    (void)comm;
    WEFT_TRY(image_records_create(set, &records));
    records->offset = HEAD_IMAGES;
    set->channels = 1;
    locate(path, &place);
    WEFT_CHECK(place.prefixes <= 1, WEFT_ERR_DATA,
               "%s: holds several data sets (%s..., %s...): name a file of one, e.g. %s/%strain-images-idx3-ubyte",
               path, place.prefix[0], place.prefix[1], path, place.prefix[0]);
    const bool tests = find_file(&place, IMAGE_TEST, "images", 3, found);
    if (!options->trained || find_file(&place, IMAGE_TRAIN, "images", 3, found)) {
        WEFT_TRY(read_part(&place, IMAGE_TRAIN, options, set));
    }
    if (tests) {
        WEFT_TRY(read_part(&place, IMAGE_TEST, options, set));
    }
    (void)find_file(&place, IMAGE_TEST, "labels", 1, found);
    return image_name_labels(place.folder, found, options->trained, set);
}

const image_reader image_reader_idx = {.format = IMAGE_FORMAT_IDX, .matches = matches, .open = open_set};
