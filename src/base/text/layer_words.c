/* base/text/layer_words.c: see base/text/layer_words.h. */
#include "base/text/layer_words.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/number.h"

/* Some editors of Windows begin UTF-8 with it. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static weft_status split_line(const char *begin, const char *end, layer_words *words)
{
    words->count = 0;
    while (begin < end && *begin != '#') {
        if (is_blank(*begin)) {
            ++begin;
            continue;
        }
        const char *stop = begin;
        while (stop < end && !is_blank(*stop) && *stop != '#') {
            ++stop;
        }
        const size_t length = (size_t)(stop - begin);
        WORDS_CHECK(words, length < LAYER_WORD_BYTES, "a word of %zu letters; at most %d", length,
                    LAYER_WORD_BYTES - 1);
        WORDS_CHECK(words, words->count < LAYER_WORDS_MOST, "more than %d words", LAYER_WORDS_MOST);
        memcpy(words->word[words->count], begin, length);
        words->word[words->count++][length] = '\0';
        begin = stop;
    }
    return WEFT_OK;
}

weft_status layer_words_each(const char *text, const char *where,
                             weft_status (*take)(void *context, layer_words *words), void *context)
{
    layer_words words = {.where = where};
    text += strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0 ? strlen(BYTE_ORDER_MARK) : 0;
    for (const char *begin = text; *begin != '\0';) {
        const char *end = begin + strcspn(begin, "\n");
        ++words.line;
        WEFT_TRY(split_line(begin, end, &words));
        WEFT_TRY(words.count > 0 ? take(context, &words) : WEFT_OK);
        begin = *end == '\n' ? end + 1 : end;
    }
    return WEFT_OK;
}

static bool is_name(const char *text)
{
    if (text[0] == '\0' || strlen(text) >= LAYER_NAME_BYTES) {
        return false;
    }
    for (; *text != '\0'; ++text) {
        const char c = *text;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
              c == '-')) {
            return false;
        }
    }
    return true;
}

weft_status layer_words_name(layer_words *words, char *name)
{
    char *first = words->word[0];
    const size_t length = strlen(first);
    name[0] = '\0';
    if (words->count < 2 || first[length - 1] != ':') {
        return WEFT_OK;
    }
    first[length - 1] = '\0';
    WORDS_CHECK(words, is_name(first), "name '%s': at most %d letters, digits, '.', '_' and '-'", first,
                LAYER_NAME_BYTES - 1);
    memcpy(name, first, length);
    --words->count;
    memmove(words->word[0], words->word[1], (size_t)words->count * sizeof words->word[0]);
    return WEFT_OK;
}

weft_status layer_words_kind(const layer_words *words, const char *word, const char *const *names, int count,
                             const char *example, int *kind)
{
    for (*kind = 0; *kind < count; ++*kind) {
        if (strcmp(names[*kind], word) == 0) {
            return WEFT_OK;
        }
    }
    const char *near = nearest_word(word, names, count);
    return weft_fail(WEFT_ERR_DATA, "%s: line %d: no kind of layer '%s'%s%s%s", words->where, words->line, word,
                     near != NULL ? "; did you mean " : ": ", near != NULL ? near : example, near != NULL ? "?" : "");
}

weft_status layer_words_count(const layer_words *words, const char *what, const char *text, int64_t least, int64_t most,
                              int64_t *value)
{
    WORDS_CHECK(words, number_parse_int(text, value) && *value >= least && *value <= most,
                "%s '%s' is not a whole number from %lld to %lld", what, text, (long long)least, (long long)most);
    return WEFT_OK;
}

weft_status layer_words_keys(const layer_words *words, int first)
{
    for (int i = first; i < words->count; ++i) {
        const size_t bytes = strcspn(words->word[i], "=");
        for (int k = first; k < i && words->word[i][bytes] == '='; ++k) {
            WORDS_CHECK(words, strncmp(words->word[k], words->word[i], bytes + 1) != 0,
                        "%s and %s: two values of one key", words->word[k], words->word[i]);
        }
    }
    return WEFT_OK;
}

weft_status layer_words_switch(const layer_words *words, const char *what, const char *text, bool *value)
{
    WORDS_CHECK(words, strcmp(text, "on") == 0 || strcmp(text, "off") == 0, "%s '%s' is not on or off", what, text);
    *value = strcmp(text, "on") == 0;
    return WEFT_OK;
}

weft_status layer_words_chance(const layer_words *words, const char *what, const char *text, double *value)
{
    WORDS_CHECK(words, number_parse_real(text, value), "'%s' is not a number", text);
    WORDS_CHECK(words, *value >= 0.0 && *value < 1.0, "%s %s: a probability is at least 0 and less than 1", what, text);
    return WEFT_OK;
}

void layer_words_title(const char *path, char *name, int bytes)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    const size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
    (void)snprintf(name, (size_t)bytes, "%.*s", (int)(length < (size_t)bytes ? length : (size_t)bytes - 1), base);
}

weft_status layer_words_unfold(const char *line, char **text)
{
    const size_t bytes = strlen(line) + 1;
    WEFT_TRY(WEFT_NEW(text, bytes, WEFT_MEM_WORKSPACE));
    for (size_t i = 0; i < bytes; ++i) {
        (*text)[i] = (char)(line[i] == ';' ? '\n' : line[i]);
    }
    return WEFT_OK;
}

static weft_status append_line(void *context, layer_words *words)
{
    char **end = context;
    for (int i = 0; i < words->count; ++i) {
        WORDS_CHECK(words, strchr(words->word[i], ';') == NULL, "'%s': a semicolon stands between layers in records",
                    words->word[i]);
        *end = stpcpy(stpcpy(*end, i > 0 ? " " : ""), words->word[i]);
    }
    *end = stpcpy(*end, "; ");
    return WEFT_OK;
}

weft_status layer_words_fold(const char *text, const char *where, char **line)
{
    /* A line has one byte more than its words at most, which a text without a line end behind its last line lacks. */
    WEFT_TRY(WEFT_NEW(line, 2 * strlen(text) + 3, WEFT_MEM_GENERAL));
    char *end = *line;
    *end = '\0';
    const weft_status status = layer_words_each(text, where, append_line, &end);
    if (status != WEFT_OK) {
        weft_free(*line);
        *line = NULL;
    }
    return status;
}
