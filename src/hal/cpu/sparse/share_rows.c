/* hal/cpu/sparse/share_rows.c: see hal/cpu/sparse/share_rows.h. */
#include "hal/cpu/sparse/share_rows.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure/failure.h"

enum {
    PASSES = 3,
    SAMPLE_STEP = 50,  /* one group of so many is looked at */
    SAMPLE_GROUPS = 64 /* but at least so many */
};

/* What rows are sorted by. */
typedef struct row_sign {
    uint32_t first, second; /* least hashes of the columns */
    int32_t row;
} row_sign;

/* Rows [begin, begin + rows) of the order are a group; what a thread has found of it. */
typedef struct group_place {
    int64_t begin;
    int rows, sums, thread;
    int64_t plus, minus, sum; /* where it begins in the thread's lists */
    int64_t first_sum;        /* number of its first partial sum among those of the pass */
} group_place;

typedef struct share_pass {
    const share_matrix *m;
    const share_search *search;
    row_sign *order; /* [ordered] rows of two entries and more */
    int64_t ordered;
    group_place *group; /* [groups] */
    int64_t groups;
    share_found *found;    /* [threads] */
    int64_t *plus, *minus; /* [rows] entries after the pass, and minus entries that are new */
    int64_t sums;          /* that are new */
} share_pass;

/* ---- groups ------------------------------------------------------------------------------------------------------ */
static int compare_signs(const void *left, const void *right)
{
    const row_sign *a = left, *b = right;
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->second != b->second) {
        return a->second < b->second ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* seconds: rows of a group are ordered by a second hash, so that a group that is cut keeps like rows together. */
static weft_status sign_rows(share_pass *p, int pass, bool seconds)
{
    const share_matrix *m = p->m;
    WEFT_TRY(WEFT_NEW(&p->order, m->rows, WEFT_MEM_WORKSPACE));
    for (int64_t row = 0; row < m->rows; ++row) {
        if (m->offset[row + 1] - m->offset[row] >= 2) {
            p->order[p->ordered++].row = (int32_t)row;
        }
    }
#pragma omp parallel for num_threads(p->search->threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < p->ordered; ++i) {
        row_sign *s = &p->order[i];
        const int32_t *column = m->column + m->offset[s->row];
        const int64_t count = m->offset[s->row + 1] - m->offset[s->row];
        s->first = p->search->kernels->share_hash(column, count, (uint32_t)(2 * pass + 1));
        s->second = seconds ? p->search->kernels->share_hash(column, count, (uint32_t)(2 * pass + 2)) : 0;
    }
    qsort(p->order, (size_t)p->ordered, sizeof *p->order, compare_signs);
    return WEFT_OK;
}

static weft_status make_groups(share_pass *p)
{
    WEFT_TRY(WEFT_NEW(&p->group, p->ordered / 2 + 1, WEFT_MEM_WORKSPACE));
    int64_t end;
    for (int64_t i = 0; i < p->ordered; i = end) {
        end = i + 1;
        while (end < p->ordered && end - i < SHARE_ROWS && p->order[end].first == p->order[i].first) {
            ++end;
        }
        if (end - i >= 2) {
            p->group[p->groups++] = (group_place){.begin = i, .rows = (int)(end - i)};
        }
    }
    return WEFT_OK;
}

static weft_status begin_pass(const share_matrix *m, const share_search *search, int pass, bool seconds, share_pass *p)
{
    *p = (share_pass){.m = m, .search = search};
    WEFT_TRY(sign_rows(p, pass, seconds));
    return make_groups(p);
}

static void end_pass(share_pass *p)
{
    for (int t = 0; p->found != NULL && t < p->search->threads; ++t) {
        share_found_free(&p->found[t]);
    }
    WEFT_FREE_ALL(p->order, p->group, p->found, p->plus, p->minus);
}

static void rows_of_group(const share_pass *p, const group_place *group, int32_t row[SHARE_ROWS])
{
    for (int i = 0; i < group->rows; ++i) {
        row[i] = p->order[group->begin + i].row;
    }
}

/* ---- solving ----------------------------------------------------------------------------------------------------- */
static weft_status solve_group(share_pass *p, share_group *solver, int thread, group_place *group)
{
    int32_t row[SHARE_ROWS];
    int64_t plus[SHARE_ROWS], minus[SHARE_ROWS], saved;
    share_found *found = &p->found[thread];
    rows_of_group(p, group, row);
    group->thread = thread;
    group->plus = found->plus.count;
    group->minus = found->minus.count;
    group->sum = found->sum_columns.count;
    WEFT_TRY(share_group_solve(solver, p->m, row, group->rows, found, &group->sums, &saved, plus, minus));
    for (int i = 0; i < group->rows; ++i) {
        p->plus[row[i]] = plus[i];
        p->minus[row[i]] = minus[i];
    }
    return WEFT_OK;
}

static weft_status solve_groups(share_pass *p)
{
    const share_matrix *m = p->m;
    first_failure failure = {.status = WEFT_OK};
    WEFT_TRY(WEFT_NEW_ZERO(&p->found, p->search->threads, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&p->plus, m->rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&p->minus, m->rows, WEFT_MEM_WORKSPACE));
    for (int64_t row = 0; row < m->rows; ++row) {
        p->plus[row] = m->offset[row + 1] - m->offset[row];
    }
#pragma omp parallel num_threads(p->search->threads)
    {
        share_group *solver = NULL;
        weft_status mine = share_group_create(p->search, &solver);
#pragma omp for schedule(dynamic, 8)
        for (int64_t i = 0; i < p->groups; ++i) {
            mine = mine == WEFT_OK ? solve_group(p, solver, omp_get_thread_num(), &p->group[i]) : mine;
        }
        share_group_destroy(solver);
        first_failure_note(&failure, 0, mine);
    }
    WEFT_TRY(first_failure_tell(&failure));
    for (int64_t i = 0; i < p->groups; ++i) {
        p->group[i].first_sum = p->sums;
        p->sums += p->group[i].sums;
    }
    return WEFT_OK;
}

/* ---- the matrix after a pass ------------------------------------------------------------------------------------- */
/* A matrix that grows by rows and columns of partial sums; what its rows subtract. */
typedef struct shared_matrix {
    share_matrix m;
    int64_t *offset, *minus_offset; /* [rows + 1]; offset NULL: m's are the caller's */
    int32_t *column, *minus;
} shared_matrix;

static void free_matrix(shared_matrix *s)
{
    WEFT_FREE_ALL(s->offset, s->minus_offset, s->column, s->minus);
    *s = (shared_matrix){.offset = NULL};
}

static void counts_to_offsets(int64_t *offset, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i <= count; ++i) {
        const int64_t own = i < count ? offset[i] : 0;
        offset[i] = sum;
        sum += own;
    }
}

/* offset[] of both kinds of entries of the matrix after the pass. */
static void count_entries(const share_pass *p, const shared_matrix *old, shared_matrix *new)
{
    const int64_t rows = old->m.rows;
    memcpy(new->offset, p->plus, (size_t)rows * sizeof *new->offset);
    memset(new->minus_offset, 0, (size_t)(new->m.rows + 1) * sizeof *new->minus_offset);
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t had = old->minus_offset != NULL ? old->minus_offset[row + 1] - old->minus_offset[row] : 0;
        new->minus_offset[row] = had + p->minus[row];
    }
    for (int64_t i = 0; i < p->groups; ++i) {
        const group_place *g = &p->group[i];
        const int32_t *columns = p->found[g->thread].sum_columns.item + g->sum;
        for (int k = 0; k < g->sums; ++k) {
            new->offset[rows + g->first_sum + k] = columns[k];
        }
    }
    counts_to_offsets(new->offset, new->m.rows);
    counts_to_offsets(new->minus_offset, new->m.rows);
}

/* What a group has found goes to its rows and its partial sums. */
static void copy_group(const share_pass *p, const group_place *g, int64_t first_column, shared_matrix *new)
{
    int32_t row[SHARE_ROWS];
    const share_found *found = &p->found[g->thread];
    const int32_t *plus = found->plus.item + g->plus;
    int64_t minus = g->minus;
    const int64_t first_row = p->m->rows + g->first_sum;
    if (g->sums > 0) {
        const int64_t count = new->offset[first_row + g->sums] - new->offset[first_row];
        memcpy(new->column + new->offset[first_row], plus, (size_t)count * sizeof *plus);
        plus += count;
    }
    rows_of_group(p, g, row);
    for (int i = 0; i < g->rows; ++i) {
        int32_t *to = new->column + new->offset[row[i]];
        for (int64_t e = 0; e < p->plus[row[i]]; ++e) {
            *to++ = *plus >= 0 ? *plus : (int32_t)(first_column + g->first_sum - 1 - *plus);
            ++plus;
        }
        for (int64_t e = new->minus_offset[row[i] + 1] - p->minus[row[i]]; e < new->minus_offset[row[i] + 1]; ++e) {
            new->minus[e] = found->minus.item[minus++];
        }
    }
}

/* Rows without a group keep their columns, all rows what they subtract already. */
static void copy_rows(const share_pass *p, const shared_matrix *old, const uint8_t *grouped, shared_matrix *new)
{
#pragma omp parallel for num_threads(p->search->threads) schedule(dynamic, 256)
    for (int64_t row = 0; row < old->m.rows; ++row) {
        const int64_t count = old->m.offset[row + 1] - old->m.offset[row];
        if (grouped[row] == 0 && count > 0) {
            memcpy(new->column + new->offset[row], old->m.column + old->m.offset[row],
                   (size_t)count * sizeof *new->column);
        }
        const int64_t had = old->minus_offset != NULL ? old->minus_offset[row + 1] - old->minus_offset[row] : 0;
        if (had > 0) {
            memcpy(new->minus + new->minus_offset[row], old->minus + old->minus_offset[row],
                   (size_t)had * sizeof *new->minus);
        }
    }
}

static weft_status make_matrix(const share_pass *p, const shared_matrix *old, shared_matrix *new)
{
    weft_status status = WEFT_OK;
    uint8_t *grouped = NULL;
    const int64_t first_column = old->m.sources + old->m.rows - old->m.targets;
    *new = (shared_matrix){.m = old->m};
    new->m.rows = old->m.rows + p->sums;
    WEFT_TRY_GOTO(WEFT_NEW(&new->offset, new->m.rows + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&new->minus_offset, new->m.rows + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&grouped, old->m.rows, WEFT_MEM_WORKSPACE), status, done);
    count_entries(p, old, new);
    WEFT_TRY_GOTO(WEFT_NEW(&new->column, new->offset[new->m.rows] + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&new->minus, new->minus_offset[new->m.rows] + 1, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t i = 0; i < p->groups; ++i) {
        for (int k = 0; k < p->group[i].rows; ++k) {
            grouped[p->order[p->group[i].begin + k].row] = 1;
        }
    }
    copy_rows(p, old, grouped, new);
#pragma omp parallel for num_threads(p->search->threads) schedule(dynamic, 8)
    for (int64_t i = 0; i < p->groups; ++i) {
        copy_group(p, &p->group[i], first_column, new);
    }
    new->m.offset = new->offset;
    new->m.column = new->column;
done:
    weft_free(grouped);
    if (status != WEFT_OK) {
        free_matrix(new);
    }
    return status;
}

/* One pass; *s becomes the matrix after it. [out] more: it found partial sums. */
static weft_status run_pass(const share_search *search, int number, shared_matrix *s, bool *more)
{
    share_pass p;
    shared_matrix after;
    weft_status status = WEFT_OK;
    *more = false;
    WEFT_TRY_GOTO(begin_pass(&s->m, search, number, true, &p), status, done);
    WEFT_TRY_GOTO(solve_groups(&p), status, done);
    *more = p.sums > 0;
    const int64_t columns = s->m.sources + s->m.rows - s->m.targets + p.sums;
    if (!*more || columns > INT32_MAX || s->m.rows + p.sums > INT32_MAX) {
        *more = false;
        goto done;
    }
    WEFT_TRY_GOTO(make_matrix(&p, s, &after), status, done);
    free_matrix(s);
    *s = after;
done:
    end_pass(&p);
    return status;
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */
/* level[k]: one more than that of the partial sums it reads, at least 1. Returns the highest. */
static int find_levels(const share_matrix *m, int32_t *level)
{
    const int64_t sums = m->rows - m->targets;
    int32_t highest = 0;
    bool changed = true;
    for (int64_t round = 0; changed; ++round) {
        assert(round <= sums + 1); /* no partial sum depends on itself */
        changed = false;
        for (int64_t k = 0; k < sums; ++k) {
            int32_t own = 1;
            for (int64_t e = m->offset[m->targets + k]; e < m->offset[m->targets + k + 1]; ++e) {
                const int64_t read = m->column[e] - m->sources;
                own = read >= 0 && level[read] + 1 > own ? level[read] + 1 : own;
            }
            changed = changed || own != level[k];
            level[k] = own;
            highest = own > highest ? own : highest;
        }
    }
    return highest;
}

/* [out] place[k]: number of partial sum k by level, of one level in the order of their numbers. */
static void order_sums(const int32_t *level, int64_t sums, int levels, int64_t *first, int32_t *place)
{
    for (int64_t k = 0; k < sums; ++k) {
        ++first[level[k] - 1];
    }
    counts_to_offsets(first, levels);
    for (int64_t k = 0; k < sums; ++k) {
        place[k] = (int32_t)first[level[k] - 1]++;
    }
    memmove(first + 1, first, (size_t)levels * sizeof *first);
    first[0] = 0;
}

/* Rows and columns of one kind of entries in their new order. room: for entries behind them. */
static weft_status order_entries(const shared_matrix *s, const int64_t *offset, const int32_t *column,
                                 const int32_t *place, int threads, int64_t room, int64_t **start, int32_t **to)
{
    const share_matrix *m = &s->m;
    const int64_t sums = m->rows - m->targets;
    WEFT_TRY(WEFT_NEW(start, m->rows + 1, WEFT_MEM_MATRIX));
    WEFT_TRY(WEFT_NEW(to, offset[m->rows] + room, WEFT_MEM_MATRIX));
    for (int64_t row = 0; row < m->rows; ++row) {
        const int64_t at = row < m->targets ? sums + row : place[row - m->targets];
        (*start)[at] = offset[row + 1] - offset[row];
    }
    counts_to_offsets(*start, m->rows);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (int64_t row = 0; row < m->rows; ++row) {
        int32_t *next = *to + (*start)[row < m->targets ? sums + row : place[row - m->targets]];
        for (int64_t e = offset[row]; e < offset[row + 1]; ++e) {
            const int64_t sum = column[e] - m->sources;
            *next++ = sum >= 0 ? (int32_t)(m->sources + place[sum]) : column[e];
        }
    }
    return WEFT_OK;
}

static weft_status put_in_order(const shared_matrix *s, int threads, hal_shared_rows *out)
{
    const int64_t sums = s->m.rows - s->m.targets;
    weft_status status = WEFT_OK;
    int32_t *level = NULL, *place = NULL;
    *out = (hal_shared_rows){.targets = s->m.targets, .sources = s->m.sources, .sums = sums};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&level, sums + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&place, sums + 1, WEFT_MEM_WORKSPACE), status, done);
    out->levels = find_levels(&s->m, level);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&out->level, out->levels + 1, WEFT_MEM_MATRIX), status, done);
    order_sums(level, sums, out->levels, out->level, place);
    const int64_t room = s->minus_offset[s->m.rows] + HAL_SHARED_SPARE;
    WEFT_TRY_GOTO(order_entries(s, s->m.offset, s->m.column, place, threads, room, &out->plus_start, &out->plus),
                  status, done);
    WEFT_TRY_GOTO(order_entries(s, s->minus_offset, s->minus, place, threads, 1, &out->minus_start, &out->minus),
                  status, done);
done:
    WEFT_FREE_ALL(level, place);
    if (status != WEFT_OK) {
        hal_shared_rows_free(out);
    }
    return status;
}

/* The caller's matrix with nothing to subtract. */
static weft_status begin_matrix(const hal_csr *csr, shared_matrix *s)
{
    *s = (shared_matrix){.m = {.rows = csr->rows,
                               .targets = csr->rows,
                               .sources = csr->cols,
                               .offset = csr->offset,
                               .column = csr->column}};
    WEFT_TRY(WEFT_NEW_ZERO(&s->minus_offset, csr->rows + 1, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&s->minus, 1, WEFT_MEM_WORKSPACE);
}

weft_status share_rows_find(const hal_csr *csr, const share_search *search, hal_shared_rows *rows)
{
    shared_matrix s;
    weft_status status = WEFT_OK;
    bool more = csr->rows > 0 && csr->rows < INT32_MAX;
    *rows = (hal_shared_rows){.sums = 0};
    WEFT_TRY_GOTO(begin_matrix(csr, &s), status, done);
    for (int pass = 0; pass < PASSES && more; ++pass) {
        WEFT_TRY_GOTO(run_pass(search, pass, &s, &more), status, done);
    }
    WEFT_TRY_GOTO(put_in_order(&s, search->threads, rows), status, done);
done:
    free_matrix(&s);
    return status;
}

/* ---- a sample ---------------------------------------------------------------------------------------------------- */
static int64_t reads_of(const share_matrix *m, const int32_t *row, int rows)
{
    int64_t reads = 0;
    for (int i = 0; i < rows; ++i) {
        reads += m->offset[row[i] + 1] - m->offset[row[i]];
    }
    return reads;
}

weft_status share_rows_sample(const hal_csr *csr, const share_search *search, double *share)
{
    const share_matrix m = {
        .rows = csr->rows, .targets = csr->rows, .sources = csr->cols, .offset = csr->offset, .column = csr->column};
    share_pass p;
    share_group *solver = NULL;
    weft_status status = WEFT_OK;
    int64_t saved_all = 0, grouped = 0, sampled = 0;
    *share = 0.0;
    if (csr->rows == 0 || csr->rows >= INT32_MAX || csr->offset[csr->rows] == 0) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(begin_pass(&m, search, 0, false, &p), status, done);
    WEFT_TRY_GOTO(share_group_create(search, &solver), status, done);
    const int64_t step = p.groups / SAMPLE_GROUPS < SAMPLE_STEP ? p.groups / SAMPLE_GROUPS + 1 : SAMPLE_STEP;
    for (int64_t i = 0; i < p.groups; ++i) {
        int32_t row[SHARE_ROWS];
        int sums;
        int64_t saved;
        rows_of_group(&p, &p.group[i], row);
        const int64_t reads = reads_of(&m, row, p.group[i].rows);
        grouped += reads;
        if (i % step == 0) {
            WEFT_TRY_GOTO(share_group_solve(solver, &m, row, p.group[i].rows, NULL, &sums, &saved, NULL, NULL), status,
                          done);
            saved_all += saved;
            sampled += reads;
        }
    }
    if (sampled > 0) {
        *share = (double)saved_all / (double)sampled * ((double)grouped / (double)csr->offset[csr->rows]);
    }
done:
    share_group_destroy(solver);
    end_pass(&p);
    return status;
}
