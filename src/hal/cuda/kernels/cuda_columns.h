/*
 * hal/cuda/kernels/cuda_columns.h: rows of a matrix walked down its columns: what is known of a column is read once for
 * many rows, and a thread has several rows in flight before it uses the first.
 *
 *      a block: a strip of `lanes` threads, each N neighbours of a row, 256 / lanes rows at a time
 *      grid: strips, then chunks of rows, so that blocks side by side read rows whole
 *
 * cuda_down makes something of each cell. cuda_columns adds over the rows of each column, in double, the same bits
 * every time: a sum a chunk, which a second kernel adds, a block 8 columns x 32 chunks at a time. Lines of a block take
 * rows, and chunks, in turn and are joined by halves: who adds what is a function of the shape alone, and of N. What
 * becomes of the cells says a struct:
 *
 *  template <typename cell> struct products {
 *      enum { SUMS = 1 };                                                                   of cuda_columns
 *      template <int N> using column = cuda_no_column;                                      read once of N columns
 *      template <int N> struct cells { cuda_held<cell, N> x, y; };                          read of N cells of a row
 *      cuda_mat<cell> x, y;
 *      double *out;
 *      template <int N> __device__ cuda_no_column of(int64_t j) const { return {}; }        columns j .. j + N - 1
 *      template <int N> __device__ cells<N> read(int64_t i, int64_t j) const                no branches
 *      { return {cuda_hold<N>(x.at(i, j)), cuda_hold<N>(y.at(i, j))}; }
 *      template <int N> __device__ void take(int64_t i, int64_t j, const cuda_no_column &, const cells<N> &in,
 *                                            double (&sum)[SUMS * N]) const                 of cuda_down: without sums
 *      {
 *          const cuda_pack<cell, N> a = in.x.cells(), b = in.y.cells();
 *          for (int k = 0; k < N; ++k) sum[k] += cuda_load(a.at[k]) * cuda_load(b.at[k]);
 *      }
 *      __device__ void finish(int64_t j, const double *sum) const { out[j] = sum[0]; }      of cuda_columns
 *  };
 *  const products<cell> f = {x, y, out};
 *  return cuda_columns<CUDA_DOWN<cell>>(queue, f, f.x, f.y);        shape of the first; all that is read or written
 */
#pragma once

#include <string.h>

#include "hal/cuda/kernels/cuda_row.h"
#include "hal/cuda/kernels/cuda_walk.h"

static const int64_t CUDA_COLUMN_ROWS = 128;   /* of a chunk, at least */
static const int64_t CUDA_COLUMN_CHUNKS = 512; /* of sums, at most */
static constexpr int CUDA_COLUMN_FEW = 8;      /* columns of a block that adds chunks */
static constexpr int CUDA_COLUMN_FLIGHT = 4;   /* rows that a thread reads before it uses them */
static const int64_t CUDA_COLUMN_TURN = 64;    /* rows that chunks are multiples of, so that few are read alone */

/* Cells of a row that a thread takes. */
template <typename cell> static constexpr int CUDA_DOWN = sizeof(cell) == 8 ? 2 : 4;

/* N cells as they were loaded. What is taken apart at once is waited for at once, before the next load is made. */
template <typename cell, int N> struct alignas(sizeof(cell) * N) cuda_held {
    uint32_t word[sizeof(cell) * N / 4];

    __device__ cuda_pack<cell, N> cells() const
    {
        cuda_pack<cell, N> made;
        memcpy(&made, word, sizeof made);
        return made;
    }
};

template <typename cell> struct cuda_held<cell, 1> {
    cell only;

    __device__ cuda_pack<cell, 1> cells() const
    {
        return {{only}};
    }
};

/* From an aligned address, as one load. */
template <int N, typename cell> static __device__ inline cuda_held<cell, N> cuda_hold(const cell *from)
{
#if WEFT_CUDA_SHIM
    cuda_held<cell, N> made;
    memcpy(&made, from, sizeof made);
    return made;
#else
    return *reinterpret_cast<const cuda_held<cell, N> *>(from);
#endif
}

/* Where nothing is known of a column. */
struct cuda_no_column {
};

/* What is made of the cells of one matrix alone. */
template <typename cell> struct cuda_one_matrix {
    template <int N> using column = cuda_no_column;
    template <int N> using cells = cuda_held<cell, N>;
    cuda_mat<cell> x;

    template <int N> __device__ cuda_no_column of(int64_t) const
    {
        return {};
    }
    template <int N> __device__ cuda_held<cell, N> read(int64_t i, int64_t j) const
    {
        return cuda_hold<N>(x.at(i, j));
    }
};

/* What the lines of a block have of each column, in the first line. */
template <int SUMS> static __device__ inline void cuda_join_lines(double (&sum)[SUMS], unsigned lanes)
{
    __shared__ double all[SUMS][CUDA_BLOCK];
    const unsigned t = threadIdx.x;
    for (int s = 0; s < SUMS; ++s) {
        all[s][t] = sum[s];
    }
    __syncthreads();
    for (unsigned half = CUDA_BLOCK / 2; half >= lanes; half /= 2) {
        for (int s = 0; s < SUMS && t < half; ++s) {
            all[s][t] += all[s][t + half];
        }
        __syncthreads();
    }
    for (int s = 0; s < SUMS; ++s) {
        sum[s] = all[s][t];
    }
}

/* use(i, cells) for rows begin, begin + step, ... below end. */
template <int N, typename F, typename Use>
static __device__ inline void cuda_rows_down(const F &f, int64_t begin, int64_t end, int64_t step, int64_t j, Use use)
{
    typedef typename F::template cells<N> cells;
    int64_t i = begin;
    for (; i + (CUDA_COLUMN_FLIGHT - 1) * step < end; i += CUDA_COLUMN_FLIGHT * step) {
        cells in[CUDA_COLUMN_FLIGHT];
        for (int r = 0; r < CUDA_COLUMN_FLIGHT; ++r) {
            in[r] = f.template read<N>(i + r * step, j);
        }
        for (int r = 0; r < CUDA_COLUMN_FLIGHT; ++r) {
            use(i + r * step, in[r]);
        }
    }
    for (; i < end; i += step) {
        use(i, f.template read<N>(i, j));
    }
}

/* Who walks where: a block a strip of a chunk. */
struct cuda_down_place {
    int64_t rows, cols, chunk;
    unsigned strips;
    cuda_row_team team;

    __device__ int64_t block_chunk() const
    {
        return blockIdx.x / strips;
    }
    /* The first column of this thread's, of N. */
    template <int N> __device__ int64_t column() const
    {
        return ((int64_t)(blockIdx.x % strips) * team.lanes + team.lane()) * N;
    }
};

template <typename F, int N, typename Use>
static __device__ inline void cuda_down_chunk(const F &f, const cuda_down_place &place, Use use)
{
    const int64_t j = place.template column<N>();
    const int64_t begin = place.block_chunk() * place.chunk;
    const int64_t end = begin + place.chunk < place.rows ? begin + place.chunk : place.rows;
    if (j < place.cols) {
        const typename F::template column<N> of = f.template of<N>(j);
        cuda_rows_down<N>(f, begin + (threadIdx.x >> place.team.bits), end, CUDA_BLOCK >> place.team.bits, j,
                          [&](int64_t i, const typename F::template cells<N> &in) { use(i, j, of, in); });
    }
}

template <typename F, int N> __global__ void __launch_bounds__(CUDA_BLOCK) cuda_down_kernel(F f, cuda_down_place place)
{
    cuda_down_chunk<F, N>(
        f, place, [&](int64_t i, int64_t j, const auto &of, const auto &in) { f.template take<N>(i, j, of, in); });
}

template <typename F, int N>
__global__ void __launch_bounds__(CUDA_BLOCK) cuda_column_chunks(F f, cuda_down_place place, double *partial)
{
    double sum[F::SUMS * N] = {};
    cuda_down_chunk<F, N>(
        f, place, [&](int64_t i, int64_t j, const auto &of, const auto &in) { f.template take<N>(i, j, of, in, sum); });
    cuda_join_lines(sum, (unsigned)place.team.lanes);
    const int64_t j = place.template column<N>();
    for (int s = 0; s < F::SUMS && (int)threadIdx.x < place.team.lanes && j < place.cols; ++s) {
        for (int k = 0; k < N; ++k) {
            partial[(place.block_chunk() * F::SUMS + s) * place.cols + j + k] = sum[s * N + k];
        }
    }
}

template <typename F>
__global__ void __launch_bounds__(CUDA_BLOCK)
    cuda_column_rest(F f, int64_t cols, int chunks, cuda_row_team team, const double *partial)
{
    const int64_t j = (int64_t)blockIdx.x * team.lanes + team.lane();
    double sum[F::SUMS] = {};
    const int line = (int)threadIdx.x >> team.bits;
    const int lines = CUDA_BLOCK >> team.bits;
    const int own = j < cols ? (chunks - line + lines - 1) >> (8 - team.bits) : 0;
    CUDA_UNROLL
    for (int k = 0; k < own; ++k) {
        for (int s = 0; s < F::SUMS; ++s) {
            sum[s] += partial[((int64_t)(line + k * lines) * F::SUMS + s) * cols + j];
        }
    }
    cuda_join_lines(sum, (unsigned)team.lanes);
    if ((int)threadIdx.x < team.lanes && j < cols) {
        f.finish(j, sum);
    }
}

/* Whether rows are packs of N, whole ones. */
template <int N, typename cell, typename... Others>
static inline bool cuda_down_packs(const cuda_mat<cell> &shape, const Others &...others)
{
    return shape.cols % N == 0 && (cuda_takes_packs<N>(shape, false) && ... && cuda_takes_packs<N>(others, false));
}

template <int N> static inline cuda_down_place cuda_down_place_of(int64_t rows, int64_t cols, int64_t chunk)
{
    const cuda_row_team team = cuda_row_team_of(cuda_pieces(cols, N));
    return {rows, cols, chunk, (unsigned)cuda_pieces(cols, (int64_t)team.lanes * N), team};
}

static inline cuda_grid cuda_down_grid(const cuda_down_place &place)
{
    return {cuda_pieces(place.rows, place.chunk) * place.strips, CUDA_BLOCK};
}

template <int N, typename F> int cuda_down_by(cuda_queue *queue, const F &f, int64_t rows, int64_t cols)
{
    const cuda_down_place place = cuda_down_place_of<N>(rows, cols, CUDA_COLUMN_ROWS);
    return cuda_launch(queue, cuda_down_grid(place), cuda_down_kernel<F, N>, f, place);
}

/* Over the cells of `shape`, which is not empty. */
template <int N, typename F, typename cell, typename... Others>
int cuda_down(cuda_queue *queue, const F &f, const cuda_mat<cell> &shape, const Others &...others)
{
    return cuda_down_packs<N>(shape, others...) ? cuda_down_by<N>(queue, f, shape.rows, shape.cols)
                                                : cuda_down_by<1>(queue, f, shape.rows, shape.cols);
}

static inline int64_t cuda_column_chunks_of(int64_t rows)
{
    const int64_t wanted = cuda_pieces(rows, CUDA_COLUMN_ROWS);
    return wanted < CUDA_COLUMN_CHUNKS ? wanted : CUDA_COLUMN_CHUNKS;
}

/* Of scratch memory. */
static inline size_t cuda_column_bytes(int64_t rows, int64_t cols, int sums)
{
    const int64_t chunks = cuda_column_chunks_of(rows);
    return (size_t)((chunks > 0 ? chunks : 1) * sums * cols) * sizeof(double);
}

template <int N, typename F> int cuda_columns_by(cuda_queue *queue, const F &f, int64_t rows, int64_t cols)
{
    void *scratch = nullptr;
    const int64_t most = cuda_column_chunks_of(rows);
    const int64_t turns = most > 0 ? cuda_pieces(rows, most * CUDA_COLUMN_TURN) : 1;
    const cuda_down_place place = cuda_down_place_of<N>(rows, cols, turns * CUDA_COLUMN_TURN);
    const cuda_row_team team = cuda_row_team_of(cols < CUDA_COLUMN_FEW ? cols : CUDA_COLUMN_FEW);
    CUDA_TRY(cuda_queue_scratch(queue, cuda_column_bytes(rows, cols, F::SUMS), &scratch));
    double *partial = static_cast<double *>(scratch);
    if (rows > 0) {
        CUDA_TRY(cuda_launch_teams(queue, cuda_down_grid(place), cuda_column_chunks<F, N>, f, place, partial));
    }
    return cuda_launch_teams(queue, {cuda_pieces(cols, team.lanes), CUDA_BLOCK}, cuda_column_rest<F>, f, cols,
                             (int)cuda_pieces(rows, place.chunk), team, partial);
}

/* cols = 0: nothing; rows = 0: finish with zeros. */
template <int N, typename F, typename cell, typename... Others>
int cuda_columns(cuda_queue *queue, const F &f, const cuda_mat<cell> &shape, const Others &...others)
{
    if (shape.cols <= 0) {
        return CUDA_DONE;
    }
    return cuda_down_packs<N>(shape, others...) ? cuda_columns_by<N>(queue, f, shape.rows, shape.cols)
                                                : cuda_columns_by<1>(queue, f, shape.rows, shape.cols);
}
