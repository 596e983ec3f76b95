/*
 * app/setup/device_choice.h: which of a node's devices each of its ranks computes on, where the backend computes on
 * devices (hal/devices.h), and which ranks compute on none, where it is "auto".
 */
#ifndef WEFT_APP_SETUP_DEVICE_CHOICE_H
#define WEFT_APP_SETUP_DEVICE_CHOICE_H

#include "app/setup/context.h"

/*
 * The device of each rank of a node: ranks in their order take the one that has fewest among those near their CPUs, and
 * what finds no room there the one that has fewest of all, the lowest number first. Without knowledge that is rank
 * modulo devices. mask: [ranks] their CPUs; near: [devices], none where unknown; most: ranks on a device, 0: as many as
 * an even division gives; [out] device: [ranks], -1 where there is no room. Pure.
 */
void device_choose(const cpu_set *mask, int ranks, const cpu_set *near, int devices, int most, int *device);

/*
 * Opens the backend of the options: the device named behind its colon, or the one chosen. "auto": each device has one
 * rank, and ranks without compute on the host. Sets hal, device_ranks, mixed and backends, and logs a line a node.
 * WEFT_ERR_UNSUPPORTED with what would help where there is none, and not "auto". Collective.
 */
weft_status device_choice_open(app_context *context);

#endif
