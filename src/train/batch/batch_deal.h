/*
 * train/batch/batch_deal.h: which rank owns which training sample, where ranks keep shards of their own (--shard-by).
 *
 *      random           no shards: every batch is drawn from all samples, whatever rank computes them
 *      label:S          the share S of the samples is sorted by label and cut into one run a rank; the rest is dealt at
 *                       random; all shards are equal in size
 *      label-count:C    each rank has C classes; the samples of a class are divided among the ranks that have it
 *      dirichlet:B      the samples of each class are divided by shares drawn from Dirichlet(B): small B, few owners
 *      quantity:B       shards differ in size alone, by shares drawn from Dirichlet(B)
 *
 * A deal is a function of the rule, the labels, the seed and the number of ranks. Every sample has one owner. An epoch
 * has as many steps as without a deal, and every rank spreads its shard evenly over them: ranks make the same number of
 * steps, and a larger shard has larger shares of the batches. The gradient of a step is the mean over the samples of
 * all ranks, so that an exact mode of synchronisation sees a stratified sample and loses nothing by a deal; modes in
 * which ranks update by themselves see what each rank owns.
 *
 * Rules: K. Hsieh, A. Phanishayee, O. Mutlu, P. Gibbons: The non-IID data quagmire of decentralized machine learning.
 * ICML 2020, arXiv 1910.00189; Q. Li, Y. Diao, Q. Chen, B. He: Federated learning on non-IID data silos. ICDE 2022,
 * doi:10.1109/ICDE53745.2022.00077.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum deal_kind { DEAL_RANDOM, DEAL_LABEL, DEAL_LABEL_COUNT, DEAL_DIRICHLET, DEAL_QUANTITY } deal_kind;

typedef struct deal_rule {
    deal_kind kind;
    double value; /* S, C or B; 0 for DEAL_RANDOM */
} deal_rule;

/* Reads the text of --shard-by. WEFT_ERR_USAGE: no such rule, or a number out of its range. */
weft_status deal_rule_parse(const char *text, deal_rule *rule);

/* The training samples that a deal divides among ranks. */
typedef struct deal_samples {
    int64_t count;
    int64_t classes;
    /* Returns the label of a sample, 0 .. classes - 1. */
    int32_t (*label)(const void *self, int64_t sample);
    const void *self;
} deal_samples;

typedef struct batch_deal {
    int ranks;
    int64_t *first;   /* [ranks + 1] positions first[r] .. first[r + 1] - 1 are those of rank r */
    int64_t *sample;  /* [first[ranks]] the sample at a position, in random order inside a shard */
    double *distance; /* [ranks] total variation between the label shares of the shard and those of all samples */
} batch_deal;

/*
 * [out] deal: free with batch_deal_destroy, also after a failure. The rule is none of DEAL_RANDOM. Not collective; all
 * ranks make the same. WEFT_ERR_USAGE: a rule that these samples and ranks do not allow: a class without an owner, a
 * rank without a sample. WEFT_ERR_RESOURCE: memory, 8 bytes a sample.
 */
weft_status batch_deal_make(const deal_rule *rule, const deal_samples *samples, int ranks, uint64_t seed,
                            batch_deal *deal);
void batch_deal_destroy(batch_deal *deal);

/* Returns the number of samples that a rank owns. */
static inline int64_t batch_deal_size(const batch_deal *deal, int rank)
{
    return deal->first[rank + 1] - deal->first[rank];
}

/* Returns the rank that owns the sample at a position. */
int batch_deal_owner(const batch_deal *deal, int64_t position);
/* Returns the mean of deal->distance over the ranks. */
double batch_deal_distance(const batch_deal *deal);

/* Returns the total variation between two rows of counts: half the sum of the differences between their shares; 0 where
 * either is empty. part, whole: [classes]. */
double label_distance(const int64_t *part, const int64_t *whole, int64_t classes);
