/* app/gnn/gnn_describe.c: what run.json, --dry-run and summary.json tell of a graph network (app/gnn/gnn_workload.h). */
#include "app/gnn/gnn_job.h"
#include "base/number.h"
#include "partition/partition_store.h"

void gnn_describe_data(const workload *work, json_writer *json)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->facts;
    json_text(json, "name", graph->name);
    json_text(json, "hash", graph->hash);
    json_int(json, "vertices", graph->vertices);
    json_int(json, "edges", graph->edges);
    json_int(json, "features", graph->features);
    json_int(json, "classes", graph->classes);
    class_names_to_json(json, (const char *const *)graph->class_names.text, graph->class_names.count);
    json_bool(json, "symmetric", graph->symmetric);
    json_bool(json, "weighted", job->weighted);
}

const char *gnn_row_name(const workload *work, int64_t row)
{
    const gnn_job *job = work->self;
    return job->vertex_names.text != NULL ? job->vertex_names.text[row] : NULL;
}

void gnn_describe_plan(const workload *work, FILE *out)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const partition_report *report = &job->data.report;
    const double rows = (double)report->rows_per_layer;
    gnn_plan plan;
    gnn_plan_make(&job->config, work->shares[0], work->shares[1], context->placement.threads, WEFT_DTYPE_F32, &plan);
    const int ranks = graph_data_ranks(context);
    if (ranks != comm_size(context->comm)) {
        fprintf(out,
                "planned for %d ranks, one a node, with an assumed replication factor of %.3f; %s has %lld vertices, "
                "holds %lld, and has %lld edges\n",
                ranks, report->replication_factor, job->data.share != NULL ? "the largest" : "each",
                (long long)work->shares[0], (long long)work->shares[1], (long long)work->shares[3]);
    } else if (ranks > 1) {
        fprintf(out,
                "partition %s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, root balance %.3f\n",
                option_text(context->options, OPT_PARTITION), report->replication_factor, report->edge_balance,
                report->vertex_balance, report->root_balance);
    }
    const gnn_halo_options *halo = &plan.config.halo;
    for (int l = 0; l < plan.layers; ++l) {
        const gnn_layer_plan *layer = &plan.layer[l];
        fprintf(out, "layer %d: %lld -> %lld, %s", l, (long long)layer->d_in, (long long)layer->d_out,
                gnn_flow_text(layer->flow));
        if (layer->hops > 1) {
            fprintf(out, ", %d hops", layer->hops);
        }
        fputs(layer->sparse ? ", sparse features" : "", out);
        fputs(layer->skip >= 0 ? ", residual" : "", out);
        if (layer->share < 1.0) {
            fprintf(out, ", in training along %.0f %% of the edges", 100.0 * layer->share);
        }
        fputc('\n', out);
    }
    if (plan.layer[0].streams) {
        fprintf(out, "features: %s stay in pinned memory of the host, in blocks of %lld rows (%s)\n",
                number_say_bytes(plan.host_feature_bytes).text, (long long)plan.stream_rows,
                number_say_bytes(plan.feature_bytes / 2).text);
    }
    fprintf(out, "halo: %.0f rows a layer and direction over all ranks, %.1f MB an epoch", rows,
            rows * gnn_plan_halo_bytes(&plan, &(gnn_halo_options){.delay = 0}) / 1e6);
    if (ranks > 1 && halo->none) {
        fputs(", which " FLAG_NO_HALO " leaves to evaluations", out);
    } else if (ranks > 1 && (halo->delay > 1 || halo->sample < 1.0 || gnn_halo_codes(halo))) {
        fprintf(out, ", %.1f MB with", rows * gnn_plan_halo_bytes(&plan, halo) / 1e6);
        if (halo->delay > 1) {
            fprintf(out, " " FLAG_DELAY " %d%s", halo->delay, halo->fresh_gradients ? " " FLAG_FRESH_GRADIENTS : "");
        }
        if (halo->sample < 1.0) {
            fprintf(out, " " FLAG_BOUNDARY_SAMPLE " %g", halo->sample);
        }
        if (gnn_halo_codes(halo)) {
            fprintf(out, " " FLAG_HALO_CODEC " %s", option_text(context->options, OPT_HALO_CODEC));
            if (halo->mean_bits > 0.0) {
                fprintf(out, " --halo-bits %g", halo->mean_bits);
            }
        }
    }
    fputc('\n', out);
    fprintf(out, "gradients: %.3f MB a rank and epoch\n", (double)plan.parameter_bytes / 5.0 / 1e6);
}

void gnn_summarise(const workload *work, json_writer *json)
{
    const gnn_job *job = work->self;
    json_int(json, "rows_per_layer", job->data.report.rows_per_layer);
    json_object(json, "partition");
    partition_report_json(json, &job->data.report);
    json_end(json);
}
