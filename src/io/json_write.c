/*
 * io/json_write.c: the streaming JSON writer.
 *
 * The writer keeps one pair of bits a depth (was a value written here, is it an array) and prints straight to the
 * stream, so a manifest of any size costs no memory. Misuse (a key inside an array, unbalanced json_end) is a bug of
 * ours: asserted.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/escape.h"
#include "base/number.h"
#include "io/json.h"

/* One thread writes into a stream, so characters take no lock each. */
enum { WRITER_DEPTH = 32 };

json_writer json_begin(FILE *out, bool pretty)
{
    json_writer json = {.out = out, .pretty = pretty};
    return json;
}

static void write_newline(json_writer *json)
{
    if (json->pretty) {
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    }
}

/* Code points that a terminal obeys or hides are written by number. JSON is UTF-8, so a malformed byte, as file names
 * may hold, becomes U+FFFD. */
/* Bytes of ASCII that stand for themselves within quotes. */
static size_t plain_length(const char *text)
{
    size_t length = 0;
    while (text[length] >= ' ' && text[length] < 0x7f && text[length] != '"' && text[length] != '\\') {
        length++;
    }
    return length;
}

static void write_quoted(FILE *out, const char *text)
{
    fputc_unlocked('"', out);
    int bytes = 0;
    for (const char *at = text; *at != '\0'; at += bytes > 0 ? bytes : 1) {
        const size_t plain = plain_length(at);
        if (plain > 0) {
            fwrite_unlocked(at, 1, plain, out);
            at += plain;
            if (*at == '\0') {
                break;
            }
        }
        unsigned char c = (unsigned char)*at;
        uint32_t code;
        bytes = utf8_length(at, &code);
        switch (c) {
        case '"':
            fputs_unlocked("\\\"", out);
            break;
        case '\\':
            fputs_unlocked("\\\\", out);
            break;
        case '\n':
            fputs_unlocked("\\n", out);
            break;
        case '\t':
            fputs_unlocked("\\t", out);
            break;
        case '\r':
            fputs_unlocked("\\r", out);
            break;
        default:
            if (bytes > 0 && code <= 0xffff && utf8_is_harmful(code)) {
                fprintf(out, "\\u%04x", (unsigned)code);
            } else if (bytes > 0) {
                fwrite_unlocked(at, 1, (size_t)bytes, out);
            } else {
                fputs_unlocked("\\ufffd", out);
            }
        }
    }
    fputc_unlocked('"', out);
}

/* Comma, line break and key: everything that stands before a value. */
static void write_lead(json_writer *json, const char *key)
{
    assert((key == NULL) == (json->depth == 0 || json->array[json->depth]));
    if (json->depth > 0) {
        if (json->comma[json->depth]) {
            fputc_unlocked(',', json->out);
            if (!json->pretty) {
                fputc_unlocked(' ', json->out);
            }
        }
        write_newline(json);
    }
    json->comma[json->depth] = true;
    if (key != NULL) {
        write_quoted(json->out, key);
        fputs_unlocked(": ", json->out);
    }
}

static void write_open(json_writer *json, const char *key, bool array)
{
    assert(json->depth + 1 < WRITER_DEPTH);
    write_lead(json, key);
    fputc_unlocked(array ? '[' : '{', json->out);
    json->depth++;
    json->comma[json->depth] = false;
    json->array[json->depth] = array;
}

void json_object(json_writer *json, const char *key)
{
    write_open(json, key, false);
}

void json_array(json_writer *json, const char *key)
{
    write_open(json, key, true);
}

void json_end(json_writer *json)
{
    assert(json->depth > 0);
    bool array = json->array[json->depth], filled = json->comma[json->depth];
    json->depth--;
    if (filled) {
        write_newline(json);
    }
    fputc_unlocked(array ? ']' : '}', json->out);
}

void json_text(json_writer *json, const char *key, const char *value)
{
    if (value == NULL) {
        json_null(json, key);
        return;
    }
    write_lead(json, key);
    write_quoted(json->out, value);
}

void json_int(json_writer *json, const char *key, int64_t value)
{
    char text[NUMBER_TEXT_MAX];
    write_lead(json, key);
    fputs_unlocked(number_format_int(value, text), json->out);
}

void json_real(json_writer *json, const char *key, double value)
{
    char text[NUMBER_TEXT_MAX];
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    write_lead(json, key);
    fputs_unlocked(number_format_real(value, text), json->out);
}

/* A number that shows that it may have a fraction. */
static void write_fraction(json_writer *json, const char *key, const char *text)
{
    write_lead(json, key);
    fputs_unlocked(text, json->out);
    fputs_unlocked(strpbrk(text, ".eE") == NULL ? ".0" : "", json->out);
}

void json_fraction(json_writer *json, const char *key, double value)
{
    char text[NUMBER_TEXT_MAX];
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    write_fraction(json, key, number_format_real(value, text));
}

void json_fraction_single(json_writer *json, const char *key, float value)
{
    char text[NUMBER_TEXT_MAX];
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    write_fraction(json, key, number_format_float(value, text));
}

void json_bool(json_writer *json, const char *key, bool value)
{
    write_lead(json, key);
    fputs_unlocked(value ? "true" : "false", json->out);
}

void json_null(json_writer *json, const char *key)
{
    write_lead(json, key);
    fputs_unlocked("null", json->out);
}

void json_line_end(json_writer *json)
{
    assert(json->depth == 0);
    json->comma[0] = false;
    fputc_unlocked('\n', json->out);
}
