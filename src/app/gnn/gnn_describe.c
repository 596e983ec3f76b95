/* app/gnn/gnn_describe.c: what run.json, --dry-run and summary.json tell of a graph network (app/gnn/gnn_job.h). */
#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_links.h"

#include <assert.h>

#include "base/number.h"

void gnn_data_facts(const workload *work, fact_list *list)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->facts;
    facts_int(list, "vertices", "vertices", "", "", graph->vertices);
    facts_int(list, "edges", "directed edges", "", "", graph->edges);
    facts_int(list, "features", "features", "", "", graph->features);
    facts_int(list, FACT_CLASSES, "classes", "", "", graph->classes);
    facts_yes_no(list, "symmetric", "symmetric", "", graph->symmetric);
    facts_yes_no(list, "weighted", "weighted edges", "", job->weighted);
    if (job->predicts_links) {
        facts_int(list, "links", "links to train on", "", "", job->links.total);
        facts_int(list, "judged_pairs", "pairs to judge by", "", "links and negatives of an evaluation",
                  job->links.judged.total);
    }
}

const char *gnn_row_name(const workload *work, int64_t row)
{
    const gnn_job *job = work->self;
    assert(job->vertex_names.text == NULL || (row >= 0 && row < job->vertex_names.count));
    return job->vertex_names.text != NULL ? job->vertex_names.text[row] : NULL;
}

static void tell_balance(const partition_report *report, fact_list *list)
{
    facts_real(list, "replication_factor", "replication factor", "", "ranks that hold a vertex, mean",
               report->replication_factor);
    facts_real(list, "edge_balance", "edge balance", "", "edges of the largest part over the mean",
               report->edge_balance);
    facts_real(list, "vertex_balance", "vertex balance", "", "vertices held by the largest part over the mean",
               report->vertex_balance);
    facts_real(list, "root_balance", "root balance", "", "vertices computed by the largest part over the mean",
               report->root_balance);
}

static double percent(int64_t count, int64_t of)
{
    return of > 0 ? 100.0 * (double)count / (double)of : 0.0;
}

static void tell_cut(const partition_report *report, const weft_graph *graph, fact_list *list)
{
    facts_int(list, "rows_per_layer", "rows per layer", "", "sent forward by all ranks, and as many back",
              report->rows_per_layer);
    facts_int(list, "split_vertices", "split vertices", "", "held by more than one rank", report->split_vertices);
    facts_real(list, "split_share", "share of the vertices that is split", "%", "",
               percent(report->split_vertices, graph->vertices));
    facts_int(list, "cut_edges", "cut edges", "", "whose ends are computed by different ranks", report->cut_edges);
    facts_real(list, "cut_share", "share of the edges that is cut", "%", "", percent(report->cut_edges, graph->edges));
    facts_int(list, "empty_parts", "empty parts", "", "ranks without a vertex", report->empty_parts);
    facts_real(list, "seconds", "time to divide", "s", "", report->seconds);
    facts_int(list, "peak_rss_bytes", "memory while dividing", "bytes", "the largest resident set of a rank",
              (int64_t)report->peak_rss_bytes);
}

static gnn_plan plan_of(const workload *work)
{
    const gnn_job *job = work->self;
    gnn_plan plan;
    gnn_plan_make(&job->config, work->shares[0], work->shares[1], work->context->placement.threads, WEFT_DTYPE_F32,
                  &plan);
    return plan;
}

void gnn_plan_facts(const workload *work, fact_list *list)
{
    const gnn_job *job = work->self;
    const partition_report *report = &job->data.report;
    const gnn_plan plan = plan_of(work);
    char title[FACT_TITLE_BYTES];
    const int ranks = graph_data_ranks(work->context);
    if (ranks != comm_size(work->context->comm)) {
        snprintf(title, sizeof title, "planned for %d ranks, one a node", ranks);
        facts_group(list, "planned", title);
        facts_real(list, "replication_factor", "assumed replication factor", "", "", report->replication_factor);
    } else if (ranks > 1) {
        snprintf(title, sizeof title, "partition %.40s", option_text(work->context->options, OPT_PARTITION));
        facts_group(list, "partition", title);
        tell_balance(report, list);
    }
    facts_group(list, "share", job->data.share != NULL ? "the largest rank" : "each rank");
    facts_int(list, "owned_vertices", "vertices computed", "", "", work->shares[0]);
    facts_int(list, "held_vertices", "vertices held", "", "", work->shares[1]);
    facts_int(list, "edges", "edges", "", "", work->shares[3]);
    facts_group(list, "gradients", "gradients");
    facts_int(list, "gradient_bytes", "sent by a rank in an epoch", "bytes", "",
              plan.parameters * (int64_t)sizeof(float));
}

static void print_layer(const gnn_layer_plan *layer, int number, FILE *out)
{
    fprintf(out, "layer %d: %lld -> %lld, %s", number, (long long)layer->d_in, (long long)layer->d_out,
            gnn_flow_text(layer->flow));
    if (layer->hops > 1) {
        fprintf(out, ", %d hops", layer->hops);
    }
    fputs(layer->sparse ? ", sparse features" : layer->narrow ? ", features in 16 bits" : "", out);
    fputs(layer->skip >= 0 ? ", residual" : "", out);
    if (layer->share < 1.0) {
        fprintf(out, ", in training along %.0f %% of the edges", 100.0 * layer->share);
    }
    fputc('\n', out);
}

static void print_halo_options(const app_context *context, const gnn_halo_options *halo, FILE *out)
{
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

static void print_halo(const workload *work, const gnn_plan *plan, FILE *out)
{
    const gnn_job *job = work->self;
    const double rows = (double)job->data.report.rows_per_layer;
    const gnn_halo_options *halo = &plan->config.halo;
    const bool crosses = graph_data_ranks(work->context) > 1;
    fprintf(out, "halo: %.0f rows a layer and direction over all ranks, %.1f MB an epoch", rows,
            rows * gnn_plan_halo_bytes(plan, &(gnn_halo_options){.delay = 0}) / 1e6);
    if (crosses && halo->none) {
        fputs(", which " FLAG_NO_HALO " leaves to evaluations", out);
    } else if (crosses && (halo->delay > 1 || halo->sample < 1.0 || gnn_halo_codes(halo))) {
        fprintf(out, ", %.1f MB with", rows * gnn_plan_halo_bytes(plan, halo) / 1e6);
        print_halo_options(work->context, halo, out);
    }
    fputc('\n', out);
}

void gnn_print_plan(const workload *work, FILE *out)
{
    const gnn_plan plan = plan_of(work);
    for (int l = 0; l < plan.layers; ++l) {
        print_layer(&plan.layer[l], l, out);
    }
    if (plan.layer[0].streams) {
        fprintf(out, "features: %s stay in pinned memory of the host, in blocks of %lld rows (%s)\n",
                number_say_bytes(plan.host_feature_bytes).text, (long long)plan.stream_rows,
                number_say_bytes(plan.feature_bytes / 2).text);
    }
    print_halo(work, &plan, out);
    second_outlook_print(&work->second, out);
}

void gnn_result_facts(const workload *work, fact_list *list)
{
    const gnn_job *job = work->self;
    char title[FACT_TITLE_BYTES];
    gnn_links_facts(work, list);
    if (comm_size(work->context->comm) == 1) { /* nothing was divided */
        return;
    }
    snprintf(title, sizeof title, "Partition: %.60s", option_text(work->context->options, OPT_PARTITION));
    facts_group(list, "partition", title);
    tell_balance(&job->data.report, list);
    tell_cut(&job->data.report, &job->facts, list);
}
