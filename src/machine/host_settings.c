/* machine/host_settings.c: see machine/host_settings.h. */
#include "machine/host_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

/* The first line of a file without its newline; "" when there is none. */
static void read_line(const char *root, const char *path, char *text, size_t bytes)
{
    char full[4096];
    text[0] = '\0';
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *file = fopen(full, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(text, (int)bytes, file) == NULL) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* "always [madvise] never": the word in brackets. */
static void read_choice(const char *root, const char *path, char *choice, size_t bytes)
{
    char line[128];
    read_line(root, path, line, sizeof line);
    const char *begin = strchr(line, '[');
    const char *end = begin != NULL ? strchr(begin, ']') : NULL;
    choice[0] = '\0';
    if (end != NULL) {
        snprintf(choice, bytes, "%.*s", (int)(end - begin - 1), begin + 1);
    }
}

static void read_processors(const char *root, host_settings *s)
{
    char path[4096], line[4096];
    double sum = 0.0;
    int count = 0;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (value != NULL && strncmp(line, "cpu MHz", 7) == 0) {
            sum += strtod(value + 1, NULL);
            count++;
        }
        s->virtual_machine |= value != NULL && strncmp(line, "flags", 5) == 0 && strstr(value, " hypervisor") != NULL;
    }
    fclose(file);
    s->mhz = count > 0 ? sum / count : 0.0;
}

static uint64_t limit_of(__rlimit_resource_t what)
{
    struct rlimit limit;
    return getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

void host_settings_read(const char *root, host_settings *settings)
{
    char text[64];
    struct statvfs shared;
    memset(settings, 0, sizeof *settings);
    read_line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", settings->governor,
              sizeof settings->governor);
    read_line(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text);
    settings->mhz_most = strtod(text, NULL) * 1e-3;
    read_processors(root, settings);
    read_choice(root, "sys/kernel/mm/transparent_hugepage/enabled", settings->huge_pages, sizeof settings->huge_pages);
    settings->shared_memory_free =
        statvfs("/dev/shm", &shared) == 0 ? (uint64_t)shared.f_bavail * shared.f_frsize : UINT64_MAX;
    settings->processes_most = limit_of(RLIMIT_NPROC);
    settings->locked_bytes_most = limit_of(RLIMIT_MEMLOCK);
    settings->files_most = limit_of(RLIMIT_NOFILE);
}

const char *host_instruction_set(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? "avx512"
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "avx2"
           : __builtin_cpu_supports("avx")                                   ? "avx"
                                                                             : "sse2";
}

int host_flops_per_clock(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? 64
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32
           : __builtin_cpu_supports("avx")                                   ? 16
                                                                             : 8;
}
