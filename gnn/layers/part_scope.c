/* gnn/layers/part_scope.c: see gnn/layers/part_scope.h. */
#include "gnn/layers/part_scope.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"

/* ---- edges ------------------------------------------------------------------------------------------------------- */

typedef enum edge_side { BY_DESTINATION, BY_SOURCE } edge_side;

static int64_t count_row(const weft_part *part, const uint8_t *read, edge_side side, int64_t row)
{
    const int64_t begin = part->offset[row], end = part->offset[row + 1];
    if (side == BY_DESTINATION) {
        return read[row] ? end - begin : 0;
    }
    int64_t count = 0;
    for (int64_t e = begin; e < end; ++e) {
        count += read[part->source[e]] != 0;
    }
    return count;
}

static void copy_row(const weft_part *part, const uint8_t *read, edge_side side, int64_t row, part_csr *out)
{
    int64_t to = out->offset[row];
    if (to == out->offset[row + 1]) {
        return;
    }
    for (int64_t e = part->offset[row]; e < part->offset[row + 1]; ++e) {
        if (side == BY_DESTINATION || read[part->source[e]]) {
            if (out->value != NULL) {
                out->value[to] = part->weight[e];
            }
            out->column[to++] = part->source[e];
        }
    }
    assert(to == out->offset[row + 1]);
}

/* offset[v + 1] = the entries of row v. */
static void count_rows(const weft_part *part, const uint8_t *read, edge_side side, int threads, int64_t *offset)
{
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t end = split_rows(part->offset, part->n_local, t + 1, team);
        for (int64_t v = split_rows(part->offset, part->n_local, t, team); v < end; ++v) {
            offset[v + 1] = count_row(part, read, side, v);
        }
    }
}

static void copy_rows(const weft_part *part, const uint8_t *read, edge_side side, int threads, part_csr *out)
{
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t end = split_rows(part->offset, part->n_local, t + 1, team);
        for (int64_t v = split_rows(part->offset, part->n_local, t, team); v < end; ++v) {
            copy_row(part, read, side, v, out);
        }
    }
}

/* The edges of which that side is read. */
static weft_status filter_edges(const weft_part *part, const uint8_t *read, edge_side side, part_csr *out)
{
    const int64_t n = part->n_local;
    const int threads = split_threads(part->edges, omp_get_max_threads());
    *out = (part_csr){.offset = NULL};
    WEFT_CHECK(part->offset != NULL, WEFT_ERR_INTERNAL, "part %d: its edges have been released", part->part);
    WEFT_TRY(WEFT_NEW(&out->offset, n + 1, WEFT_MEM_GRAPH));
    out->offset[0] = 0;
    count_rows(part, read, side, threads, out->offset);
    for (int64_t v = 0; v < n; ++v) {
        out->offset[v + 1] += out->offset[v];
    }
    WEFT_TRY(WEFT_NEW(&out->column, out->offset[n], WEFT_MEM_GRAPH));
    WEFT_TRY(part->weight != NULL ? WEFT_NEW(&out->value, out->offset[n], WEFT_MEM_GRAPH) : WEFT_OK);
    copy_rows(part, read, side, threads, out);
    return WEFT_OK;
}

weft_status part_scope_turn(const weft_part *part, part_scope *scope, bool shares, part_csr *back)
{
    if (shares) {
        part_csr_free(&scope->forward);
        return filter_edges(part, scope->read, BY_SOURCE, back);
    }
    weft_part forward = *part; /* whose edges alone are looked at */
    forward.offset = scope->forward.offset;
    forward.source = scope->forward.column;
    forward.weight = scope->forward.value;
    forward.edges = scope->forward.offset[part->n_local];
    const weft_status status = part_transpose(&forward, &back->offset, &back->column, &back->value);
    part_csr_free(&scope->forward);
    return status;
}

/* ---- rows that cross ranks --------------------------------------------------------------------------------------- */

/* The entries of a list by peer, and a byte for each. */
typedef struct list_side {
    const int64_t *offset; /* [parts + 1] */
    const int32_t *row;
    uint8_t *flag;
} list_side;

/* Each entry's flag goes to the peer's entry of the same vertex. Collective. */
static weft_status send_flags(weft_comm *comm, const list_side *from, const list_side *to)
{
    const int parts = comm_size(comm);
    int64_t *bytes = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&bytes, 2 * (int64_t)parts, WEFT_MEM_WORKSPACE)));
    for (int p = 0; p < parts; ++p) {
        bytes[p] = from->offset[p + 1] - from->offset[p];
        bytes[parts + p] = to->offset[p + 1] - to->offset[p];
    }
    const weft_status status = comm_alltoallv(comm, from->flag, bytes, to->flag, bytes + parts);
    weft_free(bytes);
    return status;
}

typedef struct list_flags {
    list_side own, leaf;
} list_flags;

static weft_status flags_create(const weft_part *part, const part_halo *lists, list_flags *flags)
{
    *flags = (list_flags){.own = {lists->own_offset, lists->own_row, NULL},
                          .leaf = {lists->leaf_offset, lists->leaf_row, NULL}};
    WEFT_TRY(WEFT_NEW(&flags->own.flag, lists->own_offset[part->parts], WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&flags->leaf.flag, lists->leaf_offset[part->parts], WEFT_MEM_WORKSPACE);
}

static void flags_destroy(list_flags *flags)
{
    WEFT_FREE_ALL(flags->own.flag, flags->leaf.flag);
}

static void take_flags(list_side *side, int parts, const uint8_t *of_row)
{
    for (int64_t i = 0; i < side->offset[parts]; ++i) {
        side->flag[i] = of_row[side->row[i]];
    }
}

static weft_status keep_side(const list_side *side, int parts, int64_t **offset, int32_t **row)
{
    WEFT_TRY(WEFT_NEW(offset, parts + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(row, side->offset[parts], WEFT_MEM_GRAPH));
    int64_t kept = 0;
    (*offset)[0] = 0;
    for (int p = 0; p < parts; ++p) {
        for (int64_t i = side->offset[p]; i < side->offset[p + 1]; ++i) {
            if (side->flag[i]) {
                (*row)[kept++] = side->row[i];
            }
        }
        (*offset)[p + 1] = kept;
    }
    return WEFT_OK;
}

static weft_status keep_lists(const list_flags *flags, int parts, part_halo *kept)
{
    WEFT_TRY(keep_side(&flags->own, parts, &kept->own_offset, &kept->own_row));
    return keep_side(&flags->leaf, parts, &kept->leaf_offset, &kept->leaf_row);
}

/* Replicas learn from their roots whether they are read. Collective. */
static weft_status tell_replicas(weft_comm *comm, const weft_part *part, const part_halo *lists, uint8_t *read)
{
    list_flags flags;
    weft_status status = comm_agree(comm, flags_create(part, lists, &flags));
    if (status == WEFT_OK) {
        take_flags(&flags.own, part->parts, read);
        status = send_flags(comm, &flags.own, &flags.leaf);
    }
    for (int64_t i = 0; status == WEFT_OK && i < lists->leaf_offset[part->parts]; ++i) {
        read[lists->leaf_row[i]] = flags.leaf.flag[i];
    }
    flags_destroy(&flags);
    return status;
}

/* The sources of edges into rows that are read. */
static void mark_sources(const weft_part *part, const uint8_t *read, uint8_t *feeds)
{
    for (int64_t v = 0; v < part->n_local; ++v) {
        const int64_t end = read[v] ? part->offset[v + 1] : part->offset[v];
        for (int64_t e = part->offset[v]; e < end; ++e) {
            feeds[part->source[e]] = 1;
        }
    }
}

/* Of replicas that were sources those that still are; only they know. Collective. */
static weft_status keep_sources(weft_comm *comm, const weft_part *part, part_scope *scope)
{
    list_flags flags;
    uint8_t *feeds = NULL;
    weft_status local = flags_create(part, &part->sources, &flags);
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&feeds, part->n_local, WEFT_MEM_WORKSPACE) : local;
    weft_status status = comm_agree(comm, local);
    if (local == WEFT_OK && status == WEFT_OK) {
        mark_sources(part, scope->read, feeds);
        take_flags(&flags.leaf, part->parts, feeds);
        status = send_flags(comm, &flags.leaf, &flags.own);
    }
    status = status == WEFT_OK ? comm_agree(comm, keep_lists(&flags, part->parts, &scope->sources)) : status;
    flags_destroy(&flags);
    weft_free(feeds);
    return status;
}

/* Of replicas of `lists` those that are read, which both sides know. */
static weft_status keep_destinations(const weft_part *part, const part_halo *lists, part_scope *scope)
{
    list_flags flags;
    weft_status status = flags_create(part, lists, &flags);
    if (status == WEFT_OK) {
        take_flags(&flags.own, part->parts, scope->read);
        take_flags(&flags.leaf, part->parts, scope->read);
        status = keep_lists(&flags, part->parts, &scope->destinations);
    }
    flags_destroy(&flags);
    return status;
}

weft_status part_scope_create(weft_comm *comm, const weft_part *part, const uint8_t *read, part_scope *scope)
{
    const bool alone = comm_size(comm) == 1;
    *scope = (part_scope){.read = NULL};
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&scope->read, part->n_local, WEFT_MEM_GRAPH)));
    if (part->n_owned > 0) {
        memcpy(scope->read, read, (size_t)part->n_owned);
    }
    if (!alone) {
        WEFT_TRY(tell_replicas(comm, part, &part->sources, scope->read));
        WEFT_TRY(tell_replicas(comm, part, &part->destinations, scope->read));
    }
    return WEFT_OK;
}

weft_status part_scope_cut(const weft_part *part, part_scope *scope)
{
    return filter_edges(part, scope->read, BY_DESTINATION, &scope->forward);
}

weft_status part_scope_list(weft_comm *comm, const weft_part *part, bool whole_rows, part_scope *scope)
{
    WEFT_TRY(keep_sources(comm, part, scope));
    const part_halo *gathered = whole_rows ? &part->sources : &part->destinations;
    return comm_agree(comm, keep_destinations(part, gathered, scope));
}

void part_csr_free(part_csr *csr)
{
    WEFT_FREE_ALL(csr->offset, csr->column, csr->value);
    *csr = (part_csr){.offset = NULL};
}

void part_scope_destroy(part_scope *scope)
{
    weft_free(scope->read);
    part_csr_free(&scope->forward);
    part_halo_free(&scope->sources);
    part_halo_free(&scope->destinations);
    *scope = (part_scope){.read = NULL};
}
