/*
 * comm/halo/halo_lists.h: are the lists of a halo sound, and do the two ends of every pair agree?
 *
 * A wrong list would move wrong rows or wait for ever; found here, it is an error with names.
 */
#pragma once

#include "comm/halo.h"

/* WEFT_ERR_INTERNAL on every rank: offsets that fall, a row out of range or twice, a rank that is its own peer, or
 * numbers of rows that differ from the peer's. WEFT_ERR_UNSUPPORTED: too many rows. Collective. */
weft_status halo_lists_check(weft_comm *comm, const comm_halo_desc *desc, int64_t max_width);
