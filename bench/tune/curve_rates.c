/*
 * bench/tune/curve_rates.c: regret of the schedulers with random configurations on recorded learning curves, at a
 * budget of 30 full trainings.
 *
 *     curve_rates [SEEDS [WORKERS]]
 *
 * Prints a row a scheduler and grace: regret on each task and the mean over tasks with its standard error over seeds,
 * trials that were started, and microseconds of a report and of a call of sched_next, taken together.
 */
#include <math.h>

#include "base/clock.h"
#include "support/curve_race.h"

enum { TASKS_MOST = 16, TRAININGS = 30 };

static const char *const kinds[] = {SCHED_KINDS(CHOICE_NAME)};

static void print_row(const curve_set *set, const sched_desc *desc, int workers, int seeds)
{
    double regret[TASKS_MOST] = {0}, sum = 0.0, squares = 0.0;
    int64_t trials = 0;
    const double began = clock_seconds();
    for (int seed = 0; seed < seeds; seed++) {
        double mean = 0.0;
        for (int task = 0; task < set->tasks; task++) {
            int started = 0;
            const double r =
                curve_race(set, task, desc, workers, (int64_t)TRAININGS * set->epochs, (uint64_t)seed, &started);
            regret[task] += r / seeds;
            mean += r / set->tasks;
            trials += started;
        }
        sum += mean;
        squares += mean * mean;
    }
    const double reports = (double)seeds * set->tasks * TRAININGS * set->epochs, mean = sum / seeds;
    printf("%-14s %5lld", kinds[desc->kind], (long long)desc->grace);
    for (int task = 0; task < set->tasks; task++) {
        printf("  %.3f", regret[task]);
    }
    printf("  %.4f +- %.4f  %5.0f  %.2f\n", mean, sqrt((squares / seeds - mean * mean) / (seeds - 1)),
           (double)trials / seeds / set->tasks, (clock_seconds() - began) / reports * 1e6);
}

int main(int argc, char **argv)
{
    const int seeds = argc > 1 ? atoi(argv[1]) : 100, workers = argc > 2 ? atoi(argv[2]) : 1;
    static const int graces[] = {0, 1, 2, 3, 6, 10, 17};
    curve_set set;
    if (seeds < 2 || workers < 1 || workers > CURVE_WORKERS_MOST || !curve_set_open(&set) || set.tasks > TASKS_MOST) {
        fprintf(stderr, "usage: WEFT_SHARED=FOLDER curve_rates [SEEDS [WORKERS]]\n");
        return 2;
    }
    printf("scheduler      grace  regret by task ...  mean  trials  us a report\n");
    for (int kind = SCHED_KIND_FIFO; kind < SCHED_PBT; kind++) {
        for (size_t g = 0; g < sizeof graces / sizeof *graces; g++) {
            const sched_desc desc = {
                .kind = (sched_kind)kind, .maximise = true, .max_resource = set.epochs, .grace = graces[g]};
            if (kind == SCHED_KIND_FIFO ? graces[g] == 0 : graces[g] > 0) {
                print_row(&set, &desc, workers, seeds);
            }
        }
    }
    weft_free(set.value);
    return 0;
}
