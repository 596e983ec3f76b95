/*
 * io/store/store_seal.h: which state of a store's files was checked.
 *
 *   STORE/checked.json   {"format": "weft-checked", "version": 1, "seal": hash}
 *
 * A seal is a hash of the manifest and of inode, size, modification time and change time of every array. Whatever
 * writes to a file moves its change time, and a copy has another inode, so a stale seal costs no more than one more
 * check.
 */
#pragma once

#include <stdbool.h>

#include "io/store/store_array.h"

/* Adds the state of a file to a seal. */
weft_status store_seal_mix(const char *path, char seal[STORE_HASH_BYTES]);
/* Adds size and time of a file without checksum to the hash that names the store's content. */
weft_status store_facts_mix(const char *path, char hash[STORE_HASH_BYTES]);

/* Returns true if STORE/checked.json holds this seal. A seal that cannot be read counts as none. */
bool store_is_sealed(const char *store, const char *seal);
/* Leaves STORE/checked.json where the folder can be written; a failure is logged and costs one more check later. */
void store_seal_keep(const char *store, const char *seal);
