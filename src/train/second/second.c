/* train/second/second.c: see train/second/second.h. */
#include "base/integer/integers.h"
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

static const second_method methods[] = {
    [SECOND_INPUT] = {.sides = {true, true},
                      .inverts = {true, false},
                      .invert = second_input_invert,
                      .turn = second_input_turn},
    [SECOND_MUON] = {.turn = NULL}, /* second_create makes a train_muon */
    [SECOND_KFAC] = {.sides = {true, true},
                     .inverts = {true, true},
                     .invert = second_kfac_invert,
                     .finish = second_kfac_finish,
                     .turn = second_kfac_turn},
};

const second_method *second_method_of(second_kind kind)
{
    assert(kind != SECOND_NONE && (size_t)kind < sizeof methods / sizeof *methods);
    return &methods[kind];
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

double second_work_begin(void)
{
    return clock_thread_seconds();
}

void second_work_end(train_second *s, int phase, double begun)
{
    s->figures.work[phase] += clock_thread_seconds() - begun;
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
    s->judge = (second_judge){.most = s->options.overhead, .least = s->options.overhead_seconds};
    for (int l = 0; l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        layer->inverted = layer->side[SECOND_IN].lost = false;
        for (int i = 0; i < SECOND_SIDES; ++i) {
            layer->side[i].started = layer->side[i].held = layer->side[i].inverted = false;
            layer->side[i].average = layer->side[i].peak = layer->side[i].mean = 0.0;
        }
    }
    return WEFT_OK;
}

static precondition_figures figures(const void *self)
{
    const train_second *s = self;
    precondition_figures all = s->figures;
    for (int i = 0; i < 2 && s->split[i] != NULL; ++i) {
        const comm_stats stats = comm_lane_stats(s->split[i], COMM_LANE_FACTORS);
        all.group_bytes += stats.bytes_sent;
        all.group_messages += stats.messages_sent;
    }
    return all;
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
    WEFT_TRY(second_size(s));
    WEFT_TRY(second_allocate(s));
    WEFT_TRY(WEFT_NEW(&s->counts, s->layers + 2, WEFT_MEM_SECOND));
    WEFT_TRY(WEFT_NEW(&s->due, s->layers, WEFT_MEM_SECOND));
    WEFT_TRY(WEFT_NEW(&s->verdicts, s->layers * SECOND_VERDICTS, WEFT_MEM_SECOND));
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
    WEFT_TRY(comm_agree(s->comm, allocate(s)));
    WEFT_TRY(second_exchange_create(s));
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
        s->rank = comm_rank(comm);
        s->ranks = comm_size(comm);
        s->hal = model->params->hal;
        s->model = model;
        s->params = model->params;
        s->options = *options;
        s->method = second_method_of(options->kind);
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
        TENSOR_DESTROY_ALL(&side->sums, &side->factor, &side->matrix, &side->result);
    }
    weft_free(layer->columns != layer->rows.data ? layer->columns : NULL);
    TENSOR_DESTROY_ALL(&layer->scale, &layer->rows, &layer->gradient, &layer->direction);
}

void second_destroy(train_second *s)
{
    if (s == NULL) {
        return;
    }
    muon_destroy(&s->muon);
    second_state_destroy(s);
    second_exchange_destroy(s);
    for (int l = 0; s->layer != NULL && l < s->layers; ++l) {
        destroy_layer(&s->layer[l]);
    }
    capture_conv_destroy(&s->patches);
    TENSOR_DESTROY_ALL(&s->chunk, &s->ones, &s->index, &s->info, &s->work[0], &s->work[1], &s->sums, &s->gradient,
                       &s->direction);
    WEFT_FREE_ALL(s->layer, s->pick, s->place, s->counts, s->due, s->verdicts, s->host[0], s->host[1], s);
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
