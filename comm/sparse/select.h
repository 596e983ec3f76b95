/*
 * comm/sparse/select.h: the k elements of largest magnitude.
 *
 *   SELECT_RADIX    exact: a histogram of the float's bits finds the k-th magnitude in two passes. Ties: lowest index.
 *   SELECT_MSTOPK   the method of S. Shi et al.: Towards scalable distributed training of deep learning on public cloud
 *                   clusters. MLSys 2021, arXiv 2010.10458: N samplings of a threshold, then exactly k elements.
 *   SELECT_REUSE    the last threshold once more, corrected every few calls by the exact one: about k elements, one
 *                   pass. S. Li, T. Hoefler: Near-optimal sparse allreduce for distributed deep learning (Ok-Topk).
 *                   PPoPP 2022, doi:10.1145/3503221.3508399
 */
#pragma once

#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"

#define SELECT_METHODS(X)                                                                                              \
    X(SELECT_RADIX, "radix")                                                                                           \
    X(SELECT_MSTOPK, "mstopk")                                                                                         \
    X(SELECT_REUSE, "reuse")
typedef enum select_method { SELECT_METHODS(CHOICE_VALUE) } select_method;

typedef struct select_options {
    select_method method;
    int samplings; /* MSTopK's N; 30 in the paper */
    int refresh;   /* SELECT_REUSE: exact every this many calls; 32 */
    uint64_t seed; /* of MSTopK's random run in the last band */
    int threads;   /* OpenMP threads of the calling thread's region; 1 on a communication thread */
} select_options;

typedef struct selector selector;

/* Work space for vectors of at most max_count (< 2^31) elements. Selecting allocates nothing. */
weft_status selector_create(const select_options *options, int64_t max_count, selector **s);
void selector_destroy(selector *s);

/*
 * The k largest |x[i]|, their indices ascending in index[0..*found) and values in value[0..*found).
 * 0 <= k <= count; *found == k for RADIX and MSTOPK. SELECT_REUSE finds between 0 and capacity (the room in both
 * arrays, >= k): what passes the threshold, cut to capacity by index.
 * WEFT_ERR_DIVERGED names the first index whose value is not finite.
 */
weft_status selector_run(selector *s, const float *x, int64_t count, int64_t k, int64_t capacity, int32_t *index,
                         float *value, int64_t *found);

/* State that a checkpoint keeps: the reused threshold and the counter of calls. */
void *selector_state(selector *s, int64_t *bytes);
