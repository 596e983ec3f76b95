/*
 * gnn/data/edges/edge_lines_body.h: what the vector kernels of gnn/data/edges/edge_lines.h share. Included once by each
 * after VECTOR, how many numbers it computes at once, and EDGE_LINES, its name, are defined.
 *
 * A span of text is looked at twice. First for where its numbers end, 64 bytes at a time: what is no digit must be a
 * separator and the end of a line in turn. Then VECTOR numbers at a time: the bytes that follow each beginning are
 * shifted so that its digits are the low end of a number of eight digits, and neighbours are put together three times.
 * (The two steps as in Langdale and Lemire, Parsing Gigabytes of JSON per Second, VLDB Journal 2019.)
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "gnn/data/edges/edge_lines.h"
#include "io/text/text_source.h"

/* SPAN: bytes looked at before their numbers are computed, all in the first-level cache. A line has four bytes or more.
 * EIGHT: digits of a number that vectors compute. */
enum { SPAN = 4096, STEP = 64, EIGHT = 8, DIGITS_MOST = 18, BASE_LINES = 64 };
_Static_assert((int)STEP <= (int)TEXT_PAD, "what is read past the end may be read");
_Static_assert(SPAN / 4 <= (int)EDGE_LINES_ROOM && (int)BASE_LINES <= (int)EDGE_LINES_ROOM, "pairs find room");

/* place[] = where the numbers of common lines in text[0 .. bytes) end, and so their lines; up to the first byte that
 * does not belong into one. Returns how many; writes up to STEP places too many. */
static int64_t find_ends(const char *text, int64_t bytes, int32_t *place);

/* The VECTOR numbers that end at place[0], place[1], ...; place[-1] is where the one before them ends. False: one is
 * longer than EIGHT digits, or not good. */
static bool read_vector(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out);

static inline int64_t eight_bytes(const char *text)
{
    int64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return bytes;
}

/* As read_vector, one by one. False: one is not good. */
static bool read_closely(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out)
{
    for (int i = 0; i < VECTOR; ++i) {
        int64_t number = 0;
        const int32_t begin = place[i - 1] + 1;
        if (place[i] - begin < 1 || place[i] - begin > DIGITS_MOST) {
            return false;
        }
        for (int32_t at = begin; at < place[i]; ++at) {
            number = 10 * number + (text[at] - '0');
        }
        if (number < ids->first || number > ids->last) {
            return false;
        }
        out[i] = (int32_t)(number - ids->first);
    }
    return true;
}

/* Common lines of one place, while a span's pairs find room. */
static int64_t read_lines(const edge_ids *ids, const char **text, const char *end, int32_t *pairs, int64_t room)
{
    int32_t held[VECTOR + SPAN + STEP];
    int32_t *const place = held + VECTOR;
    int64_t count = 0;
    place[-1] = -1;
    for (bool more = true; more && room - count >= SPAN / 4;) {
        const char *from = *text;
        int32_t *out = pairs + 2 * count;
        const int64_t found = find_ends(from, end - from < SPAN ? end - from : SPAN, place);
        int64_t done = 0;
        while (done + VECTOR <= found && (read_vector(ids, from, place + done, out + done) ||
                                          read_closely(ids, from, place + done, out + done))) {
            done += VECTOR;
        }
        *text = from + place[done - 1] + 1;
        count += done / 2;
        more = done > 0;
    }
    return count;
}

int64_t EDGE_LINES(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs, int64_t room)
{
    int64_t count = 0;
    for (int i = 0; i < 2; ++i) {
        count += read_lines(ids, &text[i], end[i], pairs + 2 * count, room - count);
    }
    /* Not one vector of them: other lines, which may be common to the plain kernel, or the last few. */
    return count > 0 ? count : edge_lines_base(ids, text, end, pairs, BASE_LINES);
}
