/* dense/data/texts/text_words.c: see dense/data/texts/text_words.h. */
#include "dense/data/texts/text_words.h"

#include <string.h>

#include "base/escape.h"

typedef struct code_range {
    uint32_t first, last;
} code_range;

/* Codes beyond ASCII that are no letters, in their order: punctuation and signs of most scripts in use, marks that
 * choose or enclose a picture, emoji, and codes of private use. Rare signs, as of historic scripts, are letters. */
static const code_range apart[] = {
    {0x80, 0xA9},       {0xAB, 0xB4},       {0xB6, 0xB9},       {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},
    {0x2C2, 0x2C5},     {0x2D2, 0x2DF},     {0x37E, 0x37E},     {0x387, 0x387},   {0x55A, 0x55F},   {0x589, 0x58F},
    {0x5BE, 0x5BE},     {0x5C0, 0x5C0},     {0x5C3, 0x5C3},     {0x5C6, 0x5C6},   {0x5F3, 0x5F4},   {0x600, 0x60F},
    {0x61B, 0x61F},     {0x66A, 0x66D},     {0x6D4, 0x6D4},     {0x6DD, 0x6DE},   {0x6E9, 0x6E9},   {0x700, 0x70F},
    {0x964, 0x965},     {0x970, 0x970},     {0xE3F, 0xE3F},     {0xE4F, 0xE4F},   {0xE5A, 0xE5B},   {0xF01, 0xF17},
    {0x104A, 0x104F},   {0x10FB, 0x10FB},   {0x1360, 0x1368},   {0x17D4, 0x17D6}, {0x17D8, 0x17DB}, {0x1800, 0x180A},
    {0x2000, 0x206F},   {0x2074, 0x207E},   {0x2080, 0x208E},   {0x20A0, 0x20FF}, {0x2100, 0x2101}, {0x2103, 0x2106},
    {0x2108, 0x2109},   {0x2116, 0x2118},   {0x211E, 0x2123},   {0x2140, 0x2144}, {0x2150, 0x215F}, {0x2190, 0x2BFF},
    {0x2E00, 0x2E2E},   {0x2E30, 0x3004},   {0x3008, 0x3020},   {0x3030, 0x3030}, {0x3036, 0x3037}, {0x303D, 0x303F},
    {0x309B, 0x309C},   {0x30A0, 0x30A0},   {0x30FB, 0x30FB},   {0x3190, 0x319F}, {0x31C0, 0x31E3}, {0x3200, 0x33FF},
    {0x4DC0, 0x4DFF},   {0xA490, 0xA4C6},   {0xD800, 0xF8FF},   {0xFB29, 0xFB29}, {0xFD3E, 0xFD3F}, {0xFDFC, 0xFE19},
    {0xFE30, 0xFE6B},   {0xFEFF, 0xFF0F},   {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF},
    {0x1D000, 0x1D1FF}, {0x1F000, 0x1FBEF}, {0xE0000, 0x10FFFF}};

static bool is_letter(uint32_t code)
{
    size_t low = 0, high = sizeof apart / sizeof *apart;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > apart[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == sizeof apart / sizeof *apart || code < apart[low].first;
}

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
    *letter = is_letter(code);
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
