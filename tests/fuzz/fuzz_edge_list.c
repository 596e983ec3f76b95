/* Fuzz target: edge lists with headers and without, plain and compressed, to CSR and weights; and again with their ids
 * as names. Seeds: tests/fuzz/make_seeds DIR. */
#include "fuzz/fuzz_reader.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader(&reader_edge_list, false, data, size);
    return fuzz_reader(&reader_edge_list, true, data, size);
}
