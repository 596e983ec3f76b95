/* app/dense/dense_describe.c: what run.json, --dry-run and summary.json tell of a network on images
 * (app/dense/dense_workload.h). */
#include "app/dense/dense_job.h"

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

void dense_summarise(const workload *work, json_writer *json)
{
    const dense_job *job = work->self;
    const net_sums sums = sums_of(&job->net);
    json_int(json, "batch_size", option_int(work->context->options, OPT_BATCH_SIZE));
    json_real(json, "forward_flops_per_image", sums.flops);
    json_real(json, "data_wait_s", job->source != NULL ? image_source_wait_seconds(job->source) : 0.0);
    json_int(json, "malformed_images", job->set->malformed);
}
