/*
 * dense/data/image_cache.h: samples that were decoded, kept once for all ranks of a node: in memory that they share,
 * and, where a folder is given, in a file on the node's own disk (image_disk.h). A part of image_set.c.
 *
 *      source --decode--> sample --put--+--> memory   samples 0 .. held - 1
 *                                       +--> disk     the last ones, as many as have room
 *      take:  memory, else disk (and into memory), else the caller makes it and puts it
 *
 * An epoch asks for every sample once, in an order without favourites, so it does not matter which ones are kept, and
 * none is ever replaced: a sample's place is its number. Where no node can hold all of them they may be spread: each
 * has a home, a function of its number, and the nodes hold different ones, to fetch from each other (image_fetch.h).
 *
 *      spread over 3 nodes     node 0   0 3 6 9 ..     node 1   1 4 7 ..     node 2   2 5 8 ..  as many as memory holds
 *
 * Memory has the first and the disk the last ones, so that what is in
 * neither is as little as can be. A place is filled by the rank and thread that has the sample first; nobody waits.
 */
#pragma once

#include "dense/data/image_disk.h"
#include "dense/data/image_set.h"

typedef struct image_cache image_cache;

typedef struct image_cache_desc {
    int64_t samples;             /* of the set, which are numbered 0 .. samples - 1 */
    size_t bytes;                /* of each */
    uint64_t memory;             /* most bytes of this node */
    int threads;                 /* >= 1, that touch the memory first */
    bool spread;                 /* over the nodes, where none holds all */
    const image_disk_desc *disk; /* samples and sample_bytes are these; NULL: none */
} image_cache_desc;

/*
 * Memory is taken and touched here, and none later. Where the node has too little shared memory every rank has its part
 * of `memory` for itself, which a line of the log says. Collective. WEFT_ERR_RESOURCE.
 */
weft_status image_cache_create(weft_comm *comm, const image_cache_desc *desc, image_cache **cache);
void image_cache_destroy(image_cache *cache); /* collective where a node has several ranks; NULL is allowed */

/* A sample from where it is kept; IMAGE_FROM_SOURCE: from nowhere, and pixels [bytes] are not touched. Any thread. */
image_level image_cache_take(const image_cache *cache, int64_t number, uint8_t *pixels);
/* Keep a sample; lasting: for later jobs, too. Any thread, beside others that take or put the same. */
void image_cache_put(const image_cache *cache, int64_t number, const uint8_t *pixels, bool lasting);

/* Memory in which a node of so many ranks holds all samples, of so many bytes each. */
uint64_t image_cache_bytes(int64_t samples, size_t bytes, int ranks);
/* Samples that memory has room for, the number of the place-th of them, and ranks that fill it together; *me: this one
 * among them. */
int64_t image_cache_held(const image_cache *cache);
int64_t image_cache_number(const image_cache *cache, int64_t place);
int image_cache_ranks(const image_cache *cache, int *me);

/* Whether samples are spread; then the rank that answers for a sample, -1: no memory has a place for it; and whether
 * two ranks read the same memory. */
bool image_cache_is_spread(const image_cache *cache);
int image_cache_home(const image_cache *cache, int64_t number);
bool image_cache_together(const image_cache *cache, int a, int b);
