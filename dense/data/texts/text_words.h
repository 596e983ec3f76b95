/*
 * dense/data/texts/text_words.h: the words of a text.
 *
 *      "Don't panic, it's 2026!"      don't  panic  it's  2026
 *
 * A word is a run of letters, digits and underscores; an apostrophe inside it belongs to it, and the letters A to Z
 * become small. Letters beyond ASCII, with their marks, are taken as they are. All else separates words: blanks,
 * punctuation, signs, emoji, and bytes that are no UTF-8, which are counted. Writing without blanks, such as Chinese,
 * is one word a run of letters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_WORD_MAX = 64 /* bytes; longer words are unknown ones */ };

typedef struct text_scan {
    const char *at, *end;
    char word[TEXT_WORD_MAX + 1]; /* of the last text_next */
    size_t bytes;                 /* of the word; 0: it is too long */
    int64_t malformed;            /* bytes that are no UTF-8, so far */
} text_scan;

static inline text_scan text_scan_of(const char *text, size_t bytes)
{
    return (text_scan){.at = text, .end = text + bytes};
}

/* Finds the next word. Returns false behind the last. */
bool text_next(text_scan *scan);
