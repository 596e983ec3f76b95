/* partition/given/given_array.c: see partition/given/given_array.h. */
#include "partition/given/given_array.h"

#include "io/npy.h"

enum { PIECE = 4096 };

static weft_status read_pieces(const char *path, const npy_map *map, int64_t count,
                               weft_status (*take)(void *self, int64_t element, int64_t value), void *self)
{
    int64_t value[PIECE];
    const char *at = map->data;
    for (int64_t first = 0; first < count; first += PIECE) {
        const int64_t more = count - first < PIECE ? count - first : PIECE;
        WEFT_TRY(npy_convert_i64(path, &map->header, at + first * map->header.item_bytes, first, more, value));
        for (int64_t i = 0; i < more; ++i) {
            WEFT_TRY(take(self, first + i, value[i]));
        }
    }
    return WEFT_OK;
}

weft_status given_array_read(const char *path, int64_t count,
                             weft_status (*take)(void *self, int64_t element, int64_t value), void *self)
{
    weft_status status = WEFT_OK;
    npy_map map;
    WEFT_TRY(npy_map_open(path, &map));
    const npy_header *header = &map.header;
    WEFT_CHECK_GOTO(header->dims == 1 && header->shape[0] == count, status, done, WEFT_ERR_DATA,
                    "%s: %d dimensions and %lld elements, expected one dimension of the graph's %lld vertices", path,
                    header->dims, (long long)header->count, (long long)count);
    WEFT_CHECK_GOTO(!header->big_endian, status, done, WEFT_ERR_DATA,
                    "%s: big-endian: save it with numpy.save(NAME, array.astype(numpy.int64))", path);
    status = read_pieces(path, &map, count, take, self);
done:
    npy_map_close(&map);
    return status;
}
