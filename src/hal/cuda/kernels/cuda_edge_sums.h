/*
 * hal/cuda/kernels/cuda_edge_sums.h: sums over the edges of rows whose terms need a number for each edge and head
 * first.
 *
 *      lanes of a warp     (edge 0: head 0 head 0 head 1 head 1 ..) (edge 1: head 0 ..)     a team of lanes an edge
 *      cells of a lane     N columns side by side, in S strips of its head
 *
 * A warp has a row and a group of heads, a head a power of two of lanes. Lanes first take an edge each, 32 at a time:
 * its other end, and which heads its dropout keeps. Teams then take these edges in turn, a few of them loaded before
 * the first is used: a lane holds its columns of the other end's row, lanes of a head add up what a score needs of all
 * columns, each of them works out the edge's number, and its columns are added from the registers they are in. So a row
 * of x is read once, and nothing is kept for an edge. A row of more than CUDA_LONG_ROW edges has a block, whose warps
 * divide it. Heads of more columns than a warp has cells are divided too, by the grid, and their scores read rows once
 * more.
 */
#pragma once

#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_team.h"
#include "hal/op_args.h"

/* Loops over registers. */
#ifdef __CUDACC__
#define EDGE_FLAT _Pragma("unroll")
#else
#define EDGE_FLAT
#endif

/* A number that the compiler knows nothing of: what is worked out from it at the ends of a row is not kept in registers
 * while edges are added. */
static __device__ inline int edge_again(int x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* Summed by head; what columns need besides. */
template <typename real> struct edge_pair {
    real sum, other;
};

/* A matrix in device memory whose rows are found by 32-bit numbers. */
template <typename real> struct edge_mat {
    real *data;
    int64_t bytes; /* from row to row; 0: the same row everywhere */

    __device__ real *at(int64_t i, int64_t j) const
    {
        return reinterpret_cast<real *>(reinterpret_cast<char *>(data + j) + (uint64_t)(uint32_t)i * (uint64_t)bytes);
    }
};

template <typename real> static inline edge_mat<real> edge_mat_of(const hal_mat &mat)
{
    return {static_cast<real *>(mat.data), mat.rows > 1 ? mat.ld * (int64_t)sizeof(real) : 0};
}

/* What a row, or the other end of an edge, has for a head where an operation loads nothing. */
struct edge_nothing {
};

/* What an operation says of itself; it derives from this and hides what it has. Row r is summed, u the other end of an
 * edge. weigh has no default. */
template <typename T> struct edge_op {
    typedef T real;
    typedef edge_nothing row_head, edge_head;
    typedef cuda_sum join; /* of the numbers that are summed by head */
    enum {
        ROW = 0,     /* matrices of which columns of row r are needed */
        EDGE = 0,    /* and of row u */
        DOTS = 0,    /* sums over a head's columns that weigh an edge */
        COLUMNS = 0, /* sums over edges a column */
        KEEPS = 0,   /* edges are dropped: the operation has a cuda_mask `mask` */
        FROM_ROW = 0 /* rows are sources of edges, not targets */
    };
    static __device__ real none()
    {
        return 0;
    }
    __host__ __device__ edge_mat<real> of_row(int) const
    {
        return {};
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return {};
    }
    /* row_head at_row(r, h) and edge_head at_edge(u, h), types of the operation: what is loaded for a head. */
    __device__ edge_nothing at_row(int64_t, int) const
    {
        return {};
    }
    __device__ edge_nothing at_edge(int64_t, int) const
    {
        return {};
    }
    /* What a column adds to dots; nothing where all of the row's cells are 0. */
    __device__ void dot(real *, const real *, const real *) const
    {
    }
    /* edge_pair<real> weigh(row_head, edge_head, dots, kept): of an edge and a head.
     * What the edge adds to sums in a column. */
    __device__ void term(real *, const edge_pair<real> &, const real *, const real *) const
    {
    }
    __device__ void finish_head(int64_t, int, real) const
    {
    }
    /* `which` of the sums of a column. */
    __device__ void finish_column(int64_t, int64_t, int, real) const
    {
    }
};

struct edge_rows {
    const int64_t *offset;
    const int32_t *column;
    int64_t rows, entries, self;
    int heads, d;
    int lanes;  /* of a head, a power of two */
    int bits;   /* which one */
    int group;  /* heads of a warp */
    int chunks; /* of a head's columns */
    bool wide;  /* a row's blocks take a chunk each */
    bool block; /* a row has a block */
};

static inline edge_rows edge_rows_of(const hal_attention &how, const hal_mat &offset, const hal_mat &column,
                                     int64_t rows, int64_t cols)
{
    edge_rows e = {};
    e.offset = static_cast<const int64_t *>(offset.source);
    e.column = static_cast<const int32_t *>(column.source);
    e.rows = rows;
    e.entries = column.rows;
    e.self = how.self;
    e.heads = how.heads;
    e.d = (int)(cols / how.heads);
    return e;
}

/* What kernels are compiled for. */
enum {
    EDGE_DROPS = 1, /* edges are dropped */
    EDGE_WIDE = 2   /* dots are of more columns than a lane has cells for */
};

/* What the other ends of edges have for each head, side by side: gradients' at_target(v, h). */
template <typename G>
__global__ void edge_targets_kernel(G gradients, typename G::of_target *to, int64_t count, int heads)
{
    for (int64_t at = cuda_first(); at < count; at += cuda_stride()) {
        to[at] = gradients.at_target(at / heads, (int)(at % heads));
    }
}

template <typename G> size_t edge_target_bytes(int64_t rows, int64_t heads)
{
    return (size_t)(rows * heads) * sizeof(typename G::of_target);
}

/* [out] to  [rows, heads] in scratch memory. */
template <typename G>
int edge_targets(cuda_queue *queue, const G &gradients, int64_t rows, int heads, typename G::of_target **to)
{
    void *scratch = nullptr;
    const int64_t count = rows * heads;
    if (count == 0) {
        return CUDA_DONE;
    }
    CUDA_TRY(cuda_queue_scratch(queue, edge_target_bytes<G>(rows, heads), &scratch));
    *to = static_cast<typename G::of_target *>(scratch);
    return cuda_launch(queue, cuda_lines(queue, count), edge_targets_kernel<G>, gradients, *to, count, heads);
}

/* Cells that are loaded at once. */
template <typename real, int N> struct alignas(sizeof(real) * N) edge_pack {
    real at[N];
};

/* Where a lane stands. */
template <int N, int S> struct edge_place {
    int team;  /* lanes of an edge, a power of two */
    int teams; /* of the warp */
    int own;   /* the lane's */
    int group; /* the first head of the warp */
    int heads; /* of the warp */
    int head;  /* of the lane: the last one for lanes that have none */
    int lane;  /* of the head */
    int first; /* column of the head's chunk */
    int from,
        to[S];  /* the lane's column in the head, and how far strips are from it; the last ones where it has none */
    bool tells; /* of the team that tells the sums, with a head of its own */

    /* Of cell c. */
    static __device__ int column(const edge_rows &e, int first_of_lane, int c)
    {
        return first_of_lane + (c / N << e.bits) * N + c % N;
    }
};

template <int N, int S> static __device__ edge_place<N, S> edge_place_of(const edge_rows &e)
{
    edge_place<N, S> p;
    const int chunks = e.wide ? e.chunks : 1;
    int team_bits = e.bits;
    p.group = (int)blockIdx.y / chunks * e.group;
    p.heads = e.heads - p.group < e.group ? e.heads - p.group : e.group;
    while (1 << team_bits < p.heads << e.bits) {
        team_bits += 1;
    }
    p.team = 1 << team_bits;
    p.teams = CUDA_WARP >> team_bits;
    p.own = cuda_lane() >> team_bits;
    const int head = (cuda_lane() & (p.team - 1)) >> e.bits;
    p.head = p.group + (head < p.heads ? head : p.heads - 1);
    p.lane = cuda_lane() & (e.lanes - 1);
    p.first = (int)blockIdx.y % chunks * (e.lanes * N * S);
    const int last = e.d - N;
    EDGE_FLAT
    for (int k = 0; k < S; ++k) {
        const int j = p.column(e, p.first + p.lane * N, k * N);
        const int there = j < last ? j : last;
        p.from = k == 0 ? there : p.from;
        p.to[k] = there - p.from;
    }
    p.tells = p.own == 0 && head < p.heads;
    return p;
}

/* Reads the lane's cells of a row, beginning at `from`. */
template <typename real, int N, int S>
static __device__ inline void edge_load(real (&cells)[N * S], const real *from, const edge_place<N, S> &p)
{
    EDGE_FLAT
    for (int k = 0; k < S; ++k) {
        const edge_pack<real, N> pack = *reinterpret_cast<const edge_pack<real, N> *>(from + p.to[k]);
        EDGE_FLAT
        for (int n = 0; n < N; ++n) {
            cells[k * N + n] = pack.at[n];
        }
    }
}

/* One column of several matrices. */
template <typename real, int M, int C>
static __device__ inline void edge_column(real (&column)[M], const real (&cells)[M][C], int c)
{
    EDGE_FLAT
    for (int m = 0; m < M; ++m) {
        column[m] = cells[m][c];
    }
}

enum {
    EDGE_GRAIN = 8,  /* edges: warps of a block take multiples */
    EDGE_JOINED = 4, /* sums of a block that are joined at once */
    EDGE_CELLS = 16, /* loaded by a lane before the first is used */
    EDGE_WARPS = 2   /* of a block whose warps have rows of their own: one that is done waits for few others */
};

/* The dots of heads with more columns than cells. */
template <typename Op, int N, int D, int R, int E>
static __device__ void edge_wide_dots(const Op &op, const edge_rows &e, int64_t row, int64_t u, int h, int lane,
                                      typename Op::real (&dots)[D])
{
    typedef typename Op::real real;
    typedef edge_pack<real, N> pack;
    for (int j = lane * N; j < e.d; j += e.lanes * N) {
        const int64_t at = (int64_t)h * e.d + j;
        real of_row[R][N], of_edge[E][N];
        EDGE_FLAT
        for (int m = 0; m < R; ++m) {
            *reinterpret_cast<pack *>(of_row[m]) = *reinterpret_cast<const pack *>(op.of_row(m).at(row, at));
        }
        EDGE_FLAT
        for (int m = 0; m < E; ++m) {
            *reinterpret_cast<pack *>(of_edge[m]) = *reinterpret_cast<const pack *>(op.of_edge(m).at(u, at));
        }
        EDGE_FLAT
        for (int n = 0; n < N; ++n) {
            real left[R], right[E];
            edge_column(left, of_row, n);
            edge_column(right, of_edge, n);
            op.dot(dots, left, right);
        }
    }
}

/* Over the warps of a block: finish(k, joined) for own[k], in the lanes of some warp. Every thread of the block comes
 * here. */
template <typename Join, typename real, int COUNT, typename Finish>
static __device__ inline void edge_join_block(Join join, const real (&own)[COUNT],
                                              real (&all)[CUDA_ROWS][EDGE_JOINED][CUDA_WARP], const Finish &finish)
{
    const int warp = (int)(threadIdx.x / CUDA_WARP);
    const int lane = cuda_lane();
    EDGE_FLAT
    for (int first = 0; first < COUNT; first += EDGE_JOINED) {
        EDGE_FLAT
        for (int k = 0; k < EDGE_JOINED && first + k < COUNT; ++k) {
            all[warp][k][lane] = own[first + k];
        }
        __syncthreads();
        if (warp < EDGE_JOINED && first + warp < COUNT) {
            real joined = all[0][warp][lane];
            for (int other = 1; other < CUDA_ROWS; ++other) {
                joined = join(joined, all[other][warp][lane]);
            }
            finish(first + warp, joined);
        }
        __syncthreads();
    }
}

/* Of an operation: sizes of what a lane holds, none of them 0. */
template <typename Op, int N, int S> struct edge_sizes {
    enum {
        C = N * S,
        R = Op::ROW > 0 ? Op::ROW : 1,
        E = Op::EDGE > 0 ? Op::EDGE : 1,
        D = Op::DOTS > 0 ? Op::DOTS : 1,
        K = Op::COLUMNS > 0 ? Op::COLUMNS : 1,
        U = C * E * 4 <= EDGE_CELLS ? 4 : 2, /* edges of a team that are loaded together */
        /* Of a processor, by registers for cells, sums and addresses of single cells. */
        HELD = (int)sizeof(typename Op::real) / 4 *
               (C * (Op::ROW + Op::EDGE * U + Op::COLUMNS + (N == 1 ? 1 : 0)) + U * Op::DOTS),
        BLOCKS = HELD < 24 && sizeof(typename Op::real) == 4   ? 4
                 : HELD < 44 && sizeof(typename Op::real) == 4 ? 3
                 : HELD < 72                                   ? 2
                                                               : 1
    };
};

/* What a lane holds while its warp sums a row. */
template <typename Op, int N, int S> struct edge_sums {
    typedef typename Op::real real;
    typedef edge_sizes<Op, N, S> sizes;
    int64_t row;
    typename Op::row_head head;
    real of_row[sizes::R][sizes::C];
    real by_head[1];
    real columns[sizes::C * sizes::K];
};

/* Adds U edges of each team, the first of them `first` of those that lanes have. WHOLE: there are as many. */
template <typename Op, int N, int S, int HOW, bool WHOLE>
static __device__ __forceinline__ void edge_turn(const Op &op, const edge_rows &e, const edge_place<N, S> &p,
                                                 edge_sums<Op, N, S> &sums, int32_t others, unsigned kept_heads,
                                                 unsigned first, int count)
{
    typedef typename Op::real real;
    typedef edge_sizes<Op, N, S> sizes;
    enum { C = sizes::C, R = sizes::R, E = sizes::E, D = sizes::D, K = sizes::K, U = sizes::U };
    int32_t other[U];
    typename Op::edge_head edge_head[U];
    real of_edge[U][E][C] = {};
    real dots[U][D] = {};
    EDGE_FLAT
    for (int i = 0; i < U; ++i) {
        other[i] = __shfl_sync(CUDA_WHOLE_WARP, others, (int)((first + (unsigned)(i * p.teams)) % CUDA_WARP));
    }
    EDGE_FLAT
    for (int i = 0; i < U; ++i) {
        edge_head[i] = op.at_edge(other[i], p.head);
        EDGE_FLAT
        for (int m = 0; m < Op::EDGE; ++m) {
            edge_load<real, N, S>(of_edge[i][m], op.of_edge(m).at(other[i], (int64_t)p.head * e.d + p.from), p);
        }
    }
    if constexpr (Op::DOTS > 0) {
        if constexpr ((HOW & EDGE_WIDE) != 0) {
            for (int i = 0; i < U; ++i) {
                edge_wide_dots<Op, N, D, R, E>(op, e, sums.row, other[i], p.head, p.lane, dots[i]);
            }
        } else {
            EDGE_FLAT
            for (int i = 0; i < U; ++i) {
                EDGE_FLAT
                for (int c = 0; c < C; ++c) {
                    real left[R], right[E];
                    edge_column(left, sums.of_row, c);
                    edge_column(right, of_edge[i], c);
                    op.dot(dots[i], left, right);
                }
            }
        }
        for (int by = 1; by < e.lanes; by *= 2) {
            EDGE_FLAT
            for (int i = 0; i < U; ++i) {
                EDGE_FLAT
                for (int k = 0; k < D; ++k) {
                    dots[i][k] += __shfl_xor_sync(CUDA_WHOLE_WARP, dots[i][k], by);
                }
            }
        }
    }
    EDGE_FLAT
    for (int i = 0; i < U; ++i) {
        const unsigned at = first + (unsigned)(i * p.teams);
        real kept = (real)1;
        if constexpr ((HOW & EDGE_DROPS) != 0) {
            const unsigned bits = __shfl_sync(CUDA_WHOLE_WARP, kept_heads, (int)(at % CUDA_WARP));
            kept = (bits >> (p.head - p.group) & 1u) != 0 ? (real)op.mask.scale : (real)0;
        }
        const edge_pair<real> pair = op.weigh(sums.head, edge_head[i], dots[i], kept);
        if (WHOLE || at < (unsigned)count) {
            sums.by_head[0] = typename Op::join()(sums.by_head[0], pair.sum);
            EDGE_FLAT
            for (int c = 0; c < C && Op::COLUMNS > 0; ++c) {
                real left[R], right[E];
                edge_column(left, sums.of_row, c);
                edge_column(right, of_edge[i], c);
                op.term(&sums.columns[c * K], pair, left, right);
            }
        }
    }
}

/* The row's numbers; no sums yet. */
template <typename Op, int N, int S>
static __device__ __forceinline__ void edge_begin_row(const Op &op, const edge_rows &e, const edge_place<N, S> &p,
                                                      int64_t row, edge_sums<Op, N, S> &sums)
{
    typedef typename Op::real real;
    const int first = edge_again(p.first + p.lane * N);
    const int head = edge_again(p.head);
    sums.row = row;
    sums.head = op.at_row(row, head);
    sums.by_head[0] = Op::none();
    EDGE_FLAT
    for (int m = 0; m < Op::ROW; ++m) {
        edge_load<real, N, S>(sums.of_row[m], op.of_row(m).at(row, (int64_t)head * e.d + p.from), p);
        EDGE_FLAT
        for (int c = 0; c < N * S; ++c) {
            sums.of_row[m][c] = p.column(e, first, c) < e.d ? sums.of_row[m][c] : (real)0;
        }
    }
    EDGE_FLAT
    for (real &sum : sums.columns) {
        sum = 0;
    }
}

template <typename Op, int N, int S, int HOW>
static __device__ __forceinline__ void edge_sum_row(const Op &op, const edge_rows &e, const edge_place<N, S> &p,
                                                    int64_t row)
{
    typedef typename Op::real real;
    typedef edge_sizes<Op, N, S> sizes;
    enum { C = sizes::C, K = sizes::K, U = sizes::U };
    __shared__ real all[CUDA_ROWS][EDGE_JOINED][CUDA_WARP];
    const int lane = cuda_lane();
    const int64_t listed = e.offset[row + 1] - e.offset[row];
    const int32_t *const column = e.column + e.offset[row];
    int64_t begin = 0;
    int64_t end = listed + (row < e.self ? 1 : 0);
    if (e.block) {
        const int64_t share = (end + CUDA_ROWS * EDGE_GRAIN - 1) / (CUDA_ROWS * EDGE_GRAIN) * EDGE_GRAIN;
        begin = (int64_t)(threadIdx.x / CUDA_WARP) * share;
        end = begin + share < end ? begin + share : end;
    }
    const auto other_of = [&](int64_t edge) {
        const int64_t there = edge < end ? edge : end - 1;
        return there < listed ? column[there] : (int32_t)row;
    };
    int32_t next = begin < end ? other_of(begin + lane) : 0;
    edge_sums<Op, N, S> sums;
    edge_begin_row(op, e, p, row, sums);
    for (; begin < end; begin += CUDA_WARP) {
        const int count = end - begin < CUDA_WARP ? (int)(end - begin) : (int)CUDA_WARP;
        const int32_t others = next;
        unsigned kept_heads = 0;
        if (begin + CUDA_WARP < end) {
            next = other_of(begin + CUDA_WARP + lane);
        }
        if constexpr ((HOW & EDGE_DROPS) != 0) {
            if (lane < count) {
                kept_heads = Op::FROM_ROW ? cuda_kept_heads(op.mask, row, others, p.group, p.heads)
                                          : cuda_kept_heads(op.mask, others, row, p.group, p.heads);
            }
            __syncwarp();
        }
        const int step = U * p.teams;
        int turn = 0;
        for (; turn + step <= count; turn += step) {
            edge_turn<Op, N, S, HOW, true>(op, e, p, sums, others, kept_heads, (unsigned)(turn + p.own), count);
        }
        for (; turn < count; turn += step) {
            edge_turn<Op, N, S, HOW, false>(op, e, p, sums, others, kept_heads, (unsigned)(turn + p.own), count);
        }
    }
    const int first = edge_again(p.first + p.lane * N);
    const int head = edge_again(p.head);
    const auto finish_head = [&](int, real sum) {
        if (p.tells && first == 0) {
            op.finish_head(row, head, sum);
        }
    };
    const auto finish_column = [&](int at, real sum) {
        const int j = p.column(e, first, at / K);
        if (p.tells && j < e.d) {
            op.finish_column(row, (int64_t)head * e.d + j, at % K, sum);
        }
    };
    cuda_join_teams(typename Op::join(), sums.by_head, p.team);
    if constexpr (Op::COLUMNS > 0) {
        cuda_join_teams(cuda_sum(), sums.columns, p.team);
    }
    if (e.block) {
        edge_join_block(typename Op::join(), sums.by_head, all, finish_head);
        if constexpr (Op::COLUMNS > 0) {
            edge_join_block(cuda_sum(), sums.columns, all, finish_column);
        }
        return;
    }
    finish_head(0, sums.by_head[0]);
    EDGE_FLAT
    for (int at = 0; at < C * K && Op::COLUMNS > 0; ++at) {
        finish_column(at, sums.columns[at]);
    }
}

/* Rows of up to CUDA_LONG_ROW edges, a warp each, or the others, a block each: it looks at 32 rows at once. */
template <typename Op, int N, int S, int HOW>
__global__ void __launch_bounds__(CUDA_BLOCK, edge_sizes<Op, N, S>::BLOCKS) edge_sums_kernel(Op op, edge_rows e)
{
    const edge_place<N, S> p = edge_place_of<N, S>(e);
    const int lane = cuda_lane();
    const int span = e.block ? (int)CUDA_WARP : (int)EDGE_WARPS;
    for (int64_t base = (int64_t)blockIdx.x * span; base < e.rows; base += (int64_t)gridDim.x * span) {
        const int64_t row = base + lane;
        const bool there = lane < span && row < e.rows;
        const bool fits = there && (e.offset[row + 1] - e.offset[row] > CUDA_LONG_ROW) == e.block;
        unsigned rows = __ballot_sync(CUDA_WHOLE_WARP, fits ? 1 : 0);
        rows &= e.block ? CUDA_WHOLE_WARP : 1u << threadIdx.x / CUDA_WARP;
        for (int i = 0; i < span; ++i) {
            if ((rows >> i & 1u) != 0) {
                edge_sum_row<Op, N, S, HOW>(op, e, p, base + i);
            }
        }
    }
}

static inline int64_t edge_fewer(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Lanes of a head: as few as its columns fit in, but neighbours that read single cells read 32 bytes. */
template <typename real, int N> static int edge_lanes(int d, int strips)
{
    const int few = cuda_team_lanes(cuda_pieces(d, (int64_t)N * strips));
    const int sector = N > 1 ? 1 : (int)edge_fewer(cuda_team_lanes(d), 32 / (int64_t)sizeof(real));
    return few > sector ? few : sector;
}

template <typename Op, int N, int S, int HOW> int edge_launch_rows(cuda_queue *queue, const Op &op, edge_rows e)
{
    cuda_grid grid = {cuda_pieces(e.rows, EDGE_WARPS), EDGE_WARPS * CUDA_WARP};
    grid.y = (unsigned)cuda_pieces(e.heads, e.group) * (unsigned)(e.wide ? e.chunks : 1);
    CUDA_TRY(cuda_launch_teams(queue, grid, edge_sums_kernel<Op, N, S, HOW>, op, e));
    if (e.entries <= CUDA_LONG_ROW) {
        return CUDA_DONE;
    }
    e.block = true;
    grid.x = edge_fewer(cuda_pieces(e.rows, CUDA_WARP), (int64_t)queue->processors * 128);
    grid.threads = CUDA_BLOCK;
    return cuda_launch_teams(queue, grid, edge_sums_kernel<Op, N, S, HOW>, op, e);
}

template <typename Op, int N, int S> int edge_launch(cuda_queue *queue, const Op &op, edge_rows e)
{
    e.lanes = Op::EDGE > 0 ? edge_lanes<typename Op::real, N>(e.d, S) : 1;
    e.group = (int)edge_fewer(CUDA_WARP / e.lanes, e.heads);
    e.chunks = Op::EDGE > 0 ? (int)cuda_pieces(e.d, (int64_t)e.lanes * N * S) : 1;
    e.wide = Op::COLUMNS > 0 && e.chunks > 1;
    for (e.bits = 0; 1 << e.bits < e.lanes;) {
        e.bits += 1;
    }
    constexpr int DROPS = Op::KEEPS ? EDGE_DROPS : 0;
    constexpr int WIDE = Op::DOTS > 0 && S > 1 ? EDGE_WIDE : 0;
    bool drops = false;
    if constexpr (Op::KEEPS) {
        drops = op.mask.on;
    }
    if (WIDE != 0 && e.chunks > 1) {
        return drops ? edge_launch_rows<Op, N, S, DROPS | WIDE>(queue, op, e)
                     : edge_launch_rows<Op, N, S, WIDE>(queue, op, e);
    }
    return drops ? edge_launch_rows<Op, N, S, DROPS>(queue, op, e) : edge_launch_rows<Op, N, S, 0>(queue, op, e);
}

/* The most strips of a lane. Doubles check floats: one form is enough for them, and kernels take long to compile. */
enum { EDGE_SINGLES = 6, EDGE_PACKS = 2, EDGE_DOUBLES = 2 };

/* One strip where that is all there is: heads of few columns. */
template <typename Op, int N, int S> int edge_launch_strips(cuda_queue *queue, const Op &op, const edge_rows &e)
{
    const int lanes = edge_lanes<typename Op::real, N>(e.d, S);
    return e.d <= lanes * N ? edge_launch<Op, N, 1>(queue, op, e) : edge_launch<Op, N, S>(queue, op, e);
}

template <typename Op> bool edge_takes_packs(const Op &op, const edge_rows &e)
{
    bool takes = e.d % 4 == 0;
    for (int m = 0; m < Op::ROW; ++m) {
        takes = takes && ((uintptr_t)op.of_row(m).data | (uintptr_t)op.of_row(m).bytes) % 16 == 0;
    }
    for (int m = 0; m < Op::EDGE; ++m) {
        takes = takes && ((uintptr_t)op.of_edge(m).data | (uintptr_t)op.of_edge(m).bytes) % 16 == 0;
    }
    return takes;
}

template <typename Op> int cuda_edge_sums(cuda_queue *queue, const Op &op, const edge_rows &e)
{
    if constexpr (Op::EDGE == 0) {
        return edge_launch<Op, 1, 1>(queue, op, e);
    } else {
        if (e.d < 1) { /* heads without columns: loads have no place to go */
            return CUDA_ERROR_SHAPE;
        }
        if constexpr (sizeof(typename Op::real) == sizeof(float)) {
            if (edge_takes_packs(op, e)) {
                return edge_launch_strips<Op, 4, EDGE_PACKS>(queue, op, e);
            }
            return edge_launch_strips<Op, 1, EDGE_SINGLES>(queue, op, e);
        } else {
            return edge_launch<Op, 1, EDGE_DOUBLES>(queue, op, e);
        }
    }
}
