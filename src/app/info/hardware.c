/* app/info/hardware.c: weft info hardware: processor, cores, caches, memory by NUMA node, clock, settings, GPUs, kept
 * timings. */
#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/info/info.h"
#include "app/setup/device_text.h"
#include "base/log.h"
#include "base/number.h"
#include "comm/model/model_file.h"
#include "machine/binding.h"
#include "machine/cache.h"
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

/* The algorithms timed at a length, the fastest first. */
static void print_length(const comm_timings *timed, int size)
{
    bool printed[TIMED_ALGORITHMS] = {false};
    assert(size >= 0 && size < TIMED_SIZES);
    int best = 0;
    for (int place = 0; best >= 0; place++) {
        best = -1;
        for (int a = 0; a < TIMED_ALGORITHMS; a++) {
            const double seconds = timed->seconds[a][size];
            best = seconds > 0.0 && !printed[a] && (best < 0 || seconds < timed->seconds[best][size]) ? a : best;
        }
        if (best >= 0) {
            printed[best] = true;
            printf(place == 0 ? "  %-10s" : ",", number_say_bytes((uint64_t)timed_bytes(size)).text);
            printf(" %s %.3g", comm_algorithm_name((comm_algorithm)best), 1e6 * timed->seconds[best][size]);
        } else if (place > 0) {
            printf("\n");
        }
    }
}

/* What was timed here before, and is kept; files of other versions, and damaged ones, are passed over. */
static void print_timings(void)
{
    char folder[FILE_PATH_MAX], path[FILE_PATH_MAX];
    comm_model model;
    DIR *dir = cache_path("", folder) == WEFT_OK ? opendir(folder) : NULL;
    weft_status status = WEFT_OK;
    for (const struct dirent *entry = NULL; dir != NULL && (entry = folder_next(dir, folder, &status)) != NULL;) {
        if (strncmp(entry->d_name, "comm-", 5) == 0 && file_path(path, "%s%s", folder, entry->d_name) == WEFT_OK &&
            model_read(path, NULL, &model) == WEFT_OK && model.timed.ranks > 0) {
            printf("all-reduces timed on %d ranks of a node, in microseconds (%s):\n", model.timed.ranks, path);
            for (int size = 0; size < TIMED_SIZES; size++) {
                print_length(&model.timed, size);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (status != WEFT_OK) {
        log_warn("%s", weft_error_message());
    }
    weft_error_clear();
}

static void print_devices(void)
{
    int count = 0;
    char text[1024];
    if (hal_devices_count(&count) != WEFT_OK) {
        printf("GPUs: none: %s\n", weft_error_message());
    }
    for (int i = 0; i < count; i++) {
        hal_device device;
        pci_link link;
        if (hal_device_describe(i, true, &device) == WEFT_OK) {
            pci_link_read("/", device.place, &link);
            printf("GPU %d: %s\n", i, device_text(&device, &link, text, sizeof text));
        } else {
            printf("GPU %d: %s\n", i, weft_error_message());
        }
    }
    weft_error_clear();
}

weft_status info_hardware(void)
{
    machine m;
    char text[512];
    host_settings settings;
    binding bound;
    bound_by by;
    WEFT_TRY(machine_detect(&m));
    weft_status status = binding_read(&m, &bound);
    WEFT_TRY_GOTO(status, status, done);
    binding_of_node(&bound, 1, PIN_AUTO, &m, &by);
    printf("processor: %s\npackages: %d\ncores: %d, %d hardware threads each\nNUMA nodes: %d (and %d without cores)\n",
           m.model, m.packages, m.cores, m.smt, m.numa_nodes, m.memory_only_numa);
    printf("usable logical CPUs: %s\n", cpu_set_text(&m.allowed, text, sizeof text));
    if (m.quota_cpus > 0) {
        printf("CPU time granted by the control group: %d CPUs\n", m.quota_cpus);
    }
    status = topology_summary(NULL, text, sizeof text);
    if (status == WEFT_OK) {
        printf("topology: %s\n", text);
        printf("L2 of a core: %" PRIu64 " KiB\nL3 seen by a core: %" PRIu64 " KiB\n", m.l2_bytes >> 10,
               m.l3_bytes >> 10);
        print_memory(&m);
        host_settings_read("/", &settings);
        print_settings(&settings);
        print_devices();
        print_timings();
    }
done:
    machine_free(&m);
    return status;
}
