#!/usr/bin/env python3
"""Rows of synth:clicks by their definition (clicks/synth/click_teacher.h), in double precision and with the exact inverse of
Box and Muller's formulas: what tests/unit/clicks/test_click_teacher.c holds as numbers. Prints C."""
import math

import numpy as np

M32 = 0xFFFFFFFF
FIELDS, IDS, NUMBERS, SEED, HIDDEN, PAIRS = 5, 1000, 3, 7, 4, 40
ID, TEACHER, NUMBER, LABEL, WEIGHT, PAIR = range(88, 94)


def philox(index, at, purpose, world):
    c = [index & M32, at & M32, (purpose << 16) | (at >> 32 & 0xFFFF), world]
    k = [SEED & M32, SEED >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & M32, p0 >> 32 ^ c[3] ^ k[1], p0 & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def uniform(word):
    return ((word >> 9) + 0.5) / 2**23


def normals(radius, turn):
    r, angle = math.sqrt(-2 * math.log(uniform(radius))), math.pi / 2 * (uniform(turn) - 0.5)
    pair = [r * math.cos(angle), r * math.sin(angle)]
    if turn & 1:
        pair.reverse()
    return [-x for x in pair] if turn & 2 else pair


def size(f):
    return math.floor(4 * (IDS / 4) ** (f / (FIELDS - 1)) + 0.5)


def draw_id(row, f):
    """Rejection-inversion, with integrals of x^-1.05 as the paper has them."""
    s = 1.05
    h, area, back = lambda x: x**-s, lambda x: (x ** (1 - s) - 1) / (1 - s), lambda v: (1 + v * (1 - s)) ** (1 / (1 - s))
    first, last = area(1.5) - 1, area(size(f) + 0.5)
    attempt = 0
    while True:
        w = philox(f + 256 * attempt, row, ID, 0)
        u = (w[0] >> 1) / 2**31 + ((w[1] >> 11) + 0.5) / 2**52
        v = last + u * (first - last)
        k = min(max(math.floor(back(v) + 0.5), 1), size(f))
        if v >= area(k + 0.5) - h(k):
            return k
        attempt += 1


def known(f, k):
    w, b = philox(2 * f, k, TEACHER, 0), philox(2 * f + 1, k, TEACHER, 0)
    return math.sqrt(0.35) * normals(b[0], b[1])[0], 0.5 * np.array(normals(w[0], w[1]) + normals(w[2], w[3]))


def numbers(row):
    out = []
    for block in range((NUMBERS + 3) // 4):
        w = philox(block, row, NUMBER, 0)
        out += normals(w[0], w[1]) + normals(w[2], w[3])
    return out[:NUMBERS]


def weight(j):
    w = philox(j, 0, WEIGHT, 0)
    return math.sqrt(-2 * math.log(uniform(w[0]))) * math.cos(2 * math.pi * uniform(w[1]))


for row in (0, 1, 123456789012):
    ids, x = [draw_id(row, f) for f in range(FIELDS)], numbers(row)
    bias, hidden = zip(*(known(f, k) for f, k in enumerate(ids)))
    # Ten pairs of five fields: all are in.
    z = sum(bias) + sum(hidden[f] @ hidden[g] for f in range(FIELDS) for g in range(f))
    z += 0.3 * sum(weight(j) * math.tanh(x[j]) for j in range(NUMBERS))
    u = uniform(philox(0, row, LABEL, 0)[0])
    print(f"    {{{row}, {{{', '.join(map(str, ids))}}}, {{{', '.join(f'{v:.6f}' for v in x)}}}, {z:.6f}, {math.log(u / (1 - u)):.6f}}},")
