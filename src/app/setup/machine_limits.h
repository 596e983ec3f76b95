/*
 * app/setup/machine_limits.h: what this machine's memory and cores can do, measured, and kept between jobs.
 *
 * `weft doctor` measures and keeps; `weft bench` reads what fits, or measures and keeps it too, and tells rates as
 * percent of it. Rates above 100 % of the triad come out of caches. Figures that were taken beside other programs are
 * measured again once the machine is quiet (app/setup/load_watch.h). A bench that surpasses a kept figure has it
 * measured again, too. A file $XDG_CACHE_HOME/weft/machine-HASH.json (or below ~/.cache) holds the figures of one host
 * with one number of ranks and threads:
 *
 *      {"format": "weft-machine 1", "host": "ant", "cpu": "...", "backend": "cpu", "ranks": 1, "threads": 8,
 *       "weft": "0.1.0", "read_bytes_per_s": 4.1e10, "triad_bytes_per_s": 3.6e10, "gemm_flop_per_s": 9.1e11,
 *       "others_cpus": 0.4}                    left out where nobody else used them
 */
#pragma once

#include "base/file.h"
#include "hal/hal.h"
#include "machine/placement.h"
#include "machine/stream.h"

typedef struct limits_key {
    char host[64], cpu[96], backend[32];
    int ranks, threads; /* on the node; of each rank */
} limits_key;

typedef struct machine_limits {
    double read, triad; /* bytes a second of the whole node: machine/stream.h; of a backend's device: of its memory */
    double gemm;        /* float32 operations a second of the whole node: a large square product */
    double others;      /* CPUs' worth that others had while this was measured */
} machine_limits;

limits_key limits_key_of(const machine *m, const weft_hal *hal, int node_ranks);
/* WEFT_ERR_NOINPUT when the environment names no cache folder. */
weft_status limits_path(const limits_key *key, char path[FILE_PATH_MAX]);
/* WEFT_ERR_NOINPUT: there is none. WEFT_ERR_DATA: damaged, or of another machine. */
weft_status limits_read(const char *path, const limits_key *key, machine_limits *limits);
weft_status limits_write(const char *path, const limits_key *key, const machine_limits *limits);

/* float32 operations a second of the backend's product of square matrices; about 0.3 s. */
weft_status limits_measure_gemm(weft_hal *hal, double *flop_per_second);
/* All of it, for one process that has the machine to itself. */
weft_status limits_measure(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits);
/* Keeps the figures for later jobs; a folder that takes no files is a line in the log. */
void limits_keep(const limits_key *key, const machine_limits *limits);
/* The kept figures, or ones measured now and kept for the next. [out] kept: they were read. */
weft_status limits_find(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits, bool *kept);

/* A rate that is above this times a limit shows that the limit is too low. */
#define LIMITS_NOISE 1.05
/* Compares rates that were seen with the limits, float32 operations of products and bytes of arrays beyond the caches a
 * second; 0: none was seen. Limits that are too low are measured again, but only once (*again), raised to the rates,
 * kept and logged. */
weft_status limits_raise(const machine *m, const placement *plan, weft_hal *hal, double flops, double bytes,
                         bool *again, machine_limits *limits);
