/*
 * hal/cuda/kernels/gemm.cu: products of matrices, c = alpha op(a) op(b) + beta c + bias. cuBLAS makes them where the
 * machine has it and operands are of one type (device/cuda_blas.h): three to four times as fast, narrow ones too. The
 * others are made here:
 *
 *  a block of 256 threads makes a tile of c, 4 x 4 elements a thread: 64 x 64, or for few columns 128 x 32 or 256 x 16;
 *  16 terms at a time of both operands go through shared memory, in the type of the sums
 *
 * Where c has few tiles and many terms, the gradient of a weight over all vertices, terms are cut into pieces whose
 * sums are added in their order by a second kernel. Tiles and pieces are functions of the shape alone. Transposes are
 * strides.
 */
#include <assert.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

enum { TERMS = 16, SIDE = 4 /* of a thread's elements */ };
static const int64_t PIECE_TERMS = 256;  /* of a piece, at least */
static const int64_t ENOUGH_BLOCKS = 256;

/* Element (i, j) is data[i * down + j * across]. */
template <typename cell> struct operand {
    const cell *data;
    int64_t down, across;
};

template <typename cell> static operand<cell> operand_of(const hal_mat &mat, bool transposed)
{
    return {static_cast<const cell *>(mat.source), transposed ? 1 : mat.ld, transposed ? mat.ld : 1};
}

template <typename C, typename sum_type> struct result {
    cuda_mat<C> c;
    const cuda_real<C> *bias; /* may be NULL */
    sum_type alpha, beta;

    __device__ void put(int64_t i, int64_t j, sum_type sum) const
    {
        sum_type value = alpha * sum;
        value += beta == 0 ? 0 : beta * (sum_type)cuda_load(*c.at(i, j));
        value += bias != nullptr ? (sum_type)bias[j] : 0;
        cuda_store(c.at(i, j), (cuda_real<C>)value);
    }
};

/* Terms [first, first + TERMS) of an operand's rows from `row` on; what lies outside are zeros. Neighbouring threads
 * read neighbouring elements. */
template <int ROWS, typename cell, typename sum_type>
static __device__ void load_tile(const operand<cell> &from, int64_t row, int64_t rows, int64_t first, int64_t end,
                                 sum_type (*tile)[ROWS])
{
    for (int at = (int)threadIdx.x; at < ROWS * TERMS; at += CUDA_BLOCK) {
        const int term = from.across == 1 ? at % TERMS : at / ROWS;
        const int line = from.across == 1 ? at / TERMS : at % ROWS;
        const bool inside = row + line < rows && first + term < end;
        tile[term][line] =
            inside ? (sum_type)cuda_load(from.data[(row + line) * from.down + (first + term) * from.across]) : 0;
    }
}

/* a: rows of c; b: columns of c, so that both are rows times terms. `partial`: [pieces, m, n], or NULL. */
template <int M, int N, typename A, typename B, typename C, typename sum_type>
__global__ void __launch_bounds__(CUDA_BLOCK)
    gemm_kernel(operand<A> a, operand<B> b, result<C, sum_type> to, int64_t terms, int64_t piece, sum_type *partial)
{
    __shared__ sum_type left[TERMS][M];
    __shared__ sum_type right[TERMS][N];
    const int64_t row = (int64_t)blockIdx.x * M;
    const int64_t col = (int64_t)blockIdx.y * N;
    const int64_t begin = (int64_t)blockIdx.z * piece;
    const int64_t end = begin + piece < terms ? begin + piece : terms;
    const int i = (int)threadIdx.x / (N / SIDE) * SIDE;
    const int j = (int)threadIdx.x % (N / SIDE) * SIDE;
    sum_type sum[SIDE][SIDE] = {};
    for (int64_t first = begin; first < end; first += TERMS) {
        load_tile<M>(a, row, to.c.rows, first, end, left);
        load_tile<N>(b, col, to.c.cols, first, end, right);
        __syncthreads();
        for (int t = 0; t < TERMS; ++t) {
            for (int y = 0; y < SIDE; ++y) {
                for (int x = 0; x < SIDE; ++x) {
                    sum[y][x] += left[t][i + y] * right[t][j + x];
                }
            }
        }
        __syncthreads();
    }
    for (int y = 0; y < SIDE; ++y) {
        for (int x = 0; x < SIDE; ++x) {
            if (row + i + y >= to.c.rows || col + j + x >= to.c.cols) {
                continue;
            }
            if (partial == nullptr) {
                to.put(row + i + y, col + j + x, sum[y][x]);
            } else {
                partial[((int64_t)blockIdx.z * to.c.rows + row + i + y) * to.c.cols + col + j + x] = sum[y][x];
            }
        }
    }
}

template <typename C, typename sum_type>
__global__ void gemm_rest(result<C, sum_type> to, int pieces, const sum_type *partial)
{
    const int64_t elements = to.c.rows * to.c.cols;
    for (int64_t at = cuda_first(); at < elements; at += cuda_stride()) {
        double sum = 0.0;
        for (int p = 0; p < pieces; ++p) {
            sum += (double)partial[p * elements + at];
        }
        to.put(at / to.c.cols, at % to.c.cols, (sum_type)sum);
    }
}

enum { TILE_ELEMENTS = 64 * 64 /* of every shape of tiles */ };

/* As many pieces as make enough blocks, each of so many terms at least. */
size_t cuda_scratch_gemm(int64_t rows, int64_t cols, int64_t terms, bool in_f64)
{
    const double by_blocks = (double)ENOUGH_BLOCKS * TILE_ELEMENTS;
    const double by_terms = (double)rows * (double)cols * (double)(terms / PIECE_TERMS);
    return (size_t)(by_blocks < by_terms ? by_blocks : by_terms) * (in_f64 ? sizeof(double) : sizeof(float));
}

template <int M, int N, typename A, typename B, typename C, typename sum_type>
static int gemm_tiles(cuda_queue *queue, const hal_gemm_args *a)
{
    const int64_t terms = a->trans_a ? a->a.rows : a->a.cols;
    const int64_t down = cuda_pieces(a->c.rows, M);
    const int64_t across = cuda_pieces(a->c.cols, N);
    const int64_t wanted = down * across < ENOUGH_BLOCKS ? ENOUGH_BLOCKS / (down * across) : 1;
    const int64_t most = terms / PIECE_TERMS < wanted ? terms / PIECE_TERMS : wanted;
    const int64_t piece = cuda_pieces(cuda_pieces(terms, most > 1 ? most : 1), TERMS) * TERMS;
    const int64_t pieces = piece > 0 ? cuda_pieces(terms, piece) : 1;
    const operand<A> left = operand_of<A>(a->a, a->trans_a);
    const operand<B> right = operand_of<B>(a->b, !a->trans_b);
    const result<C, sum_type> to = {cuda_mat_of<C>(a->c), cuda_data<cuda_real<C>>(a->bias), (sum_type)a->alpha,
                                    (sum_type)a->beta};
    void *scratch = nullptr;
    static_assert(M * N == TILE_ELEMENTS, "scratch memory is foretold by the size of tiles");
    if (across > 65535) {
        return CUDA_ERROR_SHAPE;
    }
    if (pieces > 1) {
        const size_t bytes = (size_t)(pieces * a->c.rows * a->c.cols) * sizeof(sum_type);
        assert(bytes <= cuda_scratch_gemm(a->c.rows, a->c.cols, terms, sizeof(sum_type) == sizeof(double)));
        CUDA_TRY(cuda_queue_scratch(queue, bytes, &scratch));
    }
    CUDA_TRY(cuda_launch_teams(queue, {down, CUDA_BLOCK, (unsigned)across, (unsigned)pieces},
                               gemm_kernel<M, N, A, B, C, sum_type>, left, right, to, terms, piece,
                               static_cast<sum_type *>(scratch)));
    if (pieces > 1) {
        return cuda_launch(queue, cuda_lines(queue, a->c.rows * a->c.cols), gemm_rest<C, sum_type>, to, (int)pieces,
                           static_cast<const sum_type *>(scratch));
    }
    return CUDA_DONE;
}

template <typename A, typename B, typename C, typename sum_type>
static int gemm_shape(cuda_queue *queue, const hal_gemm_args *a)
{
    return a->c.cols <= 16   ? gemm_tiles<256, 16, A, B, C, sum_type>(queue, a)
           : a->c.cols <= 32 ? gemm_tiles<128, 32, A, B, C, sum_type>(queue, a)
                             : gemm_tiles<64, 64, A, B, C, sum_type>(queue, a);
}

template <typename A, typename B> static int gemm_result(cuda_queue *queue, const hal_gemm_args *a)
{
    return a->c.dtype == WEFT_DTYPE_BF16 ? gemm_shape<A, B, cuda_bf16, float>(queue, a)
                                         : gemm_shape<A, B, float, float>(queue, a);
}

template <typename A> static int gemm_right(cuda_queue *queue, const hal_gemm_args *a)
{
    return a->b.dtype == WEFT_DTYPE_BF16 ? gemm_result<A, cuda_bf16>(queue, a) : gemm_result<A, float>(queue, a);
}

/* ---- by cuBLAS --------------------------------------------------------------------------------------------------- */

/* c = beta c + bias, before the product is added to it. */
template <typename cell> struct biased {
    typedef cuda_real<cell> real;
    cuda_mat<cell> c;
    const real *bias;
    real beta;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> to = {};
        if (beta != (real)0) {
            to = cuda_get<N>(c.at(i, j), n);
        }
        const cuda_pack<real, N> more = cuda_get_any<N>(bias + j, n);
        for (int k = 0; k < N; ++k) {
            const real old = beta == (real)0 ? (real)0 : beta * cuda_load(to.at[k]);
            cuda_store(&to.at[k], old + more.at[k]);
        }
        cuda_put(c.at(i, j), to, n);
    }
};

template <typename cell> static int add_bias(cuda_queue *queue, const hal_gemm_args *a)
{
    typedef cuda_real<cell> real;
    const biased<cell> f = {cuda_mat_of<cell>(a->c), cuda_data<const real>(a->bias), (real)a->beta};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.c);
}

static cuda_product product_of(const hal_gemm_args *a)
{
    cuda_product p = {};
    p.a = a->a.source;
    p.b = a->b.source;
    p.c = a->c.data;
    p.from = a->a.dtype;
    p.to = a->c.dtype;
    p.trans_a = a->trans_a;
    p.trans_b = a->trans_b;
    p.m = a->c.rows;
    p.n = a->c.cols;
    p.k = a->trans_a ? a->a.rows : a->a.cols;
    p.lda = a->a.ld;
    p.ldb = a->b.ld;
    p.ldc = a->c.ld;
    p.alpha = a->alpha;
    p.beta = a->bias.data != nullptr ? 1.0 : a->beta;
    return p;
}

static bool is_for_library(cuda_queue *queue, const hal_gemm_args *a, const cuda_product *product)
{
    const bool sums_wider = a->accumulate == WEFT_DTYPE_F64 && a->c.dtype != WEFT_DTYPE_F64;
    const bool one_type = a->a.dtype == a->b.dtype && (a->c.dtype == a->a.dtype || a->c.dtype == WEFT_DTYPE_F32);
    return !sums_wider && one_type && cuda_blas_takes(&queue->blas, queue->stream, product);
}

static int by_library(cuda_queue *queue, const hal_gemm_args *a, const cuda_product *product)
{
    if (a->bias.data != nullptr) {
        CUDA_TRY(CUDA_BY_DATA(a->c.dtype, add_bias, queue, a));
    }
    return cuda_blas_multiply(queue->blas, product);
}

int cuda_run_gemm(cuda_queue *queue, const hal_gemm_args *a)
{
    if (cuda_empty(a->c)) {
        return CUDA_DONE;
    }
    const cuda_product product = product_of(a);
    if (is_for_library(queue, a, &product)) {
        return by_library(queue, a, &product);
    }
    if (a->c.dtype == WEFT_DTYPE_F64) {
        return gemm_shape<double, double, double, double>(queue, a);
    }
    if (a->accumulate == WEFT_DTYPE_F64 && a->a.dtype == WEFT_DTYPE_F32 && a->b.dtype == WEFT_DTYPE_F32 &&
        a->c.dtype == WEFT_DTYPE_F32) {
        return gemm_shape<float, float, float, double>(queue, a);
    }
    return a->a.dtype == WEFT_DTYPE_BF16 ? gemm_right<cuda_bf16>(queue, a) : gemm_right<float>(queue, a);
}
