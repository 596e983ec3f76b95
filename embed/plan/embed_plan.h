/*
 * embed/plan/embed_plan.h: how many bytes the modes of a table (embed/embed.h) send, and the cheapest of them.
 *
 * Formulas are those of what is sent, to the byte, counts in front of messages included. What a batch has is counted
 * (embed_counts_add), for the ranks at hand or for any other number of them.
 */
#pragma once

#include "embed/embed.h"
#include "embed/pool/bag_index.h"

/* Of some fields, or of one, in training batches of all ranks. */
typedef struct embed_counts {
    int ranks;
    int64_t batches; /* 0 is one, too */
    int64_t samples;
    int64_t distinct;      /* distinct keys of each rank's samples, summed over ranks */
    int64_t distinct_away; /* of those: of other owners */
    int64_t keys_away;     /* keys in bags, each time they occur, of other owners */
    bool weighted;         /* keys in bags have weights */
    int64_t keys;          /* keys in bags, each time they occur */
    int stride;            /* numbers of a row where columns may be split among ranks; 0: they may not */
    int fields;            /* 0 is one, too */
    int64_t kept;          /* numbers of a field's sums that rank and columns have in common, over all ranks */
} embed_counts;

/* Adds one rank's bags of a batch to the counts of each field, counts [bags->fields], whose `ranks` and `stride` are
 * set; seed: of the table. Keys are made by embed_key. index: scratch, of zeros before the first call. */
weft_status embed_counts_add(const embed_bags *bags, int rank, uint64_t seed, bag_index *index, embed_counts *counts);
/* [out] counts: [bags->fields] of each rank's bags, summed: every rank calls and has the same. stride, seed,
 * index: as embed_counts_add. */
weft_status embed_counts_share(weft_comm *comm, const embed_bags *bags, int stride, uint64_t seed, bag_index *index,
                               embed_counts *counts);
/* Of two batches of some fields. */
embed_counts embed_counts_join(const embed_counts *a, const embed_counts *b);
/* Of the fields in a mode together. mode_of: [fields] an embed_mode of each; NULL: of all fields. */
embed_counts embed_counts_sum(const embed_counts *counts, int fields, const uint8_t *mode_of, embed_mode mode);

/*
 * Bytes that all ranks together send in the training batches.
 * stride   numbers of a row
 * columns  numbers of a sample that mode des sums: fields * stride for pooled rows, with squares one more; or
 *          embed_sums_columns
 * whole    mode des: every rank reads the bags of all ranks (embed_sums_forward's samples_of)
 * Mode columns sends pooled rows, and squares where columns is fields * stride + 1. INT64_MAX: rows cannot be split by
 * columns.
 */
int64_t embed_mode_bytes(embed_mode mode, const embed_counts *counts, int stride, int64_t columns, bool whole);
/*
 * Mode all-to-all where keys are gathered in `nodes` nodes of equally many ranks (embed_desc.nodes).
 * in_node  keys that ranks send to another rank of their node, over all ranks
 * between  distinct keys of a node's ranks whose owner is in another node, over all nodes
 * [out] crosses: of the bytes, those between nodes.
 */
int64_t embed_node_bytes(const embed_counts *counts, int stride, int nodes, int64_t in_node, int64_t between,
                         int64_t *crosses);
/* Bytes that a rank takes for batches beside its rows, for plans: index of keys, their rows and gradients, messages,
 * and with desc->ahead a second set of them. most: keys of a rank's batch at most, of which `distinct` differ. Room
 * that messages have for uneven owners counts as far as its pages are touched. A mode that is auto is all-to-all. */
int64_t embed_batch_bytes(const embed_desc *desc, int ranks, int64_t most, int64_t distinct);
/* What all-to-all sends more in these batches where keys and rows travel ahead (embed_ahead): `changed` rows a second
 * time, counted over the ranks that asked for them. */
int64_t embed_late_bytes(const embed_counts *counts, int stride, int64_t changed);
/* The mode that sends least; of equals the first of EMBED_MODES. */
embed_mode embed_mode_cheapest(const embed_counts *counts, int stride, int64_t columns, bool whole);

/* Bytes of a table whose fields have modes of their own, mode_of [fields], by counts [fields]. squares: of its
 * embed_desc. */
int64_t embed_modes_bytes(const embed_counts *counts, int fields, const uint8_t *mode_of, int stride, bool squares);
/* [out] mode_of: [fields] of each field the mode that sends least. shares: [fields] of whose keys all ranks
 * may hold rows. Returns true
 * if fields differ. */
bool embed_modes_cheapest(const embed_counts *counts, int fields, int stride, const bool *shares, uint8_t *mode_of);

/* Numbers that a parameter server would send to ranks and take back, without keys, in bytes: each rank pulls the rows
 * of its samples and pushes their gradients. */
int64_t embed_server_bytes(const embed_counts *counts, int stride);
/* 1 - bytes of numbers that mode des sends / embed_server_bytes; below 0 where des sends more. */
double embed_des_saving(const embed_counts *counts, int stride, int64_t columns);
