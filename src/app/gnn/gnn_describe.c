/* app/gnn/gnn_describe.c: what run.json, --dry-run and summary.json tell of a graph network (app/gnn/gnn_workload.h). */
#include "app/gnn/gnn_job.h"
#include "comm/comm_options.def"
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
    json_bool(json, "symmetric", graph->symmetric);
}

void gnn_describe_plan(const workload *work, FILE *out)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const partition_report *report = &job->data.report;
    const double rows = (double)report->rows_per_layer;
    double bytes = 0, coded = 0;
    gnn_plan plan;
    gnn_plan_make(&job->config, job->data.part.n_owned, job->data.part.n_local, context->placement.threads,
                  WEFT_DTYPE_F32, &plan);
    if (comm_size(context->comm) > 1) {
        fprintf(out,
                "partition %s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, root balance %.3f\n",
                option_text(context->options, OPT_PARTITION), report->replication_factor, report->edge_balance,
                report->vertex_balance, report->root_balance);
    }
    const gnn_halo_options *halo = &plan.config.halo;
    for (int l = 0; l < plan.config.layers; ++l) {
        const gnn_layer_plan *layer = &plan.layer[l];
        fprintf(out, "layer %d: %lld -> %lld, %s%s\n", l, (long long)layer->d_in, (long long)layer->d_out,
                gnn_flow_text(layer->flow), layer->sparse ? ", sparse features" : "");
        const weft_dtype type = layer->flow == GNN_FLOW_LINEAR_FIRST ? layer->output_type : layer->input_type;
        const double plain = (double)layer->aggregated * (double)weft_dtype_bytes(type);
        const int64_t legs = layer->width > 0 ? layer->aggregated / layer->width : 0;
        bytes += rows * plain;
        coded +=
            rows * (halo->codec == HAL_ROWS_NONE ? plain : (double)(legs * hal_row_bytes(halo->codec, layer->width)));
    }
    fprintf(out, "halo: %.0f rows a layer and direction over all ranks, %.1f MB an epoch", rows, bytes / 1e6);
    if (comm_size(context->comm) > 1 && halo->none) {
        fputs(", which " FLAG_NO_HALO " leaves to evaluations", out);
    } else if (comm_size(context->comm) > 1 && (halo->delay > 1 || halo->codec != HAL_ROWS_NONE)) {
        fprintf(out, ", %.1f MB with", coded / (halo->delay > 1 ? halo->delay : 1) / 1e6);
        if (halo->delay > 1) {
            fprintf(out, " " FLAG_DELAY " %d", halo->delay);
        }
        if (halo->codec != HAL_ROWS_NONE) {
            fprintf(out, " " FLAG_HALO_CODEC " %s", option_text(context->options, OPT_HALO_CODEC));
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
