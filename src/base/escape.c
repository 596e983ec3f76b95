/* base/escape.c: see base/escape.h. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

int utf8_length(const char *text, uint32_t *code)
{
    const unsigned char *c = (const unsigned char *)text;
    int length = c[0] < 0x80 ? 1 : c[0] >= 0xc2 && c[0] <= 0xdf ? 2 : c[0] >= 0xe0 && c[0] <= 0xef ? 3 : 0;
    length = c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : length;
    *code = length <= 1 ? c[0] : c[0] & (0xffu >> (length + 1));
    for (int i = 1; i < length; ++i) {
        if ((c[i] & 0xc0) != 0x80) { /* the closing NUL is no continuation: nothing past it is read */
            return 0;
        }
        *code = *code << 6 | (c[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return length > 0 && *code >= least[length] && *code <= 0x10ffff && !surrogate ? length : 0;
}

bool utf8_is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || (code & 0xfffe) == 0xfffe;
}

size_t utf8_fitting(const char *text, size_t room)
{
    uint32_t code;
    size_t bytes = 0, next = 0;
    while (text[bytes] != '\0' && next < room) {
        const int length = utf8_length(text + bytes, &code);
        next = bytes + (length > 0 ? (size_t)length : 1);
        bytes = next < room ? next : bytes;
    }
    return bytes;
}

/* One byte, as C spells it. Returns the length. */
static int spell(unsigned char byte, char out[5])
{
    switch (byte) {
    case '\n':
        return snprintf(out, 5, "\\n");
    case '\t':
        return snprintf(out, 5, "\\t");
    case '\r':
        return snprintf(out, 5, "\\r");
    default:
        return snprintf(out, 5, "\\x%02x", byte);
    }
}

size_t escape_text(char *dst, size_t capacity, const char *text)
{
    enum { LONGEST = 4 * 4 }; /* four bytes, each as \xNN */
    size_t used = 0;
    while (*text != '\0') {
        uint32_t code;
        char shown[LONGEST + 1];
        int bytes = utf8_length(text, &code);
        int length = bytes;
        if (bytes > 0 && !utf8_is_harmful(code)) {
            memcpy(shown, text, (size_t)bytes);
        } else {
            bytes = bytes > 0 ? bytes : 1;
            length = 0;
            for (int i = 0; i < bytes; i++) {
                length += spell((unsigned char)text[i], shown + length);
            }
        }
        if (used + (size_t)length >= capacity) {
            break;
        }
        memcpy(dst + used, shown, (size_t)length);
        used += (size_t)length;
        text += bytes;
    }
    dst[used] = '\0';
    return used;
}

escaped_text escape_say(const char *text)
{
    escaped_text escaped;
    escape_text(escaped.text, sizeof escaped.text, text);
    return escaped;
}

escaped_text escape_short(const char *text)
{
    char part[ESCAPED_SHORT + 1];
    const size_t bytes = strlen(text), shown = bytes <= ESCAPED_SHORT ? bytes : utf8_fitting(text, sizeof part);
    memcpy(part, text, shown);
    part[shown] = '\0';
    escaped_text escaped = escape_say(part);
    if (shown < bytes) {
        const size_t length = strlen(escaped.text);
        snprintf(escaped.text + length, sizeof escaped.text - length, "... (%zu bytes)", bytes);
    }
    return escaped;
}
