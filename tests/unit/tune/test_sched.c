/*
 * Schedulers that pause and resume: closed forms of how many trials reach a rung and what that costs, promotions
 * against a look at all reports so far, lineage of a population, refusals, and equal digests of equal calls.
 */
#include <math.h>

#include "base/alloc.h"
#include "support/random.h"
#include "support/test.h"
#include "tune/sched/sched.h"

enum { TRIALS_MOST = 4096, RUNGS_MOST = 16 };

/* What a run saw, beside the scheduler. */
typedef struct race {
    sched *s;
    int workers;
    int64_t resource;          /* trained in all */
    int reached[RUNGS_MOST];   /* trials that reported at the k-th resource below */
    int64_t level[RUNGS_MOST]; /* resources that are counted */
    int levels;
    double value[TRIALS_MOST]; /* of a trial, whatever its resource; NaN: diverges at its first report */
    double noise;              /* added at each report */
    uint64_t draws;
} race;

static void count(race *r, int64_t resource)
{
    for (int k = 0; k < r->levels; k++) {
        r->reached[k] += r->level[k] == resource;
    }
}

/* Trains what `work` says; reports once, where it ends. */
static void train(race *r, const sched_work *work)
{
    sched_decision decision;
    const double noise = r->noise * (test_uniform(&r->draws) - 0.5);
    r->resource += work->until - work->from;
    count(r, work->until);
    ASSERT_OK(sched_report(r->s, work->trial, work->until, r->value[work->trial] + noise, &decision));
    assert_int_equal(decision == SCHED_COMPLETE,
                     work->until == sched_desc_of(r->s)->max_resource && isfinite(r->value[work->trial]));
}

/* Groups of ranks that end in a random order, until nothing is left to be done. */
static void run(race *r)
{
    sched_work held[16];
    int busy = 0;
    for (;;) {
        sched_work work;
        ASSERT_OK(sched_next(r->s, &work));
        if (work.action == SCHED_DONE) {
            break;
        }
        if (work.action == SCHED_WAIT) {
            const uint64_t before = sched_digest(r->s);
            ASSERT_OK(sched_next(r->s, &work));
            assert_int_equal(work.action, SCHED_WAIT);
            assert_true(before == sched_digest(r->s));
            assert_true(busy > 0);
        } else {
            held[busy++] = work;
        }
        if (busy == r->workers || work.action == SCHED_WAIT) {
            const int ended = (int)(test_random(&r->draws) % (uint64_t)busy);
            train(r, &held[ended]);
            held[ended] = held[--busy];
        }
    }
    assert_int_equal(busy, 0);
}

static race race_of(const sched_desc *desc, int workers, uint64_t seed)
{
    race r = {.workers = workers, .draws = seed};
    ASSERT_OK(sched_open(desc, &r.s));
    for (int i = 0; i < TRIALS_MOST; i++) {
        r.value[i] = test_uniform(&r.draws);
    }
    return r;
}

static int in_state(const race *r, sched_state state)
{
    int found = 0;
    for (int i = 0; i < sched_trials(r->s); i++) {
        found += sched_trial_at(r->s, i)->state == state;
    }
    return found;
}

/* The best trial by its true value, which without noise every halving must have trained in full. */
static int best_of(const race *r)
{
    int best = 0;
    for (int i = 1; i < sched_trials(r->s); i++) {
        best = r->value[i] > r->value[best] ? i : best;
    }
    return best;
}

/* ---- synchronous ---- */

static void test_halving_counts(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 7; workers += 3) {
        race r = race_of(&(sched_desc){.kind = SCHED_HYPERBAND,
                                       .maximise = true,
                                       .max_resource = 81,
                                       .grace = 1,
                                       .reduction = 3,
                                       .brackets = 1,
                                       .trials = 81},
                         workers, 5);
        int64_t total = 0;
        for (int k = 0, level = 1, n = 81, before = 0; k < 5; before = level, level *= 3, n /= 3, k++) {
            r.level[r.levels++] = level;
            total += (int64_t)n * (level - before);
        }
        run(&r);
        for (int k = 0, n = 81; k < 5; n /= 3, k++) {
            assert_int_equal(r.reached[k], n);
        }
        assert_int_equal(r.resource, total);
        assert_int_equal(sched_leader(r.s), best_of(&r));
        assert_int_equal(sched_trial_at(r.s, best_of(&r))->state, SCHED_COMPLETED);
        sched_close(r.s);
    }
}

/* Brackets of the paper's example: 81 trials of 1, 34 of 3, 15 of 9, 8 of 27, 5 of 81, then 81 of 1 again. */
static void test_hyperband_brackets(void **state)
{
    static const int planned[] = {81, 34, 15, 8, 5};
    (void)state;
    race r = race_of(
        &(sched_desc){.kind = SCHED_HYPERBAND, .max_resource = 81, .grace = 1, .reduction = 3, .trials = 143 + 7}, 3,
        7);
    run(&r);
    assert_int_equal(sched_trials(r.s), 150);
    int in_bracket[6] = {0};
    for (int i = 0; i < 150; i++) {
        in_bracket[sched_trial_at(r.s, i)->bracket]++;
    }
    for (int b = 0; b < 5; b++) {
        assert_int_equal(in_bracket[b], planned[b]);
    }
    assert_int_equal(in_bracket[5], 7);
    /* 1 + 1 + 1 + 2 + 5 of the whole brackets, and 1 of the 7 that were left for the last. */
    assert_int_equal(in_state(&r, SCHED_COMPLETED), 11);
    /* More trials join no bracket that has begun to promote. */
    ASSERT_OK(sched_limit(r.s, 160));
    run(&r);
    assert_int_equal(sched_trial_at(r.s, 150)->bracket, 6);
    sched_close(r.s);
}

/* However many groups there are, and in whatever order they end: the same trials train equally far. */
static void test_hyperband_by_any_groups(void **state)
{
    int64_t reached[200];
    (void)state;
    for (int workers = 1; workers <= 13; workers += 4) {
        race r =
            race_of(&(sched_desc){.kind = SCHED_HYPERBAND, .max_resource = 60, .grace = 2, .trials = 200}, workers, 13);
        r.draws += (uint64_t)workers;
        run(&r);
        for (int i = 0; i < 200; i++) {
            assert_true(workers == 1 || reached[i] == sched_trial_at(r.s, i)->resource);
            reached[i] = sched_trial_at(r.s, i)->resource;
        }
        sched_close(r.s);
    }
}

/* ---- promotion ---- */

/* The best trials first, so that none is promoted that others push out of the best third later. */
static void sort_values(race *r)
{
    for (int i = 0; i < TRIALS_MOST; i++) {
        r->value[i] = 1.0 / (1 + i);
    }
}

/* One worker: floor(m / 3) of the m trials of each rung are promoted in the end, but at least 1. In a random order the
 * best trial may have come too late for its rung, and goes on as one more. */
static void test_promotion_counts(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 5, 27, 100, 243, 500};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int size = sizes[i / 2];
        race r = race_of(
            &(sched_desc){.kind = SCHED_ASHA, .maximise = true, .max_resource = 162, .grace = 2, .trials = size}, 1,
            11 + i);
        if (i % 2 == 0) {
            sort_values(&r);
        }
        for (int level = 2; level <= 162; level *= 3) {
            r.level[r.levels++] = level;
        }
        run(&r);
        assert_int_equal(r.reached[0], size);
        for (int k = 1, m = size; k < r.levels; m = r.reached[k], k++) {
            const int least = m / 3 > 0 ? m / 3 : 1;
            assert_in_range(r.reached[k], least, i % 2 == 0 ? least : least + 1);
        }
        assert_int_equal(sched_trial_at(r.s, best_of(&r))->state, SCHED_COMPLETED);
        sched_close(r.s);
    }
}

/* A trial beside the rungs reports at each of them and never pauses; others are promoted as if there were none. */
static void test_whole_trial(void **state)
{
    (void)state;
    static const sched_desc desc = {.kind = SCHED_ASHA, .maximise = true, .max_resource = 9, .grace = 1, .trials = 3};
    sched *s = NULL;
    sched_work work;
    sched_decision decision;
    ASSERT_OK(sched_open(&desc, &s));
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(sched_next(s, &work));
        ASSERT_OK(sched_report(s, i, 1, 0.1 * i, &decision));
        assert_int_equal(decision, SCHED_PAUSE);
    }
    const uint64_t before = sched_digest(s);
    ASSERT_OK(sched_start_whole(s, &work)); /* beyond the limit */
    assert_true(work.action == SCHED_START && work.trial == 3 && work.until == 9 && work.whole);
    assert_int_not_equal(sched_digest(s), before);
    for (int epoch = 1; epoch <= 9; epoch++) {
        ASSERT_OK(sched_report(s, 3, epoch, 1.0, &decision));
        assert_int_equal(decision, epoch < 9 ? SCHED_CONTINUE : SCHED_COMPLETE);
    }
    ASSERT_OK(sched_next(s, &work)); /* one of the three, not of four, is due: the best of them */
    assert_true(work.action == SCHED_RESUME && work.trial == 2 && !work.whole);
    ASSERT_OK(sched_start_whole(s, &work));
    ASSERT_OK(sched_remove(s, work.trial));
    sched_close(s);
    ASSERT_OK(sched_open(&(sched_desc){.kind = SCHED_KIND_FIFO, .max_resource = 9}, &s));
    ASSERT_STATUS(sched_start_whole(s, &work), WEFT_ERR_USAGE);
    sched_close(s);
}

typedef struct record {
    int trial, rung;
    double score;
} record;

/* Number of records of a rung, and of those that are better than this one. */
static int better_than(const record *log, int logged, const record *than, int *records)
{
    int better = 0;
    *records = 0;
    for (int i = 0; i < logged; i++) {
        if (log[i].rung == than->rung) {
            *records += 1;
            better += log[i].score > than->score;
        }
    }
    return better;
}

/* Of each rung: its records, and how many of them went on, the one that is resumed now left out. A trial is resumed
 * where fewer than a third of the records went on, and is the best that waits there; a new one is started only if that
 * is so at no rung: looked up in the whole history. */
static void check_choice(const race *r, const sched_work *work, const record *log, int logged)
{
    for (int i = 0; i < logged; i++) {
        int records = 0, gone = 0;
        const int better = better_than(log, logged, &log[i], &records);
        int better_gone = 0;
        for (int k = 0; k < logged; k++) {
            const sched_trial *other = sched_trial_at(r->s, log[k].trial);
            const bool goes = log[k].rung == log[i].rung && log[k].trial != work->trial &&
                              (other->rung > log[k].rung || other->state != SCHED_PAUSED);
            gone += goes;
            better_gone += goes && log[k].score > log[i].score;
        }
        const sched_trial *t = sched_trial_at(r->s, log[i].trial);
        const bool resumed = work->action == SCHED_RESUME && work->trial == log[i].trial;
        if (resumed && t->rung == log[i].rung) {
            assert_true(gone < records / 3);
            assert_int_equal(better, better_gone);
        } else if (work->action == SCHED_START && t->state == SCHED_PAUSED && t->rung == log[i].rung) {
            assert_true(gone >= records / 3);
        }
    }
}

static void test_promotion_is_of_the_best(void **state)
{
    static record log[8 * TRIALS_MOST];
    sched_work held[5], work;
    int busy = 0, logged = 0, resumed = 0;
    (void)state;
    race r = race_of(&(sched_desc){.kind = SCHED_ASHA, .max_resource = 100, .grace = 3}, 5, 3);
    while (sched_trials(r.s) < 300) {
        ASSERT_OK(sched_next(r.s, &work));
        assert_true(work.action == SCHED_START || work.action == SCHED_RESUME);
        check_choice(&r, &work, log, logged);
        resumed += work.action == SCHED_RESUME;
        held[busy++] = work;
        if (busy == 5) {
            sched_decision decision;
            const int at = (int)(test_random(&r.draws) % 5);
            const double value = r.value[held[at].trial] + 0.3 * test_uniform(&r.draws);
            ASSERT_OK(sched_report(r.s, held[at].trial, held[at].until, value, &decision));
            log[logged++] = (record){held[at].trial, sched_trial_at(r.s, held[at].trial)->rung, -value};
            held[at] = held[--busy];
        }
    }
    assert_true(resumed > 80);
    sched_close(r.s);
}

/* Trials that diverge or are cancelled count, and are never promoted; the search ends all the same. */
static void test_promotion_without_the_lost(void **state)
{
    static const sched_kind kinds[] = {SCHED_ASHA, SCHED_PASHA, SCHED_HYPERBAND, SCHED_ASHA_STOP, SCHED_MEDIAN};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        race r = race_of(
            &(sched_desc){.kind = kinds[k], .maximise = true, .max_resource = 54, .grace = 2, .trials = 60}, 4, 31 + k);
        for (int i = 0; i < 60; i += 3) {
            r.value[i] = (double)NAN;
        }
        for (int i = 0; i < 9; i++) {
            sched_work work;
            ASSERT_OK(sched_next(r.s, &work));
            if (i % 2 == 0) {
                ASSERT_OK(sched_remove(r.s, work.trial));
            } else {
                train(&r, &work);
            }
        }
        run(&r);
        assert_int_equal(in_state(&r, SCHED_RUNNING), 0);
        assert_true(in_state(&r, SCHED_COMPLETED) >= 1);
        for (int i = 9; i < 60; i += 3) {
            assert_int_equal(sched_trial_at(r.s, i)->state, SCHED_STOPPED);
        }
        /* A trial that waits can be cancelled, any other cannot. */
        for (int i = 0; i < 60; i++) {
            const bool waits = sched_trial_at(r.s, i)->state == SCHED_PAUSED;
            ASSERT_STATUS(sched_remove(r.s, i), waits ? WEFT_OK : WEFT_ERR_USAGE);
        }
        sched_close(r.s);
    }
}

/* ---- PASHA ---- */

/* Without noise the order never changes: two rungs are enough for all trials but the best, which trains in full. */
static void test_pasha_stays_low(void **state)
{
    (void)state;
    const sched_desc desc = {.kind = SCHED_PASHA, .maximise = true, .max_resource = 162, .grace = 2, .trials = 100};
    race r = race_of(&desc, 1, 17);
    sort_values(&r);
    for (int level = 2; level <= 162; level *= 3) {
        r.level[r.levels++] = level;
    }
    run(&r);
    static const int expected[] = {100, 33, 1, 1, 1};
    for (int k = 0; k < 5; k++) {
        assert_int_equal(r.reached[k], expected[k]);
    }
    assert_int_equal(sched_trial_at(r.s, best_of(&r))->state, SCHED_COMPLETED);
    sched_close(r.s);
    /* Values that are noise alone: every rung is needed, as asha's are. */
    r = race_of(&desc, 1, 19);
    r.noise = 1e6;
    r.levels = 0;
    r.level[r.levels++] = 162;
    run(&r);
    assert_true(r.reached[0] > 1);
    sched_close(r.s);
}

/* Reports line by line: two trials swap between the rungs, and the third rung is used. Curves that crossed twice make
 * an epsilon within which the swap is none. */
static bool third_rung_used(const double *a, const double *b)
{
    sched *s = NULL;
    sched_work work;
    sched_decision decision;
    ASSERT_OK(sched_open(
        &(sched_desc){
            .kind = SCHED_PASHA, .maximise = true, .max_resource = 16, .grace = 4, .reduction = 2, .trials = 4},
        &s));
    for (int i = 0; i < 4; i++) {
        ASSERT_OK(sched_next(s, &work));
    }
    for (int i = 0; i < 4; i++) {
        for (int e = 1; e <= 4; e++) {
            ASSERT_OK(sched_report(s, i, e, i == 0 ? a[e - 1] : i == 1 ? b[e - 1] : -1.0 - i, &decision));
            assert_int_equal(decision, e < 4 ? SCHED_CONTINUE : SCHED_PAUSE);
        }
    }
    for (int n = 0; n < 2; n++) {
        ASSERT_OK(sched_next(s, &work));
        assert_int_equal(work.action, SCHED_RESUME);
        assert_int_equal(work.until, 8);
        for (int e = 5; e <= 8; e++) {
            ASSERT_OK(sched_report(s, work.trial, e, work.trial == 0 ? a[e - 1] : b[e - 1], &decision));
        }
    }
    /* Of the two at rung 8 one goes on either way: before the supply is exhausted only if rung 16 is in use. */
    ASSERT_OK(sched_limit(s, 5));
    ASSERT_OK(sched_next(s, &work));
    const bool used = work.action == SCHED_RESUME;
    assert_int_equal(work.until, used ? 16 : 4);
    sched_close(s);
    return used;
}

static void test_pasha_order(void **state)
{
    static const double a[] = {0.1, 0.2, 0.3, 0.40, 0.5, 0.6, 0.7, 0.80};
    static const double same[] = {0.0, 0.1, 0.2, 0.30, 0.4, 0.5, 0.6, 0.70};
    static const double swapped[] = {0.0, 0.1, 0.2, 0.30, 0.4, 0.7, 0.8, 0.90};
    static const double noisy[] = {0.2, 0.1, 0.4, 0.35, 0.6, 0.5, 0.6, 0.90};
    (void)state;
    assert_false(third_rung_used(a, same));
    assert_true(third_rung_used(a, swapped)); /* crossed once: no noise */
    assert_false(third_rung_used(a, noisy));  /* epsilon 0.1, lower scores 0.05 apart */
}

/* ---- PBT ---- */

static void test_lineage(void **state)
{
    (void)state;
    const sched_desc desc = {
        .kind = SCHED_PBT, .maximise = true, .max_resource = 50, .interval = 10, .trials = 8, .seed = 4};
    sched_exploit first[64];
    int total = 0;
    for (int workers = 1; workers <= 8; workers += 7) {
        int exploits = 0;
        race r = race_of(&desc, workers, 23);
        r.draws = 23 + (uint64_t)workers;
        r.value[5] = (double)NAN;
        run(&r);
        const sched_exploit *exploit = sched_lineage(r.s, &exploits);
        assert_int_equal(in_state(&r, SCHED_COMPLETED) + in_state(&r, SCHED_STOPPED), 8);
        /* Two of eight, the one that diverges among them, at each of the four boundaries below 50. */
        assert_int_equal(exploits, 8);
        for (int i = 0; i < exploits; i++) {
            assert_int_equal(exploit[i].resource, 10 * (i / 2 + 1));
            assert_true(exploit[i].trial != exploit[i].source);
            assert_true(!(exploit[i].value >= exploit[i].source_value));
            int better = 0;
            for (int u = 0; u < 8; u++) {
                better += r.value[u] > r.value[exploit[i].source];
            }
            assert_true(better < 2);
        }
        /* Whatever the number of groups: the same exchanges. */
        assert_true(workers == 1 || total == exploits);
        for (int i = 0; i < exploits && workers > 1; i++) {
            assert_int_equal(exploit[i].trial, first[i].trial);
            assert_int_equal(exploit[i].source, first[i].source);
        }
        memcpy(first, exploit, (size_t)exploits * sizeof *first);
        total = exploits;
        sched_close(r.s);
    }
}

/* Changes are factors of the set, or fresh draws for a quarter of the dimensions. */
static void test_changes(void **state)
{
    (void)state;
    race r =
        race_of(&(sched_desc){.kind = SCHED_PBT, .max_resource = 20, .interval = 10, .trials = 40, .seed = 9}, 3, 29);
    int exploits = 0, fresh = 0, up = 0, seen = 0;
    double sum = 0.0;
    run(&r);
    const sched_exploit *exploit = sched_lineage(r.s, &exploits);
    assert_int_equal(exploits, 10);
    for (int i = 0; i < exploits; i++) {
        for (int d = 0; d < 400; d++, seen++) {
            const sched_change change = sched_explore(r.s, exploit[i].trial, d);
            assert_true(change.factor == 1.2 || change.factor == 0.8);
            assert_true(change.uniform > 0.0 && change.uniform < 1.0);
            fresh += change.resample;
            up += change.factor > 1.0;
            sum += change.uniform;
        }
    }
    /* Five standard deviations of 4,000 draws. */
    ASSERT_NEAR((double)fresh / seen, 0.25, 5 * 0.0069);
    ASSERT_NEAR((double)up / seen, 0.5, 5 * 0.0079);
    ASSERT_NEAR(sum / seen, 0.5, 5 * 0.0046);
    sched_close(r.s);
}

/* ---- all kinds ---- */

/* The same calls give the same digest, others another; reports of what was reported before change nothing. */
static void test_digest(void **state)
{
    (void)state;
    for (int kind = SCHED_KIND_FIFO; kind <= SCHED_PBT; kind++) {
        uint64_t digest[3];
        for (int turn = 0; turn < 3; turn++) {
            race r = race_of(
                &(sched_desc){
                    .kind = (sched_kind)kind, .max_resource = 40, .interval = kind == SCHED_PBT ? 8 : 0, .trials = 30},
                3, 41);
            r.value[7] += turn == 2 ? 1e-9 : 0.0;
            run(&r);
            digest[turn] = sched_digest(r.s);
            sched_close(r.s);
        }
        assert_true(digest[0] == digest[1]);
        assert_true(digest[0] != digest[2]);
    }
}

static void test_repeats_and_refusals(void **state)
{
    sched *s = NULL;
    sched_work work;
    sched_decision decision;
    (void)state;
    ASSERT_OK(sched_open(&(sched_desc){.kind = SCHED_ASHA, .max_resource = 20, .trials = 3}, &s));
    assert_int_equal(sched_desc_of(s)->grace, 2);
    static const int64_t rungs[] = {2, 6, 18, 20, 0};
    for (int k = 0; k < 5; k++) {
        assert_int_equal(sched_rung_resource(s, k), rungs[k]);
    }
    assert_int_equal(sched_default_grace(52, 0), 3);
    assert_int_equal(sched_default_grace(100, 10), 10);
    assert_int_equal(sched_default_grace(200, 0), 12);
    assert_int_equal(sched_default_grace(9, 0), 2);
    assert_int_equal(sched_default_grace(1, 5), 1);
    assert_int_equal(sched_leader(s), -1);
    ASSERT_OK(sched_next(s, &work));
    ASSERT_OK(sched_report(s, 0, 1, 0.5, &decision));
    const uint64_t digest = sched_digest(s);
    ASSERT_OK(sched_report(s, 0, 1, 0.1, &decision));
    assert_int_equal(decision, SCHED_CONTINUE);
    assert_true(digest == sched_digest(s));
    ASSERT_STATUS(sched_report(s, 1, 1, 0.1, &decision), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("no trial 1");
    ASSERT_STATUS(sched_report(s, 0, 0, 0.1, &decision), WEFT_ERR_USAGE);
    ASSERT_OK(sched_report(s, 0, 3, 0.4, &decision));
    assert_int_equal(decision, SCHED_PAUSE);
    ASSERT_STATUS(sched_report(s, 0, 4, 0.1, &decision), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("does not run");
    sched_close(s);
    static const struct {
        sched_desc desc;
        const char *message;
    } refused[] = {
        {{.kind = SCHED_KIND_FIFO}, "1 to"},
        {{.kind = SCHED_KIND_FIFO, .max_resource = 9, .grace = 2}, "no grace"},
        {{.kind = SCHED_MEDIAN, .max_resource = 9, .reduction = 2}, "no rungs"},
        {{.kind = SCHED_ASHA, .max_resource = 9, .brackets = 2}, "hyperband alone"},
        {{.kind = SCHED_ASHA, .max_resource = 9, .seed = 2}, "pbt alone"},
        {{.kind = SCHED_ASHA, .max_resource = 9, .grace = 10}, "a grace of 10"},
        {{.kind = SCHED_ASHA, .max_resource = 9, .reduction = 1}, "2 to 1024"},
        {{.kind = SCHED_HYPERBAND, .max_resource = 9, .grace = 1, .brackets = 4}, "there are 3"},
        {{.kind = SCHED_HYPERBAND, .max_resource = INT64_C(1) << 40, .grace = 1}, "larger grace"},
        {{.kind = SCHED_PBT, .max_resource = 9, .interval = 3, .trials = 3}, "population of 3"},
        {{.kind = SCHED_PBT, .max_resource = 9, .trials = 8}, "interval of 0"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ASSERT_STATUS(sched_open(&refused[i].desc, &s), WEFT_ERR_USAGE);
        assert_null(s);
        ASSERT_MESSAGE(refused[i].message);
    }
}

/* One group trains what it is told; some reports diverge. */
static weft_status small_search(const sched_desc *desc)
{
    sched *s = NULL;
    sched_work work;
    sched_decision decision;
    int reports = 0;
    WEFT_TRY(sched_open(desc, &s));
    weft_status status = WEFT_OK;
    for (work.action = SCHED_START; status == WEFT_OK && work.action != SCHED_DONE;) {
        status = sched_next(s, &work);
        for (int64_t at = work.from + 1; status == WEFT_OK && work.action != SCHED_DONE && at <= work.until; at++) {
            const double value = ++reports % 37 == 0 ? (double)NAN : (reports * 7) % 11;
            status = sched_report(s, work.trial, at, value, &decision);
            if (status != WEFT_OK || decision != SCHED_CONTINUE) {
                break;
            }
        }
    }
    sched_close(s);
    return status;
}

/* Whichever allocation fails: the status says so, and nothing is left. */
static void test_without_memory(void **state)
{
    (void)state;
    for (int kind = SCHED_KIND_FIFO; kind <= SCHED_PBT; kind++) {
        const sched_desc desc = {
            .kind = (sched_kind)kind, .max_resource = 20, .interval = kind == SCHED_PBT ? 4 : 0, .trials = 20};
        weft_status status = WEFT_ERR_RESOURCE;
        for (uint64_t n = 1; status != WEFT_OK; n++) {
            const uint64_t before = weft_mem_usage_total().current_bytes;
            weft_alloc_fail_after(n);
            status = small_search(&desc);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK ? n > 2 : status == WEFT_ERR_RESOURCE);
            assert_int_equal(weft_mem_usage_total().current_bytes, before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_halving_counts),
                                       cmocka_unit_test(test_hyperband_brackets),
                                       cmocka_unit_test(test_hyperband_by_any_groups),
                                       cmocka_unit_test(test_promotion_counts),
                                       cmocka_unit_test(test_whole_trial),
                                       cmocka_unit_test(test_promotion_is_of_the_best),
                                       cmocka_unit_test(test_promotion_without_the_lost),
                                       cmocka_unit_test(test_pasha_stays_low),
                                       cmocka_unit_test(test_pasha_order),
                                       cmocka_unit_test(test_lineage),
                                       cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_digest),
                                       cmocka_unit_test(test_repeats_and_refusals),
                                       cmocka_unit_test(test_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
