/*
 * Placement of second order: the assignment of work stays within the bound of longest processing time beside all
 * assignments (brute force); a model of several layers gets the same bits from every placement on all ranks, and those
 * of one rank within rounding; a run goes on to the bit; a result that is late holds up no other work; bytes on the
 * wire are a closed form; planned memory is held memory.
 */
#include <math.h>

#include "base/clock.h"
#include "comm/core/layout.h"
#include "support/labelled_graphs.h"
#include "support/random.h"
#include "train/second/second_cost.h"
#include "train/second/second_internal.h"

/* ---- who does what ----------------------------------------------------------------------------------------------- */

static double most_of(const double *load, int ranks)
{
    double most = 0.0;
    for (int r = 0; r < ranks; ++r) {
        most = fmax(most, load[r]);
    }
    return most;
}

/* The busiest rank's work under the best of all assignments. */
static double best_of(int ranks, const double *work, int jobs)
{
    double best = INFINITY;
    int all = 1;
    for (int j = 0; j < jobs; ++j) {
        all *= ranks;
    }
    for (int code = 0; code < all; ++code) {
        double load[4] = {0.0};
        for (int j = 0, rest = code; j < jobs; ++j, rest /= ranks) {
            load[rest % ranks] += work[j];
        }
        best = fmin(best, most_of(load, ranks));
    }
    return best;
}

static void test_assignments_are_near_the_best(void **state)
{
    (void)state;
    enum { TASKS = 4 };
    uint64_t bits = 11;
    for (int round = 0; round < 60; ++round) {
        const int ranks = 2 + round % 3;
        second_task task[TASKS] = {0};
        double work[SECOND_SIDES * TASKS], load[4];
        for (int j = 0; j < SECOND_SIDES * TASKS; ++j) {
            work[j] = task[j / SECOND_SIDES].invert[j % SECOND_SIDES] = floor(1.0 + 20.0 * test_uniform(&bits));
        }
        second_place_assign(ranks, ranks, task, TASKS, load);
        const double bound = 4.0 / 3.0 - 1.0 / (3.0 * ranks);
        assert_true(most_of(load, ranks) <= bound * best_of(ranks, work, SECOND_SIDES * TASKS) + 1e-9);
        double sum = 0.0, given = 0.0;
        for (int j = 0; j < SECOND_SIDES * TASKS; ++j) {
            assert_in_range(task[j / SECOND_SIDES].owner[j % SECOND_SIDES], 0, ranks - 1);
            sum += work[j];
        }
        for (int r = 0; r < ranks; ++r) {
            given += load[r];
        }
        assert_true(fabs(sum - given) < 1e-9);
    }
    /* 7 7 6 6 5 5 4 4 4 on three ranks: the published worst case ends at 16, the best at 16 too with 48 in all */
    second_task task[5] = {
        {.invert = {7, 7}}, {.invert = {6, 6}}, {.invert = {5, 5}}, {.invert = {4, 4}}, {.invert = {4}}};
    double load[3];
    second_place_assign(3, 3, task, 5, load);
    assert_true(most_of(load, 3) <= 16.0 * (4.0 / 3.0 - 1.0 / 9.0));
    /* groups of two: both sides of a layer stay in its group, and turns burden all ranks of the group */
    second_task pair[2] = {{.invert = {8, 1}, .turn = 2}, {.invert = {3, 3}, .turn = 1}};
    double four[4];
    second_place_assign(4, 2, pair, 2, four);
    assert_int_equal(pair[0].group, 0);
    assert_int_equal(pair[1].group, 1);
    assert_int_equal(pair[0].owner[SECOND_IN], 0);
    assert_int_equal(pair[0].owner[SECOND_OUT], 1);
    assert_true(four[0] == 10 && four[1] == 3 && four[2] == 4 && four[3] == 4);
}

static void test_words_are_read(void **state)
{
    (void)state;
    second_place place;
    assert_true(second_place_parse("mem-opt", &place) && place.kind == SECOND_PLACE_MEM_OPT);
    assert_true(second_place_parse("hybrid:0.25", &place) && place.kind == SECOND_PLACE_HYBRID && place.share == 0.25);
    assert_int_equal(second_place_workers(&place, 8), 2);
    assert_int_equal(second_place_workers(&place, 6), 1);
    assert_int_equal(second_place_workers(&place, 1), 0);
    assert_true(second_place_parse("hybrid", &place));
    assert_int_equal(second_place_workers(&place, 9), 3);
    assert_true(second_place_parse("comm-opt", &place));
    assert_int_equal(second_place_workers(&place, 5), 5);
    static const char *const wrong[] = {"",         "hybrid:",     "hybrid:0", "hybrid:1",
                                        "hybrid:x", "mem-opt:0.5", "mem",      "comm-optimal"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_false(second_place_parse(wrong[i], &place));
    }
}

/* ---- a model of several layers ----------------------------------------------------------------------------------- */

enum { ROWS = 24, LAYERS = 4, STEPS = 6, MOST_RANKS = 4, MOST = 9, ELEMENTS = 256 };

static const struct {
    int in, out;
    bool transposed, bias, joined, constant;
} shape[LAYERS] = {{6, 8, false, true, true, true},
                   {8, 9, true, true, true, false},
                   {9, 5, false, true, false, false},
                   {5, 3, true, false, false, false}};

/* A training of some steps. */
typedef struct place_case {
    second_kind kind;
    const char *backend;
    int ranks, resumed_at;
    bool apart; /* every rank is a node of its own, so that all bytes are messages */
    bool late;  /* make_late */
    second_place place;
    double overhead;                                                  /* second_options.overhead */
    bool stepped_back[MOST_RANKS][STEPS];                             /* [out] */
    double step[MOST_RANKS][STEPS][ELEMENTS];                         /* [out] all gradients after each step */
    uint64_t held[MOST_RANKS], planned[MOST_RANKS], sent[MOST_RANKS]; /* [out] */
    int64_t elements;                                                 /* [out] of a step */
} place_case;

typedef struct place_rank {
    weft_hal *hal;
    param_store params;
    train_map map[LAYERS];
    train_model model;
    int64_t id[ROWS];
    train_second *second;
} place_rank;

static second_options options_of(const place_case *c)
{
    return (second_options){.kind = c->kind,
                            .damping = 0.3,
                            .clip = 0.1,
                            .decay = 0.7,
                            .factors = 1,
                            .interval = 2,
                            .seed = 4,
                            .overhead = c->overhead,
                            .place = c->place};
}

static weft_status open_rank(weft_comm *comm, const place_case *c, place_rank *r)
{
    WEFT_TRY(weft_hal_open(test_device(c->backend), 1, &r->hal));
    param_store_begin(&r->params, r->hal, WEFT_DTYPE_F64);
    for (int l = 0; l < LAYERS; ++l) {
        train_map *map = &r->map[l];
        *map = (train_map){.transposed = shape[l].transposed, .joined = shape[l].joined, .constant = shape[l].constant};
        map->block = param_add_block(&r->params, PARAM_GROUP_DECAY, map->transposed ? shape[l].out : shape[l].in,
                                     map->transposed ? shape[l].in : shape[l].out);
        map->bias = shape[l].bias ? param_add_block(&r->params, PARAM_GROUP_NO_DECAY, 1, shape[l].out) : -1;
    }
    WEFT_TRY(param_store_commit(&r->params, NULL));
    r->model = (train_model){.name = "test", .params = &r->params, .map = r->map, .maps = LAYERS, .row_id = r->id};
    for (int64_t i = comm_rank(comm); i < ROWS; i += c->ranks) {
        r->id[r->model.row_ids++] = i;
    }
    return WEFT_OK;
}

/* Row `id` of a layer's inputs (side 0) or output gradients in a step. */
static double number_of(int layer, int side, int64_t id, int column, int step)
{
    const int time = side == 0 && shape[layer].constant ? 0 : step;
    return sin(1.0 + 3.0 * layer + 7.0 * side + 1.7 * (double)id + 0.9 * column * (1 + layer) + 2.3 * time) /
           (side == 0 ? 1.0 : ROWS);
}

/* The rank's rows of a layer, in one run. */
static weft_status show_layer(const place_rank *r, int l, int step, const train_pass *pass)
{
    const train_tap *tap = second_tap(r->second);
    const int in = shape[l].in, out = shape[l].out;
    double x[ROWS * MOST], dy[ROWS * MOST];
    weft_tensor rows = {0}, gradients = {0};
    const int64_t n = r->model.row_ids;
    for (int64_t i = 0; i < n; ++i) {
        for (int c = 0; c < MOST; ++c) {
            x[i * in + (c < in ? c : 0)] = number_of(l, 0, r->id[i], c < in ? c : 0, step);
            dy[i * out + (c < out ? c : 0)] = number_of(l, 1, r->id[i], c < out ? c : 0, step);
        }
    }
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_F64, n, in, WEFT_MEM_WORKSPACE, &rows));
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_F64, n, out, WEFT_MEM_WORKSPACE, &gradients));
    WEFT_TRY(tensor_upload(&rows, x));
    WEFT_TRY(tensor_upload(&gradients, dy));
    const tap_rows told = {.block = r->map[l].block,
                           .transposed = shape[l].transposed,
                           .rows = shape[l].transposed ? out : in,
                           .cols = shape[l].transposed ? in : out,
                           .x = &rows,
                           .dy = &gradients};
    const weft_status status = tap->take(tap->self, pass, &told);
    tensor_destroy(&rows);
    tensor_destroy(&gradients);
    return status;
}

static weft_status go_on(weft_comm *comm, const second_options *options, place_rank *r)
{
    train_second *before = r->second;
    const sync_buffer *from = NULL, *to = NULL;
    int count = 0;
    WEFT_TRY(second_preconditioner(before)->state(before, &from, &count));
    WEFT_TRY(second_create(comm, &r->model, options, &r->second));
    WEFT_TRY(second_preconditioner(r->second)->state(r->second, &to, &count));
    for (int i = 0; i < count; ++i) {
        WEFT_CHECK(from[i].bytes == to[i].bytes, WEFT_ERR_INTERNAL, "another length");
        if (to[i].bytes > 0) {
            memcpy(to[i].data, from[i].data, (size_t)to[i].bytes);
        }
    }
    second_destroy(before);
    return second_preconditioner(r->second)->restored(r->second);
}

static weft_status run_step(place_case *c, place_rank *r, int rank, int step)
{
    const train_targets targets = {.loss_entries = ROWS};
    const train_batch batch = {.targets = &targets};
    const train_pass pass = {.training = true, .parts = 1, .batch = &batch};
    const train_tap *tap = second_tap(r->second);
    const train_preconditioner *turn = second_preconditioner(r->second);
    double gradient[ELEMENTS];
    c->elements = r->params.trained;
    WEFT_CHECK(r->params.trained <= ELEMENTS, WEFT_ERR_INTERNAL, "%lld elements", (long long)r->params.trained);
    for (int i = 0; i < ELEMENTS; ++i) {
        gradient[i] = cos(0.3 * i + step);
    }
    if (tap->wants(tap->self, &pass)) {
        for (int l = LAYERS - 1; l >= 0; --l) {
            WEFT_TRY(show_layer(r, l, step, &pass));
        }
    }
    weft_tensor grad = tensor_view(&r->params.grad, 0, 1, 0, r->params.trained);
    WEFT_TRY(tensor_upload(&grad, gradient));
    WEFT_TRY(turn->apply(turn->self, &r->params, 0.5));
    c->stepped_back[rank][step] = turn->figures(turn->self).stepped_back;
    return tensor_download(&grad, c->step[rank][step]);
}

/* ---- results that are late --------------------------------------------------------------------------------------- */

enum { INVERSION, TURN, LATE };
/* Processor seconds, which do not pass while the process is stopped; after them rank 1 waits for rank 0. */
static const double LATE_SECONDS_MAX = 5.0;

/* A method whose calls on rank 0 return no sooner than rank 1 has begun its last call of the first step. */
static struct {
    const second_method *method;
    second_method slow;
    int last[LATE];          /* calls of rank 1 in the first step */
    _Atomic int begun[LATE]; /* calls that rank 1 has begun */
} late;

static weft_status begin_call(const train_second *s, int call)
{
    const double until = clock_thread_seconds() + LATE_SECONDS_MAX;
    late.begun[call] += s->rank == 1;
    while (s->rank == 0 && late.begun[call] < late.last[call]) {
        WEFT_CHECK(clock_thread_seconds() < until, WEFT_ERR_INTERNAL, "rank 1 stands at its %s %d of %d",
                   call == TURN ? "turn" : "inversion", (int)late.begun[call], late.last[call]);
    }
    return WEFT_OK;
}

static weft_status invert_late(train_second *s, second_layer *layer, int side, bool *good)
{
    const weft_status status = begin_call(s, INVERSION);
    return status == WEFT_OK ? late.method->invert(s, layer, side, good) : status;
}

static weft_status turn_late(train_second *s, second_layer *layer)
{
    const weft_status status = begin_call(s, TURN);
    return status == WEFT_OK ? late.method->turn(s, layer) : status;
}

/* On rank 0, before any rank takes a step. */
static void prepare_late(const train_second *s)
{
    late.method = s->method;
    late.slow = *s->method;
    late.slow.invert = invert_late;
    late.slow.turn = turn_late;
    for (int i = 0; i < LATE; ++i) {
        late.last[i] = 0;
        late.begun[i] = 0;
    }
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        late.last[INVERSION] += (layer->side[SECOND_IN].inverts && layer->side[SECOND_IN].owner == 1) +
                                (layer->side[SECOND_OUT].inverts && layer->side[SECOND_OUT].owner == 1);
        late.last[TURN] += s->workers == s->ranks || layer->group == 1;
    }
}

static weft_status make_late(weft_comm *comm, train_second *s)
{
    if (comm_rank(comm) == 0) {
        prepare_late(s);
    }
    WEFT_TRY(comm_agree(comm, WEFT_OK));
    s->method = &late.slow;
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    place_case *c = argument;
    place_rank r = {.hal = NULL};
    const int rank = comm_rank(comm);
    const second_options options = options_of(c);
    WEFT_TRY(c->apart ? comm_imitate_nodes(comm, 1) : WEFT_OK);
    weft_status status = open_rank(comm, c, &r);
    status = status == WEFT_OK ? second_create(comm, &r.model, &options, &r.second) : status;
    status = status == WEFT_OK && c->late ? make_late(comm, r.second) : status;
    for (int s = 0; status == WEFT_OK && s < STEPS; ++s) {
        status = s > 0 && s == c->resumed_at ? go_on(comm, &options, &r) : WEFT_OK;
        status = status == WEFT_OK ? run_step(c, &r, rank, s) : status;
    }
    const second_ranks job = {.rank = rank, .ranks = c->ranks, .nodes = 1, .population = ROWS};
    status = status == WEFT_OK ? second_plan_bytes(&r.model, &options, &job, r.hal, &c->planned[rank], NULL) : status;
    if (status == WEFT_OK) {
        c->held[rank] = second_bytes(r.second);
        const train_preconditioner *turn = second_preconditioner(r.second);
        c->sent[rank] = comm_lane_stats(comm, COMM_LANE_FACTORS).bytes_sent + turn->figures(turn->self).group_bytes;
    }
    second_destroy(r.second);
    param_store_destroy(&r.params);
    weft_hal_close(r.hal);
    return status;
}

static place_case *run_case(second_kind kind, int ranks, const char *place, const char *backend, int resumed_at)
{
    place_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    *c = (place_case){.kind = kind, .backend = backend, .ranks = ranks, .resumed_at = resumed_at, .apart = true};
    assert_true(second_place_parse(place, &c->place));
    ASSERT_OK(comm_thread_run(ranks, run_rank, c));
    return c;
}

static const char *const places[] = {"everywhere", "comm-opt", "mem-opt", "hybrid"};

static void test_placements_have_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        const second_kind kind = i < 2 ? SECOND_INPUT : SECOND_KFAC;
        const char *backend = i % 2 == 0 ? "cpu" : "shadow";
        place_case *one = run_case(kind, 1, "everywhere", backend, 0);
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            place_case *all = run_case(kind, ranks, "everywhere", backend, 0);
            for (int p = 0; p < 4; ++p) {
                place_case *c = run_case(kind, ranks, places[p], backend, p % 2 == 0 ? 0 : 3);
                for (int r = 0; r < ranks; ++r) {
                    assert_true(c->held[r] > 0 && c->held[r] == c->planned[r]);
                    assert_memory_equal(c->step[r], all->step[0], sizeof c->step[r]);
                }
                free(c);
            }
            for (int s = 0; s < STEPS; ++s) {
                for (int e = 0; e < one->elements; ++e) {
                    assert_true(fabs(one->step[0][s][e] - all->step[0][s][e]) < 1e-9);
                }
            }
            free(all);
        }
        free(one);
    }
}

/* Rank 0 is late with everything, until rank 1 has begun all that it does itself: so no inversion waits for the inverse
 * of another layer, and no turned gradient for another direction. Bits are those of ranks that are on time. */
static void test_late_results_hold_up_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        place_case *on_time = run_case(SECOND_KFAC, 2, "everywhere", "cpu", 0), c = *on_time;
        c.late = true;
        assert_true(second_place_parse(i == 0 ? "comm-opt" : "mem-opt", &c.place));
        ASSERT_OK(comm_thread_run(2, run_rank, &c));
        assert_true(late.last[INVERSION] >= 2 && late.last[TURN] >= 2);
        assert_memory_equal(c.step, on_time->step, sizeof c.step);
        free(on_time);
    }
}

/* Bytes of all ranks on the lane of factors. Sums by rank order: each rank but the owner of a slice sends that slice,
 * and the owner sends the sum back: 2 (P - 1) times the vector. A broadcast to P ranks: P - 1 times the tensor. Groups
 * of W ranks: inverses to W - 1 ranks, and directions to P / W - 1 ranks from each of the W. */
static double bytes_of(const place_case *c)
{
    const int p = c->ranks;
    const bool both = c->kind == SECOND_KFAC;
    double constant = 0.0, recurring = 0.0, results = 0.0, once = 0.0, directions = 0.0;
    for (int l = 0; l < LAYERS; ++l) {
        const double n = shape[l].in + (shape[l].bias && shape[l].joined), out = shape[l].out;
        *(shape[l].constant ? &constant : &recurring) += n * (n + 1) / 2;
        recurring += out * (out + 1) / 2;
        *(shape[l].constant ? &once : &results) += (n + both) * n;
        results += both ? (out + 1) * out : 0.0;
        directions += n * out;
    }
    const double sums = 2.0 * (p - 1) * (constant + STEPS * recurring);
    const int workers = second_place_workers(&c->place, p);
    const int inversions = STEPS / 2;
    const double inverses = workers > 0 ? (workers - 1) * (once + inversions * results) : 0.0;
    const double steps = workers > 0 ? (p - workers) * STEPS * directions : 0.0;
    return (sums + inverses + steps) * sizeof(double);
}

static void test_bytes_are_a_closed_form(void **state)
{
    (void)state;
    for (int i = 0; i < 16; ++i) {
        place_case *c =
            run_case(i % 2 == 0 ? SECOND_INPUT : SECOND_KFAC, i / 8 == 0 ? 2 : 4, places[i / 2 % 4], "cpu", 0);
        double sent = 0.0;
        for (int r = 0; r < c->ranks; ++r) {
            sent += (double)c->sent[r];
        }
        if (sent != bytes_of(c)) {
            print_error("%s on %d ranks: %g bytes, not %g\n", places[i / 2 % 4], c->ranks, sent, bytes_of(c));
        }
        assert_true(sent == bytes_of(c));
        free(c);
    }
}

/* Without a limit that can be kept, the method steps back after the fourth step, the same on all ranks and for good:
 * the direction of a matrix is then the gradient times the number that is nearest to the inverse along the fourth
 * gradient. A run that goes on behind it has the same bits. */
static void test_overhead_makes_it_step_back(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        place_case *stays = run_case(SECOND_INPUT, 2, places[2 * i], "cpu", 0);
        place_case *c = calloc(2, sizeof *c);
        assert_non_null(c);
        for (int k = 0; k < 2; ++k) {
            c[k] = (place_case){
                .kind = SECOND_INPUT, .backend = "cpu", .ranks = 2, .resumed_at = 5 * k, .overhead = 1e-12};
            c[k].place = stays->place;
            ASSERT_OK(comm_thread_run(2, run_rank, &c[k]));
        }
        assert_memory_equal(c[0].step, c[1].step, sizeof c->step);
        assert_memory_equal(c->step[0], c->step[1], sizeof c->step[0]);
        assert_memory_equal(c->step[0], stays->step[0], 4 * sizeof c->step[0][0]);
        for (int s = 0; s < STEPS; ++s) {
            assert_true(c->stepped_back[0][s] == (s >= 3) && c->stepped_back[1][s] == (s >= 3));
            assert_false(stays->stepped_back[0][s]);
        }
        /* the first layer has weights [in, out] at the store's begin */
        const int count = shape[0].in * shape[0].out;
        double ratio = c->step[0][4][0] / cos(4.0);
        for (int e = 0; e < count; ++e) {
            assert_true(fabs(c->step[0][4][e] - ratio * cos(0.3 * e + 4)) < 1e-9);
            assert_true(fabs(stays->step[0][4][e] - c->step[0][4][e]) > 0.0);
        }
        free(stays);
        free(c);
    }
}

/* Numbers that a rank holds for a placement, from the shapes: `works` says which layers it turns. Only what differs
 * between placements. */
static void test_memory_follows_the_placement(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const second_kind kind = i == 0 ? SECOND_INPUT : SECOND_KFAC;
        place_case *all = run_case(kind, 4, "comm-opt", "cpu", 0), *one = run_case(kind, 4, "mem-opt", "cpu", 0);
        uint64_t sum = 0;
        for (int r = 0; r < 4; ++r) { /* every layer is turned by one rank */
            sum += all->held[r] - one->held[r];
        }
        uint64_t results = 0, directions = 0, most = 0;
        for (int l = 0; l < LAYERS; ++l) {
            const uint64_t n = (uint64_t)shape[l].in + (shape[l].bias && shape[l].joined), out = (uint64_t)shape[l].out;
            results += kind == SECOND_KFAC ? n * (n + 1) + out * (out + 1) + n * out : n * n;
            directions += n * out;
            most = n * out > most ? n * out : most;
        }
        const uint64_t saved = 3 * results, kept = 4 * (directions - most);
        /* kfac: intermediate matrices of ranks that turn nothing or invert little are smaller */
        assert_true(kind == SECOND_KFAC ? sum >= (saved - kept) * sizeof(double)
                                        : sum == (saved - kept) * sizeof(double));
        free(all);
        free(one);
    }
}

/* The predictions are of this machine; what must hold everywhere is their order. */
static weft_status price_rank(weft_comm *comm, void *argument)
{
    place_case *c = argument;
    place_rank r = {.hal = NULL};
    const second_rates rates = {.product = 1e11,
                                .gram = 5e10,
                                .cholesky = {1e9, 2e9, 4e9, 8e9},
                                .eigen = {1e8, 2e8, 4e8, 8e8},
                                .memory = 1e10,
                                .call = 1e-6};
    comm_model fast = comm_model_default(), slow = fast;
    fast.inter = (comm_link){.latency = 1e-9, .seconds_per_byte = 1e-15};
    slow.inter = (comm_link){.latency = 1e-2, .seconds_per_byte = 1e-3};
    WEFT_TRY(open_rank(comm, c, &r));
    for (int p = 0; p < 4; ++p) {
        second_options options = options_of(c);
        second_price price[3];
        WEFT_CHECK(second_place_parse(places[p], &options.place), WEFT_ERR_INTERNAL, "%s", places[p]);
        const second_ranks on[3] = {{.ranks = 1, .nodes = 1, .population = ROWS},
                                    {.ranks = 4, .nodes = 4, .population = ROWS},
                                    {.ranks = 4, .nodes = 4, .population = ROWS}};
        for (int i = 0; i < 3; ++i) {
            WEFT_TRY(second_price_of(&r.model, &options, &on[i], &rates, i == 2 ? &slow : &fast, &price[i]));
        }
        const bool shares = options.place.kind != SECOND_PLACE_EVERYWHERE;
        WEFT_CHECK(shares ? price[1].inversion < 0.5 * price[0].inversion : price[1].inversion == price[0].inversion,
                   WEFT_ERR_INTERNAL, "%s: inversions take %g s on 4 ranks, %g on one", places[p], price[1].inversion,
                   price[0].inversion);
        WEFT_CHECK(price[2].look == price[1].look && price[2].messages > price[1].messages &&
                       price[1].messages > price[0].messages && price[0].messages == 0.0,
                   WEFT_ERR_INTERNAL, "%s: a slow network is quick", places[p]);
        const double step = price[1].look + price[1].inversion / 2 + price[1].turn + price[1].messages;
        WEFT_CHECK(fabs(price[1].step - step) < 1e-12, WEFT_ERR_INTERNAL, "%s: %g s a step", places[p], price[1].step);
    }
    param_store_destroy(&r.params);
    weft_hal_close(r.hal);
    return WEFT_OK;
}

static void test_prices_have_their_order(void **state)
{
    (void)state;
    place_case c = {.kind = SECOND_KFAC, .backend = "cpu", .ranks = 1};
    ASSERT_OK(comm_thread_run(1, price_rank, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments_are_near_the_best), cmocka_unit_test(test_words_are_read),
        cmocka_unit_test(test_placements_have_the_same_bits), cmocka_unit_test(test_late_results_hold_up_nothing),
        cmocka_unit_test(test_bytes_are_a_closed_form),       cmocka_unit_test(test_overhead_makes_it_step_back),
        cmocka_unit_test(test_memory_follows_the_placement),  cmocka_unit_test(test_prices_have_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
