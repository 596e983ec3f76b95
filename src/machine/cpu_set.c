/* machine/cpu_set.c: sets of logical CPUs (machine/placement.h). Numbers outside 0..PLACEMENT_MAX_CPUS-1 are never
 * members. */
#include <assert.h>
#include <stdio.h>

#include "machine/placement.h"

enum { WORDS = PLACEMENT_MAX_CPUS / 64 };

bool cpu_set_has(const cpu_set *set, int cpu)
{
    return cpu >= 0 && cpu < PLACEMENT_MAX_CPUS && ((set->bits[cpu / 64] >> (cpu % 64)) & 1U) != 0;
}

void cpu_set_add(cpu_set *set, int cpu)
{
    if (cpu >= 0 && cpu < PLACEMENT_MAX_CPUS) {
        set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
    }
}

int cpu_set_count(const cpu_set *set)
{
    int count = 0;
    for (int i = 0; i < WORDS; i++) {
        count += __builtin_popcountll(set->bits[i]);
    }
    return count;
}

bool cpu_set_intersects(const cpu_set *a, const cpu_set *b)
{
    for (int i = 0; i < WORDS; i++) {
        if ((a->bits[i] & b->bits[i]) != 0) {
            return true;
        }
    }
    return false;
}

bool cpu_set_equal(const cpu_set *a, const cpu_set *b)
{
    for (int i = 0; i < WORDS; i++) {
        if (a->bits[i] != b->bits[i]) {
            return false;
        }
    }
    return true;
}

void cpu_set_intersect(cpu_set *set, const cpu_set *with)
{
    for (int i = 0; i < WORDS; i++) {
        set->bits[i] &= with->bits[i];
    }
}

void cpu_set_unite(cpu_set *set, const cpu_set *with)
{
    for (int i = 0; i < WORDS; i++) {
        set->bits[i] |= with->bits[i];
    }
}

/* Appends a piece; when it does not fit, ends the text with dots and says so. */
static bool append(char *text, size_t bytes, size_t *used, const char *piece, int length)
{
    static const char dots[] = "...";
    assert(length >= 0 && *used < bytes);
    if (*used + (size_t)length + sizeof dots > bytes) {
        snprintf(text + *used, bytes - *used, "%s", dots);
        return false;
    }
    snprintf(text + *used, bytes - *used, "%s", piece);
    *used += (size_t)length;
    return true;
}

const char *cpu_set_text(const cpu_set *set, char *text, size_t bytes)
{
    if (bytes == 0) {
        return text;
    }
    size_t used = 0;
    text[0] = '\0';
    for (int cpu = 0; cpu < PLACEMENT_MAX_CPUS; cpu++) {
        if (!cpu_set_has(set, cpu)) {
            continue;
        }
        int last = cpu;
        while (cpu_set_has(set, last + 1)) {
            last++;
        }
        char piece[32];
        const char *comma = used > 0 ? "," : "";
        int length = last == cpu ? snprintf(piece, sizeof piece, "%s%d", comma, cpu)
                                 : snprintf(piece, sizeof piece, "%s%d-%d", comma, cpu, last);
        if (!append(text, bytes, &used, piece, length)) {
            return text;
        }
        cpu = last;
    }
    if (used == 0) {
        snprintf(text, bytes, "none");
    }
    return text;
}
