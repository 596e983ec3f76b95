/*
 * machine/pci_link.h: how a device hangs on this machine, by its place on the bus ("0000:3b:00.0").
 *
 * `root` is "/" on the live machine; tests give a folder that imitates sys. What cannot be read is unknown: 0, no CPU.
 */
#pragma once

#include "machine/placement.h"

typedef struct pci_link {
    int width, width_most;  /* lanes now, and that device and slot are made for */
    double rate, rate_most; /* transfers a second and lane, in 10^9; idle devices lower it */
    cpu_set near;           /* CPUs of its NUMA node */
} pci_link;

void pci_link_read(const char *root, const char *place, pci_link *link);
