/*
 * train/loop/team.h: worker threads of a rank, which compute the passes of several batches side by side.
 *
 *     caller      fetch 0 | fetch 1 | ... give 0, update 0, fetch 2 | ... give 1, update 1, fetch 3 | ...
 *     worker 0            | forward and backward of 0               | forward and backward of 2
 *     worker 1                      | forward and backward of 1                     | ...
 *
 * Step t is worker (t mod N)'s, on the parameters as they are when it is fetched. The caller alone talks to others
 * and alone changes parameters, in the order of steps, so no lock is needed and no update is lost; a gradient is of
 * parameters, and of what was fetched, that up to N - 1 updates have changed since. With one worker these are none: the
 * bits are those of a training without. With more the result depends on N, not on how fast a thread is.
 *
 * The first updates of a run are large, Adagrad's above all, whose sums of squares begin at 0. Losses would jump, as
 * each is made again for every gradient that missed the one before. So batches begin one after the other, and one more
 * may be under way for every TEAM_UPDATES updates of the run.
 *
 * Hogwild (B. Recht, C. Re, S. Wright, F. Niu, NIPS 2011, arXiv 1106.5730), whose threads ShadowSync has, writes
 * parameters from all threads at once instead; there the number of updates that a gradient misses is a matter of time.
 */
#pragma once

#include "base/trace/activity.h"
#include "train/source.h"

typedef struct train_team train_team;

extern const weft_activity ACTIVITY_TEAM[1]; /* waiting for a worker */

/* [out] sum: [1, 1] float64 of the loss, whose gradient is written over the logits. Called by the worker's thread. */
typedef weft_status team_loss(void *self, const train_targets *targets, weft_tensor *logits, weft_tensor *sum);

/* workers, and self, must outlive the team. Local. WEFT_ERR_RESOURCE: memory or threads. WEFT_ERR_UNSUPPORTED: memory
 * that is not the host's. */
weft_status team_create(const train_workers *workers, team_loss *loss, void *self, train_team **team);
void team_destroy(train_team *team); /* waits for passes that run; NULL is fine */

enum { TEAM_UPDATES = 64 };
/* Returns how many batches may be under way once the run has made so many updates. */
static inline int64_t team_under_way(const train_workers *workers, int64_t updates)
{
    const int64_t most = 1 + updates / TEAM_UPDATES;
    return most < workers->count ? most : workers->count;
}

/* The batch of `pass` is fetched, and its worker, who has none, begins with the parameters of `from`. Collective. */
weft_status team_begin(train_team *team, const train_pass *pass, const param_store *from);
/* Waits for the worker of step `step`, which was begun, and gives back what it fetched. [out] to: its gradients; loss:
 * its sum; targets: of the batch, until the worker begins another. Collective. */
weft_status team_end(train_team *team, int64_t step, param_store *to, weft_tensor *loss, const train_targets **targets);
