/*
 * gnn/data/edges/edge_lines.h: kernels for the common lines of an edge list, "12 345": two ids, each of as many digits
 * as the kernel takes, a blank, tab or comma between them, and the end of the line.
 *
 * They read from two places in turn, or one after the other: where a line ends is known only when it is read, so that
 * one waits while the other computes. Any other line, also one with an id out of range, is left to the caller.
 */
#pragma once

#include <stdint.h>

typedef struct edge_ids {
    int64_t first, last; /* what the file may say; the first one is vertex 0 */
} edge_ids;

enum { EDGE_LINES_ROOM = 1024 };

/* Moves text[0] and text[1], each at the beginning of a line, past common lines before end[0] and end[1], which are
 * behind the ends of lines (TEXT_PAD bytes more may be read), and puts their ids into pairs. Returns how many pairs;
 * room: EDGE_LINES_ROOM or more. A few common lines may be left as well: read one line at text[0] or text[1] in another
 * way, and ask again. */
typedef int64_t (*edge_lines_fn)(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                                 int64_t room);

int64_t edge_lines_base(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                        int64_t room); /* up to 7 digits, also lines that end in "\r\n" */
int64_t edge_lines_avx2(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                        int64_t room); /* up to 18 digits */
int64_t edge_lines_avx512(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                          int64_t room); /* up to 18 digits */
