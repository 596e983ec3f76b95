/*
 * tune/search/leader.h: runs of leading configurations again, and which one is named the best.
 *
 * The next one to run again is that whose further run is expected to lower the least posterior mean most (the
 * knowledge gradient of independent normal beliefs): with the means m and variances v of the configurations and the
 * noise of a run, one more run of i moves m_i by a normal number of the deviation t_i = v_i / sqrt(v_i + noise), and
 * the expected decrease of the least mean is t_i f(-|m_i - least of the others| / t_i), f(u) = u Phi(u) + phi(u).
 *
 * P. Frazier, W. Powell, S. Dayanik: A knowledge-gradient policy for sequential information collection. SIAM Journal
 * on Control and Optimization 47(5), 2008.
 */
#pragma once

#include "tune/search/searcher_internal.h"

/* Returns true if the budget's end is reached, where leaders run again, and there is one. */
bool leader_is_due(const searcher *s);
/* [out] values [dimensions]. On request the configuration of the least score has its second run first. */
weft_status leader_again(searcher *s, double *values);
