/* base/clock.c: see base/clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double seconds_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double clock_cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* getrusage's ru_maxrss is inherited across exec from the launcher, so the kernel's own per-image figures are read. */
static uint64_t status_kib(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) {
        return 0;
    }
    char line[256];
    unsigned long long kib = 0;
    size_t length = strlen(field);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, length) == 0 && sscanf(line + length, "%llu", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return (uint64_t)kib * 1024u;
}

uint64_t clock_peak_rss_bytes(void)
{
    return status_kib("VmHWM:");
}

uint64_t clock_rss_bytes(void)
{
    return status_kib("VmRSS:");
}
