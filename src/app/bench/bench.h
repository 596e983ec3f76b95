/*
 * app/bench/bench.h: the command `weft bench`, and the driver of all benches.
 *
 * A bench is a bench_kind: the columns of its rows, and a grid of cases, one for each place on its axes. The driver
 * opens threads (benches of kernels, one process) or ranks (bench comm), goes through the grid, the last axis fastest,
 * times and checks each case, and prints the rows as they come. A wrong result gets no time and no rate, and the
 * command ends with exit code 70.
 */
#pragma once

#include <math.h>

#include "app/setup/context.h"
#include "app/setup/machine_limits.h"
#include "app/table/grid.h"
#include "app/workload/workload.h"
#include "base/sample.h"
#include "tensor/tensor.h"

/* ---- time: one operation, or two in turns, on all ranks ---------------------------------------------------------- */

/* An operation to time. */
typedef struct bench_side {
    weft_status (*run)(void *self); /* NULL: there is no such operation */
    void *self;
    const double *seconds; /* set by each run, if a part of it alone counts; NULL: the whole run counts */
} bench_side;

typedef struct bench_pair {
    sample_quartiles seconds, other; /* of one run */
    double ratio;                    /* median over repetitions of other / seconds; NaN without the other side */
} bench_pair;

/* Times `inner` runs, which start after a barrier. [out] seconds: of one of them on the slowest rank. Collective. */
weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds);
/* Measures `repeats` repetitions after a warm-up; after a minute it stops, but not before three. A sample repeats a
 * short operation until it lasts 50 microseconds. The side that goes first alternates, so that other load on the
 * machine hits both. other: NULL, or without `run`, if there is nothing to compare with. Collective. */
weft_status bench_time(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                       bench_pair *result);

/* ---- check: known inputs, and what they give in double precision -------------------------------------------------
 *
 * Rank r holds numbers in [-1, 1) that only r and the position determine, so every rank can make those of all others
 * and check its own result alone. An error is told over its bound: above 1 a result is wrong, and infinite is one that
 * is not a number. */

/* Number i of a rank, in [-1, 1). */
float bench_input(int rank, int64_t i);
/* x [count]: the numbers of a rank. */
void bench_fill(int rank, float *x, int64_t count);
/* x [count]: the cubes of a rank's numbers: a few large values and many small ones, as gradients are. */
void bench_fill_gradient(int rank, float *x, int64_t count);
/* Returns the largest error of sum[begin .. begin + count) of the inputs of all ranks. The error of P float32 additions
 * is at most P roundings of the sum of magnitudes; a shorter type on the wire adds one rounding of each input and one
 * of the result. */
double bench_sum_error(const float *sum, int64_t begin, int64_t count, int ranks, comm_wire wire);

/*
 * An element of a result, computed again in double precision: a sum of products, and the sum of their magnitudes. The
 * error of n float32 additions grows like sqrt(n) when roundings are independent, so that an element may be off by
 * four times sqrt(n + 4) roundings of the sum of magnitudes.
 */
typedef struct bench_sum {
    double exact, magnitude;
    int64_t terms;
    double found;
    double more; /* allowed beside the bound of float32 */
} bench_sum;

/* The larger of two errors; one that is not a number counts as infinite. */
static inline double bench_worse(double worst, double error)
{
    return error <= worst ? worst : isnan(error) ? (double)INFINITY : error;
}

static inline void bench_sum_add(bench_sum *sum, double a, double b)
{
    sum->exact += a * b;
    sum->magnitude += fabs(a * b);
    sum->terms += 1;
}

/* A matrix on a backend, and its numbers on the host. */
typedef struct bench_array {
    weft_tensor on;
    float *host; /* [rows, cols] */
} bench_array;

/* Free with bench_array_free, also after a failure. */
weft_status bench_array_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, bench_array *a);
/* One of float32 that has the numbers of a rank. */
weft_status bench_array_input(weft_hal *hal, int rank, int64_t rows, int64_t cols, bench_array *a);
/* Copies the numbers to the backend or back. Floating-point types; 16-bit ones are rounded to, and read. */
typedef enum bench_way { BENCH_UP, BENCH_DOWN } bench_way;
weft_status bench_array_copy(bench_array *a, bench_way way);
void bench_array_free(bench_array *a);

/* ---- axes -------------------------------------------------------------------------------------------------------- */

enum { BENCH_AXES = 4, BENCH_LIST_MAX = 64, BENCH_NAMES_MAX = 32 };

/* What one figure of a case runs through. */
typedef struct bench_axis {
    int count;                                   /* 0: the bench has no such axis */
    bool listed;                                 /* false: the values are 0, 1, 2, ... */
    int64_t value[BENCH_LIST_MAX];               /* [count] if listed */
    char name[BENCH_NAMES_MAX][OPTION_WORD_MAX]; /* [count] of choices, whose values are their places */
    bool all; /* "all" choices were asked for: one that cannot run is listed instead of failing */
} bench_axis;

/* The numbers of an option of type INTLIST. */
void bench_axis_numbers(const weft_options *options, option_id id, bench_axis *axis);
/* text: names separated by commas, each taken once; "all" is every choice but "auto". choices: separated by '|'.
 * WEFT_ERR_USAGE names the option and its choices. */
weft_status bench_axis_names(const char *option, const char *text, const char *choices, bench_axis *axis);

/* ---- the run ----------------------------------------------------------------------------------------------------- */

typedef struct bench_run bench_run;

typedef struct bench_kind {
    size_t bytes;      /* of the bench's own struct, which begins with a bench_run; all of it is zero at first */
    size_t case_bytes; /* of a case, which is zero at first */
    bool ranks;        /* the ranks of the job measure together; all functions are collective */
    const table_column *column;
    int columns;
    /* Why a case may be impossible here (open() says WEFT_ERR_UNSUPPORTED), if axis 0 has bytes and axis 1 names; NULL:
     * then that is a failure. */
    const char *unsupported;
    weft_status (*begin)(bench_run *run);            /* reads options, sets axes and perhaps a head (BENCH_HEAD) */
    weft_status (*enter)(bench_run *run);            /* kernels: a team of threads has come to run->set; or NULL */
    weft_status (*open)(bench_run *run, void *c);    /* prepares the case at run->at */
    weft_status (*measure)(bench_run *run, void *c); /* bench_measure()s it and bench_add()s its rows */
    void (*close)(void *c);                          /* frees it, after open(), whether or not that failed */
    void (*leave)(bench_run *run);                   /* kernels: all teams are through with run->set; or NULL */
    void (*end)(bench_run *run);                     /* frees; or NULL */
} bench_kind;

struct bench_run {
    const bench_kind *kind;
    const char *name; /* "gemm" */
    char title[32];   /* in the log: "bench gemm" */
    const weft_options *options;
    int repeats;
    app_context *context;  /* the ranks, or kernels: the team of threads that measures now */
    weft_comm *comm;       /* of the context; kernels: NULL in begin() */
    machine_limits limits; /* kernels: of the team */
    bool again, cached;    /* they were measured again; the log says that rates above the triad's come out of caches */
    int set, sets;         /* kernels: sets of data, 1 unless begin() says more, of which all teams measure `set` now */
    bench_axis threads;    /* kernels: of the teams */
    bench_axis axis[BENCH_AXES];
    int64_t at[BENCH_AXES]; /* the case under way: its values, and their places on the axes */
    int place[BENCH_AXES];
    char what[200];  /* it, in messages: "product ab of 7 rows"; of ranks "ring of 64 bytes", else set by measure() */
    table_grid head; /* one row about the run */
    table_grid rows;
    table_grid skipped; /* cases that this build or these nodes cannot run: name, bytes, reason */
    log_progress progress;
    int done; /* cases */
    int invalid;
    char first_invalid[320];
};

extern const bench_kind bench_gemm, bench_comm;

/* weft bench NAME. Called on every rank, before MPI is started. WEFT_ERR_LAUNCH: a bench of kernels was started as
 * several processes. WEFT_ERR_INTERNAL: a result was wrong. */
weft_status app_bench(const weft_options *options);

/* The driver's steps: begin() with what stands above the rows; all cases (with the team); the end of what is printed.
 * WEFT_ERR_INTERNAL: a result was wrong. */
weft_status bench_begin(bench_run *run);
weft_status bench_cases(bench_run *run);
weft_status bench_end(bench_run *run);
void bench_free(bench_run *run);

/* Returns the choice of the case under way on an axis of names; it lives as long as the run. */
static inline const char *bench_name(const bench_run *run, int axis)
{
    return run->axis[axis].name[run->place[axis]];
}

/* Columns of a struct that TABLE_ROW made. */
#define BENCH_ROWS(row) .column = row##_columns, .columns = TABLE_COLUMNS(row)
/* The cases of a kind whose file calls its functions so. */
#define BENCH_CASES(type, row)                                                                                         \
    .case_bytes = sizeof(type), BENCH_ROWS(row), .open = open_case, .measure = measure, .close = close_case
/* Sets the head, for begin(): a row of TABLE_ROW. Without it a bench has the head of benches of kernels. */
#define BENCH_HEAD(run, row, ...)                                                                                      \
    ((run)->head = (table_grid){BENCH_ROWS(row)}, table_grid_add_row(&(run)->head, &(row){__VA_ARGS__}))
/* Adds a row of the kind's columns. */
weft_status bench_add(bench_run *run, const void *row);
/* Sets the row's of_best first: its median over the least of the rows so far, itself among them, that equal it in the
 * columns `same` (table_grid_least). */
weft_status bench_add_best(bench_run *run, void *row, const char *const *same);

/* ---- a case ------------------------------------------------------------------------------------------------------ */

typedef struct bench_case {
    bench_side side;
    bench_side other; /* in turns with `side` */
    /* A kernel gives a matrix. `samples` of its `elements`, or all if there are fewer, evenly over it, first and last
     * among them, are computed again by element(). */
    bench_array *result;
    int64_t samples, elements;
    bench_sum (*element)(const void *self, int64_t at);
    /* Of one run, to be compared with the machine's limits (limits_raise): operations of a product of float32, bytes of
     * arrays. 0: neither. */
    double flops, bytes;
    /* Another bench checks what the last run gave. [out] error: this rank's largest error over its bound. */
    weft_status (*check)(void *self, double *error);
} bench_case;

/* The case of a kernel that run_once() runs, on the case `c`. */
#define BENCH_KERNEL(c, to, again, count)                                                                              \
    .side = {run_once, c, NULL}, .result = (to), .element = (again), .samples = (count)

typedef struct bench_result {
    bench_pair time; /* NaN where the result is wrong */
    double error;    /* the largest one of all ranks, over its bound: above 1 is wrong */
    bool valid;
} bench_result;

/* Times a case and checks it. */
weft_status bench_measure(bench_run *run, const bench_case *c, bench_result *result);
/* Sets result->valid by the errors of all ranks. The times of a wrong result are erased, and the run fails with the
 * first of them. */
weft_status bench_judge(bench_run *run, bench_result *result);

/* The columns of a time, and the values of a row: its times, error (kernels) and verdict. */
/* clang-format off */
#define BENCH_SECONDS(C)                                                                                               \
    C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(INT, n, true)
#define BENCH_TIMES(r)                                                                                                 \
    .seconds_median = (r)->time.seconds.median, .seconds_q1 = (r)->time.seconds.q1,                                    \
    .seconds_q3 = (r)->time.seconds.q3, .n = (r)->time.seconds.count, .valid = (r)->valid
#define BENCH_RESULT(r) BENCH_TIMES(r), .error = (r)->error
/* clang-format on */
