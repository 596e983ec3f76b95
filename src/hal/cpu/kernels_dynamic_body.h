/*
 * hal/cpu/kernels_dynamic_body.h: attention whose scores meet in every column, float32. Included once an instruction
 * set by kernels_*.c, behind kernels_attention_body.h, whose passes over blocks of edges it shares. No include guard.
 *
 * A score needs all columns of a head, so heads are taken whole, as many as a strip holds. For a block of edges
 *
 *  rows of other ends, the row itself   ->   products [edge, columns]        meet_by_row_of, meet_by_head
 *  products                             ->   a list, heads together          fold: adds neighbours until heads are left
 *  lists                                ->   lists                           as in kernels_attention_body.h
 *  lists, rows of other ends            ->   sums of columns, in registers   add_rows, add_met_of
 *
 * With q = draw * (x + target > 0 ? 1 : slope) of an edge and column, what the row and `vector` get need two sums a
 * column:
 *
 *      sum of draw * vector * (x + target > 0 ? 1 : slope)   =   vector * (sum of q)
 *      sum of draw * LeakyReLU(x + target)                   =   (sum of q x) + target * (sum of q)
 *
 * Heads wider than a strip are scored once for each range of RANGE_COLUMNS.
 */

enum {
    PRODUCTS = 2048, /* of a block: 8 KiB */
    RANGE_STRIPS = 16,
    RANGE_COLUMNS = RANGE_STRIPS * STRIP_COLUMNS
};

typedef float product_list[PRODUCTS + 2 * LANES]; /* and what vectors at its end read besides */

/* Heads that are scored together, and the range of their columns that sums are made of. */
typedef struct dynamic_group {
    int64_t d, col, cols; /* of the heads */
    int heads;
    bool by_row;      /* heads share vectors, else each has its own */
    int64_t products; /* of an edge */
    bool begins;      /* the range, with the first column of the heads */
    int strips;
    edge_strip strip[RANGE_STRIPS];
} dynamic_group;

/* An operation on a group. */
typedef struct dynamic_job {
    const void *args;
    float slope;
    const float *vector; /* of the heads */
    dynamic_group group;
} dynamic_job;

/* The heads from `head` on, and the range of their columns from `col` on. */
static void group_at(dynamic_group *group, int head, int64_t col, int heads, int64_t d)
{
    const int together = d < STRIP_COLUMNS ? (int)(STRIP_COLUMNS / d) : 1;
    group->d = d;
    group->heads = heads - head < together ? heads - head : together;
    group->col = head * d;
    group->cols = group->heads * d;
    group->by_row = d < LANES && (d & (d - 1)) == 0;
    group->products = group->by_row ? group->cols : (int64_t)group->heads * LANES;
    group->begins = col == group->col;
    group->strips = 0;
    const int64_t end = group->col + group->cols;
    for (; col < end && group->strips < RANGE_STRIPS; col += STRIP_COLUMNS) {
        group->strip[group->strips++] = strip_at(col, end, d);
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Vector v of `vectors`, of whose last `last` lanes are there; the others are zero. */
BY_FORM vec vec_of(const int vectors, int v, const float *from, int64_t last)
{
    if (v + 1 < vectors) {
        return vec_load(from + (ptrdiff_t)v * LANES);
    }
    return vec_load_first(from + (ptrdiff_t)v * LANES, last);
}

/* What edges meet with: vector * LeakyReLU(other + fixed), or other * fixed where `vector` is NULL. */
typedef struct dynamic_meeting {
    const float *vector, *fixed; /* from the group's first column on */
    float slope;
} dynamic_meeting;

BY_FORM vec met_of(const bool scores, vec other, vec fixed, vec vector, float slope)
{
    if (!scores) {
        return other * fixed;
    }
    const vec met = other + fixed;
    return vector * vec_if_positive(met, met, met * slope);
}

/* Products of whole rows: [edge, cols]. */
BY_FORM void meet_by_row_of(const int vectors, const bool scores, const dynamic_group *group, const edge_block *block,
                            const hal_mat *other, const dynamic_meeting *m, float *products)
{
    vec fixed[STRIP_VECTORS], vector[STRIP_VECTORS];
    const int64_t last = group->strip[0].last;
    for (int v = 0; v < vectors; ++v) {
        fixed[v] = vec_of(vectors, v, m->fixed, last);
        vector[v] = scores ? vec_of(vectors, v, m->vector, last) : fixed[v];
    }
    const float *from = (const float *)other->source + group->col;
    for (int i = 0; i < block->n; ++i) {
        const float *row = from + block->end[i] * other->ld;
        float *to = products + i * group->cols;
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            vec_store(to + (ptrdiff_t)v * LANES,
                      met_of(scores, vec_of(vectors, v, row, last), fixed[v], vector[v], m->slope));
        }
    }
}

/* Products of heads, added up to a vector each: [edge, heads, LANES]. */
BY_FORM void meet_by_head(const bool scores, const dynamic_group *group, const edge_block *block, const hal_mat *other,
                          const dynamic_meeting *m, float *products)
{
    const int64_t d = group->d, whole = (d - 1) / LANES * LANES, last = d - whole;
    const float *from = (const float *)other->source + group->col;
    for (int h = 0; h < group->heads; ++h) {
        const float *fixed = m->fixed + h * d;
        const float *vector = scores ? m->vector + h * d : fixed;
        const vec fixed_last = vec_load_first(fixed + whole, last);
        const vec vector_last = vec_load_first(vector + whole, last);
        for (int i = 0; i < block->n; ++i) {
            const float *row = from + block->end[i] * other->ld + h * d;
            vec sum = met_of(scores, vec_load_first(row + whole, last), fixed_last, vector_last, m->slope);
            for (int64_t j = 0; j < whole; j += LANES) {
                sum += met_of(scores, vec_load(row + j), vec_load(fixed + j), vec_load(vector + j), m->slope);
            }
            vec_store(products + (i * group->heads + h) * (ptrdiff_t)LANES, sum);
        }
    }
}

/* Adds neighbours until n numbers are left of n * width, a power of two. */
static inline void fold(int64_t n, int64_t width, float *list)
{
    for (width /= 2; width > 0; width /= 2) {
        for (int64_t k = 0; k < n * width; k += LANES) {
            vec_store(list + k, vec_add_neighbours(vec_load(list + 2 * k), vec_load(list + 2 * k + LANES)));
        }
    }
}

/* list[i, heads] = the sum over a head's columns of what edge i meets with. */
BY_FORM void meet(const bool scores, const dynamic_group *group, const edge_block *block, const hal_mat *other,
                  const dynamic_meeting *m, float *list)
{
    if (group->by_row) {
        BY_VECTORS(group->strip[0].vectors, meet_by_row_of, scores, group, block, other, m, list)
    } else {
        meet_by_head(scores, group, block, other, m, list);
    }
    fold((int64_t)block->n * group->heads, group->by_row ? group->d : LANES, list);
}

static void meet_scores(const dynamic_job *job, const edge_block *block, const hal_mat *other, const float *fixed,
                        float *list)
{
    const dynamic_meeting m = {.vector = job->vector, .fixed = fixed + job->group.col, .slope = job->slope};
    meet(true, &job->group, block, other, &m, list);
}

static void meet_dots(const dynamic_job *job, const edge_block *block, const hal_mat *other, const float *fixed,
                      float *list)
{
    const dynamic_meeting m = {.fixed = fixed + job->group.col};
    meet(false, &job->group, block, other, &m, list);
}

/* A score becomes the power of what it is above the highest. */
static inline void dynamic_powers(int64_t n, const float *highest, float *score)
{
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
        const float below = score[k] - highest[k];
        score[k] = exp_negative(below < 0.0F ? below : 0.0F * below); /* a NaN stays one */
    }
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Runs `strip` for every group of heads and range of their columns; one_range: for the first range of a head alone, as
 * no columns are summed. */
static void dynamic_pass(const edge_run *run, const hal_mat *vector, bool one_range, int64_t cache_bytes, int64_t first,
                         int64_t end, void (*strip)(attention_pass *pass))
{
    const int heads = run->how->heads;
    const int64_t d = run->cols / heads;
    dynamic_job job = {.args = run->args, .slope = (float)run->how->slope};
    dynamic_group *group = &job.group;
    for (int head = 0; head < heads && d > 0; head += group->heads) {
        int64_t col = head * d;
        do {
            attention_pass pass;
            group_at(group, head, col, heads, d);
            job.vector = (const float *)vector->source + group->col;
            pass_begin(&pass, &job, group->strip[0], run, group->col, group->cols);
            const int64_t most = PRODUCTS / group->products;
            pass.walk.most = most < pass.walk.most ? (int)most : pass.walk.most;
            pass_run(&pass, cache_bytes, first, end, strip);
            col += RANGE_COLUMNS;
        } while (!one_range && col < group->col + group->cols);
    }
}

static void dynamic_highest_strip(attention_pass *pass)
{
    const dynamic_job *job = pass->args;
    const hal_dynamic_highest_args *a = job->args;
    const int heads = pass->strip.heads;
    product_list score;
    edge_block block;
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        float *highest = row_to(&a->highest, r) + pass->strip.head;
        for (int h = 0; h < heads && pass->walk.begins; ++h) {
            highest[h] = -FLT_MAX;
        }
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            meet_scores(job, &block, &a->x, row_from(&a->target, r), score);
            larger_heads(heads, block.n, score, highest);
        }
    }
}

static void dynamic_highest(const hal_dynamic_highest_args *a, int64_t cache_bytes, int64_t first, int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->x}};
    dynamic_pass(&run, &a->vector, true, cache_bytes, first, end, dynamic_highest_strip);
}

static inline void clear_range(const dynamic_group *group, float *sum)
{
    memset(sum, 0, (size_t)group->strips * STRIP_COLUMNS * sizeof *sum);
}

static void dynamic_forward_strip(attention_pass *pass)
{
    const dynamic_job *job = pass->args;
    const hal_dynamic_forward_args *a = job->args;
    const dynamic_group *group = &job->group;
    const edge_strip *strip = &pass->strip;
    product_list power;
    edge_list highest;
    edge_block block;
    float sum[RANGE_COLUMNS];
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        double sums[HAL_HEADS];
        clear_heads(strip, sums);
        clear_range(group, sum);
        repeat_heads(strip, repeats(pass, &span), &a->highest, r, highest);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            meet_scores(job, &block, &a->x, row_from(&a->target, r), power);
            dynamic_powers((int64_t)block.n * strip->heads, highest, power);
            add_heads(strip, block.n, power, sums);
            drop_powers(pass, &block, r, power);
            for (int s = 0; s < group->strips; ++s) {
                add_rows(&group->strip[s], &block, &a->x, power, sum + (ptrdiff_t)s * STRIP_COLUMNS);
            }
        }
        for (int s = 0; s < group->strips; ++s) {
            put_columns(pass, group->strip[s].cols, sum + (ptrdiff_t)s * STRIP_COLUMNS,
                        row_to(&a->out, r) + group->strip[s].col);
        }
        float *total = row_to(&a->total, r) + strip->head;
        for (int h = 0; h < strip->heads && group->begins; ++h) {
            total[h] = (float)(sums[h] + (pass->walk.begins ? 0.0 : (double)total[h]));
        }
    }
}

static void dynamic_forward(const hal_dynamic_forward_args *a, int64_t cache_bytes, int64_t first, int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->x}};
    dynamic_pass(&run, &a->vector, false, cache_bytes, first, end, dynamic_forward_strip);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Of a block's edges, by head. factor: the score, then weight * kept; draw: dy . x, then the gradient of the score. */
typedef struct dynamic_weights {
    product_list factor, draw;
    edge_list highest, total, mean, kept;
} dynamic_weights;

static void dynamic_weigh(const attention_pass *pass, const edge_block *block, int64_t r, bool r_is_target,
                          dynamic_weights *w)
{
    const int64_t n = (int64_t)block->n * pass->strip.heads;
    dynamic_powers(n, w->highest, w->factor);
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
        w->factor[k] /= w->total[k];
    }
    if (pass->drops) {
        kept_heads(&pass->strip, &pass->how->dropout, block, r, r_is_target, w->kept);
#pragma omp simd
        for (int64_t k = 0; k < n; ++k) {
            w->draw[k] = w->factor[k] * (w->kept[k] * w->draw[k] - w->mean[k]);
            w->factor[k] *= w->kept[k];
        }
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
        w->draw[k] = w->factor[k] * (w->draw[k] - w->mean[k]);
    }
}

/* turned[cols] += q = draw * (other + fixed > 0 ? 1 : slope), and sum[cols] += q * other, or += factor * second where
 * there is one, over a block's edges. Sums have room for whole vectors. */
BY_FORM void add_met_of(const int vectors, const bool two, const dynamic_job *job, const edge_strip *strip,
                        const edge_block *block, const hal_mat *other, const float *fixed, const float *draw,
                        const hal_mat *second, const float *factor, float *turned, float *sum)
{
    vec a[STRIP_VECTORS], b[STRIP_VECTORS], own[STRIP_VECTORS];
    int64_t base[STRIP_VECTORS];
    for (int v = 0; v < vectors; ++v) {
        a[v] = b[v] = (vec){0};
        own[v] = vec_of(vectors, v, fixed + strip->col, strip->last);
        base[v] = pick_base(strip, v);
    }
    const float *from = (const float *)other->source + strip->col;
    const float *from_second = two ? (const float *)second->source + strip->col : NULL;
    for (int i = 0; i < block->n; ++i) {
        const float *row = from + block->end[i] * other->ld;
        const float *row_second = two ? from_second + block->end[i] * second->ld : NULL;
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            const vec value = vec_of(vectors, v, row, strip->last);
            const vec pull = vec_pick(draw + i * strip->heads + base[v], strip->pick[v]);
            const vec q = vec_if_positive(value + own[v], pull, pull * job->slope);
            a[v] += q;
            if (two) {
                b[v] += vec_pick(factor + i * strip->heads + base[v], strip->pick[v]) *
                        vec_of(vectors, v, row_second, strip->last);
            } else {
                b[v] += q * value;
            }
        }
    }
    for (int v = 0; v < vectors; ++v) {
        const ptrdiff_t at = (ptrdiff_t)v * LANES;
        vec_store(turned + at, vec_load(turned + at) + a[v]);
        vec_store(sum + at, vec_load(sum + at) + b[v]);
    }
}

static void dynamic_targets_strip(attention_pass *pass)
{
    const dynamic_job *job = pass->args;
    const hal_dynamic_backward_targets_args *a = job->args;
    const dynamic_group *group = &job->group;
    const edge_strip *strip = &pass->strip;
    dynamic_weights w;
    edge_block block;
    float turned[RANGE_COLUMNS], sum[RANGE_COLUMNS];
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        const int64_t repeated = repeats(pass, &span);
        const float *target = row_from(&a->target, r);
        clear_range(group, turned);
        clear_range(group, sum);
        repeat_heads(strip, repeated, &a->highest, r, w.highest);
        repeat_heads(strip, repeated, &a->total, r, w.total);
        repeat_heads(strip, repeated, &a->mean, r, w.mean);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            meet_scores(job, &block, &a->x, target, w.factor);
            meet_dots(job, &block, &a->x, row_from(&a->dy, r), w.draw);
            dynamic_weigh(pass, &block, r, true, &w);
            for (int s = 0; s < group->strips; ++s) {
                const ptrdiff_t at = (ptrdiff_t)s * STRIP_COLUMNS;
                BY_VECTORS(group->strip[s].vectors, add_met_of, false, job, &group->strip[s], &block, &a->x, target,
                           w.draw, NULL, NULL, turned + at, sum + at)
            }
        }
        for (int s = 0; s < group->strips; ++s) {
            const edge_strip *part = &group->strip[s];
            const ptrdiff_t at = (ptrdiff_t)s * STRIP_COLUMNS;
            const float *vector = job->vector + part->col - group->col;
#pragma omp simd
            for (int64_t j = 0; j < part->cols; ++j) {
                sum[at + j] += target[part->col + j] * turned[at + j];
                turned[at + j] *= vector[j];
            }
            put_columns(pass, part->cols, turned + at, row_to(&a->dtarget, r) + part->col);
            put_columns(pass, part->cols, sum + at, row_to(&a->dvector, r) + part->col);
        }
    }
}

static void dynamic_backward_targets(const hal_dynamic_backward_targets_args *a, int64_t cache_bytes, int64_t first,
                                     int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->x}};
    dynamic_pass(&run, &a->vector, false, cache_bytes, first, end, dynamic_targets_strip);
}

static void dynamic_sources_strip(attention_pass *pass)
{
    const dynamic_job *job = pass->args;
    const hal_dynamic_backward_sources_args *a = job->args;
    const dynamic_group *group = &job->group;
    const edge_strip *strip = &pass->strip;
    dynamic_weights w;
    edge_block block;
    float turned[RANGE_COLUMNS], sum[RANGE_COLUMNS];
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        const float *x = row_from(&a->x, r);
        clear_range(group, turned);
        clear_range(group, sum);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            gather_heads(strip, &block, &a->highest, w.highest);
            gather_heads(strip, &block, &a->total, w.total);
            gather_heads(strip, &block, &a->mean, w.mean);
            meet_scores(job, &block, &a->target, x, w.factor);
            meet_dots(job, &block, &a->dy, x, w.draw);
            dynamic_weigh(pass, &block, r, false, &w);
            for (int s = 0; s < group->strips; ++s) {
                const ptrdiff_t at = (ptrdiff_t)s * STRIP_COLUMNS;
                BY_VECTORS(group->strip[s].vectors, add_met_of, true, job, &group->strip[s], &block, &a->target, x,
                           w.draw, &a->dy, w.factor, turned + at, sum + at)
            }
        }
        for (int s = 0; s < group->strips; ++s) {
            const edge_strip *part = &group->strip[s];
            const ptrdiff_t at = (ptrdiff_t)s * STRIP_COLUMNS;
            const float *vector = job->vector + part->col - group->col;
#pragma omp simd
            for (int64_t j = 0; j < part->cols; ++j) {
                sum[at + j] += vector[j] * turned[at + j];
            }
            put_columns(pass, part->cols, sum + at, row_to(&a->dx, r) + part->col);
        }
    }
}

static void dynamic_backward_sources(const hal_dynamic_backward_sources_args *a, int64_t cache_bytes, int64_t first,
                                     int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->target, &a->dy}, .number = {&a->highest, &a->total, &a->mean}};
    dynamic_pass(&run, &a->vector, false, cache_bytes, first, end, dynamic_sources_strip);
}
