/* table/store/table_ranks.c: see table/store/table_ranks.h. */
#include "table/store/table_ranks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

typedef struct rank_status {
    int32_t status;
    char message[1020];
} rank_status;

weft_status ranks_agree(const table_exchange *exchange, weft_status status)
{
    rank_status own = {.status = (int32_t)status};
    void *all;
    size_t *bytes_of;
    if (exchange == NULL) {
        return status;
    }
    if (status != WEFT_OK) {
        snprintf(own.message, sizeof own.message, "%s", weft_error_message());
    }
    WEFT_TRY(exchange->gather(exchange->self, &own, sizeof own, &all, &bytes_of));
    const rank_status *of = all;
    weft_status agreed = WEFT_OK;
    for (int r = 0; r < exchange->ranks && agreed == WEFT_OK; r++) {
        if (of[r].status != WEFT_OK) {
            agreed = weft_fail((weft_status)of[r].status, "%s", of[r].message);
        }
    }
    weft_free(all);
    weft_free(bytes_of);
    return agreed;
}

weft_status ranks_add_tallies(const table_exchange *exchange, table_tally *tally, int64_t columns)
{
    void *all;
    size_t *bytes_of;
    if (exchange == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(exchange->gather(exchange->self, tally, (size_t)columns * sizeof *tally, &all, &bytes_of));
    const table_tally *of = all;
    for (int64_t j = 0; j < columns; j++) {
        tally[j] = TABLE_TALLY_NONE;
        for (int r = 0; r < exchange->ranks; r++) {
            schema_add_tally(&tally[j], &of[r * columns + j]);
        }
    }
    weft_free(all);
    weft_free(bytes_of);
    return WEFT_OK;
}

/* ---- words ---- */

/* Words behind each other: column, length, text. [out] bytes; text: room for them, or NULL to count only. */
static size_t pack_words(const table_schema *schema, char *text)
{
    size_t at = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        const table_words *words = schema->field[j].words;
        for (int64_t i = 0; words != NULL && i < words_count(words); i++) {
            size_t bytes;
            const char *word = words_text(words, i, &bytes);
            const int64_t head[2] = {j, (int64_t)bytes};
            if (text != NULL) {
                memcpy(text + at, head, sizeof head);
                memcpy(text + at + sizeof head, word, bytes);
            }
            at += sizeof head + bytes;
        }
    }
    return at;
}

static weft_status unpack_words(table_schema *schema, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        int64_t head[2];
        int32_t code;
        memcpy(head, text + at, sizeof head);
        at += sizeof head;
        assert(head[0] >= 0 && head[0] < schema->count && schema->field[head[0]].words != NULL);
        WEFT_TRY(words_add(schema->field[head[0]].words, 0, text + at, (size_t)head[1], &code));
        at += (size_t)head[1];
    }
    return WEFT_OK;
}

weft_status ranks_share_words(const table_exchange *exchange, table_schema *schema)
{
    char *own = NULL;
    void *all = NULL;
    size_t *bytes_of = NULL, total = 0;
    if (exchange == NULL) {
        return WEFT_OK;
    }
    /* A rank without memory hands in nothing, so that no other waits for it. */
    size_t bytes = pack_words(schema, NULL);
    const weft_status packed = weft_malloc(bytes + 1, 1, WEFT_MEM_WORKSPACE, (void **)&own);
    bytes = packed == WEFT_OK ? pack_words(schema, own) : 0;
    weft_status status = exchange->gather(exchange->self, own, bytes, &all, &bytes_of);
    status = status == WEFT_OK ? packed : status;
    for (int r = 0; status == WEFT_OK && r < exchange->ranks; r++) {
        total += bytes_of[r];
    }
    status = status == WEFT_OK ? unpack_words(schema, all, total) : status;
    weft_free(own);
    weft_free(all);
    weft_free(bytes_of);
    return status;
}
