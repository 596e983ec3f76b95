/* trees/loss/rank_loss.c: see trees/loss/rank_loss.h. */
#include "trees/loss/rank_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/loss/tree_loss.h"

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static weft_status check_grades(int64_t rows, const float *grade, const uint8_t *counts)
{
    for (int64_t i = 0; i < rows; ++i) {
        WEFT_CHECK(counts[i] == 0 || (grade[i] >= 0.0F && grade[i] <= RANK_GRADE_MAX && grade[i] == floorf(grade[i])),
                   WEFT_ERR_DATA, "a grade of %g: expected whole numbers from 0 to %d", (double)grade[i],
                   RANK_GRADE_MAX);
    }
    return WEFT_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Runs of equal ids are groups; id is overwritten with one of each. */
static weft_status find_groups(rank_groups *g, uint64_t *id)
{
    WEFT_TRY(WEFT_NEW(&g->start, g->all + 1, WEFT_MEM_TREES));
    for (int64_t i = 0; i < g->all; ++i) {
        if (i == 0 || id[i] != id[g->groups - 1]) {
            g->start[g->groups] = i;
            id[g->groups++] = id[i];
        }
    }
    g->start[g->groups] = g->all;
    for (int64_t q = 0; q < g->groups; ++q) {
        const int64_t rows = g->start[q + 1] - g->start[q];
        g->longest = rows > g->longest ? rows : g->longest;
    }
    qsort(id, (size_t)g->groups, sizeof *id, by_number);
    for (int64_t q = 1; q < g->groups; ++q) {
        WEFT_CHECK(id[q] != id[q - 1], WEFT_ERR_DATA,
                   "the rows of a group do not stand together: sort the table by its column of groups");
    }
    return WEFT_OK;
}

/* Every rank's share of an array of all rows; bytes of a row. */
static weft_status gather_rows_of(weft_comm *comm, const rank_groups *g, const void *mine, int64_t width, void *all,
                                  int64_t *bytes)
{
    for (int r = 0; r < comm_size(comm); ++r) {
        bytes[r] = g->bytes[r] / (int64_t)sizeof(float) * width;
    }
    return comm_allgatherv(comm, mine, g->rows * width, all, bytes);
}

static weft_status allocate(rank_groups *g, uint64_t **id)
{
    WEFT_TRY(WEFT_NEW(&g->grade, g->all, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&g->margin, g->all, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&g->counts, g->all, WEFT_MEM_TREES));
    return WEFT_NEW(id, g->all, WEFT_MEM_WORKSPACE);
}

weft_status rank_groups_create(weft_comm *comm, int64_t rows, const uint64_t *group, const float *grade,
                               const uint8_t *counts, int truncation, rank_groups *g)
{
    const int ranks = comm_size(comm);
    int64_t *bytes = NULL, mine = rows * (int64_t)sizeof(float);
    uint64_t *id = NULL;
    weft_status status;
    *g = (rank_groups){.rows = rows, .truncation = truncation};
    weft_status local = WEFT_NEW(&g->bytes, ranks, WEFT_MEM_TREES);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, ranks, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? check_grades(rows, grade, counts) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &mine, sizeof mine, g->bytes), status, done);
    for (int r = 0; r < ranks; ++r) {
        g->first += r < comm_rank(comm) ? g->bytes[r] / (int64_t)sizeof(float) : 0;
        g->all += g->bytes[r] / (int64_t)sizeof(float);
    }
    local = allocate(g, &id);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(gather_rows_of(comm, g, grade, sizeof *grade, g->grade, bytes), status, done);
    WEFT_TRY_GOTO(gather_rows_of(comm, g, counts, 1, g->counts, bytes), status, done);
    WEFT_TRY_GOTO(gather_rows_of(comm, g, group, sizeof *group, id, bytes), status, done);
    status = comm_agree(comm, find_groups(g, id));
done:
    WEFT_FREE_ALL(bytes, id);
    return status;
}

void rank_groups_destroy(rank_groups *g)
{
    WEFT_FREE_ALL(g->start, g->bytes, g->grade, g->margin, g->counts);
    *g = (rank_groups){0};
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

/* A row of a group that counts. */
typedef struct ranked {
    float margin, grade;
    int64_t row; /* of all */
    double gradient, hessian, loss;
} ranked;

static int by_margin(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->margin != y->margin) {
        return x->margin > y->margin ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static int by_grade(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->grade < y->grade) - (x->grade > y->grade);
}

static double gain_of(float grade)
{
    return ldexp(1.0, (int)grade) - 1.0;
}

static double discount_of(int64_t place)
{
    return 1.0 / log2(2.0 + (double)place);
}

/* DCG of the rows in this order. */
static double dcg_of(const ranked *row, int64_t rows, int truncation)
{
    double sum = 0.0;
    for (int64_t i = 0; i < rows && i < truncation; ++i) {
        sum += gain_of(row[i].grade) * discount_of(i);
    }
    return sum;
}

/* The pair of places i < j. [in, out] sum of forces. */
static void push(ranked *row, int64_t i, int64_t j, double best, bool spread, double *sum)
{
    ranked *high = row[i].grade > row[j].grade ? &row[i] : &row[j];
    ranked *low = high == &row[i] ? &row[j] : &row[i];
    const double apart = (double)high->margin - (double)low->margin;
    double change = (gain_of(high->grade) - gain_of(low->grade)) * (discount_of(i) - discount_of(j)) / best;
    change /= spread ? 0.01 + fabs(apart) : 1.0;
    const double wrong = 1.0 / (1.0 + tree_exp(apart));
    const double loss = change * (apart > 0.0 ? log1p(exp(-apart)) : log1p(exp(apart)) - apart);
    high->gradient -= wrong * change;
    low->gradient += wrong * change;
    high->hessian += wrong * (1.0 - wrong) * change;
    low->hessian += wrong * (1.0 - wrong) * change;
    high->loss += 0.5 * loss;
    low->loss += 0.5 * loss;
    *sum += 2.0 * wrong * change;
}

/* row: [rows] of one group. */
static void push_group(ranked *row, int64_t rows, int truncation)
{
    double sum = 0.0;
    qsort(row, (size_t)rows, sizeof *row, by_grade);
    const double best = dcg_of(row, rows, truncation);
    qsort(row, (size_t)rows, sizeof *row, by_margin);
    const bool spread = rows > 0 && row[0].margin != row[rows - 1].margin;
    for (int64_t i = 0; best > 0.0 && i < rows && i < truncation; ++i) {
        for (int64_t j = i + 1; j < rows; ++j) {
            if (row[i].grade != row[j].grade) {
                push(row, i, j, best, spread, &sum);
            }
        }
    }
    const double scale = sum > 0.0 ? log2(1.0 + sum) / sum : 1.0;
    for (int64_t i = 0; i < rows; ++i) {
        row[i].gradient *= scale;
        row[i].hessian *= scale;
    }
}

weft_status rank_gradients(weft_comm *comm, rank_groups *g, const float *margin, const float *weight, float *gradient,
                           float *hessian)
{
    ranked *row = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&row, g->longest, WEFT_MEM_WORKSPACE)));
    weft_status status = comm_allgatherv(comm, margin, g->rows * (int64_t)sizeof *margin, g->margin, g->bytes);
    memset(gradient, 0, (size_t)g->rows * sizeof *gradient);
    memset(hessian, 0, (size_t)g->rows * sizeof *hessian);
    g->loss = 0.0;
    for (int64_t q = 0; status == WEFT_OK && q < g->groups; ++q) {
        int64_t rows = 0;
        if (g->start[q + 1] <= g->first || g->start[q] >= g->first + g->rows) {
            continue;
        }
        for (int64_t i = g->start[q]; i < g->start[q + 1]; ++i) {
            if (g->counts[i] != 0) {
                row[rows++] = (ranked){.margin = g->margin[i], .grade = g->grade[i], .row = i};
            }
        }
        push_group(row, rows, g->truncation);
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t own = row[i].row - g->first;
            if (own >= 0 && own < g->rows) {
                const double w = weight != NULL ? (double)weight[own] : 1.0;
                gradient[own] = (float)(w * row[i].gradient);
                hessian[own] = (float)(w * row[i].hessian);
                g->loss += w * row[i].loss;
            }
        }
    }
    weft_free(row);
    return status;
}
