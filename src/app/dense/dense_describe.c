/* app/dense/dense_describe.c: what run.json, --dry-run and summary.json tell of a network on images
 * (app/dense/dense_workload.h). */
#include "app/dense/dense_job.h"
#include "base/number.h"

void dense_describe_data(const workload *work, json_writer *json)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    json_text(json, "name", set->name);
    json_text(json, "hash", set->hash);
    json_int(json, "train", set->count[IMAGE_TRAIN]);
    json_int(json, "valid", set->count[IMAGE_VALID]);
    json_int(json, "test", set->count[IMAGE_TEST]);
    json_int(json, "height", set->height);
    json_int(json, "width", set->width);
    json_int(json, "channels", set->channels);
    json_int(json, "classes", set->classes);
    class_names_to_json(json, (const char *const *)set->class_name, set->classes);
}

const char *dense_row_name(const workload *work, int64_t row)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    int split;
    int64_t index;
    image_set_evaluated_at(set, row, &split, &index);
    return image_set_file(set, split, index);
}

typedef struct net_sums {
    int64_t parameters;
    double flops;
} net_sums;

static net_sums sums_of(const network *net)
{
    net_sums sums = {0, 0.0};
    for (int i = 0; i < net->layers; ++i) {
        const net_cost cost = net_cost_of(net, i);
        sums.parameters += cost.parameters;
        sums.flops += cost.flops;
    }
    return sums;
}

void dense_describe_plan(const workload *work, FILE *out)
{
    const dense_job *job = work->self;
    const net_sums sums = sums_of(&job->net);
    fprintf(out, "%s: %d layers, %lld parameters, %.3f GFLOP an image forward, three times that to train\n",
            job->net.name, job->net.layers, (long long)sums.parameters, sums.flops / 1e9);
    fprintf(out, "batches of %lld images, of which this rank has %lld\n",
            (long long)option_int(work->context->options, OPT_BATCH_SIZE),
            (long long)(job->sizes > 0 ? job->images[0] : 0));
    fprintf(out, "gradients: %.3f MB a rank and step\n", 4e-6 * (double)sums.parameters);
}

/* ---- where samples came from ---- */

static dense_input input_of(const dense_job *job)
{
    const image_use use = image_set_use(job->set);
    dense_input input = {.source_bytes = (double)(use.source_bytes - job->used.source_bytes),
                         .wait_s = job->source != NULL ? image_source_wait_seconds(job->source) : 0.0};
    for (int level = 0; level < IMAGE_LEVELS; ++level) {
        input.samples[level] = (double)(use.samples[level] - job->used.samples[level]);
    }
    return input;
}

static void begin_input(json_writer *json, const dense_input *input)
{
    json_object(json, "input");
    json_int(json, "from_memory", (int64_t)input->samples[IMAGE_FROM_MEMORY]);
    json_int(json, "from_disk", (int64_t)input->samples[IMAGE_FROM_DISK]);
    json_int(json, "from_nodes", (int64_t)input->samples[IMAGE_FROM_NODES]);
    json_int(json, "decoded", (int64_t)input->samples[IMAGE_FROM_SOURCE]);
    json_int(json, "source_bytes", (int64_t)input->source_bytes);
}

void dense_describe_epoch(const workload *work, json_writer *json)
{
    dense_job *job = work->self;
    const dense_input now = input_of(job);
    dense_input since = {.source_bytes = now.source_bytes - job->told.source_bytes};
    for (int level = 0; level < IMAGE_LEVELS; ++level) {
        since.samples[level] = now.samples[level] - job->told.samples[level];
    }
    begin_input(json, &since);
    json_real(json, "wait_s", now.wait_s - job->told.wait_s);
    json_end(json);
    job->told = now;
}

weft_status dense_gather_figures(const workload *work)
{
    dense_job *job = work->self;
    weft_comm *comm = work->context->comm;
    job->all = input_of(job);
    job->wait_s_max = job->all.wait_s;
    WEFT_TRY(comm_allreduce(comm, &job->wait_s_max, 1, WEFT_DTYPE_F64, COMM_MAX));
    return comm_allreduce(comm, &job->all, (int64_t)(sizeof job->all / sizeof(double)), WEFT_DTYPE_F64, COMM_SUM);
}

void dense_summarise(const workload *work, json_writer *json)
{
    const dense_job *job = work->self;
    const net_sums sums = sums_of(&job->net);
    json_int(json, "network_layers", job->net.layers);
    json_int(json, "batch_size", option_int(work->context->options, OPT_BATCH_SIZE));
    json_real(json, "forward_flops_per_image", sums.flops);
    json_int(json, "malformed_images", job->set->malformed);
    begin_input(json, &job->all);
    json_real(json, "wait_s_avg", job->all.wait_s / comm_size(work->context->comm));
    json_real(json, "wait_s_max", job->wait_s_max);
    json_end(json);
}

void dense_print_figures(const workload *work, FILE *out)
{
    const dense_job *job = work->self;
    const dense_input *all = &job->all;
    fprintf(out, "images: %.0f from memory, %.0f from disk, %.0f from other nodes, %.0f decoded; %s read of the data; ",
            all->samples[IMAGE_FROM_MEMORY], all->samples[IMAGE_FROM_DISK], all->samples[IMAGE_FROM_NODES],
            all->samples[IMAGE_FROM_SOURCE], number_say_bytes((uint64_t)all->source_bytes).text);
    fprintf(out, "waited for batches for %.3f s (avg), %.3f s (max)\n", all->wait_s / comm_size(work->context->comm),
            job->wait_s_max);
}
