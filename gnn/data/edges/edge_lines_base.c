/* gnn/data/edges/edge_lines_base.c: see gnn/data/edges/edge_lines.h; eight bytes of text at a time in one register. */
#include <stdbool.h>
#include <string.h>

#include "gnn/data/edges/edge_lines.h"
#include "io/text/text_source.h"

/* The number of up to seven digits that the eight bytes at `at` begin with, and how many they are; 0: none, or more.
 * All digits at once: those that lie before the first other byte become the low end of a number of eight digits, whose
 * neighbours are put together three times. */
static inline int short_number(const char *at, int64_t *number)
{
    *number = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t each = 0x0101010101010101;
    uint64_t text;
    memcpy(&text, at, sizeof text);
    text ^= each * '0';
    const uint64_t others = (text + each * (0x80 - 10)) | text; /* the high bit: above 9; right up to the first such */
    if ((others & each * 0x80) == 0) {
        return 0;
    }
    const int digits = __builtin_ctzll(others & each * 0x80) / 8;
    text = digits == 0 ? 0 : text << (64 - 8 * digits);
    text = (text * 10 + (text >> 8)) & 0x00ff00ff00ff00ff;
    text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffff;
    *number = (int64_t)((text * 10000 + (text >> 32)) & 0xffffffff);
    return digits;
#else
    (void)at;
    return 0;
#endif
}

static inline bool in_range(const edge_ids *ids, int64_t number)
{
    return number >= ids->first && number <= ids->last;
}

/* Moves past the line; false: it is another one. */
static inline bool read_line(const edge_ids *ids, const char **at, int32_t *pair)
{
    const char *p = *at;
    int64_t from, to;
    const int first = short_number(p, &from);
    p += first;
    const bool apart = *p == ' ' || *p == '\t' || *p == ',';
    const int second = short_number(p + 1, &to);
    p += 1 + second;
    if (first == 0 || second == 0 || !apart || !text_at_end(p) || !in_range(ids, from) || !in_range(ids, to)) {
        return false;
    }
    pair[0] = (int32_t)(from - ids->first);
    pair[1] = (int32_t)(to - ids->first);
    *at = text_past_end(p);
    return true;
}

int64_t edge_lines_base(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                        int64_t room)
{
    const char *first = text[0], *second = text[1];
    int64_t count = 0;
    bool common = true;
    while (common && count + 2 <= room && first < end[0] && second < end[1]) {
        const bool one = read_line(ids, &first, pairs + 2 * count);
        count += one;
        common = read_line(ids, &second, pairs + 2 * count);
        count += common;
        common = common && one;
    }
    text[0] = first;
    text[1] = second;
    return count;
}
