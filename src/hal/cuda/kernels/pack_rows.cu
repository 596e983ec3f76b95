/*
 * hal/cuda/kernels/pack_rows.cu: rows in messages, a warp a row: the bits of hal/ref/ref_pack_rows.c. Nothing here is
 * fused, so that rounding falls as it does there.
 */
#include "base/philox.h"
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* The 16 random bits of one element. */
static __device__ uint32_t random_bits(const hal_row_rounding &r, int64_t id, int64_t col)
{
    const uint32_t index = r.sender << 20 | (uint32_t)(col / 8);
    return philox_lane16(philox4x32(philox_counter(index, (uint64_t)id, r.purpose, r.epoch), r.seed),
                         (unsigned)(col % 8));
}

static __device__ inline uint16_t bf16_at_random(float x, uint32_t random)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return cuda_finite(x) ? (uint16_t)((bits + random) >> 16) : bf16_from_float(x);
}

/* x / scale to a whole number, up or down at random. */
static __device__ int quantise(float x, float scale, int levels, uint32_t random)
{
    const float part = __fmul_rn((float)random + 0.5f, 0x1p-16f);
    const float q = floorf(__fadd_rn(__fmul_rn(x, 1.0f / scale), part));
    return q > (float)levels ? levels : q < (float)-levels ? -levels : (int)q;
}

struct row_range {
    float low, high, top;
    bool finite;
};

/* In every lane. */
static __device__ row_range range_of(const float *x, int64_t cols)
{
    row_range all = {x[0], x[0], 0.0f, true};
    for (int64_t j = cuda_lane(); j < cols; j += CUDA_WARP) {
        all.finite = all.finite && cuda_finite(x[j]);
        all.top = fabsf(x[j]) > all.top ? fabsf(x[j]) : all.top;
        all.low = x[j] < all.low ? x[j] : all.low;
        all.high = x[j] > all.high ? x[j] : all.high;
    }
    for (int half = CUDA_WARP / 2; half > 0; half /= 2) {
        const float top = __shfl_xor_sync(0xffffffffu, all.top, half);
        const float low = __shfl_xor_sync(0xffffffffu, all.low, half);
        const float high = __shfl_xor_sync(0xffffffffu, all.high, half);
        all.top = top > all.top ? top : all.top;
        all.low = low < all.low ? low : all.low;
        all.high = high > all.high ? high : all.high;
    }
    all.finite = __ballot_sync(0xffffffffu, !all.finite) == 0;
    return all;
}

static __device__ inline float not_a_number()
{
    const uint32_t bits = 0x7fc00000u;
    float x = 0.0f;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static __device__ inline float scale_of(const row_range &range, float levels)
{
    return !range.finite ? not_a_number() : range.top < HAL_ROW_TINY ? 0.0f : range.top / levels;
}

/* A byte a lane: the codes of `each` neighbours, put together by their one writer. */
static __device__ void encode_scaled(const hal_row_rounding &r, bool bytes, const float *x, int64_t cols, int64_t id,
                                     uint8_t *y)
{
    const int levels = bytes ? 127 : 7;
    const int each = bytes ? 1 : 2;
    const float scale = scale_of(range_of(x, cols), (float)levels);
    if (cuda_lane() == 0) {
        memcpy(y, &scale, sizeof scale);
    }
    for (int64_t at = cuda_lane(); at < (cols + each - 1) / each; at += CUDA_WARP) {
        unsigned code = 0;
        for (int k = 0; k < each && at * each + k < cols; ++k) {
            const int64_t j = at * each + k;
            const int q = scale > 0.0f ? quantise(x[j], scale, levels, random_bits(r, id, j)) : 0;
            code |= bytes ? (unsigned)(uint8_t)(int8_t)q : (unsigned)(q + 8) << (4 * k);
        }
        y[4 + at] = (uint8_t)code;
    }
}

static __device__ void encode_int2(const hal_row_rounding &r, const float *x, int64_t cols, int64_t id, uint8_t *y)
{
    const row_range range = range_of(x, cols);
    const float top = scale_of(range, 1.0f);
    const float width = range.high - bf16_to_float(bf16_below(range.low));
    const bool finite = cuda_finite(top) && cuda_finite(width);
    const uint16_t grid[2] = {
        finite && top > 0.0f ? bf16_below(range.low + 0.0f) : (uint16_t)0, /* one zero of the two */
        !finite ? bf16_from_float(not_a_number()) : top > 0.0f ? bf16_above(width / 3.0f) : (uint16_t)0};
    const float low = bf16_to_float(grid[0]);
    const float scale = bf16_to_float(grid[1]);
    if (cuda_lane() == 0) {
        memcpy(y, grid, sizeof grid);
    }
    for (int64_t at = cuda_lane(); at < (cols + 3) / 4; at += CUDA_WARP) {
        unsigned code = 0;
        for (int k = 0; k < 4 && at * 4 + k < cols && scale > 0.0f; ++k) {
            const int64_t j = at * 4 + k;
            code |= (unsigned)quantise(x[j] - low, scale, 3, random_bits(r, id, j)) << (2 * k);
        }
        y[4 + at] = (uint8_t)code;
    }
}

__global__ void encode_kernel(cuda_mat<const float> x, const int64_t *id, cuda_mat<uint8_t> y, int codec,
                              hal_row_rounding rounding)
{
    const int64_t i = cuda_row();
    if (i >= x.rows) {
        return;
    }
    if (codec == HAL_ROWS_INT2) {
        encode_int2(rounding, x.at(i, 0), x.cols, id[i], y.at(i, 0));
    } else if (codec != HAL_ROWS_BF16) {
        encode_scaled(rounding, codec == HAL_ROWS_INT8, x.at(i, 0), x.cols, id[i], y.at(i, 0));
    } else {
        for (int64_t j = cuda_lane(); j < x.cols; j += CUDA_WARP) {
            const uint16_t half = bf16_at_random(*x.at(i, j), random_bits(rounding, id[i], j));
            memcpy(y.at(i, 2 * j), &half, sizeof half);
        }
    }
}

int cuda_run_encode_rows(cuda_queue *queue, const hal_encode_rows_args *a)
{
    if (cuda_empty(a->x)) {
        return CUDA_DONE;
    }
    return cuda_launch_teams(queue, cuda_rows(a->x.rows), encode_kernel, cuda_mat_of<const float>(a->x),
                             cuda_data<const int64_t>(a->id), cuda_mat_of<uint8_t>(a->y), (int)a->codec, a->rounding);
}

static __device__ float decode_element(int codec, const uint8_t *x, int64_t j)
{
    uint16_t half = 0;
    float scale = 0.0f;
    if (codec == HAL_ROWS_BF16) {
        memcpy(&half, x + 2 * j, sizeof half);
        return bf16_to_float(half);
    }
    if (codec == HAL_ROWS_INT2) {
        uint16_t grid[2];
        memcpy(grid, x, sizeof grid);
        const float q = (float)(x[4 + j / 4] >> (2 * (j % 4)) & 3);
        return __fadd_rn(bf16_to_float(grid[0]), __fmul_rn(bf16_to_float(grid[1]), q));
    }
    memcpy(&scale, x, sizeof scale);
    const int q = codec == HAL_ROWS_INT8 ? (int8_t)x[4 + j] : (x[4 + j / 2] >> (4 * (j % 2)) & 15) - 8;
    return scale * (float)q;
}

struct decoded {
    cuda_mat<const uint8_t> x;
    cuda_mat<float> y;
    int codec;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<float, N> to = {};
        for (int k = 0; k < N; ++k) {
            to.at[k] = k < n ? decode_element(codec, x.at(i, 0), j + k) : 0.0f;
        }
        cuda_put(y.at(i, j), to, n);
    }
};

int cuda_run_decode_rows(cuda_queue *queue, const hal_decode_rows_args *a)
{
    const decoded f = {cuda_mat_of<const uint8_t>(a->x), cuda_mat_of<float>(a->y), (int)a->codec};
    return cuda_empty(a->y) ? CUDA_DONE : cuda_walk<4>(queue, f, CUDA_BY_PLACE, f.y);
}
