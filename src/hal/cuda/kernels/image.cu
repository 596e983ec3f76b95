/*
 * hal/cuda/kernels/image.cu: convolutions as products of matrices (cuda_tile.h) whose one side is gathered from images
 * on the way; groups are products of their own. Weights are first put in the order that is read, rounded to the type of
 * x. What libraries make is theirs (image_library.cu).
 *
 *      forward            c[pixel, o]   = sum over (ky, kx, c)  x    * weight
 *      backward, data     c[pixel, c]   = sum over (ky, kx, o)  dy   * weight
 *      backward, weights  c[o, (ky, kx, c)] = sum over pixels   dy   * x          pieces of pixels, added in order
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_conv.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_tile.h"
#include "hal/cuda/kernels/cuda_window.h"

static const cuda_conv *own_of(const hal_conv *conv)
{
    return reinterpret_cast<const cuda_conv *>(conv);
}

static cuda_window window_of(const hal_conv *conv)
{
    const hal_conv_shape *s = &conv->shape;
    const int64_t *made = own_of(conv)->made;
    return {{(int)s->height, (int)s->width},
            {(int)made[0], (int)made[1]},
            {(int)s->kernel[0], (int)s->kernel[1]},
            {(int)s->stride[0], (int)s->stride[1]},
            {(int)s->dilation[0], (int)s->dilation[1]},
            {(int)s->pad[0][0], (int)s->pad[1][0]}};
}

/* ---- weights in the order that is read --------------------------------------------------------------------------- */

/* weight[out, (c, ky, kx)], or a gradient of it, whose terms are for each group:
 *      forward   [(ky, kx, c), o]         backward   [(ky, kx, o), c]         gradient   [o, (ky, kx, c)] */
struct filter {
    int64_t in, out, area; /* channels of a group; elements of a kernel */

    /* of (group, o, c, k) in weight */
    __device__ int64_t at(int64_t group, int64_t o, int64_t c, int64_t k) const
    {
        return ((group * out + o) * in + c) * area + k;
    }
};

template <typename cell>
__global__ void order_kernel(const cuda_real<cell> *weight, cell *to, filter f, int64_t count, bool by_out)
{
    const int64_t inner = by_out ? f.out : f.in;
    const int64_t outer = by_out ? f.in : f.out;
    for (int64_t i = cuda_first(); i < count; i += cuda_stride()) {
        const int64_t one = i % inner;
        const int64_t other = i / inner % outer;
        const int64_t k = i / inner / outer % f.area;
        const int64_t group = i / inner / outer / f.area;
        cuda_store(&to[i], weight[by_out ? f.at(group, one, other, k) : f.at(group, other, one, k)]);
    }
}

template <typename cell> static int order_weights(cuda_queue *queue, const hal_conv *conv, const hal_mat &weight, bool by_out, cell **to)
{
    const hal_conv_shape *s = &conv->shape;
    const filter f = {s->in / s->groups, s->out / s->groups, s->kernel[0] * s->kernel[1]};
    const int64_t count = s->out * f.in * f.area;
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, own_of(conv)->scratch_bytes, &scratch));
    *to = static_cast<cell *>(scratch);
    return cuda_launch(queue, cuda_lines(queue, count), order_kernel<cell>,
                       static_cast<const cuda_real<cell> *>(weight.source), *to, f, count, by_out);
}

/* ---- forward and backward to data -------------------------------------------------------------------------------- */

/* Rows of pixels times ordered weights. DATA: from dy to dx, else from x to y. */
template <typename cell, bool DATA> struct conv_product {
    typedef cuda_real<cell> real;
    enum { A_BY_K = 1 };
    typedef cuda_pixel row;
    struct column {
    };
    int64_t m, n, depth; /* n: channels of a group that come out */
    cuda_window window;
    const cell *from, *weight;
    cell *to;
    const real *bias; /* NULL for none */
    int channels;     /* of a group that go in */
    int ld_from, ld_to;
    bool add, relu;
    int64_t first_from, first_to;

    __device__ void enter(int64_t group)
    {
        first_from = group * channels;
        first_to = group * n;
        weight += group * depth * n;
    }
    __device__ row a_row(int64_t pixel) const
    {
        return cuda_pixel_of(pixel < m ? pixel : 0, DATA ? window.size : window.made);
    }
    __device__ column b_column(int64_t) const
    {
        return {};
    }
    __device__ void load_a(real (&v)[4], const row &at, int64_t pixel, int64_t k) const
    {
        int c = (int)((unsigned)k % (unsigned)channels);
        int place = (int)((unsigned)k / (unsigned)channels);
        int64_t source = source_of(at, place);
        for (int i = 0; i < 4; ++i) {
            const bool there = pixel < m && k + i < depth && source >= 0;
            v[i] = there ? cuda_load(from[source * ld_from + first_from + c]) : (real)0;
            if (++c == channels) {
                c = 0;
                place += 1;
                source = source_of(at, place);
            }
        }
    }
    __device__ int64_t source_of(const row &at, int place) const
    {
        const int ky = place / window.kernel[1];
        const int kx = place % window.kernel[1];
        return DATA ? window.reader(at.image, at.y, at.x, ky, kx) : window.read(at.image, at.y, at.x, ky, kx);
    }
    __device__ void load_b(real (&v)[4], const column &, int64_t k, int64_t o) const
    {
        for (int i = 0; i < 4; ++i) {
            v[i] = k < depth && o + i < n ? cuda_load(weight[k * n + o + i]) : (real)0;
        }
    }
    __device__ void store(int64_t pixel, int64_t o, real sum) const
    {
        cell *at = &to[pixel * ld_to + first_to + o];
        sum += bias != nullptr ? bias[first_to + o] : (real)0;
        sum += add ? cuda_load(*at) : (real)0;
        cuda_store(at, relu && sum < (real)0 ? (real)0 : sum);
    }
};

template <typename cell> static int conv_forward(cuda_queue *queue, const hal_conv_forward_args *a)
{
    const hal_conv_shape *s = &a->conv->shape;
    conv_product<cell, false> p = {};
    cell *weight = nullptr;
    CUDA_TRY(order_weights(queue, a->conv, a->weight, true, &weight));
    p.m = a->y.rows;
    p.n = s->out / s->groups;
    p.channels = (int)(s->in / s->groups);
    p.depth = p.channels * s->kernel[0] * s->kernel[1];
    p.window = window_of(a->conv);
    p.from = static_cast<const cell *>(a->x.source);
    p.weight = weight;
    p.to = static_cast<cell *>(a->y.data);
    p.bias = s->bias ? static_cast<const cuda_real<cell> *>(a->bias.source) : nullptr;
    p.ld_from = (int)s->in;
    p.ld_to = (int)s->out;
    p.add = s->add;
    p.relu = s->relu;
    return cuda_tiles(queue, p, s->groups);
}

int cuda_run_conv_forward(cuda_queue *queue, const hal_conv_forward_args *a)
{
    const int code = cuda_empty(a->y) ? CUDA_DONE : cuda_library_conv_forward(queue, a);
    return code != CUDA_REFUSED ? code : CUDA_BY_VALUE(a->y.dtype, conv_forward, queue, a);
}

template <typename cell> static int conv_backward_data(cuda_queue *queue, const hal_conv_backward_data_args *a)
{
    const hal_conv_shape *s = &a->conv->shape;
    conv_product<cell, true> p = {};
    cell *weight = nullptr;
    CUDA_TRY(order_weights(queue, a->conv, a->weight, false, &weight));
    p.m = a->dx.rows;
    p.n = s->in / s->groups;
    p.channels = (int)(s->out / s->groups);
    p.depth = p.channels * s->kernel[0] * s->kernel[1];
    p.window = window_of(a->conv);
    p.from = static_cast<const cell *>(a->dy.source);
    p.weight = weight;
    p.to = static_cast<cell *>(a->dx.data);
    p.ld_from = (int)s->out;
    p.ld_to = (int)s->in;
    return cuda_tiles(queue, p, s->groups);
}

int cuda_run_conv_backward_data(cuda_queue *queue, const hal_conv_backward_data_args *a)
{
    const int code = cuda_empty(a->dx) ? CUDA_DONE : cuda_library_conv_backward_data(queue, a);
    return code != CUDA_REFUSED ? code : CUDA_BY_VALUE(a->dx.dtype, conv_backward_data, queue, a);
}

/* ---- backward to weights ----------------------------------------------------------------------------------------- */

/* One group and one piece of the pixels. With a bias there is one column more, of ones: the sums of dy. */
template <typename cell> struct weights_product {
    typedef cuda_real<cell> real;
    enum { A_BY_K = 0 };
    struct row {
    };
    /* of the four columns: channel and kernel element */
    struct column {
        int c[4], ky[4], kx[4];
    };
    int64_t m, n, depth; /* m: channels of a group that come out */
    cuda_window window;
    const cell *x, *dy;
    real *partial; /* [pieces][groups][m][n] */
    int64_t terms, piece, pixels, groups;
    int channels, ld_x, ld_dy;
    int64_t first_x, first_dy, first;

    __device__ void enter(int64_t z)
    {
        first_x = z % groups * channels;
        first_dy = z % groups * m;
        first = z / groups * piece;
        depth = first + piece < pixels ? piece : pixels - first;
        partial += z * m * n;
    }
    __device__ row a_row(int64_t) const
    {
        return {};
    }
    __device__ column b_column(int64_t term) const
    {
        column at;
        for (int i = 0; i < 4; ++i) {
            const int place = (int)(term + i) / channels;
            at.c[i] = (int)(term + i) % channels;
            at.ky[i] = place / window.kernel[1];
            at.kx[i] = place % window.kernel[1];
        }
        return at;
    }
    __device__ void load_a(real (&v)[4], const row &, int64_t o, int64_t k) const
    {
        for (int i = 0; i < 4; ++i) {
            v[i] = k < depth && o + i < m ? cuda_load(dy[(first + k) * ld_dy + first_dy + o + i]) : (real)0;
        }
    }
    __device__ void load_b(real (&v)[4], const column &at, int64_t k, int64_t term) const
    {
        const cuda_pixel pixel = cuda_pixel_of(first + k, window.made);
        for (int i = 0; i < 4; ++i) {
            v[i] = term + i == terms && k < depth ? (real)1 : (real)0;
            if (k < depth && term + i < terms) {
                const int64_t source = window.read(pixel.image, pixel.y, pixel.x, at.ky[i], at.kx[i]);
                v[i] = source >= 0 ? cuda_load(x[source * ld_x + first_x + at.c[i]]) : (real)0;
            }
        }
    }
    __device__ void store(int64_t o, int64_t term, real sum) const
    {
        partial[o * n + term] = sum;
    }
};

/* Pieces in order, into the order of weight. */
template <typename real>
__global__ void add_pieces_kernel(const real *partial, int64_t pieces, int64_t groups, filter f, int64_t columns, real *dweight,
                                  int64_t ld, real *dbias, bool adds)
{
    const int64_t terms = f.in * f.area;
    const int64_t all = groups * f.out * columns;
    for (int64_t i = cuda_first(); i < all; i += cuda_stride()) {
        const int64_t term = i % columns;
        const int64_t o = i / columns;
        real sum = 0;
        for (int64_t p = 0; p < pieces; ++p) {
            sum += partial[p * all + i];
        }
        real *to = term == terms ? &dbias[o] : &dweight[o * ld + term % f.in * f.area + term / f.in];
        *to = adds ? *to + sum : sum;
    }
}

template <typename cell> static int conv_backward_weights(cuda_queue *queue, const hal_conv_backward_weights_args *a)
{
    typedef cuda_real<cell> real;
    const hal_conv_shape *s = &a->conv->shape;
    const filter f = {s->in / s->groups, s->out / s->groups, s->kernel[0] * s->kernel[1]};
    weights_product<cell> p = {};
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, own_of(a->conv)->scratch_bytes, &scratch));
    p.m = f.out;
    p.terms = f.in * f.area;
    p.n = p.terms + (s->bias ? 1 : 0);
    p.window = window_of(a->conv);
    p.x = static_cast<const cell *>(a->x.source);
    p.dy = static_cast<const cell *>(a->dy.source);
    p.partial = static_cast<real *>(scratch);
    p.pixels = a->dy.rows;
    p.piece = cuda_conv_piece(s, p.pixels);
    p.groups = s->groups;
    p.channels = (int)f.in;
    p.ld_x = (int)s->in;
    p.ld_dy = (int)s->out;
    const int64_t pieces = cuda_pieces(p.pixels, p.piece);
    CUDA_TRY(cuda_tiles(queue, p, pieces * s->groups));
    return cuda_launch(queue, cuda_lines(queue, s->out * p.n), add_pieces_kernel<real>,
                       static_cast<const real *>(p.partial), pieces, s->groups, f, p.n, static_cast<real *>(a->dweight.data),
                       a->dweight.ld, static_cast<real *>(a->dbias.data), a->beta != 0.0);
}

int cuda_run_conv_backward_weights(cuda_queue *queue, const hal_conv_backward_weights_args *a)
{
    const int code = cuda_empty(a->dy) ? CUDA_REFUSED : cuda_library_conv_backward_weights(queue, a);
    return code != CUDA_REFUSED ? code : CUDA_BY_VALUE(a->dy.dtype, conv_backward_weights, queue, a);
}
