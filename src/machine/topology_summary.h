/* machine/topology_summary.h: hwloc's tree in words, for people. */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* "2 Package, 2 L3Cache of 32768 KiB, 16 Core, 32 PU", cut when it does not fit. xml: an exported description, NULL:
 * this machine. WEFT_ERR_DATA when hwloc cannot read it. */
weft_status topology_summary(const char *xml, char *text, size_t bytes);
