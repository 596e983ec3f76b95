/* app/gnn/scaling/scaling_device.c: see app/gnn/scaling/scaling_device.h. */
#include "app/gnn/scaling/scaling_device.h"

#include <math.h>

/* P40 and V100: memory, products and bus as others measured them, caches as microbenchmarks tell; H100 (SXM): measured
 * with this program's kernels and uploads. */
static const scaling_device device[] = {
    [SCALING_P40] = {.memory = 300e9, .cache = 1.0e12, .cache_bytes = 3e6, .flops = 10e12, .bus = 11e9, .launch = 5e-6},
    [SCALING_V100] =
        {.memory = 810e9, .cache = 2.1e12, .cache_bytes = 6e6, .flops = 13e12, .bus = 11e9, .launch = 5e-6},
    [SCALING_H100] =
        {.memory = 3.0e12, .cache = 7.7e12, .cache_bytes = 50e6, .flops = 49e12, .bus = 50e9, .launch = 3e-6},
};

enum { SECTOR = 32, PACK = 16, ELEMENT = sizeof(float), WIDE_STRIP = 128, NARROW_STRIP = 32 /* columns */ };
/* On an H100: of the cache's rate, what rows reach that are no whole number of packs, sectors counted, as measured; of
 * memory's, what products of tall matrices reach, fitted to four epochs (docs/performance-machines.md). */
static const double single_cells = 0.93, tall_products = 0.6;

const scaling_device *scaling_device_of(scaling_device_name name)
{
    return name == SCALING_MEASURED ? NULL : &device[name];
}

/* ---- aggregation ---- */

/* The widest strip that stays in the cache; the widest of all where none does. */
static double strip_columns(const scaling_device *d, double rows, double columns)
{
    double strip = fmin(columns, WIDE_STRIP);
    while (strip / 2.0 >= NARROW_STRIP && rows * strip * ELEMENT > d->cache_bytes) {
        strip /= 2.0;
    }
    return rows * strip * ELEMENT <= d->cache_bytes ? strip : fmin(columns, WIDE_STRIP);
}

/* Rows that do not begin with a sector reach into one more, but for one that they may end with. */
static double row_bytes(double columns)
{
    const double bytes = columns * ELEMENT;
    return fmod(bytes, SECTOR) == 0.0 ? bytes : bytes + SECTOR - ELEMENT;
}

static double edge_seconds(const scaling_device *d, double rows, double columns)
{
    const double strip = strip_columns(d, rows, columns);
    const double bytes = row_bytes(columns) + ELEMENT * ceil(columns / strip);
    const double held = fmin(1.0, d->cache_bytes / (rows * strip * ELEMENT));
    const double missed = (1.0 - held) * row_bytes(columns);
    const double rate = fmod(columns * ELEMENT, PACK) == 0.0 ? d->cache : single_cells * d->cache;
    return fmax(bytes / rate, missed / d->memory);
}

void scaling_device_edges(const scaling_device *d, const gnn_plan *plan, double rows, double *seconds)
{
    for (int l = 0; l < plan->layers; ++l) {
        const double columns = (double)plan->layer[l].width;
        seconds[l] = columns > 0.0 ? edge_seconds(d, fmax(rows, 1.0), columns) / columns : 0.0;
    }
}

/* ---- products ---- */

void scaling_device_rows(const scaling_device *d, const gnn_plan *plan, double *seconds)
{
    for (int l = 0; l < plan->layers; ++l) {
        int64_t in = 0, out = 0;
        scaling_product_shape(&plan->layer[l], &in, &out);
        const double products = l > 0 ? 3.0 : 2.0; /* the result, the weights' gradient, and the input's */
        const double operations = 2.0 * (double)in * (double)out;
        const double bytes = (double)(in + out) * ELEMENT;
        seconds[l] = products * (operations / d->flops + bytes / (tall_products * d->memory));
    }
}
