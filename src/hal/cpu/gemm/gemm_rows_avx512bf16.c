/*
 * hal/cpu/gemm/gemm_rows_avx512bf16.c: products of tall matrices of bfloat16 that read the tall matrix where it lies,
 * two cells an instruction; see cpu_pair_kernels. A tall matrix comes from memory: nothing of it is copied, each line
 * is asked for while the rows before it are multiplied, and so the bytes of that matrix bound the time. Lines are asked
 * for along the rows, for the second-level cache: across them, or for the first one, which is smaller than the rows of
 * a step, they came at 0.6 of that rate.
 *
 * By rows: a register holds 16 columns of C. A pair of neighbours in a row of A, four bytes where they lie, meets that
 * pair of rows of B, packed side by side:
 *
 *      sum[r][0..15] += a[r][2p] b[2p][0..15] + a[r][2p + 1] b[2p + 1][0..15]
 *
 * By sums, C = A^T B with few columns of B: a register holds 16 columns of A, two rows side by side. STEP rows of 32
 * columns stay in registers while the columns of B pass, so that C is read and written once for STEP rows:
 *
 *      sum[j][0..15] += a[2p][0..15] b[2p][j] + a[2p + 1][0..15] b[2p + 1][j]
 *
 * Each instruction rounds twice: products are exact, their sum with C is of float32; denormals are zeros.
 */
#include <immintrin.h>
#include <string.h>

#include "hal/cpu/kernels.h"

enum {
    LANES = 16,
    CELLS = 32,          /* bfloat16 of a register */
    LINE = 64,           /* bytes of a line of the cache */
    TILE = 12,           /* rows of C that a tile by rows has: 24 registers */
    REST = 4,            /* the same of a tile for what is left */
    ROW_BLOCK = 4 * TILE /* rows of A that stay in the second-level cache while the panels pass */
};

_Static_assert((int)PAIR_B_PANEL == 2 * (int)LANES && (int)PAIR_SUM_STRIP == (int)CELLS, "two registers each");

/* The next line to ask for, the end of its row, and bytes of a row and between the starts of two. */
typedef struct line_ahead {
    const char *at, *end;
    int64_t row, pitch;
} line_ahead;

static inline line_ahead ahead_of(const uint16_t *rows, int64_t cells, int64_t ld)
{
    const int64_t row = cells * (int64_t)sizeof *rows;
    return (line_ahead){
        .at = (const char *)rows, .end = (const char *)rows + row, .row = row, .pitch = ld * (int64_t)sizeof *rows};
}

static inline __attribute__((always_inline)) void ask_line(line_ahead *ahead)
{
    _mm_prefetch(ahead->at, _MM_HINT_T1);
    ahead->at += LINE;
    if (ahead->at >= ahead->end) {
        ahead->end += ahead->pitch;
        ahead->at = ahead->end - ahead->row;
    }
}

/* ---- by rows ---------------------------------------------------------------------------------------------------- */

typedef struct row_job {
    int64_t n, k, lda, ldc;
    const uint16_t *a;
    const uint32_t *packed;
    const float *bias;
    float beta;
    float *c;
} row_job;

static __mmask16 lanes_there(int64_t columns)
{
    return (__mmask16)(columns >= LANES ? 0xffffU : (1U << (columns > 0 ? columns : 0)) - 1U);
}

/* sum += one pair of cells of `rows` rows of A, times a pair of rows of B. single: the last cell of an odd row, beside
 * which the pair of B has zeros. */
static inline __attribute__((always_inline)) void add_pair(const int rows, const int vectors, const bool single,
                                                           const uint16_t *a, int64_t lda, const uint32_t *b,
                                                           __m512 sum[TILE][2])
{
    const __m512bh first = (__m512bh)_mm512_loadu_si512(b);
    const __m512bh second = (__m512bh)_mm512_loadu_si512(b + (vectors - 1) * LANES);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
        uint32_t cells = 0;
        memcpy(&cells, a + r * lda, single ? sizeof *a : sizeof cells);
        const __m512bh left = (__m512bh)_mm512_set1_epi32((int)cells);
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], left, first);
        sum[r][1] = vectors > 1 ? _mm512_dpbf16_ps(sum[r][1], left, second) : sum[r][1];
    }
}

static inline __attribute__((always_inline)) void put_lanes(const row_job *job, __m512 sum, int64_t column, float *c)
{
    const __mmask16 there = lanes_there(job->n - column);
    if (job->bias != NULL) {
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(there, job->bias + column));
    }
    if (job->beta != 0.0F) {
        sum = _mm512_fmadd_ps(_mm512_set1_ps(job->beta), _mm512_maskz_loadu_ps(there, c), sum);
    }
    _mm512_mask_storeu_ps(c, there, sum);
}

/* Rows i .. i + rows - 1 of C for the panel at `column`; rows and vectors are constants where it is inlined. */
static inline __attribute__((always_inline)) void tile(const int rows, const int vectors, const row_job *job, int64_t i,
                                                       int64_t column)
{
    const int64_t pairs = job->k / 2, lda = job->lda;
    const uint16_t *a = job->a + i * lda;
    const uint32_t *b = job->packed + column * ((job->k + 1) / 2);
    __m512 sum[TILE][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    }
    line_ahead ahead = ahead_of(a + rows * lda, job->k, lda);
    for (int64_t p = 0; p < pairs; p += LANES) {
        const int64_t end = p + LANES < pairs ? p + LANES : pairs;
        for (int r = 0; r < rows; ++r) {
            ask_line(&ahead);
        }
        for (int64_t q = p; q < end; ++q) {
            add_pair(rows, vectors, false, a + 2 * q, lda, b + q * PAIR_B_PANEL, sum);
        }
    }
    if (job->k % 2 != 0) {
        add_pair(rows, vectors, true, a + 2 * pairs, lda, b + pairs * PAIR_B_PANEL, sum);
    }
    float *c = job->c + i * job->ldc + column;
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
        put_lanes(job, sum[r][0], column, c + r * job->ldc);
        if (vectors > 1) {
            put_lanes(job, sum[r][1], column + LANES, c + r * job->ldc + LANES);
        }
    }
}

static inline __attribute__((always_inline)) void panel_rows(const int vectors, const row_job *job, int64_t begin,
                                                             int64_t end, int64_t column)
{
    int64_t i = begin;
    for (; i + TILE <= end; i += TILE) {
        tile(TILE, vectors, job, i, column);
    }
    for (; i + REST <= end; i += REST) {
        tile(REST, vectors, job, i, column);
    }
    for (; i < end; ++i) {
        tile(1, vectors, job, i, column);
    }
}

static void multiply_rows(int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda, const uint32_t *packed,
                          float beta, const float *bias, float *c, int64_t ldc)
{
    const row_job job = {
        .n = n, .k = k, .lda = lda, .ldc = ldc, .a = a, .packed = packed, .bias = bias, .beta = beta, .c = c};
    for (int64_t i = 0; i < m; i += ROW_BLOCK) {
        const int64_t end = m - i < ROW_BLOCK ? m : i + ROW_BLOCK;
        for (int64_t column = 0; column < n; column += PAIR_B_PANEL) {
            if (n - column > LANES) {
                panel_rows(2, &job, i, end, column);
            } else {
                panel_rows(1, &job, i, end, column);
            }
        }
    }
}

/* ---- by sums ---------------------------------------------------------------------------------------------------- */

/* Pairs of rows of 32 columns, in the order of the instructions that make them (PAIR_SUM_STRIP). */
typedef struct strip_pairs {
    __m512bh half[PAIR_SUM_STEP / 2][2];
} strip_pairs;

static inline __attribute__((always_inline)) void load_strip(const uint16_t *a, int64_t lda, __mmask32 there,
                                                             line_ahead *ahead, strip_pairs *strip)
{
#pragma GCC unroll 8
    for (int p = 0; p < PAIR_SUM_STEP / 2; ++p) {
        const uint16_t *row = a + 2 * p * lda;
        ask_line(ahead);
        ask_line(ahead);
        const __m512i even = _mm512_maskz_loadu_epi16(there, row);
        const __m512i odd = _mm512_maskz_loadu_epi16(there, row + lda);
        strip->half[p][0] = (__m512bh)_mm512_unpacklo_epi16(even, odd);
        strip->half[p][1] = (__m512bh)_mm512_unpackhi_epi16(even, odd);
    }
}

/* b: panels of PAIR_B_PANEL columns, of PAIR_SUM_STEP / 2 pairs of rows each. sum: [n][PAIR_SUM_STRIP] */
static inline __attribute__((always_inline)) void add_strip(const strip_pairs *strip, int64_t n, const uint32_t *b,
                                                            float *sum)
{
    for (int64_t first = 0; first < n; first += PAIR_B_PANEL, b += PAIR_SUM_STEP / 2 * PAIR_B_PANEL) {
        const int64_t count = n - first < PAIR_B_PANEL ? n - first : PAIR_B_PANEL;
        for (int64_t j = 0; j < count; ++j, sum += PAIR_SUM_STRIP) {
            __m512 low = _mm512_loadu_ps(sum), high = _mm512_loadu_ps(sum + LANES);
#pragma GCC unroll 8
            for (int p = 0; p < PAIR_SUM_STEP / 2; ++p) {
                const __m512bh right = (__m512bh)_mm512_set1_epi32((int)b[p * PAIR_B_PANEL + j]);
                low = _mm512_dpbf16_ps(low, strip->half[p][0], right);
                high = _mm512_dpbf16_ps(high, strip->half[p][1], right);
            }
            _mm512_storeu_ps(sum, low);
            _mm512_storeu_ps(sum + LANES, high);
        }
    }
}

static void add_rows(int64_t steps, int64_t m, int64_t n, const uint16_t *a, int64_t lda, const uint32_t *packed,
                     float *sums)
{
    const int64_t step_b = (n + PAIR_B_PANEL - 1) / PAIR_B_PANEL * PAIR_B_PANEL * (PAIR_SUM_STEP / 2);
    line_ahead ahead = ahead_of(a + steps * PAIR_SUM_STEP * lda, m, lda);
    for (int64_t at = 0; at < m; at += PAIR_SUM_STRIP) {
        const __mmask32 there = m - at >= CELLS ? ~(__mmask32)0 : ((__mmask32)1 << (m - at)) - 1;
        for (int64_t s = 0; s < steps; ++s) {
            strip_pairs strip;
            load_strip(a + s * PAIR_SUM_STEP * lda + at, lda, there, &ahead, &strip);
            add_strip(&strip, n, packed + s * step_b, sums + at * n);
        }
    }
}

const cpu_pair_row_kernels cpu_pair_rows_avx512bf16 = {.multiply_rows = multiply_rows, .add_rows = add_rows};
