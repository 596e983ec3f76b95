/*
 * io/store/store_array.h: an array of a store: its entry in the manifest, its file, and its checksums.
 *
 * A store is a folder of .npy files and a manifest.json whose object `arrays` has an entry for each file. Every part
 * of an entry but the name may be absent, so that a person can write a manifest by hand; what is there must be true.
 *
 *   "source": {"file": "source.npy", "dtype": "int32", "shape": [9], "bytes": 164, "xxh3": "..", "crc32": ".."}
 *
 * Two checksums: XXH3-128 is fast and strong and is what Weft compares; CRC-32 is what every language has at hand
 * (Python: zlib.crc32). Stores that give one of them are checked by that one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/json.h"
#include "io/npy.h"

enum { STORE_FILE_BYTES = 64, STORE_HASH_BYTES = 33, STORE_CRC_BYTES = 9, STORE_MANIFEST_MAX = 1 << 20 };

typedef struct store_array {
    bool present;
    char file[STORE_FILE_BYTES];
    char dtype[16]; /* "" if the manifest does not give it */
    int dims;       /* -1 if the manifest does not give the shape */
    int64_t shape[NPY_MAX_DIMS];
    int64_t bytes;               /* of the whole file; -1 if the manifest does not give it */
    char xxh3[STORE_HASH_BYTES]; /* of the whole file; "" if the manifest does not give it */
    char crc32[STORE_CRC_BYTES]; /* of the whole file; "" if the manifest does not give it */
} store_array;

/* An entry about which nothing is known but its file, NAME.npy. */
store_array store_array_named(const char *name, bool present);

/* Reads one entry: `value` is the object, whose key is the array's name; `name` is the manifest's, for messages. Fields
 * that the object lacks stay as they are. WEFT_ERR_DATA: a file name that leads out of the folder, a malformed
 * shape. */
weft_status store_array_parse(const char *name, const json_value *value, store_array *entry);
void store_array_print(json_writer *json, const char *name, const store_array *entry);

/* Maps the file at `path` and compares type, shape and size with the entry. The caller closes the map on failure
 * too. */
weft_status store_array_open(const char *path, const store_array *entry, npy_map *array);
/* Compares the checksum. An entry without one is warned about. WEFT_ERR_DATA: damaged. */
weft_status store_array_verify(const char *path, const store_array *entry, const npy_map *array);

/* CRC-32 (ISO 3309, as zlib computes it) of a file, as 8 hex digits; its pages are forgotten. */
void store_map_crc32(const file_map *map, char hex[STORE_CRC_BYTES]);
/* "float32", "int64" ...: the manifest's word for a type of io/npy.h. */
void store_dtype_text(char kind, int item_bytes, char text[16]);

/* Optional members of a manifest. An absent integer becomes `otherwise`, an absent text "". A text must fit. */
weft_status store_optional_int(const char *name, const json_value *object, const char *key, int64_t otherwise,
                               int64_t *value);
weft_status store_optional_text(const char *name, const json_value *object, const char *key, char *dst,
                                size_t capacity);
