/*
 * comm/sync/choose.c: what a step of each mode will take, and the choice of `--sync auto`.
 *
 * A prediction is the time that a step's communication and the work for it take by the model (comm/core/cost.h), one
 * after the other, whatever of it hides behind computing: modes hide alike, and what is hidden still keeps links and
 * cores busy. Every mode scans the gradient once; beside that (sync_ops.predict)
 *
 *      allreduce        each bucket by the best algorithm (or the one asked for), in the wire's type
 *      topk             each bucket: the selected part by the best exchange, the tensors that go dense by all-reduce
 *      divide-shuffle   parameters over a group; the mean over the divisions of the cycle, each as slow as its slowest
 *                       group, with the links of a node shared by the groups that cross them
 *      shadow           an average over all ranks every `gap` steps (in each step, when rounds follow one another), and
 *                       the passes of the snapshot and of its use
 *      asp              the all-reduce inside a site, and the share of the updates that was sent in the last step to
 *                       every other site; before the first step one part in twenty: Gaia finds that 95 % of all updates
 *                       change their parameter by less than 1 %. K. Hsieh et al.: Gaia: geo-distributed machine
 *                       learning approaching LAN speeds. NSDI 2017
 *
 * Where a mode tracks gradients (comm/sync/tracking.c) they travel with the parameters and are counted with them.
 *
 * The exact mode runs unless lossy ones are allowed and one of them is predicted to save a tenth of its time: less is
 * within the error of predictions, and no reason to give up exactness. Where the shards of ranks differ, only modes
 * with equal replicas are candidates: replicas that follow their own gradients lose accuracy there. On test systems
 * compression seldom pays: S. Agarwal, H. Wang, S. Venkataraman, D. Papailiopoulos: On the utility of gradient
 * compression in distributed training systems. MLSys 2022, arXiv:2103.00543.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/text/append.h"
#include "comm/comm_options.def"
#include "comm/core/cost.h"
#include "comm/sync/sync_mode.h"

/* The scan for values that are not finite reads one stream where a reduction reads two and writes one. */
static const double scan_part = 1.0 / 3.0;
/* A lossy mode must take less than this part of the exact one's time. */
static const double worth_losing = 0.9;

/* Every mode looks for values that are not finite in a gradient that is handed in. */
static double admission_seconds(const comm_sync *sync)
{
    double bytes = (double)sync->desc.trained * (double)weft_dtype_bytes(sync->desc.dtype);
    return scan_part * bytes * comm_get_model(sync->comm)->reduce_per_byte;
}

weft_status sync_predict(const comm_sync *sync, sync_mode mode, double *seconds)
{
    *seconds = 0.0;
    WEFT_CHECK(mode >= 0 && mode < SYNC_AUTO, WEFT_ERR_INTERNAL, "no prediction for sync mode %d", (int)mode);
    WEFT_CHECK(sync->desc.dtype == WEFT_DTYPE_F32 || mode == SYNC_ALLREDUCE, WEFT_ERR_UNSUPPORTED,
               "sync %s takes float32, these are %s", sync_mode_name(mode), weft_dtype_name(sync->desc.dtype));
    WEFT_TRY(sync_ops_of(mode)->predict(sync, seconds));
    *seconds += admission_seconds(sync);
    return WEFT_OK;
}

/* ---- the choice --------------------------------------------------------------------------------------------- */
static const char *duration(double seconds, char text[32])
{
    if (seconds >= 1.0) {
        snprintf(text, 32, "%.3g s", seconds);
    } else if (seconds >= 1e-3) {
        snprintf(text, 32, "%.3g ms", 1e3 * seconds);
    } else {
        snprintf(text, 32, "%.3g us", 1e6 * seconds);
    }
    return text;
}

/* Local updates on shards that differ: no saving is worth what they lose. */
static bool may_run(const comm_sync *sync, sync_mode mode)
{
    return sync->options.shards == SYNC_SHARDS_SAMPLED || !sync_mode_tracks(mode);
}

static void log_choice(const comm_sync *sync, const double seconds[SYNC_AUTO], sync_mode fastest, sync_mode chosen)
{
    char text[512] = "";
    char one[32];
    const char *why = "every other mode is slower or saves less than a tenth";
    if (chosen != SYNC_ALLREDUCE) {
        why = sync->options.shards == SYNC_SHARDS_SAMPLED ? "the fastest"
                                                          : "the fastest whose replicas stay equal, as shards differ";
    } else if (fastest != SYNC_ALLREDUCE && !sync->options.allow_lossy) {
        why = "the others are not exact; " FLAG_ALLOW_LOSSY " would let them run";
    }
    for (int mode = 0; mode < SYNC_AUTO; ++mode) {
        text_append_item(text, sizeof text, "%s %s", sync_mode_name((sync_mode)mode), duration(seconds[mode], one));
    }
    log_info("sync: a step's communication by the %s model: %s; %s runs: %s",
             comm_get_model(sync->comm)->measured ? "measured" : "fixed", text, sync_mode_name(chosen), why);
}

weft_status sync_choose(const comm_sync *sync, sync_mode *mode)
{
    double seconds[SYNC_AUTO];
    int32_t chosen = SYNC_ALLREDUCE;
    sync_mode fastest = SYNC_ALLREDUCE;
    for (int m = 0; m < SYNC_AUTO; ++m) {
        WEFT_TRY(sync_predict(sync, (sync_mode)m, &seconds[m]));
        bool beats_exact = may_run(sync, (sync_mode)m) && seconds[m] < worth_losing * seconds[SYNC_ALLREDUCE];
        fastest = beats_exact && seconds[m] < seconds[fastest] ? (sync_mode)m : fastest;
    }
    chosen = sync->options.allow_lossy ? (int32_t)fastest : SYNC_ALLREDUCE;
    /* Equal models give equal predictions; processors may differ in the last bit. */
    WEFT_TRY(comm_bcast(sync->comm, 0, &chosen, (int64_t)sizeof chosen));
    *mode = (sync_mode)chosen;
    log_choice(sync, seconds, fastest, *mode);
    return WEFT_OK;
}
