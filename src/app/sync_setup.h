/* app/sync_setup.h: synchronisation between ranks, from the options, and in words. */
#ifndef WEFT_APP_SYNC_SETUP_H
#define WEFT_APP_SYNC_SETUP_H

#include "base/option.h"
#include "comm/sync/sync.h"

/* Texts (topology, sites) belong to the options. */
sync_options sync_options_of(const weft_options *options);
/* Options that exclude each other: WEFT_ERR_USAGE. */
weft_status sync_setup_check(const weft_options *options);
/* What the mode does and trades, one line: "sends 1 % of the gradient, keeps the rest for later; not exact". */
void sync_setup_describe(const sync_options *options, sync_mode mode, char *text, size_t bytes);
/* Bytes that the mode keeps a rank, beside parameters and gradients. */
uint64_t sync_setup_bytes(const sync_options *options, uint64_t parameter_bytes, int ranks);

#endif
