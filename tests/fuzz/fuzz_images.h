/* fuzz/fuzz_images.h: a data set of images opened, every sample of it read, and closed. */
#pragma once

#include "dense/data/image_set.h"
#include "fuzz/fuzz_support.h"

enum { FUZZ_SET_MEMORY = 1 << 20, FUZZ_SAMPLE_MAX = 1 << 20 };

static inline void fuzz_read_samples(const image_set *set)
{
    uint8_t *pixels = NULL;
    if (set->classes < 1 || set->height < 1 || set->width < 1 ||
        weft_malloc((size_t)image_set_bytes(set), 1, WEFT_MEM_GENERAL, (void **)&pixels) != WEFT_OK) {
        abort();
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        for (int64_t i = 0; i < set->count[s]; ++i) {
            int32_t label = -1;
            if (image_set_read(set, s, i, pixels, &label) != WEFT_OK || label < 0 || label >= set->classes) {
                abort();
            }
        }
    }
    weft_free(pixels);
}

/* limit: of memory, at its peak. */
static inline void fuzz_open_set(const char *path, image_format format, uint64_t limit)
{
    const image_options options = {.format = format, .memory = FUZZ_SET_MEMORY, .threads = 1};
    weft_comm *comm = NULL;
    image_set *set = NULL;
    if (comm_create_self(&comm) != WEFT_OK) {
        abort();
    }
    if (image_set_open(comm, path, &options, &set) == WEFT_OK) {
        if (image_set_bytes(set) <= FUZZ_SAMPLE_MAX) {
            fuzz_read_samples(set);
        }
        image_set_close(set);
    }
    comm_destroy(comm);
    fuzz_check_memory(limit);
}
