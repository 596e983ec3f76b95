/*
 * hal/cuda/factor/gram.cu: sums of products of rows and of patches, as packed triangles, and the matrix of such a
 * triangle.
 *
 * a block of 256 threads makes a tile of 32 x 32 elements at or below the diagonal, 2 x 2 a thread; 16 rows at a time
 * go through shared memory, each element made by the source: of a matrix, of a subset of its rows, or of a patch
 *
 * Where there are few tiles and many rows, rows are cut into pieces whose sums a second kernel adds in their order.
 * Tiles and pieces are functions of the shape alone. All rows of a matrix are a product, which cuBLAS makes where the
 * machine has it (device/cuda_blas.h).
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"

enum { SIDE = 32, ROWS = 16, PER_THREAD = 2 };
static const int64_t PIECE_ROWS = 512;    /* of a piece, at least */
static const int64_t ENOUGH_BLOCKS = 512; /* above which rows are not cut */

/* Row r of the rows that count, column j; a row that its mask leaves out is zeros. */
template <typename cell> struct matrix_source {
    const cell *x;
    int64_t ld;
    const int32_t *index; /* or NULL */
    const uint8_t *mask;  /* or NULL */

    __device__ cuda_real<cell> at(int64_t r, int64_t j) const
    {
        const int64_t row = index != nullptr ? index[r] : r;
        return mask != nullptr && mask[row] == 0 ? 0 : cuda_load(x[row * ld + j]);
    }
};

template <typename cell> struct patch_source {
    const cell *x;
    int64_t ld;
    const int32_t *index;
    hal_conv_shape shape;
    int64_t down, across; /* output pixels of an image */

    __device__ cuda_real<cell> at(int64_t r, int64_t j) const
    {
        const hal_conv_shape &s = shape;
        const int64_t row = index != nullptr ? index[r] : r;
        const int64_t channel = j / (s.kernel[0] * s.kernel[1]);
        const int64_t ky = j / s.kernel[1] % s.kernel[0];
        const int64_t kx = j % s.kernel[1];
        const int64_t y = row / across % down * s.stride[0] - s.pad[0][0] + ky * s.dilation[0];
        const int64_t col = row % across * s.stride[1] - s.pad[1][0] + kx * s.dilation[1];
        const int64_t image = row / (down * across);
        const bool inside = y >= 0 && y < s.height && col >= 0 && col < s.width;
        if (channel == s.in) { /* the column of a bias */
            return 1;
        }
        return inside ? cuda_load(x[((image * s.height + y) * s.width + col) * ld + channel]) : 0;
    }
};

template <typename real> struct triangle {
    real *packed;
    int64_t n;
    double alpha, beta;

    __device__ void put(int64_t i, int64_t j, double sum) const
    {
        real *to = packed + i * (i + 1) / 2 + j;
        *to = (real)(alpha * sum + (beta == 0 ? 0 : beta * (double)*to));
    }
};

/* The tile's number counts those at or below the diagonal, row of tiles by row of tiles. */
static __device__ inline void tile_place(int64_t number, int64_t *row, int64_t *col)
{
    int64_t down = 0;
    while ((down + 1) * (down + 2) / 2 <= number) {
        ++down;
    }
    *row = down * SIDE;
    *col = (number - down * (down + 1) / 2) * SIDE;
}

/* partial: [pieces, n (n + 1) / 2], or NULL. */
template <typename source, typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    gram_kernel(source from, triangle<real> to, int64_t rows, int64_t piece, real *partial)
{
    __shared__ real left[ROWS][SIDE];
    __shared__ real right[ROWS][SIDE];
    int64_t row = 0;
    int64_t col = 0;
    tile_place((int64_t)blockIdx.x, &row, &col);
    const int64_t begin = (int64_t)blockIdx.y * piece;
    const int64_t end = begin + piece < rows ? begin + piece : rows;
    const int i = (int)threadIdx.x / (SIDE / PER_THREAD) * PER_THREAD;
    const int j = (int)threadIdx.x % (SIDE / PER_THREAD) * PER_THREAD;
    real sum[PER_THREAD][PER_THREAD] = {};
    for (int64_t first = begin; first < end; first += ROWS) {
        for (int at = (int)threadIdx.x; at < ROWS * SIDE; at += CUDA_BLOCK) {
            const int64_t r = first + at / SIDE;
            const int c = at % SIDE;
            left[at / SIDE][c] = r < end && row + c < to.n ? (real)from.at(r, row + c) : 0;
            right[at / SIDE][c] = r < end && col + c < to.n ? (real)from.at(r, col + c) : 0;
        }
        __syncthreads();
        for (int r = 0; r < ROWS; ++r) {
            for (int y = 0; y < PER_THREAD; ++y) {
                for (int x = 0; x < PER_THREAD; ++x) {
                    sum[y][x] += left[r][i + y] * right[r][j + x];
                }
            }
        }
        __syncthreads();
    }
    for (int y = 0; y < PER_THREAD; ++y) {
        for (int x = 0; x < PER_THREAD; ++x) {
            const int64_t down = row + i + y;
            const int64_t across = col + j + x;
            if (down >= to.n || across > down) {
                continue;
            }
            if (partial == nullptr) {
                to.put(down, across, (double)sum[y][x]);
            } else {
                partial[(int64_t)blockIdx.y * (to.n * (to.n + 1) / 2) + down * (down + 1) / 2 + across] = sum[y][x];
            }
        }
    }
}

template <typename real>
__global__ void gram_rest(triangle<real> to, int64_t pieces, const real *partial)
{
    const int64_t elements = to.n * (to.n + 1) / 2;
    for (int64_t at = cuda_first(); at < elements; at += cuda_stride()) {
        double sum = 0;
        for (int64_t p = 0; p < pieces; ++p) {
            sum += (double)partial[p * elements + at];
        }
        to.packed[at] = (real)(to.alpha * sum + (to.beta == 0 ? 0 : to.beta * (double)to.packed[at]));
    }
}

static int64_t tiles_of(int64_t n)
{
    const int64_t side = cuda_pieces(n, SIDE);
    return side * (side + 1) / 2;
}

static int64_t pieces_of(int64_t n, int64_t rows)
{
    const int64_t by_blocks = ENOUGH_BLOCKS / tiles_of(n);
    const int64_t by_rows = rows / PIECE_ROWS;
    const int64_t pieces = by_blocks < by_rows ? by_blocks : by_rows;
    return pieces > 1 ? pieces : 1;
}

/* Of the pieces, or of the whole square that a library makes. */
size_t cuda_scratch_gram(int64_t rows, int64_t n, bool in_f64)
{
    const int64_t pieces = n > 0 ? pieces_of(n, rows) : 1;
    const int64_t elements = pieces > 1 ? pieces * (n * (n + 1) / 2) : 0;
    return (size_t)(elements > n * n ? elements : n * n) * (in_f64 ? sizeof(double) : sizeof(float));
}

template <typename source, typename real>
static int gram_of(cuda_queue *queue, const source &from, const triangle<real> &to, int64_t rows)
{
    const int64_t pieces = pieces_of(to.n, rows);
    const int64_t piece = cuda_pieces(cuda_pieces(rows, pieces), ROWS) * ROWS;
    void *scratch = nullptr;
    if (pieces > 1) {
        CUDA_TRY(cuda_queue_scratch(queue, cuda_scratch_gram(rows, to.n, sizeof(real) == sizeof(double)), &scratch));
    }
    CUDA_TRY(cuda_launch_teams(queue, {tiles_of(to.n), CUDA_BLOCK, (unsigned)pieces}, gram_kernel<source, real>, from, to,
                               rows, piece, static_cast<real *>(scratch)));
    return pieces > 1 ? cuda_launch(queue, cuda_lines(queue, to.n * (to.n + 1) / 2), gram_rest<real>, to, pieces,
                                    static_cast<const real *>(scratch))
                      : CUDA_DONE;
}

template <typename real> __global__ void pack_kernel(triangle<real> to, const real *square)
{
    for (int64_t at = cuda_first(); at < to.n * to.n; at += cuda_stride()) {
        if (at % to.n <= at / to.n) {
            to.put(at / to.n, at % to.n, (double)square[at]);
        }
    }
}

/* Returns true if cuBLAS makes all rows of x times each other. */
static bool is_for_library(cuda_queue *queue, const hal_gram_args *a, cuda_product *product)
{
    *product = {};
    product->a = product->b = a->x.source;
    product->from = a->x.dtype;
    product->to = a->packed.dtype;
    product->trans_a = true;
    product->m = product->n = product->ldc = a->x.cols;
    product->k = a->x.rows;
    product->lda = product->ldb = a->x.ld;
    product->alpha = 1.0;
    return a->index.source == nullptr && a->mask.source == nullptr && a->x.rows > 0 &&
           cuda_blas_takes(&queue->blas, queue->stream, product);
}

template <typename cell> static int gram(cuda_queue *queue, const hal_gram_args *a)
{
    typedef cuda_real<cell> real;
    cuda_product product;
    const int32_t *index = static_cast<const int32_t *>(a->index.source);
    const matrix_source<cell> from = {static_cast<const cell *>(a->x.source), a->x.ld, index,
                                      index != nullptr ? nullptr : static_cast<const uint8_t *>(a->mask.source)};
    const triangle<real> to = {cuda_data<real>(a->packed), a->x.cols, a->alpha, a->beta};
    if (is_for_library(queue, a, &product)) {
        CUDA_TRY(cuda_queue_scratch(queue, (size_t)(to.n * to.n) * sizeof(real), &product.c));
        CUDA_TRY(cuda_blas_multiply(queue->blas, &product));
        return cuda_launch(queue, cuda_lines(queue, to.n * to.n), pack_kernel<real>, to,
                           static_cast<const real *>(product.c));
    }
    return gram_of(queue, from, to, index != nullptr ? a->index.rows : a->x.rows);
}

CUDA_OP(gram, CUDA_BY_DATA, x, gram, packed)

template <typename cell> static int patch_gram(cuda_queue *queue, const hal_patch_gram_args *a)
{
    typedef cuda_real<cell> real;
    const hal_conv_shape &s = a->shape;
    const int64_t down = (s.height + s.pad[0][0] + s.pad[0][1] - s.dilation[0] * (s.kernel[0] - 1) - 1) / s.stride[0] + 1;
    const int64_t across = (s.width + s.pad[1][0] + s.pad[1][1] - s.dilation[1] * (s.kernel[1] - 1) - 1) / s.stride[1] + 1;
    const int64_t images = a->x.rows / (s.height * s.width);
    const int32_t *index = static_cast<const int32_t *>(a->index.source);
    const patch_source<cell> from = {static_cast<const cell *>(a->x.source), a->x.ld, index, s, down, across};
    const int64_t columns = s.in * s.kernel[0] * s.kernel[1] + (s.bias ? 1 : 0);
    const triangle<real> to = {cuda_data<real>(a->packed), columns, a->alpha, a->beta};
    return gram_of(queue, from, to, index != nullptr ? a->index.rows : images * down * across);
}

/* The shape was checked (hal_patch_gram_check). */
CUDA_OP(patch_gram, CUDA_BY_DATA, x, patch_gram, packed)

/* ---- the matrix of a triangle ------------------------------------------------------------------------------------ */

/* One block: each thread adds every 256th element of the diagonal, and the first one adds what they have. */
template <typename real> __global__ void trace_kernel(const real *packed, int64_t n, double *trace)
{
    __shared__ double part[CUDA_BLOCK];
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += CUDA_BLOCK) {
        sum += (double)packed[i * (i + 1) / 2 + i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int i = 0; i < CUDA_BLOCK; ++i) {
            all += part[i];
        }
        *trace = all;
    }
}

template <typename real>
__global__ void unpack_kernel(const real *packed, cuda_mat<real> a, double shift, double relative, const double *trace)
{
    for (int64_t at = cuda_first(); at < a.rows * a.cols; at += cuda_stride()) {
        const int64_t i = at / a.cols;
        const int64_t j = at % a.cols;
        const int64_t down = i > j ? i : j;
        const real x = packed[down * (down + 1) / 2 + i + j - down];
        *a.at(i, j) = i == j ? (real)((double)x + shift + relative * *trace / (double)a.cols) : x;
    }
}

template <typename real> static int unpack(cuda_queue *queue, const hal_unpack_triangle_args *a)
{
    void *trace = nullptr;
    const real *packed = static_cast<const real *>(a->packed.source);
    CUDA_TRY(cuda_queue_scratch(queue, sizeof(double), &trace));
    CUDA_TRY(cuda_launch_teams(queue, {1, CUDA_BLOCK}, trace_kernel<real>, packed, a->a.cols, static_cast<double *>(trace)));
    return cuda_launch(queue, cuda_lines(queue, a->a.rows * a->a.cols), unpack_kernel<real>, packed,
                       cuda_mat_of<real>(a->a), a->shift, a->relative, static_cast<const double *>(trace));
}

CUDA_OP(unpack_triangle, CUDA_BY_REAL, a, unpack, a)
