/* partition/cover/cover.c: see partition/cover/cover.h. */
#include "partition/cover/cover.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/cover/cover_sides.h"
#include "partition/cover/matching.h"
#include "partition/partition.h"
#include "partition/shares.h"

typedef struct cut_pair {
    int32_t pair; /* index in the pair list */
    int32_t low;  /* its smaller vertex */
} cut_pair;

/* One thread's arrays, sized for the largest bucket. */
typedef struct cover_work {
    int32_t *place;                      /* [vertices] place on its side, or -1 */
    int32_t *left_vertex, *right_vertex; /* [sides] who has that place */
    int64_t *offset;                     /* [sides + 1] */
    int32_t *adjacent;                   /* [edges] */
    matching_work matching;
    uint8_t *covered_left, *covered_right; /* [sides] */
} cover_work;

typedef struct cover_state {
    const pair_list *list;
    const uint16_t *node_part;
    int parts;
    const double *share; /* [parts], or NULL */
    int64_t buckets;     /* one for each two parts, numbered by cover_cut */
    cover_offer *offer;  /* [buckets] */
    int64_t *inner;      /* [parts] pairs inside */
    int64_t *first;      /* [buckets + 1] */
    cut_pair *cut;       /* [first[buckets]] */
    int64_t *by_size;    /* [buckets] largest first: big ones start early */
    uint16_t *pair_part; /* PARTITION_NO_PART: both ends are covered */
    cover_work *work;    /* [workers] */
    int workers;
} cover_state;

/* Place inner pairs, sort cut pairs by their two parts. */
static weft_status fill_buckets(cover_state *state)
{
    const pair_list *list = state->list;
    WEFT_TRY(WEFT_NEW_ZERO(&state->first, state->buckets + 1, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->inner, state->parts, WEFT_MEM_PARTITION));
    for (int64_t u = 0; u < list->vertices; ++u) {
        int i = state->node_part[u];
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            int j = state->node_part[list->other[e]];
            assert(i < state->parts && j < state->parts);
            if (i != j) {
                ++state->first[cover_cut(i, j) + 1];
            } else {
                ++state->inner[i];
            }
            state->pair_part[e] = (uint16_t)i;
        }
    }
    for (int64_t b = 0; b < state->buckets; ++b) {
        state->first[b + 1] += state->first[b];
    }
    WEFT_TRY(WEFT_NEW(&state->cut, state->first[state->buckets], WEFT_MEM_PARTITION));
    for (int64_t u = 0; u < list->vertices; ++u) {
        int i = state->node_part[u];
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            int j = state->node_part[list->other[e]];
            if (i != j) {
                state->cut[state->first[cover_cut(i, j)]++] = (cut_pair){.pair = (int32_t)e, .low = (int32_t)u};
            }
        }
    }
    memmove(state->first + 1, state->first, (size_t)state->buckets * sizeof state->first[0]);
    state->first[0] = 0;
    return WEFT_OK;
}

typedef struct sized_bucket {
    int64_t bucket, size;
} sized_bucket;

static int larger_first(const void *a, const void *b)
{
    const sized_bucket *x = a, *y = b;
    if (x->size != y->size) {
        return x->size < y->size ? 1 : -1;
    }
    return x->bucket < y->bucket ? -1 : 1;
}

static weft_status order_buckets(cover_state *state)
{
    sized_bucket *sized = NULL;
    WEFT_TRY(WEFT_NEW(&state->by_size, state->buckets, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&sized, state->buckets, WEFT_MEM_PARTITION));
    for (int64_t b = 0; b < state->buckets; ++b) {
        sized[b] = (sized_bucket){.bucket = b, .size = state->first[b + 1] - state->first[b]};
    }
    qsort(sized, (size_t)state->buckets, sizeof sized[0], larger_first);
    for (int64_t b = 0; b < state->buckets; ++b) {
        state->by_size[b] = sized[b].bucket;
    }
    weft_free(sized);
    return WEFT_OK;
}

static weft_status work_create(int64_t vertices, int64_t edges, cover_work *work)
{
    int64_t sides = vertices < edges ? vertices : edges;
    WEFT_TRY(WEFT_NEW(&work->place, vertices, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->left_vertex, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->right_vertex, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->offset, sides + 1, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->adjacent, edges, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->matching.left_match, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->matching.right_match, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->matching.level, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->matching.queue, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->matching.next, sides + 1, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->covered_left, sides, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&work->covered_right, sides, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < vertices; ++v) {
        work->place[v] = -1;
    }
    return WEFT_OK;
}

static void work_free(cover_work *work)
{
    WEFT_FREE_ALL(work->place, work->left_vertex, work->right_vertex, work->offset, work->adjacent,
                  work->matching.left_match, work->matching.right_match, work->matching.level, work->matching.queue,
                  work->matching.next, work->covered_left, work->covered_right);
}

/* The ends of a cut pair: left lies in the smaller part. */
static void ends_of(const cover_state *state, const cut_pair *cut, int64_t *left, int64_t *right)
{
    int64_t u = cut->low, v = state->list->other[cut->pair];
    bool straight = state->node_part[u] < state->node_part[v];
    *left = straight ? u : v;
    *right = straight ? v : u;
}

static int32_t place_of(cover_work *work, int64_t v, int32_t *vertex, int32_t *count)
{
    if (work->place[v] < 0) {
        vertex[*count] = (int32_t)v;
        work->place[v] = (*count)++;
    }
    return work->place[v];
}

/* The bucket as a bipartite graph. */
static bipartite build_sides(const cover_state *state, int64_t bucket, cover_work *work)
{
    bipartite graph = {.offset = work->offset, .adjacent = work->adjacent};
    int64_t left = 0, right = 0, begin = state->first[bucket], end = state->first[bucket + 1];
    work->offset[0] = 0;
    for (int64_t c = begin; c < end; ++c) {
        ends_of(state, &state->cut[c], &left, &right);
        int32_t known = graph.left, l = place_of(work, left, work->left_vertex, &graph.left);
        if (l == known) {
            work->offset[l + 1] = 0;
        }
        ++work->offset[l + 1];
        place_of(work, right, work->right_vertex, &graph.right);
    }
    for (int32_t l = 0; l < graph.left; ++l) {
        work->offset[l + 1] += work->offset[l];
        work->matching.next[l] = work->offset[l];
    }
    for (int64_t c = begin; c < end; ++c) {
        ends_of(state, &state->cut[c], &left, &right);
        work->adjacent[work->matching.next[work->place[left]]++] = work->place[right];
    }
    return graph;
}

static void solve_bucket(const cover_state *state, int64_t bucket, cover_work *work)
{
    bipartite graph = build_sides(state, bucket, work);
    int64_t size = matching_cover(&graph, &work->matching, work->covered_left, work->covered_right);
    int64_t pairs = state->first[bucket + 1] - state->first[bucket], lefts = 0, in_low = 0, in_high = 0;
    for (int64_t c = state->first[bucket]; c < state->first[bucket + 1]; ++c) {
        int64_t left = 0, right = 0;
        ends_of(state, &state->cut[c], &left, &right);
        bool has_left = work->covered_left[work->place[left]] != 0;
        bool has_right = work->covered_right[work->place[right]] != 0;
        uint16_t part = has_left ? state->node_part[right] : state->node_part[left];
        state->pair_part[state->cut[c].pair] = has_left && has_right ? PARTITION_NO_PART : part;
        in_low += has_right && !has_left ? 1 : 0;
        in_high += has_left && !has_right ? 1 : 0;
    }
    for (int32_t l = 0; l < graph.left; ++l) {
        lefts += work->covered_left[l];
    }
    int64_t free_pairs = pairs - in_low - in_high;
    state->offer[bucket] = (cover_offer){
        .low_replicas = {size - lefts, graph.right, 0},
        .high_replicas = {lefts, 0, graph.left},
        .low_pairs = {in_low + free_pairs / 2, pairs, 0},
        .high_pairs = {in_high + free_pairs - free_pairs / 2, 0, pairs},
    };
    for (int32_t l = 0; l < graph.left; ++l) {
        work->place[work->left_vertex[l]] = -1;
    }
    for (int32_t r = 0; r < graph.right; ++r) {
        work->place[work->right_vertex[r]] = -1;
    }
}

static weft_status solve_buckets(cover_state *state, int threads)
{
    int64_t largest = state->first[state->by_size[0] + 1] - state->first[state->by_size[0]];
    state->workers = threads < state->buckets ? threads : (int)state->buckets;
    WEFT_TRY(WEFT_NEW_ZERO(&state->work, state->workers, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->offer, state->buckets, WEFT_MEM_PARTITION));
    for (int w = 0; w < state->workers; ++w) {
        WEFT_TRY(work_create(state->list->vertices, largest, &state->work[w]));
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->workers)
    for (int64_t i = 0; i < state->buckets; ++i) {
        solve_bucket(state, state->by_size[i], &state->work[omp_get_thread_num()]);
    }
    return WEFT_OK;
}

/* Where a cut goes to one side as a whole, say so in its pairs. */
static weft_status place_cuts(const cover_state *state)
{
    weft_status status = WEFT_OK;
    const pair_list *list = state->list;
    int64_t *vertices = NULL, *pairs = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&vertices, state->parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&pairs, state->parts, WEFT_MEM_PARTITION), status, done);
    memcpy(pairs, state->inner, (size_t)state->parts * sizeof pairs[0]);
    for (int64_t v = 0; v < list->vertices; ++v) {
        ++vertices[state->node_part[v]];
    }
    cover_choose_sides(state->parts, state->share, vertices, pairs, state->offer);
    for (int64_t b = 0; b < state->buckets; ++b) {
        cover_side side = state->offer[b].side;
        for (int64_t c = state->first[b]; side != SIDE_COVER && c < state->first[b + 1]; ++c) {
            int64_t left = 0, right = 0;
            ends_of(state, &state->cut[c], &left, &right);
            state->pair_part[state->cut[c].pair] = state->node_part[side == SIDE_LOW ? left : right];
        }
    }
done:
    WEFT_FREE_ALL(pairs, vertices);
    return status;
}

/* Pairs of a part as if parts were equal. */
static double evenly(const cover_state *state, const int64_t *load, int part)
{
    return shares_even(state->share, state->parts, part, (double)load[part]);
}

/* Edges with both ends covered cost nothing on either side: in order, each to the lighter one. */
static weft_status place_free_pairs(const cover_state *state)
{
    int64_t *load = NULL;
    const pair_list *list = state->list;
    WEFT_TRY(WEFT_NEW_ZERO(&load, state->parts, WEFT_MEM_PARTITION));
    for (int64_t e = 0; e < list->pairs; ++e) {
        if (state->pair_part[e] != PARTITION_NO_PART) {
            ++load[state->pair_part[e]];
        }
    }
    for (int64_t c = 0; c < state->first[state->buckets]; ++c) {
        int64_t pair = state->cut[c].pair;
        if (state->pair_part[pair] == PARTITION_NO_PART) {
            uint16_t i = state->node_part[state->cut[c].low], j = state->node_part[list->other[pair]];
            state->pair_part[pair] = evenly(state, load, i) <= evenly(state, load, j) ? i : j;
            ++load[state->pair_part[pair]];
        }
    }
    weft_free(load);
    return WEFT_OK;
}

weft_status cover_assign(const pair_list *list, const uint16_t *node_part, int parts, const double *share, int threads,
                         uint16_t *pair_part)
{
    weft_status status = WEFT_OK;
    cover_state state = {.list = list,
                         .node_part = node_part,
                         .parts = parts,
                         .share = share,
                         .buckets = (int64_t)parts * (parts - 1) / 2,
                         .pair_part = pair_part};
    WEFT_CHECK(list->pairs <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "%lld pairs: the vertex cover takes fewer than 2^31",
               (long long)list->pairs);
    WEFT_TRY_GOTO(fill_buckets(&state), status, done);
    if (state.first[state.buckets] > 0) {
        WEFT_TRY_GOTO(order_buckets(&state), status, done);
        WEFT_TRY_GOTO(solve_buckets(&state, threads), status, done);
        WEFT_TRY_GOTO(place_cuts(&state), status, done);
        status = place_free_pairs(&state);
    }
done:
    for (int w = 0; state.work != NULL && w < state.workers; ++w) {
        work_free(&state.work[w]);
    }
    WEFT_FREE_ALL(state.work, state.offer, state.inner, state.by_size, state.cut, state.first);
    return status;
}
