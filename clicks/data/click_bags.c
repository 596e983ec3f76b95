/* clicks/data/click_bags.c: see clicks/data/click_bags.h. */
#include "clicks/data/click_bags.h"

#include <string.h>

#include "clicks/data/click_rows.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Where the separator occurs first, or NULL. A cell may hold any bytes. */
static const char *find(const char *at, const char *end, const char *separator)
{
    return memmem(at, (size_t)(end - at), separator, strlen(separator));
}

const char *click_bag_next(const char **at, const char *end, const char *separator, size_t *bytes)
{
    const char *id = *at, *next = find(id, end, separator);
    const char *last = next == NULL ? end : next;
    *at = next == NULL ? NULL : next + strlen(separator);
    while (id < last && is_blank(*id)) {
        ++id;
    }
    while (last > id && is_blank(last[-1])) {
        --last;
    }
    *bytes = (size_t)(last - id);
    return id;
}

static bool looks_printed(const char *text, size_t bytes)
{
    return bytes > 2 && text[0] == '[' && text[bytes - 1] == ']' && memchr(text, ',', bytes) != NULL;
}

/* Calls words_add for each id of a cell. [out] count, gaps: ids, and places without one. to: codes, or NULL. */
static weft_status split_cell(const char *text, size_t bytes, const char *separator, table_words *words, int32_t *to,
                              int64_t *count, int64_t *gaps)
{
    const char *at = text;
    *count = *gaps = 0;
    while (at != NULL) {
        size_t length = 0;
        const char *id = click_bag_next(&at, text + bytes, separator, &length);
        if (length == 0) {
            *gaps += 1;
            continue;
        }
        if (to != NULL) {
            WEFT_TRY(words_add(words, 0, id, length, &to[*count]));
        }
        *count += 1;
    }
    return WEFT_OK;
}

static void note_first(int64_t *first, int64_t cell)
{
    *first = *first < 0 ? cell : *first;
}

/* Counts the ids of each cell, and what is odd about it. */
static weft_status count_cells(const table_words *column, const char *separator, click_bag_cells *c)
{
    const bool blank = is_blank(separator[0]); /* several blanks are one separator */
    for (int64_t i = 0; i < c->cells && c->too_long < 0; ++i) {
        size_t bytes = 0;
        int64_t count = 0, gaps = 0;
        const char *text = words_text(column, i, &bytes);
        WEFT_TRY(split_cell(text, bytes, separator, NULL, NULL, &count, &gaps));
        c->at[i + 1] = c->at[i] + count;
        c->longest = count > c->longest ? count : c->longest;
        c->joined += find(text, text + bytes, separator) != NULL;
        if (gaps > 0 && !blank) {
            note_first(&c->gap, i);
            c->gaps += 1;
        }
        if (looks_printed(text, bytes)) {
            note_first(&c->printed, i);
        }
        if (count > CLICK_BAG_MOST) {
            c->too_long = i;
        }
    }
    return WEFT_OK;
}

weft_status click_bag_split(const table_words *column, const char *separator, click_bag_cells *c)
{
    *c = (click_bag_cells){.cells = words_count(column), .gap = -1, .printed = -1, .too_long = -1};
    WEFT_TRY(WEFT_NEW_ZERO(&c->at, c->cells + 1, WEFT_MEM_CLICKS));
    WEFT_TRY(words_create(1, &c->words));
    WEFT_TRY(count_cells(column, separator, c));
    if (c->too_long >= 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&c->word, c->at[c->cells], WEFT_MEM_CLICKS));
    for (int64_t i = 0; i < c->cells && c->word != NULL; ++i) {
        size_t bytes = 0;
        int64_t count = 0, gaps = 0;
        const char *text = words_text(column, i, &bytes);
        WEFT_TRY(split_cell(text, bytes, separator, c->words, c->word + c->at[i], &count, &gaps));
    }
    return WEFT_OK;
}

void click_bag_free(click_bag_cells *c)
{
    WEFT_FREE_ALL(c->at, c->word);
    words_free(c->words);
    *c = (click_bag_cells){0};
}
