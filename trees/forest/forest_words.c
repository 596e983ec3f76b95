/* trees/forest/forest_words.c: see trees/forest/forest_words.h. */
#include "trees/forest/forest_words.h"

#include <stdlib.h>
#include <string.h>

#include "trees/forest/forest_format.h"

/* Column and code of the key of a word; false: it is none. */
static bool is_word_key(const char *key, int columns, int *column, int64_t *code)
{
    char *end = NULL;
    const size_t bytes = strlen(FOREST_WORD_KEY);
    if (strncmp(key, FOREST_WORD_KEY, bytes) != 0) {
        return false;
    }
    const long c = strtol(key + bytes, &end, 10);
    *column = (int)c;
    if (c < 0 || c >= columns || *end != '_') {
        return false;
    }
    *code = strtol(end + 1, &end, 10);
    return *end == '\0' && *code >= 0 && *code < TREE_CODES_MAX;
}

/* Lists the words of one column. text: [TREE_CODES_MAX] of zeros, and again when this returns. */
static weft_status list_words(const char *name, forest_facts *facts, int column, int64_t count, const char **text)
{
    weft_status status = WEFT_OK;
    for (int64_t i = 0; status == WEFT_OK && i < count; ++i) {
        const bool ordered = text[i] != NULL && (i == 0 || strcmp(text[i - 1], text[i]) < 0);
        status = ordered ? WEFT_OK
                         : weft_fail(WEFT_ERR_DATA,
                                     "%s: column %d: the word of category %lld is missing, or comes "
                                     "before that of the category before",
                                     name, column + 1, (long long)i);
    }
    status = status == WEFT_OK && count > 0 ? name_list_copy(text, count, &facts->words[column]) : status;
    memset(text, 0, (size_t)count * sizeof *text);
    return status;
}

/* Words stand in runs of one column, as this program writes them. */
weft_status forest_words_read(const char *name, const json_value *attributes, forest_facts *facts)
{
    const char **text = NULL;
    int64_t code = 0, count = 0;
    int column = 0, of = -1;
    weft_status status = WEFT_NEW_ZERO(&text, TREE_CODES_MAX, WEFT_MEM_WORKSPACE);
    for (const json_value *v = attributes != NULL ? attributes->child : NULL; status == WEFT_OK && v != NULL;
         v = v->next) {
        if (v->kind != JSON_TEXT || !is_word_key(v->key, facts->columns, &column, &code)) {
            continue;
        }
        if (facts->words == NULL) {
            status = WEFT_NEW_ZERO(&facts->words, facts->columns, WEFT_MEM_TREES);
        }
        if (status == WEFT_OK && column != of) {
            status = of >= 0 ? list_words(name, facts, of, count, text) : status;
            count = 0;
            of = column;
        }
        if (status == WEFT_OK && facts->words[column].text != NULL) {
            status = weft_fail(WEFT_ERR_DATA, "%s: the words of column %d stand apart", name, column + 1);
        }
        text[code] = v->text;
        count = code >= count ? code + 1 : count;
    }
    status = status == WEFT_OK && of >= 0 ? list_words(name, facts, of, count, text) : status;
    weft_free(text);
    return status;
}
