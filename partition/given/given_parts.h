/*
 * partition/given/given_parts.h: a partition that another program made: the part of every vertex, from a file.
 *
 *   NAME.json   a partition book of DGL or DistDGL (given_book.h)
 *   NAME.npy    an integer for each vertex
 *   any other   text: a line for each vertex with its part (METIS, KaHIP and ParMETIS: graph.part.K; DistDGL's lists of
 *               a kind of vertices), or, in any order, lines of a vertex and its part (ParMETIS as DistDGL calls it).
 *               Parts and vertices count from 0.
 *
 * Files are taken to be wrong until checked: every vertex has one part, below the number of parts. Parts that no vertex
 * has are warned about.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Does the name of a method name a file? */
bool given_is_file(const char *method);

/* [out] part [vertices]. WEFT_ERR_NOINPUT, WEFT_ERR_IO: the file cannot be read; WEFT_ERR_DATA: line or element, value
 * and limit; made for another number of parts or vertices. */
weft_status given_parts_read(const char *path, int64_t vertices, int parts, uint16_t *part);

/* Sizes and times of the file, and of the array that a partition book names: they change when either is written
 * anew. */
weft_status given_parts_identity(const char *path, char key[33]);
