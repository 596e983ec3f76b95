/*
 * app/version/versions.h: what this program is made of, in one table: for `weft --version -v`, `weft info build`,
 * run.json and `weft doctor`.
 */
#pragma once

#include <stdio.h>

#include "io/json.h"

enum { VERSIONS_MOST = 24, VERSION_NAME_BYTES = 24, VERSION_TEXT_BYTES = 160 };

typedef struct version_row {
    char name[VERSION_NAME_BYTES], text[VERSION_TEXT_BYTES];
} version_row;

/* Weft, its revision, compiler and build, then the libraries with the versions that run; the count. */
int versions_collect(version_row row[VERSIONS_MOST]);

/* An object "versions" with a key a row. */
void versions_write(json_writer *json);
/* A line a row, "name: text", then NCCL, where the build has devices, and the instruction sets of this machine. */
void versions_print(FILE *out);
