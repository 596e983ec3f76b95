/*
 * comm/coll/table.c: the table of all-reduce algorithms and the choice among them: the shortest critical path, timed
 * (comm/core/timings.h) or predicted (comm/core/cost.h).
 */
#include "comm/coll/shared.h"
#include "comm/core/comm_internal.h"

static const coll_algorithm *const algorithms[] = {&allreduce_recursive_doubling,
                                                   &allreduce_halving_doubling,
                                                   &allreduce_ring,
                                                   &allreduce_fixed_order,
                                                   &allreduce_shared,
                                                   &allreduce_two_level,
                                                   &allreduce_master};

enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

const coll_algorithm *coll_algorithm_of(comm_algorithm id)
{
    for (int i = 0; i < ALGORITHMS; ++i) {
        if (algorithms[i]->id == id) {
            return algorithms[i];
        }
    }
    return NULL;
}

const char *comm_algorithm_name(comm_algorithm algorithm)
{
    const coll_algorithm *found = coll_algorithm_of(algorithm);
    return found != NULL ? found->name : algorithm == COMM_ALGO_AUTO ? "auto" : "unknown";
}

static double predicted(const coll_algorithm *algorithm, const coll_place *place, int64_t count, int64_t element)
{
    const comm_model fixed = comm_model_default();
    comm_cost cost = algorithm->cost(place, count, element);
    return comm_model_seconds(place->model != NULL ? place->model : &fixed, &cost);
}

double coll_seconds(const coll_algorithm *algorithm, const coll_place *place, int64_t count, int64_t element)
{
    const bool node = place->layout != NULL && place->layout->nodes == 1 && place->wire == COMM_WIRE_SAME;
    const int64_t bytes = count * element;
    double seconds = 0.0;
    int64_t at = 0;
    if (count <= 0 || !node || place->model == NULL || place->model->timed.ranks != place->size ||
        !timings_find(&place->model->timed, algorithm->id, bytes, &seconds, &at)) {
        return predicted(algorithm, place, count, element);
    }
    if (at == bytes) {
        return seconds;
    }
    const int64_t timed_count = at / element > 0 ? at / element : 1;
    return seconds * predicted(algorithm, place, count, element) / predicted(algorithm, place, timed_count, element);
}

bool coll_eligible(const coll_algorithm *algorithm, const coll_place *place)
{
    bool networked = place->layout == NULL || place->layout->nodes > 1;
    bool halves = place->half != COMM_WHOLE;
    if (algorithm->asked_only || (halves && algorithm->owned == NULL) ||
        (place->wire != COMM_WIRE_SAME && !algorithm->encodes)) {
        return false;
    }
    if (algorithm->one_node) {
        return place->shared_memory && place->layout != NULL && coll_shared_possible(place->layout, place->size);
    }
    return !algorithm->hierarchy || networked || (halves && place->shared_memory);
}

const coll_algorithm *coll_choose_form(const coll_place *place, int64_t count, int64_t element)
{
    coll_place whole = *place;
    const coll_algorithm *best = NULL;
    double best_seconds = 0.0;
    whole.rank = 0;
    whole.half = COMM_WHOLE;
    for (int i = 0; i < ALGORITHMS; ++i) {
        const coll_algorithm *algorithm = algorithms[i];
        if (!coll_eligible(algorithm, place)) {
            continue;
        }
        double seconds = coll_seconds(algorithm, &whole, count, element);
        if (best == NULL || seconds < best_seconds) {
            best = algorithm;
            best_seconds = seconds;
        }
    }
    return best;
}

const coll_algorithm *coll_choose(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                  weft_dtype dtype)
{
    const coll_place place = {.size = size, .layout = layout, .model = model, .shared_memory = true};
    return coll_choose_form(&place, count, (int64_t)weft_dtype_bytes(dtype));
}

const coll_algorithm *coll_choose_inner(const coll_place *place, int groups, int64_t count, int64_t element)
{
    static const comm_algorithm flat[] = {COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_HALVING_DOUBLING, COMM_ALGO_RING};
    const coll_algorithm *best = NULL;
    double best_seconds = 0.0;
    if (place->wire != COMM_WIRE_SAME) {
        return coll_algorithm_of(COMM_ALGO_FIXED_ORDER);
    }
    coll_place whole = *place;
    whole.rank = 0;
    whole.half = COMM_WHOLE;
    for (size_t i = 0; i < sizeof flat / sizeof flat[0]; ++i) {
        const coll_algorithm *algorithm = coll_algorithm_of(flat[i]);
        /* The groups share each node's link: as one vector of all their elements. */
        double seconds = coll_seconds(algorithm, &whole, groups * count, element);
        if (best == NULL || seconds < best_seconds) {
            best = algorithm;
            best_seconds = seconds;
        }
    }
    bool split = place->half != COMM_WHOLE && best->owned == NULL;
    return split ? coll_algorithm_of(COMM_ALGO_HALVING_DOUBLING) : best;
}

coll_allreduce coll_arguments(const weft_comm *comm, void *buffer, int64_t count, weft_dtype dtype, comm_op op)
{
    return (coll_allreduce){.rank = comm_rank(comm),
                            .size = comm_size(comm),
                            .buffer = buffer,
                            .count = count,
                            .dtype = dtype,
                            .op = op,
                            .layout = comm_get_layout(comm),
                            .model = comm_get_model(comm),
                            .shared_memory = !comm->messages_only};
}

coll_place coll_place_of(const coll_allreduce *args)
{
    return (coll_place){.rank = args->rank,
                        .size = args->size,
                        .layout = args->layout,
                        .model = args->model,
                        .wire = args->wire,
                        .half = args->half,
                        .shared_memory = args->shared_memory};
}

static weft_status run_merge(void *argument, uint64_t post)
{
    const coll_merge *merge = argument;
    (void)post;
    merge->fn(merge->into, merge->other, merge->bytes);
    return WEFT_OK;
}

void coll_reduce(comm_schedule *s, const coll_allreduce *args, const void *left, const void *right)
{
    if (args->merge == NULL) {
        schedule_reduce(s, args->dtype, args->op, args->buffer, left, right, args->count);
        return;
    }
    args->merge->into = args->buffer;
    args->merge->other = left == args->buffer ? right : left;
    args->merge->bytes = coll_vector_bytes(args);
    schedule_call(s, run_merge, args->merge);
}

void coll_build(comm_schedule *s, const coll_algorithm *algorithm, coll_allreduce *args)
{
    if (args->count == 0 || args->size == 1) {
        return;
    }
    if (algorithm->scratch != NULL) {
        void *scratch = NULL;
        int64_t bytes = algorithm->scratch(args);
        schedule_scratch(s, bytes > 0 ? bytes : 1, &scratch);
        args->scratch = scratch;
    }
    if (s->build_status == WEFT_OK) {
        algorithm->build(s, args);
    }
}
