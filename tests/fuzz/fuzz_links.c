/*
 * Fuzz target: files of links. The first byte says which: an .npy of pairs that are asked for, or valid.npz of a
 * folder. What is taken has ends among the vertices, and as many negatives as it says. Seeds: tests/fuzz/make_seeds
 * DIR.
 */
#include "fuzz/fuzz_support.h"
#include "gnn/links/link_files.h"

enum { VERTICES = 10, STATED_LIMIT = 512 << 20 /* a deflate stream grows 1032-fold, and bytes become numbers of 8 */ };

static const char *folder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    return 0;
}

static void check(const link_pairs *p)
{
    for (int64_t i = 0; i < 2 * p->pairs; ++i) {
        if (p->end[i] < 0 || p->end[i] >= VERTICES) {
            abort();
        }
    }
    for (int64_t i = 0; i < 2 * p->negatives; ++i) {
        if (p->negative_end[i] < 0 || p->negative_end[i] >= VERTICES) {
            abort();
        }
    }
    if (p->own > 0 && p->negatives != p->own * p->pairs) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    link_pairs pairs = {.pairs = 0}, test = {.pairs = 0};
    if (size > 0 && (data[0] & 1) != 0) {
        fuzz_file file = fuzz_file_make(data + 1, size - 1);
        if (link_file_pairs(file.path, VERTICES, &pairs) == WEFT_OK) {
            check(&pairs);
        }
        close(file.fd);
    } else if (size > 0) {
        fuzz_put(folder, "valid.npz", data + 1, size - 1);
        if (link_files_read(folder, VERTICES, &pairs, &test) == WEFT_OK) {
            check(&pairs);
        }
    }
    link_pairs_free(&pairs);
    link_pairs_free(&test);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
