/*
 * tune/recorded/recorded.h: tables of trainings that others have run: a score for each configuration of a grid, under
 * several seeds. A searcher that reads a table instead of training is judged in milliseconds.
 *
 *      FILE.npz       val [n1, ..., nk, seeds]: float32, NaN where a seed was not run
 *      spaces.json    beside it: {"FILE": {"direction": "minimize"|"maximize", "space": {name: [n1 values], ...}}}
 *
 * A score here is less where it is better: the decimal logarithm of what is minimised, the negative of what is
 * maximised. A cell's mean is that over its seeds. Regret is 0 at the best cell and 1 at the median cell.
 */
#pragma once

#include "tune/space/space.h"

#define RECORDED_SPACES "spaces.json"
enum { RECORDED_SPACES_MAX = 1 << 20 /* bytes */ };

typedef struct recorded_table {
    char name[SPACE_NAME_MAX];
    search_space space; /* a dimension of choices for each axis */
    int64_t cells;
    int seeds;
    float *score;        /* [cells, seeds] */
    double *mean;        /* [cells] */
    double best, median; /* of the means */
} recorded_table;

/* WEFT_ERR_NOINPUT, WEFT_ERR_DATA: names the file and what it lacks. */
weft_status recorded_open(const char *path, recorded_table *table);
void recorded_close(recorded_table *table);
/* The cell of a configuration. */
int64_t recorded_cell(const recorded_table *table, const double *values);
/* The score of a cell under one of the seeds that were run, drawn by two random words. */
double recorded_draw(const recorded_table *table, int64_t cell, uint32_t high, uint32_t low);
double recorded_regret(const recorded_table *table, int64_t cell);
/*
 * The mean regret of the best of n cells that are drawn with replacement, in closed form: with regrets r_0 <= r_1 ...
 * of N cells, sum r_k (((N - k) / N)^n - ((N - k - 1) / N)^n). [out] deviation: the standard deviation.
 */
weft_status recorded_random(const recorded_table *table, int64_t n, double *mean, double *deviation);
