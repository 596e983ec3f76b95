/*
 * Input factors of convolutions (train/second/capture_conv.h) as a listener of a network's passes gathers them: against
 * seven loops over the rows that the listener gets, in double, with stride, padding, dilation and a norm in front; of
 * ranks and micro-batches, whose sums must be those of one rank; of all output pixels and of some.
 */
#include <math.h>

#include "base/permutation.h"
#include "base/philox.h"
#include "dense/engine/dense_model.h"
#include "support/tap_sums.h"
#include "support/test.h"
#include "train/second/capture_conv.h"

enum { IMAGES = 6, CLASSES = 3, MOST_CONVS = 4, MOST_TERMS = 40, MOST_PACKED = MOST_TERMS * (MOST_TERMS + 1) / 2 };

typedef struct net_case {
    const char *text;
    net_size size;
    weft_dtype dtype, values;
    int convs, norms; /* convolutions that a listener gets, and those with a norm on their way in */
} net_case;

static const net_case nets[] = {
    {"conv 4 3 stride=2 pad=1\nrelu\nconv 6 3x2 pad=1 dilation=2x1\nmaxpool 2 stride=1\nlinear classes",
     {7, 8, 3},
     WEFT_DTYPE_F64,
     WEFT_DTYPE_F64,
     3, /* a linear layer on several pixels is a convolution */
     0},
    {"conv 3 3 pad=1 bias=off\nnorm\nrelu\nconv 4 3 stride=2 pad=1 bias=off\nnorm\nrelu\nconv 4 1 "
     "bias=off\nglobalpool\n"
     "linear classes",
     {6, 5, 2},
     WEFT_DTYPE_F64,
     WEFT_DTYPE_F64,
     3,
     2},
    {"conv 3 3 pad=1 bias=off\nnorm\nrelu\nconv 4 3 stride=2 pad=1 bias=off\nnorm\nrelu\nconv 4 1 "
     "bias=off\nglobalpool\n"
     "linear classes",
     {6, 5, 2},
     WEFT_DTYPE_F32,
     WEFT_DTYPE_BF16,
     3,
     2}};

enum { NETS = sizeof nets / sizeof *nets };

typedef struct run_case {
    const net_case *net;
    int parts; /* of each rank's images */
    capture_pixels pixels;
    /* results, of rank 0 and over all ranks */
    int convs, norms;
    int64_t count[MOST_CONVS];
    double sum[MOST_CONVS][MOST_PACKED];
} run_case;

/* A listener. */
typedef struct listener {
    train_tap tap;
    run_case *c;
    capture_conv scratch;
    int at; /* convolutions of the pass so far */
    weft_tensor packed[MOST_CONVS];
} listener;

/* ---- seven loops ------------------------------------------------------------------------------------------------- */

/* The element of x that patch column `term` of an output pixel holds. */
static double term_at(const tap_rows *rows, const double *x, int64_t image, int64_t pixel, int64_t term)
{
    const hal_conv_shape *s = rows->conv;
    const int64_t across = tap_side(s, 1), area = s->kernel[0] * s->kernel[1];
    const int64_t channel = term / area, ky = term % area / s->kernel[1], kx = term % s->kernel[1];
    const int64_t row = pixel / across * s->stride[0] - s->pad[0][0] + ky * s->dilation[0];
    const int64_t col = pixel % across * s->stride[1] - s->pad[1][0] + kx * s->dilation[1];
    if (row < 0 || row >= s->height || col < 0 || col >= s->width) {
        return 0.0;
    }
    return x[((image * s->height + row) * s->width + col) * s->in + channel];
}

static bool counts(const run_case *c, int64_t area, int64_t pixel)
{
    const permutation order = permutation_make((uint64_t)area, c->pixels.seed, WEFT_RNG_FACTORS, c->pixels.draw);
    for (int64_t i = 0; i < c->pixels.most && c->pixels.most < area; ++i) {
        if ((int64_t)permute(&order, (uint64_t)i) == pixel) {
            return true;
        }
    }
    return c->pixels.most == 0 || c->pixels.most >= area;
}

static weft_status check_loops(const run_case *c, const tap_rows *rows, const double *packed, double tolerance)
{
    const int64_t area = tap_side(rows->conv, 0) * tap_side(rows->conv, 1);
    double *x = NULL, largest = 0.0;
    WEFT_TRY(tap_read(rows->x, &x));
    WEFT_TRY(rows->norm != NULL ? tap_normalise(rows, x) : WEFT_OK);
    for (int64_t i = 0, at = 0; i < rows->cols; ++i) {
        for (int64_t j = 0; j <= i; ++j, ++at) {
            double sum = 0.0;
            for (int64_t image = 0; image < rows->images; ++image) {
                for (int64_t pixel = 0; pixel < area; ++pixel) {
                    sum += counts(c, area, pixel)
                               ? term_at(rows, x, image, pixel, i) * term_at(rows, x, image, pixel, j)
                               : 0.0;
                }
            }
            largest = fmax(largest, fabs(sum));
            WEFT_CHECK(fabs(packed[at] - sum) <= tolerance * largest, WEFT_ERR_INTERNAL,
                       "element %lld, %lld: %.12g, by loops %.12g", (long long)i, (long long)j, packed[at], sum);
        }
    }
    weft_free(x);
    return WEFT_OK;
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static bool wants(void *self, const train_pass *pass)
{
    listener *l = self;
    l->at = 0;
    return pass->training;
}

static weft_status take(void *self, const train_pass *pass, const tap_rows *rows)
{
    listener *l = self;
    run_case *c = l->c;
    const int64_t elements = hal_triangle(rows->cols);
    const weft_dtype dtype = c->net->dtype;
    const int conv = l->at;
    double *host = NULL;
    weft_tensor once;
    int64_t count = 0;
    if (rows->conv == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(conv < MOST_CONVS && rows->cols <= MOST_TERMS, WEFT_ERR_INTERNAL, "more than the test expects");
    l->at += 1;
    c->convs = l->at;
    c->norms += pass->part == 0 && rows->norm != NULL;
    if (l->packed[conv].data == NULL) {
        WEFT_TRY(tensor_create(rows->x->hal, dtype, 1, elements, WEFT_MEM_WORKSPACE, &l->packed[conv]));
    }
    WEFT_TRY(tensor_create(rows->x->hal, dtype, 1, elements, WEFT_MEM_WORKSPACE, &once));
    WEFT_TRY(capture_conv_inputs(&l->scratch, rows, &c->pixels, pass->part > 0, &l->packed[conv], &count));
    c->count[conv] += count;
    WEFT_TRY(capture_conv_inputs(&l->scratch, rows, &c->pixels, false, &once, &count));
    WEFT_TRY(tap_read(&once, &host));
    const weft_status status = check_loops(c, rows, host, hal_is_half(c->net->values) ? 2e-2 : 1e-12);
    weft_free(host);
    tensor_destroy(&once);
    return status;
}

static double pixel_at(int64_t image, int64_t i)
{
    return sin(0.9 * (double)image + 0.37 * (double)i) + 0.3 * cos(1.7 * (double)(i * i % 31));
}

static bool always(const weft_hal *hal, const hal_conv_shape *shape)
{
    (void)hal, (void)shape;
    return true;
}

static weft_status set(weft_tensor *t, double (*value)(int64_t, int64_t), int64_t first)
{
    double wide[IMAGES * 7 * 8 * 3];
    float narrow[IMAGES * 7 * 8 * 3];
    for (int64_t i = 0; i < t->rows * t->cols; ++i) {
        wide[i] = value(first, i);
        narrow[i] = (float)wide[i];
    }
    return tensor_upload(t, t->dtype == WEFT_DTYPE_F64 ? (const void *)wide : narrow);
}

/* Images [first, first + images), forward and backward. */
static weft_status pass_over(dense_model *model, listener *l, int64_t first, int64_t images, int part)
{
    const net_size *size = &l->c->net->size;
    const int64_t area = size->height * size->width;
    const weft_dtype dtype = l->c->net->dtype;
    weft_tensor pixels = {0}, ids = {0}, logits;
    int64_t id[IMAGES] = {0};
    WEFT_TRY(tensor_create(model->hal, dtype, images * area, size->channels, WEFT_MEM_WORKSPACE, &pixels));
    WEFT_TRY(tensor_create(model->hal, WEFT_DTYPE_I64, images, 1, WEFT_MEM_WORKSPACE, &ids));
    for (int64_t i = 0; i < images; ++i) {
        weft_tensor one = tensor_view(&pixels, i * area, area, 0, size->channels);
        WEFT_TRY(set(&one, pixel_at, first + i));
        id[i] = first + i;
    }
    WEFT_TRY(tensor_upload(&ids, id));
    const image_batch input = {.pixels = pixels, .rows = images, .all_rows = IMAGES / l->c->parts, .sample_id = ids};
    const train_targets targets = {.rows = images, .outputs = CLASSES, .loss_entries = IMAGES};
    const train_batch batch = {.input = &input, .targets = &targets};
    train_pass pass = {.training = true, .part = part, .parts = l->c->parts, .batch = &batch};
    WEFT_TRY(model->interface.forward(model, &pass, &logits));
    WEFT_TRY(tensor_axpby(0.1, &logits, 0.0, &logits));
    pass.tap = train_tap_of(&l->tap, &pass);
    WEFT_TRY(model->interface.backward(model, &pass, &logits));
    tensor_destroy(&pixels);
    tensor_destroy(&ids);
    return WEFT_OK;
}

/* Sums over ranks. */
static weft_status gather(weft_comm *comm, listener *l)
{
    for (int conv = 0; conv < MOST_CONVS && l->packed[conv].data != NULL; ++conv) {
        double *host = NULL, *to = comm_rank(comm) == 0 ? l->c->sum[conv] : NULL;
        WEFT_TRY(tap_read(&l->packed[conv], &host));
        WEFT_TRY(comm_allreduce(comm, host, l->packed[conv].cols, WEFT_DTYPE_F64, COMM_SUM));
        if (to != NULL) {
            memcpy(to, host, sizeof *to * (size_t)l->packed[conv].cols);
        }
        weft_free(host);
    }
    return WEFT_OK;
}

static weft_status listen(weft_comm *comm, dense_model *model, listener *l)
{
    for (int part = 0; part < l->c->parts; ++part) {
        const int64_t each = IMAGES / l->c->parts;
        const hal_span own = hal_split_rows(each, comm_size(comm), comm_rank(comm));
        WEFT_TRY(pass_over(model, l, part * each + own.begin, own.end - own.begin, part));
    }
    return gather(comm, l);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    run_case *mine = comm_rank(comm) == 0 ? argument : calloc(1, sizeof *mine);
    const net_case *net = ((run_case *)argument)->net;
    listener l = {.tap = {.wants = wants, .take = take}, .c = mine};
    const int64_t images = IMAGES / ((run_case *)argument)->parts / comm_size(comm);
    weft_hal *hal = NULL;
    network layers = {0};
    dense_model model = {0};
    const dense_config config = {
        .net = &layers, .norm = NORM_BATCH, .images = &images, .sizes = 1, .training = true, .values = net->values};
    *mine = comm_rank(comm) == 0 ? *mine : *(run_case *)argument;
    l.tap.self = &l;
    WEFT_TRY(weft_hal_open("cpu", 1, &hal));
    hal->image.conv_norms = always;
    weft_status status = net_parse(net->text, "test", &layers);
    status = status == WEFT_OK ? net_fit(&layers, net->size, CLASSES) : status;
    status = status == WEFT_OK ? dense_model_create(comm, hal, net->dtype, &config, &model) : status;
    status = status == WEFT_OK ? param_initialise(&model.params, 5) : status;
    status = status == WEFT_OK ? listen(comm, &model, &l) : status;
    for (int conv = 0; conv < MOST_CONVS; ++conv) {
        tensor_destroy(&l.packed[conv]);
    }
    capture_conv_destroy(&l.scratch);
    dense_model_destroy(&model);
    net_destroy(&layers);
    weft_hal_close(hal);
    if (mine != argument) {
        free(mine);
    }
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void run(const net_case *net, int ranks, int parts, int64_t most, run_case *c)
{
    *c = (run_case){.net = net, .parts = parts, .pixels = {.most = most, .seed = 7, .draw = 3}};
    ASSERT_OK(comm_thread_run(ranks, run_rank, c));
    assert_int_equal(c->convs, net->convs);
    assert_int_equal(c->norms, net->norms);
}

/* Ranks together have the sums of one; a network without norms also in micro-batches. */
static void test_factors_equal_loops_and_one_rank(void **state)
{
    (void)state;
    static const int cuts[4][2] = {{2, 1}, {3, 1}, {1, 3}, {2, 3}}; /* ranks, parts */
    static run_case one, many;
    for (int n = 0; n < NETS; ++n) {
        for (int64_t most = 0; most <= 4; most += 4) {
            const double tolerance = hal_is_half(nets[n].values) ? 2e-2 : 1e-12;
            run(&nets[n], 1, 1, most, &one);
            for (int i = 0; i < 4; ++i) {
                const int ranks = cuts[i][0], parts = cuts[i][1];
                run(&nets[n], ranks, parts, most, &many);
                for (int conv = 0; conv < one.convs && (parts == 1 || nets[n].norms == 0); ++conv) {
                    for (int at = 0; at < MOST_PACKED; ++at) {
                        assert_true(fabs(one.sum[conv][at] - many.sum[conv][at]) <=
                                    tolerance * fabs(one.sum[conv][0]) + 1e-300);
                    }
                }
            }
            /* The first layer of the first network has 4 x 4 output pixels; a backward pass comes to it last. */
            assert_true(n != 0 || one.count[2] == IMAGES * (most == 0 ? 16 : most));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors_equal_loops_and_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
