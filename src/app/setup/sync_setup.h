/* app/setup/sync_setup.h: synchronisation between ranks, from the options, and in words. */
#pragma once

#include "app/options/app_options.h"
#include "comm/sync/sync.h"

/* Collects the options of synchronisation. shards: what those of this kind of data are where no option deals them
 * otherwise. The texts in the result (topology, sites) belong to `options`. */
sync_options sync_options_of(const weft_options *options, sync_shards shards);
/* WEFT_ERR_USAGE: options exclude each other. */
weft_status sync_setup_check(const weft_options *options);
/* Writes a line that says how the mode works on so many ranks: "sends 1 % of the gradient as float32, keeps the rest
 * for later steps; not exact". */
void sync_setup_describe(const sync_options *options, sync_mode mode, int ranks, char *text, size_t bytes);
/* Writes a line that says if gradients are tracked in this mode, and why; "" if tracking does not concern the mode. */
void sync_setup_describe_tracking(const sync_options *options, sync_mode mode, char *text, size_t bytes);
/* Bytes of a rank that the mode keeps beside parameters and gradients. */
uint64_t sync_setup_bytes(const sync_options *options, uint64_t parameter_bytes, int ranks);
/* Bytes that the mode keeps on the device that the rank computes on. Returns sync_setup_bytes if hal is NULL or
 * computes in host memory. */
sync_device_need sync_setup_device(const sync_options *options, const weft_hal *hal, uint64_t parameter_bytes,
                                   int ranks);
