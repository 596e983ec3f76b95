"""Indexes of a model that answers with a probability, in closed form, with 95 % intervals. numpy alone.

y: 1 and 0 [n]; p: the probability of 1 [n]. The program's own (`weft eval`) are the same formulas; the tests compare the two.
"""
import math

import numpy as np

Z = 1.959963984540054  # of a normal distribution: 95 % lie within
BOOTSTRAPS = 2000


def ranks(values):
    """-> the rank of each value, from 1; equal values have the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def placements(y, p):
    """-> for each row of 1 the share of rows of 0 that it stands above, and for each of 0 the share of 1 above it; ties count half."""
    ones, zeros = p[y == 1], p[y == 0]
    both = ranks(np.concatenate([ones, zeros]))
    over = (both[:len(ones)] - ranks(ones)) / len(zeros)
    under = 1 - (both[len(ones):] - ranks(zeros)) / len(ones)
    return over, under


def auc(y, p):
    """-> area, and its standard deviation by DeLong (1988)."""
    over, under = placements(y, p)
    return over.mean(), math.sqrt(over.var(ddof=1) / len(over) + under.var(ddof=1) / len(under))


def auc_difference(y, p, q):
    """-> area of p less that of q on the same rows, its standard deviation, and the two-sided p-value (DeLong 1988)."""
    (over, under), (over2, under2) = placements(y, p), placements(y, q)
    variance = (over - over2).var(ddof=1) / len(over) + (under - under2).var(ddof=1) / len(under)
    difference, sd = over.mean() - over2.mean(), math.sqrt(variance)
    return difference, sd, math.erfc(abs(difference) / sd / math.sqrt(2)) if sd > 0 else 1.0


def wilson(hits, n):
    """-> share and its interval (Wilson 1927)."""
    share, z2 = hits / n, Z * Z
    middle, half = share + z2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return share, (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)


def youden(y, p):
    """-> the threshold with the largest sum of sensitivity and specificity: rows at it and above are taken for 1 (the lowest of equal ones)."""
    order = np.argsort(-p, kind="stable")
    ones, zeros = np.cumsum(y[order]), np.cumsum(1 - y[order])
    last = np.append(np.diff(p[order]) != 0, True)  # of rows with one probability
    gain = np.where(last, ones / ones[-1] - zeros / zeros[-1], -np.inf)
    return p[order][len(gain) - 1 - np.argmax(gain[::-1])]


def f1(y, said):
    return 2 * np.sum(y & said) / max(1, np.sum(y) + np.sum(said))


def at_threshold(y, said):
    """said: 1 where the model says 1 [n]. -> {index: (value, low, high)}"""
    draw = np.random.Generator(np.random.PCG64(0)).integers(len(y), size=(BOOTSTRAPS, len(y)))
    spread = np.array([f1(y[rows], said[rows]) for rows in draw])
    return {"sensitivity": wilson(np.sum(said[y == 1]), np.sum(y)), "specificity": wilson(np.sum(1 - said[y == 0]), np.sum(1 - y)),
            "accuracy": wilson(np.sum(said == y), len(y)), "F1": (f1(y, said), *np.quantile(spread, [0.025, 0.975]))}


def calibration(y, p):
    """-> intercept and slope of the logistic regression of y on the logit of p: 0 and 1 where probabilities are right (Cox 1958)."""
    x = np.log(np.clip(p, 1e-9, 1 - 1e-9) / (1 - np.clip(p, 1e-9, 1 - 1e-9)))
    design, weight = np.stack([np.ones_like(x), x], axis=1), np.array([0.0, 1.0])
    for _ in range(100):
        mean = 1 / (1 + np.exp(-design @ weight))
        step = np.linalg.solve(design.T @ (design * (mean * (1 - mean))[:, None]), design.T @ (y - mean))
        weight += step
        if np.abs(step).max() < 1e-10:
            break
    return weight


def brier(y, p):
    return np.mean((p - y) ** 2)


def log_loss(y, p):
    q = np.clip(p, 1e-9, 1 - 1e-9)
    return -np.mean(y * np.log(q) + (1 - y) * np.log(1 - q))
