/* comm/model/calibrate_internal.h: what the parts of the calibration share. */
#pragma once

#include "comm/core/comm_internal.h"

enum {
    CALIBRATE_LONGEST = 16 << 20, /* message */
    CALIBRATE_SAMPLES = 15,
    CALIBRATE_LEAST = 3
};

typedef struct calibration {
    weft_comm *comm;
    comm_schedule schedule; /* what is timed */
    char *left, *right;     /* [bytes] noise; zeros */
    int64_t bytes;          /* of the longest message and of the local work, which shall not be had from a cache */
    double budget;          /* seconds to spend on one figure */
    comm_model *model;      /* being filled in */
} calibration;

/* The lower quartile of the times of the schedule, each on its slowest rank: what disturbs a machine only adds time.
 * Collective; every rank has built its own schedule. */
weft_status calibration_time(calibration *c, double *seconds);

/* Shared memory of a node: sync, shared_per_byte. Left as they are when no node has two ranks or shared memory is
 * short. Collective. */
weft_status calibrate_shared(calibration *c);
/* reduce_per_byte, select_per_element, scatter_per_element. Collective. */
weft_status calibrate_compute(calibration *c);

/* model->timed. Collective over the ranks of one node. */
weft_status calibrate_allreduces(calibration *c);

/* The counters of the control lane as they are, and as they were: what is sent to measure is no part of the job's
 * traffic. */
void calibration_save(const weft_comm *comm, comm_counters *before);
void calibration_restore(weft_comm *comm, const comm_counters *before);

/* Never zero, so that predictions stay ordered. */
double calibrate_positive(double seconds);
