/*
 * base/philox.h: Philox4x32-10, the counter-based generator behind every random number of Weft.
 *
 * A draw is a pure function of (key, counter): the same on any rank, thread or backend, with nothing to carry around.
 * J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3. SC'11,
 * doi:10.1145/2063384.2063405
 *
 * Uses of the counter are kept apart by WEFT_RNG_* purposes in the upper bits of word 2 (see philox_counter).
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/isa.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

typedef struct philox_block {
    uint32_t word[4];
} philox_block;

/* The purpose of a stream of numbers; streams never share a counter. Dropout uses DROPOUT + layer index. */
enum {
    WEFT_RNG_INIT = 1,      /* weight initialisation */
    WEFT_RNG_GENERATE = 16, /* graph, feature and label generators: 16..63 */
    WEFT_RNG_PARTITION = 64,
    WEFT_RNG_SPLIT = 65,
    WEFT_RNG_SYNC = 66,       /* shuffles of ranks */
    WEFT_RNG_FEATURES = 67,   /* features of graphs that come without; epoch 0: random, 1 and above: spectral */
    WEFT_RNG_ORDER = 68,      /* samples of an epoch */
    WEFT_RNG_AUGMENT = 69,    /* changes of a sample, by epoch */
    WEFT_RNG_IMAGES = 70,     /* made images: 70..73 */
    WEFT_RNG_HALO_BIN = 74,   /* in which epochs a vertex's replicas are refreshed */
    WEFT_RNG_HALO_DRAW = 75,  /* which vertices' rows travel in an epoch */
    WEFT_RNG_FACTORS = 76,    /* rows that second-order methods look at */
    WEFT_RNG_TREES = 77,      /* rows (index 0) and columns (1) of a tree, rounds left out (2, 3); epoch: its number */
    WEFT_RNG_BACKGROUND = 78, /* rows that explanations compare with */
    WEFT_RNG_INDEXES = 79,    /* replicates of a bootstrap */
    WEFT_RNG_ROWS = 80,       /* first numbers of rows of embeddings, and where their index puts keys */
    WEFT_RNG_CLICK_BLOCKS = 81, /* blocks of rows of an epoch of clicks */
    WEFT_RNG_FOCUS = 82,        /* items whose labels set thresholds, by class (epoch) */
    WEFT_RNG_SEARCH = 83,       /* configurations of a search, and recorded scores that are drawn */
    WEFT_RNG_DEAL = 84,         /* order (epoch 0), shares (1) and classes (2) of the shards of ranks */
    WEFT_RNG_CLICKS = 88,       /* made rows of clicks: 88..93 */
    WEFT_RNG_LINKS = 94,        /* the part of an edge, and which end a negative keeps */
    WEFT_RNG_NEGATIVES = 95,    /* the other end of negatives, by (edge, number, epoch) */
    WEFT_RNG_POPULATION = 96,   /* donor of an exchange (index 2^32 - 1) and changes by dimension; epoch: its number */
    WEFT_RNG_MIXUP = 97,        /* shares and partners of mixed images, by step */
    WEFT_RNG_EDGES = 128,       /* dropout of edges, + layer, up to 191 */
    WEFT_RNG_HALO_ROUND = 192,  /* rounding of rows in messages: 192..1023, by leg */
    WEFT_RNG_DROPOUT = 1024,    /* + layer, up to 32767 */
    WEFT_RNG_VALUES = 32768     /* dropout of what attention sums, + layer, up to 65535 */
};

enum { PHILOX_ROUNDS = 10 };

/* Round number r of a block takes the key's words plus r times PHILOX_W0 and PHILOX_W1. */
WEFT_DEVICE static inline philox_block philox_round(philox_block c, uint32_t k0, uint32_t k1)
{
    const uint64_t p0 = (uint64_t)PHILOX_M0 * c.word[0], p1 = (uint64_t)PHILOX_M1 * c.word[2];
    return (philox_block){
        {(uint32_t)(p1 >> 32) ^ c.word[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c.word[3] ^ k1, (uint32_t)p0}};
}

WEFT_DEVICE static inline philox_block philox4x32(philox_block counter, uint64_t key)
{
    uint32_t k0 = (uint32_t)key;
    uint32_t k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; ++round) {
        counter = philox_round(counter, k0, k1);
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    return counter;
}

/*
 * The counter layout used everywhere:
 *   word 0  index within the object (column block, draw number)
 *   word 1  low 32 bits of the global id (vertex, edge, parameter)
 *   word 2  purpose (16 bits) << 16 | bits 32..47 of the global id
 *   word 3  epoch, or 0
 */
WEFT_DEVICE static inline philox_block philox_counter(uint32_t index, uint64_t global_id, uint32_t purpose,
                                                      uint32_t epoch)
{
    return (philox_block){
        {index, (uint32_t)global_id, (purpose << 16) | (uint32_t)((global_id >> 32) & 0xffffu), epoch}};
}

/* Uniform in (0, 1), 23 bits: one more and the largest would round to 1. */
WEFT_DEVICE static inline float philox_uniform(uint32_t word)
{
    return ((float)(word >> 9) + 0.5f) * 0x1.0p-23f;
}

/* Uniform in (0, 1), 52 bits, from two words. */
WEFT_DEVICE static inline double philox_uniform_double(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 20) | (low >> 12);
    return ((double)bits + 0.5) * 0x1.0p-52;
}

/* Standard normal from two words (Box-Muller, cosine branch). */
WEFT_DEVICE static inline float philox_normal(uint32_t a, uint32_t b)
{
    return sqrtf(-2.0f * logf(philox_uniform(a))) * cosf(6.283185307179586f * philox_uniform(b));
}

/*
 * Dropout: element (row id, column c) of purpose/layer at an epoch is kept iff the 16-bit lane c % 8 of the block with
 * index c / 8 is >= threshold. Lane j of a block: bits 16 * (j & 1) .. of word j >> 1. The probability's resolution is
 * 2^-16.
 */
WEFT_DEVICE static inline uint32_t philox_dropout_threshold(float probability)
{
    float scaled = probability * 65536.0f + 0.5f;
    return scaled <= 0.0f ? 0u : (scaled >= 65536.0f ? 65536u : (uint32_t)scaled);
}

/*
 * Dropout of edges: the edge from vertex `source` to vertex `target` is kept for head h of a layer at an epoch iff lane
 * h % 8 of the block with index h / 8 is >= threshold. Ids are below 2^40 and epochs below 2^28; beyond, masks repeat.
 */
WEFT_DEVICE static inline philox_block philox_edge(uint32_t index, uint64_t source, uint64_t target, uint32_t purpose,
                                                   uint32_t epoch, uint64_t seed)
{
    const uint32_t high = (uint32_t)((source >> 32) & 0xffu) << 8 | (uint32_t)((target >> 32) & 0xffu);
    return philox4x32(
        (philox_block){{(uint32_t)source, (uint32_t)target, (purpose << 16) | high, epoch ^ (index << 28)}}, seed);
}

WEFT_DEVICE static inline uint32_t philox_lane16(philox_block block, unsigned lane)
{
    return (block.word[lane >> 1] >> (16u * (lane & 1u))) & 0xffffu;
}
