/*
 * partition/methods/metis_call.h: METIS, guarded.
 *
 * METIS trusts its input: a bad index crashes it, a one-directional edge or too many parts give nonsense and "OK". Here
 * the input is checked first, METIS runs in a child process, and its answer is checked afterwards.
 */
#pragma once

#include "partition/cover/adjacency.h"

/* With smaller parts than this METIS leaves some empty. */
static inline bool metis_takes(int64_t vertices, int parts, const double *share)
{
    double least = 1.0;
    for (int p = 0; share != NULL && p < parts; ++p) {
        least = share[p] < least ? share[p] : least;
    }
    return share == NULL ? parts <= vertices / 8 : least * (double)vertices >= 64.0;
}

/* Returns the bytes that a call is expected to need beyond the adjacency itself. */
uint64_t metis_memory(int64_t vertices, int64_t entries);

/* Can METIS count so many entries, and has it the memory? memory_limit: bytes, 0 = do not look.
 * WEFT_ERR_UNSUPPORTED: counts above 2^31; WEFT_ERR_RESOURCE: would exceed memory_limit. */
weft_status metis_check_size(int64_t vertices, int64_t entries, uint64_t memory_limit);

/*
 * Node partition with balanced degrees and balanced numbers of vertices, or both by shares (partition/shares.h). [out]
 * part [vertices], the caller's; no part is empty. memory_limit: bytes, 0 = do not look. WEFT_ERR_UNSUPPORTED: parts >
 * vertices / 8, or counts above 2^31; WEFT_ERR_RESOURCE: would exceed memory_limit, or METIS ran out of memory;
 * WEFT_ERR_DATA: ids out of range, self-loops, or entries without their reverse.
 */
weft_status metis_partition(const adjacency *adjacent, int parts, const double *share, uint64_t seed, int threads,
                            uint64_t memory_limit, uint16_t *part);

/* "5.1.0, 32-bit indices": of the header that this build read; the library itself does not tell. */
const char *metis_version(void);
