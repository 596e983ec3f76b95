/*
 * hal/cpu/sums/cpu_histogram_wide.c: histogram of bins of 16 bits. The cells of a feature pass the first-level cache,
 * so they are not copied: each thread has features of its own, reads all rows, and adds straight to the sums.
 */
#include <assert.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum { AHEAD = 16 /* rows of a list that are fetched before they are added */ };

/* All rows of the list add to the cells of features [begin, end), which are `cols` numbers, `ld` apart. */
static inline __attribute__((always_inline)) void add_features(const hal_histogram_args *a, int64_t rows, hal_span own,
                                                               const int64_t cols, const int64_t ld)
{
    const int32_t *index = a->index.source, *pair = a->pair.source, *first = a->first.source;
    const int64_t last = rows - 1;
    int64_t *sums = a->sums.data;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = index != NULL ? index[i] : i;
        assert(row >= 0 && row < a->bins.rows);
        const uint16_t *bin = (const uint16_t *)a->bins.source + row * a->bins.ld;
        if (index != NULL) {
            const int64_t next = index[smaller(i + AHEAD, last)];
            const uint16_t *ahead = (const uint16_t *)a->bins.source + next * a->bins.ld;
            __builtin_prefetch(ahead + own.begin);
            __builtin_prefetch(ahead + own.end - 1);
            __builtin_prefetch(pair + next * a->pair.ld);
        }
        const int64_t gradient = hal_pair_gradient(pair[row * a->pair.ld]);
        const int64_t hessian = hal_pair_hessian(pair[row * a->pair.ld]);
        for (int64_t f = own.begin; f < own.end; ++f) {
            int64_t *cell = sums + (first[f] + bin[f]) * ld;
            cell[0] += cols == 1 ? gradient * ((int64_t)1 << 32) + hessian : gradient;
            if (cols == 2) {
                cell[1] += hessian;
            }
        }
    }
}

static void clear(const hal_histogram_args *a, hal_span own)
{
    const int32_t *first = a->first.source;
    for (int64_t cell = first[own.begin]; cell < first[own.end]; ++cell) {
        memset((int64_t *)a->sums.data + cell * a->sums.ld, 0, (size_t)a->sums.cols * sizeof(int64_t));
    }
}

void cpu_histogram_wide(const hal_histogram_args *args, int64_t rows, int threads)
{
    const int64_t features = args->bins.cols;
    const int parts = threads < features ? threads : (int)features;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span own = hal_split_rows(features, parts, part);
        if (!args->add) {
            clear(args, own);
        }
        if (args->sums.cols == 1 && args->sums.ld == 1) {
            add_features(args, rows, own, 1, 1);
        } else if (args->sums.cols == 2 && args->sums.ld == 2) {
            add_features(args, rows, own, 2, 2);
        } else {
            add_features(args, rows, own, args->sums.cols, args->sums.ld);
        }
    }
}
