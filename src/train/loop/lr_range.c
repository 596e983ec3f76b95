/* train/lr_range.c: see train/loop/lr_range.h. */
#include "train/loop/lr_range.h"

#include <math.h>

enum { REACH = 3 /* steps to both sides */, LEAST_STEPS = 10 };
static const double least_fall = 0.01; /* of the first loss, in all */
/* Times the deviation of losses from their smoothed neighbours: three deviations of a difference of two smoothed ones,
 * whose weights leave 0.415 of a deviation to each. */
static const double least_signal = 3.0 * 0.415 * 1.414;
static const double blown_up = 3.0; /* times what the loss had fallen by, above where it began */

/* Triangular weights: the neighbour at distance REACH + 1 has none. Symmetric, so that nothing moves to later rates. */
static void smoothen(const double *loss, int steps, double *smooth)
{
    for (int i = 0; i < steps; i++) {
        double sum = 0.0, weights = 0.0;
        const int reach = (int)fmin(REACH, fmin(i, steps - 1 - i));
        for (int k = -reach; k <= reach; k++) {
            const double weight = reach + 1 - (k < 0 ? -k : k);
            sum += weight * loss[i + k];
            weights += weight;
        }
        smooth[i] = sum / weights;
    }
}

static int least_of(const double *value, int from, int count)
{
    int least = from;
    for (int i = from + 1; i < count; i++) {
        least = value[i] < value[least] ? i : least;
    }
    return least;
}

/* Of losses from their smoothed neighbours, from `first` up to `end`. */
static double deviation(const double *loss, const double *smooth, int first, int end)
{
    double squares = 0.0;
    for (int i = first; i < end; i++) {
        squares += (loss[i] - smooth[i]) * (loss[i] - smooth[i]);
    }
    return end > first ? sqrt(squares / (double)(end - first)) : 0.0;
}

static double two_digits(double rate)
{
    const double unit = pow(10.0, floor(log10(rate)) - 1.0);
    return round(rate / unit) * unit;
}

lr_choice lr_range_choose(const double *lr, const double *loss, int steps, double *smooth)
{
    if (steps < LEAST_STEPS) {
        return (lr_choice){.step = -1};
    }
    smoothen(loss, steps, smooth);
    /* Both ends are left out: a loss without neighbours is that of one batch. */
    const int first = REACH, last = steps - 1 - REACH, least = least_of(smooth, first, last + 1);
    const double fall = smooth[first] - smooth[least];
    if (fall < least_fall * fabs(smooth[first]) || fall < least_signal * deviation(loss, smooth, first, least)) {
        return (lr_choice){.step = -1};
    }
    int steepest = first + 1;
    double most = 1.0;
    for (int i = first + 1; i <= least && i < last; i++) {
        const double share = smooth[i - 1] / smooth[i + 1];
        if (share > most) {
            most = share;
            steepest = i;
        }
    }
    return (lr_choice){two_digits(lr[steepest]), lr[least], steepest, least == last};
}

bool lr_range_blew_up(const double *loss, int steps)
{
    const double last = loss[steps - 1];
    if (!isfinite(last)) {
        return true;
    }
    const double fall = loss[0] - loss[least_of(loss, 0, steps)];
    return steps >= LEAST_STEPS && last - loss[0] > fmax(blown_up * fall, 0.5 * fabs(loss[0]));
}
