/* Fuzz target: images in a tar, plain and packed. Seeds: tests/fuzz/make_seeds DIR. */
#include "fuzz/fuzz_images.h"

enum { STATED_LIMIT = 32 << 20 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_file file = fuzz_file_make(data, size);
    fuzz_open_set(file.path, IMAGE_FORMAT_TAR, STATED_LIMIT);
    close(file.fd);
    return 0;
}
