/*
 * hal/cpu/kernels_gemm_body.h: the matrix product of one thread. Included once an instruction set by kernels_*.c. No
 * include guard. The including file defines LANES (floats of a vector), PANEL (most vectors of a panel) and
 * TILE(vectors), the rows of C kept in registers for a panel of that many vectors.
 *
 * B [k, n] is packed into panels of up to PANEL vectors, each [k][vectors * LANES], the last one padded with zeros:
 *
 *        panel 0   panel 1          V = ceil(n / LANES) vectors are shared evenly among ceil(V / PANEL) panels
 *      +---------+-------+
 *   k  |  4 x 16 | 3 x 16|          a step of the inner loop: `vectors` loads of a packed row, `rows` broadcasts of A,
 *      +---------+-------+          rows * vectors multiply-adds into registers
 *
 * A is read where it lies: by rows when it is not transposed, and one packed row of B meets `rows` neighbours of a row
 * of A when it is, so both forms stream A once. This is what tall and narrow products want: A is most of the memory
 * traffic, and copying it would cost as much as the product. K. Goto, R. van de Geijn: Anatomy of high-performance
 * matrix multiplication. ACM TOMS 34(3), 2008, doi:10.1145/1356052.1356053 describes the packed general case.
 */

/* Three rows of A share a pointer: base, base + lda, base + 2 lda are addresses of one instruction each. Without this
 * the compiler keeps a pointer a row, more than there are registers. */
#define KEEP_POINTER(pointer) __asm__("" : "+r"(pointer))

enum {
    MOST_ROWS = TILE(1),
    AHEAD = 128,   /* columns of A, 8 lines of the cache: half as many and twice as many are as good */
    ROW_BLOCK = 48 /* rows of A that stay in the second-level cache while the panels pass; whole tiles of any panel */
};

/* Vectors of panel i when `all` vectors are cut into `panels`. */
static int64_t panel_vectors(int64_t all, int64_t panels, int64_t i)
{
    return all / panels + (i < all % panels ? 1 : 0);
}

static int64_t panel_count(int64_t n)
{
    int64_t all = (n + LANES - 1) / LANES;
    return (all + PANEL - 1) / PANEL;
}

static int64_t gemm_columns(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* alpha times a row, and zeros up to the end of its last vector. */
static inline void pack_row(int64_t n, float alpha, const float *from, float *to)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec_store(to + j, alpha * vec_load(from + j));
    }
    if (j < n) {
        vec_store(to + j, alpha * vec_load_first(from + j, n - j));
    }
}

static void gemm_pack(int64_t k_begin, int64_t k_end, int64_t k, int64_t n, float alpha, const float *b, int64_t b_row,
                      int64_t b_col, float *packed)
{
    int64_t all = (n + LANES - 1) / LANES;
    int64_t panels = panel_count(n);
    int64_t column = 0;
    for (int64_t i = 0; i < panels; ++i) {
        int64_t width = panel_vectors(all, panels, i) * LANES;
        int64_t filled = n - column < width ? n - column : width;
        for (int64_t p = k_begin; p < k_end; ++p) {
            const float *from = b + p * b_row + column * b_col;
            float *to = packed + column * k + p * width;
            if (b_col == 1) {
                pack_row(filled, alpha, from, to);
                continue;
            }
            for (int64_t j = 0; j < filled; ++j) {
                to[j] = alpha * from[j * b_col];
            }
            for (int64_t j = filled; j < width; ++j) {
                to[j] = 0.0F;
            }
        }
        column += width;
    }
}

/* One vector of a row of C; `columns` < LANES at the right edge. */
static inline void finish_vector(vec sum, float beta, const float *bias, float *c, int64_t columns)
{
    if (columns >= LANES) {
        if (bias != NULL) {
            sum += vec_load(bias);
        }
        if (beta != 0.0F) {
            sum += beta * vec_load(c);
        }
        vec_store(c, sum);
        return;
    }
    if (bias != NULL) {
        sum += vec_load_first(bias, columns);
    }
    if (beta != 0.0F) {
        sum += beta * vec_load_first(c, columns);
    }
    vec_store_first(c, sum, columns);
}

/* One product of one thread. */
typedef struct gemm_job {
    int64_t m, n, k, lda, ldc;
    const float *a, *packed, *bias;
    float beta;
    float *c;
} gemm_job;

/* What will be read soon is asked for along the rows of A that are being read, a line a step of the inner loop, and
 * where they end along those that come next: streams that the processor's own prefetch takes up. Asked for in another
 * order, lines of A come at half to three quarters of that rate. */
typedef struct gemm_ahead {
    const float *at;
    int64_t turn; /* the step at which the rows end; of A^T, whose steps go from row to row, none */
    int row;      /* of the tile, whose turn it is */
} gemm_ahead;

static inline __attribute__((always_inline)) gemm_ahead gemm_ahead_of(const bool trans, const gemm_job *job, int64_t i)
{
    const int64_t along = trans ? job->m : job->k;
    const int64_t far = along < AHEAD ? along : AHEAD;
    if (!trans) {
        return (gemm_ahead){.at = job->a + i * job->lda + far, .turn = along - far};
    }
    const bool ends = i + far >= along;
    return (gemm_ahead){.at = job->a + (ends ? job->k * job->lda + i + far - along : i + far), .turn = -1};
}

static inline __attribute__((always_inline)) void gemm_ask(const int rows, const bool trans, const gemm_job *job,
                                                           int64_t p, gemm_ahead *ahead)
{
    if (!trans && p == ahead->turn) {
        ahead->at += rows * job->lda - job->k;
    }
    __builtin_prefetch(ahead->at, 0, 2);
    ahead->at += job->lda;
    if (!trans && ++ahead->row == rows) {
        ahead->row = 0;
        ahead->at += rows - rows * job->lda;
    }
}

/* Rows i .. i + rows - 1 of C for the panel at `column`; rows, vectors and trans are constants where it is inlined. */
static inline __attribute__((always_inline)) void gemm_tile(const int rows, const int vectors, const bool trans,
                                                            const gemm_job *job, int64_t i, int64_t column)
{
    const int64_t k = job->k;
    const int64_t row_step = trans ? 1 : job->lda;
    const int64_t column_step = trans ? job->lda : 1;
    const float *a = job->a + i * row_step;
    const float *b = job->packed + column * k;
    vec sum[MOST_ROWS][PANEL];
    UNROLL
    for (int r = 0; r < rows; ++r) {
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            sum[r][v] = (vec){0};
        }
    }
    const float *row[(MOST_ROWS + 2) / 3];
    UNROLL
    for (int g = 0; g < (rows + 2) / 3; ++g) {
        row[g] = a + 3 * g * row_step;
    }
    gemm_ahead ahead = gemm_ahead_of(trans, job, i);
    for (int64_t p = 0; p < k; ++p) {
        gemm_ask(rows, trans, job, p, &ahead);
        vec right[PANEL];
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            right[v] = vec_load(b + v * LANES);
        }
        b += vectors * LANES;
        UNROLL
        for (int r = 0; r < rows; ++r) {
            float left = row[r / 3][(r % 3) * row_step];
            UNROLL
            for (int v = 0; v < vectors; ++v) {
                sum[r][v] += left * right[v];
            }
        }
        UNROLL
        for (int g = 0; g < (rows + 2) / 3; ++g) {
            row[g] += column_step;
            KEEP_POINTER(row[g]);
        }
    }
    float *c = job->c + i * job->ldc + column;
    UNROLL
    for (int r = 0; r < rows; ++r) {
        UNROLL
        for (int v = 0; v < vectors; ++v) {
            int64_t first = column + v * LANES;
            if (first < job->n) {
                finish_vector(sum[r][v], job->beta, job->bias != NULL ? job->bias + first : NULL,
                              c + r * job->ldc + v * LANES, job->n - first);
            }
        }
    }
}

/* Rows begin .. end - 1 of C for one panel: whole tiles, then tiles of four rows, then single rows. */
static inline __attribute__((always_inline)) void gemm_rows(const int vectors, const bool trans, const gemm_job *job,
                                                            int64_t begin, int64_t end, int64_t column)
{
    int64_t i = begin;
    for (; i + TILE(vectors) <= end; i += TILE(vectors)) {
        gemm_tile(TILE(vectors), vectors, trans, job, i, column);
    }
    for (; i + 4 <= end; i += 4) {
        gemm_tile(4, vectors, trans, job, i, column);
    }
    for (; i < end; ++i) {
        gemm_tile(1, vectors, trans, job, i, column);
    }
}

/* Rows begin .. end - 1 of C, panel by panel. */
static inline __attribute__((always_inline)) void gemm_panels(const bool trans, const gemm_job *job, int64_t begin,
                                                              int64_t end)
{
    int64_t all = (job->n + LANES - 1) / LANES;
    int64_t panels = panel_count(job->n);
    int64_t column = 0;
    for (int64_t i = 0; i < panels; ++i) {
        int64_t vectors = panel_vectors(all, panels, i);
        switch (vectors) {
        case 1:
            gemm_rows(1, trans, job, begin, end, column);
            break;
        case 2:
            gemm_rows(2, trans, job, begin, end, column);
            break;
#if PANEL > 2
        case 3:
            gemm_rows(3, trans, job, begin, end, column);
            break;
        default:
            gemm_rows(4, trans, job, begin, end, column);
            break;
#endif
        }
        column += vectors * LANES;
    }
}

static void gemm_multiply(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, float beta,
                          const float *bias, float *c, int64_t ldc)
{
    gemm_job job = {
        .m = m, .n = n, .k = k, .lda = lda, .ldc = ldc, .a = a, .packed = packed, .bias = bias, .beta = beta, .c = c};
    for (int64_t i = 0; i < m; i += ROW_BLOCK) {
        gemm_panels(false, &job, i, m - i < ROW_BLOCK ? m : i + ROW_BLOCK);
    }
}

static void gemm_multiply_transposed(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed,
                                     float beta, float *c, int64_t ldc)
{
    gemm_job job = {.m = m, .n = n, .k = k, .lda = lda, .ldc = ldc, .a = a, .packed = packed, .beta = beta, .c = c};
    gemm_panels(true, &job, 0, m);
}
