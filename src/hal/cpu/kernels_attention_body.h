/*
 * hal/cpu/kernels_attention_body.h: attention over edges, float32. Included once an instruction set by kernels_*.c, behind
 * kernels_exp.h. No include guard.
 *
 * A row's edges are walked once. For each, the weights of all heads are worked out together (vectors over heads), then
 * each head's columns are added or multiplied (vectors over columns). No array is longer than HAL_HEADS.
 */

/* The edges of row r, the one to itself last. */
typedef struct edge_walk {
    const int32_t *column;
    int64_t row, count, listed;
} edge_walk;

static edge_walk walk_of(const hal_mat *offset, const hal_mat *column, int64_t row, const hal_attention *how)
{
    const int64_t *at = offset->source;
    const int32_t *columns = column->source;
    const int64_t listed = at[row + 1] - at[row];
    return (edge_walk){.column = listed > 0 ? columns + at[row] : NULL,
                       .row = row,
                       .count = listed + (row < how->self ? 1 : 0),
                       .listed = listed};
}

static inline int64_t walk_end(const edge_walk *walk, int64_t e)
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

static inline float leaky(float x, float slope)
{
    return x > 0.0F ? x : slope * x;
}

/* power[heads] = exp(score) of an edge. */
static void edge_powers(int heads, float slope, const float *source, const float *target, const float *highest,
                        float *power)
{
#pragma omp simd
    for (int h = 0; h < heads; ++h) {
        const float score = leaky(source[h] + target[h], slope) - leaky(highest[h] + target[h], slope);
        power[h] = exp_negative(score < 0.0F ? score : 0.0F * score); /* a NaN stays one */
    }
}

static float dot_of(int64_t n, const float *x, const float *y)
{
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; ++j) {
        sum += x[j] * y[j];
    }
    return sum;
}

static void add_scaled(int64_t n, float factor, const float *x, float *y)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        y[j] += factor * x[j];
    }
}

static const float *row_from(const hal_mat *mat, int64_t row)
{
    return (const float *)mat->source + row * mat->ld;
}

static float *row_to(const hal_mat *mat, int64_t row)
{
    return (float *)mat->data + row * mat->ld;
}

static void head_dot(const hal_head_dot_args *a, int64_t first, int64_t end)
{
    const int64_t heads = a->out.cols;
    const int64_t d = a->x.cols / heads;
    for (int64_t i = first; i < end; ++i) {
        const float *x = row_from(&a->x, i);
        const float *y = row_from(&a->y, a->y.rows == 1 ? 0 : i);
        float *out = row_to(&a->out, i);
        for (int64_t h = 0; h < heads; ++h) {
            out[h] = dot_of(d, x + h * d, y + h * d);
        }
    }
}

static void head_scale(const hal_head_scale_args *a, int64_t first, int64_t end)
{
    const int64_t heads = a->scale.cols;
    const int64_t d = a->y.cols / heads;
    const float beta = (float)a->beta;
    for (int64_t i = first; i < end; ++i) {
        const float *scale = row_from(&a->scale, i);
        for (int64_t h = 0; h < heads; ++h) {
            const float *x = row_from(&a->x, a->x.rows == 1 ? 0 : i) + h * d;
            float *y = row_to(&a->y, i) + h * d;
            const float factor = a->divide ? 1.0F / scale[h] : scale[h];
            for (int64_t j = 0; j < d; ++j) {
                y[j] = beta == 0.0F ? factor * x[j] : beta * y[j] + factor * x[j];
            }
        }
    }
}

static void attention_highest(const hal_attention_highest_args *a, int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    for (int64_t r = first; r < end; ++r) {
        const edge_walk walk = walk_of(&a->offset, &a->column, r, &a->how);
        float *highest = row_to(&a->highest, r);
        for (int h = 0; h < heads; ++h) {
            highest[h] = -FLT_MAX;
        }
        for (int64_t e = 0; e < walk.count; ++e) {
            const float *source = row_from(&a->source, walk_end(&walk, e));
#pragma omp simd
            for (int h = 0; h < heads; ++h) {
                highest[h] = source[h] > highest[h] ? source[h] : highest[h];
            }
        }
    }
}

static void attention_forward(const hal_attention_forward_args *a, int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    const int64_t d = a->x.cols / heads;
    const bool drops = a->how.dropout.probability > 0.0F;
    float power[HAL_HEADS], kept[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const edge_walk walk = walk_of(&a->offset, &a->column, r, &a->how);
        const float *target = row_from(&a->target, r);
        const float *highest = row_from(&a->highest, r);
        float *out = row_to(&a->out, r);
        float *total = row_to(&a->total, r);
        double sum[HAL_HEADS] = {0.0};
        memset(out, 0, (size_t)a->x.cols * sizeof *out);
        for (int64_t e = 0; e < walk.count; ++e) {
            const int64_t c = walk_end(&walk, e);
            const float *x = row_from(&a->x, c);
            edge_powers(heads, (float)a->how.slope, row_from(&a->source, c), target, highest, power);
            for (int h = 0; h < heads; ++h) {
                sum[h] += (double)power[h];
            }
            if (drops) {
                edge_kept(&a->how, c, r, kept);
                for (int h = 0; h < heads; ++h) {
                    power[h] *= kept[h];
                }
            }
            for (int h = 0; h < heads; ++h) {
                add_scaled(d, power[h], x + h * d, out + h * d);
            }
        }
        for (int h = 0; h < heads; ++h) {
            total[h] = (float)sum[h];
        }
    }
}

/* Of the edge from u to v, by head: power becomes weight * kept, draw the gradient of raw. */
static void edge_backward(const hal_attention_backward_sources_args *a, bool drops, int64_t u, int64_t v, float *power,
                          float *draw)
{
    const int heads = a->how.heads;
    const int64_t d = a->x.cols / heads;
    const float slope = (float)a->how.slope;
    const float *source = row_from(&a->source, u), *target = row_from(&a->target, v);
    const float *x = row_from(&a->x, u), *dy = row_from(&a->dy, v);
    const float *total = row_from(&a->total, v), *mean = row_from(&a->mean, v);
    float kept[HAL_HEADS];
    edge_powers(heads, slope, source, target, row_from(&a->highest, v), power);
    if (drops) {
        edge_kept(&a->how, u, v, kept);
    }
    for (int h = 0; h < heads; ++h) {
        const float weight = power[h] / total[h];
        const float keeps = drops ? kept[h] : 1.0F;
        const float dot = dot_of(d, dy + h * d, x + h * d);
        draw[h] = weight * (keeps * dot - mean[h]) * (source[h] + target[h] > 0.0F ? 1.0F : slope);
        power[h] = weight * keeps;
    }
}

static void attention_backward_targets(const hal_attention_backward_sources_args *a, const hal_mat *dtarget,
                                       int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    const bool drops = a->how.dropout.probability > 0.0F;
    float power[HAL_HEADS], draw[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const edge_walk walk = walk_of(&a->offset, &a->column, r, &a->how);
        double sum[HAL_HEADS] = {0.0};
        for (int64_t e = 0; e < walk.count; ++e) {
            edge_backward(a, drops, walk_end(&walk, e), r, power, draw);
            for (int h = 0; h < heads; ++h) {
                sum[h] += (double)draw[h];
            }
        }
        for (int h = 0; h < heads; ++h) {
            row_to(dtarget, r)[h] = (float)sum[h];
        }
    }
}

static void attention_backward_sources(const hal_attention_backward_sources_args *a, int64_t first, int64_t end)
{
    const int heads = a->how.heads;
    const int64_t d = a->x.cols / heads;
    const bool drops = a->how.dropout.probability > 0.0F;
    float power[HAL_HEADS], draw[HAL_HEADS];
    for (int64_t r = first; r < end; ++r) {
        const edge_walk walk = walk_of(&a->offset, &a->column, r, &a->how);
        float *dx = row_to(&a->dx, r);
        double sum[HAL_HEADS] = {0.0};
        memset(dx, 0, (size_t)a->x.cols * sizeof *dx);
        for (int64_t e = 0; e < walk.count; ++e) {
            const int64_t c = walk_end(&walk, e);
            const float *dy = row_from(&a->dy, c);
            edge_backward(a, drops, r, c, power, draw);
            for (int h = 0; h < heads; ++h) {
                sum[h] += (double)draw[h];
                add_scaled(d, power[h], dy + h * d, dx + h * d);
            }
        }
        for (int h = 0; h < heads; ++h) {
            row_to(&a->dsource, r)[h] = (float)sum[h];
        }
    }
}
