/*
 * Fuzz target: what the first bytes of a file say that it is, plain and behind .gz and .xz. Seeds:
 * tests/fuzz/make_seeds DIR. No more than the decoders' windows is taken.
 */
#include "fuzz/fuzz_support.h"
#include "io/foreign_kind.h"
#include "io/text/foreign_file.h"

enum { WINDOWS = 300 << 20 };

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
    const foreign_kind *kind = foreign_kind_of(data, size);
    if (kind != NULL && (kind->what[0] == '\0' || kind->cure[0] == '\0')) {
        abort();
    }
    (void)foreign_file_refuse(file.path);
    close(file.fd);
    fuzz_check_memory(WINDOWS);
    return 0;
}
