/*
 * app/setup/device_choice.h: which of a node's devices each of its ranks computes on, where the backend computes on devices
 * (hal/devices.h).
 */
#ifndef WEFT_APP_SETUP_DEVICE_CHOICE_H
#define WEFT_APP_SETUP_DEVICE_CHOICE_H

#include "app/setup/context.h"

/*
 * The device of each rank of a node, equally many for each up to one: ranks in their order take the one that has fewest among
 * those near their CPUs, and what finds no room there the one that has fewest of all, the lowest number first. Without
 * knowledge that is rank modulo devices.
 * mask: [ranks] their CPUs; near: [devices], none where unknown; [out] device: [ranks]. Pure.
 */
void device_choose(const cpu_set *mask, int ranks, const cpu_set *near, int devices, int *device);

/* Opens the backend of the options: the device named behind its colon, or the one chosen. Sets hal and device_ranks, and logs
 * a line a node. WEFT_ERR_UNSUPPORTED with what would help where there is none. Collective. */
weft_status device_choice_open(app_context *context);

#endif
