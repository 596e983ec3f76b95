/*
 * Fuzz target: the binary files of CIFAR. First byte: 0: CIFAR-100, else CIFAR-10; the rest is the training file, whose
 * first 64 bytes are the names of classes too. Seeds: tests/fuzz/make_seeds DIR.
 */
#include "fuzz/fuzz_images.h"

enum { STATED_LIMIT = 16 << 20, NAMES_BYTES = 64 };

static const char *folders[2];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char paths[2][FILE_PATH_MAX];
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    const char *folder = fuzz_folder();
    for (int i = 0; i < 2; ++i) {
        snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
        if (folder_make(paths[i]) != WEFT_OK) {
            abort();
        }
        folders[i] = paths[i];
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    const bool ten = data[0] != 0;
    fuzz_put(folders[ten], ten ? "data_batch_1.bin" : "train.bin", data + 1, size - 1);
    fuzz_put(folders[ten], ten ? "batches.meta.txt" : "fine_label_names.txt", data + 1,
             size - 1 < NAMES_BYTES ? size - 1 : NAMES_BYTES);
    fuzz_open_set(folders[ten], IMAGE_FORMAT_CIFAR, STATED_LIMIT);
    return 0;
}
