/*
 * tune/search/surrogate.h: what a Gaussian process makes of a search's history.
 *
 * It knows up to 300 values, those of whole trainings and the best ones where there are more. Configurations that
 * diverged count as the worst that did not. Configurations that run now count with the score that is expected of them,
 * so that others are sought elsewhere. Where trials have values after parts of a training, the share is a dimension of
 * its own, and their values move by what trials gain from there to the end (tune/search/part_gain.h). Scores that are
 * far above the median are brought nearer to it first, so that a few bad ones do not hide what tells the good ones
 * apart.
 */
#pragma once

#include "tune/gp/gp.h"
#include "tune/search/searcher_internal.h"

enum { SURROGATE_DIMENSIONS = SPACE_DIMENSIONS_MAX + 1 };

struct search_surrogate {
    gp_model *gp;
    gp_data data;
    double *theta;        /* [gp_thetas] */
    bool *category;       /* [dimensions] */
    bool *warp;           /* [dimensions]: the ordered ones of the space, where the search warps them */
    double *x, *y, *runs; /* [points, data.dimensions], [points] */
    int *config;          /* [points] */
    double *share;        /* [points] of a full training, after which the point has the score */
    int known;            /* points that are scores; those that follow run */
    double scale, shift;  /* a score is scale y + shift */
    int fitted;           /* values that were told when theta was fitted */
    int trials, told;     /* of the history that the model is of */
};

/* The model of s->history, of which one value at least was told: makes it where it is not made yet. */
weft_status surrogate_update(searcher *s);
/* Values of the history are other ones than before. NULL is allowed. */
void surrogate_forget(search_surrogate *surrogate);
/* The score that the model expects of a known point, and its standard deviation. */
void surrogate_score(const search_surrogate *surrogate, int point, double *mean, double *deviation);
void surrogate_close(search_surrogate *surrogate);
/* The coordinates of values after a share of a training as the model takes them: x [SURROGATE_DIMENSIONS]. */
void surrogate_point(const search_space *space, const double *values, double share, double *x);
