/*
 * hal/cuda/shim/shim_dnn.cpp: the calls of cuda_dnn.h on the host's memory, by the definition, with sums in double.
 * Like the library's they run in their stream's order, and late.
 *
 * WEFT_CUDA_SHIM_DNN=refuses: it takes convolutions when they are prepared, and refuses to make them.
 */
#include <cstdio>

#include "hal/cuda/device/cuda_dnn.h"
#include "hal/cuda/kernels/cuda_cells.h"

struct cuda_dnn {
    cuda_queue queue;
};

struct cuda_dnn_conv {
    cuda_dnn *dnn;
    hal_conv_shape shape;
    int64_t made[2], images;
    bool made_by[CUDA_CONV_PASSES];
};

namespace
{

/* What a cell of a pass is the sum of: products of a pixel of x, one of y and an element of the filter that they meet
 * in. */
struct geometry {
    int64_t size[2], made[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t in, out, group_in, group_out, images; /* channels, of all and of a group */

    __device__ int64_t x_at(int64_t image, int64_t y, int64_t x, int64_t c) const
    {
        return ((image * size[0] + y) * size[1] + x) * in + c;
    }
    __device__ int64_t y_at(int64_t image, int64_t y, int64_t x, int64_t o) const
    {
        return ((image * made[0] + y) * made[1] + x) * out + o;
    }
    __device__ int64_t filter_at(int64_t o, int64_t ky, int64_t kx, int64_t c) const
    {
        return ((o * kernel[0] + ky) * kernel[1] + kx) * group_in + c;
    }
    /* Where element k of the kernel at place p reads along d; below 0 or beyond the size: padding. */
    __device__ int64_t read(int d, int64_t p, int64_t k) const
    {
        return p * stride[d] + k * dilation[d] - pad[d];
    }
    __device__ bool inside(int64_t y, int64_t x) const
    {
        return y >= 0 && y < size[0] && x >= 0 && x < size[1];
    }
    /* The place whose element k reads pixel i along d, or -1. */
    __device__ int64_t reader(int d, int64_t i, int64_t k) const
    {
        const int64_t at = i + pad[d] - k * dilation[d];
        return at >= 0 && at % stride[d] == 0 && at / stride[d] < made[d] ? at / stride[d] : -1;
    }
};

geometry geometry_of(const cuda_dnn_conv &conv)
{
    const hal_conv_shape &s = conv.shape;
    return {{s.height, s.width},
            {conv.made[0], conv.made[1]},
            {s.kernel[0], s.kernel[1]},
            {s.stride[0], s.stride[1]},
            {s.dilation[0], s.dilation[1]},
            {s.pad[0][0], s.pad[1][0]},
            s.in,
            s.out,
            s.in / s.groups,
            s.out / s.groups,
            conv.images};
}

template <typename cell> double product(const cell *a, int64_t i, const cell *b, int64_t j)
{
    return (double)cuda_load(a[i]) * (double)cuda_load(b[j]);
}

template <typename cell> void put(cell *to, double sum, bool add)
{
    cuda_store(to, (cuda_real<cell>)(sum + (add ? (double)cuda_load(*to) : 0.0)));
}

template <typename cell> void forward(geometry g, const cell *x, const cell *filter, cell *y, bool add)
{
    for (int64_t at = cuda_first(); at < g.images * g.made[0] * g.made[1] * g.out; at += cuda_stride()) {
        const int64_t o = at % g.out, px = at / g.out % g.made[1], py = at / g.out / g.made[1] % g.made[0];
        const int64_t image = at / g.out / g.made[1] / g.made[0];
        const int64_t first = o / g.group_out * g.group_in;
        double sum = 0.0;
        for (int64_t k = 0; k < g.kernel[0] * g.kernel[1]; ++k) {
            const int64_t ky = k / g.kernel[1], kx = k % g.kernel[1];
            const int64_t iy = g.read(0, py, ky), ix = g.read(1, px, kx);
            for (int64_t c = 0; c < g.group_in && g.inside(iy, ix); ++c) {
                sum += product(x, g.x_at(image, iy, ix, first + c), filter, g.filter_at(o, ky, kx, c));
            }
        }
        put(&y[at], sum, add);
    }
}

template <typename cell> void data(geometry g, const cell *filter, const cell *dy, cell *dx, bool add)
{
    for (int64_t at = cuda_first(); at < g.images * g.size[0] * g.size[1] * g.in; at += cuda_stride()) {
        const int64_t c = at % g.in, ix = at / g.in % g.size[1], iy = at / g.in / g.size[1] % g.size[0];
        const int64_t image = at / g.in / g.size[1] / g.size[0];
        const int64_t first = c / g.group_in * g.group_out;
        double sum = 0.0;
        for (int64_t k = 0; k < g.kernel[0] * g.kernel[1]; ++k) {
            const int64_t ky = k / g.kernel[1], kx = k % g.kernel[1];
            const int64_t py = g.reader(0, iy, ky), px = g.reader(1, ix, kx);
            for (int64_t o = first; o < first + g.group_out && py >= 0 && px >= 0; ++o) {
                sum += product(dy, g.y_at(image, py, px, o), filter, g.filter_at(o, ky, kx, c % g.group_in));
            }
        }
        put(&dx[at], sum, add);
    }
}

template <typename cell> void weights(geometry g, const cell *x, const cell *dy, cell *dfilter, bool add)
{
    for (int64_t at = cuda_first(); at < g.out * g.kernel[0] * g.kernel[1] * g.group_in; at += cuda_stride()) {
        const int64_t c = at % g.group_in, kx = at / g.group_in % g.kernel[1];
        const int64_t ky = at / g.group_in / g.kernel[1] % g.kernel[0], o = at / g.group_in / g.kernel[1] / g.kernel[0];
        const int64_t channel = o / g.group_out * g.group_in + c;
        double sum = 0.0;
        for (int64_t p = 0; p < g.images * g.made[0] * g.made[1]; ++p) {
            const int64_t image = p / g.made[1] / g.made[0], py = p / g.made[1] % g.made[0], px = p % g.made[1];
            const int64_t iy = g.read(0, py, ky), ix = g.read(1, px, kx);
            sum += g.inside(iy, ix) ? product(x, g.x_at(image, iy, ix, channel), dy, g.y_at(image, py, px, o)) : 0.0;
        }
        put(&dfilter[at], sum, add);
    }
}

template <typename cell>
int run(cuda_dnn_conv *conv, cuda_conv_pass pass, const void *a, const void *b, void *c, bool add)
{
    cuda_queue *queue = &conv->dnn->queue;
    const auto kernel = pass == CUDA_CONV_FORWARD ? forward<cell> : pass == CUDA_CONV_DATA ? data<cell> : weights<cell>;
    return cuda_launch(queue, {2, CUDA_BLOCK}, kernel, geometry_of(*conv), static_cast<const cell *>(a),
                       static_cast<const cell *>(b), static_cast<cell *>(c), add);
}

bool refuses()
{
    const char *text = getenv("WEFT_CUDA_SHIM_DNN");
    return text != nullptr && strcmp(text, "refuses") == 0;
}

} // namespace

/* Every second shape or number of images: the kernels of our own make the others. */
void cuda_dnn_prepare(cuda_dnn **dnn, cuda_stream *stream, const hal_conv_shape *shape, const int64_t made[2], int64_t images,
                      cuda_dnn_conv **conv)
{
    *conv = nullptr;
    if (*dnn == nullptr) {
        *dnn = new cuda_dnn{};
        (*dnn)->queue.stream = stream;
        (*dnn)->queue.processors = 1;
    }
    const int64_t sum = shape->height + shape->in + shape->out + shape->kernel[0] + images;
    if (cuda_dnn_describes(shape, made, images) && sum % 2 == 0) {
        const bool trains = shape->training;
        *conv = new cuda_dnn_conv{*dnn, *shape, {made[0], made[1]}, images, {true, trains && shape->backward_data, trains}};
    }
}

void cuda_dnn_release(cuda_dnn_conv *conv)
{
    delete conv;
}

const char *cuda_dnn_name(const cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    return conv != nullptr && conv->made_by[pass] ? "cuDNN imitated" : nullptr;
}

bool cuda_dnn_is_winograd(const cuda_dnn_conv *, cuda_conv_pass)
{
    return false;
}

/* What of it is written shows in a filter that lies before it, or beyond the end of scratch memory. */
size_t cuda_dnn_workspace(const cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    return cuda_dnn_name(conv, pass) != nullptr ? 1000 + 8 * (size_t)conv->images : 0;
}

int cuda_dnn_run(cuda_dnn_conv *conv, cuda_conv_pass pass, const void *a, const void *b, void *c, bool add, void *workspace)
{
    if (refuses() || (uintptr_t)a % CUDA_DNN_ALIGNED != 0 || (uintptr_t)b % CUDA_DNN_ALIGNED != 0 ||
        (uintptr_t)c % CUDA_DNN_ALIGNED != 0 || (uintptr_t)workspace % 256 != 0) {
        conv->made_by[pass] = false;
        return CUDA_REFUSED;
    }
    const int code = cuda_fill(conv->dnn->queue.stream, workspace, 0xff, cuda_dnn_workspace(conv, pass));
    return code != CUDA_DONE                       ? code
           : conv->shape.dtype == WEFT_DTYPE_BF16 ? run<cuda_bf16>(conv, pass, a, b, c, add)
           : conv->shape.dtype == WEFT_DTYPE_F16  ? run<cuda_f16>(conv, pass, a, b, c, add)
                                                   : run<float>(conv, pass, a, b, c, add);
}

void cuda_dnn_close(cuda_dnn *dnn)
{
    delete dnn;
}

void cuda_dnn_library(char *text, size_t bytes)
{
    snprintf(text, bytes, "cuDNN imitated too");
}
