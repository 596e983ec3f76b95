/*
 * hal/cpu/sums/cpu_gram.c: sums of products of rows, in float32, over the kernels of kernels_gemm_body.h.
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
    NARROW = 512,          /* columns up to which every thread has a sum of its own */
    CHUNK_FLOATS = 1 << 21 /* of the rows that are made at once for all threads */
};

typedef struct gram_source gram_source;
struct gram_source {
    /* Makes rows [first, first + count) in `to`, cols floats each; NULL: `direct` has them, ld floats apart. */
    void (*make)(const gram_source *from, int64_t first, int64_t count, float *to);
    const float *direct;
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

static void make_rows(const gram_source *from, int64_t first, int64_t count, float *to)
{
    for (int64_t r = 0; r < count; ++r, to += from->cols) {
        const int64_t row = from->index != NULL ? from->index[first + r] : first + r;
        assert(row >= 0 && row < from->x->rows);
        if (from->x->dtype == WEFT_DTYPE_BF16) {
            const uint16_t *cells = (const uint16_t *)from->x->source + row * from->x->ld;
            for (int64_t j = 0; j < from->cols; ++j) {
                to[j] = bf16_to_float(cells[j]);
            }
        } else {
            memcpy(to, (const float *)from->x->source + row * from->x->ld, (size_t)from->cols * sizeof *to);
        }
    }
}

/* The channels of one pixel of a patch; zeros outside of the image. */
static void make_pixel(const gram_source *from, int64_t image, int64_t y, int64_t x, float *to)
{
    const hal_conv_shape *s = from->shape;
    const int64_t at = ((image * s->height + y) * s->width + x) * from->x->ld;
    if (y < 0 || y >= s->height || x < 0 || x >= s->width) {
        memset(to, 0, (size_t)s->in * sizeof *to);
    } else if (from->x->dtype == WEFT_DTYPE_BF16) {
        for (int64_t c = 0; c < s->in; ++c) {
            to[c] = bf16_to_float(((const uint16_t *)from->x->source)[at + c]);
        }
    } else {
        memcpy(to, (const float *)from->x->source + at, (size_t)s->in * sizeof *to);
    }
}

static void make_patches(const gram_source *from, int64_t first, int64_t count, float *to)
{
    const hal_conv_shape *s = from->shape;
    int64_t extent[2];
    hal_conv_extent(s, extent);
    for (int64_t r = 0; r < count; ++r) {
        const int64_t row = from->index != NULL ? from->index[first + r] : first + r;
        const int64_t image = row / (extent[0] * extent[1]);
        const int64_t y = row / extent[1] % extent[0] * s->stride[0] - s->pad[0][0];
        const int64_t x = row % extent[1] * s->stride[1] - s->pad[1][0];
        for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
            for (int64_t kx = 0; kx < s->kernel[1]; ++kx, to += s->in) {
                make_pixel(from, image, y + ky * s->dilation[0], x + kx * s->dilation[1], to);
            }
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
            step->rows = from->direct + row * from->ld;
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
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(from->rows, parts, part, &begin, &end);
        gram_step step = {.kernels = kernels,
                          .ld = from->make != NULL ? n : from->ld,
                          .cols = n,
                          .packed = scratch + part * own,
                          .sum = sums + part * n * n,
                          .first = true};
        if (begin == end) {
            memset(step.sum, 0, (size_t)(n * n) * sizeof(float));
        }
        add_rows(from, &step, begin, end, scratch + part * own + STEP * STRIP);
    }
}

static int64_t chunk_rows(int64_t cols)
{
    return CHUNK_FLOATS / cols > STEP ? CHUNK_FLOATS / cols : STEP;
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
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
            for (int part = 0; part < parts; ++part) {
                int64_t begin = 0;
                int64_t end = 0;
                hal_split_rows(chunk.count, parts, part, &begin, &end);
                from->make(from, row + begin, end - begin, made + begin * n);
            }
        }
        add_chunk(kernels, &chunk, parts, scratch);
        chunk.first = false;
    }
}

/* ---- the packed triangle ----------------------------------------------------------------------------------------- */

/* Where a column of the triangle stands in the sum: patches have channels innermost there, outermost in the
 * triangle. */
static int64_t place_of(const gram_source *from, int64_t column)
{
    const int64_t taps = from->shape != NULL ? from->shape->kernel[0] * from->shape->kernel[1] : 1;
    return from->shape != NULL ? column % taps * from->shape->in + column / taps : column;
}

/* packed = beta packed + alpha (the sums in their order) */
static void pack_sums(weft_hal *hal, const gram_source *from, int sums, const float *sum, double alpha, double beta,
                      float *packed)
{
    const int64_t n = from->cols;
    const int parts = cpu_parts(hal, n * n * sums);
#pragma omp parallel for schedule(static, 16) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n; ++i) {
        float *to = packed + hal_triangle(i);
        const int64_t row = place_of(from, i);
        for (int64_t j = 0; j <= i; ++j) {
            const int64_t col = place_of(from, j);
            const float *at = row > col ? sum + row * n + col : sum + col * n + row;
            double total = 0.0;
            for (int part = 0; part < sums; ++part) {
                total += (double)at[part * n * n];
            }
            to[j] = (float)(alpha * total + (beta == 0.0 ? 0.0 : beta * (double)to[j]));
        }
    }
}

static weft_status gram_of(weft_hal *hal, const gram_source *from, double alpha, double beta, const hal_mat *packed)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const int64_t n = from->cols;
    const bool narrow = n <= NARROW;
    const int64_t work = smaller(n * n, INT64_MAX / (from->rows + 1)) * from->rows / 16;
    int parts = cpu_parts(hal, work);
    if (narrow && from->rows < parts) {
        parts = from->rows > 0 ? (int)from->rows : 1;
    }
    const int64_t made = from->make == NULL ? 0 : smaller(chunk_rows(n), from->rows) * n;
    const int64_t scratch = narrow ? parts * STEP * (STRIP + n) : parts * STEP * STRIP + made;
    const int sums = narrow ? parts : 1;
    float *memory = NULL;
    assert(packed->rows == 1 && packed->cols == hal_triangle(n));
    WEFT_TRY(cpu_workspace(hal, (size_t)(scratch + sums * n * n) * sizeof *memory, (void **)&memory));
    float *sum = memory + scratch;
    if (narrow) {
        sum_by_rows(kernels, from, parts, memory, sum);
    } else if (from->rows > 0) {
        sum_by_strips(kernels, from, parts, memory, sum);
    } else {
        memset(sum, 0, (size_t)(n * n) * sizeof *sum);
    }
    pack_sums(hal, from, sums, sum, alpha, beta, packed->data);
    return WEFT_OK;
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
    if (args->x.dtype == WEFT_DTYPE_F64) {
        return cpu_state_of(hal)->ref.op.gram(hal, args);
    }
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
    if (args->x.dtype == WEFT_DTYPE_F64) {
        return cpu_state_of(hal)->ref.op.patch_gram(hal, args);
    }
    WEFT_TRY(hal_patch_gram_check(args));
    const gram_source from = {.make = make_patches,
                              .x = &args->x,
                              .rows = args->index.source != NULL ? args->index.rows
                                                                 : hal_patches(&args->shape, args->x.rows),
                              .cols = hal_conv_terms(&args->shape),
                              .index = args->index.source,
                              .shape = &args->shape};
    return gram_of(hal, &from, args->alpha, args->beta, &args->packed);
}

void cpu_gram_ops(hal_ops *ops)
{
    ops->gram = cpu_gram;
    ops->patch_gram = cpu_patch_gram;
}
