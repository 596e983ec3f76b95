/*
 * trees/loss/leaf_quantiles.c: see trees/loss/leaf_quantiles.h.
 *
 * A value becomes a key of 32 bits with the order of the numbers (base/exact/order_key.h). Each of four rounds adds the
 * weights of a leaf's rows by the next 8 bits of their keys, of those rows whose keys begin as the quantile's is known
 * to, and so finds the next 8 bits of the quantile's key.
 */
#include "trees/loss/leaf_quantiles.h"

#include <math.h>

#include "base/exact/fixed_sum.h"
#include "base/exact/order_key.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, ROUNDS = 32 / DIGIT_BITS, TOGETHER = 4096 /* leaves of a search */ };

/* The search for the quantiles of a run of leaves. */
typedef struct search {
    const leaf_rows *rows;
    fixed_sum sum;
    int32_t first, leaves;
    int64_t *weight;  /* [leaves, DIGITS] of a round, over all ranks once it is over */
    int64_t *missing; /* [leaves] weight that the rows from the prefix on must reach; 0: the leaf has no weight */
    uint32_t *prefix; /* [leaves] the bits of the quantile's key that are known */
} search;

static double weight_of(const leaf_rows *rows, int64_t i)
{
    return rows->weight != NULL ? (double)rows->weight[i] : 1.0;
}

/* The scale in which weights are whole numbers, the same on all ranks. */
static weft_status scale_weights(weft_comm *comm, const leaf_rows *rows, fixed_sum *sum)
{
    double most[2] = {0.0, 0.0}; /* of the weights, and 1 where a number is not finite */
    int64_t count = 0;
    for (int64_t i = 0; i < rows->rows; ++i) {
        if (rows->counts[i] != 0) {
            most[0] = fmax(most[0], weight_of(rows, i));
            most[1] = isfinite(rows->value[i]) && isfinite(weight_of(rows, i)) ? most[1] : 1.0;
            count += 1;
        }
    }
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &count, 1, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_CHECK(most[1] == 0.0, WEFT_ERR_DATA, "a target, a weight or an answer is not finite");
    *sum = rows->weight != NULL ? fixed_sum_of(most[0], count) : (fixed_sum){1.0, 1.0};
    return WEFT_OK;
}

static void add_weights(search *s, int round)
{
    const int shift = 32 - DIGIT_BITS * (round + 1);
    memset(s->weight, 0, (size_t)s->leaves * DIGITS * sizeof *s->weight);
    for (int64_t i = 0; i < s->rows->rows; ++i) {
        const int32_t leaf = (s->rows->leaf != NULL ? s->rows->leaf[i] : 0) - s->first;
        if (s->rows->counts[i] == 0 || leaf < 0 || leaf >= s->leaves) {
            continue;
        }
        const uint32_t key = order_key(s->rows->value[i]);
        if (round == 0 || key >> (shift + DIGIT_BITS) == s->prefix[leaf]) {
            s->weight[(int64_t)leaf * DIGITS + ((key >> shift) & (DIGITS - 1))] +=
                fixed_of(&s->sum, weight_of(s->rows, i));
        }
    }
}

static int64_t total_of(const int64_t *weight)
{
    int64_t total = 0;
    for (int d = 0; d < DIGITS; ++d) {
        total += weight[d];
    }
    return total;
}

static void add_digits(search *s, int round, double share)
{
    for (int32_t l = 0; l < s->leaves; ++l) {
        const int64_t *weight = s->weight + (int64_t)l * DIGITS;
        if (round == 0) {
            const int64_t total = total_of(weight), wanted = (int64_t)ceil(share * (double)total);
            s->missing[l] = wanted > total ? total : wanted > 0 || total == 0 ? wanted : 1;
        }
        uint32_t digit = 0;
        while (s->missing[l] > 0 && weight[digit] < s->missing[l]) {
            s->missing[l] -= weight[digit++];
        }
        s->prefix[l] = s->prefix[l] << DIGIT_BITS | digit;
    }
}

static weft_status search_leaves(weft_comm *comm, search *s, double share, float *quantile)
{
    memset(s->prefix, 0, (size_t)s->leaves * sizeof *s->prefix);
    for (int round = 0; round < ROUNDS; ++round) {
        add_weights(s, round);
        WEFT_TRY(comm_allreduce(comm, s->weight, (int64_t)s->leaves * DIGITS, WEFT_DTYPE_I64, COMM_SUM));
        add_digits(s, round, share);
    }
    for (int32_t l = 0; l < s->leaves; ++l) {
        quantile[l] = s->missing[l] > 0 ? order_key_number(s->prefix[l]) : quantile[l];
    }
    return WEFT_OK;
}

static weft_status allocate(search *s, int32_t leaves)
{
    const int64_t most = leaves < TOGETHER ? leaves : TOGETHER;
    WEFT_TRY(WEFT_NEW(&s->weight, most * DIGITS, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->missing, most, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&s->prefix, most, WEFT_MEM_WORKSPACE);
}

weft_status leaf_quantiles(weft_comm *comm, const leaf_rows *rows, int32_t leaves, double share, float *quantile)
{
    search s = {.rows = rows};
    weft_status status;
    WEFT_TRY_GOTO(scale_weights(comm, rows, &s.sum), status, done);
    status = comm_agree(comm, allocate(&s, leaves));
    for (s.first = 0; s.first < leaves && status == WEFT_OK; s.first += TOGETHER) {
        s.leaves = leaves - s.first < TOGETHER ? leaves - s.first : TOGETHER;
        status = search_leaves(comm, &s, share, quantile + s.first);
    }
done:
    WEFT_FREE_ALL(s.weight, s.missing, s.prefix);
    return status;
}
