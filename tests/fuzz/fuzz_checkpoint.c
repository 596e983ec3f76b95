/*
 * Fuzz target: manifest.json of a checkpoint, behind a checksum that is right, so that the parser is reached. The
 * folder holds last.npz, empty: seeds name it with its size and checksum. Seeds: tests/fuzz/make_seeds DIR.
 */
#include "fuzz/fuzz_support.h"
#include "train/checkpoint/checkpoint_internal.h"

enum { STATED_LIMIT = 128 << 20 /* JSON of 1 MiB */ };

static const char *folder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const double results[RESULT_COLUMNS];
    char path[FILE_PATH_MAX];
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    fuzz_put(folder, "last.npz", "", 0);
    snprintf(path, sizeof path, "%s/results.npy", folder);
    if (npy_write(path, 'f', 8, 2, (const int64_t[]){1, RESULT_COLUMNS}, results) != WEFT_OK) {
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static checkpoint ck;
    char sum[34];
    file_hash(data, size, sum);
    memcpy(sum + 32, "\n", 2);
    fuzz_put(folder, "manifest.json", data, size);
    fuzz_put(folder, "manifest.xxh3", sum, 33);
    memset(&ck, 0, sizeof ck);
    if (checkpoint_read(folder, &ck) == WEFT_OK) {
        const train_progress *p = &ck.progress;
        if (ck.ranks < 1 || ck.threads < 0 || p->run < 0 || p->epoch < 0 || p->trained < p->epoch || p->step < 0 ||
            (p->step > 0 && p->step >= p->steps) || p->loss_entries < 0 || p->result == NULL ||
            ck.version[sizeof ck.version - 1] != '\0') {
            abort();
        }
        for (int r = 0; r <= p->run; r++) {
            if (p->result[r].epochs < 0) {
                abort();
            }
        }
        (void)checkpoint_option(&ck, "lr");
    }
    checkpoint_forget(&ck);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
