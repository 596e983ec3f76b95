/*
 * partition/methods/method_libra.c: Libra's greedy vertex-cut: one pass over the undirected pairs in CSR order.
 *
 * With A(x) the parts that already hold x, and least(S) the part of S with the fewest pairs, beside its share (ties
 * drawn at random):
 *
 *   A(u) and A(v) both empty   least(all parts)
 *   one of them empty          least(A of the other)
 *   they intersect             least(A(u) and A(v))
 *   otherwise                  least(A of the endpoint with the lower degree): the other gets a new replica
 *
 * Both directions of a pair follow it. No capacity: balance comes from least() alone.
 * Memory: parts / 8 bytes a vertex + 2 bytes a pair. Sequential, 10-30 M pairs a second.
 *
 * C. Xie, L. Yan, W. Li, Z. Zhang: Distributed power-law graph computing: theoretical and empirical analysis. NeurIPS
 * 2014 (degree-based choice); V. Md et al.: DistGNN. SC'21, doi:10.1145/3458817.3480856 (its use for graph networks).
 */
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

#include "base/log.h"
#include "base/philox.h"
#include "partition/methods/libra.h"
#include "partition/methods/method.h"

enum { PROGRESS_ROWS = 4096 }; /* between two looks at the clock */

typedef struct libra_state {
    int parts, words;
    uint64_t seed;
    uint64_t *held; /* [vertices, words] A(x) as bits */
    double *load;   /* [parts] pairs; of shares: as if parts were as large as the mean */
    double *step;   /* [parts] what a pair adds to that */
} libra_state;

typedef enum libra_set { LIBRA_ALL, LIBRA_FIRST, LIBRA_BOTH } libra_set;

/* Members of the chosen set in 64-part word w. */
static uint64_t set_word(const libra_state *state, libra_set set, const uint64_t *a, const uint64_t *b, int w)
{
    if (set == LIBRA_ALL) {
        int left = state->parts - 64 * w;
        return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
    }
    return set == LIBRA_FIRST ? a[w] : a[w] & b[w];
}

/* The least-loaded member; among several, the one that a draw keyed by the pair's index picks. */
static int least(const libra_state *state, libra_set set, const uint64_t *a, const uint64_t *b, int64_t pair)
{
    double best = INFINITY;
    int ties = 0, first = 0;
    for (int w = 0; w < state->words; ++w) {
        for (uint64_t bits = set_word(state, set, a, b, w); bits != 0; bits &= bits - 1) {
            int part = 64 * w + __builtin_ctzll(bits);
            if (state->load[part] < best) {
                best = state->load[part];
                first = part;
                ties = 1;
            } else if (state->load[part] == best) {
                ++ties;
            }
        }
    }
    assert(ties > 0); /* nobody chooses from an empty set */
    if (ties == 1) {
        return first;
    }
    uint32_t word = philox4x32(philox_counter(0, (uint64_t)pair, WEFT_RNG_PARTITION, 0), state->seed).word[0];
    int skip = (int)(((uint64_t)word * (uint64_t)ties) >> 32);
    for (int w = first / 64; w < state->words; ++w) {
        for (uint64_t bits = set_word(state, set, a, b, w); bits != 0; bits &= bits - 1) {
            int part = 64 * w + __builtin_ctzll(bits);
            if (state->load[part] == best && skip-- == 0) {
                return part;
            }
        }
    }
    return first;
}

static bool is_empty(const uint64_t *a, int words)
{
    uint64_t any = 0;
    for (int w = 0; w < words; ++w) {
        any |= a[w];
    }
    return any == 0;
}

static bool intersects(const uint64_t *a, const uint64_t *b, int words)
{
    uint64_t any = 0;
    for (int w = 0; w < words; ++w) {
        any |= a[w] & b[w];
    }
    return any != 0;
}

static int choose(const libra_state *state, const uint64_t *a, const uint64_t *b, bool b_is_lower_degree, int64_t pair)
{
    if (intersects(a, b, state->words)) {
        return least(state, LIBRA_BOTH, a, b, pair);
    }
    bool a_empty = is_empty(a, state->words), b_empty = is_empty(b, state->words);
    if (a_empty && b_empty) {
        return least(state, LIBRA_ALL, a, b, pair);
    }
    bool take_b = a_empty || (!b_empty && b_is_lower_degree);
    return least(state, LIBRA_FIRST, take_b ? b : a, NULL, pair);
}

weft_status libra_assign(const pair_list *list, int parts, const double *share, uint64_t seed, int threads,
                         uint16_t *pair_part)
{
    weft_status status = WEFT_OK;
    int32_t *degree = NULL;
    libra_state state = {.parts = parts, .words = (parts + 63) / 64, .seed = seed};
    WEFT_TRY_GOTO(pair_list_degrees(list, threads, &degree), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.held, list->vertices * state.words, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.load, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.step, parts, WEFT_MEM_PARTITION), status, done);
    for (int p = 0; p < parts; ++p) {
        state.step[p] = shares_even(share, parts, p, 1.0);
    }
    log_progress progress = log_progress_begin("libra", "pairs", (double)list->pairs);
    for (int64_t u = 0; u < list->vertices; ++u) {
        if (u % PROGRESS_ROWS == 0) {
            log_progress_update(&progress, (double)list->offset[u]);
        }
        uint64_t *a = state.held + u * state.words;
        for (int64_t i = list->offset[u]; i < list->offset[u + 1]; ++i) {
            int64_t v = list->other[i];
            assert(v > u && v < list->vertices);
            uint64_t *b = state.held + v * state.words;
            int part = choose(&state, a, b, degree[v] < degree[u], i);
            a[part / 64] |= UINT64_C(1) << (part % 64);
            b[part / 64] |= UINT64_C(1) << (part % 64);
            state.load[part] += state.step[part];
            pair_part[i] = (uint16_t)part;
        }
    }
    log_progress_end(&progress);
done:
    WEFT_FREE_ALL(state.step, state.load, state.held, degree);
    return status;
}

weft_status method_libra(const partition_job *job, weft_partition *partition)
{
    weft_status status = WEFT_OK;
    pair_list list = {0};
    uint16_t *pair_part = NULL;
    WEFT_TRY_GOTO(pair_list_build(job->graph, job->threads, &list), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&pair_part, list.pairs, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(libra_assign(&list, job->parts, job->options->share, job->options->seed, job->threads, pair_part),
                  status, done);
    status = pair_list_spread(&list, pair_part, job->graph, PARTITION_NO_PART, job->threads, partition->edge_part);
done:
    weft_free(pair_part);
    pair_list_free(&list);
    return status;
}
