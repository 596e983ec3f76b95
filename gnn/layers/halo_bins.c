/* gnn/layers/halo_bins.c: see gnn/layers/halo_bins.h. */
#include "gnn/layers/halo_bins.h"

#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"

/* What the bins are made of; on the host, for as long as that takes. */
typedef struct lists_by_bin {
    int32_t *bin;                /* [n_local] of each row */
    int32_t *slot;               /* [n_owned] place of a shared row among its bin's own rows, -1: not shared */
    int32_t *own_row, *leaf_row; /* by bin */
    int64_t *own_offset, *leaf_offset;
    int32_t *own_packed, *leaf_packed; /* of one bin: comm_halo_desc's lists, rows of its packed matrix */
    int64_t *gid;                      /* of those rows */
} lists_by_bin;

int halo_bin_of(int64_t gid, int bins)
{
    const philox_block block = philox4x32(philox_counter(0, (uint64_t)gid, WEFT_RNG_HALO_BIN, 0), 0);
    return (int)(block.word[0] % (uint32_t)bins);
}

static weft_status lists_reserve(const weft_part *part, const part_halo *from, lists_by_bin *lists)
{
    const int parts = part->parts;
    const int64_t own = from->own_offset[parts], leaf = from->leaf_offset[parts];
    WEFT_TRY(WEFT_NEW(&lists->bin, part->n_local + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->slot, part->n_owned + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->own_row, own + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->leaf_row, leaf + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->own_offset, parts + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->leaf_offset, parts + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->own_packed, own + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->gid, part->n_local + 1, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&lists->leaf_packed, leaf + 1, WEFT_MEM_WORKSPACE);
}

static void lists_free(lists_by_bin *lists)
{
    weft_free(lists->bin);
    weft_free(lists->slot);
    weft_free(lists->own_row);
    weft_free(lists->leaf_row);
    weft_free(lists->own_offset);
    weft_free(lists->leaf_offset);
    weft_free(lists->own_packed);
    weft_free(lists->gid);
    weft_free(lists->leaf_packed);
}

/* Own rows of a bin ascend; its leaf rows keep their order, peer by peer, so that they are received where they stay. */
static void sort_rows(const weft_part *part, const part_halo *from, lists_by_bin *lists, halo_bins *bins)
{
    memset(lists->slot, 0xff, (size_t)part->n_owned * sizeof *lists->slot);
    for (int64_t i = 0; i < from->own_offset[part->parts]; ++i) {
        lists->slot[from->own_row[i]] = 0;
    }
    for (int64_t i = 0; i < part->n_local; ++i) {
        lists->bin[i] = halo_bin_of(part->gid[i], bins->count);
    }
    for (int b = 0; b < bins->count; ++b) {
        halo_bin *bin = &bins->bin[b];
        *bin = (halo_bin){.first_own = bins->own, .first_leaf = bins->leaf};
        for (int32_t row = 0; row < part->n_owned; ++row) {
            if (lists->bin[row] == b && lists->slot[row] >= 0) {
                lists->slot[row] = (int32_t)bin->own++;
                lists->own_row[bins->own++] = row;
            }
        }
        for (int64_t i = 0; i < from->leaf_offset[part->parts]; ++i) {
            if (lists->bin[from->leaf_row[i]] == b) {
                bin->leaf += 1;
                lists->leaf_row[bins->leaf++] = from->leaf_row[i];
            }
        }
        bins->largest = bin->own + bin->leaf > bins->largest ? bin->own + bin->leaf : bins->largest;
    }
}

static weft_status upload_rows(weft_hal *hal, const int32_t *from, int64_t rows, int32_t **to)
{
    const size_t bytes = (size_t)rows * sizeof *from;
    if (rows == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_GRAPH, (void **)to));
    return hal->mem.upload(hal, *to, from, bytes);
}

static weft_status prepare(const weft_part *part, const part_halo *from, int count, lists_by_bin *lists,
                           halo_bins *bins)
{
    WEFT_TRY(WEFT_NEW_ZERO(&bins->bin, count, WEFT_MEM_GRAPH));
    bins->count = count;
    WEFT_TRY(lists_reserve(part, from, lists));
    sort_rows(part, from, lists, bins);
    WEFT_TRY(upload_rows(bins->hal, lists->own_row, bins->own, &bins->own_row));
    return upload_rows(bins->hal, lists->leaf_row, bins->leaf, &bins->leaf_row);
}

/* The bin's part of each peer's lists, as rows of its packed matrix. */
static comm_halo_desc packed_lists(const weft_part *part, const part_halo *from, int b, const halo_bin *bin,
                                   lists_by_bin *lists)
{
    int64_t own = 0, leaf = 0;
    for (int p = 0; p < part->parts; ++p) {
        lists->own_offset[p] = own;
        lists->leaf_offset[p] = leaf;
        for (int64_t i = from->own_offset[p]; i < from->own_offset[p + 1]; ++i) {
            if (lists->bin[from->own_row[i]] == b) {
                lists->gid[lists->slot[from->own_row[i]]] = part->gid[from->own_row[i]];
                lists->own_packed[own++] = lists->slot[from->own_row[i]];
            }
        }
        for (int64_t i = from->leaf_offset[p]; i < from->leaf_offset[p + 1]; ++i) {
            if (lists->bin[from->leaf_row[i]] == b) {
                lists->gid[bin->own + leaf] = part->gid[from->leaf_row[i]];
                lists->leaf_packed[leaf] = (int32_t)(bin->own + leaf);
                leaf += 1;
            }
        }
    }
    lists->own_offset[part->parts] = own;
    lists->leaf_offset[part->parts] = leaf;
    return (comm_halo_desc){.n_local = bin->own + bin->leaf,
                            .own_offset = lists->own_offset,
                            .own_row = lists->own_packed,
                            .leaf_offset = lists->leaf_offset,
                            .leaf_row = lists->leaf_packed,
                            .gid = lists->gid};
}

weft_status halo_bins_create(weft_comm *comm, weft_hal *hal, const weft_part *part, const part_halo *lists, int count,
                             int64_t max_width, halo_bins *bins)
{
    lists_by_bin by_bin = {.bin = NULL};
    *bins = (halo_bins){.hal = hal};
    const weft_status own = prepare(part, lists, count, &by_bin, bins);
    weft_status status = comm_agree(comm, own);
    for (int b = 0; b < count && own == WEFT_OK && status == WEFT_OK; ++b) {
        const comm_halo_desc desc = packed_lists(part, lists, b, &bins->bin[b], &by_bin);
        status = comm_halo_create(comm, hal, &desc, max_width, &bins->bin[b].exchange);
    }
    lists_free(&by_bin);
    return status;
}

void halo_bins_destroy(halo_bins *bins)
{
    if (bins->hal == NULL) {
        return;
    }
    for (int b = 0; b < bins->count; ++b) {
        comm_halo_destroy(bins->bin[b].exchange);
    }
    if (bins->own_row != NULL) {
        bins->hal->mem.free(bins->hal, bins->own_row);
    }
    if (bins->leaf_row != NULL) {
        bins->hal->mem.free(bins->hal, bins->leaf_row);
    }
    weft_free(bins->bin);
    *bins = (halo_bins){.hal = NULL};
}
