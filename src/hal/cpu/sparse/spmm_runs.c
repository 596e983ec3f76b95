/* hal/cpu/sparse/spmm_runs.c: see hal/cpu/sparse/spmm_runs.h. */
#include "hal/cpu/sparse/spmm_runs.h"

#include <string.h>

enum { RADIX = 256, MAX_STEP = UINT16_MAX };

void spmm_runs_sort(spmm_run_writer *w, int64_t count, const uint32_t *edges)
{
    uint32_t *from = w->id;
    uint32_t *to = w->swap;
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = edges[from[i]] > most ? edges[from[i]] : most;
    }
    int passes = 0;
    for (int digit = 0; digit < 32 && most >> digit > 0; digit += 8, passes++) {
        int64_t place[RADIX + 1] = {0};
        for (int64_t i = 0; i < count; i++) {
            place[(edges[from[i]] >> digit & (RADIX - 1)) + 1]++;
        }
        for (int v = 0; v < RADIX; v++) {
            place[v + 1] += place[v];
        }
        for (int64_t i = 0; i < count; i++) {
            to[place[edges[from[i]] >> digit & (RADIX - 1)]++] = from[i];
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (passes % 2 == 1) {
        memcpy(w->id, from, (size_t)count * sizeof *from);
    }
}

static void put_run(const spmm_run_writer *w, uint32_t edges, int64_t rows, int64_t at, spmm_run_place *place)
{
    int64_t advance = at - place->at;
    place->at = at;
    for (; advance > MAX_STEP; advance -= MAX_STEP) {
        if (w->fill) {
            w->m->run[place->next.run] = (spmm_run){.edges = 0, .rows = 0, .advance = MAX_STEP};
        }
        place->next.run++;
    }
    if (w->fill) {
        const int64_t marked = w->unmarked ? SPMM_UNMARKED : 0;
        w->m->run[place->next.run] =
            (spmm_run){.edges = edges, .rows = (uint16_t)(rows | marked), .advance = (uint16_t)advance};
    }
    place->next.run++;
}

void spmm_runs_put(spmm_run_writer *w, int64_t count, const uint16_t *row, int64_t at, int64_t base,
                   spmm_run_place *place, uint32_t *edges)
{
    for (int64_t i = 0; i < count;) {
        const uint32_t length = edges[w->id[i]];
        const int64_t begin = i;
        for (; i < count && edges[w->id[i]] == length; i++) {
            const uint32_t id = w->id[i];
            if (w->fill) {
                w->m->row_id[place->next.row + i] = row != NULL ? row[id] : (uint16_t)id;
            }
        }
        put_run(w, length, i - begin, at, place);
    }
    place->next.row += count;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t length = edges[w->id[i]];
        edges[w->id[i]] = (uint32_t)(place->next.edge - base);
        place->next.edge += length;
    }
}
