/* app/cli/command_train.c: weft train: one job, and what it prints. */
#include <stdio.h>

#include "app/cli/command.h"
#include "app/setup/signals.h"
#include "app/setup/sync_setup.h"
#include "app/train/resume_run.h"
#include "app/train/train_job.h"
#include "app/workload/workload_facts.h"
#include "base/log.h"
#include "machine/launcher.h"

static void print_sync(const app_context *context, sync_shards shards)
{
    const sync_options sync = sync_options_of(context->options, shards);
    char text[160];
    sync_setup_describe(&sync, sync.mode, comm_size(context->comm), text, sizeof text);
    printf("sync %s: %s\n", sync_mode_name(sync.mode), text);
    sync_setup_describe_tracking(&sync, sync.mode, text, sizeof text);
    if (text[0] != '\0') {
        printf("%s\n", text);
    }
}

static void print_dry_run(const train_job *job)
{
    const app_context *context = job->context;
    const workload *work = &job->work;
    printf("%d rank(s) on %d node(s), %d thread(s) each (%s)\n", comm_size(context->comm), context->nodes,
           context->placement.threads, context->placement.reason);
    workload_print_plan(work, stdout);
    if (comm_size(context->comm) > 1 && work->ops->fit == NULL) {
        print_sync(context, work->ops->shards);
    }
    memory_plan_print(context, &work->memory);
}

static void print_result(const train_job *job)
{
    if (option_flag(job->context->options, OPT_DRY_RUN)) {
        print_dry_run(job);
    } else {
        train_report_print(&job->report, &job->result);
    }
}

static weft_status train(const weft_options *options)
{
    app_context context = {.comm = NULL};
    train_job *job = NULL;
    WEFT_TRY(train_job_create(&job));
    job->stop = (train_stop){.asked = signals_asked, .training = signals_training, .remove = signals_remove_tree};
    weft_status status = app_context_open(options, &context);
    status = status == WEFT_OK ? train_job_run(job, &context) : status;
    if (status == WEFT_STOPPED) {
        log_warn("%s", weft_error_message());
    } else if (status != WEFT_OK) {
        app_context_fail(&context, status);
    } else if (comm_rank(context.comm) == 0) {
        print_result(job);
    }
    train_job_destroy(job);
    app_context_close(&context);
    return status;
}

weft_status app_train(const weft_options *options)
{
    weft_options *resumed = NULL;
    signals_open();
    if (launcher_rank() == 0) { /* the other ranks receive its options */
        WEFT_TRY(resume_run_options(options, &resumed));
    }
    const weft_status status = train(resumed != NULL ? resumed : options);
    option_destroy(resumed);
    return status;
}
