/*
 * hal/cpu/kernels_edges_body.h: edges in blocks, float32. Included once an instruction set by kernels_*.c, behind
 * kernels_gemm_body.h (vectors) and kernels_act_body.h (draws). No include guard.
 *
 * A row's edges are taken in blocks, for a strip of the columns and the heads that these belong to:
 *
 *   row r of a matrix of heads, for edge 0 1 2 ..    ->    a list, heads together      gather_heads, repeat_heads
 *   lists                                            ->    lists                       plain loops, vectors full of any
 *   lists of factors, rows of x                      ->    sums of the strip           add_rows, in registers
 *
 * so numbers of heads fill vectors whether there is one head or many. A vector of columns picks the factors of its
 * heads from a list by a permutation. A block's sums start at zero and are added to the row's, so that a long row is
 * rounded less often than it has edges. Rows of other ends lie at random addresses, which no hardware prefetcher
 * guesses: where edges suffice, rows take turns with a window of them that a cache holds; otherwise they are fetched a
 * block before they are read.
 */

enum {
    STRIP_VECTORS = 4, /* two sets of sums fit the registers of every instruction set */
    STRIP_COLUMNS = STRIP_VECTORS * LANES,
    BLOCK_EDGES = 64,  /* of a block, at most */
    BLOCK_LIST = 256,  /* numbers of a list */
    CHUNK_ROWS = 8192, /* that pass over the windows together */
    WINDOW_EDGES = 24, /* of a row and window, at least, on average */
    ROWS_SOON = 6,
    LINE_FLOATS = 16
};

/* A list, and what a vector at its end reads besides. */
typedef float edge_list[BLOCK_LIST + LANES];

/* Columns [col, col + cols) of a matrix of heads, d columns a head, and the heads [head, head + heads) that they belong
 * to. */
typedef struct edge_strip {
    int64_t col, cols, d;
    int head, heads;
    bool begins_head; /* with the first column of its first head; of others it has that anyway */
    int vectors;
    int64_t last; /* columns of the last vector */
    int32_t pick[STRIP_VECTORS][LANES];
} edge_strip;

static edge_strip strip_at(int64_t col, int64_t cols, int64_t d)
{
    edge_strip strip = {.col = col, .d = d};
    strip.cols = cols - col < STRIP_COLUMNS ? cols - col : STRIP_COLUMNS;
    strip.head = (int)(col / d);
    strip.begins_head = strip.head * d == col;
    strip.heads = (int)((col + strip.cols - 1) / d) - strip.head + 1;
    strip.vectors = (int)((strip.cols + LANES - 1) / LANES);
    strip.last = strip.cols - (int64_t)(strip.vectors - 1) * LANES;
    for (int v = 0; v < strip.vectors; ++v) {
        /* A vector picks from the LANES numbers that begin at its first head's. */
        const int64_t begin = (col + (int64_t)v * LANES) / d;
        for (int k = 0; k < LANES; ++k) {
            strip.pick[v][k] = (int32_t)((col + (int64_t)v * LANES + k) / d - begin);
        }
    }
    return strip;
}

/* Where the factors begin, of an edge's, that vector v of a strip picks from. */
static inline int64_t pick_base(const edge_strip *strip, int v)
{
    return (strip->col + (int64_t)v * LANES) / strip->d - strip->head;
}

/* ---- the edges of rows ------------------------------------------------------------------------------------------- */

/* Rows of a matrix that edges' other ends are asked for. */
typedef struct edge_fetch {
    const float *from;
    int64_t ld, lines;
} edge_fetch;

/*
 * A walk over the edges of rows first .. first + CHUNK_ROWS - 1, window by window: of each row the edges left whose
 * other ends lie below `stop`, so that rows of other ends stay in a cache while many rows ask for them. Columns of a
 * row ascend as a rule; where they do not, the last window has what is left. Row r < self has an edge to itself, its
 * very last.
 */
typedef struct edge_walk {
    const int64_t *offset;
    const int32_t *column;
    int64_t entries, rows, self;
    int most; /* edges of a block */
    edge_fetch fetch[5];
    int fetches;
    int64_t window; /* rows of other ends */
    bool begins, ends;
    int64_t first, end, stop;  /* rows of the chunk; where the window ends */
    uint32_t done[CHUNK_ROWS]; /* edges of earlier windows */
} edge_walk;

/* Edges of a row in a window. */
typedef struct edge_span {
    int64_t row, at, listed, edges;
} edge_span;

/* Some of them: other ends in order. */
typedef struct edge_block {
    int n;
    int32_t end[BLOCK_EDGES];
} edge_block;

/* Asks for `cols` columns of a matrix, from `col`, of the rows that edges lead to. */
static void walk_fetches(edge_walk *walk, const hal_mat *mat, int64_t col, int64_t cols)
{
    walk->fetch[walk->fetches++] = (edge_fetch){
        .from = (const float *)mat->source + col, .ld = mat->ld, .lines = (cols + LINE_FLOATS - 1) / LINE_FLOATS};
}

/* Rows of other ends in a window: as many as the cache holds, or more where too few edges of a row would meet them. */
static void walk_windows(edge_walk *walk, int64_t cache_bytes)
{
    int64_t lines = 0;
    for (int f = 0; f < walk->fetches; ++f) {
        lines += walk->fetch[f].lines;
    }
    const int64_t fit = cache_bytes / (lines * LINE_FLOATS * (int64_t)sizeof(float));
    const int64_t fitting = fit > 0 ? (walk->rows + fit - 1) / fit : walk->rows;
    const int64_t most = walk->entries / WINDOW_EDGES / (walk->rows > 0 ? walk->rows : 1);
    const int64_t windows = fitting < most ? fitting : most;
    walk->window = windows > 1 ? (walk->rows + windows - 1) / windows : INT32_MAX;
}

static void walk_chunk(edge_walk *walk, int64_t first, int64_t rows)
{
    walk->first = first;
    walk->end = first + rows;
    memset(walk->done, 0, (size_t)rows * sizeof *walk->done);
}

/* Turns to the window that begins with column `begin`; false when there is none. */
static bool walk_window(edge_walk *walk, int64_t begin)
{
    walk->begins = begin == 0;
    walk->stop = begin + walk->window;
    walk->ends = walk->stop >= walk->rows;
    return begin == 0 || begin < walk->rows;
}

/* Asks for what edges `at` .. `end` - 1 lead to, but for windows, whose rows are in a cache by then. */
static inline void walk_prefetch(const edge_walk *walk, int64_t at, int64_t end)
{
    if (!walk->begins || !walk->ends) {
        return;
    }
    for (; at < end; ++at) {
        for (int f = 0; f < walk->fetches; ++f) {
            const edge_fetch *fetch = &walk->fetch[f];
            const float *from = fetch->from + (int64_t)walk->column[at] * fetch->ld;
            for (int64_t line = 0; line < fetch->lines; ++line) {
                __builtin_prefetch(from + line * LINE_FLOATS, 0, 3);
            }
        }
    }
}

/* The edges of a row; afterwards later rows' columns are on their way, and what the next row's first edges lead to. */
static inline edge_span walk_span(edge_walk *walk, int64_t row)
{
    const int64_t *offset = walk->offset + row;
    uint32_t *done = &walk->done[row - walk->first];
    edge_span span = {.row = row, .at = offset[0] + done[0]};
    if (walk->ends) {
        span.listed = offset[1] - span.at;
        span.edges = span.listed + (row < walk->self ? 1 : 0);
    } else {
        int64_t stop = span.at;
        while (stop < offset[1] && walk->column[stop] < walk->stop) {
            ++stop;
        }
        span.edges = span.listed = stop - span.at;
        done[0] += (uint32_t)span.listed;
    }
    if (row + ROWS_SOON < walk->end) {
        const int32_t *soon = walk->column + offset[ROWS_SOON] + done[ROWS_SOON];
        __builtin_prefetch(soon, 0, 3);
        __builtin_prefetch(soon + LINE_FLOATS, 0, 3);
        const int64_t next = offset[1] + done[1];
        walk_prefetch(walk, next, next + walk->most < offset[2] ? next + walk->most : offset[2]);
    }
    return span;
}

/* The block that begins with edge e of a span; afterwards what the next one leads to is on its way. */
static inline void walk_block(const edge_walk *walk, const edge_span *span, int64_t e, edge_block *block)
{
    const int64_t left = span->edges - e;
    block->n = (int)(left < walk->most ? left : walk->most);
    const int64_t copied = span->listed - e < block->n ? span->listed - e : block->n;
    const int64_t at = span->at + e;
    for (int64_t i = 0; i < copied; ++i) {
        block->end[i] = walk->column[at + i];
    }
    if (copied < block->n) {
        block->end[copied] = (int32_t)span->row;
    }
    const int64_t next = at + block->n, end = span->at + span->listed;
    walk_prefetch(walk, next, next + walk->most < end ? next + walk->most : end);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static const float *row_from(const hal_mat *mat, int64_t row)
{
    return (const float *)mat->source + row * mat->ld;
}

static float *row_to(const hal_mat *mat, int64_t row)
{
    return (float *)mat->data + row * mat->ld;
}

/* list[i, heads] = from[end[i], heads], or row 0 of `from` for every i where `end` is NULL; one move an edge where
 * `heads` is a constant. */
BY_FORM void list_heads_of(const int heads, int64_t n, const float *from, const int32_t *end, int64_t ld, float *list)
{
    for (int64_t i = 0; i < n; ++i) {
        memcpy(list + i * heads, from + (end != NULL ? end[i] * ld : 0), (size_t)heads * sizeof *list);
    }
}

BY_FORM void list_heads(const int heads, int64_t n, const float *from, const int32_t *end, int64_t ld, float *list)
{
    switch (heads) {
    case 1:
        list_heads_of(1, n, from, end, ld, list);
        break;
    case 2:
        list_heads_of(2, n, from, end, ld, list);
        break;
    case 4:
        list_heads_of(4, n, from, end, ld, list);
        break;
    case 8:
        list_heads_of(8, n, from, end, ld, list);
        break;
    default:
        list_heads_of(heads, n, from, end, ld, list);
        break;
    }
}

/* The numbers of the strip's heads at the other ends of a block's edges. */
static inline void gather_heads(const edge_strip *strip, const edge_block *block, const hal_mat *mat, float *list)
{
    list_heads(strip->heads, block->n, row_from(mat, 0) + strip->head, block->end, mat->ld, list);
}

/* The numbers of row r, the same for `edges` edges. */
static inline void repeat_heads(const edge_strip *strip, int64_t edges, const hal_mat *mat, int64_t r, float *list)
{
    list_heads(strip->heads, edges, row_from(mat, r) + strip->head, NULL, 0, list);
}

/* sum[h] += a head's numbers of a list. */
static inline void add_heads(const edge_strip *strip, int edges, const float *list, double *sum)
{
    if (strip->heads == 1) {
        float all = 0.0F;
#pragma omp simd reduction(+ : all)
        for (int i = 0; i < edges; ++i) {
            all += list[i];
        }
        sum[0] += (double)all;
        return;
    }
    for (int h = 0; h < strip->heads; h += LANES) {
        vec all = {0};
        for (int i = 0; i < edges; ++i) {
            all += vec_load(list + i * strip->heads + h);
        }
        const int lanes = strip->heads - h < LANES ? strip->heads - h : LANES;
        for (int k = 0; k < lanes; ++k) {
            sum[h + k] += (double)all[k];
        }
    }
}

/* kept[i, heads] = 0, or what the weight of edge i is multiplied by. Row r is its target, or its source. */
static void kept_heads(const edge_strip *strip, const hal_dropout *dropout, const edge_block *block, int64_t r,
                       bool r_is_target, float *kept)
{
    const int64_t *id = dropout->row_id.source;
    const uint32_t threshold = philox_dropout_threshold(dropout->probability);
    const float scale = (float)(1.0 / (1.0 - (double)dropout->probability));
    const int stop = strip->head + strip->heads;
    for (int i = 0; i < block->n; i += DRAW_LANES) {
        uint64_t source[DRAW_LANES], target[DRAW_LANES], high[DRAW_LANES];
        for (int k = 0; k < DRAW_LANES; ++k) {
            const uint64_t other = (uint64_t)id[block->end[i + k < block->n ? i + k : i]];
            source[k] = r_is_target ? other : (uint64_t)id[r];
            target[k] = r_is_target ? (uint64_t)id[r] : other;
            high[k] = dropout->purpose << 16 | ((source[k] >> 32) & 0xffu) << 8 | ((target[k] >> 32) & 0xffu);
        }
        const int edges = block->n - i < DRAW_LANES ? block->n - i : DRAW_LANES;
        for (int group = strip->head / 8; group * 8 < stop; ++group) {
            uint16_t lane[8 * DRAW_LANES];
            draw_blocks(draw_load(source), draw_load(target), draw_load(high),
                        draw_set(dropout->epoch ^ (uint32_t)group << 28), dropout->seed, lane);
            const int first = group * 8 > strip->head ? group * 8 : strip->head;
            const int end = group * 8 + 8 < stop ? group * 8 + 8 : stop;
            for (int k = 0; k < edges; ++k) {
                float *to = kept + (i + k) * strip->heads - strip->head;
                for (int h = first; h < end; ++h) {
                    to[h] = lane[8 * k + h - group * 8] >= threshold ? scale : 0.0F;
                }
            }
        }
    }
}

/* ---- sums over columns ------------------------------------------------------------------------------------------- */

/* sum[cols] += factor[i, head] * the strip of row end[i] of x, over a block's edges; with `other`, other_sum likewise.
 * Sums have room for whole vectors. */
BY_FORM void add_rows_of(const int vectors, const bool two, const edge_strip *strip, const edge_block *block,
                         const hal_mat *x, const float *factor, const float *other, float *sum, float *other_sum)
{
    vec a[STRIP_VECTORS], b[STRIP_VECTORS];
    int64_t base[STRIP_VECTORS];
    for (int v = 0; v < vectors; ++v) {
        a[v] = b[v] = (vec){0};
        base[v] = pick_base(strip, v);
    }
    const float *from = (const float *)x->source + strip->col;
    for (int i = 0; i < block->n; ++i) {
        const float *row = from + block->end[i] * x->ld;
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            vec value;
            if (v + 1 < vectors) {
                value = vec_load(row + (ptrdiff_t)v * LANES);
            } else {
                value = vec_load_first(row + (ptrdiff_t)v * LANES, strip->last);
            }
            a[v] += vec_pick(factor + i * strip->heads + base[v], strip->pick[v]) * value;
            if (two) {
                b[v] += vec_pick(other + i * strip->heads + base[v], strip->pick[v]) * value;
            }
        }
    }
    for (int v = 0; v < vectors; ++v) {
        vec_store(sum + (ptrdiff_t)v * LANES, vec_load(sum + (ptrdiff_t)v * LANES) + a[v]);
        if (two) {
            vec_store(other_sum + (ptrdiff_t)v * LANES, vec_load(other_sum + (ptrdiff_t)v * LANES) + b[v]);
        }
    }
}

/* Calls f(vectors, ...) with the number of vectors, 1 to STRIP_VECTORS, as a constant. */
#define BY_VECTORS(vectors, f, ...)                                                                                    \
    switch (vectors) {                                                                                                 \
    case 1:                                                                                                            \
        f(1, __VA_ARGS__);                                                                                             \
        break;                                                                                                         \
    case 2:                                                                                                            \
        f(2, __VA_ARGS__);                                                                                             \
        break;                                                                                                         \
    case 3:                                                                                                            \
        f(3, __VA_ARGS__);                                                                                             \
        break;                                                                                                         \
    default:                                                                                                           \
        f(STRIP_VECTORS, __VA_ARGS__);                                                                                 \
        break;                                                                                                         \
    }

static void add_rows(const edge_strip *strip, const edge_block *block, const hal_mat *x, const float *factor,
                     float *sum)
{
    BY_VECTORS(strip->vectors, add_rows_of, false, strip, block, x, factor, NULL, sum, NULL)
}

static void add_rows_twice(const edge_strip *strip, const edge_block *block, const hal_mat *x, const float *factor,
                           const float *other, float *sum, float *other_sum)
{
    BY_VECTORS(strip->vectors, add_rows_of, true, strip, block, x, factor, other, sum, other_sum)
}
