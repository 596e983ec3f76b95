/*
 * comm/sparse/sparse_internal.h: a sparse all-reduce as its exchanges see it.
 *
 * What one sender has to say is a slot: a note, then the places, then the values:
 *
 *      note (16 bytes): who is not finite, if any; entries | int32 index [entries] | float32 value [entries]
 *
 * Between ranks that exchange selections it travels packed (comm/sparse/sparse_wire.c), behind the same note.
 *
 * The note keeps every rank in step: a rank whose vector is not finite sends no entries and its name, so that all ranks
 * finish the same messages and then fail with the same words. Where the number of entries is not known beforehand the
 * notes travel in a round of their own, ahead of the entries.
 */
#pragma once

#include <string.h>

#include "comm/core/comm_internal.h"
#include "comm/sparse/sparse.h"

typedef struct sparse_note {
    int32_t rank;  /* whose vector is not finite, -1: nobody's */
    int32_t index; /* where */
    int64_t amount;
} sparse_note;

enum { NOTE_BYTES = 16, ENTRY_BYTES = 8 };
_Static_assert(sizeof(sparse_note) == NOTE_BYTES, "a note has no padding");

typedef struct sparse_slots {
    weft_hal *hal; /* whose copies reach them; NULL: none */
    int count;
    int64_t capacity, stride; /* entries and bytes of a slot */
    char *data;               /* [count] slots */
    int64_t *bytes;           /* [count] what travels of each, read when its round begins */
    /* of those that travel */
    int own;        /* the slot that this rank fills, -1: all */
    int64_t domain; /* places are below it */
    sparse_values values;
    bool noted; /* the note travels with the entries; else ahead of them */
    char *wire; /* [count] packed slots */
    int64_t wire_stride;
} sparse_slots;

weft_status slots_create(sparse_slots *slots, weft_hal *hal, int count, int64_t capacity);
/* Room for these slots on their way; own: the one that this rank fills, -1: all. */
weft_status slots_travel(const sparse_plan *plan, sparse_slots *slots, int own);
/* Steps of a schedule, for sparse_slots: own slots become what travels, and what came becomes slots. WEFT_ERR_INTERNAL
 * where they do not fit. */
weft_status slots_pack(void *slots, uint64_t post);
weft_status slots_unpack(void *slots, uint64_t post);
/* What travels of slot i, from its note on; without it where that went ahead. */
char *slots_wire(const sparse_slots *slots, int i);
int64_t slots_wire_most(const sparse_slots *slots);
void slots_free(sparse_slots *slots);
sparse_note *slots_note(const sparse_slots *slots, int i);
int32_t *slots_index(const sparse_slots *slots, int i);
/* Values begin behind note->amount indices. */
float *slots_value(const sparse_slots *slots, int i);
/* bytes[i] = the entries that note i announces. WEFT_ERR_INTERNAL when they do not fit. */
weft_status slots_announce(sparse_slots *slots);

/* ---- entries as they travel: comm/sparse/sparse_wire.c ----------------------------------------------------------- */
/* Bytes of `entries` of a domain; never fewer for more entries. */
int64_t wire_bytes(int64_t domain, int64_t entries, sparse_values values);
/* value [entries] becomes what travels of it: rounding that again changes nothing, and what it takes away fits a
 * float32 exactly. */
void wire_round(int64_t entries, sparse_values values, float *value);
/* to [wire_bytes]; values that wire_round made. WEFT_ERR_INTERNAL unless index [entries] ascends, in [0, domain). */
weft_status wire_pack(int64_t domain, int64_t entries, sparse_values values, const int32_t *index, const float *value,
                      uint8_t *to);
/* WEFT_ERR_INTERNAL for another number of places. Places may be outside the domain: whoever uses them looks. */
weft_status wire_unpack(int64_t domain, int64_t entries, sparse_values values, const uint8_t *from, int32_t *index,
                        float *value);

/* A whole slot at `data`, added into to[count]; *bytes: its length. WEFT_ERR_INTERNAL for a place outside. */
weft_status slot_add(const char *data, float *to, int64_t count, int64_t *bytes);

/* One shard of the vector: what the ranks with one local number select from. */
typedef struct sparse_shard {
    int64_t begin, count;
    int64_t capacity;                  /* most entries of one sender */
    int64_t bundle_most;               /* longest bundle; longer ones go dense */
    char *inbox;                       /* [bundle_most] the bundle of that shard's owner in this node */
    int64_t dense_bytes, bundle_bytes; /* what its owner sends this time: one of both is 0 */
    sparse_note status;
} sparse_shard;

/* The parts of a node's ranks in the sum. */
typedef struct sparse_node {
    int ranks, local; /* of this node */
    int *member;      /* [ranks] */
    int shards;       /* n: ranks of the smallest node */
    int mine;         /* this rank's shard, -1: none */
    sparse_shard *shard;
    float **source;   /* [ranks] every rank's copy of this rank's shard: cleared by the sum where it is a vector */
    char *bundle;     /* what this rank's shard became: slots one behind the other; own, or in a window */
    int bundle_slots; /* of every bundle */
} sparse_node;

/* Shared memory in place of messages inside the node. */
typedef struct sparse_window {
    bool usable; /* everybody's vector lies in a window */
    int ranks;
    float **vector;    /* [ranks of the node] */
    comm_window *meet; /* leased: flags, a note and a bundle a rank */
    int awaited;       /* ranks before it have come */
} sparse_window;

typedef struct sparse_ok_topk sparse_ok_topk;
typedef struct sparse_device sparse_device;

struct sparse_plan {
    weft_comm *comm;
    sparse_desc desc;
    sparse_exchange exchange; /* that runs; never AUTO */
    comm_schedule schedule;
    bool variable;       /* the number of entries is not known beforehand */
    int nodes, node;     /* m and this rank's */
    int *group;          /* [senders] ranks that exchange selections, in the order of sums */
    int senders, sender; /* slots, and this rank's */
    sparse_slots slots;
    sparse_node at;
    sparse_window window;
    sparse_ok_topk *ok_topk;
    sparse_device *device; /* NULL: everything is in host memory */
    selector *selector;
    /* error feedback */
    float *residual; /* [count]; with a device: NULL, it is there */
    int64_t begin, count;
    int32_t *sent; /* [capacity] */
    int64_t sent_count;
    /* the running post */
    int64_t k, share; /* of the whole vector, of this rank */
    sparse_note trouble;
    /* past break-even */
    int64_t dense_from; /* smallest k that is sent dense */
    comm_plan *dense, *flag;
    int64_t flag_value;
    bool flag_found; /* the driver's */
    bool runs_dense;
};

static inline int64_t sparse_share(int64_t k, int shards, int shard)
{
    return k / shards + (shard < k % shards);
}

/* Most entries that a sender of shard elements may send where `k` are asked for. */
int64_t sparse_capacity(const select_options *select, int64_t k, int64_t count);
/* Keep the first trouble: the lowest rank's. */
void sparse_blame(sparse_plan *plan, const sparse_note *note);
/* After every exchange: WEFT_ERR_DIVERGED with the same words on all ranks if there was trouble. The operation itself
 * ended well, so that nothing is left under way. */
weft_status sparse_verdict(const sparse_plan *plan);
/* Select from the residual into slot i; trouble is noted there, not returned. */
weft_status sparse_select_into(sparse_plan *plan, sparse_slots *slots, int i);
/* The step of a schedule: select into slot `sender` of plan->slots; the residual keeps the rest. */
weft_status sparse_select(void *plan, uint64_t post);
/* plan->slots make the shard (or the vector), in place. */
weft_status sparse_add_slots(void *plan, uint64_t post);
/* Rounds in which every member i of the group gets a slot straight from every other: slot `sender` of `out`, or, if out
 * is one a receiver, slot i; it arrives in slot i of `in`. */
void sparse_exchange_slots(sparse_plan *plan, sparse_slots *out, bool one_a_receiver, sparse_slots *in);

/* ---- the node's part: comm/sparse/sparse_node.c ------------------------------------------------------------------ */
/* Longest bundle of any shard. */
int64_t node_bundle_most(const weft_comm *comm, const sparse_desc *desc);
weft_status node_create(sparse_plan *plan);
void node_free(sparse_plan *plan);
/* residual += the node's sum of this rank's shard. */
void node_build_sum(sparse_plan *plan);
/* This rank's shard to the others of its node, theirs into the vector. The shard is complete in desc.buffer. */
void node_build_gather(sparse_plan *plan);
/* What both forms of these stages share: steps, and the work on a bundle. */
weft_status node_sum_shard(void *plan, uint64_t post);
weft_status node_prepare_bundle(void *plan, uint64_t post);
weft_status node_unpack(sparse_plan *plan, const sparse_shard *shard, const char *bundle);

/* ---- the same through shared memory: comm/sparse/sparse_window.c ------------------------------------------------- */
/* Where all vectors lie. Collective; the same answer on every rank. */
weft_status sparse_window_find(weft_comm *comm, const sparse_desc *desc, sparse_window *found);
/* Collective. Makes do with messages when there is no room. */
weft_status sparse_window_open(weft_comm *comm, int64_t bundle_most, sparse_window *found);
void sparse_window_close(weft_comm *comm, sparse_window *found);
void window_build_sum(sparse_plan *plan);
void window_build_gather(sparse_plan *plan);

/* ---- exchanges: called on every rank; schedule is begun and is ended by the caller ------------------------------- */
weft_status sparse_hierarchical_create(sparse_plan *plan);
weft_status sparse_ok_topk_create(sparse_plan *plan);
void *sparse_ok_topk_state(sparse_plan *plan, int64_t *bytes);
weft_status sparse_ok_topk_restored(sparse_plan *plan); /* collective */
void sparse_ok_topk_free(sparse_plan *plan);
weft_status sparse_all_gather_create(sparse_plan *plan);

/* ---- vectors on a device: comm/sparse/sparse_device.c ------------------------------------------------------------ */
weft_status sparse_device_create(sparse_plan *plan);
void sparse_device_free(sparse_plan *plan);
/* Select into slot `sender`, or with everything == true bring vector and residual to desc.buffer; the residual keeps
 * the rest. What comes down may be under way on return. */
weft_status sparse_device_take(sparse_plan *plan, bool everything);
/* Whether it is there; never waits. Steps that begin an exchange ask, on whichever thread drives: */
weft_status sparse_device_here(const sparse_plan *plan, bool *here);
/* ... this one, and the slot gets its note then: trouble is noted, not returned. */
weft_status sparse_device_taken(void *plan, bool *done);
/* The sum of the slots, or desc.buffer, becomes the vector on the device. */
weft_status sparse_device_put(sparse_plan *plan, bool everything);
float *sparse_device_residual(const sparse_plan *plan); /* in host memory */

/* ---- past break-even: comm/sparse/sparse_dense.c ----------------------------------------------------------------- */
weft_status dense_create(sparse_plan *plan); /* collective */
weft_status dense_post(sparse_plan *plan);
weft_status dense_wait(sparse_plan *plan);
void dense_free(sparse_plan *plan);
