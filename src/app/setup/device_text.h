/* app/setup/device_text.h: a device of hal/devices.h in words, for `weft info hardware`, `weft doctor` and start-up
 * lines. */
#pragma once

#include "hal/devices.h"
#include "machine/pci_link.h"

/* "Tesla V100-SXM2-32GB at 0000:3b:00.0, compute capability 7.0, compiled for it, 80 processors at 1530 MHz, ...": what
 * is unknown is left out; link: NULL or how it hangs on the machine. Returns text. */
const char *device_text(const hal_device *device, const pci_link *link, char *text, size_t bytes);
