/*
 * machine/host_settings.h: settings of the operating system that decide about speed: clock, huge pages, limits, shared
 * memory; and what the instruction set could do at that clock.
 *
 * `root` is "/" on the live machine; tests give a folder that imitates proc and sys. What cannot be read is unknown:
 * 0 or "". Virtual machines often hide the governor and the highest clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct host_settings {
    char governor[32];                                      /* "performance", "powersave", ... */
    double mhz, mhz_most;                                   /* of the CPUs now, on average; of the first CPU at most */
    bool virtual_machine;                                   /* the processor says that a hypervisor stands below */
    char huge_pages[16];                                    /* transparent ones: "always", "madvise", "never" */
    uint64_t shared_memory_free;                            /* of /dev/shm; UINT64_MAX = unknown */
    uint64_t processes_most, locked_bytes_most, files_most; /* limits of this process; UINT64_MAX = none */
} host_settings;

void host_settings_read(const char *root, host_settings *settings);

/* Instruction set of this processor that products use, and float32 operations a core and clock (two multiply-add units,
 * as wide as its registers): an upper bound, some processors have one unit of the widest. */
const char *host_instruction_set(void);
int host_flops_per_clock(void);
