/* dense/data/texts/text_words.c: see dense/data/texts/text_words.h. */
#include "dense/data/texts/text_words.h"

#include <string.h>

#include "base/escape.h"

/* Bytes of the character at `at`; *letter: it is part of a word. Bytes that are no UTF-8 are one each. */
static int character(text_scan *scan, bool *letter)
{
    const unsigned char c = (unsigned char)*scan->at;
    char copy[5] = "";
    uint32_t code = 0;
    if (c < 0x80) {
        *letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        return 1;
    }
    /* A character is not looked for behind the end of its text. */
    const size_t left = (size_t)(scan->end - scan->at);
    memcpy(copy, scan->at, left < 4 ? left : 4);
    const int length = utf8_length(copy, &code);
    if (length < 1) {
        *letter = false;
        scan->malformed += 1;
        return 1;
    }
    /* Latin-1 signs, general punctuation, and that of East Asian writing. */
    *letter = code >= 0xC0 && !(code >= 0x2000 && code <= 0x206F) && !(code >= 0x3000 && code <= 0x303F);
    return length;
}

static void take(text_scan *scan, int bytes, size_t *taken)
{
    for (int i = 0; i < bytes; ++i, ++scan->at) {
        const char c = *scan->at;
        if (*taken < TEXT_WORD_MAX) {
            scan->word[*taken] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        *taken += 1;
    }
}

/* Returns true if an apostrophe stands at `at`, with a letter behind it. */
static bool is_inside(text_scan *scan)
{
    bool letter = false;
    if (*scan->at != '\'' || scan->at + 1 == scan->end) {
        return false;
    }
    const int64_t malformed = scan->malformed;
    scan->at += 1;
    (void)character(scan, &letter);
    scan->at -= 1;
    scan->malformed = malformed;
    return letter;
}

bool text_next(text_scan *scan)
{
    size_t taken = 0;
    while (scan->at < scan->end) {
        bool letter = false;
        const int bytes = character(scan, &letter);
        if (letter || (taken > 0 && is_inside(scan))) {
            take(scan, bytes, &taken);
            continue;
        }
        scan->at += bytes; /* what separates words is passed once, and so counted once */
        if (taken > 0) {
            break;
        }
    }
    scan->bytes = taken <= TEXT_WORD_MAX ? taken : 0;
    scan->word[scan->bytes] = '\0';
    return taken > 0;
}
