/*
 * Second order on networks of images: what a step makes of the gradients of convolutions and linear layers is compared
 * with dense solves (Gaussian elimination in double) of the systems that train/second/second.h states, whose factors
 * are summed by loops over output pixels, kernel and channels. The networks have strides, padding, dilation, biases and
 * norms; ranks and micro-batches must make the step of one rank; of large images some pixels stand for all. In the form
 * `reduce` the loops make one row of an image, the mean of its patches and the sum of its gradients.
 */
#include <math.h>

#include "base/permutation.h"
#include "base/philox.h"
#include "dense/engine/dense_model.h"
#include "support/tap_sums.h"
#include "support/test.h"
#include "train/second/second.h"

enum { IMAGES = 6, CLASSES = 3, STEPS = 2, MOST_MAPS = 5, MOST_PIXELS = 800, SAMPLE = 4096 };
#define RHO   0.3
#define DECAY 0.8

typedef struct net_case {
    const char *text;
    net_size size;
    weft_dtype dtype, values;
    int maps;
    bool norms; /* images depend on each other */
} net_case;

static const net_case nets[] = {
    {"conv 4 3 stride=2 pad=1\nrelu\nconv 6 3x2 pad=1 dilation=2x1\nmaxpool 2 stride=1\nlinear 5\nrelu\nlinear classes",
     {7, 8, 3},
     WEFT_DTYPE_F64,
     WEFT_DTYPE_F64,
     4, /* the first linear layer reads several pixels, and is a convolution */
     false},
    {"conv 3 3 pad=1\nnorm\nrelu\nconv 4 3 stride=2 pad=1 bias=off\nnorm\nrelu\nconv 4 1\nglobalpool\nlinear classes",
     {6, 5, 2},
     WEFT_DTYPE_F64,
     WEFT_DTYPE_F64,
     4,
     true},
    {"conv 3 3 pad=1 bias=off\nnorm\nrelu\nconv 4 3 stride=2 pad=1 bias=off\nnorm\nrelu\nconv 4 1\nglobalpool\n"
     "linear classes",
     {6, 5, 2},
     WEFT_DTYPE_F32,
     WEFT_DTYPE_BF16,
     4,
     true},
    /* 784 pixels of 6 images are more than the sample. */
    {"conv 2 3 pad=1\nrelu\nglobalpool\nlinear classes", {28, 28, 1}, WEFT_DTYPE_F64, WEFT_DTYPE_F64, 2, false},
    /* A linear map of each pixel by itself. */
    {"pointwise 4\nrelu\nconv 3 2 bias=off\nrelu\nglobalpool\nlinear classes",
     {5, 4, 2},
     WEFT_DTYPE_F64,
     WEFT_DTYPE_F64,
     3,
     false}};

/* The factors of a map, summed by loops. */
typedef struct loops {
    int64_t n, out, rows;
    double *a, *g;           /* [n, n], [out, out] of the step under way */
    double *a_mean, *g_mean; /* running averages */
} loops;

typedef struct run_case {
    const net_case *net;
    second_kind kind;
    second_solve solve;
    second_form form;
    double absolute;
    int ranks, parts; /* parts of each step */
    /* [out] of rank 0 */
    int64_t trained;
    double *step[STEPS]; /* [trained] gradients after the step */
} run_case;

typedef struct rank_state {
    run_case *c;
    weft_comm *comm;
    weft_hal *hal;
    network layers;
    dense_model model;
    train_second *second;
    train_tap tap; /* shows rows to the loops, then to `second` */
    loops by_hand[MOST_MAPS];
    double *gradient; /* [trained] of the whole batch */
    int step;
} rank_state;

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The element of x that patch column `term` of an output pixel holds. */
static double term_at(const hal_conv_shape *s, const double *x, int64_t image, int64_t row, int64_t col, int64_t term)
{
    const int64_t area = s->kernel[0] * s->kernel[1], channel = term / area;
    const int64_t y = row * s->stride[0] - s->pad[0][0] + term % area / s->kernel[1] * s->dilation[0];
    const int64_t z = col * s->stride[1] - s->pad[1][0] + term % area % s->kernel[1] * s->dilation[1];
    const bool inside = y >= 0 && y < s->height && z >= 0 && z < s->width;
    return inside ? x[((image * s->height + y) * s->width + z) * s->in + channel] : 0.0;
}

static void add_outer(double *sum, const double *row, int64_t n)
{
    for (int64_t i = 0; i < n * n; ++i) {
        sum[i] += row[i / n] * row[i % n];
    }
}

/* Which output pixels of each image count. */
static void pick_pixels(int64_t area, int64_t n, int step, bool *counts)
{
    const int64_t sample = 4 * n > SAMPLE ? 4 * n : SAMPLE, most = (sample + IMAGES - 1) / IMAGES;
    const permutation order = permutation_make((uint64_t)area, 1, WEFT_RNG_FACTORS, (uint32_t)step);
    assert_true(area <= MOST_PIXELS);
    memset(counts, most >= area, (size_t)area * sizeof *counts);
    for (int64_t i = 0; most < area && i < most; ++i) {
        counts[permute(&order, (uint64_t)i)] = true;
    }
}

static void add_patches(loops *l, const tap_rows *rows, const double *x, int step)
{
    const hal_conv_shape *s = rows->conv;
    const int64_t across = tap_side(s, 1), area = tap_side(s, 0) * across, terms = hal_conv_terms(s);
    bool counts[MOST_PIXELS];
    double u[300];
    assert_true(l->n <= 300);
    pick_pixels(area, l->n > l->out ? l->n : l->out, step, counts);
    for (int64_t at = 0; at < rows->images * area; ++at) {
        const int64_t pixel = at % area;
        for (int64_t t = 0; t < l->n; ++t) {
            u[t] = t < terms ? term_at(s, x, at / area, pixel / across, pixel % across, t) : 1.0;
        }
        if (counts[pixel]) {
            add_outer(l->a, u, l->n);
            l->rows += 1;
        }
    }
}

/* One row for each image. */
static void add_means(loops *l, const tap_rows *rows, const double *x, const double *dy)
{
    const hal_conv_shape *s = rows->conv;
    const int64_t area = rows->dy->rows / rows->images, across = s != NULL ? tap_side(s, 1) : 1;
    const int64_t terms = rows->cols;
    double u[300], d[300];
    assert_true(l->n <= 300 && l->out <= 300);
    for (int64_t image = 0; image < rows->images; ++image) {
        memset(u, 0, sizeof u);
        memset(d, 0, sizeof d);
        for (int64_t pixel = 0; pixel < area; ++pixel) {
            for (int64_t t = 0; t < terms; ++t) {
                const double seen = s != NULL ? term_at(s, x, image, pixel / across, pixel % across, t)
                                              : x[(image * area + pixel) * terms + t];
                u[t] += seen / (double)area;
            }
            for (int64_t o = 0; o < l->out; ++o) {
                d[o] += dy[(image * area + pixel) * l->out + o];
            }
        }
        u[terms] = 1.0;
        add_outer(l->a, u, l->n);
        add_outer(l->g, d, l->out);
        l->rows += 1;
    }
}

static weft_status add_rows(loops *l, const tap_rows *rows, int step, second_form form)
{
    double *x = NULL, *dy = NULL, u[300];
    WEFT_TRY(tap_read(rows->x, &x));
    WEFT_TRY(tap_read(rows->dy, &dy));
    WEFT_TRY(rows->norm != NULL ? tap_normalise(rows, x) : WEFT_OK);
    const bool reduced = form == SECOND_REDUCE && rows->images > 0;
    if (reduced) {
        add_means(l, rows, x, dy);
    } else if (rows->conv != NULL) {
        add_patches(l, rows, x, step);
    }
    for (int64_t r = 0; !reduced && r < rows->dy->rows; ++r) {
        add_outer(l->g, dy + r * l->out, l->out);
        if (rows->conv == NULL) {
            memcpy(u, x + r * rows->cols, (size_t)rows->cols * sizeof *u);
            u[rows->cols] = 1.0;
            add_outer(l->a, u, l->n);
            l->rows += 1;
        }
    }
    weft_free(x);
    weft_free(dy);
    return WEFT_OK;
}

/* The sums of the step join the averages. [out] means of the diagonals. */
static void average(loops *l, bool first, double mean[2])
{
    const double old = first ? 0.0 : DECAY;
    mean[0] = mean[1] = 0.0;
    for (int64_t i = 0; i < l->n * l->n; ++i) {
        l->a_mean[i] = old * l->a_mean[i] + (1.0 - old) * l->a[i] / (double)l->rows;
        mean[0] += i % (l->n + 1) == 0 ? l->a_mean[i] / (double)l->n : 0.0;
    }
    for (int64_t i = 0; i < l->out * l->out; ++i) {
        l->g_mean[i] = old * l->g_mean[i] + (1.0 - old) * l->g[i] * IMAGES;
        mean[1] += i % (l->out + 1) == 0 ? l->g_mean[i] / (double)l->out : 0.0;
    }
    memset(l->a, 0, (size_t)(l->n * l->n) * sizeof *l->a);
    memset(l->g, 0, (size_t)(l->out * l->out) * sizeof *l->g);
    l->rows = 0;
}

/* x = m^-1 x of a positive definite matrix. */
static void solve(int64_t n, double *m, double *x)
{
    for (int64_t k = 0; k < n; ++k) {
        for (int64_t i = k + 1; i < n; ++i) {
            const double f = m[i * n + k] / m[k * n + k];
            for (int64_t j = k; f != 0.0 && j < n; ++j) {
                m[i * n + j] -= f * m[k * n + j];
            }
            x[i] -= f * x[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; --k) {
        for (int64_t j = k + 1; j < n; ++j) {
            x[k] -= m[k * n + j] * x[j];
        }
        x[k] /= m[k * n + k];
    }
}

/* x [out, n]: the gradient becomes the direction, by one dense system. */
static void turn_by_hand(const run_case *c, loops *l, bool first, double *x)
{
    double mean[2];
    average(l, first, mean);
    const double product = mean[0] * mean[1], gamma = c->absolute > 0.0 ? c->absolute : RHO * product;
    const double root = sqrt(gamma / product);
    const bool split = c->kind == SECOND_KFAC && c->solve == SECOND_INVERSE;
    const int64_t unknowns = l->n * l->out;
    double *m = calloc((size_t)(unknowns * unknowns), sizeof *m);
    for (int64_t i = 0; i < unknowns; ++i) {
        for (int64_t j = 0; j < unknowns; ++j) {
            const int64_t o = i / l->n, p = j / l->n, s = i % l->n, t = j % l->n;
            const double a = l->a_mean[s * l->n + t] + (split && s == t ? root * mean[0] : 0.0);
            const double g = c->kind == SECOND_INPUT
                                 ? (o == p ? mean[1] : 0.0)
                                 : l->g_mean[o * l->out + p] + (split && o == p ? root * mean[1] : 0.0);
            m[i * unknowns + j] = a * g + (!split && i == j ? gamma : 0.0);
        }
    }
    solve(unknowns, m, x);
    free(m);
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static bool wants(void *self, const train_pass *pass)
{
    rank_state *r = self;
    const train_tap *tap = second_tap(r->second);
    return tap->wants(tap->self, pass);
}

static weft_status take(void *self, const train_pass *pass, const tap_rows *rows)
{
    rank_state *r = self;
    const train_tap *tap = second_tap(r->second);
    const train_model *model = &r->model.interface;
    for (int m = 0; m < model->maps; ++m) {
        if (model->map[m].block == rows->block) {
            WEFT_TRY(add_rows(&r->by_hand[m], rows, r->step, r->c->form));
        }
    }
    return tap->take(tap->self, pass, rows);
}

static double pixel_at(int64_t image, int64_t i)
{
    return sin(0.9 * (double)image + 0.37 * (double)i) + 0.3 * cos(1.7 * (double)(i * i % 31));
}

static weft_status fill_images(weft_tensor *pixels, int64_t first, int64_t images)
{
    const int64_t each = pixels->rows * pixels->cols / images;
    double wide[IMAGES * MOST_PIXELS];
    float narrow[IMAGES * MOST_PIXELS];
    assert_true(images * each <= IMAGES * MOST_PIXELS);
    for (int64_t i = 0; i < images * each; ++i) {
        wide[i] = pixel_at(first + i / each, i % each);
        narrow[i] = (float)wide[i];
    }
    return tensor_upload(pixels, pixels->dtype == WEFT_DTYPE_F64 ? (const void *)wide : narrow);
}

static weft_status add_gradient(rank_state *r)
{
    double *part = NULL;
    WEFT_TRY(tap_read(&r->model.params.grad, &part));
    for (int64_t i = 0; i < r->model.params.trained; ++i) {
        r->gradient[i] += part[i];
    }
    weft_free(part);
    return WEFT_OK;
}

/* Images [first, first + images) of the step, forward and backward. */
static weft_status pass_over(rank_state *r, int64_t first, int64_t images, int part)
{
    const net_size *size = &r->c->net->size;
    weft_tensor pixels = {0}, ids = {0}, logits;
    int64_t id[IMAGES] = {0};
    WEFT_TRY(tensor_create(r->hal, r->c->net->dtype, images * size->height * size->width, size->channels,
                           WEFT_MEM_WORKSPACE, &pixels));
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_I64, images, 1, WEFT_MEM_WORKSPACE, &ids));
    WEFT_TRY(fill_images(&pixels, first + (int64_t)r->step * IMAGES, images));
    WEFT_TRY(tensor_upload(&ids, id));
    const image_batch input = {.pixels = pixels, .rows = images, .all_rows = IMAGES / r->c->parts, .sample_id = ids};
    const train_targets targets = {.rows = images, .outputs = CLASSES, .loss_entries = IMAGES};
    const train_batch batch = {.input = &input, .targets = &targets};
    train_pass pass = {.training = true, .part = part, .parts = r->c->parts, .batch = &batch};
    WEFT_TRY(r->model.interface.forward(&r->model, &pass, &logits));
    WEFT_TRY(tensor_axpby(0.1, &logits, 0.0, &logits));
    pass.tap = train_tap_of(&r->tap, &pass);
    WEFT_TRY(r->model.interface.backward(&r->model, &pass, &logits));
    tensor_destroy(&pixels);
    tensor_destroy(&ids);
    return add_gradient(r);
}

static weft_status put_gradient(rank_state *r)
{
    const param_store *params = &r->model.params;
    float *narrow = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&narrow, params->trained, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < params->trained; ++i) {
        narrow[i] = (float)r->gradient[i];
    }
    weft_tensor grad = params->grad;
    const weft_status status = tensor_upload(&grad, grad.dtype == WEFT_DTYPE_F64 ? (const void *)r->gradient : narrow);
    weft_free(narrow);
    return status;
}

/* The directions by hand in the places of the gradients. */
static void turn_all_by_hand(rank_state *r)
{
    const param_store *params = &r->model.params;
    for (int m = 0; m < r->model.interface.maps; ++m) {
        const train_map *map = &r->model.interface.map[m];
        loops *l = &r->by_hand[m];
        double *weight = r->gradient + params->block[map->block].offset,
               *x = calloc((size_t)(l->n * l->out), sizeof *x);
        double *bias = map->bias >= 0 ? r->gradient + params->block[map->bias].offset : NULL;
        const int64_t in = l->n - (bias != NULL ? 1 : 0);
        for (int64_t i = 0; i < l->n * l->out; ++i) {
            x[i] = i % l->n < in ? weight[i / l->n * in + i % l->n] : bias[i / l->n];
        }
        turn_by_hand(r->c, l, r->step == 0, x);
        for (int64_t i = 0; i < l->n * l->out; ++i) {
            *(i % l->n < in ? &weight[i / l->n * in + i % l->n] : &bias[i / l->n]) = x[i];
        }
        free(x);
    }
}

static weft_status compare(const rank_state *r, const double *step)
{
    const double tolerance = hal_is_half(r->c->net->values) ? 2e-2 : 1e-8;
    const param_store *params = &r->model.params;
    for (int e = 0; e < params->entries; ++e) {
        const param_entry *entry = &params->entry[e];
        double largest = 1e-30;
        for (int64_t i = 0; entry->offset < params->trained && i < entry->rows * entry->cols; ++i) {
            largest = fmax(largest, fabs(r->gradient[entry->offset + i]));
        }
        for (int64_t i = 0; entry->offset < params->trained && i < entry->rows * entry->cols; ++i) {
            const int64_t at = entry->offset + i;
            WEFT_CHECK(fabs(step[at] - r->gradient[at]) <= tolerance * largest, WEFT_ERR_INTERNAL,
                       "step %d, %s, element %lld: %.12g, by hand %.12g", r->step, entry->name, (long long)i, step[at],
                       r->gradient[at]);
        }
    }
    return WEFT_OK;
}

static weft_status run_step(rank_state *r)
{
    const int64_t each = IMAGES / r->c->parts;
    const train_preconditioner *p = second_preconditioner(r->second);
    double *step = NULL;
    memset(r->gradient, 0, (size_t)r->model.params.trained * sizeof *r->gradient);
    for (int part = 0; part < r->c->parts; ++part) {
        const hal_span own = hal_split_rows(each, comm_size(r->comm), comm_rank(r->comm));
        WEFT_TRY(pass_over(r, part * each + own.begin, own.end - own.begin, part));
    }
    WEFT_TRY(comm_allreduce(r->comm, r->gradient, r->model.params.trained, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(put_gradient(r));
    WEFT_TRY(p->apply(p->self, &r->model.params, 1.0));
    WEFT_TRY(tap_read(&r->model.params.grad, &step));
    if (comm_rank(r->comm) == 0) {
        r->c->trained = r->model.params.trained;
        r->c->step[r->step] = malloc((size_t)r->c->trained * sizeof *step);
        memcpy(r->c->step[r->step], step, (size_t)r->c->trained * sizeof *step);
    }
    weft_status status = WEFT_OK;
    if (comm_size(r->comm) == 1) {
        turn_all_by_hand(r);
        status = compare(r, step);
    }
    weft_free(step);
    return status;
}

static bool always(const weft_hal *hal, const hal_conv_shape *shape)
{
    (void)hal, (void)shape;
    return true;
}

static void begin_loops(rank_state *r)
{
    for (int m = 0; m < r->model.interface.maps; ++m) {
        const train_map *map = &r->model.interface.map[m];
        const param_block *block = &r->model.params.block[map->block];
        loops *l = &r->by_hand[m];
        l->out = block->rows;
        l->n = block->cols + (map->bias >= 0 ? 1 : 0);
        l->a = calloc((size_t)(l->n * l->n), sizeof *l->a);
        l->g = calloc((size_t)(l->out * l->out), sizeof *l->g);
        l->a_mean = calloc((size_t)(l->n * l->n), sizeof *l->a);
        l->g_mean = calloc((size_t)(l->out * l->out), sizeof *l->g);
    }
}

static weft_status open_rank(rank_state *r)
{
    const net_case *net = r->c->net;
    const int64_t images = IMAGES / r->c->parts / comm_size(r->comm);
    const dense_config config = {
        .net = &r->layers, .norm = NORM_BATCH, .images = &images, .sizes = 1, .training = true, .values = net->values};
    const second_options options = {.kind = r->c->kind,
                                    .solve = r->c->solve,
                                    .form = r->c->form,
                                    .damping = RHO,
                                    .absolute = r->c->absolute,
                                    .decay = DECAY,
                                    .factors = 1,
                                    .interval = 1,
                                    .seed = 1};
    WEFT_TRY(weft_hal_open("cpu", 1, &r->hal));
    r->hal->image.conv_norms = always;
    WEFT_TRY(net_parse(net->text, "test", &r->layers));
    WEFT_TRY(net_fit(&r->layers, net->size, CLASSES));
    WEFT_TRY(dense_model_create(r->comm, r->hal, net->dtype, &config, &r->model));
    WEFT_TRY(param_initialise(&r->model.params, 5));
    WEFT_CHECK(r->model.interface.maps == net->maps, WEFT_ERR_INTERNAL, "%d maps", r->model.interface.maps);
    WEFT_TRY(WEFT_NEW_ZERO(&r->gradient, r->model.params.trained, WEFT_MEM_WORKSPACE));
    begin_loops(r);
    return second_create(r->comm, &r->model.interface, &options, &r->second);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    rank_state r = {.c = argument, .comm = comm, .tap = {.wants = wants, .take = take}};
    r.tap.self = &r;
    weft_status status = open_rank(&r);
    for (r.step = 0; status == WEFT_OK && r.step < STEPS; ++r.step) {
        status = run_step(&r);
    }
    second_destroy(r.second);
    weft_free(r.gradient);
    for (int m = 0; m < MOST_MAPS; ++m) {
        free(r.by_hand[m].a);
        free(r.by_hand[m].g);
        free(r.by_hand[m].a_mean);
        free(r.by_hand[m].g_mean);
    }
    dense_model_destroy(&r.model);
    net_destroy(&r.layers);
    weft_hal_close(r.hal);
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void free_steps(run_case *c)
{
    for (int s = 0; s < STEPS; ++s) {
        free(c->step[s]);
    }
}

static const run_case methods[] = {{.kind = SECOND_KFAC},
                                   {.kind = SECOND_KFAC, .solve = SECOND_INVERSE},
                                   {.kind = SECOND_INPUT},
                                   {.kind = SECOND_KFAC, .absolute = 3e-3},
                                   {.kind = SECOND_KFAC, .form = SECOND_REDUCE},
                                   {.kind = SECOND_KFAC, .solve = SECOND_INVERSE, .absolute = 3e-3}};

/* Micro-batches too, where images do not depend on each other. */
static void test_steps_are_dense_solves(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof nets / sizeof *nets; ++n) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
            run_case c = methods[m];
            c.net = &nets[n];
            c.parts = m % 2 == 1 && !nets[n].norms ? 3 : 1;
            ASSERT_OK(comm_thread_run(1, run_rank, &c));
            free_steps(&c);
        }
    }
}

static void test_ranks_and_parts_make_the_step_of_one(void **state)
{
    (void)state;
    static const int cuts[4][2] = {{2, 1}, {3, 1}, {1, 3}, {2, 3}}; /* ranks, parts */
    for (size_t n = 0; n < sizeof nets / sizeof *nets; ++n) {
        run_case one = methods[n % 2];
        one.form = n >= 2 ? SECOND_REDUCE : SECOND_EXPAND;
        one.net = &nets[n];
        one.parts = 1;
        ASSERT_OK(comm_thread_run(1, run_rank, &one));
        for (int i = 0; i < 4; ++i) {
            run_case many = one;
            double largest = 0.0;
            many.net = &nets[n];
            many.parts = cuts[i][1];
            if (nets[n].norms && many.parts > 1) {
                continue;
            }
            ASSERT_OK(comm_thread_run(cuts[i][0], run_rank, &many));
            for (int64_t at = 0; at < STEPS * one.trained; ++at) {
                const double a = one.step[at / one.trained][at % one.trained];
                largest = fmax(largest, fabs(a));
            }
            for (int64_t at = 0; at < STEPS * one.trained; ++at) {
                const double a = one.step[at / one.trained][at % one.trained];
                const double b = many.step[at / one.trained][at % one.trained];
                assert_true(fabs(a - b) <= (hal_is_half(nets[n].values) ? 2e-2 : 1e-10) * largest);
            }
            free_steps(&many);
        }
        free_steps(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_dense_solves),
        cmocka_unit_test(test_ranks_and_parts_make_the_step_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
