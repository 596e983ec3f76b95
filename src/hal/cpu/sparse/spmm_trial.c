/* hal/cpu/sparse/spmm_trial.c: see hal/cpu/sparse/spmm_trial.h. */
#include "hal/cpu/sparse/spmm_trial.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

enum {
    FORMS = HAL_SPMM_KINDS - HAL_SPMM_ROWS,
    SAMPLE_EDGES = 1 << 21,
    PART_OF_BLOCKS = 4,      /* one in so many blocks tells BLOCKS from LISTS */
    FEW_BLOCKS = 32,         /* of which that part is the sample: edges are looked through for one block as for many */
    MOST_COLUMNS = 256,      /* that are run: a form costs as much for each further strip */
    STRIPS_WITHOUT_ROWS = 2, /* that are run where ROWS, which reads whole rows, is out of the race */
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 12
};
static const uint64_t least_room = (uint64_t)1 << 30; /* that operands may always take */
static const uint64_t flushing = (uint64_t)256 << 20; /* writing so much leaves little else in the caches */
static const double most_seconds = 1.0;               /* spent on turns once they are enough */
static const double long_turns = 2.0;      /* one round of so much is enough: runs are long, noise is short */
static const double rounds_seconds = 0.05; /* spent on turns, unless they are few or differ */
static const double near = 1.3;            /* a sample may be off by as much */
static const double steady = 1.05;         /* two rounds that agree */
static const double pairs_least = 0.5;     /* edges a (row, block), below which BLOCKS is mostly offsets */

static const bool none[HAL_SPMM_KINDS] = {false};

/* One form in the race. */
typedef struct entrant {
    hal_spmm *spmm;       /* whole or a sample; NULL: not in the race */
    double scale;         /* edges of the matrix over those of the sample */
    double least, second; /* seconds of a run, the two quickest */
    double packed;        /* a sample that packs: with packing, the quickest */
} entrant;

typedef struct trial {
    weft_hal *hal;
    hal_spmm_turns *turns;
    const hal_csr *csr;
    int64_t edges, max_d, d; /* max_d: of what is prepared */
    int64_t strip, width;    /* columns of a strip, and those that are run: at least a strip */
    bool dense;
    bool by_part; /* samples are as large as what tells BLOCKS from LISTS */
    spmm_entry entry;
    int64_t rows, half;     /* of the operands: [rows, sums: half | sources: half]; dense: [rows, half] each */
    float *out, *x;         /* one allocation, which begins with the sums: x is where sources begin */
    float *packed;          /* [cols, packed_columns]: sources as packed; only while samples run */
    int64_t packed_columns; /* enough for each form */
    entrant entrant[HAL_SPMM_KINDS];
} trial;

/* ---- operands ---------------------------------------------------------------------------------------------------- */
static int64_t ld_of(const trial *t)
{
    return t->dense ? t->half : 2 * t->half;
}

/* The first rows, `columns` from `matrix` on; each thread writes its share of them, as it does where values are
 * made. */
static void write_zeros(const trial *t, float *matrix, int64_t rows, int64_t columns)
{
#pragma omp parallel for num_threads(t->hal->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        memset(matrix + row * ld_of(t), 0, (size_t)columns * sizeof *matrix);
    }
}

static uint64_t operand_bytes(const trial *t)
{
    return (uint64_t)(2 * t->rows * t->half + t->csr->cols * t->packed_columns) * sizeof(float);
}

static weft_status make_operands(trial *t, uint64_t room)
{
    room = room > least_room ? room : least_room;
    assert(t->d <= t->max_d);
    t->strip = spmm_strip(t->d);
    t->rows = t->csr->rows > t->csr->cols ? t->csr->rows : t->csr->cols;
    t->half = t->d > t->strip ? t->d : t->strip;
    t->packed_columns = spmm_rows_packed(t->half) > t->strip ? spmm_rows_packed(t->half) : t->strip;
    while (t->half > t->strip && operand_bytes(t) > room) {
        t->half = t->half / 2 > t->strip ? t->half / 2 / t->strip * t->strip : t->strip;
    }
    /* Operands may be wider than the matrix is prepared for, as they hold a whole strip; runs are not. */
    t->width = t->half < MOST_COLUMNS ? t->half : MOST_COLUMNS;
    t->width = t->width < t->d ? t->width : t->d;
    WEFT_TRY(WEFT_NEW(&t->out, 2 * t->rows * t->half, WEFT_MEM_WORKSPACE));
    t->x = t->out + (t->dense ? t->rows * t->half : t->half);
    write_zeros(t, t->out, t->rows, t->half);
    write_zeros(t, t->x, t->rows, t->half);
    return WEFT_OK;
}

static weft_status make_packed(trial *t)
{
    WEFT_TRY(WEFT_NEW(&t->packed, t->csr->cols * t->packed_columns, WEFT_MEM_WORKSPACE));
#pragma omp parallel for num_threads(t->hal->threads) schedule(static)
    for (int64_t row = 0; row < t->csr->cols; row++) {
        memset(t->packed + row * t->packed_columns, 0, (size_t)t->packed_columns * sizeof *t->packed);
    }
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
    const double blocks = (double)spmm_block_count(t->csr->cols, spmm_block_shift(form, t->d));
    if (form == HAL_SPMM_TILES) {
        return t->entry.tiled;
    }
    if (form == HAL_SPMM_SHARED) {
        return t->entry.shared;
    }
    return form != HAL_SPMM_BLOCKS || (double)t->edges >= pairs_least * blocks * (double)t->csr->rows;
}

/* A run of rows in the middle of the matrix. */
static weft_status sample_rows(trial *t, entrant *e)
{
    weft_status status = WEFT_OK;
    const hal_csr *csr = t->csr;
    int64_t *offset = NULL;
    hal_span own = hal_split_csr(csr->offset, csr->rows, 2, 1);
    own.begin = own.begin < csr->rows ? own.begin : csr->rows - 1;
    own.end = own.begin;
    while (own.end < csr->rows && csr->offset[own.end] - csr->offset[own.begin] < SAMPLE_EDGES) {
        own.end++;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&offset, own.end - own.begin + 1, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t row = own.begin; row <= own.end; row++) {
        offset[row - own.begin] = csr->offset[row] - csr->offset[own.begin];
    }
    const hal_csr part = {.rows = own.end - own.begin,
                          .cols = csr->cols,
                          .offset = offset,
                          .column = csr->column + csr->offset[own.begin],
                          .usual_d = t->d};
    WEFT_TRY_GOTO(spmm_prepare(t->hal, &part, HAL_SPMM_ROWS, t->max_d, &e->spmm), status, done);
    const bool packs = !t->dense && spmm_reuses_rows(csr) && e->spmm->packed == NULL; /* as the whole matrix will */
    WEFT_TRY_GOTO(packs ? spmm_pack_rows(e->spmm) : WEFT_OK, status, done);
    e->scale = (double)t->edges / (double)(e->spmm->edges > 0 ? e->spmm->edges : 1);
done:
    weft_free(offset);
    return status;
}

/* As many blocks in the middle of the matrix as hold about so many edges. */
static weft_status sample_blocks(trial *t, hal_spmm_form form, double edges, entrant *e)
{
    const hal_csr unmarked = {.rows = t->csr->rows,
                              .cols = t->csr->cols,
                              .offset = t->csr->offset,
                              .column = t->csr->column,
                              .usual_d = t->d};
    const hal_csr *csr = &unmarked;
    const int64_t blocks = spmm_block_count(csr->cols, spmm_block_shift(form, t->d));
    int64_t wanted = (int64_t)((double)blocks * edges / (double)t->edges) + 1;
    wanted = wanted < blocks ? wanted : blocks;
    const int64_t first = (blocks - wanted + 1) / 2;
    WEFT_TRY(spmm_begin(t->hal, csr, form, t->max_d, &e->spmm));
    WEFT_TRY(form == HAL_SPMM_BLOCKS ? spmm_build_blocks(e->spmm, csr, first, wanted)
                                     : spmm_build_lists(e->spmm, csr, first, wanted));
    const int64_t held = e->spmm->by_block.chunk[e->spmm->parts * wanted].edge;
    e->scale = (double)t->edges / (double)(held > 0 ? held : 1);
    return WEFT_OK;
}

/* Edges of as many blocks as tell BLOCKS from LISTS. */
static double part_of(const trial *t)
{
    return (double)t->edges / PART_OF_BLOCKS;
}

/* Whether some rank says so. */
static bool meet(const trial *t, bool says)
{
    return t->turns != NULL ? t->turns->meet(t->turns, says) : says;
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

/* Columns of a run whose sources are packed; 0: they are not. */
static int64_t packed_run(const trial *t, const hal_spmm *spmm)
{
    const bool rows = spmm->form == HAL_SPMM_ROWS;
    const bool packs = !t->dense && spmm->packed != NULL && t->width <= SPMM_ROWS_PACKED;
    return !rows ? t->strip : packs ? t->width : 0;
}

/* A turn of a sample. Where sources are packed, one run that has to, as a scale of its rows is asked for, and one whose
 * sources lie as packed already. */
static void run_sample(const trial *t, entrant *e)
{
    const int64_t all = t->csr->cols;
    const int64_t some = (int64_t)(flushing / ((uint64_t)t->half * sizeof(float)));
    spmm_call call = {.d = t->width, .x = t->x, .ldx = ld_of(t), .out = t->out, .ldo = ld_of(t)};
    write_zeros(t, t->x, all < some ? all : some, t->half);
    const int64_t columns = packed_run(t, e->spmm);
    if (columns == 0) {
        note(e, timed_run(e->spmm, &call));
        return;
    }
    call.d = columns;
    call.pre = t->packed;
    const double packed = timed_run(e->spmm, &call);
    e->packed = e->packed == 0.0 || packed < e->packed ? packed : e->packed;
    call.pre = NULL;
    call.x = t->packed;
    call.ldx = columns;
    note(e, timed_run(e->spmm, &call));
}

static void run_whole(const trial *t, entrant *e)
{
    const spmm_call call = {.d = t->width, .x = t->x, .ldx = ld_of(t), .out = t->out, .ldo = ld_of(t)};
    note(e, timed_run(e->spmm, &call));
}

/* The quickest form has come near its least twice, within limits. */
static bool has_enough(const entrant *best, int rounds, double spent)
{
    const bool agreed = best->second > 0.0 && best->second <= steady * best->least;
    const bool enough = spent > most_seconds || (agreed && spent > rounds_seconds);
    return (rounds >= LEAST_ROUNDS && enough) || spent > long_turns || rounds == MOST_ROUNDS;
}

/* All ranks come to the same turns, also with none in the race. */
static void take_turns(trial *t, void (*run)(const trial *t, entrant *e))
{
    const double started = clock_seconds();
    bool more = true;
    for (int round = 0; more; round++) {
        const entrant *best = NULL;
        for (int i = 0; i < FORMS; i++) {
            entrant *e = &t->entrant[HAL_SPMM_ROWS + (i + round) % FORMS]; /* another one first each round */
            meet(t, true);
            if (e->spmm != NULL) {
                run(t, e);
                best = best == NULL || e->least < best->least ? e : best;
            }
        }
        more = meet(t, best != NULL && !has_enough(best, round + 1, clock_seconds() - started));
    }
}

/* Seconds of d columns, from those of the columns that are run now. */
static double of_all_columns(const trial *t, double seconds)
{
    return t->d > t->width ? seconds * ((double)t->d / (double)t->width) : seconds;
}

/* Seconds of the whole matrix at the width that is run, from a sample of it. */
static double estimate(const trial *t, const entrant *e)
{
    const int64_t columns = packed_run(t, e->spmm);
    if (columns == 0) {
        return e->least * e->scale;
    }
    const double packing = e->packed > e->least ? e->packed - e->least : 0.0;
    const int64_t strips = (t->width + columns - 1) / columns;
    return (double)strips * (e->least * e->scale + packing);
}

/* seconds: of those with tried[form], which may be none. Samples stay, as some may run again. */
static weft_status try_samples(trial *t, const bool tried[HAL_SPMM_KINDS], double seconds[HAL_SPMM_KINDS])
{
    const double edges = t->by_part ? part_of(t) : SAMPLE_EDGES;
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (tried[form]) {
            WEFT_TRY(form == HAL_SPMM_ROWS ? sample_rows(t, &t->entrant[form])
                                           : sample_blocks(t, (hal_spmm_form)form, edges, &t->entrant[form]));
        }
    }
    take_turns(t, run_sample);
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (tried[form]) {
            seconds[form] = of_all_columns(t, estimate(t, &t->entrant[form]));
        }
    }
    weft_free(t->packed);
    t->packed = NULL;
    return WEFT_OK;
}

/* [out] stays[form]: comes near the quickest; TILES, which has no sample, where LISTS does, SHARED always. */
static void keep_near(const trial *t, const double seconds[HAL_SPMM_KINDS], bool stays[HAL_SPMM_KINDS])
{
    double best = 0.0;
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        best = seconds[form] > 0.0 && (best == 0.0 || seconds[form] < best) ? seconds[form] : best;
    }
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        stays[form] = seconds[form] > 0.0 && seconds[form] <= near * best;
    }
    stays[HAL_SPMM_TILES] = t->entry.tiled && stays[HAL_SPMM_LISTS];
    stays[HAL_SPMM_SHARED] = t->entry.shared;
}

static weft_status prepare_entrant(trial *t, hal_spmm_form form, bool by_part)
{
    entrant *e = &t->entrant[form];
    if (e->spmm != NULL) { /* runs again, at the width of this race */
        e->least = e->second = 0.0;
        return WEFT_OK;
    }
    e->scale = 1.0;
    return by_part ? sample_blocks(t, form, part_of(t), e) : spmm_prepare(t->hal, t->csr, form, t->max_d, &e->spmm);
}

/* All but those that stay. */
static void dismiss_others(trial *t, const bool stays[HAL_SPMM_KINDS])
{
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (!stays[form]) {
            dismiss(&t->entrant[form]);
        }
    }
}

/* SHARED of a large matrix runs before others are prepared whole: those whose samples it leaves behind are not. All
 * ranks come to its turns if one has it. */
static weft_status shared_first(trial *t, bool large, double seconds[HAL_SPMM_KINDS], bool stays[HAL_SPMM_KINDS])
{
    const bool here = large && stays[HAL_SPMM_SHARED];
    if (!meet(t, here)) {
        return WEFT_OK;
    }
    dismiss_others(t, none);
    WEFT_TRY(here ? prepare_entrant(t, HAL_SPMM_SHARED, false) : WEFT_OK);
    take_turns(t, run_whole);
    if (!here) {
        return WEFT_OK;
    }
    seconds[HAL_SPMM_SHARED] = of_all_columns(t, t->entrant[HAL_SPMM_SHARED].least);
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_SHARED; form++) {
        stays[form] = stays[form] && seconds[form] <= near * seconds[HAL_SPMM_SHARED];
    }
    stays[HAL_SPMM_TILES] = stays[HAL_SPMM_TILES] && stays[HAL_SPMM_LISTS];
    return WEFT_OK;
}

/* A form that stays on one rank is run whole on all that have it: a sample there would be added up with whole runs
 * here. The number of those. */
static int keep_together(const trial *t, const bool tried[HAL_SPMM_KINDS], bool stays[HAL_SPMM_KINDS])
{
    int count = 0;
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        stays[form] = meet(t, stays[form]) && tried[form];
        count += stays[form];
    }
    return count;
}

/* Forms that a part of their blocks tells apart: both take blocks in turn, out of the same caches. */
static bool only_blocks(const bool stays[HAL_SPMM_KINDS])
{
    return !stays[HAL_SPMM_ROWS] && !stays[HAL_SPMM_TILES] && !stays[HAL_SPMM_SHARED];
}

/* by_part: of blocks in the middle, and nothing that is prepared stays. */
static weft_status try_whole(trial *t, const bool stays[HAL_SPMM_KINDS], bool by_part, double seconds[HAL_SPMM_KINDS])
{
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        WEFT_TRY(stays[form] ? prepare_entrant(t, (hal_spmm_form)form, by_part) : WEFT_OK);
    }
    const int64_t strips = STRIPS_WITHOUT_ROWS * t->strip;
    t->width = stays[HAL_SPMM_ROWS] || t->width < strips ? t->width : strips;
    take_turns(t, run_whole);
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (stays[form]) {
            seconds[form] = of_all_columns(t, t->entrant[form].least * t->entrant[form].scale);
        }
        if (by_part) {
            dismiss(&t->entrant[form]);
        }
    }
    return WEFT_OK;
}

/* What was run whole is handed on. */
static void hand_over(trial *t, hal_spmm_trial *out)
{
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        out->prepared[form] = t->entrant[form].spmm;
        t->entrant[form].spmm = NULL;
    }
}

weft_status spmm_trial_run(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, spmm_entry entry,
                           hal_spmm_trial *out)
{
    weft_status status = WEFT_OK;
    trial t = {.hal = hal,
               .turns = request->turns,
               .csr = csr,
               .edges = csr->offset[csr->rows],
               .max_d = request->max_d,
               .d = spmm_usual(csr, request->max_d),
               .dense = request->dense,
               .entry = entry};
    bool tried[HAL_SPMM_KINDS] = {false}, sampled[HAL_SPMM_KINDS], stays[HAL_SPMM_KINDS];
    WEFT_TRY_GOTO(make_operands(&t, request->operand_bytes), status, done);
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        tried[form] = worth_trying(&t, (hal_spmm_form)form);
    }
    memcpy(stays, tried, sizeof stays);
    memcpy(sampled, tried, sizeof sampled);
    sampled[HAL_SPMM_TILES] = sampled[HAL_SPMM_SHARED] = false;
    const bool large = t.edges > SPMM_WHOLE_EDGES;
    t.by_part = large && spmm_block_count(csr->cols, spmm_block_shift(HAL_SPMM_LISTS, t.d)) <= FEW_BLOCKS;
    WEFT_TRY_GOTO(large ? make_packed(&t) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(try_samples(&t, large ? sampled : none, out->seconds), status, done);
    if (large) {
        keep_near(&t, out->seconds, stays);
    }
    WEFT_TRY_GOTO(shared_first(&t, large, out->seconds, stays), status, done);
    const int staying = keep_together(&t, tried, stays);
    const bool by_part = !meet(&t, !large || !only_blocks(stays));
    const bool again = stays[HAL_SPMM_SHARED] || (by_part && t.by_part && staying > 1); /* runs as it is prepared */
    dismiss_others(&t, again ? stays : none);
    WEFT_TRY_GOTO(try_whole(&t, staying > 1 ? stays : none, by_part, out->seconds), status, done);
    hand_over(&t, out);
done:
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        dismiss(&t.entrant[form]);
    }
    WEFT_FREE_ALL(t.packed, t.out);
    return status;
}
