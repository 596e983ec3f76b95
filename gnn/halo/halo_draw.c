/* gnn/halo/halo_draw.c: see gnn/halo/halo_draw.h. */
#include "gnn/halo/halo_draw.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"

static weft_status lists_reserve(const part_halo *from, int parts, part_halo *to)
{
    WEFT_TRY(WEFT_NEW(&to->own_offset, parts + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&to->leaf_offset, parts + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&to->own_row, from->own_offset[parts] + 1, WEFT_MEM_GRAPH));
    return WEFT_NEW(&to->leaf_row, from->leaf_offset[parts] + 1, WEFT_MEM_GRAPH);
}

weft_status halo_draw_create(const weft_part *part, const part_halo *lists, halo_draw *draw)
{
    const int parts = part->parts;
    const size_t offsets = (size_t)(parts + 1) * sizeof(int64_t);
    *draw = (halo_draw){.parts = parts, .n_local = part->n_local};
    WEFT_TRY(WEFT_NEW(&draw->gid, part->n_local + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(lists_reserve(lists, parts, &draw->all));
    WEFT_TRY(lists_reserve(lists, parts, &draw->some));
    memcpy(draw->gid, part->gid, (size_t)part->n_local * sizeof *draw->gid);
    memcpy(draw->all.own_offset, lists->own_offset, offsets);
    memcpy(draw->all.leaf_offset, lists->leaf_offset, offsets);
    memcpy(draw->all.own_row, lists->own_row, (size_t)lists->own_offset[parts] * sizeof *lists->own_row);
    memcpy(draw->all.leaf_row, lists->leaf_row, (size_t)lists->leaf_offset[parts] * sizeof *lists->leaf_row);
    return WEFT_OK;
}

static bool is_drawn(int64_t gid, double probability, const halo_draw_key *key)
{
    const philox_block random =
        philox4x32(philox_counter(key->destinations, (uint64_t)gid, WEFT_RNG_HALO_DRAW, key->epoch), key->seed);
    return (double)random.word[0] < probability * 0x1p32;
}

static void draw_side(const halo_draw *draw, double probability, const halo_draw_key *key, const int64_t *offset,
                      const int32_t *row, int64_t *some_offset, int32_t *some_row)
{
    int64_t count = 0;
    for (int p = 0; p < draw->parts; ++p) {
        some_offset[p] = count;
        for (int64_t i = offset[p]; i < offset[p + 1]; ++i) {
            assert(count <= i && row[i] < draw->n_local);
            if (is_drawn(draw->gid[row[i]], probability, key)) {
                some_row[count++] = row[i];
            }
        }
    }
    some_offset[draw->parts] = count;
}

static comm_halo_desc desc_of(const halo_draw *draw, const part_halo *lists)
{
    return (comm_halo_desc){.n_local = draw->n_local,
                            .own_offset = lists->own_offset,
                            .own_row = lists->own_row,
                            .leaf_offset = lists->leaf_offset,
                            .leaf_row = lists->leaf_row,
                            .gid = draw->gid};
}

comm_halo_desc halo_draw_some(halo_draw *draw, double probability, const halo_draw_key *key)
{
    const part_halo *all = &draw->all;
    draw_side(draw, probability, key, all->own_offset, all->own_row, draw->some.own_offset, draw->some.own_row);
    draw_side(draw, probability, key, all->leaf_offset, all->leaf_row, draw->some.leaf_offset, draw->some.leaf_row);
    return desc_of(draw, &draw->some);
}

comm_halo_desc halo_draw_all(const halo_draw *draw)
{
    return desc_of(draw, &draw->all);
}

void halo_draw_destroy(halo_draw *draw)
{
    part_halo_free(&draw->all);
    part_halo_free(&draw->some);
    weft_free(draw->gid);
    *draw = (halo_draw){.parts = 0};
}
