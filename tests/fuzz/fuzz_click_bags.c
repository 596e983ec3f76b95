/* libFuzzer: the bytes behind the first line are cells of several ids, one a line, and the first line is what separates
 * them. Ids have no separator and no blanks around, and are those that a search from the end finds, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clicks/data/click_bags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Ids of a cell, counted by one byte after the other. */
static int64_t count_plainly(const char *at, const char *end, const char *separator)
{
    const size_t length = strlen(separator);
    int64_t count = 0;
    bool inside = false;
    while (at < end) {
        if ((size_t)(end - at) >= length && memcmp(at, separator, length) == 0) {
            inside = false;
            at += length;
            continue;
        }
        count += !inside && !is_blank(*at);
        inside = inside || !is_blank(*at);
        ++at;
    }
    return count;
}

static int64_t check_cell(const char *text, const char *end, const char *separator)
{
    int64_t count = 0;
    for (const char *at = text; at != NULL;) {
        size_t bytes = 0;
        const char *id = click_bag_next(&at, end, separator, &bytes);
        need(id >= text && id + bytes <= end && (at == NULL || (at > text && at <= end)));
        need(bytes == 0 || (!is_blank(id[0]) && !is_blank(id[bytes - 1])));
        need(memmem(id, bytes, separator, strlen(separator)) == NULL);
        count += bytes > 0;
    }
    need(count == count_plainly(text, end, separator));
    return count;
}

static void check_all(const char *text, const char *end, const char *separator, table_words *words)
{
    click_bag_cells cells = {0};
    for (const char *at = text; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        int32_t code = 0;
        line = line == NULL ? end : line;
        need(words_add(words, 0, at, (size_t)(line - at), &code) == WEFT_OK);
        at = line + 1;
    }
    need(click_bag_split(words, separator, &cells) == WEFT_OK && cells.cells == words_count(words));
    for (int64_t i = 0; i < cells.cells && cells.too_long < 0; ++i) {
        size_t bytes = 0;
        const char *cell = words_text(words, i, &bytes);
        need(check_cell(cell, cell + bytes, separator) == cells.at[i + 1] - cells.at[i]);
    }
    click_bag_free(&cells);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = memchr(data, '\n', size);
    const size_t length = line == NULL ? 0 : (size_t)(line - data);
    char separator[64];
    table_words *words = NULL;
    if (length == 0 || length >= sizeof separator || memchr(data, '\0', length) != NULL) {
        return 0;
    }
    memcpy(separator, data, length);
    separator[length] = '\0';
    if (words_create(1, &words) == WEFT_OK) {
        check_all((const char *)line + 1, (const char *)data + size, separator, words);
    }
    words_free(words);
    return 0;
}
