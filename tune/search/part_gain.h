/*
 * tune/search/part_gain.h: what trials still gain after a part of their training.
 *
 * Values after different shares of a training do not compare: every trial gets better, and only good ones went on. The
 * gain from one share to the end is the median, over the trials that have a value there and a later one, of what they
 * gained until the later one, and from its share on. A share from which nobody went on has the gain of the next
 * larger one.
 */
#pragma once

#include "tune/search/history.h"

/* [out] gain [told]: what is to be taken from value i of the first `told` of history->news; 0 of those that ended. */
weft_status part_gains(const search_history *history, int told, double *gain);
