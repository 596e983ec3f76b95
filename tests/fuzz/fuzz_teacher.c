/*
 * Fuzz target: answers of another network for images: their description up to the first NUL, and the array of
 * probabilities behind it. What is accepted has a class and shares for each row. Seeds: tests/fuzz/make_seeds DIR.
 */
#include <math.h>

#include "dense/data/teach/teacher.h"
#include "fuzz/fuzz_support.h"

enum { OVERHEAD = 1 << 20, BYTES_PER_BYTE = 64 };

static const char *folder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    return 0;
}

static void use(const teacher *t)
{
    int32_t *same = NULL, class;
    float *share = NULL;
    if (WEFT_NEW(&same, t->classes, WEFT_MEM_WORKSPACE) == WEFT_OK &&
        WEFT_NEW(&share, t->classes, WEFT_MEM_WORKSPACE) == WEFT_OK) {
        for (int64_t c = 0; c < t->classes; c++) {
            same[c] = (int32_t)c;
        }
        for (int64_t row = 0; row < t->rows && teacher_class(t, row, &class) == WEFT_OK; row++) {
            double sum = 0.0;
            teacher_shares(t, row, same, 2.0, t->classes, share);
            for (int64_t c = 0; c < t->classes; c++) {
                sum += (double)share[c];
            }
            if (class < 0 || class >= t->classes || !(fabs(sum - 1.0) < 1e-3)) {
                abort();
            }
        }
    }
    WEFT_FREE_ALL(same, share);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    teacher t;
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    if (end == NULL) {
        return 0;
    }
    fuzz_put(folder, "scores.json", data, (size_t)(end - data));
    fuzz_put(folder, "probabilities.npy", end + 1, size - 1 - (size_t)(end - data));
    if (teacher_open(folder, &t) == WEFT_OK) {
        use(&t);
    }
    teacher_close(&t);
    weft_error_clear();
    fuzz_check_memory(OVERHEAD + (uint64_t)BYTES_PER_BYTE * size);
    return 0;
}
