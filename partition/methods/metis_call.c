/*
 * partition/methods/metis_call.c: the only file that sees METIS.
 *
 * Memory of METIS 5.1 beyond the input, measured from 5 to 40 M entries and 2 to 256 parts: 35-43 bytes an entry with
 * 32-bit indices. It is announced before the start and refused when it cannot fit.
 *
 * G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM J. Sci.
 * Comput. 20(1), 1998, doi:10.1137/S1064827595287997
 */
#include "partition/methods/metis_call.h"

#include <metis.h>

#include "base/alloc.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/methods/child.h"
#include "partition/partition.h"

_Static_assert(sizeof(idx_t) == sizeof(int32_t) || sizeof(idx_t) == sizeof(int64_t), "METIS index type");

/* Two balances are asked for, degrees (aggregation) and vertices (dense work): with degrees alone, a part of hubs would
 * face one with several times as many vertices. */
enum { CONSTRAINTS = 2 };

/* In parts of a thousand. An epoch waits for the largest part, and METIS' own 30 showed: 24 on a dense graph in random
 * order. Down to 5 parts of an edge-cut send at most 2 % more rows (2 to 16 parts); at 1 it is 4. */
enum { IMBALANCE = 5 };

enum { BYTES_PER_ENTRY = (int)(40 * sizeof(idx_t) / sizeof(int32_t)), ANNOUNCE_FROM_MIB = 256 };

uint64_t metis_memory(int64_t vertices, int64_t entries)
{
    uint64_t copies = 4 * (uint64_t)vertices * sizeof(idx_t); /* offsets, weights, answer */
    copies += sizeof(idx_t) == sizeof(int32_t) ? 0 : (uint64_t)entries * sizeof(idx_t);
    return copies + (uint64_t)entries * BYTES_PER_ENTRY + ((uint64_t)16 << 20);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Ids in range, no self-loops; every entry adds a hash of its pair, its reverse takes it away: the sum must vanish. */
static weft_status check_adjacency(const adjacency *adjacent, int threads)
{
    int64_t bad = -1, n = adjacent->vertices;
    uint64_t balance = 0;
#pragma omp parallel num_threads(split_threads(adjacent->entries, threads)) reduction(max : bad) reduction(+ : balance)
    OWN_ROWS(v, adjacent->offset, n) {
        for (int64_t e = adjacent->offset[v]; e < adjacent->offset[v + 1]; ++e) {
            int64_t u = adjacent->neighbour[e];
            bad = u < 0 || u >= n || u == v ? e : bad;
            balance += u < v ? mix((uint64_t)u << 32 | (uint64_t)v) : -mix((uint64_t)v << 32 | (uint64_t)u);
        }
    }
    WEFT_CHECK(bad < 0, WEFT_ERR_DATA, "entry %lld of the adjacency names vertex %d of %lld, or is a self-loop",
               (long long)bad, adjacent->neighbour[bad], (long long)n);
    WEFT_CHECK(balance == 0, WEFT_ERR_DATA,
               "the graph says that it is symmetric, but some edges have no reverse: convert it again");
    return WEFT_OK;
}

weft_status metis_check_size(int64_t vertices, int64_t entries, uint64_t memory_limit)
{
    WEFT_CHECK(
        sizeof(idx_t) > 4 || entries + vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
        "%lld adjacency entries: this build of METIS counts up to 2^31; use the method stream, or a METIS with 64-bit "
        "indices",
        (long long)entries);
    const uint64_t need = metis_memory(vertices, entries);
    WEFT_CHECK(
        memory_limit == 0 || need <= memory_limit, WEFT_ERR_RESOURCE,
        "METIS would need about %.2f GiB (40 bytes for each of %lld adjacency entries), %.2f GiB are left: use the "
        "method stream, or a machine with more memory",
        (double)need / (double)(1 << 30), (long long)entries, (double)memory_limit / (double)(1 << 30));
    return WEFT_OK;
}

static weft_status check_limits(const adjacency *adjacent, int parts, const double *share, uint64_t memory_limit)
{
    const uint64_t need = metis_memory(adjacent->vertices, adjacent->entries);
    WEFT_CHECK(metis_takes(adjacent->vertices, parts, share), WEFT_ERR_UNSUPPORTED,
               "METIS cannot cut %lld vertices into %d parts without leaving some empty: use at most %lld parts, or "
               "the method libra",
               (long long)adjacent->vertices, parts, (long long)(adjacent->vertices / 8));
    WEFT_TRY(metis_check_size(adjacent->vertices, adjacent->entries, memory_limit));
    if (need >= (uint64_t)ANNOUNCE_FROM_MIB << 20) {
        log_info("METIS: %lld vertices, %lld entries, %d parts; expects to need %.2f GiB",
                 (long long)adjacent->vertices, (long long)adjacent->entries, parts, (double)need / (double)(1 << 30));
    }
    return WEFT_OK;
}

typedef struct metis_call {
    idx_t vertices, constraints, parts;
    idx_t *offset, *neighbour, *weight, *part;
    real_t *target; /* [parts, constraints] shares of each part; NULL: equal */
    idx_t options[METIS_NOPTIONS];
} metis_call;

enum { CHILD_OK, CHILD_MEMORY, CHILD_INPUT, CHILD_ERROR };

static int call_metis(void *argument)
{
    metis_call *call = argument;
    idx_t cut = 0;
    int (*const divide)(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, real_t *, real_t *,
                        idx_t *, idx_t *, idx_t *) = call->parts == 2 ? METIS_PartGraphRecursive : METIS_PartGraphKway;
    int code = divide(&call->vertices, &call->constraints, call->offset, call->neighbour, call->weight, NULL, NULL,
                      &call->parts, call->target, NULL, call->options, &cut, call->part);
    switch (code) {
    case METIS_OK:
        return CHILD_OK;
    case METIS_ERROR_MEMORY:
        return CHILD_MEMORY;
    case METIS_ERROR_INPUT:
        return CHILD_INPUT;
    default:
        return CHILD_ERROR;
    }
}

static weft_status run_child(metis_call *call, uint64_t expected)
{
    int code = CHILD_OK;
    child_task task = {.what = "METIS", .expected_bytes = expected, .run = call_metis, .argument = call};
    WEFT_TRY(child_run(&task, &code));
    WEFT_CHECK(code != CHILD_MEMORY, WEFT_ERR_RESOURCE, "METIS ran out of memory (it was expected to need %.2f GiB)",
               (double)expected / (double)(1 << 30));
    WEFT_CHECK(code == CHILD_OK, WEFT_ERR_INTERNAL, "METIS refused its input (code %d)", code);
    return WEFT_OK;
}

static int64_t weight_of(const adjacency *adjacent, int64_t v)
{
    const int64_t *offset = adjacent->weight != NULL ? adjacent->weight : adjacent->offset;
    return offset[v + 1] - offset[v] + 1;
}

/* Of the parts with more than one vertex, the heaviest: there is one while parts are empty. */
static int heaviest_divisible(int parts, const int64_t *weight, const int64_t *count)
{
    int heaviest = -1;
    for (int p = 0; p < parts; ++p) {
        if (count[p] > 1 && (heaviest < 0 || weight[p] > weight[heaviest])) {
            heaviest = p;
        }
    }
    return heaviest;
}

/* Give each empty part half of the heaviest part: vertices by id until half of the weight, or all but one, have moved.
 */
static weft_status repair_empty(const adjacency *adjacent, int parts, uint16_t *part)
{
    weft_status status = WEFT_OK;
    int64_t *weight = NULL, *count = NULL;
    int empty = 0;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&weight, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&count, parts, WEFT_MEM_PARTITION), status, done);
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        weight[part[v]] += weight_of(adjacent, v);
        ++count[part[v]];
    }
    for (int p = 0; p < parts; ++p) {
        if (count[p] > 0) {
            continue;
        }
        ++empty;
        int from = heaviest_divisible(parts, weight, count);
        for (int64_t v = 0; v < adjacent->vertices && weight[p] < weight[from] && count[from] > 1; ++v) {
            if (part[v] == from) {
                int64_t own = weight_of(adjacent, v);
                part[v] = (uint16_t)p;
                weight[p] += own;
                weight[from] -= own;
                ++count[p];
                --count[from];
            }
        }
    }
    if (empty > 0) {
        log_info("METIS left %d of %d parts empty: filled from the heaviest parts", empty, parts);
    }
done:
    WEFT_FREE_ALL(count, weight);
    return status;
}

/* METIS takes offsets of its own width and, in a 64-bit build, 64-bit neighbours; it does not write to its input. */
static weft_status fill_call(const adjacency *adjacent, int parts, const double *share, uint64_t seed, metis_call *call)
{
    int64_t n = adjacent->vertices;
    call->vertices = (idx_t)n;
    call->constraints = CONSTRAINTS;
    call->parts = parts;
    METIS_SetDefaultOptions(call->options);
    call->options[METIS_OPTION_SEED] = (idx_t)(mix(seed) & 0x7fffffff);
    call->options[METIS_OPTION_UFACTOR] = IMBALANCE;
    if (share != NULL) {
        WEFT_TRY(WEFT_NEW(&call->target, (int64_t)parts * CONSTRAINTS, WEFT_MEM_PARTITION));
        for (int i = 0; i < parts * CONSTRAINTS; ++i) {
            call->target[i] = (real_t)share[i / CONSTRAINTS];
        }
    }
    WEFT_TRY(WEFT_NEW(&call->offset, n + 1, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&call->weight, n * CONSTRAINTS, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < n; ++v) {
        call->offset[v] = (idx_t)adjacent->offset[v];
        call->weight[v * CONSTRAINTS] = (idx_t)weight_of(adjacent, v);
        call->weight[v * CONSTRAINTS + 1] = 1;
    }
    call->offset[n] = (idx_t)adjacent->entries;
#if IDXTYPEWIDTH == 32
    call->neighbour = (idx_t *)(uintptr_t)adjacent->neighbour; /* METIS's prototype lacks const */
#else
    WEFT_TRY(WEFT_NEW(&call->neighbour, adjacent->entries, WEFT_MEM_PARTITION));
    for (int64_t e = 0; e < adjacent->entries; ++e) {
        call->neighbour[e] = adjacent->neighbour[e];
    }
#endif
    return WEFT_OK;
}

static weft_status copy_answer(const metis_call *call, int parts, uint16_t *part)
{
    for (int64_t v = 0; v < call->vertices; ++v) {
        WEFT_CHECK(call->part[v] >= 0 && call->part[v] < parts, WEFT_ERR_INTERNAL,
                   "METIS gave vertex %lld part %lld of %d", (long long)v, (long long)call->part[v], parts);
        part[v] = (uint16_t)call->part[v];
    }
    return WEFT_OK;
}

weft_status metis_partition(const adjacency *adjacent, int parts, const double *share, uint64_t seed, int threads,
                            uint64_t memory_limit, uint16_t *part)
{
    weft_status status = WEFT_OK;
    metis_call call = {0};
    size_t bytes = (size_t)adjacent->vertices * sizeof(idx_t);
    if (parts == 1) { /* METIS divides by zero here */
        for (int64_t v = 0; v < adjacent->vertices; ++v) {
            part[v] = 0;
        }
        return WEFT_OK;
    }
    WEFT_TRY(check_limits(adjacent, parts, share, memory_limit));
    WEFT_TRY(check_adjacency(adjacent, threads));
    WEFT_TRY_GOTO(fill_call(adjacent, parts, share, seed, &call), status, done);
    WEFT_TRY_GOTO(child_shared_alloc(bytes, (void **)&call.part), status, done);
    WEFT_TRY_GOTO(run_child(&call, metis_memory(adjacent->vertices, adjacent->entries)), status, done);
    WEFT_TRY_GOTO(copy_answer(&call, parts, part), status, done);
    status = repair_empty(adjacent, parts, part);
done:
    child_shared_free(call.part, bytes);
#if IDXTYPEWIDTH != 32
    weft_free(call.neighbour);
#endif
    WEFT_FREE_ALL(call.target, call.weight, call.offset);
    return status;
}

#define METIS_TEXT_OF(x) #x
#define METIS_TEXT(x)    METIS_TEXT_OF(x)

const char *metis_version(void)
{
    return METIS_TEXT(METIS_VER_MAJOR) "." METIS_TEXT(METIS_VER_MINOR) "." METIS_TEXT(
        METIS_VER_SUBMINOR) ", " METIS_TEXT(IDXTYPEWIDTH) "-bit indices";
}
