/*
 * partition/shares.h: parts of different sizes, for ranks of different speed.
 *
 * share [parts]: the fraction of the edges, and of the vertices, that each part shall have: each above 0, their sum 1.
 * NULL means equal parts, with the same bits as code without shares. Parts are compared by their amount divided by
 * share x parts, which is the amount they would have if they were as large as the mean part; the limit of a part is its
 * own amount.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part's share of an amount. */
static inline double shares_amount(const double *share, int parts, int part, double amount)
{
    return share == NULL ? amount / parts : amount * share[part];
}

/* Returns a part's share of `count`, rounded up: the shares of all parts add up to at least `count`. */
static inline int64_t shares_count(const double *share, int parts, int part, int64_t count)
{
    return share == NULL ? (count + parts - 1) / parts : (int64_t)ceil((double)count * share[part]);
}

/* Returns the amount that a part with `count` would have if it were as large as the mean part. */
static inline double shares_even(const double *share, int parts, int part, double count)
{
    return share == NULL ? count : count / (share[part] * parts);
}

/* Returns share, or NULL if all entries of share [parts] are equal. */
static inline const double *shares_unequal(const double *share, int parts)
{
    for (int p = 1; share != NULL && p < parts; ++p) {
        if (share[p] != share[0]) {
            return share;
        }
    }
    return NULL;
}

/* The largest of count [parts], as if parts were as large as the mean. */
static inline double shares_most(const double *share, int parts, const int64_t *count)
{
    double most = 0.0;
    for (int p = 0; p < parts; ++p) {
        const double even = shares_even(share, parts, p, (double)count[p]);
        most = even > most ? even : most;
    }
    return most;
}

/* Returns the sum of the shares before part p: where it begins if parts lie side by side in [0, 1). */
static inline double shares_before(const double *share, int parts, int part)
{
    double before = 0.0;
    for (int p = 0; share != NULL && p < part; ++p) {
        before += share[p];
    }
    return share == NULL ? (double)part / parts : before;
}
