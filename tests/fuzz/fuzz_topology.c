/* libFuzzer: any text as a file of --topology for a job of 8 ranks on 3 hosts; what is accepted covers every rank. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/sync/racks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char host[8][TOPOLOGY_HOST_BYTES] = {"a", "a", "b.c", "b.c", "b.c", "node-3", "node-3", "node-3"};
    comm_topology *topology = NULL;
    char *text = NULL;
    if (size == 0 || memchr(data, 0, size) != NULL ||
        weft_malloc(size + 1, 1, WEFT_MEM_GENERAL, (void **)&text) != WEFT_OK) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (topology_parse("fuzz", text, host, 8, &topology) == WEFT_OK) {
        int members = 0;
        int member[8];
        for (int s = 0; s < topology->sets; ++s) {
            int count = topology_members(topology, s, member);
            members += count;
            if (count == 0) {
                abort();
            }
        }
        if (members != 8) {
            abort();
        }
        topology_destroy(topology);
    }
    weft_free(text);
    return 0;
}
