/* train/second/second.c: see train/second/second.h. */
#include "train/second/second_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "train/activities.h"
#include "train/train_options.def"

weft_mem_tag WEFT_MEM_SECOND[1] = {{.text = "second order"}};

/* Rows of a sample: at least so many, and so many for each column. */
enum { SAMPLE_LEAST = 4096, SAMPLE_A_COLUMN = 4 };

static const second_method methods[] = {
    [SECOND_INPUT] = {.sides = {true, true}, .prepare = second_input_prepare, .turn = second_input_turn},
    [SECOND_MUON] = {.turn = NULL}, /* second_create makes a train_muon */
    [SECOND_KFAC] = {.sides = {true, true}, .prepare = second_kfac_prepare, .turn = second_kfac_turn},
};

weft_status second_tensor(train_second *s, int64_t rows, int64_t cols, weft_tensor *t)
{
    s->bytes += (uint64_t)(rows * cols) * weft_dtype_bytes(s->params->dtype);
    return tensor_create(s->hal, s->params->dtype, rows, cols, WEFT_MEM_SECOND, t);
}

weft_tensor second_view(const weft_tensor *memory, weft_dtype dtype, int64_t rows, int64_t cols)
{
    assert((size_t)(rows * cols) * weft_dtype_bytes(dtype) <= (size_t)memory->cols * weft_dtype_bytes(memory->dtype));
    return (weft_tensor){
        .hal = memory->hal, .dtype = dtype, .rows = rows, .cols = cols, .ld = cols, .data = memory->data};
}

double second_begin(void)
{
    activity_begin(ACTIVITY_SECOND);
    return clock_seconds();
}

void second_end(train_second *s, int phase, double begun)
{
    s->figures.seconds[phase] += clock_seconds() - begun;
    activity_end(ACTIVITY_SECOND);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static void size_layer(const train_second *s, const train_map *map, second_layer *layer)
{
    const param_block *block = &s->params->block[map->block];
    second_side *side = layer->side;
    layer->map = map;
    layer->in = map->transposed ? block->cols : block->rows;
    layer->out = map->transposed ? block->rows : block->cols;
    side[SECOND_IN].n = layer->in + (map->bias >= 0 && map->joined ? 1 : 0);
    side[SECOND_OUT].n = layer->out;
    for (int i = 0; i < SECOND_SIDES; ++i) {
        side[i].needed = s->method->sides[i];
    }
    side[SECOND_IN].constant = map->constant;
    layer->summed = s->options.kind == SECOND_INPUT && map->sums != NULL && s->population > 0;
    layer->wide = layer->summed || (s->method->sides[SECOND_IN] && map->constant && s->population > 0 &&
                                    side[SECOND_IN].n > SECOND_WIDE);
    layer->sample =
        layer->wide ? SECOND_WIDE_ROWS : larger(SAMPLE_LEAST, SAMPLE_A_COLUMN * larger(side[SECOND_IN].n, layer->out));
    layer->sample = layer->sample < s->population ? layer->sample : s->population;
}

static weft_status create_side(train_second *s, second_side *side)
{
    if (!side->needed) {
        return WEFT_OK;
    }
    WEFT_TRY(second_tensor(s, 1, second_packed(side->n), &side->sums));
    WEFT_TRY(second_tensor(s, 1, second_packed(side->n), &side->factor));
    return second_tensor(s, side->n, side->n, &side->matrix);
}

static weft_status create_layer(train_second *s, second_layer *layer)
{
    const second_side *in = &layer->side[SECOND_IN];
    const bool turned = layer->map->transposed;
    const int64_t rows = turned ? layer->out : in->n, cols = turned ? in->n : layer->out;
    WEFT_TRY(layer->wide ? WEFT_OK : create_side(s, &layer->side[SECOND_IN]));
    WEFT_TRY(create_side(s, &layer->side[SECOND_OUT]));
    if (layer->wide) {
        WEFT_TRY(second_tensor(s, in->n, layer->sample, &layer->rows));
        WEFT_TRY(second_tensor(s, layer->sample, layer->sample, &layer->small));
    } else if (s->options.kind == SECOND_KFAC) {
        WEFT_TRY(second_tensor(s, rows, cols, &layer->scale));
    }
    WEFT_TRY(second_tensor(s, rows, cols, &layer->gradient));
    return second_tensor(s, rows, cols, &layer->direction);
}

/* Memory that layers use one after the other. */
static weft_status create_scratch(train_second *s)
{
    const bool kfac = s->options.kind == SECOND_KFAC;
    int64_t chunk = 0, work = 0, sums = 0, host = 0, side = 0;
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        const int64_t n = layer->side[SECOND_IN].n, out = layer->out;
        const int64_t small = layer->wide ? layer->sample : 0, most = larger(layer->wide ? small : n, out);
        chunk = larger(chunk, larger((layer->wide ? 64 : SECOND_CHUNK) * n, SECOND_CHUNK * out));
        work = larger(work, layer->wide ? larger(small * out, second_packed(small)) : kfac ? most * most : 0);
        host = larger(host, larger(n * out, second_packed(most)));
        sums += (layer->wide ? 0 : second_packed(n)) + second_packed(out);
        side = larger(side, most);
    }
    const size_t element = weft_dtype_bytes(s->params->dtype);
    s->bytes += (uint64_t)(sums + 2 * host) * element;
    WEFT_TRY(weft_malloc((size_t)sums, element, WEFT_MEM_SECOND, &s->exchange));
    WEFT_TRY(weft_malloc((size_t)host, element, WEFT_MEM_SECOND, &s->host[0]));
    WEFT_TRY(weft_malloc((size_t)host, element, WEFT_MEM_SECOND, &s->host[1]));
    WEFT_TRY(second_tensor(s, 1, chunk, &s->chunk));
    WEFT_TRY(second_tensor(s, 1, 2 * work, &s->work));
    WEFT_TRY(second_tensor(s, 1, side, &s->values));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I32, SECOND_CHUNK, 1, WEFT_MEM_SECOND, &s->index));
    return tensor_create(s->hal, WEFT_DTYPE_I32, 1, 1, WEFT_MEM_SECOND, &s->info);
}

/* ---- rows that count --------------------------------------------------------------------------------------------- */

static weft_status count_population(train_second *s)
{
    const train_model *model = s->model;
    for (int64_t i = 0; i < model->row_ids; ++i) {
        s->population = larger(s->population, model->row_id[i] + 1);
    }
    return comm_allreduce(s->comm, &s->population, 1, WEFT_DTYPE_I64, COMM_MAX);
}

/* Which rows of this rank are in the largest sample. A row's place is a function of the seed and its id, so a smaller
 * sample is the part of a larger one with the lower places. */
static weft_status pick_rows(train_second *s)
{
    int64_t sample = 0;
    for (int l = 0; l < s->layers; ++l) {
        sample = larger(sample, s->layer[l].sample);
    }
    if (s->population == 0 || s->model->row_ids == 0) {
        return WEFT_OK;
    }
    const int64_t most = sample < s->model->row_ids ? sample : s->model->row_ids;
    const permutation order = permutation_make((uint64_t)s->population, s->options.seed, WEFT_RNG_FACTORS, 0);
    WEFT_TRY(WEFT_NEW(&s->pick, most, WEFT_MEM_SECOND));
    WEFT_TRY(WEFT_NEW(&s->place, most, WEFT_MEM_SECOND));
    for (int64_t i = 0; i < s->model->row_ids; ++i) {
        const int64_t place = (int64_t)permute(&order, (uint64_t)s->model->row_id[i]);
        if (place < sample) {
            assert(s->picks < most);
            s->pick[s->picks] = i;
            s->place[s->picks++] = place;
        }
    }
    return WEFT_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static weft_status reset(void *self)
{
    train_second *s = self;
    s->step = 0;
    s->capturing = false;
    s->figures = (precondition_figures){.clip = 1.0};
    for (int l = 0; l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        layer->inverted = false;
        for (int i = 0; i < SECOND_SIDES; ++i) {
            layer->side[i].started = layer->side[i].held = false;
        }
    }
    return WEFT_OK;
}

static precondition_figures figures(const void *self)
{
    return ((const train_second *)self)->figures;
}

static weft_status check(const train_model *model, const second_options *options)
{
    assert(options->kind != SECOND_NONE && (size_t)options->kind < sizeof methods / sizeof *methods);
    WEFT_CHECK(model->maps > 0, WEFT_ERR_USAGE, FLAG_PRECONDITION ": model %s names no linear maps: leave it out",
               model->name);
    WEFT_CHECK(!model->scaled, WEFT_ERR_USAGE,
               FLAG_PRECONDITION " with float16: gradients pass through a scale that "
                                 "moves; take " FLAG_PRECISION " f32 or bf16");
    WEFT_CHECK(options->interval % options->factors == 0, WEFT_ERR_USAGE,
               FLAG_PRECONDITION_INTERVAL " %lld: not a multiple of " FLAG_PRECONDITION_FACTORS " %lld",
               (long long)options->interval, (long long)options->factors);
    return WEFT_OK;
}

/* Products of two ranks have the same bits if the same kernels run on as many threads. */
static weft_status compare_ranks(train_second *s)
{
    int64_t most[4] = {s->hal->threads, -s->hal->threads, 0, 0};
    for (const char *c = s->hal->name; *c != '\0'; ++c) {
        most[2] = most[2] * 31 + *c;
    }
    most[3] = -most[2];
    WEFT_TRY(comm_allreduce(s->comm, most, 4, WEFT_DTYPE_I64, COMM_MAX));
    s->unequal = most[0] != -most[1] || most[2] != -most[3];
    return WEFT_OK;
}

static weft_status allocate(train_second *s)
{
    double one[SECOND_CHUNK];
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(create_layer(s, &s->layer[l]));
    }
    WEFT_TRY(create_scratch(s));
    WEFT_TRY(WEFT_NEW(&s->counts, s->layers + 2, WEFT_MEM_SECOND));
    WEFT_TRY(second_tensor(s, SECOND_CHUNK, 1, &s->ones));
    for (int i = 0; i < SECOND_CHUNK; ++i) {
        second_put(s, one, i, 1.0);
    }
    WEFT_TRY(tensor_upload(&s->ones, one));
    return pick_rows(s);
}

static precondition_figures muon_figures(const void *self)
{
    const muon_seconds *seconds = &((const train_second *)self)->muon.seconds;
    return (precondition_figures){.clip = 1.0,
                                  .seconds = {seconds->share, seconds->products, seconds->velocity + seconds->update}};
}

/* Its state is the optimiser's, so there is nothing to reset and to keep. */
static weft_status create_muon(train_second *s)
{
    muon_options options = s->options.muon;
    options.share_from = s->unequal ? 0.0 : options.share_from; /* ranks that round differently share each step */
    WEFT_TRY(muon_create(s->model, &options, s->comm, &s->muon));
    s->bytes = muon_bytes(&s->muon);
    s->tap = (train_tap){.self = s, .wants = second_wants, .take = second_take};
    s->preconditioner = (train_preconditioner){.self = s, .matrices = &s->muon.rule, .figures = muon_figures};
    return WEFT_OK;
}

static weft_status create_factors(train_second *s)
{
    WEFT_TRY(count_population(s));
    for (int l = 0; l < s->layers; ++l) {
        size_layer(s, &s->model->map[l], &s->layer[l]);
    }
    WEFT_TRY(comm_agree(s->comm, allocate(s)));
    s->tap = (train_tap){.self = s, .wants = second_wants, .take = second_take};
    s->preconditioner = (train_preconditioner){.self = s,
                                               .apply = second_apply,
                                               .reset = reset,
                                               .state = second_state,
                                               .restored = second_restored,
                                               .figures = figures};
    return reset(s);
}

weft_status second_create(weft_comm *comm, const train_model *model, const second_options *options,
                          train_second **second)
{
    train_second *s = NULL;
    *second = NULL;
    WEFT_TRY(comm_agree(comm, check(model, options)));
    weft_status status = WEFT_NEW_ZERO(&s, 1, WEFT_MEM_SECOND);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&s->layer, model->maps, WEFT_MEM_SECOND) : status;
    status = comm_agree(comm, status);
    if (status == WEFT_OK) {
        s->comm = comm;
        s->hal = model->params->hal;
        s->model = model;
        s->params = model->params;
        s->options = *options;
        s->method = &methods[options->kind];
        s->layers = model->maps;
        status = compare_ranks(s);
    }
    if (status == WEFT_OK) {
        status = options->kind == SECOND_MUON ? create_muon(s) : create_factors(s);
    }
    if (status != WEFT_OK) {
        second_destroy(s);
        return status;
    }
    *second = s;
    return WEFT_OK;
}

static void destroy_layer(second_layer *layer)
{
    for (int i = 0; i < SECOND_SIDES; ++i) {
        second_side *side = &layer->side[i];
        TENSOR_DESTROY_ALL(&side->sums, &side->factor, &side->matrix);
    }
    TENSOR_DESTROY_ALL(&layer->scale, &layer->rows, &layer->small, &layer->gradient, &layer->direction);
    weft_free(layer->columns);
}

void second_destroy(train_second *s)
{
    if (s == NULL) {
        return;
    }
    muon_destroy(&s->muon);
    for (int l = 0; s->layer != NULL && l < s->layers; ++l) {
        destroy_layer(&s->layer[l]);
    }
    TENSOR_DESTROY_ALL(&s->chunk, &s->ones, &s->index, &s->info, &s->work, &s->values);
    WEFT_FREE_ALL(s->layer, s->pick, s->place, s->counts, s->exchange, s->host[0], s->host[1], s->state, s);
}

const train_tap *second_tap(const train_second *s)
{
    return &s->tap;
}

const train_preconditioner *second_preconditioner(const train_second *s)
{
    return &s->preconditioner;
}

uint64_t second_bytes(const train_second *s)
{
    return s->bytes;
}
