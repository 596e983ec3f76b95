/*
 * partition/extract/extract.c: cut one part out of the graph.
 *
 *   1. scan    one pass over edge_part and the sources marks: local sources and destinations, and for each owned vertex
 *              the other parts that hold it as a source or as a destination; or that is looked up (holders.c)
 *   2. number  owned vertices first, with PART_SHARED_FIRST those that other parts hold before the others, then
 *              replicas by the part of their root; inside a group by `order` or global id
 *   3. rows    local CSR, sources mapped to local ids and sorted in each row, weights with them (rows.c)
 *   4. halo    the lists of rows shared with each peer. Both sides list a pair's rows in the same order because both
 *              follow `order` (or the global id) inside a group
 *
 * Temporary memory: n / 2 bytes of bit sets, owned x parts / 4 bytes of peer marks, and 4 n bytes when `order` is
 * given. One part (parts == 1): copies of offset and source, renumbered when `order` is given.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/extract/extract_state.h"

static bool is_shared(const extract_state *state, int64_t v)
{
    const int64_t at = vertex_set_place(&state->own, v) * state->words;
    uint64_t peers = 0;
    for (int w = 0; w < state->words; ++w) {
        peers |= state->peer_source[at + w] | state->peer_target[at + w];
    }
    return peers != 0;
}

static int group_of(const extract_state *state, int64_t v)
{
    const int root = root_of(state, v);
    if (root != state->part->part) {
        return REPLICAS + root;
    }
    return state->part->layout == PART_IN_ORDER || is_shared(state, v) ? SHARED : UNSHARED;
}

static weft_status find_held(extract_state *state)
{
    WEFT_TRY(vertex_set_create(state->graph->vertices, &state->held));
    for (int64_t w = 0; w < vertex_set_words(state->graph->vertices); ++w) {
        state->held.bits[w] = state->own.bits[w] | state->source.bits[w] | state->target.bits[w];
    }
    state->part->n_local = vertex_set_rank(&state->held);
    WEFT_CHECK(state->part->n_local <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "part %d would hold %lld vertices, a part can have up to 2^31 - 1: use more parts", state->part->part,
               (long long)state->part->n_local);
    return WEFT_OK;
}

/* order is somebody's array: it must be a permutation, or the walk below would miss vertices. */
static weft_status invert_order(extract_state *state, const int32_t *order)
{
    int64_t n = state->graph->vertices;
    WEFT_TRY(WEFT_NEW(&state->by_order, n, WEFT_MEM_GRAPH));
    for (int64_t v = 0; v < n; ++v) {
        state->by_order[v] = -1;
    }
    for (int64_t v = 0; v < n; ++v) {
        WEFT_CHECK(order[v] >= 0 && order[v] < n && state->by_order[order[v]] < 0, WEFT_ERR_INTERNAL,
                   "vertex order: position %d of vertex %lld is taken or not below %lld", order[v], (long long)v,
                   (long long)n);
        state->by_order[order[v]] = (int32_t)v;
    }
    return WEFT_OK;
}

/* Takes the next local id of v's group. */
static void number_vertex(extract_state *state, int64_t v, int64_t place)
{
    const int64_t id = state->group[group_of(state, v)]++;
    state->part->gid[id] = v;
    state->local[place] = (int32_t)id;
}

static void number_by_id(extract_state *state)
{
    int64_t place = 0;
    for (int64_t w = 0; w < vertex_set_words(state->graph->vertices); ++w) {
        for (uint64_t bits = state->held.bits[w]; bits != 0; bits &= bits - 1) {
            number_vertex(state, 64 * w + __builtin_ctzll(bits), place++);
        }
    }
}

static void number_by_order(extract_state *state)
{
    for (int64_t i = 0; i < state->graph->vertices; ++i) {
        const int64_t v = state->by_order[i];
        if (vertex_set_has(&state->held, v)) {
            number_vertex(state, v, vertex_set_place(&state->held, v));
        }
    }
}

static weft_status number_vertices(extract_state *state, const int32_t *order)
{
    weft_part *part = state->part;
    WEFT_TRY(find_held(state));
    if (order != NULL) {
        WEFT_TRY(invert_order(state, order));
    }
    const int groups = REPLICAS + part->parts;
    WEFT_TRY(WEFT_NEW_ZERO(&state->group, groups + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&state->local, part->n_local, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&part->gid, part->n_local, WEFT_MEM_GRAPH));
    for (int64_t w = 0; w < vertex_set_words(state->graph->vertices); ++w) {
        for (uint64_t bits = state->held.bits[w]; bits != 0; bits &= bits - 1) {
            ++state->group[group_of(state, 64 * w + __builtin_ctzll(bits)) + 1];
        }
    }
    for (int g = 0; g < groups; ++g) {
        state->group[g + 1] += state->group[g];
    }
    assert(state->group[REPLICAS] == part->n_owned && state->group[groups] == part->n_local);
    part->n_shared = state->group[UNSHARED];
    if (state->by_order != NULL) {
        number_by_order(state);
    } else {
        number_by_id(state);
    }
    memmove(state->group + 1, state->group, (size_t)groups * sizeof state->group[0]);
    state->group[0] = 0;
    weft_free(state->by_order);
    state->by_order = NULL;
    return WEFT_OK;
}

/* Replicas are grouped by the part of their root already: keep those in `set`. */
static weft_status list_leaves(const extract_state *state, const vertex_set *set, part_halo *halo)
{
    const weft_part *part = state->part;
    int64_t count = 0;
    WEFT_TRY(WEFT_NEW(&halo->leaf_offset, part->parts + 1, WEFT_MEM_GRAPH));
    for (int64_t id = part->n_owned; id < part->n_local; ++id) {
        count += vertex_set_has(set, part->gid[id]) ? 1 : 0;
    }
    WEFT_TRY(WEFT_NEW(&halo->leaf_row, count, WEFT_MEM_GRAPH));
    count = 0;
    for (int q = 0; q < part->parts; ++q) {
        halo->leaf_offset[q] = count;
        for (int64_t id = state->group[REPLICAS + q]; id < state->group[REPLICAS + q + 1]; ++id) {
            if (vertex_set_has(set, part->gid[id])) {
                halo->leaf_row[count++] = (int32_t)id;
            }
        }
    }
    halo->leaf_offset[part->parts] = count;
    return WEFT_OK;
}

static weft_status list_own(const extract_state *state, const uint64_t *marks, part_halo *halo)
{
    const weft_part *part = state->part;
    WEFT_TRY(WEFT_NEW_ZERO(&halo->own_offset, part->parts + 1, WEFT_MEM_GRAPH));
    for (int64_t i = 0; i < part->n_owned * state->words; ++i) {
        for (uint64_t bits = marks[i]; bits != 0; bits &= bits - 1) {
            ++halo->own_offset[64 * (i % state->words) + __builtin_ctzll(bits) + 1];
        }
    }
    for (int q = 0; q < part->parts; ++q) {
        halo->own_offset[q + 1] += halo->own_offset[q];
    }
    WEFT_TRY(WEFT_NEW(&halo->own_row, halo->own_offset[part->parts], WEFT_MEM_GRAPH));
    for (int64_t id = 0; id < part->n_owned; ++id) {
        const uint64_t *row = marks + vertex_set_place(&state->own, part->gid[id]) * state->words;
        for (int w = 0; w < state->words; ++w) {
            for (uint64_t bits = row[w]; bits != 0; bits &= bits - 1) {
                halo->own_row[halo->own_offset[64 * w + __builtin_ctzll(bits)]++] = (int32_t)id;
            }
        }
    }
    assert(halo->own_offset[part->parts - 1] == halo->own_offset[part->parts]); /* every list is full */
    memmove(halo->own_offset + 1, halo->own_offset, (size_t)part->parts * sizeof halo->own_offset[0]);
    halo->own_offset[0] = 0;
    return WEFT_OK;
}

/* In the order of the graph's row, whatever the partition. */
static weft_status add_weights(const extract_state *state)
{
    weft_part *part = state->part;
    const weft_graph *graph = state->graph;
    if (graph->weight == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&part->in_weight, part->n_owned, WEFT_MEM_GRAPH));
#pragma omp parallel for schedule(static) num_threads(split_threads(part->edges, state->threads))
    for (int64_t id = 0; id < part->n_owned; ++id) {
        double sum = 0.0;
        for (int64_t e = graph->offset[part->gid[id]]; e < graph->offset[part->gid[id] + 1]; ++e) {
            sum += (double)graph->weight[e];
        }
        part->in_weight[id] = sum;
    }
    return WEFT_OK;
}

static weft_status copy_degrees(const extract_state *state)
{
    weft_part *part = state->part;
    const weft_graph *graph = state->graph;
    int64_t *by_place = part->out_degree;
    part->out_degree = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&part->in_degree, part->n_owned, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&part->out_degree, part->n_owned, WEFT_MEM_GRAPH), status, done);
    for (int64_t id = 0; id < part->n_owned; ++id) {
        int64_t v = part->gid[id];
        part->in_degree[id] = graph->offset[v + 1] - graph->offset[v];
        part->out_degree[id] = graph->symmetric ? part->in_degree[id] : by_place[vertex_set_place(&state->own, v)];
    }
done:
    weft_free(by_place);
    return status;
}

/* Whether owned vertices are aggregated here alone, and nothing else is. */
static bool has_whole_rows(const extract_state *state)
{
    const weft_part *part = state->part;
    return state->graph->symmetric && part->destinations.own_offset[part->parts] == 0 &&
           part->destinations.leaf_offset[part->parts] == 0;
}

static weft_status run_phases(extract_state *state, const part_holders *holders, const int32_t *order)
{
    WEFT_TRY(holders != NULL ? extract_look_up(state, holders) : extract_scan(state));
    WEFT_TRY(number_vertices(state, order));
    WEFT_TRY(extract_rows(state));
    WEFT_TRY(list_leaves(state, &state->source, &state->part->sources));
    WEFT_TRY(list_leaves(state, &state->target, &state->part->destinations));
    WEFT_TRY(list_own(state, state->peer_source, &state->part->sources));
    WEFT_TRY(list_own(state, state->peer_target, &state->part->destinations));
    WEFT_TRY(copy_degrees(state));
    WEFT_TRY(add_weights(state));
    state->part->whole_rows = has_whole_rows(state);
    return WEFT_OK;
}

weft_status extract_check(const weft_graph *graph, const weft_partition *partition)
{
    WEFT_CHECK(partition->vertices == graph->vertices && partition->edges == graph->edges, WEFT_ERR_DATA,
               "the partition is of a graph with %lld vertices and %lld edges, this one has %lld and %lld",
               (long long)partition->vertices, (long long)partition->edges, (long long)graph->vertices,
               (long long)graph->edges);
    return WEFT_OK;
}

weft_status part_extract_held(const weft_graph *graph, const weft_partition *partition, const part_holders *holders,
                              int part, const int32_t *order, part_layout layout, weft_part *out)
{
    *out = (weft_part){0};
    WEFT_TRY(extract_check(graph, partition));
    WEFT_CHECK(part >= 0 && part < partition->parts, WEFT_ERR_INTERNAL, "part %d of %d", part, partition->parts);
    *out = (weft_part){.part = part,
                       .parts = partition->parts,
                       .layout = layout,
                       .n_global = graph->vertices,
                       .e_global = graph->edges};
    extract_state state = {.graph = graph,
                           .partition = partition,
                           .part = out,
                           .threads = omp_get_max_threads(),
                           .words = (partition->parts + 63) / 64,
                           .by_id = order == NULL};
    weft_status status = run_phases(&state, holders, order);
    vertex_set_free(&state.own);
    vertex_set_free(&state.source);
    vertex_set_free(&state.target);
    vertex_set_free(&state.held);
    WEFT_FREE_ALL(state.peer_source, state.peer_target, state.by_order, state.group, state.local);
    if (status != WEFT_OK) {
        part_destroy(out);
    }
    return status;
}

weft_status part_extract(const weft_graph *graph, const weft_partition *partition, int part, const int32_t *order,
                         part_layout layout, weft_part *out)
{
    return part_extract_held(graph, partition, NULL, part, order, layout, out);
}
