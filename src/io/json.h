/*
 * io/json.h: a streaming JSON writer (objects, JSON Lines) and a strict reader for small inputs (manifests).
 *
 * Writer: numbers are printed so that they read back to the same bits; NaN and infinities become null. Commas and
 * quoting are the writer's business. Reader: at most 1 MiB, depth <= 16; duplicate keys, trailing text and invalid
 * UTF-8 are refused with line and column.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct json_writer {
    FILE *out;
    int depth;
    bool comma[32]; /* a value has been written at this depth */
    bool array[32]; /* what is open at this depth is an array */
    bool pretty;    /* newlines and two blanks a depth */
} json_writer;

/* Write errors stay in the stream: whoever closes it checks (base/file.h does). */
json_writer json_begin(FILE *out, bool pretty);
/* key == NULL inside arrays and at the top. */
void json_object(json_writer *json, const char *key);
void json_array(json_writer *json, const char *key);
void json_end(json_writer *json); /* closes the innermost object or array */
void json_text(json_writer *json, const char *key, const char *value);
void json_int(json_writer *json, const char *key, int64_t value);
void json_real(json_writer *json, const char *key, double value); /* shortest text that reads back equal */
/* Writes a number as json_real does, with ".0" behind a whole one, for readers that tell kinds of numbers apart. */
void json_fraction(json_writer *json, const char *key, double value);
/* Writes the shortest text that reads back to the same float, as json_fraction does. */
void json_fraction_single(json_writer *json, const char *key, float value);
void json_bool(json_writer *json, const char *key, bool value);
void json_null(json_writer *json, const char *key);
void json_line_end(json_writer *json); /* newline after a JSON Lines object; depth must be 0 */

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json_value {
    json_kind kind;
    bool boolean;
    double number;
    bool integral; /* the text was an integer that fits int64 */
    int64_t integer;
    const char *text; /* NUL-terminated */
    const char *key;  /* inside an object */
    struct json_value *child, *next;
} json_value;

typedef struct json_document json_document;

/* `name` is for messages. Free with json_free. WEFT_ERR_DATA with line and what was expected. The root is any value. */
weft_status json_parse(const char *name, const char *text, size_t bytes, json_document **document);
/* Parses up to most_bytes, a bound of the caller's, where json_parse has its own: for files whose size is the user's
 * choice. A document takes up to 40 times its text. */
weft_status json_parse_large(const char *name, const char *text, size_t bytes, size_t most_bytes,
                             json_document **document);
/* A file of at most most_bytes that holds an object. WEFT_ERR_NOINPUT, WEFT_ERR_IO, WEFT_ERR_DATA; *document is NULL
 * then. */
weft_status json_read_object(const char *path, size_t most_bytes, json_document **document, const json_value **object);
const json_value *json_root(const json_document *document);
const json_value *json_find(const json_value *object, const char *key); /* NULL when absent */
/* Members of files that come from anywhere. The object may be NULL. Returns NaN where there is no such number, and
 * `otherwise` where there is no such text, or an empty one. */
double json_number(const json_value *object, const char *key);
const char *json_string(const json_value *object, const char *key, const char *otherwise);
/* First element of an array, or first member of an object; NULL when it is of another kind, or empty. */
const json_value *json_first(const json_value *value, json_kind kind);
void json_free(json_document *document);

/* Typed access with errors that name file and key. */
weft_status json_get_int(const char *name, const json_value *object, const char *key, int64_t min, int64_t max,
                         int64_t *value);
weft_status json_get_text(const char *name, const json_value *object, const char *key, const char **value);
/* A number above 0, at most `most`; unit: "seconds". */
weft_status json_get_amount(const char *name, const json_value *object, const char *key, double most, const char *unit,
                            double *value);
/* A text that must be this one: what a file was made by, or for. */
weft_status json_expect_text(const char *name, const json_value *object, const char *key, const char *expected);
weft_status json_get_bool(const char *name, const json_value *object, const char *key, bool *value);
