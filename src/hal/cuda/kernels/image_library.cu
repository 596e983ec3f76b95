/*
 * hal/cuda/kernels/image_library.cu: convolutions by libraries: cuBLAS where one is a product of matrices as they lie
 * (cuda_conv_product), else cuDNN where it was prepared (cuda_image.c). Around them is done here what they do not do:
 *
 *      weight [out, in, ky, kx], float32   -> filter [out, ky, kx, in], in the type of x        and its gradient back
 *      bias and ReLU                       one pass over y, where the shape has one
 *      gradient of the bias                sums of columns
 *
 * cuDNN gives the gradient of a filter in the type of x: 16-bit ones are rounded before they are added.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_conv.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

static_assert(CUDA_CONV_CHUNKS == CUDA_COLUMN_CHUNKS, "scratch memory of sums of columns");

static const cuda_conv *own_of(const hal_conv *conv)
{
    return reinterpret_cast<const cuda_conv *>(conv);
}

/* ---- who makes a pass -------------------------------------------------------------------------------------------- */

bool cuda_conv_product(const cuda_conv *conv, cuda_conv_pass pass, int64_t pixels, cuda_product *p)
{
    const hal_conv_shape &s = conv->common.shape;
    const bool padded = s.pad[0][0] != 0 || s.pad[0][1] != 0 || s.pad[1][0] != 0 || s.pad[1][1] != 0;
    const bool each = s.kernel[0] == 1 && s.kernel[1] == 1 && s.stride[0] == 1 && s.stride[1] == 1;
    const bool whole = s.kernel[0] == s.height && s.kernel[1] == s.width;
    const int64_t terms = s.in * s.kernel[0] * s.kernel[1];
    const bool forward = pass == CUDA_CONV_FORWARD;
    const bool weights = pass == CUDA_CONV_WEIGHTS;
    *p = {};
    p->from = s.dtype;
    p->to = weights && s.dtype != WEFT_DTYPE_F64 ? WEFT_DTYPE_F32 : s.dtype;
    p->alpha = 1.0;
    p->trans_a = weights;
    p->trans_b = forward;
    p->m = weights ? s.out : pixels;
    p->n = forward ? s.out : terms;
    p->k = forward ? terms : weights ? pixels : s.out;
    p->lda = forward ? terms : s.out;
    p->ldb = terms;
    p->ldc = p->n;
    return s.groups == 1 && !padded && (each || whole);
}

struct maker {
    cuda_product product;
    cuda_dnn_conv *dnn; /* NULL: cuBLAS */
    cuda_conv_pass pass;
    char *filter; /* scratch memory */
    char *workspace;
};

static bool aligned(const hal_mat &mat)
{
    return (uintptr_t)mat.source % CUDA_DNN_ALIGNED == 0;
}

/* Of images x and y, or their gradients. CUDA_REFUSED: nobody. */
static int find_maker(cuda_queue *queue, const hal_conv *conv, cuda_conv_pass pass, const hal_mat &x, const hal_mat &y,
                      maker *found)
{
    const cuda_conv *own = own_of(conv);
    const int64_t images = x.rows / (conv->shape.height * conv->shape.width);
    void *scratch = nullptr;
    found->dnn = nullptr;
    found->pass = pass;
    if (!cuda_conv_product(own, pass, y.rows, &found->product) ||
        !cuda_blas_takes(&queue->blas, queue->stream, &found->product)) {
        for (int i = 0; i < conv->sizes; ++i) {
            found->dnn = conv->images[i] == images ? own->dnn[i] : found->dnn;
        }
        if (cuda_dnn_name(found->dnn, pass) == nullptr || !aligned(x) || !aligned(y)) {
            return CUDA_REFUSED;
        }
    }
    CUDA_TRY(cuda_queue_scratch(queue, own->scratch_bytes, &scratch));
    found->filter = static_cast<char *>(scratch);
    found->workspace = found->filter + cuda_conv_filter_bytes(&conv->shape);
    return CUDA_DONE;
}

static int make(cuda_queue *queue, const maker &by, const void *a, const void *b, void *c, bool add)
{
    if (by.dnn != nullptr) {
        return cuda_dnn_run(by.dnn, by.pass, a, b, c, add, by.workspace);
    }
    cuda_product product = by.product;
    const bool data = by.pass == CUDA_CONV_DATA;
    const bool weights = by.pass == CUDA_CONV_WEIGHTS;
    product.a = data || weights ? b : a; /* dy before what it meets */
    product.b = data || weights ? a : b;
    product.c = c;
    product.beta = add ? 1.0 : 0.0;
    return cuda_blas_multiply(queue->blas, &product);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* Element i of a filter is at(i) of a weight, or of its gradient. */
struct filter_order {
    int64_t in, area, count, ld; /* channels of a group, elements of a kernel, of all, a row of the weight */

    __device__ int64_t at(int64_t i) const
    {
        return i / (in * area) * ld + i % in * area + i / in % area;
    }
};

static filter_order order_of(const hal_conv_shape &s, const hal_mat &weight)
{
    const int64_t in = s.in / s.groups;
    const int64_t area = s.kernel[0] * s.kernel[1];
    return {in, area, s.out * in * area, weight.ld};
}

template <typename cell>
__global__ void to_filter_kernel(const cuda_real<cell> *weight, filter_order order, cell *filter)
{
    for (int64_t i = cuda_first(); i < order.count; i += cuda_stride()) {
        cuda_store(&filter[i], weight[order.at(i)]);
    }
}

/* cell: of the filter's gradient. */
template <typename cell>
__global__ void from_filter_kernel(const cell *filter, filter_order order, cuda_real<cell> *dweight, bool adds)
{
    for (int64_t i = cuda_first(); i < order.count; i += cuda_stride()) {
        cuda_real<cell> *to = &dweight[order.at(i)];
        *to = cuda_load(filter[i]) + (adds ? *to : (cuda_real<cell>)0);
    }
}

template <typename cell>
static int to_filter(cuda_queue *queue, const maker &by, const hal_conv_shape &s, const hal_mat &weight)
{
    const filter_order order = order_of(s, weight);
    return cuda_launch(queue, cuda_lines(queue, order.count), to_filter_kernel<cell>,
                       cuda_data<const cuda_real<cell>>(weight), order, reinterpret_cast<cell *>(by.filter));
}

template <typename cell>
static int from_filter(cuda_queue *queue, const maker &by, const hal_conv_shape &s, const hal_mat &dweight, bool adds)
{
    const filter_order order = order_of(s, dweight);
    return cuda_launch(queue, cuda_lines(queue, order.count), from_filter_kernel<cell>,
                       reinterpret_cast<const cell *>(by.filter), order, cuda_data<cuda_real<cell>>(dweight), adds);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* y = act(y + bias). */
template <typename cell> struct ending {
    typedef cuda_real<cell> real;
    cuda_mat<cell> y;
    const real *bias; /* NULL for none */
    bool relu;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> at = cuda_get<N>(y.at(i, j), n);
        cuda_pack<real, N> more = {};
        if (bias != nullptr) {
            more = cuda_get_any<N>(bias + j, n);
        }
        for (int k = 0; k < N; ++k) {
            const real sum = cuda_load(at.at[k]) + more.at[k];
            cuda_store(&at.at[k], relu && sum < (real)0 ? (real)0 : sum);
        }
        cuda_put(y.at(i, j), at, n);
    }
};

template <typename cell> static int forward(cuda_queue *queue, const hal_conv_forward_args *a)
{
    const hal_conv_shape &s = a->conv->shape;
    maker by;
    CUDA_TRY(find_maker(queue, a->conv, CUDA_CONV_FORWARD, a->x, a->y, &by));
    CUDA_TRY(to_filter<cell>(queue, by, s, a->weight));
    CUDA_TRY(make(queue, by, a->x.source, by.filter, a->y.data, s.add));
    if (!s.bias && !s.relu) {
        return CUDA_DONE;
    }
    const ending<cell> f = {cuda_mat_of<cell>(a->y), s.bias ? cuda_data<const cuda_real<cell>>(a->bias) : nullptr, s.relu};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, s.bias ? CUDA_BY_PLACE : CUDA_ANYWHERE, f.y);
}

int cuda_library_conv_forward(cuda_queue *queue, const hal_conv_forward_args *a)
{
    return CUDA_BY_VALUE(a->y.dtype, forward, queue, a);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

template <typename cell> static int backward_data(cuda_queue *queue, const hal_conv_backward_data_args *a)
{
    maker by;
    CUDA_TRY(find_maker(queue, a->conv, CUDA_CONV_DATA, a->dx, a->dy, &by));
    CUDA_TRY(to_filter<cell>(queue, by, a->conv->shape, a->weight));
    return make(queue, by, by.filter, a->dy.source, a->dx.data, false);
}

int cuda_library_conv_backward_data(cuda_queue *queue, const hal_conv_backward_data_args *a)
{
    return CUDA_BY_VALUE(a->dx.dtype, backward_data, queue, a);
}

/* A product is in the type of sums, and of one pixel in the weight's order too: it goes where it belongs. */
template <typename cell> static int backward_weights(cuda_queue *queue, const hal_conv_backward_weights_args *a)
{
    typedef cuda_real<cell> real;
    const hal_conv_shape &s = a->conv->shape;
    const bool adds = a->beta != 0.0;
    maker by;
    CUDA_TRY(find_maker(queue, a->conv, CUDA_CONV_WEIGHTS, a->x, a->dy, &by));
    if (by.dnn == nullptr && s.kernel[0] * s.kernel[1] == 1) {
        by.product.ldc = a->dweight.ld;
        CUDA_TRY(make(queue, by, a->x.source, a->dy.source, a->dweight.data, adds));
    } else {
        CUDA_TRY(make(queue, by, a->x.source, a->dy.source, by.filter, false));
        CUDA_TRY(by.dnn != nullptr ? from_filter<cell>(queue, by, s, a->dweight, adds)
                                   : from_filter<real>(queue, by, s, a->dweight, adds));
    }
    if (!s.bias) {
        return CUDA_DONE;
    }
    hal_col_sum_args sum = {};
    sum.x = a->dy;
    sum.out = a->dbias;
    sum.beta = a->beta;
    return cuda_run_col_sum(queue, &sum);
}

int cuda_library_conv_backward_weights(cuda_queue *queue, const hal_conv_backward_weights_args *a)
{
    return CUDA_BY_VALUE(a->dy.dtype, backward_weights, queue, a);
}
