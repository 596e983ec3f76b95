/*
 * Fuzz target: IDX files. Two bytes: how many of what follows are the images, the rest are the labels, and names of
 * classes, too; where no label is given there are good ones. Seeds: tests/fuzz/make_seeds DIR.
 */
#include "fuzz/fuzz_images.h"

enum { STATED_LIMIT = 16 << 20, LABELS_MAX = 1 << 16 };

static const char *folder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    return 0;
}

/* As many as the head of the images states. */
static void put_good_labels(const uint8_t *images, size_t bytes)
{
    static uint8_t labels[8 + LABELS_MAX] = {0, 0, 8, 1};
    memcpy(labels + 4, "\0\0\0\0", 4);
    if (bytes >= 8) {
        memcpy(labels + 4, images + 4, 4);
    }
    fuzz_put(folder, "train-labels-idx1-ubyte", labels, 8 + ((size_t)labels[6] << 8 | labels[7]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const size_t stated = (size_t)data[0] << 8 | data[1];
    const size_t images = stated < size - 2 ? stated : size - 2;
    fuzz_put(folder, "train-images-idx3-ubyte", data + 2, images);
    if (images + 2 < size) {
        fuzz_put(folder, "train-labels-idx1-ubyte", data + 2 + images, size - 2 - images);
        fuzz_put(folder, "classes.txt", data + 2 + images, size - 2 - images);
    } else {
        put_good_labels(data + 2, images);
        fuzz_put(folder, "classes.txt", "", 0);
    }
    fuzz_open_set(folder, IMAGE_FORMAT_IDX, STATED_LIMIT);
    return 0;
}
