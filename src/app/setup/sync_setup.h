/* app/setup/sync_setup.h: synchronisation between ranks, from the options, and in words. */
#ifndef WEFT_APP_SETUP_SYNC_SETUP_H
#define WEFT_APP_SETUP_SYNC_SETUP_H

#include "app/options/app_options.h"
#include "comm/sync/sync.h"

/* What a rank's share of the data is. */
typedef enum sync_shards {
    SYNC_SHARDS_SAMPLED, /* samples, shuffled among the ranks: every share looks like the whole */
    SYNC_SHARDS_REGIONS  /* parts of a graph: regions of it, each with few of the labels */
} sync_shards;

/* Texts (topology, sites) belong to the options. */
sync_options sync_options_of(const weft_options *options, sync_shards shards);
/* Options that exclude each other: WEFT_ERR_USAGE. */
weft_status sync_setup_check(const weft_options *options);
/* What the mode does and trades on so many ranks, one line: "sends 1 % of the gradient, keeps the rest for later; not
 * exact". */
void sync_setup_describe(const sync_options *options, sync_mode mode, int ranks, char *text, size_t bytes);
/* Whether gradients are tracked in this mode, and why, one line; "" where nothing is to be said of it. */
void sync_setup_describe_tracking(const sync_options *options, sync_mode mode, char *text, size_t bytes);
/* Bytes that the mode keeps a rank, beside parameters and gradients. */
uint64_t sync_setup_bytes(const sync_options *options, uint64_t parameter_bytes, int ranks);
/* The same of a device that the rank computes on. hal: NULL, or a host's: what sync_setup_bytes says. */
sync_device_need sync_setup_device(const sync_options *options, const weft_hal *hal, uint64_t parameter_bytes,
                                   int ranks);

#endif
