/*
 * table/rows/csv_scan_body.h: what the kernels of table/rows/csv_scan.h share. Included once by each after
 * CSV_NAME(x), and after
 *
 *   csv_vector, csv_load(text), csv_equal(vector, byte)      64 bytes of text, and a bit for each that equals the byte
 *   CSV_PUT                     csv_put_each, or another function that writes the places of bits
 */
#include <string.h>

/* Bit i of the result: an odd number of bits 0 .. i of the mask is set. */
static inline uint64_t odd_before(uint64_t mask)
{
    mask ^= mask << 1;
    mask ^= mask << 2;
    mask ^= mask << 4;
    mask ^= mask << 8;
    mask ^= mask << 16;
    return mask ^ mask << 32;
}

/* Bits that are inside quotes, the opening quote among them. [in/out] inside: of the byte before. */
static inline uint64_t inside_quotes(uint64_t quotes, uint64_t *inside)
{
    if (quotes == 0) {
        return *inside;
    }
    const uint64_t mask = odd_before(quotes) ^ *inside;
    *inside = (uint64_t)((int64_t)mask >> 63);
    return mask;
}

static inline uint64_t first_bits(size_t bytes)
{
    return bytes >= CSV_STEP ? ~UINT64_C(0) : (UINT64_C(1) << bytes) - 1;
}

/* Writes at + i for each bit i; up to CSV_STEP places may be written. Returns the number of bits. */
static inline size_t csv_put_each(uint64_t bits, uint32_t at, uint32_t *place)
{
    size_t found = 0;
    for (; bits != 0; bits &= bits - 1) {
        place[found++] = at + (uint32_t)__builtin_ctzll(bits);
    }
    return found;
}

csv_found CSV_NAME(csv_places)(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside,
                               uint32_t *place)
{
    csv_found found = {.places = 0};
    for (size_t at = 0; at < bytes; at += CSV_STEP) {
        const csv_vector part = csv_load(text + at);
        const uint64_t held = first_bits(bytes - at);
        const uint64_t quotes = marks->quote != '\0' ? csv_equal(part, marks->quote) & held : 0;
        const uint64_t outside = held & ~inside_quotes(quotes, inside);
        const uint64_t lines = csv_equal(part, '\n') & outside;
        const uint64_t ends = (csv_equal(part, marks->separator) & outside) | lines;
        found.lines += (size_t)__builtin_popcountll(lines);
        found.places += CSV_PUT(ends, (uint32_t)at, place + found.places);
    }
    return found;
}

csv_count CSV_NAME(csv_count)(const csv_marks *marks, const char *text, size_t bytes)
{
    csv_count count = {.quotes = 0};
    uint64_t inside = 0;
    uint64_t line_before = (uint64_t)(text[-1] == '\n') | (uint64_t)(text[-2] == '\n') << 1;
    uint64_t return_before = text[-1] == '\r';
    for (size_t at = 0; at < bytes; at += CSV_STEP) {
        const csv_vector part = csv_load(text + at);
        const uint64_t held = first_bits(bytes - at);
        const uint64_t lines = csv_equal(part, '\n') & held;
        const uint64_t returns = csv_equal(part, '\r') & held;
        const uint64_t quotes = marks->quote != '\0' ? csv_equal(part, marks->quote) & held : 0;
        const uint64_t one_before = lines << 1 | (line_before & 1);
        const uint64_t two_before = lines << 2 | (line_before & 1) << 1 | line_before >> 1;
        const uint64_t rows = lines & ~(one_before | ((returns << 1 | return_before) & two_before));
        const uint64_t mask = inside_quotes(quotes, &inside);
        count.quotes += __builtin_popcountll(quotes);
        count.rows[0] += __builtin_popcountll(rows & ~mask);
        count.rows[1] += __builtin_popcountll(rows & mask);
        line_before = lines >> 63 | (lines >> 62 & 1) << 1;
        return_before = returns >> 63;
    }
    return count;
}
