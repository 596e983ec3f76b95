/* gnn/halo/halo_bins.c: see gnn/halo/halo_bins.h. */
#include "gnn/halo/halo_bins.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"

/* What the bins are made of; on the host, for as long as that takes. */
typedef struct lists_by_bin {
    int32_t *bin;                /* [n_local] of each row */
    int32_t *slot;               /* [n_owned] place of a shared row among its bin's own rows, -1: not shared */
    int32_t *own_row, *leaf_row; /* by bin */
} lists_by_bin;

int halo_bin_of(int64_t gid, int bins)
{
    const philox_block block = philox4x32(philox_counter(0, (uint64_t)gid, WEFT_RNG_HALO_BIN, 0), 0);
    return (int)(block.word[0] % (uint32_t)bins);
}

static weft_status lists_reserve(const weft_part *part, const part_halo *from, lists_by_bin *lists, halo_bins *bins)
{
    const int parts = part->parts;
    const int64_t own = from->own_offset[parts], leaf = from->leaf_offset[parts];
    WEFT_TRY(WEFT_NEW(&lists->bin, part->n_local + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->slot, part->n_owned + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->own_row, own + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&lists->leaf_row, leaf + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&bins->offset, 2 * (int64_t)bins->count * (parts + 1), WEFT_MEM_GRAPH));
    return WEFT_NEW(&bins->packed_row, own + leaf + 1, WEFT_MEM_GRAPH);
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
    assert(bins->own <= from->own_offset[part->parts] && bins->leaf == from->leaf_offset[part->parts]);
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

/* The bin's part of each peer's lists, as rows of its packed matrix. */
static void pack_lists(const weft_part *part, const part_halo *from, int b, const lists_by_bin *lists, halo_bins *bins,
                       int32_t **own, int32_t **leaf)
{
    halo_bin *bin = &bins->bin[b];
    int64_t *own_offset = bins->offset + 2 * (int64_t)b * (part->parts + 1);
    int64_t *leaf_offset = own_offset + part->parts + 1;
    int64_t *gid = bins->packed_gid + bin->first_own + bin->first_leaf;
    int32_t *const first_own = *own, *const first_leaf = *leaf;
    for (int p = 0; p < part->parts; ++p) {
        own_offset[p] = *own - first_own;
        leaf_offset[p] = *leaf - first_leaf;
        for (int64_t i = from->own_offset[p]; i < from->own_offset[p + 1]; ++i) {
            const int32_t row = from->own_row[i];
            if (lists->bin[row] == b) {
                assert(lists->slot[row] >= 0 && lists->slot[row] < bin->own);
                gid[lists->slot[row]] = part->gid[row];
                *(*own)++ = lists->slot[row];
            }
        }
        for (int64_t i = from->leaf_offset[p]; i < from->leaf_offset[p + 1]; ++i) {
            if (lists->bin[from->leaf_row[i]] == b) {
                const int64_t row = bin->own + (*leaf - first_leaf);
                gid[row] = part->gid[from->leaf_row[i]];
                *(*leaf)++ = (int32_t)row;
            }
        }
    }
    own_offset[part->parts] = *own - first_own;
    leaf_offset[part->parts] = *leaf - first_leaf;
    bin->lists = (comm_halo_desc){.n_local = bin->own + bin->leaf,
                                  .own_offset = own_offset,
                                  .own_row = first_own,
                                  .leaf_offset = leaf_offset,
                                  .leaf_row = first_leaf,
                                  .gid = gid};
}

static weft_status prepare(const weft_part *part, const part_halo *from, lists_by_bin *lists, halo_bins *bins)
{
    WEFT_TRY(WEFT_NEW_ZERO(&bins->bin, bins->count, WEFT_MEM_GRAPH));
    WEFT_TRY(lists_reserve(part, from, lists, bins));
    sort_rows(part, from, lists, bins);
    WEFT_TRY(WEFT_NEW(&bins->packed_gid, bins->own + bins->leaf + 1, WEFT_MEM_GRAPH));
    int32_t *own = bins->packed_row, *leaf = bins->packed_row + from->own_offset[part->parts];
    for (int b = 0; b < bins->count; ++b) {
        pack_lists(part, from, b, lists, bins, &own, &leaf);
    }
    WEFT_TRY(upload_rows(bins->hal, lists->own_row, bins->own, &bins->own_row));
    return upload_rows(bins->hal, lists->leaf_row, bins->leaf, &bins->leaf_row);
}

weft_status halo_bins_create(weft_hal *hal, const weft_part *part, const part_halo *lists, int count, halo_bins *bins)
{
    lists_by_bin by_bin = {.bin = NULL};
    *bins = (halo_bins){.hal = hal, .count = count};
    const weft_status status = prepare(part, lists, &by_bin, bins);
    WEFT_FREE_ALL(by_bin.bin, by_bin.slot, by_bin.own_row, by_bin.leaf_row);
    return status;
}

void halo_bins_destroy(halo_bins *bins)
{
    if (bins->hal == NULL) {
        return;
    }
    if (bins->own_row != NULL) {
        bins->hal->mem.free(bins->hal, bins->own_row);
    }
    if (bins->leaf_row != NULL) {
        bins->hal->mem.free(bins->hal, bins->leaf_row);
    }
    WEFT_FREE_ALL(bins->bin, bins->offset, bins->packed_row, bins->packed_gid);
    *bins = (halo_bins){.hal = NULL};
}
