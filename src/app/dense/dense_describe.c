/* app/dense/dense_describe.c: what run.json, --dry-run and summary.json tell of a network on images
 * (app/dense/dense_workload.h). */
#include "app/dense/dense_job.h"

/* The words for what the samples of a job are. */
static const char *say(const dense_job *job, const char *of_images, const char *of_texts)
{
    return job->set->words > 0 ? of_texts : of_images;
}

void dense_data_facts(const workload *work, fact_list *list)
{
    const dense_job *job = work->self;
    const image_set *set = job->set;
    facts_int(list, "train", say(job, "training images", "training texts"), "", "", set->count[IMAGE_TRAIN]);
    facts_int(list, "valid", say(job, "validation images", "validation texts"), "", "", set->count[IMAGE_VALID]);
    facts_int(list, "test", say(job, "test images", "test texts"), "", "", set->count[IMAGE_TEST]);
    if (set->words > 0) {
        facts_int(list, "text_length", "words of a text", "", "", set->height);
        facts_int(list, "vocabulary", "words that have numbers", "", "", set->words);
    } else {
        facts_int(list, "height", "height", "", "", set->height);
        facts_int(list, "width", "width", "", "", set->width);
        facts_int(list, "channels", "channels", "", "", set->channels);
    }
    facts_int(list, FACT_CLASSES, "classes", "", "", set->classes);
}

const char *dense_row_name(const workload *work, int64_t row)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    int split;
    int64_t index;
    image_set_evaluated_at(set, row, &split, &index);
    return image_set_file(set, split, index);
}

item_origin dense_row_origin(const workload *work, int64_t row)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    int split;
    int64_t index;
    image_set_evaluated_at(set, row, &split, &index);
    return image_set_origin(set, split, index);
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

static void tell_network(const dense_job *job, fact_list *list)
{
    const net_sums sums = sums_of(&job->net);
    facts_int(list, "network_layers", "layers", "", "", job->net.layers);
    facts_int(list, "network_parameters", "parameters", "", "", sums.parameters);
    facts_real(list, "forward_gflop_per_image", say(job, "forward pass of an image", "forward pass of a text"), "GFLOP",
               "training takes three times that", sums.flops / 1e9);
}

void dense_plan_facts(const workload *work, fact_list *list)
{
    const dense_job *job = work->self;
    char title[FACT_TITLE_BYTES];
    snprintf(title, sizeof title, "network %.80s", job->net.name);
    facts_group(list, "network", title);
    tell_network(job, list);
    facts_group(list, "batches", "batches");
    facts_int(list, "batch_size", say(job, "images", "texts"), "", "",
              option_int(work->context->options, OPT_BATCH_SIZE));
    facts_int(list, "rank_images", "of this rank", "", "", job->sizes > 0 ? job->images[0] : 0);
    facts_group(list, "gradients", "gradients");
    facts_int(list, "gradient_bytes", "sent by a rank in a step", "bytes", "", 4 * sums_of(&job->net).parameters);
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

static void tell_input(const dense_job *job, const dense_input *input, fact_list *list)
{
    facts_int(list, "from_memory", "from memory", "", say(job, "images kept in memory", "texts kept in memory"),
              (int64_t)input->samples[IMAGE_FROM_MEMORY]);
    if (job->set->words > 0) {
        return; /* all texts are */
    }
    facts_int(list, "from_disk", "from disk", "", "images kept in a cache on disk",
              (int64_t)input->samples[IMAGE_FROM_DISK]);
    facts_int(list, "from_nodes", "from other nodes", "", "images that other nodes keep",
              (int64_t)input->samples[IMAGE_FROM_NODES]);
    facts_int(list, "decoded", "decoded", "", "images read of the data", (int64_t)input->samples[IMAGE_FROM_SOURCE]);
    facts_int(list, "source_bytes", "read of the data", "bytes", "", (int64_t)input->source_bytes);
}

void dense_epoch_facts(const workload *work, fact_list *list)
{
    dense_job *job = work->self;
    const dense_input now = input_of(job);
    dense_input since = {.source_bytes = now.source_bytes - job->told.source_bytes};
    for (int level = 0; level < IMAGE_LEVELS; ++level) {
        since.samples[level] = now.samples[level] - job->told.samples[level];
    }
    facts_group(list, "input", say(job, "Images read", "Texts read"));
    tell_input(job, &since, list);
    facts_real(list, "wait_s", "waited for batches", "s", "", now.wait_s - job->told.wait_s);
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

void dense_closing_facts(const workload *work, fact_list *list)
{
    const dense_job *job = work->self;
    facts_group(list, "input", say(job, "Images read", "Texts read"));
    tell_input(job, &job->all, list);
    facts_real(list, "wait_s_avg", "waited for batches", "s", "mean over the ranks",
               job->all.wait_s / comm_size(work->context->comm));
    facts_real(list, "wait_s_max", "waited at most", "s", "the rank that waited longest", job->wait_s_max);
}

void dense_result_facts(const workload *work, fact_list *list)
{
    const dense_job *job = work->self;
    char title[FACT_TITLE_BYTES];
    snprintf(title, sizeof title, "Network: %.80s", job->net.name);
    facts_group(list, "network", title);
    tell_network(job, list);
    facts_int(list, "batch_size", say(job, "images of a batch", "texts of a batch"), "", "",
              option_int(work->context->options, OPT_BATCH_SIZE));
    if (job->set->words == 0) {
        facts_int(list, "malformed_images", "images left out", "", "files that hold no image", job->set->malformed);
    }
    dense_closing_facts(work, list);
}
