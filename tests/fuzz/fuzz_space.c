/*
 * Fuzz target: any bytes as the space of a search. What is accepted has values whose coordinates give them back, and
 * the rest keeps the other lines. Memory: a line's values are a list of numbers with their texts.
 */
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "tune/space/space_read.h"
#include "tune/space/space_rules.h"

enum { OVERHEAD = 1 << 20, BYTES_PER_BYTE = 512 };

static void check_dimension(const space_dimension *dimension)
{
    char text[SPACE_TEXT_MAX];
    const double ends[] = {dimension->low, dimension->high};
    for (int i = 0; i < 2; i++) {
        const double value = space_value(dimension, space_coordinate(dimension, ends[i]));
        if (!(value >= dimension->low && value <= dimension->high) ||
            space_value_text(dimension, value, text)[0] == '\0') {
            abort();
        }
    }
}

/* Settling values a second time changes none of them, and constraints allow the same values before and after. */
static void check_rules(const search_space *space)
{
    double values[SPACE_DIMENSIONS_MAX] = {0}, again[SPACE_DIMENSIONS_MAX];
    for (int end = 0; end < 2; end++) {
        for (int d = 0; d < space->count; d++) {
            values[d] = end == 0 ? space->dimension[d].low : space->dimension[d].high;
        }
        const bool allowed = space_allows(space, values);
        space_settle(space, values);
        memcpy(again, values, sizeof again);
        space_settle(space, again);
        if (memcmp(values, again, (size_t)space->count * sizeof *values) != 0 ||
            space_allows(space, again) != allowed) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    search_space space;
    char *rest;
    if (space_read("fuzz", (const char *)data, size, &space, &rest) == WEFT_OK) {
        for (int d = 0; d < space.count; d++) {
            check_dimension(&space.dimension[d]);
        }
        check_rules(&space);
        if (strlen(rest) != size) {
            abort();
        }
        weft_free(rest);
        space_free(&space);
    }
    largest = size > largest ? size : largest;
    fuzz_check_memory(OVERHEAD + (uint64_t)largest * BYTES_PER_BYTE);
    return 0;
}
