/* app/info/hardware.c: weft info hardware: processor, cores, caches, memory by NUMA node, clock and settings. */
#include <inttypes.h>
#include <stdio.h>

#include "app/info/info.h"
#include "machine/host_settings.h"
#include "machine/placement.h"
#include "machine/placement_memory.h"
#include "machine/topology_summary.h"

enum { NODES_SHOWN = 64 };

static void print_memory(const machine *m)
{
    int node[NODES_SHOWN];
    const int nodes = memory_nodes(node, NODES_SHOWN);
    printf("memory: %.1f GiB, %.1f GiB available to this process\n", (double)m->memory_bytes / 0x1p30,
           (double)placement_memory_available() / 0x1p30);
    for (int i = 0; i < nodes && nodes > 1; i++) {
        printf("memory of NUMA node %d: %.1f GiB free\n", node[i], (double)memory_of_node("/", node[i]) / 0x1p30);
    }
}

static void print_settings(const host_settings *s)
{
    printf("clock: %.0f MHz", s->mhz);
    if (s->mhz_most > 0.0) {
        printf(", at most %.0f MHz", s->mhz_most);
    }
    printf(", governor %s%s\n", s->governor[0] != '\0' ? s->governor : "hidden",
           s->virtual_machine ? " (virtual machine)" : "");
    printf("instruction set: %s, up to %d float32 operations a core and clock\n", host_instruction_set(),
           host_flops_per_clock());
    printf("transparent huge pages: %s\n", s->huge_pages[0] != '\0' ? s->huge_pages : "unknown");
}

weft_status info_hardware(void)
{
    machine m;
    char text[512];
    host_settings settings;
    WEFT_TRY(machine_detect(&m));
    printf("processor: %s\npackages: %d\ncores: %d, %d hardware threads each\nNUMA nodes: %d (and %d without cores)\n",
           m.model, m.packages, m.cores, m.smt, m.numa_nodes, m.memory_only_numa);
    printf("usable logical CPUs: %s\n", cpu_set_text(&m.allowed, text, sizeof text));
    if (m.quota_cpus > 0) {
        printf("CPU time granted by the control group: %d CPUs\n", m.quota_cpus);
    }
    weft_status status = topology_summary(NULL, text, sizeof text);
    if (status == WEFT_OK) {
        printf("topology: %s\n", text);
        printf("L2 of a core: %" PRIu64 " KiB\nL3 seen by a core: %" PRIu64 " KiB\n", m.l2_bytes >> 10,
               m.l3_bytes >> 10);
        print_memory(&m);
        host_settings_read("/", &settings);
        print_settings(&settings);
    }
    machine_free(&m);
    return status;
}
