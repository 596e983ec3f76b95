/* hal/cpu/sparse/spmm_trial.c: see hal/cpu/sparse/spmm_trial.h. */
#include "hal/cpu/sparse/spmm_trial.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

enum {
    SAMPLE_EDGES = 1 << 21,
    MOST_WIDTH = 256,
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 12,
    OPERAND_FLOATS = 1 << 27 /* of the sources, with the matrix beside them */
};
static const double most_seconds = 1.0;    /* spent on turns once they are enough */
static const double rounds_seconds = 0.05; /* spent on turns, unless they are few or differ */
static const double near = 1.3;            /* a sample may be off by as much */
static const double steady = 1.05;         /* two rounds that agree */
static const double alike = 1.05;
static const double pairs_least = 0.5; /* edges a (row, block), below which BLOCKS is mostly offsets */

/* One form in the race. */
typedef struct entrant {
    hal_spmm *spmm;       /* whole or a sample; NULL: not in the race */
    double scale;         /* edges of the matrix over those of the sample */
    double least, second; /* seconds of a run, the two quickest */
    double packed;        /* BLOCKS and LISTS on a sample: with packing, the quickest */
} entrant;

typedef struct trial {
    weft_hal *hal;
    const hal_csr *csr;
    int64_t edges, max_d;
    int64_t width, strip; /* columns that are run: a multiple of a strip, up to max_d */
    float *x, *out;       /* [cols, width], [rows, width], the left halves of matrices twice as wide */
    entrant entrant[SPMM_FORMS];
} trial;

hal_spmm_form spmm_pick(const double seconds[SPMM_FORMS], hal_spmm_form expected)
{
    int best = HAL_SPMM_AUTO;
    for (int form = HAL_SPMM_ROWS; form < SPMM_FORMS; form++) {
        if (seconds[form] > 0.0 && (best == HAL_SPMM_AUTO || seconds[form] < seconds[best])) {
            best = form;
        }
    }
    assert(best != HAL_SPMM_AUTO);
    return seconds[expected] > 0.0 && seconds[expected] <= alike * seconds[best] ? expected : (hal_spmm_form)best;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */
/* Each thread writes its share of the rows, as it does where values are made. */
static void write_zeros(const trial *t, float *matrix, int64_t rows, int64_t width)
{
#pragma omp parallel for num_threads(t->hal->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        memset(matrix + row * 2 * t->width, 0, (size_t)width * sizeof *matrix);
    }
}

static weft_status make_operands(trial *t)
{
    t->strip = t->max_d > SPMM_STRIP_NARROW ? SPMM_STRIP : SPMM_STRIP_NARROW;
    t->width = t->max_d < MOST_WIDTH ? t->max_d / t->strip * t->strip : MOST_WIDTH;
    while (t->width > t->strip && 2 * t->csr->cols * t->width > OPERAND_FLOATS) {
        t->width = t->width / 2 / t->strip * t->strip;
    }
    t->width = t->width < t->strip ? t->strip : t->width;
    WEFT_TRY(WEFT_NEW(&t->x, 2 * t->csr->cols * t->width, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&t->out, 2 * t->csr->rows * t->width, WEFT_MEM_WORKSPACE));
    write_zeros(t, t->x, t->csr->cols, 2 * t->width);
    write_zeros(t, t->out, t->csr->rows, 2 * t->width);
    return WEFT_OK;
}

/* ---- who takes part ---------------------------------------------------------------------------------------------- */
static void dismiss(entrant *e)
{
    spmm_free(e->spmm);
    *e = (entrant){.spmm = NULL};
}

static bool worth_trying(const trial *t, hal_spmm_form form)
{
    const double blocks = (double)spmm_block_count(t->csr->cols, spmm_block_shift(t->max_d));
    return form != HAL_SPMM_BLOCKS || (double)t->edges >= pairs_least * blocks * (double)t->csr->rows;
}

/* A run of rows in the middle of the matrix. */
static weft_status sample_rows(trial *t, entrant *e)
{
    weft_status status = WEFT_OK;
    const hal_csr *csr = t->csr;
    int64_t *offset = NULL;
    int64_t begin, end;
    hal_split_csr(csr->offset, csr->rows, 2, 1, &begin, &end);
    begin = begin < csr->rows ? begin : csr->rows - 1;
    end = begin;
    while (end < csr->rows && csr->offset[end] - csr->offset[begin] < SAMPLE_EDGES) {
        end++;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&offset, end - begin + 1, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t row = begin; row <= end; row++) {
        offset[row - begin] = csr->offset[row] - csr->offset[begin];
    }
    const hal_csr part = {
        .rows = end - begin, .cols = csr->cols, .offset = offset, .column = csr->column + csr->offset[begin]};
    WEFT_TRY_GOTO(spmm_prepare(t->hal, &part, HAL_SPMM_ROWS, t->max_d, &e->spmm), status, done);
    e->scale = (double)t->edges / (double)(e->spmm->edges > 0 ? e->spmm->edges : 1);
done:
    weft_free(offset);
    return status;
}

/* As many blocks in the middle of the matrix as hold the sample. */
static weft_status sample_blocks(trial *t, hal_spmm_form form, entrant *e)
{
    const hal_csr *csr = t->csr;
    const int64_t blocks = spmm_block_count(csr->cols, spmm_block_shift(t->max_d));
    int64_t wanted = (int64_t)((double)blocks * SAMPLE_EDGES / (double)t->edges) + 1;
    wanted = wanted < blocks ? wanted : blocks;
    const int64_t first = (blocks - wanted + 1) / 2;
    WEFT_TRY(spmm_begin(t->hal, csr, form, t->max_d, &e->spmm));
    WEFT_TRY(form == HAL_SPMM_BLOCKS ? spmm_build_blocks(e->spmm, csr, first, wanted)
                                     : spmm_build_lists(e->spmm, csr, first, wanted));
    const int64_t held = e->spmm->by_block.chunk[e->spmm->parts * wanted].edge;
    e->scale = (double)t->edges / (double)(held > 0 ? held : 1);
    return WEFT_OK;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */
static double timed_run(const hal_spmm *spmm, const spmm_call *call)
{
    const double started = clock_seconds();
    spmm_run_float(spmm, call);
    return clock_seconds() - started;
}

static void note(entrant *e, double seconds)
{
    if (e->least == 0.0 || seconds < e->least) {
        e->second = e->least;
        e->least = seconds;
    } else if (e->second == 0.0 || seconds < e->second) {
        e->second = seconds;
    }
}

/* A turn of a sample. BLOCKS and LISTS run one strip that is packed already, and one that has to be: a scale of its rows
 * is asked for. */
static void run_sample(const trial *t, entrant *e)
{
    spmm_call call = {.d = t->width, .x = t->x, .ldx = 2 * t->width, .out = t->out, .ldo = 2 * t->width};
    write_zeros(t, t->x, t->csr->cols, t->width);
    if (e->spmm->form == HAL_SPMM_ROWS) {
        note(e, timed_run(e->spmm, &call));
        return;
    }
    call.d = t->strip;
    call.pre = t->x;
    const double packed = timed_run(e->spmm, &call);
    e->packed = e->packed == 0.0 || packed < e->packed ? packed : e->packed;
    call.pre = NULL;
    call.ldx = t->strip;
    note(e, timed_run(e->spmm, &call));
}

static void run_whole(const trial *t, entrant *e)
{
    const spmm_call call = {.d = t->width, .x = t->x, .ldx = 2 * t->width, .out = t->out, .ldo = 2 * t->width};
    note(e, timed_run(e->spmm, &call));
}

/* Until the quickest form has come near its least twice, within limits. */
static void take_turns(trial *t, void (*run)(const trial *t, entrant *e))
{
    const double started = clock_seconds();
    for (int round = 0; round < MOST_ROUNDS; round++) {
        const entrant *best = NULL;
        for (int i = 0; i < SPMM_FORMS; i++) {
            entrant *e = &t->entrant[(i + round) % SPMM_FORMS]; /* another one first each round */
            if (e->spmm != NULL) {
                run(t, e);
                best = best == NULL || e->least < best->least ? e : best;
            }
        }
        const bool agreed = best != NULL && best->second > 0.0 && best->second <= steady * best->least;
        const double spent = clock_seconds() - started;
        if (round + 1 >= LEAST_ROUNDS && (spent > most_seconds || (agreed && spent > rounds_seconds))) {
            return;
        }
    }
}

/* Seconds of the whole matrix at the trial's width, from a sample of it. */
static double estimate(const trial *t, const entrant *e)
{
    if (e->spmm == NULL) {
        return 0.0;
    }
    if (e->spmm->form == HAL_SPMM_ROWS) {
        return e->least * e->scale;
    }
    const double packing = e->packed > e->least ? e->packed - e->least : 0.0;
    return (double)t->width / (double)t->strip * (e->least * e->scale + packing);
}

/* [out] stays[form]: comes near the quickest. */
static weft_status try_samples(trial *t, bool stays[SPMM_FORMS])
{
    double seconds[SPMM_FORMS] = {0};
    double best = 0.0;
    for (int form = HAL_SPMM_ROWS; form < SPMM_FORMS; form++) {
        if (stays[form]) {
            WEFT_TRY(form == HAL_SPMM_ROWS ? sample_rows(t, &t->entrant[form])
                                           : sample_blocks(t, (hal_spmm_form)form, &t->entrant[form]));
        }
    }
    take_turns(t, run_sample);
    for (int form = HAL_SPMM_ROWS; form < SPMM_FORMS; form++) {
        seconds[form] = estimate(t, &t->entrant[form]);
        best = seconds[form] > 0.0 && (best == 0.0 || seconds[form] < best) ? seconds[form] : best;
        dismiss(&t->entrant[form]);
    }
    for (int form = HAL_SPMM_ROWS; form < SPMM_FORMS; form++) {
        stays[form] = seconds[form] > 0.0 && seconds[form] <= near * best;
    }
    return WEFT_OK;
}

/* The forms that stay, prepared and run whole unless it is one alone. */
static weft_status try_whole(trial *t, const bool stays[SPMM_FORMS], hal_spmm_form expected, hal_spmm_form *form)
{
    double seconds[SPMM_FORMS] = {0};
    int entrants = 0;
    for (int f = HAL_SPMM_ROWS; f < SPMM_FORMS; f++) {
        if (stays[f]) {
            WEFT_TRY(spmm_prepare(t->hal, t->csr, (hal_spmm_form)f, t->max_d, &t->entrant[f].spmm));
            seconds[f] = 1.0;
            entrants++;
        }
    }
    if (entrants > 1) {
        take_turns(t, run_whole);
        for (int f = HAL_SPMM_ROWS; f < SPMM_FORMS; f++) {
            seconds[f] = t->entrant[f].least;
        }
    }
    *form = spmm_pick(seconds, expected);
    return WEFT_OK;
}

weft_status spmm_trial_run(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_form expected, hal_spmm **spmm)
{
    weft_status status = WEFT_OK;
    trial t = {.hal = hal, .csr = csr, .edges = csr->offset[csr->rows], .max_d = max_d};
    bool stays[SPMM_FORMS] = {false};
    hal_spmm_form form = expected;
    *spmm = NULL;
    for (int f = HAL_SPMM_ROWS; f < SPMM_FORMS; f++) {
        stays[f] = worth_trying(&t, (hal_spmm_form)f);
    }
    WEFT_TRY_GOTO(make_operands(&t), status, done);
    if (t.edges > SPMM_WHOLE_EDGES) {
        WEFT_TRY_GOTO(try_samples(&t, stays), status, done);
    }
    WEFT_TRY_GOTO(try_whole(&t, stays, expected, &form), status, done);
    *spmm = t.entrant[form].spmm;
    t.entrant[form].spmm = NULL;
done:
    for (int f = HAL_SPMM_ROWS; f < SPMM_FORMS; f++) {
        dismiss(&t.entrant[f]);
    }
    weft_free(t.x);
    weft_free(t.out);
    return status;
}
