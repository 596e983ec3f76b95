/*
 * dense/data/image_hash.h: hashes by which samples kept on disk are found again (image_disk.h, image_sizes.h).
 */
#pragma once

#include "dense/data/image_set.h"

/* Hashes of a set, as texts. */
typedef struct image_key {
    /* Hash of the set's path: part of names of files. */
    char place[33];
    /* Hash of all that the samples depend on, but for their size. */
    char identity[33];
} image_key;

/* The key of a set whose own hashes are known. */
void image_set_identify(const image_set *set, const char *path, image_key *key);

/* `hash` becomes the hash of itself and these bytes. */
void image_hash_mix(char hash[33], const void *data, size_t bytes);
