/*
 * io/json_read.c: the strict JSON reader (RFC 8259) for small inputs that may come from anywhere.
 *
 * Everything is sized before parsing: the text is copied once, strings are decoded into a buffer of the same length (a
 * decoded string is never longer than its source), and a value can only stand at the start or after one of "[,:", which
 * bounds their number. Depth is limited, so recursion is safe. Duplicate keys are found by a hash table over (object,
 * key), which keeps a file of 100,000 keys linear.
 *
 * Cost: O(bytes) time; at most about 100 bytes of memory a byte of text, for a text of nothing but separators.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/number.h"
#include "io/json.h"

enum { JSON_MAX_BYTES = 1 << 20, JSON_MAX_DEPTH = 16 };

typedef struct key_slot {
    const json_value *object; /* NULL: free */
    const char *key;
} key_slot;

struct json_document {
    json_value *values;
    char *strings; /* decoded, NUL-terminated, one after the other */
};

typedef struct parser {
    const char *name;
    const char *text, *end, *at; /* text is NUL-terminated at end */
    json_document *document;
    size_t value_count;
    char *string_at;
    key_slot *slots;
    size_t slot_mask;
} parser;

static weft_status parse_fail(const parser *p, const char *what)
{
    int line = 1;
    const char *line_start = p->text;
    for (const char *at = p->text; at < p->at; at++) {
        if (*at == '\n') {
            line++;
            line_start = at + 1;
        }
    }
    return weft_fail(WEFT_ERR_DATA, "%s: line %d, column %ld: %s", p->name, line, (long)(p->at - line_start) + 1, what);
}

static void skip_blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') {
        p->at++;
    }
}

/* ---- strings -------------------------------------------------------------------------------------------------- */

static bool parse_hex4(parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = *p->at;
        uint32_t digit = 0;
        if (c >= '0' && c <= '9') {
            digit = (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (uint32_t)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = (uint32_t)(c - 'A') + 10;
        } else {
            return false;
        }
        *code = *code * 16 + digit;
        p->at++;
    }
    return true;
}

static void put_utf8(parser *p, uint32_t code)
{
    if (code < 0x80) {
        *p->string_at++ = (char)code;
    } else if (code < 0x800) {
        *p->string_at++ = (char)(0xc0 | (code >> 6));
        *p->string_at++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *p->string_at++ = (char)(0xe0 | (code >> 12));
        *p->string_at++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *p->string_at++ = (char)(0x80 | (code & 0x3f));
    } else {
        *p->string_at++ = (char)(0xf0 | (code >> 18));
        *p->string_at++ = (char)(0x80 | ((code >> 12) & 0x3f));
        *p->string_at++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *p->string_at++ = (char)(0x80 | (code & 0x3f));
    }
}

/* \uXXXX, with the second half of a surrogate pair. */
static weft_status parse_unicode_escape(parser *p)
{
    uint32_t code = 0, low = 0;
    if (!parse_hex4(p, &code)) {
        return parse_fail(p, "\\u needs four hexadecimal digits");
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        if (p->at[0] != '\\' || p->at[1] != 'u') {
            return parse_fail(p, "a high surrogate without its low half");
        }
        p->at += 2;
        if (!parse_hex4(p, &low) || low < 0xdc00 || low > 0xdfff) {
            return parse_fail(p, "a high surrogate without its low half");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return parse_fail(p, "a low surrogate without its high half");
    }
    if (code == 0) {
        return parse_fail(p, "\\u0000 is not allowed in a string");
    }
    put_utf8(p, code);
    return WEFT_OK;
}

static weft_status parse_escape(parser *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *p->at;
    if (c == 'u') {
        p->at++;
        return parse_unicode_escape(p);
    }
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (found == NULL) {
        return parse_fail(p, "unknown escape in a string");
    }
    *p->string_at++ = to[found - from];
    p->at++;
    return WEFT_OK;
}

/* At the opening quote; leaves past the closing one. */
static weft_status parse_string(parser *p, const char **string)
{
    *string = p->string_at;
    p->at++;
    while (*p->at != '"') {
        if (*p->at == '\\') {
            p->at++;
            WEFT_TRY(parse_escape(p));
            continue;
        }
        if ((unsigned char)*p->at < 0x20) {
            return parse_fail(p, p->at == p->end ? "a string is not closed"
                                                 : "a control character in a string: write it as an escape");
        }
        uint32_t code;
        int length = utf8_length(p->at, &code);
        if (length == 0) {
            return parse_fail(p, "invalid UTF-8");
        }
        memcpy(p->string_at, p->at, (size_t)length);
        p->string_at += length;
        p->at += length;
    }
    p->at++;
    *p->string_at++ = '\0';
    return WEFT_OK;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

static weft_status parse_value(parser *p, int depth, json_value **out);

/* The grammar of RFC 8259: no plus sign, no leading zero, digits on both sides of the point. */
static const char *json_number_end(const char *at, bool *integral)
{
    *integral = true;
    at += *at == '-';
    if (*at == '0') {
        at++;
    } else if (*at >= '1' && *at <= '9') {
        at += strspn(at, "0123456789");
    } else {
        return NULL;
    }
    if (*at == '.') {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits == 0) {
            return NULL;
        }
        *integral = false;
        at += 1 + digits;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        size_t digits = strspn(at, "0123456789");
        if (digits == 0) {
            return NULL;
        }
        *integral = false;
        at += digits;
    }
    return at;
}

static weft_status parse_number(parser *p, json_value *value)
{
    bool integral = false;
    const char *grammar_end = json_number_end(p->at, &integral), *end = NULL;
    if (grammar_end == NULL) {
        return parse_fail(p, "a malformed number");
    }
    value->kind = JSON_NUMBER;
    if (!number_scan_real(p->at, &end, &value->number)) {
        return parse_fail(p, "a number too large for a double");
    }
    if (end != grammar_end) {
        return parse_fail(p, "a malformed number");
    }
    if (integral && end - p->at < NUMBER_TEXT_MAX) {
        char digits[NUMBER_TEXT_MAX] = {0};
        memcpy(digits, p->at, (size_t)(end - p->at));
        value->integral = number_parse_int(digits, &value->integer);
    }
    p->at = end;
    return WEFT_OK;
}

/* Refuse a key that this object has already; remember it otherwise. */
static weft_status remember_key(parser *p, const json_value *object, const char *key)
{
    size_t parent = (size_t)(object - p->document->values);
    size_t slot = (size_t)XXH3_64bits_withSeed(key, strlen(key), parent) & p->slot_mask;
    while (p->slots[slot].object != NULL) {
        if (p->slots[slot].object == object && strcmp(p->slots[slot].key, key) == 0) {
            char what[128];
            snprintf(what, sizeof what, "the key \"%.60s\" appears twice in one object", key);
            return parse_fail(p, what);
        }
        slot = (slot + 1) & p->slot_mask;
    }
    p->slots[slot] = (key_slot){object, key};
    return WEFT_OK;
}

static weft_status parse_member(parser *p, int depth, json_value *object, json_value **member)
{
    const char *key = NULL;
    if (*p->at != '"') {
        return parse_fail(p, "expected a key in double quotes");
    }
    WEFT_TRY(parse_string(p, &key));
    WEFT_TRY(remember_key(p, object, key));
    skip_blanks(p);
    if (*p->at != ':') {
        return parse_fail(p, "expected ':' after the key");
    }
    p->at++;
    WEFT_TRY(parse_value(p, depth, member));
    (*member)->key = key;
    return WEFT_OK;
}

/* Objects and arrays; `depth` is that of their members. */
static weft_status parse_container(parser *p, int depth, json_value *value)
{
    bool object = *p->at == '{';
    char closer = object ? '}' : ']';
    json_value **tail = &value->child;
    value->kind = object ? JSON_OBJECT : JSON_ARRAY;
    if (depth > JSON_MAX_DEPTH) {
        return parse_fail(p, "nested more than 16 deep");
    }
    p->at++;
    skip_blanks(p);
    if (*p->at == closer) {
        p->at++;
        return WEFT_OK;
    }
    for (;;) {
        json_value *member = NULL;
        skip_blanks(p);
        WEFT_TRY(object ? parse_member(p, depth, value, &member) : parse_value(p, depth, &member));
        *tail = member;
        tail = &member->next;
        skip_blanks(p);
        if (*p->at == closer) {
            p->at++;
            return WEFT_OK;
        }
        if (*p->at != ',') {
            return parse_fail(p, object ? "expected ',' or '}'" : "expected ',' or ']'");
        }
        p->at++;
    }
}

static bool parse_word(parser *p, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(p->at, word, length) != 0) {
        return false;
    }
    p->at += length;
    return true;
}

static weft_status parse_value(parser *p, int depth, json_value **out)
{
    skip_blanks(p);
    json_value *value = &p->document->values[p->value_count++];
    *out = value;
    switch (*p->at) {
    case '{':
    case '[':
        return parse_container(p, depth + 1, value);
    case '"':
        value->kind = JSON_TEXT;
        return parse_string(p, &value->text);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return parse_number(p, value);
    default:
        break;
    }
    if (parse_word(p, "null")) {
        value->kind = JSON_NULL;
        return WEFT_OK;
    }
    value->kind = JSON_BOOL;
    if (parse_word(p, "true")) {
        value->boolean = true;
        return WEFT_OK;
    }
    if (parse_word(p, "false")) {
        return WEFT_OK;
    }
    return parse_fail(p, p->at == p->end ? "the text ends where a value is expected" : "expected a value");
}

/* ---- the document --------------------------------------------------------------------------------------------- */

/* Room for every value, decoded string and key that the text can hold. */
static weft_status parse_reserve(parser *p, size_t bytes)
{
    size_t values = 1, keys = 0, slots = 2;
    for (size_t i = 0; i < bytes; i++) {
        char c = p->text[i];
        values += c == '[' || c == ',' || c == ':';
        keys += c == ':';
    }
    while (slots < 2 * keys + 1) {
        slots *= 2;
    }
    p->slot_mask = slots - 1;
    WEFT_TRY(WEFT_NEW_ZERO(&p->document->values, values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&p->document->strings, bytes + 1, WEFT_MEM_GENERAL));
    p->string_at = p->document->strings;
    return WEFT_NEW_ZERO(&p->slots, slots, WEFT_MEM_GENERAL);
}

weft_status json_parse(const char *name, const char *text, size_t bytes, json_document **document)
{
    return json_parse_large(name, text, bytes, JSON_MAX_BYTES, document);
}

weft_status json_parse_large(const char *name, const char *text, size_t bytes, size_t most_bytes,
                             json_document **document)
{
    weft_status status = WEFT_OK;
    parser p = {.name = name};
    json_value *root = NULL;
    char *copy = NULL;
    *document = NULL;
    WEFT_CHECK(bytes <= most_bytes, WEFT_ERR_DATA, "%s: %zu bytes of JSON, at most %zu are read", name, bytes,
               most_bytes);
    WEFT_CHECK(bytes == 0 || memchr(text, '\0', bytes) == NULL, WEFT_ERR_DATA, "%s: a NUL byte in JSON text", name);
    WEFT_TRY_GOTO(WEFT_NEW(&copy, bytes + 1, WEFT_MEM_GENERAL), status, done);
    if (bytes > 0) {
        memcpy(copy, text, bytes);
    }
    copy[bytes] = '\0';
    p.text = p.at = copy;
    p.end = copy + bytes;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&p.document, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(parse_reserve(&p, bytes), status, done);
    WEFT_TRY_GOTO(parse_value(&p, 0, &root), status, done);
    skip_blanks(&p);
    if (p.at != p.end) {
        status = parse_fail(&p, "text after the end of the value");
    }
done:
    WEFT_FREE_ALL(copy, p.slots);
    if (status != WEFT_OK) {
        json_free(p.document);
        return status;
    }
    *document = p.document;
    return WEFT_OK;
}

void json_free(json_document *document)
{
    if (document != NULL) {
        WEFT_FREE_ALL(document->values, document->strings, document);
    }
}

const json_value *json_root(const json_document *document)
{
    return document->values;
}

const json_value *json_find(const json_value *object, const char *key)
{
    if (object == NULL || object->kind != JSON_OBJECT) {
        return NULL;
    }
    for (const json_value *member = object->child; member != NULL; member = member->next) {
        if (strcmp(member->key, key) == 0) {
            return member;
        }
    }
    return NULL;
}

double json_number(const json_value *object, const char *key)
{
    const json_value *value = json_find(object, key);
    return value != NULL && value->kind == JSON_NUMBER ? value->number : (double)NAN;
}

const char *json_string(const json_value *object, const char *key, const char *otherwise)
{
    const json_value *value = json_find(object, key);
    return value != NULL && value->kind == JSON_TEXT && value->text[0] != '\0' ? value->text : otherwise;
}

const json_value *json_first(const json_value *value, json_kind kind)
{
    return value != NULL && value->kind == kind ? value->child : NULL;
}

/* ---- typed access --------------------------------------------------------------------------------------------- */

static weft_status find_value(const char *name, const json_value *object, const char *key, const json_value **found)
{
    WEFT_CHECK(object != NULL && object->kind == JSON_OBJECT, WEFT_ERR_DATA,
               "%s: \"%s\" is looked for outside of an object", name, key);
    *found = json_find(object, key);
    WEFT_CHECK(*found != NULL, WEFT_ERR_DATA, "%s: the key \"%s\" is missing", name, key);
    return WEFT_OK;
}

weft_status json_get_int(const char *name, const json_value *object, const char *key, int64_t min, int64_t max,
                         int64_t *value)
{
    const json_value *found = NULL;
    WEFT_TRY(find_value(name, object, key, &found));
    WEFT_CHECK(found->kind == JSON_NUMBER && found->integral, WEFT_ERR_DATA, "%s: \"%s\" must be an integer", name,
               key);
    WEFT_CHECK(found->integer >= min && found->integer <= max, WEFT_ERR_DATA,
               "%s: \"%s\" is %" PRId64 ", must be between %" PRId64 " and %" PRId64, name, key, found->integer, min,
               max);
    *value = found->integer;
    return WEFT_OK;
}

weft_status json_get_text(const char *name, const json_value *object, const char *key, const char **value)
{
    const json_value *found = NULL;
    WEFT_TRY(find_value(name, object, key, &found));
    WEFT_CHECK(found->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: \"%s\" must be a string", name, key);
    *value = found->text;
    return WEFT_OK;
}

weft_status json_get_amount(const char *name, const json_value *object, const char *key, double most, const char *unit,
                            double *value)
{
    const json_value *found = NULL;
    WEFT_TRY(find_value(name, object, key, &found));
    WEFT_CHECK(found->kind == JSON_NUMBER, WEFT_ERR_DATA, "%s: \"%s\" must be a number of %s", name, key, unit);
    WEFT_CHECK(found->number > 0.0 && found->number <= most, WEFT_ERR_DATA,
               "%s: \"%s\" is %g, must be above 0 and at most %g", name, key, found->number, most);
    *value = found->number;
    return WEFT_OK;
}

weft_status json_expect_text(const char *name, const json_value *object, const char *key, const char *expected)
{
    const char *found = NULL;
    WEFT_TRY(json_get_text(name, object, key, &found));
    WEFT_CHECK(strcmp(found, expected) == 0, WEFT_ERR_DATA, "%s: \"%s\" is \"%.200s\", here it is \"%.200s\"", name,
               key, found, expected);
    return WEFT_OK;
}

weft_status json_get_bool(const char *name, const json_value *object, const char *key, bool *value)
{
    const json_value *found = NULL;
    WEFT_TRY(find_value(name, object, key, &found));
    WEFT_CHECK(found->kind == JSON_BOOL, WEFT_ERR_DATA, "%s: \"%s\" must be true or false", name, key);
    *value = found->boolean;
    return WEFT_OK;
}
