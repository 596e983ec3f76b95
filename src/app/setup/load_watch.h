/*
 * app/setup/load_watch.h: did others use the CPUs while something was measured that is kept for later jobs?
 *
 * Figures that were taken beside other programs are too low, and a choice by them may be wrong. They serve the job that
 * took them, are kept with how much others had, and are measured again by the first job that finds the machine quiet.
 */
#pragma once

#include "machine/host_load.h"

typedef struct load_watch {
    host_look *look; /* NULL: nothing is watched */
    double cpu_begin;
} load_watch;

void load_watch_begin(load_watch *watch);
/* CPUs' worth that other processes and guests had of the CPUs of this plan; 0 where the plan shares them with ranks of
 * its own job, or nothing is known. Frees what begin took. */
double load_watch_end(load_watch *watch, const placement *plan);

/* Returns true if kept figures are out of date: taken under load, and the machine is quiet now (100 ms, for such
 * figures). */
bool load_was_theirs(double others, const placement *plan);
