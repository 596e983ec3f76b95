/* gnn/layers/part_edges.c: see gnn/layers/part_edges.h. */
#include "gnn/layers/part_edges.h"

#include <assert.h>
#include <string.h>

#include "gnn/halo/gnn_halo.h"

static weft_status to_device(weft_hal *hal, const void *host, int64_t count, size_t item, void **device)
{
    const size_t bytes = (size_t)count * item;
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_GRAPH, device));
    return hal->mem.upload(hal, *device, host, bytes);
}

static weft_status upload_csr(weft_hal *hal, const weft_part *part, const int64_t *offset, const int32_t *column,
                              int64_t **to_offset, int32_t **to_column)
{
    WEFT_TRY(to_device(hal, offset, part->n_local + 1, sizeof *offset, (void **)to_offset));
    return to_device(hal, column, part->edges, sizeof *column, (void **)to_column);
}

static weft_status upload_elsewhere(weft_hal *hal, const weft_part *part, uint8_t **to)
{
    uint8_t *elsewhere = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&elsewhere, part->n_local, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < part->n_owned; ++i) {
        elsewhere[i] = part->offset[i] == part->offset[i + 1] && part->in_degree[i] > 0;
    }
    weft_status status = to_device(hal, elsewhere, part->n_local, sizeof *elsewhere, (void **)to);
    weft_free(elsewhere);
    return status;
}

static int64_t count_loops(const weft_part *part)
{
    int64_t loops = 0;
    for (int64_t v = 0; v < part->n_local; ++v) {
        for (int64_t e = part->offset[v]; e < part->offset[v + 1]; ++e) {
            loops += part->source[e] == v;
        }
    }
    return loops;
}

/* bare: the part without the edges that begin and end at one vertex; its offset and source are new. */
static weft_status leave_out_loops(const weft_part *part, int64_t loops, weft_part *bare)
{
    *bare = *part;
    bare->edges = part->edges - loops;
    bare->source = NULL;
    WEFT_TRY(WEFT_NEW(&bare->offset, part->n_local + 1, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_NEW(&bare->source, bare->edges, WEFT_MEM_WORKSPACE);
    int64_t kept = 0;
    for (int64_t v = 0; v < part->n_local && status == WEFT_OK; ++v) {
        bare->offset[v] = kept;
        for (int64_t e = part->offset[v]; e < part->offset[v + 1]; ++e) {
            if (part->source[e] != v) {
                bare->source[kept++] = part->source[e];
            }
        }
    }
    if (status != WEFT_OK) {
        weft_free(bare->offset);
        return status;
    }
    bare->offset[part->n_local] = kept;
    return WEFT_OK;
}

static weft_status upload_edges(weft_hal *hal, const weft_part *part, gnn_part_edges *edges)
{
    int64_t *offset = NULL;
    int32_t *column = NULL;
    edges->entries = part->edges;
    WEFT_TRY(upload_csr(hal, part, part->offset, part->source, &edges->in_offset, &edges->in_column));
    if (part->symmetric) {
        edges->out_offset = edges->in_offset;
        edges->out_column = edges->in_column;
        return WEFT_OK;
    }
    WEFT_TRY(part_transpose(part, &offset, &column, NULL));
    weft_status status = upload_csr(hal, part, offset, column, &edges->out_offset, &edges->out_column);
    WEFT_FREE_ALL(offset, column);
    return status;
}

/* What a rank makes for itself, without talking. */
static weft_status create_own(weft_hal *hal, const weft_part *part, const gnn_edge_use *use, gnn_part_edges *edges)
{
    WEFT_TRY(to_device(hal, part->gid, part->n_local, sizeof *part->gid, (void **)&edges->id));
    WEFT_TRY(part->parts > 1 ? upload_elsewhere(hal, part, &edges->elsewhere) : WEFT_OK);
    WEFT_TRY(use->may_share ? gnn_shared_edges_create(hal, part, use->must_share, edges->elsewhere, &edges->shared)
                            : WEFT_OK);
    if (edges->shared.sums > 0) {
        return WEFT_OK;
    }
    const int64_t loops = use->loops_count ? 0 : count_loops(part);
    if (loops == 0) {
        return upload_edges(hal, part, edges);
    }
    weft_part bare;
    WEFT_TRY(leave_out_loops(part, loops, &bare));
    weft_status status = upload_edges(hal, &bare, edges);
    WEFT_FREE_ALL(bare.offset, bare.source);
    return status;
}

/* One halo serves both directions where the lists are equal on every rank. */
static weft_status create_halos(weft_comm *comm, const weft_part *part, int64_t max_width, gnn_part_edges *edges)
{
    const comm_halo_desc sources = gnn_halo_desc(part, &part->sources);
    const comm_halo_desc destinations = gnn_halo_desc(part, &part->destinations);
    int32_t same = part->symmetric;
    WEFT_TRY(comm_halo_create(comm, edges->hal, &sources, max_width, &edges->sources));
    WEFT_TRY(comm_allreduce(comm, &same, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (same) {
        edges->destinations = edges->sources;
        return WEFT_OK;
    }
    return comm_halo_create(comm, edges->hal, &destinations, max_width, &edges->destinations);
}

weft_status gnn_part_edges_create(weft_comm *comm, weft_hal *hal, const weft_part *part, int64_t max_width,
                                  const gnn_edge_use *use, gnn_part_edges *edges)
{
    *edges = (gnn_part_edges){.hal = hal, .n_owned = part->n_owned, .n_local = part->n_local};
    assert(part->offset != NULL && part->n_owned <= part->n_local); /* not released yet */
    WEFT_TRY(comm_agree(comm, create_own(hal, part, use, edges)));
    return comm_size(comm) > 1 ? create_halos(comm, part, max_width, edges) : WEFT_OK;
}

void gnn_part_edges_destroy(gnn_part_edges *edges)
{
    weft_hal *hal = edges->hal;
    if (hal == NULL) {
        return;
    }
    if (edges->destinations != edges->sources) {
        comm_halo_destroy(edges->destinations);
    }
    comm_halo_destroy(edges->sources);
    if (edges->out_offset != edges->in_offset) {
        hal->mem.free(hal, edges->out_offset);
        hal->mem.free(hal, edges->out_column);
    }
    gnn_shared_edges_destroy(&edges->shared);
    hal->mem.free(hal, edges->in_offset);
    hal->mem.free(hal, edges->in_column);
    hal->mem.free(hal, edges->id);
    hal->mem.free(hal, edges->elsewhere);
    memset(edges, 0, sizeof *edges);
}

static weft_status exchange(comm_halo *halo, halo_direction direction, const weft_tensor *x)
{
    if (halo == NULL) {
        return WEFT_OK;
    }
    assert(x->cols > 0 && x->cols <= x->ld);
    activity_begin(ACTIVITY_HALO);
    weft_status status = comm_halo_post(halo, direction, x->dtype, x->data, x->ld, x->cols);
    status = status == WEFT_OK ? comm_halo_wait(halo) : status;
    activity_end(ACTIVITY_HALO);
    return status;
}

weft_status gnn_exchange_sources(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x)
{
    return exchange(edges->sources, direction, x);
}

weft_status gnn_exchange_destinations(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x)
{
    return exchange(edges->destinations, direction, x);
}
