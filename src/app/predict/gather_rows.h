/*
 * app/predict/gather_rows.h: the rows of a matrix that is spread over the ranks, into one file in the order of global
 * ids.
 *
 * Rank 0 never holds the matrix: global ids are cut into stripes, and a stripe is gathered, put in order and written
 * before the next one. Cost: every row travels once; memory `stripe_bytes` twice on rank 0 and 4 bytes a held row on
 * every rank; two messages a rank and stripe.
 */
#pragma once

#include "app/workload/held_rows.h"
#include "base/file.h"
#include "comm/comm.h"

enum { GATHER_STRIPE_BYTES = 64 << 20 };

/*
 * Append all rows to the writer, in the order of their ids.
 *   rows    [in]  [held->count, width] words of 4 bytes
 *   writer  [in]  open on rank 0, not used on the others
 * Collective.
 */
weft_status gather_rows(weft_comm *comm, const held_rows *held, const void *rows, int64_t width, int64_t stripe_bytes,
                        file_writer *writer);
