/*
 * gnn/data/generate/generator_forum.c: posts that are joined where one user has commented on both.
 *
 * A user of activity k comments on k posts, most of them of the user's own community, and joins all pairs of them: the
 * graph is a projection of users x posts, made of cliques that overlap, as graphs of posts, products and casts are.
 * Activities follow a power law, the popularity of posts is log-normal. Draws are numbered user by user, busiest first
 *
 *   | user 0: (1 0) (2 0) (2 1) (3 0) ... | user 1: ... |
 *
 * and each is a pure function of its number. Repeated pairs, of which popular posts have many, are left out later.
 * Memory: 24 bytes a vertex and 12 a user.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "gnn/data/generate/generator_parts.h"
#include "hal/hal.h"

enum { LEAST_ACTIVITY = 2, QUANTILES = 1 << 14 };

struct forum_model {
    int64_t n, k, users;
    uint64_t seed;
    uint32_t home_below; /* of a word: the post is of the user's community */
    double exponent, most;
    int64_t *draw;   /* [users + 1] first draw of each user */
    alias_slot *in;  /* [n] by position, one table a community */
    alias_slot *out; /* [n] over all positions */
    int32_t *order;  /* [n] vertex id of each position */
};

/* Activity above which a share `above` of the users are. */
static int64_t activity_of(const forum_model *model, double above)
{
    const double power = model->exponent - 1.0;
    const double least = pow(LEAST_ACTIVITY, -power), most = pow(model->most + 1.0, -power);
    const double k = floor(pow(most + above * (least - most), -1.0 / power));
    return (int64_t)fmin(fmax(k, LEAST_ACTIVITY), model->most);
}

static int64_t pairs_of(int64_t activity)
{
    return activity * (activity - 1) / 2;
}

/* Users that make `pairs` pairs. */
static int64_t users_for(const forum_model *model, double pairs)
{
    double mean = 0.0;
    for (int i = 0; i < QUANTILES; ++i) {
        mean += (double)pairs_of(activity_of(model, (i + 0.5) / QUANTILES)) / QUANTILES;
    }
    return (int64_t)fmax(ceil(pairs / mean), 1.0);
}

/* The positions of a community. */
static hal_span span_of(const forum_model *model, int64_t community)
{
    return hal_split_rows(model->n, (int)model->k, (int)community);
}

/* Popularity of posts, and the vertices behind positions. */
static weft_status place_posts(const generator_spec *spec, int threads, forum_model *model, int32_t *group)
{
    weft_status status = WEFT_OK;
    double *weight = NULL;
    const permutation order = permutation_make((uint64_t)model->n, model->seed, GENERATOR_RNG_ID, 0);
    WEFT_TRY(WEFT_NEW(&weight, model->n, WEFT_MEM_WORKSPACE));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < model->n; ++p) {
        const philox_block block = philox4x32(philox_counter(1, (uint64_t)p, GENERATOR_RNG_ID, 0), model->seed);
        const double radius = sqrt(-2.0 * log(1.0 - (double)philox_uniform(block.word[0])));
        weight[p] = exp(spec->sigma * radius * cos(2.0 * M_PI * (double)philox_uniform(block.word[1])));
        model->order[p] = spec->sorted != 0 ? (int32_t)p : (int32_t)permute(&order, (uint64_t)p);
    }
    WEFT_TRY_GOTO(generator_alias_build(weight, model->n, model->out), status, done);
    for (int64_t c = 0; c < model->k; ++c) {
        const hal_span own = span_of(model, c);
        WEFT_TRY_GOTO(generator_alias_build(weight + own.begin, own.end - own.begin, model->in + own.begin), status,
                      done);
        for (int64_t p = own.begin; p < own.end; ++p) {
            group[model->order[p]] = (int32_t)c;
        }
    }
done:
    weft_free(weight);
    return status;
}

static void number_draws(forum_model *model)
{
    int64_t first = 0;
    for (int64_t user = 0; user < model->users; ++user) {
        model->draw[user] = first;
        first += pairs_of(activity_of(model, ((double)user + 0.5) / (double)model->users));
    }
    model->draw[model->users] = first;
}

weft_status forum_model_create(const generator_spec *spec, int threads, forum_model **out, int32_t *group)
{
    weft_status status = WEFT_OK;
    forum_model *model = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&model, 1, WEFT_MEM_WORKSPACE));
    model->n = (int64_t)spec->vertices;
    model->k = (int64_t)spec->communities;
    model->seed = (uint64_t)spec->seed;
    model->home_below = (uint32_t)fmin(spec->p_in * 4294967296.0, 4294967295.0);
    model->exponent = spec->exponent;
    model->most = fmax(spec->max_degree, LEAST_ACTIVITY);
    model->users = users_for(model, spec->edges / 2);
    WEFT_TRY_GOTO(WEFT_NEW(&model->draw, model->users + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&model->in, model->n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&model->out, model->n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&model->order, model->n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(place_posts(spec, threads, model, group), status, done);
    number_draws(model);
    *out = model;
    model = NULL;
done:
    forum_model_destroy(model);
    return status;
}

void forum_model_destroy(forum_model *model)
{
    if (model != NULL) {
        WEFT_FREE_ALL(model->draw, model->in, model->out, model->order, model);
    }
}

/* The vertex of a user's i-th comment. */
static int32_t post_of(const forum_model *model, int64_t user, int64_t i)
{
    const philox_block b = philox4x32(philox_counter((uint32_t)i, (uint64_t)user, GENERATOR_RNG_EDGE, 0), model->seed);
    if (b.word[2] >= model->home_below) {
        return model->order[generator_alias_draw(model->out, model->n, b.word[0], b.word[1])];
    }
    const hal_span own = span_of(model, user % model->k);
    const alias_slot *in = model->in + own.begin;
    return model->order[own.begin + generator_alias_draw(in, own.end - own.begin, b.word[0], b.word[1])];
}

/* The last user whose draws begin at or before this one. */
static int64_t user_of(const forum_model *model, int64_t draw)
{
    int64_t user = 0;
    SEARCH_FIRST(user, model->users - 1, model->draw[at + 1] <= draw);
    return user;
}

static int forum_draw(const void *self, int64_t first, int count, edge_pair *pairs)
{
    const forum_model *model = self;
    const int64_t end = first + count;
    int64_t user = user_of(model, first);
    int made = 0;
    while (first < end) {
        const int64_t last = model->draw[user + 1] < end ? model->draw[user + 1] : end;
        int64_t pair = first - model->draw[user];
        int64_t i = (int64_t)((1.0 + sqrt(1.0 + 8.0 * (double)pair)) / 2.0); /* exact: pairs of a user are below 2^50 */
        while (first < last) {
            const int32_t u = post_of(model, user, i);
            for (int64_t j = pair - pairs_of(i); j < i && first < last; ++j, ++pair, ++first) {
                const int32_t v = post_of(model, user, j);
                if (u != v) {
                    pairs[made++] = (edge_pair){u, v};
                }
            }
            ++i;
        }
        ++user;
    }
    return made;
}

edge_stream forum_model_stream(const forum_model *model)
{
    return (edge_stream){.draws = model->draw[model->users], .draw = forum_draw, .self = model};
}
