/*
 * comm/sparse/sparse.h: an all-reduce that sends only the largest elements, and remembers the rest.
 *
 *   SPARSE_HIERARCHICAL  HiTopKComm (Shi et al., MLSys 2021): sum inside the node in shared memory, rank j selects from
 *                        shard j of the node's sum, shards with equal j all-gather over the nodes, add, all-gather
 *                        inside the node. Residuals belong to the shard: d / n a rank.
 *   SPARSE_OK_TOPK       Ok-Topk (Li and Hoefler, PPoPP 2022) over the nodes after the sum inside the node: split by
 *                        regions of equal weight, reduce sparsely, keep the globally largest, all-gather.
 *   SPARSE_ALL_GATHER    every rank selects from its own vector; all selections go to all: the baseline.
 *
 * Error feedback: what is not sent is added to the next vector. At any time, to the bit and on every rank:
 *
 *      vector + residual before  ==  what was sent + residual after           (element by element, in float32)
 *
 * An element is either sent whole or kept whole, so this needs no rounding. With `values` of fewer bits the nearest of
 * them is sent and the rest, which float32 holds exactly, is kept: fewer bytes, and the same equation. ("Vector" is
 * what the selection sees: the rank's own with ALL_GATHER, the node's sum of the rank's shard with the others.) The
 * result is the sum of what was sent, the same bits on every rank (shards are added in node or rank order). k = count
 * sends everything through a dense all-reduce.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"
#include "comm/sparse/select.h"

#define SPARSE_EXCHANGES(X)                                                                                            \
    X(SPARSE_AUTO, "auto")                                                                                             \
    X(SPARSE_HIERARCHICAL, "hierarchical")                                                                             \
    X(SPARSE_OK_TOPK, "ok-topk")                                                                                       \
    X(SPARSE_ALL_GATHER, "all-gather")
typedef enum sparse_exchange { SPARSE_EXCHANGES(CHOICE_VALUE) } sparse_exchange;

/* In what a selected value travels (comm/sparse/sparse_wire.c). */
#define SPARSE_VALUES(X)                                                                                               \
    X(SPARSE_FLOAT32, "float32")                                                                                       \
    X(SPARSE_BFLOAT16, "bfloat16")                                                                                     \
    X(SPARSE_4_BITS, "4 bits")
typedef enum sparse_values { SPARSE_VALUES(CHOICE_VALUE) } sparse_values;

/* What AUTO takes, in words that a run can keep. */
typedef struct sparse_choice {
    sparse_exchange exchange; /* never AUTO; AUTO: nothing was chosen before */
    double dense_from; /* part of the elements, 0 to 1: whoever asks for as many is faster with a dense all-reduce */
    comm_algorithm allreduce; /* of that one, where it can run; AUTO: the fastest by prediction */
} sparse_choice;

typedef struct sparse_desc {
    comm_lane lane;
    sparse_exchange exchange;
    sparse_choice preferred; /* what AUTO takes, so that a run is repeated */
    select_options select;
    int64_t count;        /* < 2^31 */
    int64_t most;         /* largest k that will be asked for: sizes the buffers */
    sparse_values values; /* what travels: float32 from a device, and with OK_TOPK all the same */
    float *buffer;        /* [count] in: this rank's vector; out: the sum of what was sent */
    /* The vector and its residual lie on a device (comm/sparse/sparse_device.c): `device` [count] takes buffer's
     * part, which is work space then. ALL_GATHER (which AUTO takes) of exact selections; post, test and wait are the
     * calls of the thread that owns the backend. NULL: the host's memory. */
    weft_hal *hal;
    float *device;
} sparse_desc;

typedef struct sparse_plan sparse_plan;

/* By prediction, for vectors of `count` elements of which at most `most` are sent, on a device or in host memory; the
 * same on all ranks. windowed: through shared memory inside the node, as plans whose buffers lie there. */
sparse_choice sparse_choose(const weft_comm *comm, bool device, bool windowed, int64_t count, int64_t most,
                            sparse_values values);

/* Collective; descriptions are compared. WEFT_ERR_UNSUPPORTED from 2^31 elements on. AUTO takes what is preferred,
 * else the exchange that is predicted to be cheapest for a hundredth of the elements, and goes dense in every call
 * whose k is predicted to be slower than a dense all-reduce. Residuals start at zero. Buffers from comm_buffer_alloc
 * are reduced where they lie. */
weft_status sparse_create(weft_comm *comm, const sparse_desc *desc, sparse_plan **plan);
void sparse_destroy(sparse_plan *plan);
/* Makes the plan anew for posts of up to `most` elements: the same exchange, with the residual and all other state
 * of the old plan. Nothing is under way. On a failure the old plan remains. Collective. */
weft_status sparse_resize(sparse_plan **plan, int64_t most);

/* As comm_post / wait. k: elements of the whole vector that each sender may send (HIERARCHICAL: spread evenly
 * over the shards), equal on all ranks, at most desc->most. k = count sends everything. */
/* A vector that is not finite on any rank: WEFT_ERR_DIVERGED on all ranks from the same call, naming that rank. */
weft_status sparse_post(sparse_plan *plan, int64_t k);
weft_status sparse_wait(sparse_plan *plan);

/* What remains unsent on this rank: a shard (or the whole vector) of `bytes`; with selector_state, what a checkpoint
 * keeps. */
float *sparse_residual(sparse_plan *plan, int64_t *begin, int64_t *count);
/* Of a plan whose vector lies on a device: the residual is in host memory until the next post, before it is asked
 * for. */
weft_status sparse_residual_to_host(sparse_plan *plan);
selector *sparse_selector(sparse_plan *plan);
/* What else the exchange remembers between calls (OK_TOPK: regions and the global threshold); 0 bytes otherwise. */
void *sparse_state(sparse_plan *plan, int64_t *bytes);
/* The state was filled from a checkpoint, on all ranks. WEFT_ERR_DATA on all ranks if it cannot be a state of this
 * plan, or if ranks that exchange disagree. Collective. */
weft_status sparse_restored(sparse_plan *plan);
/* Returns true if a post of k elements sends everything: k is at the break-even or beyond. */
bool sparse_sends_everything(const sparse_plan *plan, int64_t k);
/* Where this rank's last selection lies (NULL with found = count when everything was sent): the factor masking of
 * momentum (Lin et al., Deep gradient compression, ICLR 2018, arXiv 1712.01887) zeroes its velocity there. Where
 * everything was sent, nothing waits for a later step, and there is nothing to mask. Indices into the whole vector. */
const int32_t *sparse_sent(const sparse_plan *plan, int64_t *found);
/* Prediction for exact selections; bytes_sent is exact for HIERARCHICAL and ALL_GATHER, an upper bound for OK_TOPK. Not
 * for AUTO. windowed: through shared memory inside the node, as plans whose buffers lie there. */
comm_cost sparse_cost(const comm_layout *layout, int rank, sparse_exchange exchange, bool windowed, int64_t count,
                      int64_t k, sparse_values values);
/* Bytes that a plan keeps on a device, for plans of memory: of a vector of `count` elements, of which at most `most`
 * are sent. */
uint64_t sparse_device_bytes(const select_options *select, int64_t count, int64_t most);
/* Whether vectors on a device can be selected from there. */
bool sparse_fits_device(sparse_exchange exchange, select_method method, sparse_values values);
/* Zeros on the device [count] where this rank's last selection lies; of plans whose vector lies there, once waited
 * for. */
weft_status sparse_clear_sent(sparse_plan *plan, float *device);
const char *sparse_exchange_name(sparse_exchange exchange);
const char *sparse_values_name(sparse_values values);
