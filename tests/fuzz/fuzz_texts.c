/* libFuzzer: any bytes as a text and as a vocabulary; the words of a text are a vocabulary that reads the same text,
 * and one that is accepted survives being written and parsed again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dense/data/texts/vocabulary.h"

enum { WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The words that a vocabulary writes are those that it had. */
static void write_again(const vocabulary *v)
{
    vocabulary *again = NULL;
    char *text = NULL;
    if (vocabulary_text(v, &text) != WEFT_OK || vocabulary_parse("words", text, &again) != WEFT_OK ||
        vocabulary_size(again) != vocabulary_size(v)) {
        abort();
    }
    weft_free(text);
    vocabulary_free(again);
}

static void learn(const char *text, size_t size)
{
    vocabulary *v = NULL;
    vocabulary_found found;
    int32_t id[WORDS];
    if (vocabulary_create(&v) != WEFT_OK) {
        return;
    }
    if (vocabulary_learn(v, text, size, 1) == WEFT_OK && vocabulary_choose(v, VOCABULARY_MOST) == WEFT_OK) {
        const int64_t read = vocabulary_read(v, text, size, WORDS, id, &found);
        if (read != (found.words < WORDS ? found.words : WORDS)) {
            abort();
        }
        for (int64_t i = 0; i < read; ++i) {
            if (id[i] < VOCABULARY_UNKNOWN || id[i] >= vocabulary_size(v)) {
                abort();
            }
        }
        write_again(v);
    }
    vocabulary_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL;
    vocabulary *v = NULL;
    if (WEFT_NEW(&text, size + 1, WEFT_MEM_GENERAL) != WEFT_OK) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    learn(text, size);
    if (vocabulary_parse("words", text, &v) == WEFT_OK) {
        write_again(v);
    }
    vocabulary_free(v);
    weft_free(text);
    return 0;
}
