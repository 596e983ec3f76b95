/*
 * hal/cpu/sums/cpu_gram.c: sums of products of rows: in float32 over the kernels of kernels_gemm_body.h, in float64 by
 * tiles of the sum, which have the same bits for every number of threads.
 *
 *    columns in strips of 64: strip J of the rows is packed, and rows of the sum from J on grow by x[:, J..]^T x[:, J]
 *    +---+
 *    | 0 |             a few rows of x at a time, which stay in the cache while all strips pass
 *    |   +---+
 *    | 0 | 1 |         few columns: each thread has rows of x and a sum of its own, and the sums are added in the order
 *    |   |   +---+     of the threads; many columns: threads take strips of one sum
 *    | 0 | 1 | 2 |
 *    +---+---+---+     then the lower triangle goes to its packed place, scaled
 *
 * Rows that are not float32 side by side (bfloat16, a subset, patches of images) are made in scratch memory first: a
 * step's of each thread, or a chunk for all. Patches are made with the channels innermost, as they lie in an image, and
 * get their places in the order of the weights when the triangle is packed.
 */
#include <assert.h>
#include <omp.h>
#include <string.h>

#include "base/half.h"
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/cpu/kernels.h"
#include "hal/ref/ref_backend.h"

enum {
    STRIP = 64,            /* columns that are packed at once */
    STEP = 96,             /* rows that stay in the cache */
    WIDE_TILE = 32,        /* rows and columns of a tile in float64 */
    NARROW = 512,          /* columns up to which every thread has a sum of its own */
    CHUNK_FLOATS = 1 << 21 /* of the rows that are made at once for all threads */
};

typedef struct gram_source gram_source;
struct gram_source {
    /* Makes rows [first, first + count) in `to`, cols numbers each, of float64 if x is, else of float32; NULL: `direct`
     * has them, ld numbers apart. */
    void (*make)(const gram_source *from, int64_t first, int64_t count, void *to);
    const void *direct;
    int64_t ld, rows, cols;
    const int32_t *index; /* [rows] rows of x or patches; NULL: all in order */
    const hal_mat *x;
    const hal_conv_shape *shape; /* of patches */
};

/* A place in the kernels' work: what is summed, and where to. */
typedef struct gram_step {
    const cpu_kernels *kernels;
    const float *rows; /* of x */
    int64_t ld, count, cols;
    float *packed; /* STEP x STRIP floats of the thread */
    float *sum;    /* [cols, cols] */
    bool first;    /* the sum begins here */
} gram_step;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Bytes of a number that is summed. */
static size_t cell_of(const gram_source *from)
{
    return from->x->dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float);
}

/* The first `count` numbers of a row of x. Returns the place behind them in `to`. */
static char *make_cells(const gram_source *from, int64_t row, int64_t count, char *to)
{
    const size_t bytes = (size_t)count * cell_of(from);
    assert(row >= 0 && row < from->x->rows);
    if (from->x->dtype == WEFT_DTYPE_BF16) {
        const uint16_t *cells = (const uint16_t *)from->x->source + row * from->x->ld;
        for (int64_t j = 0; j < count; ++j) {
            ((float *)(void *)to)[j] = bf16_to_float(cells[j]);
        }
    } else {
        memcpy(to, (const char *)from->x->source + (size_t)(row * from->x->ld) * cell_of(from), bytes);
    }
    return to + bytes;
}

static void make_rows(const gram_source *from, int64_t first, int64_t count, void *to)
{
    char *at = to;
    for (int64_t r = 0; r < count; ++r) {
        at = make_cells(from, from->index != NULL ? from->index[first + r] : first + r, from->cols, at);
    }
}

/* The channels of one pixel of a patch; zeros outside of the image. */
static char *make_pixel(const gram_source *from, int64_t image, int64_t y, int64_t x, char *to)
{
    const hal_conv_shape *s = from->shape;
    if (y >= 0 && y < s->height && x >= 0 && x < s->width) {
        return make_cells(from, (image * s->height + y) * s->width + x, s->in, to);
    }
    memset(to, 0, (size_t)s->in * cell_of(from));
    return to + (size_t)s->in * cell_of(from);
}

/* The column of a bias. */
static char *make_one(const gram_source *from, char *to)
{
    if (from->x->dtype == WEFT_DTYPE_F64) {
        *(double *)(void *)to = 1.0;
    } else {
        *(float *)(void *)to = 1.0F;
    }
    return to + cell_of(from);
}

static void make_patches(const gram_source *from, int64_t first, int64_t count, void *to)
{
    const hal_conv_shape *s = from->shape;
    char *at = to;
    int64_t extent[2];
    hal_conv_extent(s, extent);
    for (int64_t r = 0; r < count; ++r) {
        const int64_t row = from->index != NULL ? from->index[first + r] : first + r;
        const int64_t image = row / (extent[0] * extent[1]);
        const int64_t y = row / extent[1] % extent[0] * s->stride[0] - s->pad[0][0];
        const int64_t x = row % extent[1] * s->stride[1] - s->pad[1][0];
        for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
            for (int64_t kx = 0; kx < s->kernel[1]; ++kx) {
                at = make_pixel(from, image, y + ky * s->dilation[0], x + kx * s->dilation[1], at);
            }
        }
        if (s->bias) {
            at = make_one(from, at);
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Strip `column` of the sum grows by the products of at most STEP rows. */
static void add_strip(const gram_step *step, int64_t column)
{
    const int64_t width = smaller(STRIP, step->cols - column);
    const float *rows = step->rows + column;
    step->kernels->gemm_pack(0, step->count, step->count, width, 1.0F, rows, step->ld, 1, step->packed);
    step->kernels->gemm_multiply_transposed(step->cols - column, width, step->count, rows, step->ld, step->packed,
                                            step->first ? 0.0F : 1.0F, step->sum + column * step->cols + column,
                                            step->cols);
}

/* Rows [begin, end) into one sum; buffer: STEP rows, for those that are made. */
static void add_rows(const gram_source *from, gram_step *step, int64_t begin, int64_t end, float *buffer)
{
    for (int64_t row = begin; row < end; row += STEP) {
        step->count = smaller(STEP, end - row);
        step->rows = buffer;
        if (from->make != NULL) {
            from->make(from, row, step->count, buffer);
        } else {
            step->rows = (const float *)from->direct + row * from->ld;
        }
        for (int64_t column = 0; column < step->cols; column += STRIP) {
            add_strip(step, column);
        }
        step->first = false;
    }
}

/* Few columns. sums: [parts, cols, cols], zeroed here where a part has no rows. */
static void sum_by_rows(const cpu_kernels *kernels, const gram_source *from, int parts, float *scratch, float *sums)
{
    const int64_t n = from->cols;
    const int64_t own = STEP * (STRIP + n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span span = hal_split_rows(from->rows, parts, part);
        gram_step step = {.kernels = kernels,
                          .ld = from->make != NULL ? n : from->ld,
                          .cols = n,
                          .packed = scratch + part * own,
                          .sum = sums + part * n * n,
                          .first = true};
        if (span.begin == span.end) {
            memset(step.sum, 0, (size_t)(n * n) * sizeof(float));
        }
        add_rows(from, &step, span.begin, span.end, scratch + part * own + STEP * STRIP);
    }
}

static int64_t chunk_rows(int64_t cols)
{
    return CHUNK_FLOATS / cols > STEP ? CHUNK_FLOATS / cols : STEP;
}

/* Rows [first, first + count) by all threads. */
static void make_chunk(const gram_source *from, int64_t first, int64_t count, int parts, void *to)
{
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span span = hal_split_rows(count, parts, part);
        from->make(from, first + span.begin, span.end - span.begin,
                   (char *)to + (size_t)(span.begin * from->cols) * cell_of(from));
    }
}

/* Strips of `count` rows, one a turn of the loop; which thread takes it makes no difference to its bits. */
static void add_chunk(const cpu_kernels *kernels, const gram_step *chunk, int parts, float *scratch)
{
    const int64_t strips = (chunk->cols + STRIP - 1) / STRIP;
#pragma omp parallel num_threads(parts) if (parts > 1)
    {
        const int part = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
        for (int64_t strip = 0; strip < strips; ++strip) {
            for (int64_t row = 0; row < chunk->count; row += STEP) {
                gram_step step = *chunk;
                step.kernels = kernels;
                step.rows = chunk->rows + row * chunk->ld;
                step.count = smaller(STEP, chunk->count - row);
                step.packed = scratch + part * STEP * STRIP;
                step.first = chunk->first && row == 0;
                add_strip(&step, strip * STRIP);
            }
        }
    }
}

/* Many columns. scratch: STEP * STRIP floats a part, then a chunk. */
static void sum_by_strips(const cpu_kernels *kernels, const gram_source *from, int parts, float *scratch, float *sum)
{
    const int64_t n = from->cols;
    float *made = scratch + (int64_t)parts * STEP * STRIP;
    const int64_t at_once = from->make != NULL ? chunk_rows(n) : from->rows;
    gram_step chunk = {.cols = n, .sum = sum, .first = true};
    for (int64_t row = 0; row < from->rows; row += at_once) {
        chunk.count = smaller(at_once, from->rows - row);
        chunk.rows = made;
        chunk.ld = n;
        if (from->make == NULL) {
            chunk.rows = from->direct;
            chunk.ld = from->ld;
        } else {
            make_chunk(from, row, chunk.count, parts, made);
        }
        add_chunk(kernels, &chunk, parts, scratch);
        chunk.first = false;
    }
}

/* ---- sums in float64 --------------------------------------------------------------------------------------------- */

/* Tile (down, across) of the sum [n, n] grows by the products of `count` rows, in their order. */
static void add_wide_tile(const double *rows, int64_t ld, int64_t count, int64_t n, int64_t down, int64_t across,
                          double *sum)
{
    const int64_t height = smaller(WIDE_TILE, n - down);
    const int64_t width = smaller(WIDE_TILE, n - across);
    for (int64_t r = 0; r < count; ++r, rows += ld) {
        for (int64_t i = 0; i < height; ++i) {
            const double factor = rows[down + i];
            double *to = sum + (down + i) * n + across;
            for (int64_t j = 0; j < width; ++j) {
                to[j] += factor * rows[across + j];
            }
        }
    }
}

/* Which thread takes a tile makes no difference to its bits. made: STEP rows, if they are made. */
static void sum_wide(const gram_source *from, int parts, double *made, double *sum)
{
    const int64_t n = from->cols;
    const int64_t tiles = (n + WIDE_TILE - 1) / WIDE_TILE;
    memset(sum, 0, (size_t)(n * n) * sizeof *sum);
    for (int64_t row = 0; row < from->rows; row += STEP) {
        const int64_t count = smaller(STEP, from->rows - row);
        const double *rows = from->make != NULL ? made : (const double *)from->direct + row * from->ld;
        const int64_t ld = from->make != NULL ? n : from->ld;
        if (from->make != NULL) {
            make_chunk(from, row, count, parts, made);
        }
#pragma omp parallel for schedule(dynamic, 1) num_threads(parts) if (parts > 1)
        for (int64_t tile = 0; tile < tiles * tiles; ++tile) {
            const int64_t down = tile / tiles;
            const int64_t across = tile % tiles;
            if (across <= down) {
                add_wide_tile(rows, ld, count, n, down * WIDE_TILE, across * WIDE_TILE, sum);
            }
        }
    }
}

/* ---- the packed triangle ----------------------------------------------------------------------------------------- */

/* Returns the column of the sum that holds this column of the triangle. Patches have channels innermost in the sum and
 * outermost in the triangle; the column of a bias is the last in both. */
static int64_t place_of(const gram_source *from, int64_t column)
{
    const hal_conv_shape *s = from->shape;
    if (s == NULL || (s->bias && column == from->cols - 1)) {
        return column;
    }
    const int64_t taps = s->kernel[0] * s->kernel[1];
    return column % taps * s->in + column / taps;
}

/* packed = beta packed + alpha (the sums in their order) */
static void pack_sums(weft_hal *hal, const gram_source *from, int sums, const void *sum, double alpha, double beta,
                      const hal_mat *packed)
{
    const bool wide = from->x->dtype == WEFT_DTYPE_F64;
    const int64_t n = from->cols;
    const int parts = cpu_parts(hal, n * n * sums);
#pragma omp parallel for schedule(static, 16) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n; ++i) {
        const int64_t row = place_of(from, i);
        for (int64_t j = 0; j <= i; ++j) {
            const int64_t col = place_of(from, j);
            const int64_t at = row > col ? row * n + col : col * n + row;
            const int64_t to = hal_triangle(i) + j;
            double total = 0.0;
            for (int part = 0; part < sums; ++part) {
                total += wide ? ((const double *)sum)[at] : (double)((const float *)sum)[part * n * n + at];
            }
            ref_store(packed, 0, to, alpha * total + (beta == 0.0 ? 0.0 : beta * ref_load(packed, 0, to)));
        }
    }
}

/* Floats that sums of so many rows of float32 take beside their operands. makes: rows are made in a chunk first. */
static int64_t narrow_floats(const weft_hal *hal, int64_t rows, int64_t n, bool makes, int *parts)
{
    const bool narrow = n <= NARROW;
    const int64_t work = smaller(n * n, INT64_MAX / (rows + 1)) * rows / 16;
    *parts = cpu_parts(hal, work);
    if (narrow && rows < *parts) {
        *parts = rows > 0 ? (int)rows : 1;
    }
    const int64_t made = makes ? smaller(chunk_rows(n), rows) * n : 0;
    return narrow ? *parts * (STEP * (STRIP + n) + n * n) : *parts * STEP * STRIP + made + n * n;
}

uint64_t cpu_gram_scratch(const weft_hal *hal, int64_t rows, int64_t n, bool makes)
{
    int parts = 0;
    return n > 0 ? (uint64_t)narrow_floats(hal, rows, n, makes, &parts) * sizeof(float) : 0;
}

static weft_status narrow_gram_of(weft_hal *hal, const gram_source *from, double alpha, double beta,
                                  const hal_mat *packed)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const int64_t n = from->cols;
    const bool narrow = n <= NARROW;
    int parts = 0;
    const int64_t floats = narrow_floats(hal, from->rows, n, from->make != NULL, &parts);
    const int sums = narrow ? parts : 1;
    float *memory = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)floats * sizeof *memory, (void **)&memory));
    float *sum = memory + floats - sums * n * n;
    if (narrow) {
        sum_by_rows(kernels, from, parts, memory, sum);
    } else if (from->rows > 0) {
        sum_by_strips(kernels, from, parts, memory, sum);
    } else {
        memset(sum, 0, (size_t)(n * n) * sizeof *sum);
    }
    pack_sums(hal, from, sums, sum, alpha, beta, packed);
    return WEFT_OK;
}

static weft_status wide_gram_of(weft_hal *hal, const gram_source *from, double alpha, double beta,
                                const hal_mat *packed)
{
    const int64_t n = from->cols;
    const int64_t made = from->make != NULL ? STEP * n : 0;
    double *memory = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(made + n * n) * sizeof *memory, (void **)&memory));
    sum_wide(from, cpu_parts(hal, n * n * smaller(from->rows, STEP)), memory, memory + made);
    pack_sums(hal, from, 1, memory + made, alpha, beta, packed);
    return WEFT_OK;
}

static weft_status gram_of(weft_hal *hal, const gram_source *from, double alpha, double beta, const hal_mat *packed)
{
    assert(packed->rows == 1 && packed->cols == hal_triangle(from->cols));
    return from->x->dtype == WEFT_DTYPE_F64 ? wide_gram_of(hal, from, alpha, beta, packed)
                                            : narrow_gram_of(hal, from, alpha, beta, packed);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* [out] list: rows where the mask is not 0, in memory of the backend that products do not use. */
static weft_status list_of_mask(weft_hal *hal, const hal_gram_args *args, const int32_t **list, int64_t *count)
{
    const uint8_t *mask = args->mask.source;
    int32_t *to = NULL;
    assert(args->mask.rows == args->x.rows && args->x.rows <= INT32_MAX);
    WEFT_TRY(cpu_factor_workspace(hal, (size_t)args->x.rows * sizeof *to, (void **)&to));
    *count = 0;
    for (int64_t i = 0; i < args->x.rows; ++i) {
        to[*count] = (int32_t)i;
        *count += mask[i] != 0 ? 1 : 0;
    }
    *list = to;
    return WEFT_OK;
}

static weft_status cpu_gram(weft_hal *hal, const hal_gram_args *args)
{
    gram_source from = {.x = &args->x, .rows = args->x.rows, .cols = args->x.cols, .index = args->index.source};
    if (from.cols == 0) {
        return WEFT_OK;
    }
    if (from.index != NULL) {
        from.rows = args->index.rows;
    } else if (args->mask.source != NULL) {
        WEFT_TRY(list_of_mask(hal, args, &from.index, &from.rows));
    }
    if (from.index != NULL || args->x.dtype == WEFT_DTYPE_BF16) {
        from.make = make_rows;
    } else {
        from.direct = args->x.source;
        from.ld = args->x.ld;
    }
    return gram_of(hal, &from, args->alpha, args->beta, &args->packed);
}

static weft_status cpu_patch_gram(weft_hal *hal, const hal_patch_gram_args *args)
{
    WEFT_TRY(hal_patch_gram_check(args));
    const gram_source from = {.make = make_patches,
                              .x = &args->x,
                              .rows = args->index.source != NULL ? args->index.rows
                                                                 : hal_patches(&args->shape, args->x.rows),
                              .cols = hal_patch_columns(&args->shape),
                              .index = args->index.source,
                              .shape = &args->shape};
    return gram_of(hal, &from, args->alpha, args->beta, &args->packed);
}

void cpu_gram_ops(hal_ops *ops)
{
    ops->gram = cpu_gram;
    ops->patch_gram = cpu_patch_gram;
}
