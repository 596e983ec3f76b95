/*
 * comm/model/calibrate.h: measure what communication costs on the nodes of this job (comm/core/cost.h).
 *
 * Every figure is the time of the very thing that algorithms do, run by the same engine: rounds of messages around a
 * ring of one rank of each node (network) or of the ranks of each node (node), meetings and copies in a shared window,
 * a local reduction, a selection, a scattered addition; all ranks at once, so that what they share is shared. The
 * lower quartile over repetitions is taken, because disturbances only add time, then the slowest rank's. Latency and
 * seconds a byte are the straight line through the times of the shortest and the longest messages with the smallest
 * relative errors, so that both ends count alike.
 *
 *      seconds |                . '
 *              |          . '
 *              |    . '              slope: seconds_per_byte
 *      latency |. '
 *              +-------------------- bytes
 *
 * Inside one node the all-reduces themselves are timed as well (comm/core/timings.h): which of them is best at a length
 * is then looked up, not predicted.
 *
 * What cannot be measured here keeps its fixed constant: the network and the node stand for each other when there is
 * one node, or one rank a node; shared memory needs two ranks on a node.
 */
#pragma once

#include "base/option_words.h"
#include "comm/core/cost.h"

/* When a job measures; auto: unless what was kept fits these nodes. */
#define CALIBRATE_WHENS(X)                                                                                             \
    X(CALIBRATE_AUTO, "auto")                                                                                          \
    X(CALIBRATE_ALWAYS, "always")                                                                                      \
    X(CALIBRATE_NEVER, "never")
typedef enum calibrate_when { CALIBRATE_WHENS(CHOICE_VALUE) } calibrate_when;

/*
 * Collective. *model is the same on every rank; measured is set unless there is only one rank. Takes about 0.6 s on one
 * node, 1.5 s on several (longer on a network below 100 Mbit/s), when each rank has a core. Uses the control lane,
 * whose counters are put back afterwards.
 */
weft_status comm_calibrate(weft_comm *comm, comm_model *model);

/*
 * Does a model that was measured earlier still tell what the network does? *ratio: the time of a round of a long
 * message between the nodes over the predicted one, the same on every rank; 1 on one node, where nothing is measured.
 * Collective; a few round trips.
 */
weft_status comm_check_model(weft_comm *comm, const comm_model *model, double *ratio);

/* Does what the timings would choose inside a node still win, at a short and a longer length? *hold is the same on
 * every rank; true where nothing was timed, and where ranks wait so long for cores that nothing can be told.
 * Collective, a few milliseconds. */
weft_status comm_check_timings(weft_comm *comm, const comm_model *model, bool *hold);

/* The room's own: the line through (bytes[i], seconds[i]), points >= 2 with ascending bytes; both figures positive
 * whatever the noise. */
comm_link link_fit(const double *bytes, const double *seconds, int points);
