/*
 * hal/cpu/kernels_attention_body.h: attention over edges whose ends are scored alone, float32. Included once an
 * instruction set by kernels_*.c, behind kernels_edges_body.h (blocks, strips and lists) and kernels_exp.h. No include
 * guard.
 *
 * Gradients of scores need no product for each edge. With w the weight and s the slope of an edge, the sum over edges
 *
 *     of w s (kept (dy . x) - mean)      is      fixed . (sum of w s kept other) - sum of w s mean
 *
 * where `fixed` is the row, of dy or x, that all edges of a row share, and `other` is read from their other ends: a
 * second sum of rows, as dx is one, and a product for each row.
 */

static inline float leaky(float x, float slope)
{
    return x > 0.0F ? x : slope * x;
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

/* An operation on a strip of columns; rows first .. end - 1 are those of a chunk. */
typedef struct attention_pass {
    const hal_attention *how;
    const void *args; /* the operation's */
    int64_t first, end;
    edge_strip strip;
    edge_walk walk;
    bool drops;
} attention_pass;

/* What an operation walks: `other` are matrices of columns that edges' other ends are asked for, `number` matrices of
 * heads; those that are left out are NULL. */
typedef struct edge_run {
    const void *args;
    const hal_mat *offset, *column;
    const hal_attention *how;
    int64_t cols;
    const hal_mat *other[2], *number[4];
} edge_run;

#define EDGE_RUN(a) .args = (a), .offset = &(a)->offset, .column = &(a)->column, .how = &(a)->how, .cols = (a)->x.cols

/* cols: columns of the matrices `other` that are asked for, from `col` on. */
static void pass_begin(attention_pass *pass, const void *args, edge_strip strip, const edge_run *run, int64_t col,
                       int64_t cols)
{
    pass->args = args;
    pass->strip = strip;
    pass->how = run->how;
    pass->drops = run->how->dropout.probability > 0.0F;
    const int most = BLOCK_LIST / pass->strip.heads;
    edge_walk *walk = &pass->walk;
    walk->offset = run->offset->source;
    walk->column = run->column->source;
    walk->entries = run->column->rows;
    walk->rows = run->offset->rows - 1;
    walk->self = run->how->self;
    walk->most = most < BLOCK_EDGES ? most : BLOCK_EDGES;
    walk->fetches = 0;
    for (int i = 0; i < 2 && run->other[i] != NULL; ++i) {
        walk_fetches(walk, run->other[i], col, cols);
    }
    for (int i = 0; i < 4 && run->number[i] != NULL; ++i) {
        walk_fetches(walk, run->number[i], strip.head, strip.heads);
    }
}

/* Runs a strip of rows first .. end - 1 over the windows. */
static void pass_run(attention_pass *pass, int64_t cache_bytes, int64_t first, int64_t end,
                     void (*strip)(attention_pass *pass))
{
    walk_windows(&pass->walk, cache_bytes);
    for (; first < end; first += CHUNK_ROWS) {
        pass->first = first;
        pass->end = first + CHUNK_ROWS < end ? first + CHUNK_ROWS : end;
        walk_chunk(&pass->walk, first, pass->end - first);
        for (int64_t begin = 0; walk_window(&pass->walk, begin); begin += pass->walk.window) {
            strip(pass);
        }
    }
}

/* Runs `strip` for every strip of the columns. */
static void pass_columns(const edge_run *run, int64_t cache_bytes, int64_t first, int64_t end,
                         void (*strip)(attention_pass *pass))
{
    for (int64_t col = 0; col < run->cols; col += STRIP_COLUMNS) {
        attention_pass pass;
        const edge_strip columns = strip_at(col, run->cols, run->cols / run->how->heads);
        pass_begin(&pass, run->args, columns, run, columns.col, columns.cols);
        pass_run(&pass, cache_bytes, first, end, strip);
    }
}

/* Edges of a span's longest block: for so many what a row repeats is written. */
static inline int64_t repeats(const attention_pass *pass, const edge_span *span)
{
    return span->edges < pass->walk.most ? span->edges : pass->walk.most;
}

/* What a window adds to columns of a row, or sets in the first one. */
static inline void put_columns(const attention_pass *pass, int64_t cols, const float *sum, float *to)
{
    if (pass->walk.begins) {
        memcpy(to, sum, (size_t)cols * sizeof *sum);
        return;
    }
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) {
        to[j] += sum[j];
    }
}

static inline void clear_heads(const edge_strip *strip, double *sum)
{
    for (int h = 0; h < strip->heads; ++h) {
        sum[h] = 0.0;
    }
}

/* power[n] = exp(score) of n numbers of heads. */
static inline void edge_powers(int64_t n, float slope, const float *source, const float *target, const float *highest,
                               float *power)
{
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
        const float score = leaky(source[k] + target[k], slope) - leaky(highest[k] + target[k], slope);
        power[k] = exp_negative(score < 0.0F ? score : 0.0F * score); /* a NaN stays one */
    }
}

/* most[n] = the larger of itself and list[n]; a NaN of the list is passed over. */
static inline void larger(int n, const float *list, float *most)
{
#pragma omp simd
    for (int k = 0; k < n; ++k) {
        most[k] = list[k] > most[k] ? list[k] : most[k];
    }
}

/* most[heads] = the larger of itself and every edge's. */
static inline void larger_heads(int heads, int edges, const float *list, float *most)
{
    int i = 0;
    if (heads == 1 && edges >= LANES) {
        float top[LANES];
        for (int k = 0; k < LANES; ++k) {
            top[k] = most[0];
        }
        for (; i + LANES <= edges; i += LANES) {
            larger(LANES, list + i, top);
        }
        for (int k = 0; k < LANES; ++k) {
            larger(1, top + k, most);
        }
    }
    for (; i < edges; ++i) {
        larger(heads, list + i * heads, most);
    }
}

static void highest_strip(attention_pass *pass)
{
    const hal_attention_highest_args *a = pass->args;
    const int heads = pass->strip.heads;
    edge_list source;
    edge_block block;
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        float *highest = row_to(&a->highest, r) + pass->strip.head;
        for (int h = 0; h < heads && pass->walk.begins; ++h) {
            highest[h] = -FLT_MAX;
        }
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            gather_heads(&pass->strip, &block, &a->source, source);
            larger_heads(heads, block.n, source, highest);
        }
    }
}

static void attention_highest(const hal_attention_highest_args *a, int64_t cache_bytes, int64_t first, int64_t end)
{
    const edge_run run = {
        .args = a, .offset = &a->offset, .column = &a->column, .how = &a->how, .number = {&a->source}};
    for (int64_t h = 0; h < a->how.heads; h += STRIP_COLUMNS) {
        attention_pass pass;
        pass_begin(&pass, a, strip_at(h, a->how.heads, 1), &run, 0, 0);
        pass_run(&pass, cache_bytes, first, end, highest_strip);
    }
}

/* Powers of a block's edges to row r, as dropout leaves them. */
static inline void drop_powers(const attention_pass *pass, const edge_block *block, int64_t r, float *power)
{
    if (!pass->drops) {
        return;
    }
    edge_list kept;
    kept_heads(&pass->strip, &pass->how->dropout, block, r, true, kept);
#pragma omp simd
    for (int64_t k = 0; k < (int64_t)block->n * pass->strip.heads; ++k) {
        power[k] *= kept[k];
    }
}

static void forward_strip(attention_pass *pass)
{
    const hal_attention_forward_args *a = pass->args;
    const edge_strip *strip = &pass->strip;
    edge_list source, target, highest, power;
    edge_block block;
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        const int64_t repeated = repeats(pass, &span);
        float sum[STRIP_COLUMNS] = {0.0F};
        double sums[HAL_HEADS];
        clear_heads(strip, sums);
        repeat_heads(strip, repeated, &a->target, r, target);
        repeat_heads(strip, repeated, &a->highest, r, highest);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            const int64_t n = (int64_t)block.n * strip->heads;
            gather_heads(strip, &block, &a->source, source);
            edge_powers(n, (float)a->how.slope, source, target, highest, power);
            add_heads(strip, block.n, power, sums);
            drop_powers(pass, &block, r, power);
            add_rows(strip, &block, &a->x, power, sum);
        }
        put_columns(pass, strip->cols, sum, row_to(&a->out, r) + strip->col);
        float *total = row_to(&a->total, r) + strip->head;
        for (int h = strip->begins_head ? 0 : 1; h < strip->heads; ++h) {
            total[h] = (float)(sums[h] + (pass->walk.begins ? 0.0 : (double)total[h]));
        }
    }
}

static void attention_forward(const hal_attention_forward_args *a, int64_t cache_bytes, int64_t first, int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->x}, .number = {&a->source}};
    pass_columns(&run, cache_bytes, first, end, forward_strip);
}

/* Of a block's edges, by head: factor = w kept, turn = w kept s, lost = w s mean. */
typedef struct edge_weights {
    edge_list source, target, highest, total, mean, kept;
    edge_list factor, turn, lost;
} edge_weights;

static void weigh(const attention_pass *pass, const edge_block *block, int64_t r, bool r_is_target, edge_weights *w)
{
    const int64_t n = (int64_t)block->n * pass->strip.heads;
    const float slope = (float)pass->how->slope;
    edge_powers(n, slope, w->source, w->target, w->highest, w->factor);
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
        const float weight = w->factor[k] / w->total[k];
        const float turned = w->source[k] + w->target[k] > 0.0F ? weight : slope * weight;
        w->factor[k] = weight;
        w->turn[k] = turned;
        w->lost[k] = turned * w->mean[k];
    }
    if (pass->drops) {
        kept_heads(&pass->strip, &pass->how->dropout, block, r, r_is_target, w->kept);
#pragma omp simd
        for (int64_t k = 0; k < n; ++k) {
            w->factor[k] *= w->kept[k];
            w->turn[k] *= w->kept[k];
        }
    }
}

/* The gradient of what a row scores: fixed . turned - lost, += but for a head's first columns in the first window. */
static inline void add_draw(const attention_pass *pass, const float *fixed, const float *turned, const double *lost,
                            float *draw)
{
    const edge_strip *strip = &pass->strip;
    for (int h = 0; h < strip->heads; ++h) {
        const bool begins = h > 0 || strip->begins_head;
        const int64_t begin = begins ? (strip->head + h) * strip->d - strip->col : 0;
        const int64_t end = (strip->head + h + 1) * strip->d - strip->col;
        const float dot =
            dot_of((end < strip->cols ? end : strip->cols) - begin, fixed + strip->col + begin, turned + begin);
        const double before = begins && pass->walk.begins ? 0.0 : (double)draw[strip->head + h];
        draw[strip->head + h] = (float)(before + (double)dot - (begins ? lost[h] : 0.0));
    }
}

static void targets_strip(attention_pass *pass)
{
    const hal_attention_backward_targets_args *a = pass->args;
    const edge_strip *strip = &pass->strip;
    edge_weights w;
    edge_block block;
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        const int64_t repeated = repeats(pass, &span);
        float turned[STRIP_COLUMNS] = {0.0F};
        double lost[HAL_HEADS];
        clear_heads(strip, lost);
        repeat_heads(strip, repeated, &a->target, r, w.target);
        repeat_heads(strip, repeated, &a->highest, r, w.highest);
        repeat_heads(strip, repeated, &a->total, r, w.total);
        repeat_heads(strip, repeated, &a->mean, r, w.mean);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            gather_heads(strip, &block, &a->source, w.source);
            weigh(pass, &block, r, true, &w);
            add_heads(strip, block.n, w.lost, lost);
            add_rows(strip, &block, &a->x, w.turn, turned);
        }
        add_draw(pass, row_from(&a->dy, r), turned, lost, row_to(&a->dtarget, r));
    }
}

static void attention_backward_targets(const hal_attention_backward_targets_args *a, int64_t cache_bytes, int64_t first,
                                       int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->x}, .number = {&a->source}};
    pass_columns(&run, cache_bytes, first, end, targets_strip);
}

static void sources_strip(attention_pass *pass)
{
    const hal_attention_backward_sources_args *a = pass->args;
    const edge_strip *strip = &pass->strip;
    edge_weights w;
    edge_block block;
    for (int64_t r = pass->first; r < pass->end; ++r) {
        const edge_span span = walk_span(&pass->walk, r);
        const int64_t repeated = repeats(pass, &span);
        float sum[STRIP_COLUMNS] = {0.0F}, turned[STRIP_COLUMNS] = {0.0F};
        double lost[HAL_HEADS];
        clear_heads(strip, lost);
        repeat_heads(strip, repeated, &a->source, r, w.source);
        for (int64_t e = 0; e < span.edges; e += block.n) {
            walk_block(&pass->walk, &span, e, &block);
            gather_heads(strip, &block, &a->target, w.target);
            gather_heads(strip, &block, &a->highest, w.highest);
            gather_heads(strip, &block, &a->total, w.total);
            gather_heads(strip, &block, &a->mean, w.mean);
            weigh(pass, &block, r, false, &w);
            add_heads(strip, block.n, w.lost, lost);
            add_rows_twice(strip, &block, &a->dy, w.factor, w.turn, sum, turned);
        }
        put_columns(pass, strip->cols, sum, row_to(&a->dx, r) + strip->col);
        add_draw(pass, row_from(&a->x, r), turned, lost, row_to(&a->dsource, r));
    }
}

static void attention_backward_sources(const hal_attention_backward_sources_args *a, int64_t cache_bytes, int64_t first,
                                       int64_t end)
{
    const edge_run run = {EDGE_RUN(a), .other = {&a->dy}, .number = {&a->target, &a->highest, &a->total, &a->mean}};
    pass_columns(&run, cache_bytes, first, end, sources_strip);
}
