/* train/lr_range.c: see train/loop/lr_range.h. */
#include "train/loop/lr_range.h"

#include <math.h>

enum { REACH = 3 /* steps to both sides */, LEAST_STEPS = 10 };
static const double least_fall = 0.01; /* of the first loss, in all */
static const double blown_up = 3.0;    /* times what the loss had fallen by, above where it began */

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

static int least_of(const double *value, int count)
{
    int least = 0;
    for (int i = 1; i < count; i++) {
        least = value[i] < value[least] ? i : least;
    }
    return least;
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
    const int least = least_of(smooth, steps);
    if (smooth[0] - smooth[least] < least_fall * fabs(smooth[0])) {
        return (lr_choice){.step = -1};
    }
    int steepest = 1;
    double most = 1.0;
    for (int i = 1; i <= least && i + 1 < steps; i++) {
        const double share = smooth[i - 1] / smooth[i + 1];
        if (share > most) {
            most = share;
            steepest = i;
        }
    }
    return (lr_choice){two_digits(lr[steepest]), lr[least], steepest};
}

bool lr_range_blew_up(const double *loss, int steps)
{
    const double last = loss[steps - 1];
    if (!isfinite(last)) {
        return true;
    }
    const double fall = loss[0] - loss[least_of(loss, steps)];
    return steps >= LEAST_STEPS && last - loss[0] > fmax(blown_up * fall, 0.5 * fabs(loss[0]));
}
