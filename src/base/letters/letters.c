/* base/letters/letters.c: see base/letters/letters.h. Unicode Standard Annex 15: decompose, sort marks by their class,
 * compose. */
#include "base/letters/letters.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/letters/letters_table.h"

enum { PAIRS = sizeof letter_pairs / sizeof letter_pairs[0], DEEPEST = 4 /* letters of a base and three marks */ };

/* Hangul syllables are arithmetic (Unicode, 3.12). */
enum { L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11a7, S_BASE = 0xac00, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28 };
enum { S_COUNT = L_COUNT * V_COUNT * T_COUNT };

typedef struct code_list {
    uint32_t code[DEEPEST * LETTERS_MAX];
    int count;
} code_list;

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Combining class of a mark: marks of different classes may stand in any order. 0: a letter of its own. */
static int class_of(uint32_t code)
{
    static const struct {
        uint16_t last;
        uint8_t class;
    } ranges[] = {{0x2ff, 0},   {0x314, 230}, {0x315, 232}, {0x319, 220}, {0x31a, 232}, {0x31b, 216}, {0x320, 220},
                  {0x322, 202}, {0x326, 220}, {0x328, 202}, {0x333, 220}, {0x338, 1},   {0x33c, 220}, {0x344, 230},
                  {0x345, 240}, {0x346, 230}, {0x349, 220}, {0x34c, 230}, {0x34e, 220}, {0x34f, 0},   {0x352, 230},
                  {0x356, 220}, {0x357, 230}, {0x358, 232}, {0x35a, 220}, {0x35b, 230}, {0x35c, 233}, {0x35e, 234},
                  {0x35f, 233}, {0x361, 234}, {0x362, 233}, {0x36f, 230}, {0x652, 0},   {0x654, 230}, {0x655, 220},
                  {0x93b, 0},   {0x93c, 7},   {0xc55, 0},   {0xc56, 91},  {0xdc9, 0},   {0xdca, 9},   {0x3098, 0},
                  {0x309a, 8}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i) {
        if (code <= ranges[i].last) {
            return ranges[i].class;
        }
    }
    return 0;
}

static int by_letter(const void *key, const void *pair)
{
    const uint32_t code = *(const uint32_t *)key;
    const uint16_t letter = ((const uint16_t *)pair)[0];
    return (code > letter) - (code < letter);
}

/* 0: the two are no letter. */
static uint32_t letter_of(uint32_t base, uint32_t mark)
{
    if (base >= L_BASE && base < L_BASE + L_COUNT && mark >= V_BASE && mark < V_BASE + V_COUNT) {
        return S_BASE + ((base - L_BASE) * V_COUNT + (mark - V_BASE)) * T_COUNT;
    }
    if (base >= S_BASE && base < S_BASE + S_COUNT && (base - S_BASE) % T_COUNT == 0 && mark > T_BASE &&
        mark < T_BASE + T_COUNT) {
        return base + (mark - T_BASE);
    }
    for (int i = 0; i < PAIRS; ++i) {
        if (letter_pairs[i][1] == base && letter_pairs[i][2] == mark) {
            return letter_pairs[i][0];
        }
    }
    return 0;
}

/* ---- the three steps ------------------------------------------------------------------------------------------- */

static void append(code_list *list, uint32_t code)
{
    list->code[list->count++] = code;
}

/* A letter's base and marks. Hangul composes without being taken apart: syllables and their parts mix in no name. */
static void decompose(code_list *list, uint32_t code)
{
    uint32_t mark[DEEPEST];
    int marks = 0;
    const uint16_t *pair;
    while (marks < DEEPEST - 1 &&
           (pair = bsearch(&code, letter_pairs, PAIRS, sizeof letter_pairs[0], by_letter)) != NULL) {
        mark[marks++] = pair[2];
        code = pair[1];
    }
    append(list, code);
    while (marks > 0) {
        append(list, mark[--marks]);
    }
}

/* Marks of a letter into the order of their classes; those of one class keep theirs. */
static void sort_marks(code_list *list)
{
    for (int i = 1; i < list->count; ++i) {
        const uint32_t code = list->code[i];
        const int class = class_of(code);
        int at = i;
        while (class > 0 && at > 0 && class_of(list->code[at - 1]) > class) {
            list->code[at] = list->code[at - 1];
            at -= 1;
        }
        list->code[at] = code;
    }
}

/* Each mark joins the letter before it, unless a mark between them has its class or a higher one. */
static void compose(code_list *list)
{
    int kept = 0;
    int base = -1; /* the last letter of its own */
    int last = 0;  /* class of the last mark behind it that was kept; 0: there is none */
    for (int i = 0; i < list->count; ++i) {
        const uint32_t code = list->code[i];
        const int class = class_of(code);
        const bool free = base >= 0 && (base == kept - 1 || (last > 0 && last < class));
        const uint32_t letter = free ? letter_of(list->code[base], code) : 0;
        if (letter != 0) {
            list->code[base] = letter;
            continue;
        }
        base = class == 0 ? kept : base;
        last = class;
        list->code[kept++] = code;
    }
    list->count = kept;
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static bool copy(const char *text, size_t length, char *dst, size_t capacity)
{
    const size_t bytes = length < capacity ? length : capacity - 1;
    memcpy(dst, text, bytes);
    dst[bytes] = '\0';
    return bytes == length;
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        if ((text[i] & 0x80) != 0) {
            return false;
        }
    }
    return true;
}

static int encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; --i, code >>= 6) {
        out[i] = (char)(0x80 | (code & 0x3f));
    }
    out[0] = (char)((0xf00 >> length & 0xff) | code);
    return length;
}

static bool encode_all(const code_list *list, char *dst, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < list->count; ++i) {
        char bytes[4];
        const int length = encode(list->code[i], bytes);
        if (used + (size_t)length >= capacity) {
            dst[used] = '\0';
            return false;
        }
        memcpy(dst + used, bytes, (size_t)length);
        used += (size_t)length;
    }
    dst[used] = '\0';
    return true;
}

bool letters_compose(const char *text, size_t length, char *dst, size_t capacity)
{
    char whole[LETTERS_MAX + 1];
    code_list list;
    if (length > LETTERS_MAX || is_plain(text, length)) {
        return copy(text, length, dst, capacity);
    }
    list.count = 0;
    memcpy(whole, text, length);
    whole[length] = '\0';
    for (const char *at = whole; at < whole + length;) {
        uint32_t code;
        const int bytes = utf8_length(at, &code);
        if (bytes == 0) {
            return copy(text, length, dst, capacity);
        }
        decompose(&list, code);
        at += bytes;
    }
    sort_marks(&list);
    compose(&list);
    return encode_all(&list, dst, capacity);
}
