/* Fuzz target: one JPEG or PNG file, at several sizes, in colour and grey. Seeds: tests/fuzz/make_seeds DIR. */
#include "dense/data/decode/image_decode.h"
#include "fuzz/fuzz_support.h"

enum { PIXELS_MAX = 1 << 20, WANTED_MAX = 40, STATED_LIMIT = 16 << 20 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const image_shape wanted[] = {{.height = 17, .width = 24, .channels = 3},
                                         {.height = 40, .width = 3, .channels = 1},
                                         {.height = 1, .width = 1, .channels = 3}};
    uint8_t pixels[WANTED_MAX * WANTED_MAX * 3];
    image_scratch scratch = {.bytes = 0};
    image_shape is;
    /* Larger ones are read, but would take most of the time. */
    if (image_look("fuzz", data, size, &is) == WEFT_OK && is.height * is.width <= PIXELS_MAX) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
            (void)image_decode("fuzz", data, size, &wanted[i], &scratch, pixels);
        }
    }
    image_scratch_free(&scratch);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
