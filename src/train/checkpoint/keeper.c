/* train/checkpoint/keeper.c: see train/checkpoint/keeper.h. */
#include "train/checkpoint/keeper.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "train/activities.h"
#include "train/checkpoint/checkpoint_internal.h"
#include "train/train_options.def"

#define LONG_S 5.0 /* a checkpoint that takes longer is told */

void keeper_open(weft_comm *comm, const train_checkpoints *plan, const keeper_content *content, train_keeper *keeper)
{
    *keeper = (train_keeper){.comm = comm, .plan = plan, .content = content};
    keeper->from = plan != NULL ? plan->resume : NULL;
    keeper->written_at = keeper->step_at = clock_seconds();
}

void keeper_close(train_keeper *keeper)
{
    checkpoint_close(keeper->older);
    keeper->older = NULL;
    keeper->from = NULL;
}

/* ---- wishes ---- */

/* The next step, what is evaluated until its end, and a checkpoint then would end too late. */
static bool out_of_time(const train_keeper *keeper, const keeper_place *place, double now)
{
    double stop_at = keeper->plan->stop_at, step = now - keeper->step_at - keeper->aside_s;
    double evaluations = place->evaluations * keeper->longest_evaluation_s;
    return stop_at > 0 && now + step + evaluations + keeper->longest_write_s >= stop_at;
}

static bool is_multiple(int64_t count, int64_t every)
{
    return every > 0 && count > 0 && count % every == 0;
}

void keeper_evaluated(train_keeper *keeper, double seconds)
{
    keeper->aside_s += seconds;
    keeper->longest_evaluation_s = fmax(keeper->longest_evaluation_s, seconds);
}

void keeper_wish(train_keeper *keeper, keeper_place place, double wish[KEEPER_WISHES])
{
    const train_checkpoints *plan = keeper->plan;
    wish[0] = wish[1] = 0;
    if (plan == NULL) {
        return;
    }
    bool stop = plan->asked_to_stop != NULL && plan->asked_to_stop(plan->self);
    if (comm_rank(keeper->comm) == 0) {
        double now = clock_seconds();
        stop = stop || out_of_time(keeper, &place, now);
        keeper->step_at = now;
        keeper->aside_s = 0;
        wish[1] = is_multiple(place.trained, plan->every_epochs) || is_multiple(place.steps, plan->every_steps) ||
                  (plan->every_s > 0 && now - keeper->written_at >= plan->every_s);
    }
    wish[0] = stop;
}

void keeper_hear(train_keeper *keeper, const double sum[KEEPER_WISHES])
{
    keeper->stop = sum[0] > 0;
    keeper->due = sum[1] > 0;
}

/* ---- writing ---- */

static checkpoint_facts facts_of(const train_keeper *keeper)
{
    const train_checkpoints *plan = keeper->plan;
    const keeper_content *content = keeper->content;
    checkpoint_facts facts = {.options = plan->options,
                              .data_hash = plan->data_hash,
                              .sync = "none",
                              .ranks = comm_size(keeper->comm),
                              .threads = plan->threads,
                              .content = content->name,
                              .moments = plan->moments};
    if (content->describe != NULL) {
        content->describe(content->self, &facts);
    }
    return facts;
}

/* Whether the failure is about files and memory of a rank, not about ranks that do not answer. */
static bool is_local(weft_status status)
{
    return status == WEFT_ERR_IO || status == WEFT_ERR_PERMISSION || status == WEFT_ERR_NOINPUT ||
           status == WEFT_ERR_USAGE || status == WEFT_ERR_RESOURCE;
}

static weft_status begin(const train_keeper *keeper, const train_progress *progress, checkpoint_writer *writer)
{
    const train_checkpoints *plan = keeper->plan;
    writer->temporary[0] = '\0';
    if (comm_rank(keeper->comm) != 0) {
        return WEFT_OK;
    }
    if (plan->before_write != NULL) {
        WEFT_TRY(plan->before_write(plan->self));
    }
    const checkpoint_place place = {.trained = progress->trained, .step = progress->step};
    return checkpoint_writer_begin(plan->folder, place, writer);
}

static weft_status write_all(train_keeper *keeper, const train_progress *progress, checkpoint_writer *writer)
{
    const keeper_content *content = keeper->content;
    const bool first = comm_rank(keeper->comm) == 0;
    const bool best = progress->result[progress->run].best_epoch > 0;
    weft_status written = WEFT_OK;
    WEFT_TRY(comm_agree(keeper->comm, begin(keeper, progress, writer)));
    WEFT_TRY(content->gather(content->self, first ? writer->temporary : NULL, best, &written));
    if (first && written == WEFT_OK) {
        const checkpoint_facts facts = facts_of(keeper);
        written = checkpoint_writer_commit(writer, &facts, progress);
    }
    return comm_agree(keeper->comm, written);
}

static weft_status write_checkpoint(train_keeper *keeper, const train_progress *progress)
{
    checkpoint_writer writer = {.temporary = ""};
    double start = clock_seconds();
    activity_begin(ACTIVITY_WRITE);
    weft_status status = write_all(keeper, progress, &writer);
    if (status != WEFT_OK) {
        checkpoint_writer_discard(&writer);
    }
    activity_end(ACTIVITY_WRITE);
    keeper->written_at = clock_seconds();
    double took = keeper->written_at - start;
    keeper->aside_s += took;
    keeper->longest_write_s = fmax(keeper->longest_write_s, took);
    if (status == WEFT_OK) {
        (took > LONG_S ? log_info : log_debug)("checkpoint after %s: %s, %.2f s", progress_say(progress).text,
                                               writer.goal, took);
    }
    return status;
}

weft_status keeper_keep(train_keeper *keeper, const train_progress *progress, bool over)
{
    const train_checkpoints *plan = keeper->plan;
    bool stop = keeper->stop && !over;
    assert(progress->result != NULL && progress->run >= 0);
    if (plan == NULL) {
        return WEFT_OK;
    }
    bool closing = over && (plan->every_epochs > 0 || plan->every_steps > 0 || plan->every_s > 0);
    const bool none = over && plan->passing;
    if (none || (!stop && !keeper->due && !closing)) {
        return WEFT_OK;
    }
    keeper->stop = keeper->due = false;
    weft_status status = write_checkpoint(keeper, progress);
    if (stop) {
        return status == WEFT_OK ? weft_fail(WEFT_STOPPED, "stopped after %s", progress_say(progress).text)
                                 : weft_fail_context(status, "stopping, but the checkpoint could not be written: ");
    }
    if (status != WEFT_OK && is_local(status)) {
        char message[1024]; /* looking for a checkpoint clears it */
        snprintf(message, sizeof message, "%s", weft_error_message());
        log_warn("checkpoint after %s not written: %s; %s, training goes on", progress_say(progress).text, message,
                 checkpoint_is_there(plan->folder) ? "the one before it stays" : "there is none to resume from");
        weft_error_clear();
        return WEFT_OK;
    }
    return status;
}

/* ---- going on ---- */

/* Rank 0: the checkpoint is of this training's kind, and of a run that it has. */
static weft_status check_from(const train_keeper *keeper, int runs)
{
    static const char replicas[] = "parameters";
    const checkpoint *ck = keeper->from;
    const char *here = keeper->content->name != NULL ? keeper->content->name : "";
    WEFT_CHECK(strcmp(ck->content, here) == 0, WEFT_ERR_USAGE,
               "%s: holds %s, and this training goes on from %s: give the options that it was made with, or another "
               "run folder",
               ck->path, ck->content[0] != '\0' ? ck->content : replicas, here[0] != '\0' ? here : replicas);
    WEFT_CHECK(ck->progress.run < runs, WEFT_ERR_USAGE, "%s: belongs to run %d, but " FLAG_RUNS " is %d", ck->path,
               ck->progress.run + 1, runs);
    return WEFT_OK;
}

weft_status keeper_find(const train_keeper *keeper, int runs, train_progress *progress, bool *resumed)
{
    train_run *result = progress->result;
    assert(result != NULL);
    weft_status status = WEFT_OK;
    int64_t there = 0;
    *resumed = false;
    if (keeper->plan == NULL) {
        return WEFT_OK;
    }
    if (keeper->from != NULL) {
        *progress = *checkpoint_progress(keeper->from);
        status = check_from(keeper, runs);
        if (status == WEFT_OK) {
            memcpy(result, progress->result, ((size_t)progress->run + 1) * sizeof *result);
        }
        there = 1;
    }
    progress->result = result;
    WEFT_TRY(comm_agree(keeper->comm, status));
    WEFT_TRY(comm_bcast(keeper->comm, 0, &there, sizeof there));
    if (there == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_bcast(keeper->comm, 0, progress, sizeof *progress));
    progress->result = result;
    WEFT_TRY(comm_bcast(keeper->comm, 0, result, ((int64_t)progress->run + 1) * (int64_t)sizeof *result));
    *resumed = true;
    return WEFT_OK;
}

weft_status keeper_restore(train_keeper *keeper, const train_progress *progress)
{
    const keeper_content *content = keeper->content;
    return content->restore(content->self, keeper->from, progress);
}

/* Rank 0 of keeper_step_back. */
static weft_status open_older(train_keeper *keeper)
{
    char defect[1024];
    checkpoint *older = NULL;
    snprintf(defect, sizeof defect, "%s", weft_error_message());
    weft_status status = checkpoint_open_before(keeper->from, &older);
    if (status == WEFT_ERR_NOINPUT || status == WEFT_ERR_DATA) {
        return weft_fail(WEFT_ERR_DATA, "%s; no checkpoint before it is good: begin anew in another run folder",
                         defect);
    }
    WEFT_TRY(status);
    log_warn("%s; the checkpoint before it is used", defect);
    checkpoint_close(keeper->older);
    keeper->from = keeper->older = older;
    return WEFT_OK;
}

weft_status keeper_step_back(train_keeper *keeper)
{
    weft_status status = keeper->from != NULL ? open_older(keeper) : WEFT_OK;
    WEFT_TRY(comm_agree(keeper->comm, status));
    weft_error_clear();
    return WEFT_OK;
}
