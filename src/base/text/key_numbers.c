/* base/text/key_numbers.c: see base/text/key_numbers.h. */
#include "base/text/key_numbers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/text/append.h"

enum { KEYS_MOST = 32, WORD_MAX = 32, LIST_MAX = 256 };

static weft_status fail_key(const char *what, const char *word, const key_number *keys, int count)
{
    const char *names[KEYS_MOST];
    char list[LIST_MAX] = "";
    for (int i = 0; i < count && i < KEYS_MOST; ++i) {
        names[i] = keys[i].name;
        text_append_item(list, sizeof list, "%s", keys[i].name);
    }
    const char *near = nearest_word(word, names, count < KEYS_MOST ? count : KEYS_MOST);
    return weft_fail(WEFT_ERR_USAGE, "%s: unknown key \"%s\"%s%s%s (known: %s)", what, word,
                     near != NULL ? ": did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?" : "",
                     list);
}

/* "20M" is 20000000; a fraction must come out whole. */
static bool parse_number(const char *text, int64_t *number)
{
    char digits[WORD_MAX];
    const size_t length = strlen(text);
    const char *unit = length > 0 ? strchr("kMG", text[length - 1]) : NULL;
    double value;
    if (unit == NULL) {
        return number_parse_int(text, number);
    }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(length - 1), text);
    const double factor = *unit == 'k' ? 1e3 : *unit == 'M' ? 1e6 : 1e9;
    if (!number_parse_real(digits, &value) || value * factor > 9e15 || value * factor < -9e15) {
        return false;
    }
    *number = (int64_t)(value * factor);
    return (double)*number == value * factor;
}

static weft_status set_key(const char *what, const key_number *key, const char *value, bool *seen, void *into)
{
    int64_t number = 0;
    WEFT_CHECK(!*seen, WEFT_ERR_USAGE, "%s: %s is given twice", what, key->name);
    *seen = true;
    WEFT_CHECK(parse_number(value, &number) && number >= key->min && number <= key->max, WEFT_ERR_USAGE,
               "%s: %s=%s is not a whole number from %lld to %lld", what, key->name, value, (long long)key->min,
               (long long)key->max);
    memcpy((char *)into + key->offset, &number, sizeof number);
    return WEFT_OK;
}

weft_status key_numbers_parse(const char *what, const char *text, const key_number *keys, int count, void *into)
{
    bool seen[KEYS_MOST] = {false};
    while (*text != '\0') {
        char name[WORD_MAX], value[WORD_MAX];
        const char *word = text + 1;
        const size_t length = strcspn(word, ","), end = strcspn(word, "=,");
        WEFT_CHECK(*text == ',' && end < length && end < WORD_MAX && length - end <= WORD_MAX, WEFT_ERR_USAGE,
                   "%s: \"%.*s\" is not key=value", what, (int)(length < 64 ? length : 64), word);
        (void)snprintf(name, sizeof name, "%.*s", (int)end, word);
        (void)snprintf(value, sizeof value, "%.*s", (int)(length - end - 1), word + end + 1);
        int i = 0;
        while (i < count && i < KEYS_MOST && strcmp(name, keys[i].name) != 0) {
            ++i;
        }
        if (i == count || i == KEYS_MOST) {
            return fail_key(what, name, keys, count);
        }
        WEFT_TRY(set_key(what, &keys[i], value, &seen[i], into));
        text = word + length;
    }
    return WEFT_OK;
}
