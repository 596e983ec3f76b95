/*
 * dense/data/image_idx.c: IDX files, the format of MNIST (LeCun, Cortes, Burges) and of sets made in its likeness.
 *
 *      images   00 00 08 03   n   height   width   pixels [n, height, width]        numbers: 32 bits, big-endian
 *      labels   00 00 08 01   n   labels [n]
 *
 * A class is a value of the labels: there are as many as the largest training label and one.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "dense/data/image_records.h"

enum { IDX_BYTES = 0x08, HEAD_IMAGES = 16, HEAD_LABELS = 8 };

static const char *const file_names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                             {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};

static bool matches(const char *path)
{
    char found[FILE_PATH_MAX];
    return image_file_find(path, file_names[0][0], found);
}

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
    const size_t dims = magic & 0xff;
    const size_t head = 4 + 4 * dims;
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
    const int64_t count = big_endian(data + 4);
    const int64_t height = big_endian(data + 8);
    const int64_t width = big_endian(data + 12);
    WEFT_CHECK(height >= 1 && width >= 1 && height <= IMAGE_SIDE_MAX && width <= IMAGE_SIDE_MAX, WEFT_ERR_DATA,
               "%s: images of %lld x %lld pixels; each side has 1 to %d", path, (long long)height, (long long)width,
               IMAGE_SIDE_MAX);
    const size_t needed = (size_t)(count * height * width);
    const size_t pixels = bytes - HEAD_IMAGES;
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
    const int64_t count = big_endian(data + 4);
    const int64_t held = (int64_t)(bytes - HEAD_LABELS);
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

/* Of a test label only: training labels make the classes. */
static weft_status check_labels(const char *path, const image_set *set, const image_part *part)
{
    for (int64_t i = 0; i < part->count; ++i) {
        WEFT_CHECK(part->label[i] < set->classes, WEFT_ERR_DATA,
                   "%s: label %d of image %lld; the training labels are 0 to %lld", path, part->label[i], (long long)i,
                   (long long)set->classes - 1);
    }
    return WEFT_OK;
}

static weft_status read_part(const char *folder, const char *const names[2], const image_options *options,
                             image_set *set, image_part *part)
{
    char path[FILE_PATH_MAX];
    image_records *records = set->store->self;
    const bool training = part == &set->store->part[IMAGE_TRAIN];
    WEFT_CHECK(image_file_find(folder, names[0], path), WEFT_ERR_NOINPUT, "%s/%s: is missing, plain and packed (%s.gz)",
               folder, names[0], names[0]);
    WEFT_TRY(read_images(path, options, records, set, part));
    WEFT_CHECK(!training || part->count > 0, WEFT_ERR_DATA, "%s: holds no training images", path);
    WEFT_CHECK(image_file_find(folder, names[1], path), WEFT_ERR_NOINPUT,
               "%s/%s: the labels of %s are missing, plain and packed (%s.gz)", folder, names[1], names[0], names[1]);
    WEFT_TRY(read_labels(path, options, set, part));
    for (int64_t i = 0; i < part->count && training; ++i) {
        set->classes = part->label[i] >= set->classes ? part->label[i] + 1 : set->classes;
    }
    return check_labels(path, set, part);
}

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    char found[FILE_PATH_MAX];
    image_records *records;
    (void)comm;
    WEFT_TRY(image_records_create(set, &records));
    records->offset = HEAD_IMAGES;
    set->channels = 1;
    WEFT_TRY(read_part(path, file_names[0], options, set, &set->store->part[IMAGE_TRAIN]));
    if (!image_file_find(path, file_names[1][0], found)) {
        return WEFT_OK; /* nothing to test with */
    }
    return read_part(path, file_names[1], options, set, &set->store->part[IMAGE_TEST]);
}

const image_reader image_reader_idx = {.format = IMAGE_FORMAT_IDX, .matches = matches, .open = open_set};
