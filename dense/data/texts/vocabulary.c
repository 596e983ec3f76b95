/* dense/data/texts/vocabulary.c: see dense/data/texts/vocabulary.h. A word is found by its hash, in a table with open
 * places. */
#include "dense/data/texts/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/grow.h"
#include "dense/data/texts/text_words.h"

typedef struct entry {
    char *text; /* NUL-terminated */
    int64_t count;
    int32_t id;
} entry;

struct vocabulary {
    entry *word;
    int words, capacity;
    int32_t *place; /* [places] an entry + 1, or 0 */
    uint64_t places;
    int64_t numbered;
};

enum { PLACES_AT_FIRST = 1024 };

static uint64_t first_place(const vocabulary *v, const char *text, size_t bytes)
{
    return file_checksum(text, bytes, 0) & (v->places - 1);
}

/* The place of a word, or an open one. */
static uint64_t find(const vocabulary *v, const char *text, size_t bytes)
{
    uint64_t at = first_place(v, text, bytes);
    while (v->place[at] != 0) {
        const char *other = v->word[v->place[at] - 1].text;
        if (strncmp(other, text, bytes) == 0 && other[bytes] == '\0') {
            return at;
        }
        at = (at + 1) & (v->places - 1);
    }
    return at;
}

static weft_status widen(vocabulary *v)
{
    int32_t *place = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&place, (int64_t)(2 * v->places), WEFT_MEM_GENERAL));
    weft_free(v->place);
    v->place = place;
    v->places *= 2;
    for (int i = 0; i < v->words; ++i) {
        v->place[find(v, v->word[i].text, strlen(v->word[i].text))] = i + 1;
    }
    return WEFT_OK;
}

/* [out] index: of the word, which is added if it is new. */
static weft_status add(vocabulary *v, const char *text, size_t bytes, int *index)
{
    uint64_t at = find(v, text, bytes);
    if (v->place[at] != 0) {
        *index = v->place[at] - 1;
        return WEFT_OK;
    }
    if ((uint64_t)v->words * 2 >= v->places) {
        WEFT_TRY(widen(v));
        at = find(v, text, bytes);
    }
    WEFT_TRY(grow_array((void **)&v->word, sizeof *v->word, v->words, &v->capacity, WEFT_MEM_GENERAL));
    entry *word = &v->word[v->words];
    *word = (entry){.id = VOCABULARY_UNKNOWN};
    WEFT_TRY(WEFT_NEW(&word->text, (int64_t)bytes + 1, WEFT_MEM_GENERAL));
    memcpy(word->text, text, bytes);
    word->text[bytes] = '\0';
    *index = v->words++;
    v->place[at] = v->words;
    return WEFT_OK;
}

weft_status vocabulary_create(vocabulary **v)
{
    WEFT_TRY(WEFT_NEW_ZERO(v, 1, WEFT_MEM_GENERAL));
    (*v)->places = PLACES_AT_FIRST;
    const weft_status status = WEFT_NEW_ZERO(&(*v)->place, (int64_t)(*v)->places, WEFT_MEM_GENERAL);
    if (status != WEFT_OK) {
        weft_free(*v);
        *v = NULL;
    }
    return status;
}

void vocabulary_free(vocabulary *v)
{
    if (v == NULL) {
        return;
    }
    for (int i = 0; i < v->words; ++i) {
        weft_free(v->word[i].text);
    }
    WEFT_FREE_ALL(v->word, v->place, v);
}

static weft_status parse_words(const char *where, const char *text, vocabulary *v)
{
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        text_scan scan = text_scan_of(text, bytes);
        int index = 0;
        const bool word = text_next(&scan) && scan.bytes == bytes && memcmp(scan.word, text, bytes) == 0;
        WEFT_CHECK(word, WEFT_ERR_DATA, "%s: '%.*s' is no word: words have small letters and digits, at most %d bytes",
                   where, (int)(bytes < TEXT_WORD_MAX ? bytes : TEXT_WORD_MAX), text, TEXT_WORD_MAX);
        WEFT_CHECK(v->words < VOCABULARY_MOST, WEFT_ERR_DATA, "%s: more than %d words", where, VOCABULARY_MOST);
        WEFT_TRY(add(v, text, bytes, &index));
        WEFT_CHECK(index + 1 == v->words && v->word[index].id == VOCABULARY_UNKNOWN, WEFT_ERR_DATA,
                   "%s: the word '%s' stands twice", where, v->word[index].text);
        v->word[index].id = VOCABULARY_FIRST + index;
        text += bytes + (text[bytes] == ' ');
    }
    v->numbered = v->words;
    return WEFT_OK;
}

weft_status vocabulary_parse(const char *where, const char *text, vocabulary **v)
{
    *v = NULL;
    WEFT_TRY(vocabulary_create(v));
    const weft_status status = parse_words(where, text, *v);
    if (status != WEFT_OK) {
        vocabulary_free(*v);
        *v = NULL;
    }
    return status;
}

weft_status vocabulary_learn(vocabulary *v, const char *text, size_t bytes, int64_t times)
{
    text_scan scan = text_scan_of(text, bytes);
    while (text_next(&scan)) {
        int index = 0;
        if (scan.bytes > 0) {
            WEFT_TRY(add(v, scan.word, scan.bytes, &index));
            v->word[index].count += times;
        }
    }
    return WEFT_OK;
}

static int by_count(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->count != b->count) {
        return a->count < b->count ? 1 : -1;
    }
    return strcmp(a->text, b->text);
}

/* Words without a number go: nobody asks for them again. */
weft_status vocabulary_choose(vocabulary *v, int64_t most)
{
    if (v->words > 0) {
        qsort(v->word, (size_t)v->words, sizeof *v->word, by_count);
    }
    for (int i = (int)(most < v->words ? most : v->words); i < v->words; ++i) {
        weft_free(v->word[i].text);
    }
    v->words = (int)(most < v->words ? most : v->words);
    memset(v->place, 0, v->places * sizeof *v->place);
    for (int i = 0; i < v->words; ++i) {
        v->word[i].id = VOCABULARY_FIRST + i;
        v->place[find(v, v->word[i].text, strlen(v->word[i].text))] = i + 1;
    }
    v->numbered = v->words;
    return WEFT_OK;
}

int64_t vocabulary_size(const vocabulary *v)
{
    return VOCABULARY_FIRST + v->numbered;
}

weft_status vocabulary_text(const vocabulary *v, char **text)
{
    int64_t bytes = 1;
    for (int i = 0; i < v->words; ++i) {
        bytes += (int64_t)strlen(v->word[i].text) + 1;
    }
    WEFT_TRY(WEFT_NEW(text, bytes, WEFT_MEM_GENERAL));
    char *to = *text;
    for (int i = 0; i < v->words; ++i) {
        const size_t length = strlen(v->word[i].text);
        memcpy(to, v->word[i].text, length);
        to += length;
        *to++ = i + 1 < v->words ? ' ' : '\0';
    }
    *to = '\0';
    return WEFT_OK;
}

int64_t vocabulary_read(const vocabulary *v, const char *text, size_t bytes, int64_t room, int32_t *id,
                        vocabulary_found *found)
{
    text_scan scan = text_scan_of(text, bytes);
    int64_t written = 0;
    *found = (vocabulary_found){.words = 0};
    while (text_next(&scan)) {
        const uint64_t at = find(v, scan.word, scan.bytes);
        const int32_t number = scan.bytes > 0 && v->place[at] != 0 ? v->word[v->place[at] - 1].id : VOCABULARY_UNKNOWN;
        found->unknown += number == VOCABULARY_UNKNOWN;
        found->words += 1;
        if (written < room) {
            id[written++] = number;
        }
    }
    found->malformed = scan.malformed;
    return written;
}

int64_t vocabulary_size_of_text(const char *text)
{
    int64_t words = text[0] != '\0' ? VOCABULARY_FIRST + 1 : 0;
    for (const char *at = text; *at != '\0'; ++at) {
        words += *at == ' ';
    }
    return words;
}
