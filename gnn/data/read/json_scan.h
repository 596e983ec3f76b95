/*
 * gnn/data/read/json_scan.h: large JSON files of a known shape, walked through without a tree.
 *
 * io/json.h builds a tree and stops at 1 MiB; the class maps of large data sets have hundreds. A scanner stands
 * somewhere in the mapped file; each call takes one token or says, with file, line and column, what was expected.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

typedef struct json_scan {
    const char *path;
    file_map map;
    const char *at, *end;
} json_scan;

weft_status json_scan_open(const char *path, json_scan *scan);
void json_scan_close(json_scan *scan);

/* Past blanks: does `c` come next? It is then taken. */
bool json_scan_take(json_scan *scan, char c);
weft_status json_scan_need(json_scan *scan, char c);
/* A text without escapes, at most 31 bytes. */
weft_status json_scan_text(json_scan *scan, char text[32]);
/* A whole number that fits int64; 3.0 is one. */
weft_status json_scan_int(json_scan *scan, int64_t *value);
/* Nothing but blanks may follow. */
weft_status json_scan_end(json_scan *scan);
