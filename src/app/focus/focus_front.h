/* app/focus/focus_front.h: plans that are compared: answers of networks for a sample become costs and figures. */
#pragma once

#include "app/focus/focus_plan.h"
#include "app/focus/focus_sample.h"

typedef struct front_goal {
    double recall, precision, delta;
    int64_t labels; /* of a class, that a query sets hi by */
} front_goal;

/* Rank 0; the others return at once. Names of networks stay those of the sample's paths. Not collective. */
weft_status front_make(const front_sample *sample, const front_goal *goal, focus_plan *plan);
