/*
 * machine/topology_summary.c: hwloc's tree of this machine in a few lines, and the versions of hwloc and libnuma.
 *
 * A line a level, from the machine to its hardware threads: how many objects there are, and how large the caches are.
 * Levels of which every object is the only child of the one above are told as they are: a reader counts, we do not
 * hide.
 */
#include <hwloc.h>
#include <numa.h>
#include <stdio.h>
#include <string.h>

#include "base/text/append.h"
#include "machine/library.h"
#include "machine/topology_summary.h"

void topology_hwloc_version(char *version, size_t bytes)
{
    const unsigned api = hwloc_get_api_version();
    snprintf(version, bytes, "interface %u.%u.%u", api >> 16, api >> 8 & 255u, api & 255u);
}

void topology_numa_version(char *version, size_t bytes)
{
    snprintf(version, bytes, "interface %d%s", LIBNUMA_API_VERSION, numa_available() < 0 ? ", no NUMA kernel" : "");
}

static void add_level(hwloc_topology_t topology, int depth, char *text, size_t bytes)
{
    const hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, 0);
    const unsigned count = hwloc_get_nbobjs_by_depth(topology, depth);
    char name[64];
    if (object == NULL || object->type == HWLOC_OBJ_MACHINE) {
        return;
    }
    hwloc_obj_type_snprintf(name, sizeof name, object, 0);
    if (hwloc_obj_type_is_cache(object->type)) {
        text_append_item(text, bytes, "%u %s of %llu KiB", count, name,
                         (unsigned long long)(object->attr->cache.size >> 10));
    } else {
        text_append_item(text, bytes, "%u %s", count, name);
    }
}

weft_status topology_summary(const char *xml, char *text, size_t bytes)
{
    hwloc_topology_t topology;
    text[0] = '\0';
    WEFT_CHECK(hwloc_topology_init(&topology) == 0, WEFT_ERR_RESOURCE, "hwloc cannot start");
    weft_status status = WEFT_OK;
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED); /* the machine, not our share of it */
    WEFT_CHECK_GOTO((xml == NULL || hwloc_topology_set_xml(topology, xml) == 0) && hwloc_topology_load(topology) == 0,
                    status, done, WEFT_ERR_DATA, "%s: hwloc cannot read this topology",
                    xml != NULL ? xml : "this machine");
    for (int depth = 0; depth < hwloc_topology_get_depth(topology); depth++) {
        add_level(topology, depth, text, bytes);
    }
done:
    hwloc_topology_destroy(topology);
    return status;
}
