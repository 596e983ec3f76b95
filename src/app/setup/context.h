/*
 * app/setup/context.h: what every collective command starts with: ranks that talk, options that agree, threads in their
 * place, a backend.
 */
#pragma once

#include "app/options/app_options.h"
#include "base/log.h"
#include "comm/comm.h"
#include "machine/binding.h"

typedef struct app_context app_context;

struct app_context {
    /* The job that owns machine, placement and backend; NULL: this job owns them. */
    const app_context *host_job;
    weft_comm *comm;
    /* Copy of rank 0's options on the other ranks; NULL on rank 0. */
    weft_options *shared;
    /* Copy of the options in which no value is "auto" any more (app/workload/workload.h), or NULL. */
    weft_options *decided;
    /* The options to use. */
    const weft_options *options;
    machine machine;
    placement placement;
    bound_by bound; /* who chose the masks of this node's ranks */
    weft_hal *hal;
    /* Ranks of the job that compute on this rank's device, this rank included; 0: the backend has no device. */
    int device_ranks;
    /* The job's ranks compute on different backends. */
    bool mixed;
    /* Backends of the job's ranks: one name, or "cuda on 1 rank, cpu on 3". */
    char backends[64];
    /* How halo rows in device memory reach other ranks (comm_choose_direct). */
    char road[COMM_ROAD_BYTES], host[64];
    int nodes;
    /* Log settings of host_job, which are restored when this job is closed. */
    log_voice host_voice;
    /* Share of the node's memory that this job may take, in (0, 1]. */
    double memory_share;
    uint64_t memory_seen; /* see app_context_hold_memory; 0: none */
};

/* Sets the log's level by --quiet or --verbose. Without these options the level stays. WEFT_ERR_USAGE when both are
 * given. */
weft_status app_set_log_level(const weft_options *options);

/* Threads of a rank by --threads, or else by OMP_NUM_THREADS, of which a list's first number counts; 0: neither. */
int app_requested_threads(const weft_options *options);

/* options: on rank 0; those of other ranks are not looked at. [out] received rank 0's options on the other ranks, NULL
 * on rank 0; option_destroy. Collective. */
weft_status app_share_options(weft_comm *comm, const option_catalog *catalog, const weft_options *options,
                              weft_options **received);

/* Rank 0's text becomes every rank's value of what said "auto" (option_decide); NULL or "", on other ranks ignored:
 * nothing does. Collective. */
weft_status app_decide_shared(weft_comm *comm, weft_options *options, option_id id, const char *text);

/* Under a launcher over MPI, else one rank; with a communication thread where the placement has one. Logs one line a
 * node. --stall-timeout holds from here on. Collective over all processes of the job. */
weft_status app_context_open(const weft_options *options, app_context *context);
/* This process alone, without MPI. start: binding_read() before the first placement, for commands that place threads
 * several times. */
weft_status app_context_open_alone(const weft_options *options, const binding *start, app_context *context);
/*
 * A job on some of another's ranks, beside jobs on the others: a communicator that was split from its (the caller's,
 * and open longer), options of its own, and the machine, placement and backend of `host_job`, which its own options do
 * not change. Its rank 0 speaks, as `name`, until it is closed. memory_share: of what host_job may take of a node's
 * memory, more than
 * 0 and at most 1; 0: as many parts of it as the job has of host_job's ranks on the node. Collective over `comm`.
 */
weft_status app_context_open_within(const app_context *host_job, weft_comm *comm, const weft_options *options,
                                    const char *name, double memory_share, app_context *context);
/* Bytes of this node's memory that the job may take in all: its share of what is free, or of the control group's
 * limit. */
uint64_t app_context_memory(const app_context *context);
/* hold: app_context_memory() asks the kernel now, and answers the same until it is called without. A plan asks several
 * times, and each takes 0.1 ms. */
void app_context_hold_memory(app_context *context, bool hold);
/* Writes the facts that timings of this rank depend on: processor, caches, threads. The host's name is not enough,
 * because a machine keeps its name when its parts are exchanged. */
void app_machine_text(const app_context *context, char *text, size_t bytes);
/* Collective. */
void app_context_close(app_context *context);

/*
 * After a failure: with several ranks, say why and end the whole job (does not return), because ranks that wait for
 * this one would wait for ever. Rank 0 speaks at once, the others a moment later: a failure that all ranks agree on is
 * told once. After a stall one rank speaks for all and names those that are missing (comm/core/inquest.h). With one
 * rank it returns and the command closes as usual. The end of a job within another is the end of that one too: whoever
 * runs several looks at their statuses instead.
 */
void app_context_fail(const app_context *context, weft_status status);
