/*
 * bench/tune/order_rates.c: what halving finds, and what it costs, of trials that all were trained in full.
 *
 *     order_rates FILE SCHEDULER GRACE REDUCTION [ORDERS]
 *
 * FILE: the number of trials and of epochs; then a line a trial, the seconds of its training and its score after each
 * epoch, the larger the better. The trials come in ORDERS (40) random orders, one group of ranks trains. Prints how far
 * the best score that was seen is from the best of all, the share of orders within 0.003 of it, the share of the seconds
 * of all trainings, and its largest. bench/tune/photo makes such a file.
 */
#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "tune/sched/sched.h"

enum { TRIALS_MOST = 1024, EPOCHS_MOST = 1024 };
static const double near = 0.003;

typedef struct recording {
    int trials, epochs;
    double seconds[TRIALS_MOST], score[TRIALS_MOST][EPOCHS_MOST];
} recording;

static const char *const kinds[] = {SCHED_KINDS(CHOICE_NAME)};

static void read_recording(const char *path, recording *r)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "%d %d", &r->trials, &r->epochs), 2);
    assert_true(r->trials >= 1 && r->trials <= TRIALS_MOST && r->epochs >= 2 && r->epochs <= EPOCHS_MOST);
    for (int t = 0; t < r->trials; t++) {
        assert_int_equal(fscanf(in, "%lf", &r->seconds[t]), 1);
        for (int e = 0; e < r->epochs; e++) {
            assert_int_equal(fscanf(in, "%lf", &r->score[t][e]), 1);
        }
    }
    (void)fclose(in);
}

/* [out] seconds: of the epochs that were trained. Returns the best score that was seen. */
static double search(const recording *r, const sched_desc *desc, const int *order, double *seconds)
{
    sched *s = NULL;
    sched_work work;
    double best = -INFINITY;
    *seconds = 0.0;
    ASSERT_OK(sched_open(desc, &s));
    while (true) {
        ASSERT_OK(sched_next(s, &work));
        if (work.action == SCHED_DONE) {
            break;
        }
        const int trial = order[work.trial];
        sched_decision decision = SCHED_CONTINUE;
        for (int64_t epoch = work.from + 1; decision == SCHED_CONTINUE; epoch++) {
            best = fmax(best, r->score[trial][epoch - 1]);
            *seconds += r->seconds[trial] / r->epochs;
            ASSERT_OK(sched_report(s, work.trial, epoch, r->score[trial][epoch - 1], &decision));
        }
    }
    sched_close(s);
    return best;
}

int main(int argc, char **argv)
{
    static recording r;
    int kind = SCHED_KIND_FIFO, order[TRIALS_MOST] = {0}, within = 0;
    if (argc < 5) {
        fprintf(stderr, "usage: order_rates FILE SCHEDULER GRACE REDUCTION [ORDERS]\n");
        return 2;
    }
    while (kind < SCHED_PBT && strcmp(kinds[kind], argv[2]) != 0) {
        kind++;
    }
    read_recording(argv[1], &r);
    const int orders = argc > 5 ? atoi(argv[5]) : 40;
    const sched_desc desc = {.kind = (sched_kind)kind,
                             .maximise = true,
                             .max_resource = r.epochs,
                             .grace = atoi(argv[3]),
                             .reduction = atoi(argv[4]),
                             .trials = r.trials};
    double all = 0.0, most = -INFINITY, gap = 0.0, share = 0.0, largest = 0.0;
    for (int t = 0; t < r.trials; t++) {
        order[t] = t;
        all += r.seconds[t];
        for (int e = 0; e < r.epochs; e++) {
            most = fmax(most, r.score[t][e]);
        }
    }
    uint64_t draws = 1;
    for (int i = 0; i < orders; i++) {
        for (int t = r.trials - 1; t > 0; t--) {
            const int other = (int)(test_random(&draws) % (uint64_t)(t + 1)), moved = order[t];
            order[t] = order[other];
            order[other] = moved;
        }
        double seconds;
        const double less = most - search(&r, &desc, order, &seconds);
        gap += less / orders;
        within += less <= near + 1e-9;
        share += seconds / all / orders;
        largest = fmax(largest, seconds / all);
    }
    printf("%s, grace %s, reduction %s: %.4f below the best of %d, %d of %d orders within %g; %.3f of the seconds, "
           "%.3f at most\n",
           argv[2], argv[3], argv[4], gap, r.trials, within, orders, near, share, largest);
    return 0;
}
