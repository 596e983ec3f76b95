/*
 * gnn/data/generate/generator_community.c: the block model as a stream of edge draws.
 *
 * Vertices are placed by position: community c holds a run of positions, and the r-th largest degree of the whole graph
 * goes to community r mod k, so that all communities have one size and one mix of degrees. Draws are numbered
 *
 *   | inside community 0 | inside 1 | ... | inside k - 1 | between communities |
 *
 * Inside c, W^2 / 2 draws (W = sum of its inside weights) pick both ends by an alias table over its members: a pair
 * gets Poisson(w_u w_v) draws. Between communities the table spans all vertices, and draws that fall into one
 * community, like self-loops, give nothing, which leaves the other pairs' rates as they are. Each draw is one Philox
 * block. Memory: 24 bytes a vertex.
 */
#include <math.h>

#include "base/alloc.h"
#include "gnn/data/generate/generator_parts.h"

#include "base/integer/search.h"

struct community_model {
    int64_t n, k;
    uint64_t seed;
    int64_t *start;  /* [k + 1] first position of each community */
    int64_t *draw;   /* [k + 2] first draw of each community, then of those in between, then the end */
    alias_slot *in;  /* [n] one table a community, over its members */
    alias_slot *out; /* [n] over all positions */
    int32_t *order;  /* [n] vertex id of each position */
    int32_t *group;  /* [n] community of each position */
};

static int64_t community_of_position(const int64_t *start, int64_t k, int64_t position)
{
    int64_t community = 0;
    SEARCH_FIRST(community, k - 1, start[at + 1] <= position);
    return community;
}

/* Give the vertices, in order of falling degree, to the communities in turn. weight_in, weight_out: by position. */
static void deal_vertices(const generator_levels *levels, community_model *model, double *weight_in, double *weight_out)
{
    int level = 0;
    int64_t level_end = levels->count[0];
    model->start[0] = 0;
    for (int64_t c = 0; c < model->k; ++c) {
        model->start[c + 1] = model->start[c] + (model->n - c + model->k - 1) / model->k;
    }
    for (int64_t rank = 0; rank < model->n; ++rank) {
        while (rank >= level_end) {
            level_end += levels->count[++level];
        }
        int64_t c = rank % model->k, position = model->start[c] + rank / model->k;
        weight_in[position] = levels->inside[level];
        weight_out[position] = levels->outside[level];
        model->group[position] = (int32_t)c;
    }
}

static double sum_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += x[i];
    }
    return sum;
}

static weft_status build_tables(community_model *model, const double *weight_in, const double *weight_out)
{
    int64_t first = 0;
    for (int64_t c = 0; c < model->k; ++c) {
        int64_t begin = model->start[c], size = model->start[c + 1] - begin;
        double sum = sum_of(weight_in + begin, size);
        model->draw[c] = first;
        first += (int64_t)llround(sum * sum / 2);
        WEFT_TRY(generator_alias_build(weight_in + begin, size, model->in + begin));
    }
    double sum = sum_of(weight_out, model->n);
    model->draw[model->k] = first;
    model->draw[model->k + 1] = first + (int64_t)llround(sum * sum / 2);
    return generator_alias_build(weight_out, model->n, model->out);
}

static weft_status model_allocate(community_model *model)
{
    WEFT_TRY(WEFT_NEW(&model->start, model->k + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&model->draw, model->k + 2, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&model->in, model->n, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&model->out, model->n, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&model->order, model->n, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&model->group, model->n, WEFT_MEM_WORKSPACE);
}

static void name_vertices(const generator_spec *spec, int threads, community_model *model, int32_t *group)
{
    permutation order = permutation_make((uint64_t)model->n, model->seed, GENERATOR_RNG_ID, 0);
    bool sorted = spec->sorted != 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t position = 0; position < model->n; ++position) {
        int64_t id = sorted ? position : (int64_t)permute(&order, (uint64_t)position);
        model->order[position] = (int32_t)id;
        group[id] = model->group[position];
    }
}

weft_status community_model_create(const generator_spec *spec, int threads, community_model **out, int32_t *group)
{
    weft_status status;
    generator_levels levels;
    double *weight_in = NULL, *weight_out = NULL;
    community_model *model = NULL;
    *out = NULL;
    generator_levels_solve(spec, &levels);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&model, 1, WEFT_MEM_WORKSPACE), status, done);
    model->n = (int64_t)spec->vertices;
    model->k = (int64_t)spec->communities;
    model->seed = (uint64_t)spec->seed;
    WEFT_TRY_GOTO(model_allocate(model), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&weight_in, model->n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&weight_out, model->n, WEFT_MEM_WORKSPACE), status, done);
    deal_vertices(&levels, model, weight_in, weight_out);
    WEFT_TRY_GOTO(build_tables(model, weight_in, weight_out), status, done);
    name_vertices(spec, threads, model, group);
    *out = model;
    model = NULL;

done:
    WEFT_FREE_ALL(weight_in, weight_out);
    community_model_destroy(model);
    return status;
}

void community_model_destroy(community_model *model)
{
    if (model == NULL) {
        return;
    }
    WEFT_FREE_ALL(model->start, model->draw, model->in, model->out, model->order, model->group, model);
}

/* Draws [first, end) of one table over `size` positions from `begin`; `between`: both ends in one community give
 * nothing. */
static int draw_run(const community_model *model, const alias_slot *table, int64_t begin, int64_t size, bool between,
                    int64_t first, int64_t end, edge_pair *pairs)
{
    int made = 0;
    for (int64_t e = first; e < end; ++e) {
        philox_block block = philox4x32(philox_counter(0, (uint64_t)e, GENERATOR_RNG_EDGE, 0), model->seed);
        int64_t u = begin + generator_alias_draw(table, size, block.word[0], block.word[1]);
        int64_t v = begin + generator_alias_draw(table, size, block.word[2], block.word[3]);
        if (u == v || (between && model->group[u] == model->group[v])) {
            continue;
        }
        pairs[made++] = (edge_pair){model->order[u], model->order[v]};
    }
    return made;
}

static int community_draw(const void *self, int64_t first, int count, edge_pair *pairs)
{
    const community_model *model = self;
    int made = 0;
    int64_t end = first + count;
    int64_t run = community_of_position(model->draw, model->k + 1, first);
    while (first < end) {
        int64_t run_end = model->draw[run + 1] < end ? model->draw[run + 1] : end;
        if (run == model->k) {
            made += draw_run(model, model->out, 0, model->n, true, first, run_end, pairs + made);
        } else {
            int64_t begin = model->start[run], size = model->start[run + 1] - begin;
            made += draw_run(model, model->in + begin, begin, size, false, first, run_end, pairs + made);
        }
        first = run_end > first ? run_end : first;
        ++run;
    }
    return made;
}

edge_stream community_model_stream(const community_model *model)
{
    return (edge_stream){.draws = model->draw[model->k + 1], .draw = community_draw, .self = model};
}
