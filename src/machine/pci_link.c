/* machine/pci_link.c: see machine/pci_link.h. */
#include "machine/pci_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* The first line of a file of the device; "" when there is none. */
static const char *read_line(const char *root, const char *place, const char *name, char *line, size_t bytes)
{
    char path[4096];
    line[0] = '\0';
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/%s", root, place, name);
    FILE *file = place[0] != '\0' && strchr(place, '/') == NULL ? fopen(path, "re") : NULL;
    if (file != NULL) {
        if (fgets(line, (int)bytes, file) == NULL) {
            line[0] = '\0';
        }
        fclose(file);
    }
    return line;
}

/* "8.0 GT/s PCIe" */
static double leading_number(const char *text)
{
    double value = 0.0;
    const char *end = NULL;
    return number_scan_real(text, &end, &value) ? value : 0.0;
}

/* "0-3,8" */
static void parse_cpus(const char *text, cpu_set *set)
{
    char *end = NULL;
    for (; *text >= '0' && *text <= '9'; text = *end == ',' ? end + 1 : end) {
        const long first = strtol(text, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < PLACEMENT_MAX_CPUS; cpu++) {
            cpu_set_add(set, (int)cpu);
        }
    }
}

void pci_link_read(const char *root, const char *place, pci_link *link)
{
    char line[4096];
    *link = (pci_link){.width = atoi(read_line(root, place, "current_link_width", line, sizeof line))};
    link->width_most = atoi(read_line(root, place, "max_link_width", line, sizeof line));
    link->rate = leading_number(read_line(root, place, "current_link_speed", line, sizeof line));
    link->rate_most = leading_number(read_line(root, place, "max_link_speed", line, sizeof line));
    parse_cpus(read_line(root, place, "local_cpulist", line, sizeof line), &link->near);
}
