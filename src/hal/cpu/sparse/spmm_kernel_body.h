/*
 * hal/cpu/sparse/spmm_kernel_body.h: the aggregation kernels, included once for each instruction set.
 *
 * The including file defines
 *   VEC, LANES            a vector of floats and its length
 *   MAX_VECTORS           widest strip of the row kernel (accumulators that fit the registers)
 *   TAIL, tail_of(n)      what selects the first n lanes, 0 <= n <= LANES
 *   vec_load, vec_load_tail, vec_store, vec_store_tail, vec_stream, vec_set1
 *   halves, words, words_of_halves, halves_of_words    vectors of LANES integers of 16 and 32 bits; one from the other
 *   halves_load_tail, halves_store_tail    the first lanes of a vector of bfloat16; loaded ones have zeros behind them
 *   SPMM_TABLE            name of the table of kernels
 *
 * Sources of bfloat16 (`narrow`) are widened into the same float32 registers, so sums are rounded once, when they are
 * stored.
 *
 * All loops over vectors have constant trip counts and disappear: accumulators live in registers. A single chain of
 * additions would be bound by its latency (4 cycles an edge), so each kernel keeps several in flight: several vectors,
 * several rows of equal length, or even and odd edges.
 */
#include <stdint.h>

#include "base/half.h"
#include "base/philox.h"

#define KERNEL static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { LANES_PER_LINE_STEP = LANES < 16 ? 16 / LANES : 1, NARROW_LINE_STEP = 32 / LANES, COLUMNS_OF_LINE = 32 };

typedef uint32_t words_unaligned __attribute__((vector_size(4 * LANES), aligned(2), may_alias));

KERNEL VEC vec_zero(void)
{
    return vec_set1(0.0F);
}

/* ---- bfloat16 ------------------------------------------------------------------------------------------------- */

KERNEL VEC vec_widen(halves value)
{
    return (VEC)(words_of_halves(value) << 16);
}

KERNEL halves halves_load(const uint16_t *p)
{
    return *(const halves_unaligned *)p;
}

/* acc += `vectors` vectors of a packed row of bfloat16; see spmm_paired. */
KERNEL void add_halves(VEC *acc, const uint16_t *source, const int vectors)
{
    if (!spmm_paired(vectors * LANES, LANES)) {
        acc[0] += vec_widen(halves_load(source));
        return;
    }
    UNROLL
    for (int v = 0; v < vectors / 2; v++) {
        const words pair = *(const words_unaligned *)(source + 2 * v * LANES);
        acc[v] += (VEC)(pair << 16);
        acc[vectors / 2 + v] += (VEC)(pair & 0xffff0000U);
    }
}

/* The bits of bf16_from_float. */
KERNEL halves vec_narrow(VEC value)
{
    const words all = (words)value;
    const words rounded = (all + 0x7fffU + ((all >> 16) & 1U)) >> 16;
    const words quiet = (all >> 16) | 0x40U;
    const words is_nan = (words)((all & 0x7fffffffU) > 0x7f800000U); /* all ones or zeros a lane */
    return halves_of_words((quiet & is_nan) | (rounded & ~is_nan));
}

/* Some cells of a row of float32 or bfloat16 from column `at` on. */
KERNEL VEC cells_load(const void *matrix, bool narrow, int64_t at, TAIL tail)
{
    return narrow ? vec_widen(halves_load_tail((const uint16_t *)matrix + at, tail))
                  : vec_load_tail((const float *)matrix + at, tail);
}

/* put_row where self or out is bfloat16: out of line, as it is met once a row and would be inlined into every
 * kernel. */
static __attribute__((noinline)) void put_row_narrow(const spmm_pass *pass, int64_t row, const VEC *acc)
{
    const VEC scale = vec_set1(pass->post != NULL ? pass->post[row] : 1.0F);
    for (int j = 0; j < pass->width; j += LANES, acc++) {
        const TAIL tail = tail_of(pass->width - j < LANES ? pass->width - j : LANES);
        VEC y = *acc * scale;
        if (pass->beta != 0.0F) {
            y += cells_load(pass->out, pass->narrow_out, row * pass->ldo + j, tail) * vec_set1(pass->beta);
        }
        if (pass->diag != NULL) {
            y += cells_load(pass->self, pass->narrow_self, row * pass->ldself + j, tail) * vec_set1(pass->diag[row]);
        }
        if (pass->narrow_out) {
            halves_store_tail((uint16_t *)pass->out + row * pass->ldo + j, tail, vec_narrow(y));
        } else {
            vec_store_tail((float *)pass->out + row * pass->ldo + j, tail, y);
        }
    }
}

/* ---- the end of a row ------------------------------------------------------------------------------------------ */

/* out = post * acc + beta * out + diag * self for one row; `exact`: every lane exists. */
KERNEL void put_row(const spmm_pass *pass, int64_t row, const VEC *acc, const int vectors, const bool exact,
                    const TAIL *tail)
{
    if (exact && pass->narrow_out && pass->beta == 0.0F && pass->diag == NULL) { /* most rows: without a call */
        const VEC whole = vec_set1(pass->post != NULL ? pass->post[row] : 1.0F);
        UNROLL
        for (int v = 0; v < vectors; v++) {
            halves_unaligned *to = (halves_unaligned *)((uint16_t *)pass->out + row * pass->ldo + v * LANES);
            *to = vec_narrow(acc[v] * whole);
        }
        return;
    }
    if (pass->narrow_out || pass->narrow_self) {
        VEC sum[16]; /* a copy: accumulators whose address leaves the function would live in memory all along */
        UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[v] = acc[v];
        }
        put_row_narrow(pass, row, sum);
        return;
    }
    float *out = (float *)pass->out + row * pass->ldo;
    const float *self = pass->diag != NULL ? (const float *)pass->self + row * pass->ldself : NULL;
    VEC scale = vec_set1(pass->post != NULL ? pass->post[row] : 1.0F);
    UNROLL
    for (int v = 0; v < vectors; v++) {
        VEC y = acc[v] * scale;
        if (pass->beta != 0.0F) {
            VEC old = exact ? vec_load(out + v * LANES) : vec_load_tail(out + v * LANES, tail[v]);
            y += old * vec_set1(pass->beta);
        }
        if (self != NULL) {
            VEC own = exact ? vec_load(self + v * LANES) : vec_load_tail(self + v * LANES, tail[v]);
            y += own * vec_set1(pass->diag[row]);
        }
        if (exact) {
            vec_store(out + v * LANES, y);
        } else {
            vec_store_tail(out + v * LANES, tail[v], y);
        }
    }
}

KERNEL void set_tails(TAIL *tail, const int vectors, int width)
{
    for (int v = 0; v < vectors; v++) {
        int lanes = width - v * LANES;
        tail[v] = tail_of(lanes < 0 ? 0 : lanes > LANES ? LANES : lanes);
    }
}

/* ---- ROWS: straight from x, near sources first while far ones are on their way ------------------------------- */

/* What the row kernels are made for: one of each. */
typedef struct row_kind {
    bool scaled; /* by `pre` */
    bool narrow;
} row_kind;

KERNEL VEC row_load(const spmm_pass *pass, int64_t at, const bool narrow, const bool exact, TAIL tail)
{
    if (narrow) {
        const uint16_t *x = (const uint16_t *)pass->x + at;
        return vec_widen(exact ? halves_load(x) : halves_load_tail(x, tail));
    }
    const float *x = (const float *)pass->x + at;
    return exact ? vec_load(x) : vec_load_tail(x, tail);
}

KERNEL void row_add(VEC *acc, const spmm_pass *pass, int32_t column, const int vectors, const row_kind kind, TAIL tail)
{
    const bool scaled = kind.scaled;
    const int64_t x = (int64_t)column * pass->ldx;
    VEC scale = scaled ? vec_set1(pass->pre[column]) : vec_zero();
    UNROLL
    for (int v = 0; v < vectors; v++) {
        VEC value = row_load(pass, x + v * LANES, kind.narrow, v < vectors - 1, tail);
        acc[v] += scaled ? (VEC)(value * scale) : value;
    }
}

/* Into the second-level cache: requests for it may outnumber the line buffers of the first. */
KERNEL void row_prefetch(const spmm_pass *pass, int32_t column, const int vectors, const row_kind kind)
{
    const size_t cell = kind.narrow ? sizeof(uint16_t) : sizeof(float);
    const char *x = (const char *)pass->x + (size_t)column * (size_t)pass->ldx * cell;
    UNROLL
    for (int v = 0; v < vectors; v += kind.narrow ? NARROW_LINE_STEP : LANES_PER_LINE_STEP) {
        __builtin_prefetch(x + (size_t)(v * LANES) * cell, 0, 2);
    }
    if (kind.scaled) {
        __builtin_prefetch(pass->pre + column, 0, 2);
    }
}

KERNEL void rows_strip(const spmm_rows *m, int64_t begin, int64_t end, const spmm_pass *pass, const int vectors,
                       const row_kind kind)
{
    const int32_t *near = m->near;
    const int32_t *far = m->far;
    TAIL tails[MAX_VECTORS];
    set_tails(tails, vectors, pass->width);
    const TAIL last = tails[vectors - 1];
    const bool adds = pass->beta == 1.0F && pass->diag == NULL; /* a row without edges stays as it is */
    int64_t ahead = m->start[begin].far;
    const int64_t far_end = m->start[end].far;
    for (int64_t row = begin; row < end; row++) {
        int64_t k = m->start[row].near;
        const int64_t k_end = m->start[row + 1].near;
        if (adds && k == k_end && m->start[row].far == m->start[row + 1].far) {
            continue;
        }
        VEC acc[MAX_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            acc[v] = vec_zero();
        }
        int64_t wanted = m->start[row + 1].far + SPMM_PREFETCH_EDGES;
        wanted = wanted < far_end ? wanted : far_end;
        /* Requests for far sources are spread over the work on near ones, so that both ports stay busy. */
        int64_t both = wanted - ahead < k_end - k ? wanted - ahead : k_end - k;
        for (const int64_t k_both = k + both; k < k_both; k++, ahead++) {
            row_prefetch(pass, far[ahead], vectors, kind);
            row_add(acc, pass, near[k], vectors, kind, last);
        }
        for (; k < k_end; k++) {
            row_add(acc, pass, near[k], vectors, kind, last);
        }
        for (; ahead < wanted; ahead++) {
            row_prefetch(pass, far[ahead], vectors, kind);
        }
        for (int64_t f = m->start[row].far; f < m->start[row + 1].far; f++) {
            row_add(acc, pass, far[f], vectors, kind, last);
        }
        if (pass->stream) {
            VEC scale = vec_set1(pass->post != NULL ? pass->post[row] : 1.0F);
            VEC diag = vec_set1(pass->diag != NULL ? pass->diag[row] : 0.0F);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                VEC y = acc[v] * scale;
                if (pass->diag != NULL) {
                    y += vec_load((const float *)pass->self + row * pass->ldself + v * LANES) * diag;
                }
                vec_stream((float *)pass->out + row * pass->ldo + v * LANES, y);
            }
        } else {
            put_row(pass, row, acc, vectors, false, tails);
        }
    }
    if (pass->stream) {
        __builtin_ia32_sfence(); /* streamed lines are visible before the barrier that follows */
    }
}

/* X(vectors) for each number of vectors of a strip. */
#define ROW_FORMS_OF_EIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#if MAX_VECTORS == 16
#define ROW_FORMS(X) ROW_FORMS_OF_EIGHT(X) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#else
#define ROW_FORMS(X) ROW_FORMS_OF_EIGHT(X)
#endif

#define ROWS_OF(vectors)                                                                                               \
    static void rows_##vectors(const spmm_rows *m, int64_t begin, int64_t end, const spmm_pass *pass)                  \
    {                                                                                                                  \
        if (pass->narrow) {                                                                                            \
            if (pass->pre != NULL) {                                                                                   \
                rows_strip(m, begin, end, pass, vectors, (row_kind){.scaled = true, .narrow = true});                  \
            } else {                                                                                                   \
                rows_strip(m, begin, end, pass, vectors, (row_kind){.narrow = true});                                  \
            }                                                                                                          \
        } else if (pass->pre != NULL) {                                                                                \
            rows_strip(m, begin, end, pass, vectors, (row_kind){.scaled = true});                                      \
        } else {                                                                                                       \
            rows_strip(m, begin, end, pass, vectors, (row_kind){.scaled = false});                                     \
        }                                                                                                              \
    }
ROW_FORMS(ROWS_OF)
#undef ROWS_OF

static void kernel_rows(const spmm_rows *m, int64_t begin, int64_t end, const spmm_pass *pass)
{
#define ROWS_NAME(vectors) rows_##vectors,
    static void (*const of[MAX_VECTORS + 1])(const spmm_rows *, int64_t, int64_t,
                                             const spmm_pass *) = {NULL, ROW_FORMS(ROWS_NAME)};
    of[(pass->width + LANES - 1) / LANES](m, begin, end, pass);
}

/* ---- BLOCKS and LISTS: packed strips, 16-bit columns ---------------------------------------------------------- */

/* The packed row of a source. */
KERNEL const void *packed_row(const void *x, uint16_t column, const int vectors, const bool narrow)
{
    return (const char *)x + (size_t)column * (size_t)(vectors * LANES) * (narrow ? sizeof(uint16_t) : sizeof(float));
}

/* acc += a packed row */
KERNEL void add_packed(VEC *acc, const void *row, const int vectors, const bool narrow)
{
    if (narrow) {
        add_halves(acc, row, vectors);
        return;
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        acc[v] += vec_load((const float *)row + v * LANES);
    }
}

/* acc[i] = sum over the `edges` columns of row i, i < rows; the columns of row i + 1 follow those of row i. */
KERNEL void sum_rows(VEC *acc, const void *x, const uint16_t *column, uint32_t edges, const int rows, const int vectors,
                     const bool narrow)
{
    UNROLL
    for (int i = 0; i < rows * vectors; i++) {
        acc[i] = vec_zero();
    }
    for (uint32_t k = 0; k < edges; k++) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            add_packed(acc + i * vectors, packed_row(x, column[(size_t)i * edges + k], vectors, narrow), vectors,
                       narrow);
        }
    }
}

/* What is added where a row of an odd number of edges has no further one. */
static const float no_source[SPMM_STRIP] __attribute__((aligned(64))) = {0.0F};

/* `row`, or zeros; by arithmetic: a branch here would be mispredicted in every second row. */
KERNEL const void *row_if(bool exists, const void *row)
{
    const uintptr_t none = (uintptr_t)no_source;
    const uintptr_t chosen = none + (((uintptr_t)row - none) & (0 - (uintptr_t)exists));
    return (const void *)chosen; /* NOLINT(performance-no-int-to-ptr) */
}

/* The same for one row: even and odd edges are two chains where the registers are many. column[edges] is read. */
KERNEL void sum_row(VEC *acc, const void *x, const uint16_t *column, uint32_t edges, const int vectors,
                    const bool narrow)
{
    if (vectors > 4) {
        sum_rows(acc, x, column, edges, 1, vectors, narrow);
        return;
    }
    VEC odd[4];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        acc[v] = odd[v] = vec_zero();
    }
    uint32_t k = 0;
    for (; k + 2 <= edges; k += 2) {
        add_packed(acc, packed_row(x, column[k], vectors, narrow), vectors, narrow);
        add_packed(odd, packed_row(x, column[k + 1], vectors, narrow), vectors, narrow);
    }
    add_packed(acc, row_if(k < edges, packed_row(x, column[k], vectors, narrow)), vectors, narrow);
    UNROLL
    for (int v = 0; v < vectors; v++) {
        acc[v] += odd[v];
    }
}

/* Where a sweep leaves the sums of a row: in the packed partial sums, after the last block in out. */
typedef enum sweep_end { KEEP_SUMS, WRITE_EXACT, WRITE_TAIL } sweep_end;

KERNEL void end_row(const spmm_pass *pass, int64_t row, VEC *acc, const int vectors, const sweep_end end,
                    const TAIL *tail)
{
    float *sum = pass->sum + row * (vectors * LANES);
    if (!pass->first) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            acc[v] += vec_load(sum + v * LANES);
        }
    }
    if (end != KEEP_SUMS) {
        put_row(pass, pass->order != NULL ? pass->order[row] : row, acc, vectors, end == WRITE_EXACT, tail);
        return;
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vec_store(sum + v * LANES, acc[v]);
    }
}

/* Those of a row that comes later, which may not exist: it is only a hint. */
KERNEL void prefetch_sums(const spmm_pass *pass, int64_t row, const int vectors, const bool listed)
{
    const uintptr_t sum = (uintptr_t)pass->sum + (uintptr_t)row * (uintptr_t)(vectors * LANES) * sizeof(float);
    UNROLL
    for (int v = 0; v < vectors; v += LANES_PER_LINE_STEP) {
        const uintptr_t at = sum + sizeof(float) * (uintptr_t)(v * LANES);
        if (listed) { /* requests for rows in no order would outnumber the first cache's line buffers */
            __builtin_prefetch((const void *)at, 0, 2);
        } else {
            __builtin_prefetch((const void *)at, 0, 3);
        }
    }
}

/* Columns stream from memory, too slowly for a prefetcher that begins anew with every page: one line further on. */
KERNEL void prefetch_columns(const uint16_t *column)
{
    __builtin_prefetch((const void *)((uintptr_t)column + SPMM_PREFETCH_COLUMNS * sizeof *column), 0, 3);
}

/* The end of a row whose edges are left out. */
KERNEL void leave_row(const spmm_pass *pass, int64_t row, const int vectors, const sweep_end sweep, const TAIL *tails)
{
    VEC none[8];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        none[v] = vec_zero();
    }
    put_row(pass, row, none, vectors, sweep == WRITE_EXACT, tails);
}

KERNEL void blocks_strip(const uint32_t *start, const uint16_t *column, int64_t begin, int64_t end,
                         const spmm_pass *pass, const int vectors, const bool narrow, const sweep_end sweep)
{
    const bool all = pass->first || sweep != KEEP_SUMS;
    TAIL tails[8];
    set_tails(tails, vectors, pass->width);
    for (int64_t row = begin; row < end; row++) {
        uint32_t edges = start[row - begin + 1] - start[row - begin];
        if (edges == 0 && !all) {
            continue;
        }
        VEC acc[8];
        prefetch_columns(column + start[row - begin]);
        prefetch_sums(pass, row + SPMM_PREFETCH_ROWS, vectors, false);
        sum_row(acc, pass->x, column + start[row - begin], edges, vectors, narrow);
        end_row(pass, row, acc, vectors, sweep, tails);
    }
    for (int64_t row = end; sweep != KEEP_SUMS && row < pass->left_end; row++) {
        leave_row(pass, pass->order[row], vectors, sweep, tails);
    }
}

KERNEL void lists_strip(const spmm_blocks *m, const spmm_chunk *chunk, int64_t begin, const spmm_pass *pass,
                        const int vectors, const bool narrow, const sweep_end sweep)
{
    const int together = vectors == 1 ? 4 : vectors <= 4 ? 2 : 1;
    const uint16_t *column = m->column + chunk[0].edge;
    const uint16_t *row_id = m->row_id + chunk[0].row;
    const size_t row_bytes = (size_t)(vectors * LANES) * (narrow ? sizeof(uint16_t) : sizeof(float));
    const size_t step = (size_t)m->column_step * row_bytes;
    const char *x = pass->x;
    int64_t window = begin;
    TAIL tails[8];
    set_tails(tails, vectors, pass->width);
    for (int64_t r = chunk[0].run; r < chunk[1].run; r++) {
        const uint32_t edges = m->run[r].edges;
        uint32_t rows = spmm_run_rows(m->run[r]);
        window += m->run[r].advance * m->row_step;
        x += m->run[r].advance * step;
        if (pass->marked_rows && spmm_run_unmarked(m->run[r])) {
            for (uint32_t i = 0; sweep != KEEP_SUMS && i < rows; i++) {
                leave_row(pass, window + row_id[i], vectors, sweep, tails);
            }
            column += (size_t)edges * rows;
            row_id += rows;
            continue;
        }
        for (; rows >= (uint32_t)together; rows -= (uint32_t)together) {
            VEC acc[8];
            UNROLL
            for (int i = 0; i < together; i++) {
                prefetch_sums(pass, window + row_id[SPMM_PREFETCH_LISTED + i], vectors, true);
            }
            for (uint32_t k = 0; k < edges * (uint32_t)together; k += COLUMNS_OF_LINE) {
                prefetch_columns(column + k);
            }
            sum_rows(acc, x, column, edges, together, vectors, narrow);
            UNROLL
            for (int i = 0; i < together; i++) {
                end_row(pass, window + row_id[i], acc + i * vectors, vectors, sweep, tails);
            }
            column += (size_t)edges * (size_t)together;
            row_id += together;
        }
        for (; rows > 0; rows--) {
            VEC acc[8];
            sum_row(acc, x, column, edges, vectors, narrow);
            end_row(pass, window + row_id[0], acc, vectors, sweep, tails);
            column += edges;
            row_id++;
        }
    }
}

enum { WIDE = SPMM_STRIP / LANES, NARROW = SPMM_STRIP_NARROW / LANES };

static sweep_end sweep_end_of(int strip, const spmm_pass *pass)
{
    return !pass->last ? KEEP_SUMS : pass->width == strip ? WRITE_EXACT : WRITE_TAIL;
}

#define BLOCKS_OF(name, vectors, sweep)                                                                                \
    static void blocks_##name(const uint32_t *start, const uint16_t *column, int64_t begin, int64_t end,               \
                              const spmm_pass *pass)                                                                   \
    {                                                                                                                  \
        if (pass->narrow) {                                                                                            \
            blocks_strip(start, column, begin, end, pass, vectors, true, sweep);                                       \
        } else {                                                                                                       \
            blocks_strip(start, column, begin, end, pass, vectors, false, sweep);                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void lists_##name(const spmm_blocks *m, const spmm_chunk *chunk, int64_t begin, const spmm_pass *pass)      \
    {                                                                                                                  \
        if (pass->narrow) {                                                                                            \
            lists_strip(m, chunk, begin, pass, vectors, true, sweep);                                                  \
        } else {                                                                                                       \
            lists_strip(m, chunk, begin, pass, vectors, false, sweep);                                                 \
        }                                                                                                              \
    }
BLOCKS_OF(wide_keep, WIDE, KEEP_SUMS)
BLOCKS_OF(wide_exact, WIDE, WRITE_EXACT)
BLOCKS_OF(wide_tail, WIDE, WRITE_TAIL)
BLOCKS_OF(narrow_keep, NARROW, KEEP_SUMS)
BLOCKS_OF(narrow_exact, NARROW, WRITE_EXACT)
BLOCKS_OF(narrow_tail, NARROW, WRITE_TAIL)
#undef BLOCKS_OF

static void kernel_blocks(const uint32_t *start, const uint16_t *column, int strip, int64_t begin, int64_t end,
                          const spmm_pass *pass)
{
    static void (*const of[2][3])(const uint32_t *, const uint16_t *, int64_t, int64_t,
                                  const spmm_pass *) = {{blocks_narrow_keep, blocks_narrow_exact, blocks_narrow_tail},
                                                        {blocks_wide_keep, blocks_wide_exact, blocks_wide_tail}};
    of[strip == SPMM_STRIP][sweep_end_of(strip, pass)](start, column, begin, end, pass);
}

static void kernel_lists(const spmm_blocks *m, const spmm_chunk *chunk, int strip, int64_t begin, const spmm_pass *pass)
{
    static void (*const of[2][3])(const spmm_blocks *, const spmm_chunk *, int64_t,
                                  const spmm_pass *) = {{lists_narrow_keep, lists_narrow_exact, lists_narrow_tail},
                                                        {lists_wide_keep, lists_wide_exact, lists_wide_tail}};
    of[strip == SPMM_STRIP][sweep_end_of(strip, pass)](m, chunk, begin, pass);
}

/* ---- sparse features and edges with weights: numbers in CSR, features masked as they are read ------------------ */

enum { FEATURE_VECTORS = 8, FEATURE_CHUNK = 32 };

/* kept[count] = the values from entry e of row `row` on, 0 where dropout takes them. */
static void keep_values(const sparse_features *m, int64_t row, int64_t e, int64_t count, float *kept)
{
    const hal_dropout *dropout = m->dropout;
    const int64_t *id = dropout->row_id.source;
    const uint32_t threshold = philox_dropout_threshold(dropout->probability);
    const float scale = (float)(1.0 / (1.0 - (double)dropout->probability));
    philox_block block = {{0}};
    int64_t drawn_row = -1;
    int64_t drawn = -1; /* eight columns of a row have one block */
    for (int64_t i = 0; i < count; i++) {
        const int64_t feature_row = m->transposed ? m->column[e + i] : row;
        const int64_t column = m->transposed ? row : m->column[e + i];
        if (feature_row != drawn_row || column / 8 != drawn) {
            const int64_t global = id != NULL ? id[feature_row] : dropout->row_base + feature_row;
            drawn_row = feature_row;
            drawn = column / 8;
            block = philox4x32(philox_counter((uint32_t)drawn, (uint64_t)global, dropout->purpose, dropout->epoch),
                               dropout->seed);
        }
        const bool keeps = philox_lane16(block, (unsigned)(column % 8)) >= threshold;
        kept[i] = keeps ? m->value[e + i] * scale : 0.0F;
    }
}

/* Chunks of entries are summed apart, and these sums are added with compensation (Kahan 1965): a sum over thousands of
 * rows rounds as little as one over FEATURE_CHUNK, so that ranks, which cut it elsewhere, hardly part. */
KERNEL void features_strip(const sparse_features *m, int64_t begin, int64_t end, const spmm_pass *pass,
                           const int vectors, const bool narrow)
{
    TAIL tails[FEATURE_VECTORS];
    float kept[FEATURE_CHUNK];
    const bool adds = pass->beta == 1.0F && pass->diag == NULL; /* a row without entries stays as it is */
    const int64_t entries = m->offset[end];
    set_tails(tails, vectors, pass->width);
    for (int64_t row = begin; row < end; row++) {
        if (adds && m->offset[row] == m->offset[row + 1]) {
            continue;
        }
        VEC sum[FEATURE_VECTORS], excess[FEATURE_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[v] = excess[v] = vec_zero();
        }
        const int64_t last = m->offset[row + 1];
        for (int64_t e = m->offset[row]; e < last; e += FEATURE_CHUNK) {
            VEC acc[FEATURE_VECTORS];
            UNROLL
            for (int v = 0; v < vectors; v++) {
                acc[v] = vec_zero();
            }
            const int64_t count = last - e < FEATURE_CHUNK ? last - e : FEATURE_CHUNK;
            const float *value = m->value + e;
            if (m->dropout != NULL) {
                keep_values(m, row, e, count, kept);
                value = kept;
            }
            for (int64_t i = 0; i < count; i++) {
                const int32_t column = m->column[e + i];
                const int64_t next = e + i + m->ahead;
                const row_kind kind = {.narrow = narrow, .scaled = pass->pre != NULL};
                row_prefetch(pass, m->column[next < entries ? next : e + i], vectors, kind);
                const VEC scale = vec_set1(pass->pre != NULL ? value[i] * pass->pre[column] : value[i]);
                const int64_t x = (int64_t)column * pass->ldx;
                UNROLL
                for (int v = 0; v < vectors; v++) {
                    acc[v] += row_load(pass, x + v * LANES, narrow, v < vectors - 1, tails[vectors - 1]) * scale;
                }
            }
            UNROLL
            for (int v = 0; v < vectors; v++) {
                const VEC term = acc[v] - excess[v], next = sum[v] + term;
                excess[v] = (next - sum[v]) - term;
                sum[v] = next;
            }
        }
        put_row(pass, row, sum, vectors, false, tails);
    }
}

#define FEATURES_OF(vectors)                                                                                           \
    static void features_##vectors(const sparse_features *m, int64_t begin, int64_t end, const spmm_pass *pass)        \
    {                                                                                                                  \
        if (pass->narrow) {                                                                                            \
            features_strip(m, begin, end, pass, vectors, true);                                                        \
        } else {                                                                                                       \
            features_strip(m, begin, end, pass, vectors, false);                                                       \
        }                                                                                                              \
    }
FEATURES_OF(1)
FEATURES_OF(2)
FEATURES_OF(4)
FEATURES_OF(8)
#undef FEATURES_OF

/* A strip of 1, 2, 4 or 8 vectors, the last of which may have a tail. */
static void kernel_features(const sparse_features *m, int64_t begin, int64_t end, const spmm_pass *pass)
{
    const int vectors = (pass->width + LANES - 1) / LANES;
    if (vectors == 1) {
        features_1(m, begin, end, pass);
    } else if (vectors == 2) {
        features_2(m, begin, end, pass);
    } else if (vectors == 4) {
        features_4(m, begin, end, pass);
    } else {
        features_8(m, begin, end, pass);
    }
}

#include "hal/cpu/sparse/share_kernel_body.h"

const spmm_kernels SPMM_TABLE = {.lanes = LANES,
                                 .max_vectors = MAX_VECTORS,
                                 .rows = kernel_rows,
                                 .blocks = kernel_blocks,
                                 .lists = kernel_lists,
                                 .feature_vectors = FEATURE_VECTORS,
                                 .features = kernel_features,
                                 .shared = kernel_shared,
                                 .share_gain = kernel_share_gain,
                                 .share_hash = kernel_share_hash};
