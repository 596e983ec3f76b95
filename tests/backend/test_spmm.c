/*
 * backend/test_spmm.c: aggregation of the cpu backend, every form and instruction set, and of the cuda backend, against
 * a sum in double precision made here straight from the CSR. The graphs are chosen to break things: empty rows, few
 * dense rows, a star, duplicates, unsorted columns, more columns than rows, enough columns to cross blocks, clusters,
 * the last one cut off by the end.
 *
 * trees: release
 */
#include <math.h>

#include "backend/spmm_graphs.h"
#include "base/half.h"
#include "base/isa.h"

/* Weights of both signs: what a product is does not depend on what they mean. */
static void weigh_graph(graph *g)
{
    const int64_t entries = g->offset[g->rows];
    g->value = malloc((size_t)(entries + 1) * sizeof *g->value);
    for (int64_t e = 0; g->value != NULL && e < entries; e++) {
        g->value[e] = e % 13 == 0 ? 0.0F : (float)random_value();
    }
}

enum { GRAPHS = 15, MAX_ROWS = 6000, CLUSTERS = 12, WIDE_CLUSTERS = 13, FORUM = 14 };

/* Of every hundred columns that follow each other the rows have all their neighbours but one in ten in the same ones;
 * some hundreds of rows have none, some two edges, one more than all others. */
static graph cluster_graph(const char *name, int64_t rows, int64_t cols, int64_t *degree)
{
    for (int64_t r = 0; r < rows; r++) {
        degree[r] = r / 300 % 4 == 3 ? 0 : r % 7 == 0 ? 2 : 30;
    }
    degree[rows - 2] = 3000;
    graph g = new_graph(name, rows, cols, degree);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t own = (rows - 1 - r) * cols / rows / 100 * 100; /* the first rows have the last columns */
        const int64_t width = cols - own < 100 ? cols - own : 100;
        for (int64_t e = g.offset[r]; e < g.offset[r + 1]; e++) {
            if (e % 10 != 0) {
                g.column[e] = (int32_t)(own + g.column[e] % width);
            }
        }
    }
    return g;
}

static graph make_graph(int kind)
{
    static int64_t degree[MAX_ROWS];
    memset(degree, 0, sizeof degree);
    random_state = 88172645463325252U + (uint64_t)kind;
    switch (kind) {
    case 0:
        return new_graph("no rows", 0, 5, degree);
    case 1:
        return new_graph("no edges", 7, 7, degree);
    case 2:
        for (int r = 0; r < 300; r++) {
            degree[r] = r % 3 == 0 ? r % 11 : 0;
        }
        return new_graph("empty rows", 300, 300, degree);
    case 3:
        degree[17] = 20000;
        degree[18] = 9000;
        degree[40] = 1;
        degree[63] = 5000;
        return new_graph("few dense rows", 64, 20000, degree);
    case 4: {
        for (int r = 0; r < 700; r++) {
            degree[r] = r == 0 ? 699 : 1;
        }
        graph g = new_graph("star", 700, 700, degree);
        for (int64_t e = 0; e < g.offset[700]; e++) {
            g.column[e] = e < 699 ? (int32_t)e + 1 : 0;
        }
        return g;
    }
    case 5:
        for (int r = 0; r < 2100; r++) {
            degree[r] = (int64_t)(next_random() % 9);
        }
        return new_graph("sparse", 2100, 2100, degree);
    case 6:
        for (int r = 0; r < 90; r++) {
            degree[r] = 60 + r % 7;
        }
        return new_graph("dense", 90, 100, degree);
    case 7:
        for (int r = 0; r < 50; r++) {
            degree[r] = 12;
        }
        return new_graph("rectangular", 50, 4000, degree);
    case 8: {
        for (int r = 0; r < 100; r++) {
            degree[r] = 40;
        }
        graph g = new_graph("duplicates", 100, 100, degree);
        for (int64_t e = 0; e < g.offset[100]; e++) {
            g.column[e] %= 5;
        }
        return g;
    }
    case 9:
        for (int r = 0; r < 200; r++) {
            degree[r] = (int64_t)(next_random() % 60);
        }
        return new_graph("many blocks", 200, 70000, degree);
    case 10:
        for (int r = 0; r < 6000; r++) {
            degree[r] = r % 1000 == 0 ? 1 : 0;
        }
        return new_graph("rare rows, several windows", 6000, 20000, degree);
    case CLUSTERS:
        return cluster_graph("clusters, several bands", 2500, 2503, degree);
    case FORUM:
        return forum_graph("posts joined by users", 1500, 300);
    case WIDE_CLUSTERS:
        return cluster_graph("few rows of clusters", 300, 9001, degree);
    default:
        degree[0] = 3;
        return new_graph("one vertex", 1, 1, degree);
    }
}

typedef struct operands {
    flat_args args;
    float *x, *before, *pre, *post, *diag; /* x and before: what `source` and `out` hold */
    void *source, *out;                    /* x and out in their types */
    size_t out_cells, out_bytes;
} operands;

/* A copy in the type that is asked for; the floats are what it holds. */
static void *typed_copy(float *values, size_t count, bool narrow)
{
    void *copy = NULL;
    ASSERT_OK(weft_malloc(count + 1, sizeof *values, WEFT_MEM_GENERAL, &copy));
    for (size_t i = 0; i < count; i++) {
        if (narrow) {
            ((uint16_t *)copy)[i] = bf16_from_float(values[i]);
            values[i] = bf16_to_float(((uint16_t *)copy)[i]);
        } else {
            ((float *)copy)[i] = values[i];
        }
    }
    return copy;
}

static double out_at(const operands *o, int64_t i)
{
    return o->args.narrow_out ? (double)bf16_to_float(((const uint16_t *)o->out)[i])
                              : (double)((const float *)o->out)[i];
}

/* Operands by bits: 0 pre, 1 post, 2 diag (when the shape allows), 3 beta, 4 padded rows, 5 x and 6 out of bfloat16. */
enum { NARROW_X = 32, NARROW_OUT = 64 };

static operands make_operands(const graph *g, int64_t d, int mix)
{
    operands o = {0};
    int64_t pad = (mix & 16) != 0 ? d + 3 : 0; /* sources that ROWS packs where it reads them often */
    const size_t x_cells = (size_t)(g->cols * (d + pad));
    const bool narrow_out = (mix & NARROW_OUT) != 0;
    o.out_cells = (size_t)(g->rows * (d + pad));
    o.out_bytes = o.out_cells * (narrow_out ? sizeof(uint16_t) : sizeof(float));
    o.x = random_floats(x_cells);
    o.source = typed_copy(o.x, x_cells, (mix & NARROW_X) != 0);
    o.before = random_floats(o.out_cells);
    o.out = typed_copy(o.before, o.out_cells, narrow_out);
    o.pre = random_floats((size_t)g->cols);
    o.post = random_floats((size_t)g->rows);
    o.diag = random_floats((size_t)g->rows);
    o.args = (flat_args){.dtype = WEFT_DTYPE_F32,
                         .narrow = (mix & NARROW_X) != 0,
                         .narrow_out = narrow_out,
                         .rows = g->rows,
                         .cols = g->cols,
                         .d = d,
                         .x = o.source,
                         .ldx = d + pad,
                         .pre = (mix & 1) != 0 ? o.pre : NULL,
                         .post = (mix & 2) != 0 ? o.post : NULL,
                         .diag = (mix & 4) != 0 && g->rows <= g->cols ? o.diag : NULL,
                         .beta = (mix & 8) != 0 ? -0.5 : 0.0,
                         .out = o.out,
                         .ldo = d + pad};
    return o;
}

static void free_operands(operands *o)
{
    weft_free(o->x);
    weft_free(o->source);
    weft_free(o->out);
    weft_free(o->before);
    weft_free(o->pre);
    weft_free(o->post);
    weft_free(o->diag);
}

/* The definition, in double precision; *scale = sum of the magnitudes added, for the tolerance. */
static double expected_at(const graph *g, const operands *o, int64_t r, int64_t j, double *scale)
{
    const flat_args *a = &o->args;
    double sum = 0.0;
    double magnitude = 0.0;
    for (int64_t e = g->offset[r]; e < g->offset[r + 1]; e++) {
        int32_t c = g->column[e];
        const double weight = g->value != NULL ? (double)g->value[e] : 1.0;
        double term = weight * (a->pre != NULL ? (double)o->pre[c] : 1.0) * (double)o->x[c * a->ldx + j];
        sum += term;
        magnitude += fabs(term);
    }
    double post = a->post != NULL ? (double)o->post[r] : 1.0;
    double value = post * sum;
    *scale = fabs(post) * magnitude + 1e-30;
    if (a->beta != 0.0) {
        value += a->beta * (double)o->before[r * a->ldo + j];
        *scale += fabs(a->beta * (double)o->before[r * a->ldo + j]);
    }
    if (a->diag != NULL) {
        value += (double)o->diag[r] * (double)o->x[r * a->ldx + j];
        *scale += fabs((double)o->diag[r] * (double)o->x[r * a->ldx + j]);
    }
    return value;
}

static void check_result(const graph *g, const operands *o, const char *what)
{
    const flat_args *a = &o->args;
    for (int64_t r = 0; r < g->rows; r++) {
        double depth = sqrt((double)(g->offset[r + 1] - g->offset[r]) + 4.0);
        int64_t step = a->d > 64 ? 7 : 1; /* every residue of lanes is met over the rows */
        for (int64_t j = r % step; j < a->d; j += step) {
            double scale;
            double want = expected_at(g, o, r, j, &scale);
            double got = out_at(o, r * a->ldo + j);
            double rounding = a->narrow_out ? 0x1p-8 * fabs(want) + 1e-38 : 0.0;
            if (!(fabs(got - want) <= 2e-7 * depth * scale + rounding)) {
                fail_msg("%s, %s, d %lld: row %lld column %lld is %.9g, expected %.9g", g->name, what, (long long)a->d,
                         (long long)r, (long long)j, got, want);
            }
        }
        for (int64_t j = a->d; j < a->ldo; j++) {
            assert_true(out_at(o, r * a->ldo + j) == (double)o->before[r * a->ldo + j]); /* padding is not ours */
        }
    }
}

static const char *const form_name[] = {HAL_SPMM_FORMS(CHOICE_NAME)};

/* Of the 32 combinations of operands a width and form meets every fifth; a second compiler's every eleventh;
 * instrumented builds, ten times slower, fewer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { THINNING = 37 };
#elif defined(__clang__)
enum { THINNING = 11 };
#else
enum { THINNING = 5 };
#endif

/* More slices than blocks, strips or rows of a part among them: some are empty. */
static void run_in_slices(weft_hal *hal, hal_spmm *spmm, const operands *o, void *out)
{
    static const int cuts[] = {2, 3, 7, 64};
    flat_args args = o->args;
    args.out = out;
    args.slices = cuts[args.d % 4];
    for (args.slice = 0; args.slice < args.slices; args.slice++) {
        ASSERT_OK(run_flat(hal, spmm, &args));
    }
    ASSERT_STATUS(run_flat(hal, spmm, &args), WEFT_ERR_INTERNAL);
}

/* A second run on the same operands, and of every other combination a third one in slices, gives the same bits and
 * allocates nothing. */
static void run_and_check(weft_hal *hal, hal_spmm *spmm, const graph *g, int64_t d, int mix, const char *what)
{
    operands o = make_operands(g, d, mix);
    if (o.args.beta == 0.0) { /* beta = 0 never reads out */
        for (size_t i = 0; i < o.out_cells; i++) {
            if ((int64_t)i % o.args.ldo < d && o.args.narrow_out) {
                ((uint16_t *)o.out)[i] = bf16_from_float(NAN);
            } else if ((int64_t)i % o.args.ldo < d) {
                ((float *)o.out)[i] = NAN;
            }
        }
    }
    uint64_t allocations = weft_mem_usage_total().allocations;
    ASSERT_OK(run_flat(hal, spmm, &o.args));
    assert_true(!hal_host_visible(hal) || weft_mem_usage_total().allocations == allocations); /* else of the copies */
    check_result(g, &o, what);
    for (int sliced = 0; sliced < 1 + (mix + d) % 2; sliced++) {
        void *again = typed_copy(o.before, o.out_cells, o.args.narrow_out);
        if (sliced != 0) {
            run_in_slices(hal, spmm, &o, again);
        } else {
            o.args.out = again;
            ASSERT_OK(run_flat(hal, spmm, &o.args));
        }
        assert_memory_equal(again, o.out, o.out_bytes);
        weft_free(again);
    }
    free_operands(&o);
}

static const int64_t widths[] = {1, 3, 7, 16, 17, 31, 32, 33, 41, 48, 64, 100, 256, 602};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static void check_graph(weft_hal *hal, const graph *g, hal_spmm_form form, int64_t max_d)
{
    static int turn = 0; /* every second matrix is sized for rows of 16 */
    hal_csr csr = {.rows = g->rows, .cols = g->cols, .offset = g->offset, .column = g->column, .value = g->value};
    hal_spmm *spmm = NULL;
    char what[96];
    csr.usual_d = turn++ % 2 != 0 ? 16 : 0;
    if ((int)form >= kinds_there()) {
        return;
    }
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, form, max_d, &spmm));
    hal_spmm_info info = hal->sparse.spmm_info(hal, spmm);
    if (!hal_host_visible(hal)) {
        const bool shares = form == HAL_SPMM_SHARED && g->value == NULL && g->rows > 0;
        assert_int_equal(info.form, shares ? HAL_SPMM_SHARED : HAL_SPMM_ROWS); /* a device has no other form */
    } else if (form != HAL_SPMM_AUTO) {
        assert_int_equal(info.form, form);
    } else {
        assert_int_not_equal(info.form, HAL_SPMM_AUTO);
    }
    snprintf(what, sizeof what, "%s, form %s, %d threads", hal->name, form_name[form], hal->threads);
    bool large = g->cols > 10000;
    for (int w = 0; w < WIDTHS && widths[w] <= max_d; w++) {
        if (large && widths[w] != 1 && widths[w] != 33 && widths[w] != 16) {
            continue;
        }
        int mixes = widths[w] <= 48 && !large && g->rows < 400 ? 32 : 1;
        for (int m = 0; m < mixes; m++) {
            /* Small ones: each combination in turn over the forms; others: one that changes with the width. */
            if (mixes == 32 && (m + w + (int)form) % THINNING != 0) {
                continue;
            }
            static const int types[] = {NARROW_X | NARROW_OUT, NARROW_X, NARROW_X | NARROW_OUT, NARROW_OUT};
            const int mix = mixes == 32 ? m : (w * 7 + (int)form) % 32;
            run_and_check(hal, spmm, g, widths[w], mix, what);
            if (mixes == 1 || m % 2 == 0) {
                run_and_check(hal, spmm, g, widths[w], mix | types[(m / 2 + w) % 4], what);
            }
        }
    }
    hal->sparse.spmm_destroy(hal, spmm);
}

static void check_backend(const char *resource, int threads)
{
    weft_hal *hal = NULL;
    if (!open_if_there(resource, threads, &hal)) {
        return;
    }
    for (int kind = 0; kind < GRAPHS; kind++) {
        graph g = make_graph(kind);
        const int last = hal_host_visible(hal) ? HAL_SPMM_SHARED : HAL_SPMM_AUTO; /* a device: rows */
        /* Of graphs without clusters tiles take little or nothing: a sanitizer sees every fourth. */
        const bool tiled = kind == CLUSTERS || kind == WIDE_CLUSTERS || kind % 4 == 0 || !TEST_SANITIZED;
        for (int form = HAL_SPMM_AUTO; form <= last; form++) {
            if (form != HAL_SPMM_TILES || tiled) {
                check_graph(hal, &g, (hal_spmm_form)form, g.cols > 10000 ? 33 : g.cols > 1000 ? 100 : 602);
            }
        }
        check_graph(hal, &g, HAL_SPMM_LISTS, 16);
        check_graph(hal, &g, HAL_SPMM_SHARED, hal_host_visible(hal) ? 16 : 100); /* two strips */
        if (tiled) {
            check_graph(hal, &g, HAL_SPMM_TILES, 16);
        }
        weigh_graph(&g);
        check_graph(hal, &g, HAL_SPMM_ROWS, g.cols > 10000 ? 33 : g.cols > 1000 ? 100 : 602);
        check_graph(hal, &g, HAL_SPMM_AUTO, 16);
        free_graph(&g);
    }
    weft_hal_close(hal);
}

/* What has no place for weights says so. */
static void test_forms_without_weights(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    hal_spmm *spmm = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    graph g = make_graph(6);
    weigh_graph(&g);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column, .value = g.value};
    for (int form = HAL_SPMM_BLOCKS; form < kinds_there(); form++) {
        ASSERT_STATUS(hal->sparse.spmm_create(hal, &csr, (hal_spmm_form)form, 4, &spmm), WEFT_ERR_UNSUPPORTED);
        ASSERT_MESSAGE("take rows");
        assert_null(spmm);
    }
    free_graph(&g);
    weft_hal_close(hal);
}

static void test_base(void **state)
{
    (void)state;
    check_backend("cpu:base", 2);
}

#if WEFT_HAVE_CUDA
static void test_cuda(void **state)
{
    (void)state;
    check_backend("cuda", 1);
}
#endif

static void test_avx2(void **state)
{
    (void)state;
    if (hal_isa_best() < HAL_ISA_AVX2) {
        skip();
    }
    check_backend("cpu:avx2", 3);
}

static void test_avx512(void **state)
{
    (void)state;
    if (hal_isa_best() < HAL_ISA_AVX512) {
        skip();
    }
    check_backend("cpu", 2);
    check_backend("cpu", 1);
}

/* Lines written past the caches: a large aligned output, with and without what forbids it. */
static void test_streamed_output(void **state)
{
    (void)state;
    enum { ROWS = 66000, D = 256, COLS = 500 };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    int64_t *degree = calloc(ROWS, sizeof *degree);
    for (int r = 0; r < ROWS; r++) {
        degree[r] = r % 3;
    }
    random_state = 7;
    graph g = new_graph("large output", ROWS, COLS, degree);
    hal_csr csr = {.rows = ROWS, .cols = COLS, .offset = g.offset, .column = g.column};
    hal_spmm *spmm = NULL;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_ROWS, D, &spmm));
    float *x = random_floats((size_t)COLS * D);
    float *post = random_floats(ROWS);
    float *out = random_floats((size_t)ROWS * D);
    flat_args args = {.dtype = WEFT_DTYPE_F32,
                      .rows = ROWS,
                      .cols = COLS,
                      .d = D,
                      .x = x,
                      .ldx = D,
                      .post = post,
                      .out = out,
                      .ldo = D};
    ASSERT_OK(run_flat(hal, spmm, &args));
    for (int64_t r = 0; r < ROWS; r += 97) {
        for (int64_t j = 0; j < D; j += 5) {
            double want = 0.0;
            for (int64_t e = g.offset[r]; e < g.offset[r + 1]; e++) {
                want += (double)x[(int64_t)g.column[e] * D + j];
            }
            ASSERT_NEAR(out[r * D + j], want * (double)post[r], 1e-6);
        }
    }
    weft_free(x);
    weft_free(post);
    weft_free(out);
    hal->sparse.spmm_destroy(hal, spmm);
    free_graph(&g);
    free(degree);
    weft_hal_close(hal);
}

static void test_double(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (int kind = 0; kind < GRAPHS; kind++) {
        graph g = make_graph(kind);
        hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
        enum { D = 5 };
        double *x = malloc((size_t)(g.cols * D) * sizeof *x);
        double *out = malloc((size_t)(g.rows * D + 1) * sizeof *out);
        for (int64_t i = 0; i < g.cols * D; i++) {
            x[i] = random_value();
        }
        for (int form = HAL_SPMM_ROWS; form < kinds_there(); form++) {
            for (int64_t i = 0; i < g.rows * D; i++) {
                out[i] = 2.0;
            }
            bool diag = g.rows <= g.cols;
            hal_spmm *spmm = NULL;
            ASSERT_OK(hal->sparse.spmm_create(hal, &csr, (hal_spmm_form)form, D, &spmm));
            flat_args args = {.dtype = WEFT_DTYPE_F64,
                              .rows = g.rows,
                              .cols = g.cols,
                              .d = D,
                              .x = x,
                              .ldx = D,
                              .pre = x,
                              .post = x + g.cols,
                              .diag = diag ? x + 1 : NULL,
                              .beta = 3.0,
                              .out = out,
                              .ldo = D};
            args.post = g.rows <= 4 * g.cols ? x + g.cols : NULL;
            ASSERT_OK(run_flat(hal, spmm, &args));
            for (int64_t r = 0; r < g.rows; r++) {
                for (int64_t j = 0; j < D; j++) {
                    double sum = 0.0;
                    for (int64_t e = g.offset[r]; e < g.offset[r + 1]; e++) {
                        sum += x[g.column[e]] * x[(int64_t)g.column[e] * D + j];
                    }
                    double want = 6.0 + (args.post != NULL ? x[g.cols + r] : 1.0) * sum;
                    want += diag ? x[1 + r] * x[r * D + j] : 0.0;
                    ASSERT_NEAR(out[r * D + j], want, 1e-10);
                }
            }
            hal->sparse.spmm_destroy(hal, spmm);
        }
        free(x);
        free(out);
        free_graph(&g);
    }
    weft_hal_close(hal);
}

/* Blocked forms of a graph with many edges a row cost little more than their 16-bit columns. */
static void test_memory(void **state)
{
    (void)state;
    enum { N = 20000, DEGREE = 100 };
    int64_t *degree = malloc(N * sizeof *degree);
    for (int r = 0; r < N; r++) {
        degree[r] = DEGREE;
    }
    random_state = 11;
    graph g = new_graph("regular", N, N, degree);
    hal_csr csr = {.rows = N, .cols = N, .offset = g.offset, .column = g.column, .usual_d = 16};
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    hal_spmm *spmm = NULL;
    uint64_t before = weft_mem_usage_total().current_bytes;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_LISTS, 602, &spmm)); /* sized for the usual width */
    hal_spmm_info info = hal->sparse.spmm_info(hal, spmm);
    assert_int_equal(info.bytes, weft_mem_usage_total().current_bytes - before);
    double per_edge = ((double)info.bytes - 2 * 4.0 * N * 16) / ((double)N * DEGREE);
    assert_true(per_edge > 2.0 && per_edge < 2.3);
    const int64_t held = info.block_cols < N ? info.block_cols : N;
    assert_int_equal(info.set_bytes, 4 * 16 * held); /* a block's strip of sources */
    assert_int_equal(info.far_edges, 2 * N);         /* each of them once for each of two threads */
    hal->sparse.spmm_destroy(hal, spmm);
    assert_int_equal(weft_mem_usage_total().current_bytes, before);
    weft_hal_close(hal);
    free_graph(&g);
    free(degree);
}

/* Edges of rows with at least eight in as many columns as a tile has. */
static int64_t edges_in_tiles(const graph *g, int64_t columns)
{
    enum { MOST_TILES = 1024 };
    static int64_t in[MOST_TILES];
    int64_t edges = 0;
    assert_true(g->cols <= MOST_TILES * columns);
    for (int64_t r = 0; r < g->rows; r++) {
        memset(in, 0, sizeof in);
        for (int64_t e = g->offset[r]; e < g->offset[r + 1]; e++) {
            in[g->column[e] / columns]++;
        }
        for (int i = 0; i < MOST_TILES; i++) {
            edges += in[i] >= 8 ? in[i] : 0;
        }
    }
    return edges;
}

/* Tiles have the edges that they are for, and no others; all memory is counted. */
static void test_tiles(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (int kind = 0; kind < GRAPHS; kind++) {
        for (int64_t d = 16; d <= 32; d += 16) {
            graph g = make_graph(kind);
            const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
            hal_spmm *spmm = NULL;
            const uint64_t before = weft_mem_usage_total().current_bytes;
            ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_LISTS, d, &spmm));
            hal_spmm_info info = hal->sparse.spmm_info(hal, spmm);
            assert_true(info.tile_bytes == 0 && info.tile_edges == 0);
            hal->sparse.spmm_destroy(hal, spmm);
            ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_TILES, d, &spmm));
            info = hal->sparse.spmm_info(hal, spmm);
            assert_int_equal(info.bytes, weft_mem_usage_total().current_bytes - before);
            const int64_t columns = (int64_t)info.tile_bytes / (4 * d); /* all of a narrow matrix's */
            assert_true(columns >= 64 || columns == g.cols);
            assert_int_equal(info.tile_edges, edges_in_tiles(&g, columns));
            assert_true((kind != CLUSTERS && kind != WIDE_CLUSTERS) || 2 * info.tile_edges > g.offset[g.rows]);
            hal->sparse.spmm_destroy(hal, spmm);
            assert_int_equal(weft_mem_usage_total().current_bytes, before);
            free_graph(&g);
        }
    }
    weft_hal_close(hal);
}

/* out = A x of small whole numbers, whose sums every order gives exactly. */
static void run_whole_numbers(const graph *g, int threads, hal_spmm_form form, int64_t d, float *out,
                              hal_spmm_info *info)
{
    weft_hal *hal = NULL;
    char resource[] = "cpu";
    hal_spmm *spmm = NULL;
    float *x = malloc((size_t)(g->cols * d) * sizeof *x);
    assert_non_null(x);
    ASSERT_OK(weft_hal_open(resource, threads, &hal));
    for (int64_t i = 0; i < g->cols * d; i++) {
        x[i] = (float)(i * 7919 % 2001 - 1000);
    }
    const hal_csr csr = {.rows = g->rows, .cols = g->cols, .offset = g->offset, .column = g->column};
    const uint64_t before = weft_mem_usage_total().current_bytes;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, form, d, &spmm));
    *info = hal->sparse.spmm_info(hal, spmm);
    assert_int_equal(info->bytes, weft_mem_usage_total().current_bytes - before);
    const flat_args args = {
        .dtype = WEFT_DTYPE_F32, .rows = g->rows, .cols = g->cols, .d = d, .x = x, .ldx = d, .out = out, .ldo = d};
    ASSERT_OK(run_flat(hal, spmm, &args));
    hal->sparse.spmm_destroy(hal, spmm);
    weft_hal_close(hal);
    free(x);
}

/* Posts that users join are read several times less often, sums of whole numbers are exact to the last digit, and
 * neither what is shared nor a sum depends on threads. */
static void test_shared(void **state)
{
    (void)state;
    if (HAL_SPMM_SHARED >= kinds_there()) {
        skip();
    }
    graph g = make_graph(FORUM);
    for (int64_t d = 16; d <= 80; d += 64) {
        const size_t cells = (size_t)(g.rows * d);
        float *exact = malloc(cells * sizeof *exact), *shared = malloc(cells * sizeof *shared);
        hal_spmm_info info, first = {.reads = 0};
        assert_true(exact != NULL && shared != NULL);
        run_whole_numbers(&g, 1, HAL_SPMM_ROWS, d, exact, &info);
        assert_true(info.reads == 0 && info.sums == 0);
        for (int threads = 1; threads <= 3; threads++) {
            run_whole_numbers(&g, threads, HAL_SPMM_SHARED, d, shared, &info);
            assert_memory_equal(exact, shared, cells * sizeof *exact);
            assert_true(info.sums > 0 && 2 * info.reads < g.offset[g.rows]);
            assert_true(threads == 1 || (info.reads == first.reads && info.sums == first.sums));
            first = info;
        }
        free(exact);
        free(shared);
    }
    free_graph(&g);
}

static void test_refusals(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    int64_t offset[] = {0, 2, 3};
    int32_t column[] = {0, 5, 1};
    hal_csr csr = {.rows = 2, .cols = 3, .offset = offset, .column = column};
    hal_spmm *spmm = NULL;
    ASSERT_STATUS(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_ROWS, 4, &spmm), WEFT_ERR_DATA);
    ASSERT_MESSAGE("entry 1");
    assert_null(spmm);
    column[1] = 2;
    offset[1] = 4;
    ASSERT_STATUS(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_ROWS, 4, &spmm), WEFT_ERR_DATA);
    ASSERT_MESSAGE("row 1");
    offset[1] = 2;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_ROWS, 4, &spmm));
    float x[3 * 8] = {0};
    float out[2 * 8];
    flat_args args = {.dtype = WEFT_DTYPE_F32, .rows = 2, .cols = 3, .d = 8, .x = x, .ldx = 8, .out = out, .ldo = 8};
    ASSERT_STATUS(run_flat(hal, spmm, &args), WEFT_ERR_UNSUPPORTED);
    args.d = 4;
    args.dtype = WEFT_DTYPE_I32;
    ASSERT_STATUS(run_flat(hal, spmm, &args), WEFT_ERR_UNSUPPORTED);
    args.dtype = WEFT_DTYPE_F32;
    ASSERT_OK(run_flat(hal, spmm, &args));
    hal->sparse.spmm_destroy(hal, spmm);
    weft_hal_close(hal);
}

/* Every allocation of a build fails once: an error, no leak. */
static void test_allocation_failures(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (int form = HAL_SPMM_AUTO; form < kinds_there(); form++) {
        graph g = make_graph(form == HAL_SPMM_TILES ? CLUSTERS : form == HAL_SPMM_SHARED ? FORUM : 5);
        hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
        uint64_t live = weft_mem_usage_total().current_bytes;
        bool done = false;
        for (uint64_t n = 1; !done; n++) {
            hal_spmm *spmm = NULL;
            weft_alloc_fail_after(n);
            weft_status status = hal->sparse.spmm_create(hal, &csr, (hal_spmm_form)form, 32, &spmm);
            weft_alloc_fail_after(0);
            done = status == WEFT_OK;
            if (done) {
                assert_true(n > 3);
                hal->sparse.spmm_destroy(hal, spmm);
            } else {
                assert_int_equal(status, WEFT_ERR_RESOURCE);
                assert_null(spmm);
            }
            assert_int_equal(weft_mem_usage_total().current_bytes, live);
        }
        free_graph(&g);
    }
    weft_hal_close(hal);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_without_weights),
        cmocka_unit_test(test_base),
#if WEFT_HAVE_CUDA
        cmocka_unit_test(test_cuda),
#endif
        cmocka_unit_test(test_avx2),
        cmocka_unit_test(test_avx512),
        cmocka_unit_test(test_streamed_output),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_allocation_failures),
    };
    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        cmocka_set_test_filter(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
