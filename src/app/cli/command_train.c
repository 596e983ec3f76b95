/* app/cli/command_train.c: weft train: one job, and what it prints. */
#include <stdio.h>

#include "app/cli/command.h"
#include "app/cli/signals.h"
#include "app/setup/sync_setup.h"
#include "app/train/train_job.h"
#include "base/log.h"

/* What the layers will do and send, in words: for --dry-run and the log. */
static void print_plan(const train_job *job, const gnn_plan *plan)
{
    double rows = (double)job->data.report.rows_per_layer;
    double bytes = 0;
    for (int l = 0; l < plan->config.layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        int legs = layer->flow == GNN_FLOW_CONSTANT || layer->flow == GNN_FLOW_DENSE ? 0
                   : l == 0 && layer->flow == GNN_FLOW_AGGREGATE_FIRST               ? 1
                                                                                     : 2;
        printf("layer %d: %lld -> %lld, %s\n", l, (long long)layer->d_in, (long long)layer->d_out,
               gnn_flow_text(layer->flow));
        bytes += rows * legs * (double)layer->width * 4.0;
    }
    printf("halo: %.0f rows a layer and direction over all ranks, %.1f MB an epoch\n", rows, bytes / 1e6);
    printf("gradients: %.3f MB a rank and epoch\n", (double)plan->parameter_bytes / 5.0 / 1e6);
    if (comm_size(job->context.comm) > 1) {
        sync_options sync = sync_options_of(job->context.options, SYNC_SHARDS_REGIONS);
        char text[160];
        sync_setup_describe(&sync, sync.mode, text, sizeof text);
        printf("sync %s: %s\n", sync_mode_name(sync.mode), text);
        sync_setup_describe_tracking(&sync, sync.mode, text, sizeof text);
        if (text[0] != '\0') {
            printf("%s\n", text);
        }
    }
}

static void print_dry_run(const train_job *job)
{
    const app_context *context = &job->context;
    const partition_report *report = &job->data.report;
    gnn_plan plan;
    gnn_plan_make(&job->config, job->data.part.n_owned, job->data.part.n_local, context->placement.threads,
                  WEFT_DTYPE_F32, &plan);
    printf("%d rank(s) on %d node(s), %d thread(s) each (%s)\n", comm_size(context->comm), context->nodes,
           context->placement.threads, context->placement.reason);
    if (comm_size(context->comm) > 1) {
        printf("partition %s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, root balance %.3f\n",
               option_text(context->options, OPT_PARTITION), report->replication_factor, report->edge_balance,
               report->vertex_balance, report->root_balance);
    }
    print_plan(job, &plan);
    memory_plan_print(&job->memory);
}

weft_status app_train(const weft_options *options)
{
    train_job *job = NULL;
    signals_open();
    WEFT_TRY(train_job_create(&job));
    job->stop = (train_stop){.asked = signals_asked, .training = signals_training};
    weft_status status = train_job_run(job, options);
    if (status == WEFT_STOPPED) {
        log_warn("%s", weft_error_message());
    } else if (status != WEFT_OK) {
        app_context_fail(&job->context, status);
    } else if (comm_rank(job->context.comm) == 0) {
        if (option_flag(job->context.options, OPT_DRY_RUN)) {
            print_dry_run(job);
        } else {
            train_report_print(&job->report, &job->result);
        }
    }
    train_job_destroy(job);
    return status;
}
