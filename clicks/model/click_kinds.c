/* clicks/model/click_kinds.c: see clicks/model/click_kinds.h. */
#include "clicks/model/click_kinds.h"

#include <assert.h>
#include <string.h>

const click_kind_row *click_kind_of(click_kind kind)
{
    static const click_kind_row rows[CLICK_KINDS] = {
        [CLICK_LR] = {.linear = true},
        [CLICK_FM] = {.linear = true, .fm = true, .vectors = true},
        [CLICK_WIDE_DEEP] = {.linear = true, .vectors = true, .part = {[CLICK_PART_DEEP] = true}},
        [CLICK_DEEPFM] = {.linear = true, .fm = true, .vectors = true, .part = {[CLICK_PART_DEEP] = true}},
        [CLICK_DCN] = {.vectors = true, .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_CROSSED] = true}},
        [CLICK_DCN_V2] = {.vectors = true, .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_MATRIX] = true}},
        [CLICK_DLRM] = {.vectors = true, .part = {[CLICK_PART_DOTS] = true}},
        [CLICK_XDEEPFM] = {.linear = true,
                           .vectors = true,
                           .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_CIN] = true}},
        [CLICK_PARTS] = {.linear = true, .vectors = true},
    };
    assert(kind >= 0 && kind < CLICK_KINDS);
    return &rows[kind];
}

/* CLICK_PART_NET has no word. */
static const char *const PART_WORD[CLICK_PART_KINDS] = {[CLICK_PART_CIN] = "cin",
                                                        [CLICK_PART_MATRIX] = "matrix",
                                                        [CLICK_PART_CROSSED] = "crossed",
                                                        [CLICK_PART_DEEP] = "deep",
                                                        [CLICK_PART_DOTS] = "dots"};

/* Where the row says whether it has the part of this word; NULL: there is no such part. */
static bool *find_part(click_kind_row *row, const char *word, size_t bytes)
{
    static const char fm[] = "fm";
    if (bytes == strlen(fm) && memcmp(word, fm, bytes) == 0) {
        return &row->fm;
    }
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        if (PART_WORD[p] != NULL && bytes == strlen(PART_WORD[p]) && memcmp(word, PART_WORD[p], bytes) == 0) {
            return &row->part[p];
        }
    }
    return NULL;
}

weft_status click_read_parts(const char *flag, const char *text, click_kind_row *row)
{
    const char *next = text;
    *row = *click_kind_of(CLICK_PARTS);
    while (*next != '\0') {
        const size_t bytes = strcspn(next, ",");
        bool *part = find_part(row, next, bytes);
        WEFT_CHECK(part != NULL && (next[bytes] == '\0' || next[bytes + 1] != '\0'), WEFT_ERR_USAGE,
                   "%s %s: \"%.*s\" is no part of a model: fm, deep, crossed, matrix, cin and dots are, with commas "
                   "between them",
                   flag, text, (int)bytes, next);
        WEFT_CHECK(!*part, WEFT_ERR_USAGE, "%s %s: %.*s is named twice", flag, text, (int)bytes, next);
        *part = true;
        next += bytes + (next[bytes] == ',' ? 1 : 0);
    }
    return WEFT_OK;
}
