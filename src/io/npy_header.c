/*
 * io/npy_header.c: the header of a .npy image, tokenised by hand.
 *
 * The header is a Python dictionary literal; of Python only what numpy.save writes is understood: the three keys descr,
 * fortran_order and shape, each once, in any order. Nothing is allocated and no length is believed: the payload must be
 * exactly what the shape says. Format: NumPy enhancement proposal 1, versions 1.0 to 3.0.
 */
#include <string.h>

#include "io/npy.h"

#define MAGIC "\x93NUMPY"
enum { MAGIC_BYTES = 6, TEXT_MAX = 65536, ITEM_MAX = 1 << 20 };

typedef struct scanner {
    const char *name; /* for messages */
    const char *at, *end;
    const char *start;
} scanner;

static weft_status fail_at(const scanner *scan, const char *expected)
{
    if (scan->at == scan->end) {
        return weft_fail(WEFT_ERR_DATA, "%s: .npy header ends where %s is expected", scan->name, expected);
    }
    unsigned char c = (unsigned char)*scan->at;
    return weft_fail(WEFT_ERR_DATA, "%s: .npy header, character %td: expected %s, found %s%c%s (0x%02x)", scan->name,
                     scan->at - scan->start, expected, c > 32 && c < 127 ? "'" : "", c > 32 && c < 127 ? c : '?',
                     c > 32 && c < 127 ? "'" : "", c);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(scanner *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at)) {
        scan->at++;
    }
}

/* Take `c` if it comes next. */
static bool take(scanner *scan, char c)
{
    skip_blanks(scan);
    if (scan->at < scan->end && *scan->at == c) {
        scan->at++;
        return true;
    }
    return false;
}

static weft_status need(scanner *scan, char c, const char *expected)
{
    return take(scan, c) ? WEFT_OK : fail_at(scan, expected);
}

/* A quoted text without escapes; the quotes are left out. */
static weft_status scan_text(scanner *scan, const char *expected, const char **text, size_t *length)
{
    skip_blanks(scan);
    if (scan->at == scan->end || (*scan->at != '\'' && *scan->at != '"')) {
        return fail_at(scan, expected);
    }
    char quote = *scan->at++;
    *text = scan->at;
    while (scan->at < scan->end && *scan->at != quote && *scan->at != '\\' && *scan->at != '\n') {
        scan->at++;
    }
    if (scan->at == scan->end || *scan->at != quote) {
        return fail_at(scan, "a closing quote");
    }
    *length = (size_t)(scan->at - *text);
    scan->at++;
    return WEFT_OK;
}

static bool text_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static weft_status fail_descr(const scanner *scan, const char *text, size_t length)
{
    return weft_fail(WEFT_ERR_DATA,
                     "%s: element type '%.*s' is not supported; use one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1",
                     scan->name, length > 32 ? 32 : (int)length, text);
}

/* '<f4': order, kind, size in elements of the kind's unit. */
static weft_status scan_descr(scanner *scan, npy_header *header)
{
    skip_blanks(scan);
    WEFT_CHECK(scan->at == scan->end || *scan->at != '[', WEFT_ERR_DATA,
               "%s: has a structured element type or contains Python objects; convert with numpy.save of a plain array",
               scan->name);
    const char *text = "";
    size_t length = 0;
    WEFT_TRY(scan_text(scan, "the element type", &text, &length));
    const char *kind = length > 0 && strchr("<>|=", text[0]) != NULL ? text + 1 : text;
    WEFT_CHECK(length == 0 || *kind != 'O', WEFT_ERR_DATA,
               "%s: contains Python objects; convert with numpy.save of a plain array", scan->name);
    if (length < 3 || kind == text) {
        return fail_descr(scan, text, length);
    }
    int size = 0;
    for (const char *digit = text + 2; digit < text + length; digit++) {
        if (*digit < '0' || *digit > '9' || size > ITEM_MAX) {
            return fail_descr(scan, text, length);
        }
        size = 10 * size + (*digit - '0');
    }
    bool power = size == 1 || size == 2 || size == 4 || size == 8;
    bool valid = false;
    switch (*kind) {
    case 'f':
        valid = power && size >= 2;
        break;
    case 'i':
    case 'u':
        valid = power;
        break;
    case 'b':
        valid = size == 1;
        break;
    case 'U':
        valid = size <= ITEM_MAX / 4;
        size *= 4;
        break;
    case 'S':
        valid = size <= ITEM_MAX;
        break;
    default:
        break;
    }
    bool ordered = *kind != 'S' && size > 1;
    if (!valid || (ordered && text[0] == '|')) {
        return fail_descr(scan, text, length);
    }
    header->kind = *kind;
    header->item_bytes = size;
    header->big_endian = ordered && text[0] == '>';
    return WEFT_OK;
}

static weft_status scan_bool(scanner *scan, bool *value)
{
    skip_blanks(scan);
    size_t left = (size_t)(scan->end - scan->at);
    if (left >= 4 && memcmp(scan->at, "True", 4) == 0) {
        *value = true;
        scan->at += 4;
        return WEFT_OK;
    }
    if (left >= 5 && memcmp(scan->at, "False", 5) == 0) {
        *value = false;
        scan->at += 5;
        return WEFT_OK;
    }
    return fail_at(scan, "True or False");
}

static weft_status scan_length(scanner *scan, int64_t *value)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9') {
        return fail_at(scan, "a length");
    }
    *value = 0;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *scan->at - '0', value)) {
            return weft_fail(WEFT_ERR_DATA, "%s: a length of the shape does not fit 63 bits", scan->name);
        }
        scan->at++;
    }
    if (scan->at < scan->end && *scan->at == 'L') { /* long integers as Python 2 printed them */
        scan->at++;
    }
    return WEFT_OK;
}

/* () or (3,) or (3, 4) or (3, 4,); "(3)" is a number, not a tuple. */
static weft_status scan_shape(scanner *scan, npy_header *header)
{
    WEFT_TRY(need(scan, '(', "'(' of the shape"));
    bool comma = true;
    while (!take(scan, ')')) {
        if (!comma) {
            return fail_at(scan, "',' or ')'");
        }
        WEFT_CHECK(header->dims < NPY_MAX_DIMS, WEFT_ERR_DATA, "%s: more than %d dimensions", scan->name, NPY_MAX_DIMS);
        WEFT_TRY(scan_length(scan, &header->shape[header->dims++]));
        comma = take(scan, ',');
    }
    WEFT_CHECK(comma || header->dims != 1, WEFT_ERR_DATA, "%s: .npy header: the shape is a number, expected a tuple",
               scan->name);
    return WEFT_OK;
}

static weft_status scan_dictionary(scanner *scan, npy_header *header)
{
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false};
    WEFT_TRY(need(scan, '{', "'{'"));
    bool comma = true;
    while (!take(scan, '}')) {
        if (!comma) {
            return fail_at(scan, "',' or '}'");
        }
        const char *text = "";
        size_t length = 0;
        WEFT_TRY(scan_text(scan, "a quoted key", &text, &length));
        int key = 0;
        while (key < 3 && !text_is(text, length, keys[key])) {
            key++;
        }
        WEFT_CHECK(key < 3, WEFT_ERR_DATA, "%s: .npy header has an unknown key; it holds descr, fortran_order, shape",
                   scan->name);
        WEFT_CHECK(!seen[key], WEFT_ERR_DATA, "%s: .npy header has %s twice", scan->name, keys[key]);
        seen[key] = true;
        WEFT_TRY(need(scan, ':', "':'"));
        WEFT_TRY(key == 0   ? scan_descr(scan, header)
                 : key == 1 ? scan_bool(scan, &header->fortran_order)
                            : scan_shape(scan, header));
        comma = take(scan, ',');
    }
    for (int key = 0; key < 3; key++) {
        WEFT_CHECK(seen[key], WEFT_ERR_DATA, "%s: .npy header lacks %s", scan->name, keys[key]);
    }
    skip_blanks(scan);
    return scan->at == scan->end ? WEFT_OK : fail_at(scan, "the end of the header");
}

/* count and data_bytes from the shape, refused when they wrap or differ from what is there. */
static weft_status check_payload(const char *name, size_t payload, npy_header *header)
{
    header->count = 1;
    for (int d = 0; d < header->dims; d++) {
        WEFT_CHECK(!__builtin_mul_overflow(header->count, header->shape[d], &header->count), WEFT_ERR_DATA,
                   "%s: the product of the shape does not fit 63 bits", name);
    }
    size_t bytes;
    WEFT_CHECK(!__builtin_mul_overflow((size_t)header->count, (size_t)header->item_bytes, &bytes), WEFT_ERR_DATA,
               "%s: shape times element size does not fit 64 bits", name);
    WEFT_CHECK(payload == bytes, WEFT_ERR_DATA, "%s: %zu bytes of data, but the shape says %zu (%s)", name, payload,
               bytes, payload < bytes ? "truncated?" : "something follows the array");
    header->data_bytes = bytes;
    return WEFT_OK;
}

/* Both orders are one where at most one dimension is longer than 1. */
static bool order_matters(const npy_header *header)
{
    int longer = 0;
    for (int d = 0; d < header->dims; d++) {
        longer += header->shape[d] > 1;
    }
    return longer > 1;
}

static weft_status check_magic(const char *name, const uint8_t *data, size_t size)
{
    WEFT_CHECK(size > 0, WEFT_ERR_DATA, "%s: is empty, expected a .npy array", name);
    WEFT_CHECK(
        data[0] != 0x80, WEFT_ERR_DATA,
        "%s: is a Python pickle, which can run code when it is read; Weft reads plain arrays only (Planetoid files: "
        "scripts/convert_planetoid; others: numpy.save of a plain array)",
        name);
    WEFT_CHECK(size < 4 || memcmp(data, "PK\3\4", 4) != 0, WEFT_ERR_DATA,
               "%s: is a zip archive (.npz), expected a single .npy array", name);
    WEFT_CHECK(size >= MAGIC_BYTES && memcmp(data, MAGIC, MAGIC_BYTES) == 0, WEFT_ERR_DATA,
               "%s: does not start with the .npy magic bytes", name);
    return WEFT_OK;
}

weft_status npy_parse_header(const char *name, const uint8_t *data, size_t size, npy_header *header)
{
    *header = (npy_header){.kind = '\0'};
    WEFT_TRY(check_magic(name, data, size));
    WEFT_CHECK(size >= 10, WEFT_ERR_DATA, "%s: truncated after %zu bytes, inside the .npy header", name, size);
    unsigned major = data[6], minor = data[7];
    WEFT_CHECK(major >= 1 && major <= 3 && minor == 0, WEFT_ERR_DATA,
               "%s: .npy version %u.%u; versions 1.0 to 3.0 are read", name, major, minor);
    size_t lead = major == 1 ? 10 : 12;
    WEFT_CHECK(size >= lead, WEFT_ERR_DATA, "%s: truncated after %zu bytes, inside the .npy header", name, size);
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (major > 1) {
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    }
    WEFT_CHECK(length <= TEXT_MAX, WEFT_ERR_DATA, "%s: a .npy header of %zu bytes; the limit is %d", name, length,
               TEXT_MAX);
    WEFT_CHECK(length <= size - lead, WEFT_ERR_DATA, "%s: a .npy header of %zu bytes in %zu bytes (truncated?)", name,
               length, size);
    const char *text = (const char *)data + lead;
    scanner scan = {.name = name, .at = text, .end = text + length, .start = text};
    WEFT_TRY(scan_dictionary(&scan, header));
    header->data_offset = lead + length;
    header->fortran_order = header->fortran_order && order_matters(header);
    return check_payload(name, size - header->data_offset, header);
}
