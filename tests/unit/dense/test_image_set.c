/*
 * Image sets: IDX and CIFAR files made here byte by byte, damaged ones, and the public ones (WEFT_SHARED/data; skipped
 * where they are absent) against figures that are known of them.
 */
#include <math.h>

#include "base/log.h"
#include "dense/data/image_set.h"
#include "support/image_bytes.h"

enum { SIDE = 5, PIXELS = SIDE * SIDE, CIFAR_RECORD = 3073, IMAGES = 20000 /* of the largest set */ };

static const image_options plain = {.threads = 1};

static weft_status open_alone(const char *path, const image_options *options, image_set **set)
{
    weft_comm *comm;
    ASSERT_OK(comm_create_self(&comm));
    weft_status status = image_set_open(comm, path, options, set);
    comm_destroy(comm);
    return status;
}

/* ---- IDX ------------------------------------------------------------------------------------------------------- */

static uint8_t idx_pixel(int image, int p)
{
    return (uint8_t)(image * 31 + p * 7);
}

/* Images and labels 0 1 2 0 1 2 ... of a split, whole. */
static void put_idx(void **state, const char *split, int count)
{
    static uint8_t data[16 + IMAGES * PIXELS] = {0, 0, 8};
    data[3] = 3;
    char name[64];
    image_put_number(data + 4, (uint32_t)count);
    image_put_number(data + 8, SIDE);
    image_put_number(data + 12, SIDE);
    for (int i = 0; i < count * PIXELS; ++i) {
        data[16 + i] = idx_pixel(i / PIXELS, i % PIXELS);
    }
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", split);
    put_file(in_folder(state, name), data, 16 + (size_t)count * PIXELS);
    data[3] = 1;
    for (int i = 0; i < count; ++i) {
        data[8 + i] = (uint8_t)(i % 3);
    }
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", split);
    put_file(in_folder(state, name), data, 8 + (size_t)count);
}

static void rename_idx(void **state, const char *from, const char *to)
{
    static const char *const kinds[2][2] = {{"-images-idx3-ubyte", "-images.idx3-ubyte"},
                                            {"-labels-idx1-ubyte", "-labels.idx1-ubyte"}};
    for (int i = 0; i < 2; ++i) {
        char before[FILE_PATH_MAX];
        char name[128];
        snprintf(name, sizeof name, "%s%s", from, kinds[i][0]);
        snprintf(before, sizeof before, "%s", in_folder(state, name));
        snprintf(name, sizeof name, "%s%s", to, kinds[i][1]);
        assert_int_equal(rename(before, in_folder(state, name)), 0);
    }
}

static void add_to_labels(void **state, const char *split, int count, int more)
{
    char name[64];
    size_t bytes;
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", split);
    uint8_t *data = get_file(in_folder(state, name), &bytes);
    for (int i = 0; i < count; ++i) {
        data[8 + i] = (uint8_t)(data[8 + i] + more);
    }
    put_file(in_folder(state, name), data, bytes);
    free(data);
}

static void change_byte(const char *path, size_t at, uint8_t value)
{
    size_t bytes;
    uint8_t *data = get_file(path, &bytes);
    assert_true(at < bytes);
    data[at] = value;
    put_file(path, data, bytes);
    free(data);
}

static void test_idx_is_read(void **state)
{
    image_set *set;
    uint8_t pixels[PIXELS];
    int32_t label;
    put_idx(state, "train", 7);
    put_idx(state, "t10k", 3);
    /* one of the files packed */
    size_t bytes;
    uint8_t *data = get_file(in_folder(state, "train-images-idx3-ubyte"), &bytes);
    put_gzip(in_folder(state, "train-images-idx3-ubyte.gz"), data, (unsigned)bytes);
    unlink(in_folder(state, "train-images-idx3-ubyte"));
    free(data);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_int_equal(set->format, IMAGE_FORMAT_IDX);
    assert_int_equal(set->count[IMAGE_TRAIN], 7);
    assert_int_equal(set->count[IMAGE_VALID], 0);
    assert_int_equal(set->count[IMAGE_TEST], 3);
    assert_int_equal(set->classes, 3);
    assert_int_equal(image_set_bytes(set), PIXELS);
    for (int i = 0; i < 7; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        assert_int_equal(label, i % 3);
        for (int p = 0; p < PIXELS; ++p) {
            assert_int_equal(pixels[p], idx_pixel(i, p));
        }
    }
    ASSERT_STATUS(image_set_read(set, IMAGE_TEST, 3, pixels, &label), WEFT_ERR_INTERNAL);
    image_set_close(set);
}

/* Dots in names, prefixes, and a folder above: the same set. */
static void test_other_names_of_idx(void **state)
{
    char path[FILE_PATH_MAX];
    image_set *set;
    ASSERT_OK(folder_make(in_folder(state, "root/MNIST/raw")));
    put_idx(state, "root/MNIST/raw/train", 7);
    put_idx(state, "root/MNIST/raw/t10k", 3);
    ASSERT_OK(open_alone(in_folder(state, "root"), &plain, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 7);
    assert_string_equal(set->name, "root");
    image_set_close(set);
    rename_idx(state, "root/MNIST/raw/train", "root/MNIST/raw/train");
    rename_idx(state, "root/MNIST/raw/t10k", "root/MNIST/raw/test");
    ASSERT_OK(open_alone(in_folder(state, "root/MNIST"), &plain, &set));
    assert_int_equal(set->count[IMAGE_TEST], 3);
    image_set_close(set);
    ASSERT_OK(folder_make(in_folder(state, "both")));
    put_idx(state, "both/first-train", 7);
    put_idx(state, "both/other-train", 5);
    ASSERT_STATUS(open_alone(in_folder(state, "both"), &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds several data sets");
    snprintf(path, sizeof path, "%s", in_folder(state, "both/other-train-images-idx3-ubyte"));
    ASSERT_OK(open_alone(path, &plain, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 5);
    image_set_close(set);
    ASSERT_OK(folder_make(in_folder(state, "root/Other/raw")));
    put_idx(state, "root/Other/raw/train", 5);
    ASSERT_STATUS(open_alone(in_folder(state, "root"), &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds 2 data sets of images");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_pickled_cifar_is_told(void **state)
{
    image_set *set;
    ASSERT_OK(folder_make(in_folder(state, "cifar-10-batches-py")));
    put_file(in_folder(state, "cifar-10-batches-py/data_batch_1"), "x", 1);
    put_file(in_folder(state, "cifar-10-batches-py/batches.meta"), "x", 1);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("take the binary version");
}

static void assert_classes(const image_set *set, const char *const *names, int count)
{
    assert_int_equal(set->classes, count);
    assert_true((names != NULL) == (set->class_name != NULL));
    for (int i = 0; i < count && names != NULL; ++i) {
        assert_string_equal(set->class_name[i], names[i]);
    }
}

static void test_labels_from_1(void **state)
{
    static const char *const numbers[] = {"1", "2", "3"};
    const image_options trained = {.threads = 1, .trained = true};
    image_set *set;
    put_idx(state, "train", 7);
    put_idx(state, "t10k", 3);
    add_to_labels(state, "train", 7, 1);
    add_to_labels(state, "t10k", 3, 1);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, numbers, 3);
    assert_int_equal(image_set_label(set, IMAGE_TRAIN, 0), 0);
    image_set_close(set);
    ASSERT_OK(open_alone(*state, &trained, &set)); /* a model may know a class 0 */
    assert_classes(set, NULL, 4);
    assert_int_equal(image_set_label(set, IMAGE_TRAIN, 0), 1);
    image_set_close(set);
    put_idx(state, "t10k", 3); /* with a label 0: they do not begin at 1 */
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, NULL, 4);
    image_set_close(set);
}

static void test_names_of_labels(void **state)
{
    static const char *const named[] = {"ankle boot", "bag", "caf\xc3\xa9"};
    static const char lines[] = "ankle boot\r\n\n bag \ncafe\xcc\x81";
    image_set *set;
    put_idx(state, "train", 7);
    put_file(in_folder(state, "classes.txt"), lines, sizeof lines - 1);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, named, 3);
    image_set_close(set);
    add_to_labels(state, "train", 7, 1);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, named, 3);
    assert_int_equal(image_set_label(set, IMAGE_TRAIN, 1), 1);
    image_set_close(set);
    put_idx(state, "train", 7);
    put_file(in_folder(state, "classes.txt"), "0\n1\n2\n0\n1\n2\n0\n", 14); /* labels, not names */
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, NULL, 3);
    image_set_close(set);
    put_file(in_folder(state, "classes.txt"), "one\n", 4);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_classes(set, NULL, 3);
    image_set_close(set);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* Every training image is in one of two parts, and the parts are the same again. */
static void test_images_are_set_apart(void **state)
{
    const image_options options = {.threads = 1, .valid = 3, .seed = 5};
    int seen[7] = {0};
    image_set *set;
    uint8_t pixels[PIXELS];
    int32_t label;
    put_idx(state, "train", 7);
    ASSERT_OK(open_alone(*state, &options, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 4);
    assert_int_equal(set->count[IMAGE_VALID], 3);
    for (int i = 0; i < 7; ++i) {
        ASSERT_OK(image_set_read(set, i < 4 ? IMAGE_TRAIN : IMAGE_VALID, i < 4 ? i : i - 4, pixels, &label));
        int image = 0;
        while (image < 6 && pixels[0] != idx_pixel(image, 0)) {
            ++image;
        }
        seen[image] += 1;
        assert_int_equal(label, image % 3);
    }
    for (int i = 0; i < 7; ++i) {
        assert_int_equal(seen[i], 1);
    }
    image_set_close(set);
    const image_options too_many = {.threads = 1, .valid = 7};
    ASSERT_STATUS(open_alone(*state, &too_many, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("at least one must be left");
}

static void test_moments_are_exact(void **state)
{
    weft_comm *comm;
    image_set *set;
    float mean;
    float deviation;
    double sum = 0;
    double squares = 0;
    put_idx(state, "train", 7);
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, *state, &plain, &set));
    ASSERT_OK(image_set_moments(comm, set, &mean, &deviation));
    for (int i = 0; i < 7 * PIXELS; ++i) {
        sum += idx_pixel(i / PIXELS, i % PIXELS) / 255.0;
    }
    sum /= 7 * PIXELS;
    for (int i = 0; i < 7 * PIXELS; ++i) {
        const double away = idx_pixel(i / PIXELS, i % PIXELS) / 255.0 - sum;
        squares += away * away;
    }
    ASSERT_NEAR(mean, sum, 1e-6);
    ASSERT_NEAR(deviation, sqrt(squares / (7 * PIXELS)), 1e-6);
    image_set_close(set);
    comm_destroy(comm);
}

static void test_damaged_idx_is_refused(void **state)
{
    static const struct {
        const char *file;
        size_t at;
        uint8_t value;
        const char *message;
    } damage[] = {
        {"train-images-idx3-ubyte", 2, 9, "begins 00 00 09 03, expected 00 00 08 03"},
        {"train-images-idx3-ubyte", 7, 8, "175 bytes of pixels, 8 images of 5 x 5 need 200"},
        {"train-images-idx3-ubyte", 4, 255, "cut off, or not IDX"},
        {"train-images-idx3-ubyte", 8, 255, "each side has 1 to"},
        {"train-images-idx3-ubyte", 15, 0, "each side has 1 to"},
        {"train-labels-idx1-ubyte", 3, 3, "expected 00 00 08 01"},
        {"train-labels-idx1-ubyte", 7, 6, "states 6 labels and holds 7"},
        {"t10k-labels-idx1-ubyte", 9, 200, "label 200 of image 1; the training labels are 0 to 2"},
    };
    image_set *set;
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; ++i) {
        put_idx(state, "train", 7);
        put_idx(state, "t10k", 3);
        change_byte(in_folder(state, damage[i].file), damage[i].at, damage[i].value);
        ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
        ASSERT_MESSAGE(damage[i].message);
        ASSERT_MESSAGE(damage[i].file);
    }
    put_idx(state, "train", 7);
    unlink(in_folder(state, "train-labels-idx1-ubyte"));
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("train-labels-idx1-ubyte");
    put_idx(state, "train", 7);
    put_file(in_folder(state, "train-images-idx3-ubyte"), "\0\0\b", 3);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("3 bytes, its header alone has 16");
    put_idx(state, "train", 0);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("train-images-idx3-ubyte: holds no training images");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* Messages name both forms of a file, and a name that promises too much. */
static void test_missing_and_misnamed_idx_is_told(void **state)
{
    const image_options forced = {.threads = 1, .format = IMAGE_FORMAT_IDX};
    image_set *set;
    size_t bytes;
    ASSERT_STATUS(open_alone(*state, &forced, &set), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("/train-images-idx3-ubyte: is missing, plain and packed (train-images-idx3-ubyte.gz)");
    put_idx(state, "train", 7);
    unlink(in_folder(state, "train-labels-idx1-ubyte"));
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("the labels of train-images-idx3-ubyte are missing, plain and packed (train-labels-idx1-ubyte.gz)");
    put_idx(state, "train", 7);
    uint8_t *data = get_file(in_folder(state, "train-images-idx3-ubyte"), &bytes);
    unlink(in_folder(state, "train-images-idx3-ubyte"));
    put_file(in_folder(state, "train-images-idx3-ubyte.gz"), data, bytes);
    free(data);
    ASSERT_OK(open_alone(*state, &plain, &set)); /* what it is counts, not its name */
    image_set_close(set);
    for (size_t length = 0; length <= 20; length += 5) {
        put_file(in_folder(state, "train-images-idx3-ubyte.gz"), "<html> is not found </html>", length);
        ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
        ASSERT_MESSAGE("bytes are not gzip data, as the name says");
    }
    ASSERT_STATUS(open_alone("synth:images,n=4", &forced, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("leave --data-format out");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_memory_is_bounded(void **state)
{
    const image_options little = {.threads = 1, .memory = 4096};
    uint8_t *zeros = calloc(1, 1 << 22);
    image_set *set;
    assert_non_null(zeros);
    zeros[2] = 8;
    zeros[3] = 3;
    memcpy(zeros + 4, (const uint8_t[]){0, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0, 4}, 12); /* 131,072 images of 8 x 4 */
    put_gzip(in_folder(state, "train-images-idx3-ubyte.gz"), zeros, 1 << 22);
    free(zeros);
    ASSERT_STATUS(open_alone(*state, &little, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("more than 4.00 KiB");
    assert_true(weft_mem_usage_of(WEFT_MEM_IMAGE).peak_bytes < 1 << 20);
}

/* What stands behind the images that the header states is not unpacked: 4 MiB here. */
static void test_no_more_is_unpacked_than_is_stated(void **state)
{
    uint8_t *zeros = calloc(1, 1 << 22);
    image_set *set;
    assert_non_null(zeros);
    memcpy(zeros, (const uint8_t[]){0, 0, 8, 3, 0, 0, 0, 24, 0, 0, 0, 20, 0, 0, 0, 20}, 16); /* 24 images of 20 x 20 */
    put_gzip(in_folder(state, "train-images-idx3-ubyte.gz"), zeros, 1 << 22);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("more than 9600 bytes of pixels, 24 images of 20 x 20 need 9600");
    assert_true(weft_mem_usage_of(WEFT_MEM_IMAGE).peak_bytes < 1 << 20);
    put_idx(state, "train", IMAGES);
    unlink(in_folder(state, "train-images-idx3-ubyte.gz"));
    unlink(in_folder(state, "train-labels-idx1-ubyte"));
    memcpy(zeros, (const uint8_t[]){0, 0, 8, 1, 0, 0, 0}, 7);
    zeros[6] = IMAGES >> 8;
    zeros[7] = IMAGES & 255;
    put_gzip(in_folder(state, "train-labels-idx1-ubyte.gz"), zeros, 1 << 22);
    free(zeros);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("labels and holds more than");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* The last page of a mapped file that is cut reads as zeros, without a signal: its images are refused all the same. */
static void test_a_file_that_was_cut_gives_no_zeros(void **state)
{
    uint8_t pixels[PIXELS];
    int32_t label;
    size_t bytes;
    image_set *set;
    put_idx(state, "train", IMAGES);
    free(get_file(in_folder(state, "train-images-idx3-ubyte"), &bytes));
    ASSERT_OK(open_alone(*state, &plain, &set));
    ASSERT_OK(image_set_read(set, IMAGE_TRAIN, IMAGES - 1, pixels, &label));
    assert_int_equal(truncate(in_folder(state, "train-images-idx3-ubyte"), (off_t)bytes - 1), 0);
    ASSERT_STATUS(image_set_read(set, IMAGE_TRAIN, IMAGES - 1, pixels, &label), WEFT_ERR_IO);
    ASSERT_MESSAGE("train-images-idx3-ubyte: was cut short while it was in use");
    image_set_close(set);
}

typedef struct shared_case {
    const char *path;
    int64_t all_bytes; /* of all ranks, once the set is open */
} shared_case;

static weft_status open_shared(weft_comm *comm, void *argument)
{
    shared_case *c = argument;
    image_set *set = NULL;
    uint8_t pixels[PIXELS];
    int32_t label;
    WEFT_TRY(image_set_open(comm, c->path, &plain, &set));
    weft_status status = comm_barrier(comm);
    if (comm_rank(comm) == 0) {
        c->all_bytes = (int64_t)weft_mem_usage_total().current_bytes;
    }
    for (int i = 0; i < (int)set->count[IMAGE_TRAIN] && status == WEFT_OK; ++i) {
        status = image_set_read(set, IMAGE_TRAIN, i, pixels, &label);
        for (int p = 0; p < PIXELS && status == WEFT_OK; ++p) {
            if (pixels[p] != (uint8_t)idx_pixel(i, p) || label != i % 3) {
                status = weft_fail(WEFT_ERR_INTERNAL, "rank %d: image %d is another", comm_rank(comm), i);
            }
        }
    }
    const image_use use = image_set_use(set);
    if (status == WEFT_OK && use.samples[IMAGE_FROM_MEMORY] != set->count[IMAGE_TRAIN]) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%lld images from memory", (long long)use.samples[IMAGE_FROM_MEMORY]);
    }
    status = status == WEFT_OK ? comm_barrier(comm) : status;
    image_set_close(set);
    return status;
}

/* The ranks of a node hold a packed set once between them, and of a plain one nothing. */
static void test_a_node_holds_images_once(void **state)
{
    enum { RANKS = 4, LABELS = IMAGES * 4 * RANKS, ROOM = 1 << 18 };
    shared_case c = {.path = *state};
    put_idx(state, "train", IMAGES);
    for (int packed = 0; packed < 2; ++packed) {
        if (packed) {
            size_t bytes;
            uint8_t *data = get_file(in_folder(state, "train-images-idx3-ubyte"), &bytes);
            put_gzip(in_folder(state, "train-images-idx3-ubyte.gz"), data, (unsigned)bytes);
            unlink(in_folder(state, "train-images-idx3-ubyte"));
            free(data);
        }
        ASSERT_OK(comm_thread_run(RANKS, open_shared, &c));
        const int64_t least = packed ? (int64_t)IMAGES * PIXELS : 0;
        assert_in_range(c.all_bytes, LABELS + least, LABELS + least + IMAGES + ROOM);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* ---- CIFAR ----------------------------------------------------------------------------------------------------- */

static void put_cifar(const char *path, int records, int labels, int class)
{
    const size_t record = (size_t)CIFAR_RECORD - 1 + (size_t)labels;
    uint8_t *data = calloc((size_t)records, record);
    assert_non_null(data);
    for (int r = 0; r < records; ++r) {
        data[r * record + labels - 1] = (uint8_t)(class + r);
        for (int p = 0; p < 1024; ++p) {
            data[r * record + labels + p] = (uint8_t)(p % 200);
            data[r * record + labels + 1024 + p] = (uint8_t)(p % 200 + 1);
            data[r * record + labels + 2048 + p] = (uint8_t)(r + 2);
        }
    }
    put_file(path, data, (size_t)records * record);
    free(data);
}

static void test_cifar_is_read(void **state)
{
    static const char names[] = "ant\nbee\r\n\ncow\n";
    image_set *set;
    uint8_t pixels[3072];
    int32_t label;
    put_cifar(in_folder(state, "data_batch_2.bin"), 2, 1, 7);
    put_cifar(in_folder(state, "data_batch_1.bin"), 3, 1, 0);
    put_cifar(in_folder(state, "test_batch.bin"), 1, 1, 9);
    put_file(in_folder(state, "batches.meta.txt"), names, sizeof names - 1);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 5);
    assert_int_equal(set->count[IMAGE_TEST], 1);
    assert_int_equal(set->classes, 10);
    assert_string_equal(set->class_name[1], "bee");
    assert_string_equal(set->class_name[2], "cow");
    assert_string_equal(set->class_name[3], "");
    ASSERT_OK(image_set_read(set, IMAGE_TRAIN, 4, pixels, &label));
    assert_int_equal(label, 8);
    for (int p = 0; p < 1024; ++p) {
        assert_int_equal(pixels[3 * p], p % 200);
        assert_int_equal(pixels[3 * p + 1], p % 200 + 1);
        assert_int_equal(pixels[3 * p + 2], 3);
    }
    image_set_close(set);
}

static void test_cifar_100_takes_fine_labels(void **state)
{
    image_set *set;
    uint8_t pixels[3072];
    int32_t label;
    put_cifar(in_folder(state, "train.bin"), 2, 2, 98);
    ASSERT_OK(open_alone(*state, &plain, &set));
    assert_int_equal(set->classes, 100);
    ASSERT_OK(image_set_read(set, IMAGE_TRAIN, 1, pixels, &label));
    assert_int_equal(label, 99);
    image_set_close(set);
    put_cifar(in_folder(state, "train.bin"), 3, 2, 98);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("record 2 (byte 6148) has label 100; a CIFAR-100 file has 0 to 99");
}

static void test_damaged_cifar_is_refused(void **state)
{
    image_set *set;
    size_t bytes;
    put_cifar(in_folder(state, "data_batch_1.bin"), 3, 1, 8);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("record 2 (byte 6146) has label 10; a CIFAR-10 file has 0 to 9");
    put_cifar(in_folder(state, "data_batch_1.bin"), 3, 1, 0);
    uint8_t *data = get_file(in_folder(state, "data_batch_1.bin"), &bytes);
    put_file(in_folder(state, "data_batch_1.bin"), data, bytes - 5);
    free(data);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("9214 bytes are 2 records of 3073 and 3068 bytes more");
    put_file(in_folder(state, "data_batch_1.bin"), "", 0);
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("is empty");
}

static void test_unknown_folders_are_refused(void **state)
{
    image_set *set;
    ASSERT_STATUS(open_alone(*state, &plain, &set), WEFT_ERR_DATA);
    ASSERT_MESSAGE("train-images-idx3-ubyte (MNIST)");
    ASSERT_STATUS(open_alone("/nowhere/at/all", &plain, &set), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("/nowhere/at/all");
}

/* ---- public data ----------------------------------------------------------------------------------------------- */

static weft_status open_public(const char *name, image_set **set)
{
    char path[FILE_PATH_MAX];
    const char *shared = getenv("WEFT_SHARED");
    ASSERT_OK(file_path(path, "%s/data/%s", shared != NULL ? shared : "/nowhere", name));
    if (!file_exists(path)) {
        skip();
    }
    return open_alone(path, &plain, set);
}

static void test_mnist(void **state)
{
    image_set *set;
    uint8_t pixels[28 * 28];
    int32_t label;
    /* of the set's own description, and of its first image as every tutorial prints it */
    static const int first[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
    (void)state;
    ASSERT_OK(open_public("mnist", &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 60000);
    assert_int_equal(set->count[IMAGE_TEST], 10000);
    assert_int_equal(set->classes, 10);
    for (int i = 0; i < 10; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        assert_int_equal(label, first[i]);
    }
    ASSERT_OK(image_set_read(set, IMAGE_TRAIN, 0, pixels, &label));
    assert_int_equal(pixels[5 * 28 + 12], 3);
    assert_int_equal(pixels[5 * 28 + 16], 126);
    image_set_close(set);
}

static void test_cifar10(void **state)
{
    image_set *set;
    uint8_t pixels[3072];
    int32_t label;
    static const int first[] = {6, 9, 9, 4, 1, 1, 2, 7, 8, 3};
    (void)state;
    ASSERT_OK(open_public("cifar10", &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 4000);
    assert_string_equal(set->class_name[6], "frog");
    for (int i = 0; i < 10; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        assert_int_equal(label, first[i]);
    }
    image_set_close(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_idx_is_read, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_other_names_of_idx, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_pickled_cifar_is_told, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_labels_from_1, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_names_of_labels, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_images_are_set_apart, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_moments_are_exact, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_more_is_unpacked_than_is_stated, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_that_was_cut_gives_no_zeros, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_node_holds_images_once, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_idx_is_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_missing_and_misnamed_idx_is_told, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_cifar_is_read, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_cifar_100_takes_fine_labels, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_cifar_is_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_unknown_folders_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test(test_mnist),
        cmocka_unit_test(test_cifar10),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
