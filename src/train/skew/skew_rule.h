/*
 * train/skew/skew_rule.h: which rung of a ladder of settings a lossy mode of synchronisation shall stand on, decided
 * from scores and bytes alone. A pure function of what it is given: no messages, no clock, the same on every rank.
 *
 * Rung 0 sends most. At every check replicas were scored on samples of their own rank (home) and of the others (away),
 * and the mean of all replicas on samples of all ranks (judge), each as a share of right answers:
 *
 *      score = max((home - away) / (SKEW_ALARM * bound), (reference - level) / bound)
 *
 * Home minus away is an early alarm: it overstates what the mean replica loses, 5 to 15 times on MNIST. The level is
 * the judge, or its mean over the last checks. The reference is the best level so far; it falls by bound / 8 a check,
 * so that one lucky score is forgotten. A score above 1 breaks the bound: one rung back at once. Two checks in a row
 * within the bound: one rung on, unless the next rung is remembered as broken or as sending no less. What is remembered
 * of a rung halves in SKEW_HALF_LIFE checks, after which it is tried again. Replicas that are always equal (topk) raise
 * no alarm: there the rung also stays while the judge rises by more than rise_most a check, over the last SKEW_WINDOW
 * checks, as the next rung would slow that down unseen; where the level is a mean, while it may rise by more (two
 * standard errors). Whoever owns the ladder knows how much its next rung stands
 * (skew_guard.c).
 *
 * Idea: K. Hsieh, A. Phanishayee, O. Mutlu, P. Gibbons: The non-IID data quagmire of decentralized machine learning
 * (SkewScout). ICML 2020, arXiv 1910.00189.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SKEW_RUNGS_MOST = 12, SKEW_ALARM = 5, SKEW_GOOD_CHECKS = 2, SKEW_HALF_LIFE = 4, SKEW_WINDOW = 4 };

/* What was seen at a check. */
typedef struct skew_check {
    double home, away; /* 0 to 1; means over the ranks */
    double judge;      /* 0 to 1 */
    double cost;       /* bytes since the last check, of those that all-reduce sends in as many steps */
} skew_check;

/* What a rung is remembered by. Numbers of 8 bytes each, as they stand in checkpoints. */
typedef struct skew_memory {
    double score; /* decayed; above 1: broken */
    double cost;  /* of its last check; 0: never seen */
} skew_memory;

typedef struct skew_rule {
    double bound;               /* share of right answers that may be lost, above 0 */
    int64_t rungs;              /* 1 .. SKEW_RUNGS_MOST */
    double rise_most;           /* of a check, to leave this rung; 0: replicas are not always equal */
    int64_t over;               /* checks that the level is the mean of: 1 or SKEW_WINDOW */
    int64_t rung;               /* in force */
    int64_t good;               /* checks in a row that speak for the next rung, since the last move */
    int64_t checks;             /* so far */
    int64_t broken;             /* checks that broke the bound */
    double reference;           /* best judge so far, aged */
    double judged[SKEW_WINDOW]; /* judges of the last checks, the latest first; 0: there was none */
    skew_memory memory[SKEW_RUNGS_MOST];
} skew_rule;

/* For metrics.jsonl and the log. */
typedef struct skew_figures {
    bool checked; /* the others are set */
    skew_check last;
    double score, reference, setting; /* setting: of the knob, from the check on */
    int64_t rung, rungs, checks, broken;
} skew_figures;

/* A rule on a rung to start from. rise_most: of a check, for a mode that keeps replicas equal; 0: another. It may be
 * set anew before each check. */
skew_rule skew_rule_begin(double bound, int rungs, int start, double rise_most);
/* Takes a check in; rule->rung is the rung to stand on from now on. Returns the score. */
double skew_rule_decide(skew_rule *rule, const skew_check *check);
/* Returns false if numbers of a rule out of a checkpoint cannot be those of a rule with as many rungs. */
bool skew_rule_is_valid(const skew_rule *rule, int rungs);
