/* Fuzz target: METIS graphs, plain and compressed, to CSR. Seeds: tests/fuzz/make_seeds DIR. */
#include "fuzz/fuzz_reader.h"

FUZZ_READER(reader_metis)
