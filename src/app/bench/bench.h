/*
 * app/bench/bench.h: the command `weft bench`, and the driver of all benches.
 *
 * A bench is a bench_kind: columns, and cases. The driver opens threads (benches of kernels, one process) or ranks
 * (bench comm), times each case, checks its result, and prints the rows as they come. A wrong result gets no time and
 * no rate, and the command ends with exit code 70.
 *
 *      begin(run)      reads options; bench_begin() gives the columns
 *      measure(run)    bench_measure() a case, bench_add() its row; kernels: once with each team and set of data
 *      leave(run)      the teams are through with run->set
 *      end(run)        frees
 */
#pragma once

#include <math.h>

#include "app/setup/context.h"
#include "app/setup/machine_limits.h"
#include "app/table/grid.h"
#include "app/workload/workload.h"
#include "machine/binding.h"
#include "tensor/tensor.h"

/* ---- time: one operation, or two in turns, on all ranks ---------------------------------------------------------- */

/* Statistics of the seconds of `count` repetitions; NaN if count is 0. */
typedef struct bench_quartiles {
    int count;
    double least, q1, median, q3;
} bench_quartiles;

/* An operation to time. */
typedef struct bench_side {
    weft_status (*run)(void *self); /* NULL: there is no such operation */
    void *self;
    const double *seconds; /* set by each run, if a part of it alone counts; NULL: the whole run counts */
} bench_side;

typedef struct bench_pair {
    bench_quartiles seconds, other; /* of one run */
    double ratio;                   /* median over repetitions of other / seconds; NaN without the other side */
} bench_pair;

/* Interpolates between neighbours; sorts `value`. */
bench_quartiles bench_quartiles_of(double *value, int count);
/* Times `inner` runs, which start after a barrier. [out] seconds: of one of them on the slowest rank. comm NULL: this
 * process alone. Collective. */
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
/* A hash of bits and their positions. Vectors that differ anywhere almost surely have different hashes. */
uint64_t bench_bits_hash(const float *x, int64_t count);

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

static inline void bench_sum_add(bench_sum *sum, double a, double b)
{
    sum->exact += a * b;
    sum->magnitude += fabs(a * b);
    sum->terms += 1;
}

/* Returns the larger one of `worst` and the error of the element. */
double bench_sum_worst(double worst, const bench_sum *sum);

/* ---- lists of sizes, and of names out of an option's choices ----------------------------------------------------- */

enum { BENCH_SIZES_MAX = 128, BENCH_NAMES_MAX = 32 };

/* "1K,32M,100..1M": bytes, K M G meaning powers of 1024 (KiB, MiB, GiB as well); A..B is A, 2 A, 4 A, ... up to B.
 * WEFT_ERR_USAGE names the part that is wrong, or a size that is no multiple of 4 (float32). */
weft_status bench_sizes_parse(const char *text, int64_t size[BENCH_SIZES_MAX], int *count);

/* Names that a list picks out of the choices of an option. */
typedef struct bench_names {
    char name[BENCH_NAMES_MAX][OPTION_WORD_MAX]; /* [count] */
    int wanted[BENCH_NAMES_MAX];                 /* [count] places of the names among the choices */
    int count;
    bool all; /* "all" was asked for: a choice that cannot run is listed instead of failing */
} bench_names;

/* text: names separated by commas; "all" is every choice but "auto". choices: separated by '|'. WEFT_ERR_USAGE names
 * the option and its choices. */
weft_status bench_names_parse(const char *option, const char *text, const char *choices, bench_names *names);

/* ---- teams: threads in their places, their backend and the machine's limits -------------------------------------- */

typedef struct bench_team {
    machine machine;
    placement place;
    weft_hal *hal;
    machine_limits limits;
    bool again;  /* limits were measured again, because a rate surpassed them */
    bool cached; /* the log says that rates above the triad's come out of caches */
} bench_team;

/* Calls run() with a team for each number of --thread-counts, or else of --threads or OMP_NUM_THREADS, or else with as
 * many threads as the machine has. start: from bench_team_start(). */
weft_status bench_each_team(const weft_options *options, const binding *start,
                            weft_status (*run)(bench_team *team, void *self), void *self);
/* Reads to which CPUs this process is bound, and by whom, before any team is placed. [out] teams: how many there will
 * be. */
weft_status bench_team_start(const weft_options *options, binding *start, int *teams);
/*
 * Compares a measured rate with the limits. flops: operations a second; 0: no product of float32. bytes: bytes a second
 * of arrays of array_bytes together. A rate that is more than 5 % above a limit shows that the limit is too low: limits
 * are then measured again, once, raised to the rate, kept and logged. Arrays that fit the caches may be faster than the
 * triad, which is logged once.
 */
weft_status bench_team_saw(bench_team *team, double flops, double bytes, double array_bytes);

/* ---- the run ----------------------------------------------------------------------------------------------------- */

typedef struct bench_run bench_run;

typedef struct bench_kind {
    size_t bytes; /* of the bench's own struct, which begins with a bench_run; all of it is zero at first */
    bool ranks;   /* the ranks of the job measure together */
    weft_status (*begin)(bench_run *run);
    weft_status (*measure)(bench_run *run);
    void (*leave)(bench_run *run); /* NULL: nothing to do */
    void (*end)(bench_run *run);   /* NULL: nothing to do */
} bench_kind;

struct bench_run {
    const bench_kind *kind;
    const char *name; /* "gemm" */
    char title[32];   /* in the log: "bench gemm" */
    const weft_options *options;
    int repeats;
    app_context *context; /* NULL: a bench of kernels */
    weft_comm *comm;      /* NULL: this process alone */
    bench_team *team;     /* kernels: the threads that measure now */
    int teams;            /* kernels: numbers of threads to measure */
    int set, sets;        /* kernels: sets of data (1 unless begin() says so), of which all teams measure `set` now */
    table_grid head;      /* one row about the run */
    table_grid rows;
    table_grid skipped; /* cases that this build or these nodes cannot run: name, bytes, reason */
    log_progress progress;
    int invalid;
    char first_invalid[320];
};

extern const bench_kind bench_gemm, bench_comm;

/* weft bench NAME. Called on every rank, before MPI is started. WEFT_ERR_LAUNCH: a bench of kernels was started as
 * several processes. WEFT_ERR_INTERNAL: a result was wrong. */
weft_status app_bench(const weft_options *options);

/* head: a row of head_column, or NULL: the head of benches of kernels. cases: of one team; 0: unknown. */
typedef struct bench_table {
    const table_column *head_column, *column;
    int head_columns, columns;
    const void *head;
    double cases;
} bench_table;

/* Columns of a struct that TABLE_ROW made. */
#define BENCH_ROWS(row) .column = row##_columns, .columns = TABLE_COLUMNS(row)
#define BENCH_HEAD(row) .head_column = row##_columns, .head_columns = TABLE_COLUMNS(row)

weft_status bench_begin(bench_run *run, const bench_table *table);
weft_status bench_add(bench_run *run, const void *row);
/* Adds a case that cannot run here. The texts live as long as the run. */
weft_status bench_skip(bench_run *run, const char *name, int64_t bytes, const char *reason);
/* Prints the rest. WEFT_ERR_INTERNAL: a result was wrong. */
weft_status bench_end(bench_run *run);
void bench_free(bench_run *run);

/* ---- a case ------------------------------------------------------------------------------------------------------ */

enum { BENCH_WHAT_BYTES = 200 };

typedef struct bench_case {
    char what[BENCH_WHAT_BYTES]; /* in messages: "product ab of 7 rows" */
    bench_side side;
    bench_side other; /* in turns with `side` */
    /* A kernel gives a matrix. `samples` of its `elements`, evenly over it, first and last among them, are computed
     * again by element(). */
    const weft_tensor *result;
    void *host; /* room for the result */
    int64_t samples, elements;
    bench_sum (*element)(const void *self, int64_t at);
    double flops, bytes; /* of one run, to be compared with the machine's limits (bench_team_saw); 0: neither */
    /* Another bench checks what the last run gave. [out] error: the largest error over its bound, the same on every
     * rank. */
    weft_status (*check)(void *self, double *error);
} bench_case;

typedef struct bench_result {
    bench_pair time; /* NaN where the result is wrong */
    double error;    /* over its bound: above 1 is wrong */
    bool valid;
} bench_result;

/* Times a case and checks it. */
weft_status bench_measure(bench_run *run, const bench_case *c, bench_result *result);
/* Sets result->valid by its error. The times of a wrong result are erased, and the run fails with the first of them. */
void bench_judge(bench_run *run, const char *what, bench_result *result);

/* The columns of a time, and the values of a row: its times, error (kernels) and verdict. */
/* clang-format off */
#define BENCH_SECONDS(C)                                                                                               \
    C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(INT, n, true)
#define BENCH_TIMES(r)                                                                                                 \
    .seconds_median = (r)->time.seconds.median, .seconds_q1 = (r)->time.seconds.q1,                                    \
    .seconds_q3 = (r)->time.seconds.q3, .n = (r)->time.seconds.count, .valid = (r)->valid
#define BENCH_RESULT(r) BENCH_TIMES(r), .error = (r)->error
/* clang-format on */
