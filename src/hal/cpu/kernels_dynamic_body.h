/*
 * hal/cpu/kernels_dynamic_body.h: attention whose scores meet in every column, float32. Included once an instruction set by
 * kernels_*.c, behind kernels_attention_body.h, whose functions of heads it shares. No include guard.
 *
 * A row's edges are walked once; of each, the columns of a head are met twice: for its score, and for what the score is worth.
 */

/* The edges of row r, the one to itself last. */
typedef struct row_walk {
    const int32_t *column;
    int64_t row, count, listed;
} row_walk;

static row_walk row_walk_of(const hal_mat *offset, const hal_mat *column, int64_t row, const hal_attention *how)
{
    const int64_t *at = offset->source;
    const int32_t *columns = column->source;
    const int64_t listed = at[row + 1] - at[row];
    return (row_walk){.column = listed > 0 ? columns + at[row] : NULL,
                      .row = row,
                      .count = listed + (row < how->self ? 1 : 0),
                      .listed = listed};
}

static inline int64_t walk_end(const row_walk *walk, int64_t e)
{
    return e < walk->listed ? walk->column[e] : walk->row;
}

/* kept[heads]: 0, or what a kept weight is multiplied by. */
static void edge_kept(const hal_attention *how, int64_t source, int64_t target, float *kept)
{
    const hal_dropout *dropout = &how->dropout;
    const int64_t *id = dropout->row_id.source;
    const uint32_t threshold = philox_dropout_threshold(dropout->probability);
    const float scale = (float)(1.0 / (1.0 - (double)dropout->probability));
    for (int h = 0; h < how->heads; h += 8) {
        const philox_block block = philox_edge((uint32_t)(h / 8), (uint64_t)id[source], (uint64_t)id[target],
                                               dropout->purpose, dropout->epoch, dropout->seed);
        for (int lane = 0; lane < 8 && h + lane < how->heads; ++lane) {
            kept[h + lane] = philox_lane16(block, (unsigned)lane) >= threshold ? scale : 0.0F;
        }
    }
}

static void add_scaled(int64_t n, float factor, const float *x, float *y)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        y[j] += factor * x[j];
    }
}

/* score[heads] = sum over a head's columns of vector * LeakyReLU(x + target) */
static void dynamic_scores(int heads, int64_t d, float slope, const float *x, const float *target, const float *vector,
                           float *score)
{
    for (int h = 0; h < heads; ++h) {
        float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = h * d; j < (h + 1) * d; ++j) {
            sum += vector[j] * leaky(x[j] + target[j], slope);
        }
        score[h] = sum;
    }
}

/* score becomes the power of what it is above the highest. */
static void dynamic_powers(int heads, const float *highest, float *score)
{
#pragma omp simd
    for (int h = 0; h < heads; ++h) {
        const float below = score[h] - highest[h];
        score[h] = exp_negative(below < 0.0F ? below : 0.0F * below); /* a NaN stays one */
    }
}

static void dynamic_highest(const hal_dynamic_highest_args *a, int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    const int64_t d = a->x.cols / heads;
    float score[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const row_walk walk = row_walk_of(&a->offset, &a->column, r, &a->how);
        float *highest = row_to(&a->highest, r);
        for (int h = 0; h < heads; ++h) {
            highest[h] = -FLT_MAX;
        }
        for (int64_t e = 0; e < walk.count; ++e) {
            dynamic_scores(heads, d, (float)a->how.slope, row_from(&a->x, walk_end(&walk, e)), row_from(&a->target, r),
                           a->vector.source, score);
            for (int h = 0; h < heads; ++h) {
                highest[h] = score[h] > highest[h] ? score[h] : highest[h];
            }
        }
    }
}

static void dynamic_forward(const hal_dynamic_forward_args *a, int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    const int64_t d = a->x.cols / heads;
    const bool drops = a->how.dropout.probability > 0.0F;
    float power[HAL_HEADS], kept[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const row_walk walk = row_walk_of(&a->offset, &a->column, r, &a->how);
        float *out = row_to(&a->out, r);
        double sum[HAL_HEADS] = {0.0};
        memset(out, 0, (size_t)a->x.cols * sizeof *out);
        for (int64_t e = 0; e < walk.count; ++e) {
            const int64_t c = walk_end(&walk, e);
            const float *x = row_from(&a->x, c);
            dynamic_scores(heads, d, (float)a->how.slope, x, row_from(&a->target, r), a->vector.source, power);
            dynamic_powers(heads, row_from(&a->highest, r), power);
            if (drops) {
                edge_kept(&a->how, c, r, kept);
            }
            for (int h = 0; h < heads; ++h) {
                sum[h] += (double)power[h];
                add_scaled(d, drops ? power[h] * kept[h] : power[h], x + h * d, out + h * d);
            }
        }
        for (int h = 0; h < heads; ++h) {
            row_to(&a->total, r)[h] = (float)sum[h];
        }
    }
}

/* Of the edge from u to v, by head: factor = weight * kept, draw = the gradient of raw. */
static void dynamic_edge(const cpu_dynamic_backward *a, int64_t u, int64_t v, float *factor, float *draw)
{
    const int heads = a->how->heads;
    const int64_t d = a->x->cols / heads;
    const float *x = row_from(a->x, u), *dy = row_from(a->dy, v);
    const float *total = row_from(a->total, v), *mean = row_from(a->mean, v);
    const bool drops = a->how->dropout.probability > 0.0F;
    float kept[HAL_HEADS];
    dynamic_scores(heads, d, (float)a->how->slope, x, row_from(a->target, v), a->vector->source, factor);
    dynamic_powers(heads, row_from(a->highest, v), factor);
    if (drops) {
        edge_kept(a->how, u, v, kept);
    }
    for (int h = 0; h < heads; ++h) {
        const float weight = factor[h] / total[h];
        const float keeps = drops ? kept[h] : 1.0F;
        draw[h] = weight * (keeps * dot_of(d, dy + h * d, x + h * d) - mean[h]);
        factor[h] = weight * keeps;
    }
}

static void dynamic_backward_targets(const cpu_dynamic_backward *a, int64_t first, int64_t end)
{
    const int heads = a->how->heads;
    const int64_t d = a->x->cols / heads;
    const float slope = (float)a->how->slope;
    const float *vector = a->vector->source;
    float factor[HAL_HEADS], draw[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const row_walk walk = row_walk_of(a->offset, a->column, r, a->how);
        const float *target = row_from(a->target, r);
        float *dtarget = row_to(a->dtarget, r), *dvector = row_to(a->dvector, r);
        memset(dtarget, 0, (size_t)a->x->cols * sizeof *dtarget);
        memset(dvector, 0, (size_t)a->x->cols * sizeof *dvector);
        for (int64_t e = 0; e < walk.count; ++e) {
            const int64_t c = walk_end(&walk, e);
            const float *x = row_from(a->x, c);
            dynamic_edge(a, c, r, factor, draw);
            for (int h = 0; h < heads; ++h) {
                const float pull = draw[h];
#pragma omp simd
                for (int64_t j = h * d; j < (h + 1) * d; ++j) {
                    const float met = x[j] + target[j];
                    dtarget[j] += pull * (met > 0.0F ? 1.0F : slope);
                    dvector[j] += pull * leaky(met, slope);
                }
            }
        }
#pragma omp simd
        for (int64_t j = 0; j < a->x->cols; ++j) {
            dtarget[j] *= vector[j];
        }
    }
}

static void dynamic_backward_sources(const cpu_dynamic_backward *a, int64_t first, int64_t end)
{
    const int heads = a->how->heads;
    const int64_t d = a->x->cols / heads;
    const float slope = (float)a->how->slope;
    const float *vector = a->vector->source;
    float factor[HAL_HEADS], draw[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const row_walk walk = row_walk_of(a->offset, a->column, r, a->how);
        const float *x = row_from(a->x, r);
        float *dx = row_to(a->dx, r);
        memset(dx, 0, (size_t)a->x->cols * sizeof *dx);
        for (int64_t e = 0; e < walk.count; ++e) {
            const int64_t c = walk_end(&walk, e);
            const float *target = row_from(a->target, c), *dy = row_from(a->dy, c);
            dynamic_edge(a, r, c, factor, draw);
            for (int h = 0; h < heads; ++h) {
                const float pull = draw[h], share = factor[h];
#pragma omp simd
                for (int64_t j = h * d; j < (h + 1) * d; ++j) {
                    dx[j] += pull * vector[j] * (x[j] + target[j] > 0.0F ? 1.0F : slope) + share * dy[j];
                }
            }
        }
    }
}
