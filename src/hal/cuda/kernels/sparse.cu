/*
 * hal/cuda/kernels/sparse.cu: spmm_run on a matrix as cuda_matrix.h prepares it. A thread has up to 16 bytes of a row
 * of x, or where rows are not aligned to so much up to three single cells; `lanes` threads side by side have a strip of
 * columns, and strips are the outer dimension of the grid, so that all processors share one strip of x in the
 * second-level cache. Sums are float32 for float32 and bfloat16 rows.
 *
 * Where x has factors (pre) or rows without packs, and a strip fits the cache, strips are copied to scratch memory
 * first, multiplied and in whole packs: a factor costs an edge 32 bytes of the cache otherwise, and single cells a
 * third of its rate.
 */
#include <assert.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_matrix.h"
#include "hal/cuda/kernels/cuda_team.h"
#include "hal/cuda/kernels/cuda_walk.h"

static const int64_t CUDA_LINE = 128; /* bytes of the second-level cache that come together */

enum spmm_class { SHORT_ROWS, MIDDLE_ROWS, PIECES };

template <typename cell> struct spmm_call {
    typedef cuda_real<cell> real;
    const int32_t *order; /* rows of this launch */
    const void *offset;
    bool wide;
    const cuda_edges *piece; /* or pieces */
    real *partial;           /* [pieces, d] */
    int64_t count;           /* of rows or pieces */
    const cell *x;
    const real *pre;
    int64_t ld_x, d;
    const cell *own; /* x as it was given, for diag */
    int64_t ld_own;
    const real *post, *diag;
    void *out;
    int64_t ld_out;
    bool narrow_out; /* of bfloat16 */
    bool packs_out;  /* whole packs of it are stored at once */
    real beta;
    int lanes; /* of a team */
};

template <typename cell> static __device__ cuda_edges edges_of_row(const spmm_call<cell> &s, int64_t row)
{
    if (s.wide) {
        const int64_t *offset = static_cast<const int64_t *>(s.offset);
        return {offset[row], offset[row + 1] - offset[row]};
    }
    const int32_t *offset = static_cast<const int32_t *>(s.offset);
    return {offset[row], offset[row + 1] - offset[row]};
}

/* The first n of N sums. */
template <typename to_cell, int N, typename real>
static __device__ void finish_cells(real (&sum)[N], int n, bool packed, to_cell *out, real beta)
{
    cuda_pack<to_cell, N> made = {};
    if (beta != (real)0) {
        made = cuda_get_packed<N>(out, n, packed);
        for (int k = 0; k < N; ++k) {
            sum[k] += beta * cuda_load(made.at[k]);
        }
    }
    for (int k = 0; k < N; ++k) {
        cuda_store(&made.at[k], sum[k]);
    }
    cuda_put(out, made, n, packed);
}

static __device__ inline cuda_bf16 *narrow_at(void *out, int64_t at, float)
{
    return static_cast<cuda_bf16 *>(out) + at;
}

/* Rows of float64 are never stored in bfloat16. */
static __device__ inline double *narrow_at(void *out, int64_t at, double)
{
    return static_cast<double *>(out) + at;
}

/* What becomes of a row's sums in columns j .. j + N - 1, as far as there are. */
template <typename cell, int N>
static __device__ void finish_row(const spmm_call<cell> &s, int64_t row, int64_t j, cuda_real<cell> (&sum)[N])
{
    typedef cuda_real<cell> real;
    const real post = s.post != nullptr ? s.post[row] : (real)1;
    const int n = s.d - j < N ? (int)(s.d - j) : N;
    for (int k = 0; k < N; ++k) {
        sum[k] = post * sum[k];
        if (s.diag != nullptr && k < n) {
            sum[k] += s.diag[row] * cuda_load(s.own[row * s.ld_own + j + k]);
        }
    }
    if (s.narrow_out) {
        finish_cells<>(sum, n, s.packs_out, narrow_at(s.out, row * s.ld_out + j, real()), s.beta);
    } else {
        finish_cells<>(sum, n, s.packs_out, static_cast<real *>(s.out) + row * s.ld_out + j, s.beta);
    }
}

/* A thread's cells: TIMES packs of N, `lanes` packs apart. */
template <typename cell, int N, int TIMES, int CLASS, bool WEIGHTED>
__global__ void __launch_bounds__(CUDA_BLOCK)
    spmm_kernel(spmm_call<cell> s, const cell *__restrict__ x, const cuda_real<cell> *__restrict__ pre,
                const int32_t *__restrict__ column, const float *__restrict__ value)
{
    typedef cuda_real<cell> real;
    const unsigned threads = CLASS == SHORT_ROWS ? (unsigned)s.lanes : (unsigned)CUDA_WARP; /* of a row or piece */
    const unsigned team = threadIdx.x % threads / (unsigned)s.lanes;
    const unsigned teams = threads / (unsigned)s.lanes;
    const int64_t i = (int64_t)blockIdx.x * (CUDA_BLOCK / threads) + threadIdx.x / threads;
    const int64_t j = ((int64_t)blockIdx.y * TIMES * s.lanes + threadIdx.x % (unsigned)s.lanes) * N;
    const int64_t apart = (int64_t)s.lanes * N;
    const bool there = i < s.count && j < s.d;
    const int64_t row = there && CLASS != PIECES ? s.order[i] : 0;
    const cuda_edges edges = !there ? cuda_edges{0, 0} : CLASS == PIECES ? s.piece[i] : edges_of_row(s, row);
    real sum[TIMES][N] = {};
    CUDA_UNROLL
    for (int64_t e = edges.begin + team; e < edges.begin + edges.count; e += teams) {
        const int64_t c = column[e];
        const real weight = WEIGHTED ? (real)value[e] : (real)1;
        const real scale = pre != nullptr ? weight * pre[c] : weight;
        const cell *from = x + c * s.ld_x + j;
        for (int t = 0; t < TIMES; ++t) {
            if (t == 0 || j + t * apart < s.d) {
                const cuda_pack<cell, N> cells = cuda_get<N>(from + t * apart, N);
                for (int k = 0; k < N; ++k) {
                    sum[t][k] += scale * cuda_load(cells.at[k]);
                }
            }
        }
    }
    for (int t = 0; t < TIMES; ++t) {
        if (CLASS != SHORT_ROWS) {
            cuda_join_teams(cuda_sum(), sum[t], s.lanes);
        }
        const int64_t at = j + t * apart;
        if (!there || team != 0 || at >= s.d) {
            continue;
        }
        if (CLASS == PIECES) {
            for (int k = 0; k < N; ++k) {
                if (at + k < s.d) {
                    s.partial[i * s.d + at + k] = sum[t][k];
                }
            }
        } else {
            finish_row<cell, N>(s, row, at, sum[t]);
        }
    }
}

/* Long rows order[0 .. count - 1], whose pieces are [first[i] - first[0], first[i + 1] - first[0]) of the partial
 * sums. */
template <typename cell> __global__ void spmm_join_kernel(spmm_call<cell> s, const int64_t *first)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < s.count * s.d; at += cuda_stride()) {
        const int64_t i = at / s.d;
        const int64_t j = at % s.d;
        real sum[1] = {};
        for (int64_t p = first[i] - first[0]; p < first[i + 1] - first[0]; ++p) {
            sum[0] += s.partial[p * s.d + j];
        }
        finish_row<cell, 1>(s, s.order[i], j, sum);
    }
}

/* The rows of a class that a slice computes. */
struct range {
    int64_t begin, end;
};

static range slice_of(const hal_spmm_run_args *a, int64_t begin, int64_t count)
{
    const int64_t slices = a->slices > 1 ? a->slices : 1;
    return {begin + count * a->slice / slices, begin + count * (a->slice + 1) / slices};
}

template <typename cell, int N, int TIMES, int CLASS, bool WEIGHTED>
static int launch_edges(cuda_queue *queue, const hal_spmm_run_args *a, const spmm_call<cell> &s)
{
    const int64_t of_block = CUDA_BLOCK / (CLASS == SHORT_ROWS ? s.lanes : (int)CUDA_WARP);
    const cuda_grid grid = {cuda_pieces(s.count, of_block), CUDA_BLOCK, (unsigned)cuda_pieces(s.d, s.lanes * N * TIMES)};
    const auto kernel = spmm_kernel<cell, N, TIMES, CLASS, WEIGHTED>;
    const hal_spmm *m = a->matrix;
    return CLASS == SHORT_ROWS ? cuda_launch(queue, grid, kernel, s, s.x, s.pre, m->column, m->value)
                               : cuda_launch_teams(queue, grid, kernel, s, s.x, s.pre, m->column, m->value);
}

template <typename cell, int N, int TIMES, int CLASS>
static int launch_class(cuda_queue *queue, const hal_spmm_run_args *a, const spmm_call<cell> &s)
{
    if (s.count == 0) {
        return CUDA_DONE;
    }
    return a->matrix->value != nullptr ? launch_edges<cell, N, TIMES, CLASS, true>(queue, a, s)
                                       : launch_edges<cell, N, TIMES, CLASS, false>(queue, a, s);
}

/* Partial sums of as many long rows at a time as fit; at least one row's. */
static const int64_t PARTIAL_BYTES = (int64_t)32 << 20;

template <typename cell> static int64_t long_rows_at_once(const hal_spmm *m, int64_t d, int64_t begin, int64_t end)
{
    const int64_t most = PARTIAL_BYTES / (d * (int64_t)sizeof(cuda_real<cell>));
    int64_t next = begin + 1;
    while (next < end && m->first_piece[next + 1] - m->first_piece[begin] <= most) {
        next += 1;
    }
    return next;
}

/* Scratch memory for the widest group of long rows, whatever the slice: the first run allocates all. piece: its
 * bytes. */
static size_t partial_bytes(int64_t pieces, int64_t most_pieces, int64_t piece)
{
    const int64_t bytes = most_pieces * piece;
    const int64_t all = pieces * piece;
    return (size_t)(bytes > PARTIAL_BYTES ? bytes : all < PARTIAL_BYTES ? all : PARTIAL_BYTES);
}

template <typename cell> static size_t partial_bytes_of(const hal_spmm *m, int64_t d)
{
    return partial_bytes(m->first_piece[m->longs], m->most_pieces, d * (int64_t)sizeof(cuda_real<cell>));
}

template <typename cell, int N, int TIMES>
static int launch_long_rows(cuda_queue *queue, const hal_spmm_run_args *a, spmm_call<cell> s)
{
    const hal_spmm *m = a->matrix;
    const range rows = slice_of(a, 0, m->longs);
    void *scratch = nullptr;
    if (m->longs == 0) {
        return CUDA_DONE;
    }
    CUDA_TRY(cuda_queue_scratch(queue, partial_bytes_of<cell>(m, s.d), &scratch));
    s.partial = static_cast<cuda_real<cell> *>(scratch);
    for (int64_t begin = rows.begin; begin < rows.end;) {
        const int64_t end = long_rows_at_once<cell>(m, s.d, begin, rows.end);
        s.piece = m->piece + m->first_piece[begin];
        s.count = m->first_piece[end] - m->first_piece[begin];
        CUDA_TRY((launch_class<cell, N, TIMES, PIECES>(queue, a, s)));
        s.order = m->order + m->shorts + m->middles + begin;
        s.count = end - begin;
        CUDA_TRY(cuda_launch(queue, cuda_lines(queue, s.count * s.d), spmm_join_kernel<cell>, s,
                             m->piece_of_long + begin));
        begin = end;
    }
    return CUDA_DONE;
}

/* Strips as wide as a warp, or so narrow that a strip of x stays in the second-level cache while all rows are summed;
 * not below a line of it, and not where even that does not fit. */
template <typename cell> static int strip_lanes(const cuda_queue *queue, int64_t rows_of_x, int64_t d, int of_lane)
{
    const int widest = cuda_team_lanes(cuda_pieces(d, of_lane));
    const int64_t lane_bytes = of_lane * (int64_t)sizeof(cell);
    const int64_t row_bytes = d * (int64_t)sizeof(cell);
    for (int lanes = widest; lanes * lane_bytes >= CUDA_LINE; lanes /= 2) {
        const int64_t bytes = lanes * lane_bytes < row_bytes ? lanes * lane_bytes : row_bytes;
        if (rows_of_x * bytes <= queue->cache) {
            return lanes;
        }
    }
    return widest;
}

template <typename cell, int N, int TIMES>
static int run_classes(cuda_queue *queue, const hal_spmm_run_args *a, spmm_call<cell> s)
{
    const hal_spmm *m = a->matrix;
    const range shorts = slice_of(a, 0, m->shorts);
    const range middles = slice_of(a, m->shorts, m->middles);
    s.lanes = strip_lanes<cell>(queue, m->cols, s.d, N * TIMES);
    s.order = m->order + shorts.begin;
    s.count = shorts.end - shorts.begin;
    CUDA_TRY((launch_class<cell, N, TIMES, SHORT_ROWS>(queue, a, s)));
    s.order = m->order + middles.begin;
    s.count = middles.end - middles.begin;
    CUDA_TRY((launch_class<cell, N, TIMES, MIDDLE_ROWS>(queue, a, s)));
    return launch_long_rows<cell, N, TIMES>(queue, a, s);
}

/* Whether rows of this matrix can be moved `n` cells at a time. */
static bool takes_packs(const hal_mat &mat, int64_t cell_bytes, int64_t n)
{
    const int64_t bytes = cell_bytes * n < 16 ? cell_bytes * n : 16;
    return mat.cols % n == 0 && mat.ld % n == 0 && (uintptr_t)mat.source % (uintptr_t)bytes == 0;
}

static int64_t cell_bytes(const hal_mat &mat)
{
    return mat.dtype == WEFT_DTYPE_F64 ? 8 : mat.dtype == WEFT_DTYPE_BF16 ? 2 : 4;
}

/* ---- strips of x in scratch memory ------------------------------------------------------------------------------- */

enum { PACK = 4 /* cells of a pack of a strip */ };

/* Columns [first, first + d) of x times its factors; zeros behind the last. */
template <typename real, typename cell> struct strip_cells {
    cuda_mat<real> strip;
    const cell *x; /* from the first column on */
    const real *pre;
    int64_t ld_x, d;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const real scale = pre != nullptr ? pre[i] : (real)1;
        const cuda_pack<cell, N> cells = cuda_get_any<N>(x + i * ld_x + j, d - j < N ? (int)(d - j) : N);
        cuda_pack<real, N> made = {};
        for (int k = 0; k < N; ++k) {
            made.at[k] = scale * cuda_load(cells.at[k]);
        }
        cuda_put(strip.at(i, j), made, n);
    }
};

/* Columns of a strip that stays in the cache: all of them, or a number of whole lines; 0: not one line does. */
template <typename real> static int64_t strip_columns(const cuda_queue *queue, int64_t rows, int64_t d)
{
    const int64_t most = queue->cache / (rows * (int64_t)sizeof(real));
    const int64_t line = CUDA_LINE / (int64_t)sizeof(real);
    return cuda_pieces(d, PACK) * PACK <= most ? d : most / line * line;
}

static size_t on_border(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Partial sums, and a strip, which fits the cache. */
size_t cuda_scratch_spmm(int64_t pieces, int64_t most_pieces, int64_t sources, int64_t cols, int64_t cache,
                         weft_dtype dtype)
{
    const int64_t cell = dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float);
    const int64_t whole = sources * cuda_pieces(cols, PACK) * PACK * cell;
    return on_border(partial_bytes(pieces, most_pieces, cols * cell)) + (size_t)(whole < cache ? whole : cache);
}

template <typename real>
static int run_strips(cuda_queue *queue, const hal_spmm_run_args *a, const spmm_call<real> &all, int64_t columns)
{
    const hal_spmm *m = a->matrix;
    const size_t before = on_border(partial_bytes_of<real>(m, columns));
    const int64_t ld = cuda_pieces(columns, PACK) * PACK;
    void *scratch = nullptr;
    const size_t bytes = before + (size_t)(m->cols * ld) * sizeof(real);
    assert(bytes <= cuda_scratch_spmm(m->first_piece[m->longs], m->most_pieces, m->cols, all.d, queue->cache,
                                      a->out.dtype));
    CUDA_TRY(cuda_queue_scratch(queue, bytes, &scratch));
    real *strip = reinterpret_cast<real *>(static_cast<char *>(scratch) + before);
    for (int64_t first = 0; first < all.d; first += columns) {
        spmm_call<real> s = all;
        s.d = all.d - first < columns ? all.d - first : columns;
        const strip_cells<real, real> copy = {{strip, m->cols, ld, ld}, all.x + first, all.pre, all.ld_x, s.d};
        CUDA_TRY(cuda_walk<PACK>(queue, copy, CUDA_BY_PLACE, copy.strip));
        s.x = strip;
        s.ld_x = ld;
        s.pre = nullptr;
        s.own = all.own + first;
        s.out = static_cast<real *>(all.out) + first;
        CUDA_TRY((run_classes<real, PACK, 1>(queue, a, s)));
    }
    return CUDA_DONE;
}

/* ---- shared sums ------------------------------------------------------------------------------------------------- */

/* A run of the rows of a level over the strip. */
template <typename real> static int run_level(cuda_queue *queue, hal_spmm *m, spmm_call<real> s)
{
    hal_spmm_run_args a = {};
    a.matrix = m;
    s.offset = m->offset;
    s.wide = m->wide;
    return m->rows > 0 ? run_classes<real, PACK, 1>(queue, &a, s) : (int)CUDA_DONE;
}

/* Strips of x times its factors, behind which partial sums are written level by level; behind those, where bfloat16 is
 * scaled, x as it is, for the diagonal. All slices are done in the first one. */
template <typename cell> static int run_shared(cuda_queue *queue, const hal_spmm_run_args *a)
{
    typedef cuda_real<cell> real;
    const hal_spmm *m = a->matrix;
    const int64_t most = CUDA_SHARED_COLUMNS * (int64_t)sizeof(float) / (int64_t)sizeof(real);
    const int64_t own_bytes = a->out.dtype == WEFT_DTYPE_BF16 ? 2 : sizeof(real);
    real *strip = static_cast<real *>(m->strip);
    for (int64_t first = 0; first < a->out.cols && a->slice == 0; first += most) {
        const int64_t d = a->out.cols - first < most ? a->out.cols - first : most;
        const int64_t ld = cuda_pieces(d, PACK) * PACK;
        const cell *x = static_cast<const cell *>(a->x.source) + first;
        real *own = strip + (m->cols + m->sums) * ld;
        const strip_cells<real, cell> copy = {{strip, m->cols, ld, ld}, x, static_cast<const real *>(a->pre.source),
                                              a->x.ld, d};
        const strip_cells<real, cell> as_given = {{own, m->rows, ld, ld}, x, nullptr, a->x.ld, d};
        CUDA_TRY(cuda_walk<PACK>(queue, copy, CUDA_BY_PLACE, copy.strip));
        if (a->diag.source != nullptr) {
            CUDA_TRY(cuda_walk<PACK>(queue, as_given, CUDA_BY_PLACE, as_given.strip));
        }
        spmm_call<real> s = {};
        s.x = strip;
        s.ld_x = s.ld_out = s.d = ld;
        s.packs_out = true;
        real *sums = strip + m->cols * ld;
        for (int l = 0; l < m->levels; ++l) {
            s.out = sums;
            CUDA_TRY(run_level<real>(queue, m->level[l], s));
            sums += m->level[l]->rows * ld;
        }
        s.d = d;
        s.own = own;
        s.ld_own = ld;
        s.post = static_cast<const real *>(a->post.source);
        s.diag = static_cast<const real *>(a->diag.source);
        s.out = static_cast<char *>(a->out.data) + first * own_bytes;
        s.ld_out = a->out.ld;
        s.narrow_out = a->out.dtype == WEFT_DTYPE_BF16;
        s.packs_out = a->out.ld % PACK == 0 && (uintptr_t)a->out.source % 16 == 0;
        s.beta = (real)a->beta;
        CUDA_TRY(run_level<real>(queue, m->level[m->levels], s));
    }
    return CUDA_DONE;
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

template <typename cell> static int run_as_given(cuda_queue *queue, const hal_spmm_run_args *a, const spmm_call<cell> &s)
{
    for (int n = 4; n > 1; n /= 2) {
        if (takes_packs(a->x, cell_bytes(a->x), n) && takes_packs(a->out, cell_bytes(a->out), n)) {
            return n == 4 ? run_classes<cell, 4, 1>(queue, a, s) : run_classes<cell, 2, 1>(queue, a, s);
        }
    }
    return s.d <= CUDA_WARP ? run_classes<cell, 1, 1>(queue, a, s) : run_classes<cell, 1, 3>(queue, a, s);
}

/* Products with factors would be rounded to bfloat16 in a strip. */
static int run(cuda_queue *queue, const hal_spmm_run_args *a, const spmm_call<cuda_bf16> &s)
{
    return run_as_given(queue, a, s);
}

/* Slices of rows copy their strips each: the same bits as of all rows at once. */
template <typename real> static int run(cuda_queue *queue, const hal_spmm_run_args *a, spmm_call<real> s)
{
    const bool packs = takes_packs(a->x, cell_bytes(a->x), PACK) && takes_packs(a->out, cell_bytes(a->out), PACK);
    const int64_t columns = strip_columns<real>(queue, a->matrix->cols, s.d);
    if ((packs && s.pre == nullptr) || s.narrow_out || columns == 0) {
        return run_as_given(queue, a, s);
    }
    s.packs_out = a->out.ld % PACK == 0 && (uintptr_t)a->out.source % 16 == 0;
    return run_strips(queue, a, s, columns);
}

template <typename cell> static int spmm(cuda_queue *queue, const hal_spmm_run_args *a)
{
    const hal_spmm *m = a->matrix;
    if (m->level != nullptr) {
        return run_shared<cell>(queue, a);
    }
    spmm_call<cell> s = {};
    s.offset = m->offset;
    s.wide = m->wide;
    s.x = s.own = static_cast<const cell *>(a->x.source);
    s.ld_x = s.ld_own = a->x.ld;
    s.pre = static_cast<const cuda_real<cell> *>(a->pre.source);
    s.d = a->out.cols;
    s.post = static_cast<const cuda_real<cell> *>(a->post.source);
    s.diag = static_cast<const cuda_real<cell> *>(a->diag.source);
    s.out = a->out.data;
    s.ld_out = a->out.ld;
    s.narrow_out = a->out.dtype == WEFT_DTYPE_BF16;
    s.packs_out = true;
    s.beta = (cuda_real<cell>)a->beta;
    return run(queue, a, s);
}

CUDA_OP(spmm_run, CUDA_BY_DATA, x, spmm, out)
