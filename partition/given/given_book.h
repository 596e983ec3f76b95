/*
 * partition/given/given_book.h: partition books of DGL and DistDGL: the .json file that partition_graph writes.
 *
 *   {"num_parts": 2, "node_map": {"_N": [[0, 1205], [1205, 2708]]}, "orig_nids": "orig_nids.npy", ...}
 *   {"num_parts": 2, "node_map": "node_map.npy", ...}
 *
 * node_map is one of: a range of ids for each part, or its end alone; the name of an array with the part of each
 * vertex, which stands beside the book or where the name leads; an object with either for one kind of vertices. Ranges
 * are of the ids that DGL gave anew: an array orig_nids, as partition_graph(return_mapping=True) returns it, says which
 * vertex each of them was. Without one the store's vertices are taken to bear the new ids. Everything else in the book
 * is left alone.
 */
#pragma once

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* [out] part [vertices]: parts of ranges; or nothing, and in `array` the path of the array that has them, else "".
 * WEFT_ERR_DATA: key, value and limit. */
weft_status given_book_read(const char *path, int64_t vertices, int parts, uint16_t *part, char array[FILE_PATH_MAX]);

/* [out] arrays: the paths of the arrays that the book names, "" where there is none. */
enum { GIVEN_BOOK_ARRAYS = 2 };
weft_status given_book_arrays(const char *path, char arrays[GIVEN_BOOK_ARRAYS][FILE_PATH_MAX]);
