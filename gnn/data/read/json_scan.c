/* gnn/data/read/json_scan.c: see gnn/data/read/json_scan.h. */
#include "gnn/data/read/json_scan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

weft_status json_scan_open(const char *path, json_scan *scan)
{
    *scan = (json_scan){.path = path};
    WEFT_TRY(file_map_open(path, &scan->map));
    scan->at = (const char *)scan->map.data;
    scan->end = scan->map.size > 0 ? scan->at + scan->map.size : scan->at;
    return WEFT_OK;
}

void json_scan_close(json_scan *scan)
{
    file_map_close(&scan->map);
}

/* WEFT_ERR_DATA "FILE: line L, column C: expected WHAT, found 'X'". */
static weft_status fail_expected(const json_scan *scan, const char *what)
{
    int64_t line = 1;
    const char *start = (const char *)scan->map.data;
    for (const char *at = start; at < scan->at; at++) {
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    }
    long long column = scan->at - start + 1;
    if (scan->at == scan->end) {
        return weft_fail(WEFT_ERR_DATA, "%s: line %lld, column %lld: expected %s, the file ends (truncated?)",
                         scan->path, (long long)line, column, what);
    }
    char found = *scan->at;
    return weft_fail(WEFT_ERR_DATA, "%s: line %lld, column %lld: expected %s, found '%c'", scan->path, (long long)line,
                     column, what, found > 31 && found < 127 ? found : '?');
}

static void skip_blanks(json_scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t')) {
        scan->at++;
    }
}

bool json_scan_take(json_scan *scan, char c)
{
    skip_blanks(scan);
    if (scan->at < scan->end && *scan->at == c) {
        scan->at++;
        return true;
    }
    return false;
}

weft_status json_scan_need(json_scan *scan, char c)
{
    char what[4] = {'\'', c, '\'', '\0'};
    return json_scan_take(scan, c) ? WEFT_OK : fail_expected(scan, what);
}

weft_status json_scan_text(json_scan *scan, char text[32])
{
    if (!json_scan_take(scan, '"')) {
        return fail_expected(scan, "a text");
    }
    size_t length = 0;
    while (scan->at < scan->end && *scan->at != '"' && *scan->at != '\\' && length < 31) {
        text[length++] = *scan->at++;
    }
    text[length] = '\0';
    if (scan->at == scan->end || *scan->at != '"') {
        return fail_expected(scan, "'\"' after at most 31 plain characters");
    }
    scan->at++;
    return WEFT_OK;
}

weft_status json_scan_int(json_scan *scan, int64_t *value)
{
    char text[NUMBER_TEXT_MAX + 1];
    size_t length = 0;
    skip_blanks(scan);
    const char *at = scan->at;
    while (at < scan->end && strchr("+-.0123456789eE", *at) != NULL && *at != '\0' && length < NUMBER_TEXT_MAX) {
        text[length++] = *at++;
    }
    text[length] = '\0';
    double real;
    if (!number_parse_int(text, value)) {
        if (!number_parse_real(text, &real) || real != nearbyint(real) || fabs(real) > 0x1p53) {
            return fail_expected(scan, "a whole number");
        }
        *value = (int64_t)real;
    }
    scan->at = at;
    return WEFT_OK;
}

weft_status json_scan_end(json_scan *scan)
{
    skip_blanks(scan);
    return scan->at == scan->end ? WEFT_OK : fail_expected(scan, "the end of the file");
}
