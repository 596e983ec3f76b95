/*
 * app/setup/device_choice.h: which of a node's devices each of its ranks computes on, where the backend computes on
 * devices (hal/devices.h), and which ranks compute on none, where it is "auto".
 */
#pragma once

#include "app/setup/context.h"

/*
 * Chooses a device for each rank of a node. A rank takes the least loaded device near its CPUs, else the least loaded
 * device of the node; ranks choose in their order, and the lowest number wins a tie. If no device's CPUs are known, the
 * result is rank modulo devices.
 *   mask     [ranks] CPUs of each rank
 *   near     [devices] CPUs near each device; an empty set if unknown
 *   most     largest number of ranks on a device; 0: as many as an even division gives
 *   device   [out] [ranks] number of the chosen device, or -1 if all are full
 * Pure.
 */
void device_choose(const cpu_set *mask, int ranks, const cpu_set *near, int devices, int most, int *device);

/*
 * Opens the backend of the options, on the device named behind the colon or on a chosen one. With "auto" each device
 * gets one rank, and the other ranks compute on the host. Sets hal, device_ranks, mixed and backends, and logs a line a
 * node. WEFT_ERR_UNSUPPORTED if a device is asked for and the node has none; the message names a cure. Collective.
 */
weft_status device_choice_open(app_context *context);
