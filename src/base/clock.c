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

double clock_thread_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

clock_words clock_say(double seconds)
{
    clock_words words;
    const double longest = 1e6 * 86400; /* 2,700 years: nobody waits longer */
    long long whole = seconds > 0 ? (long long)((seconds < longest ? seconds : longest) + 0.5) : 0;
    if (whole < 120) {
        snprintf(words.text, sizeof words.text, "%lld s", whole);
    } else if (whole < 7200) {
        snprintf(words.text, sizeof words.text, "%lld min %02lld s", whole / 60, whole % 60);
    } else if (whole < 2 * 86400) {
        snprintf(words.text, sizeof words.text, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    } else {
        snprintf(words.text, sizeof words.text, "%lld days %lld h", whole / 86400, whole / 3600 % 24);
    }
    return words;
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

bool clock_peak_rss_restart(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    const bool written = file != NULL && fputs("5", file) >= 0; /* 5: the peak alone (proc(5)) */
    return file != NULL && fclose(file) == 0 && written;
}
