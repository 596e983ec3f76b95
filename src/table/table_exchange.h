/*
 * table/table_exchange.h: how ranks talk while a table is read, and which rows each holds. The room of tables knows
 * no MPI, so the caller fills in a function. A NULL exchange means one rank.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* gather: collective, every rank calls with its own bytes. [out] all: the bytes of rank 0, 1, ... behind each other,
 * for weft_free. [out] bytes_of: [ranks] how many each rank gave, for weft_free. */
typedef struct table_exchange {
    void *self;
    int rank, ranks;
    weft_status (*gather)(void *self, const void *mine, size_t bytes, void **all, size_t **bytes_of);
} table_exchange;

/* The first row of a rank; that of rank `ranks` is `rows`. */
static inline int64_t table_first_row(int64_t rows, int rank, int ranks)
{
    return rows / ranks * rank + rows % ranks * rank / ranks;
}
