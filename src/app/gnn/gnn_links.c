/* app/gnn/gnn_links.c: see app/gnn/gnn_links.h. */
#include "app/gnn/gnn_links.h"

#include <string.h>
#include <unistd.h>

#include "app/gnn/divide/partition_together.h"
#include "app/setup/comm_setup.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/links/link_store.h"

/* A word of --link-split that is no shares. */
#define SPLIT_FILES "files"

bool gnn_links_asked(const weft_options *o)
{
    return option_choice(o, OPT_TASK) == LINK_TASK_LINK;
}

int64_t gnn_links_width(const weft_options *o)
{
    const int64_t asked = option_int(o, OPT_EMBEDDING);
    return asked > 0 ? asked : option_int(o, OPT_HIDDEN);
}

/* ---- the data ---- */

static weft_status check_files(const weft_options *o)
{
    const char *files = option_text(o, OPT_LINKS), *split = option_text(o, OPT_LINK_SPLIT);
    const bool of_files = strcmp(split, SPLIT_FILES) == 0;
    WEFT_CHECK(files[0] == '\0' || of_files || !option_is_set(o, OPT_LINK_SPLIT), WEFT_ERR_USAGE,
               FLAG_LINKS " %s: links are dealt by " FLAG_LINK_SPLIT " %s, or stand in files: take one of both", files,
               split);
    WEFT_CHECK(files[0] != '\0' || !of_files, WEFT_ERR_USAGE,
               FLAG_LINK_SPLIT " " SPLIT_FILES
                               ": links of validation and test stand in files, as the model was trained: "
                               "name their folder with " FLAG_LINKS);
    return WEFT_OK;
}

static weft_status read_shares(const weft_options *o, link_shares *shares)
{
    double total = 0.0;
    shares->seed = (uint64_t)option_int(o, OPT_LINK_SEED);
    WEFT_TRY(reader_shares_read(FLAG_LINK_SPLIT, option_text(o, OPT_LINK_SPLIT), shares->share, &total));
    WEFT_CHECK(shares->share[LINK_TRAIN] > 0.0, WEFT_ERR_USAGE, FLAG_LINK_SPLIT " %s: train needs a share",
               option_text(o, OPT_LINK_SPLIT));
    return WEFT_OK;
}

/* Rank 0 writes the store, and it takes the place of the one that is open. Collective. */
static weft_status derive(workload *work, const char *folder, const link_shares *shares)
{
    const app_context *context = work->context;
    graph_data *data = &((gnn_job *)work->self)->data;
    const bool first = comm_rank(context->comm) == 0;
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/" WORKLOAD_GENERATED "%ld0", folder, (long)getpid()));
    WEFT_TRY(comm_bcast(context->comm, 0, path, sizeof path));
    partition_extend_patience(context, &data->graph);
    weft_status status = first ? folder_make(folder) : WEFT_OK;
    status = first && status == WEFT_OK ? link_store_write(&data->graph, shares, path) : status;
    status = comm_agree(context->comm, status);
    comm_setup_extend_patience(context, 0.0);
    WEFT_TRY(status);
    WEFT_TRY(graph_data_release(context, data));
    memcpy(data->store, path, sizeof path);
    data->derived = true;
    data->temporary = first;
    return comm_agree(context->comm, graph_open(path, 0, false, &data->graph));
}

/* Labels of vertices and their splits are no business of links. */
static void drop_labels(weft_graph *graph)
{
    graph->label = NULL;
    graph->target = NULL;
    graph->split = NULL;
    graph->classes = graph->tasks = graph->splits = 0;
    name_list_free(&graph->class_names);
}

/* Judged pairs of all ranks. */
typedef struct judged_counts {
    int64_t links[LINK_PARTS], negatives[LINK_PARTS];
    int64_t own; /* ranks whose links have negatives of their own */
} judged_counts;

static weft_status count_judged(weft_comm *comm, const link_list *l, judged_counts *count)
{
    *count = (judged_counts){.own = l->group != NULL};
    for (int64_t i = 0; i < l->count; ++i) {
        int64_t *of = l->target[i] == 0.0F ? count->negatives : count->links;
        of[l->split[i]] += 1;
    }
    WEFT_TRY(comm_allreduce(comm, count->links, LINK_PARTS, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_TRY(comm_allreduce(comm, count->negatives, LINK_PARTS, WEFT_DTYPE_I64, COMM_SUM));
    return comm_allreduce(comm, &count->own, 1, WEFT_DTYPE_I64, COMM_SUM);
}

/* Among fewer than K negatives every link is a hit. */
static weft_status check_hits(const weft_options *o, const judged_counts *count)
{
    static const char *const part[LINK_PARTS] = {
        [LINK_TRAIN] = "training", [LINK_VALID] = "validation", [LINK_TEST] = "test"};
    const int64_t at = option_int(o, OPT_HITS_AT);
    const bool files = option_text(o, OPT_LINKS)[0] != '\0';
    for (int p = LINK_TEST; p >= LINK_TRAIN && option_choice(o, OPT_METRIC) == METRIC_HITS; --p) {
        const int64_t links = count->links[p];
        const int64_t negatives = count->own > 0 && links > 0 ? count->negatives[p] / links : count->negatives[p];
        if (links == 0 || negatives == 0 || negatives >= at) {
            continue;
        }
        if (p == LINK_TRAIN) {
            log_warn(FLAG_HITS_AT " %lld: the links of training that are scored have %lld negatives, so all of them "
                                  "are hits: the score of training says nothing",
                     (long long)at, (long long)negatives);
            continue;
        }
        return weft_fail(
            WEFT_ERR_USAGE,
            FLAG_HITS_AT " %lld: links of %s stand among %lld negatives%s, so each of them would be a hit: "
                         "take a " FLAG_HITS_AT " of at most %lld, or %s",
            (long long)at, part[p], (long long)negatives, count->own > 0 ? " of their own" : "", (long long)negatives,
            files ? "more negatives in the files of " FLAG_LINKS " (" FLAG_EVAL_NEGATIVES " K, where they have none)"
                  : FLAG_EVAL_NEGATIVES " of as many and more");
    }
    return WEFT_OK;
}

static weft_status tell(const workload *work)
{
    const gnn_job *job = work->self;
    const link_set *set = &job->links;
    judged_counts judged;
    int64_t count[2] = {0, 0};
    WEFT_TRY(count_judged(work->context->comm, &set->judged, &judged));
    for (int p = 0; p < LINK_PARTS; ++p) {
        count[0] += judged.links[p];
        count[1] += judged.negatives[p];
    }
    log_info("links: %lld to train on, %lld edges for messages; judged by %lld links and %lld negatives%s",
             (long long)set->total, (long long)job->data.graph.edges, (long long)count[0], (long long)count[1],
             judged.own > 0 ? " of their own" : "");
    if (set->found > 0) {
        log_warn("%lld of the links of validation and test are edges of %s, which training sees: their scores say "
                 "nothing of new links; leave such edges out of the graph, unless links come again",
                 (long long)set->found, work->name[0] != '\0' ? work->name : job->data.graph.name);
    }
    return check_hits(work->context->options, &judged);
}

weft_status gnn_links_check_pairs(const workload *work)
{
    const weft_options *o = work->context->options;
    const char *pairs = option_text(o, OPT_PAIRS);
    const bool links = gnn_links_asked(o);
    WEFT_CHECK(pairs[0] == '\0' || !links || work->answers, WEFT_ERR_USAGE,
               FLAG_PAIRS " %s: weft predict answers for these pairs, which have no scores: leave it out", pairs);
    WEFT_CHECK(pairs[0] == '\0' || links || !work->trained, WEFT_ERR_USAGE,
               FLAG_PAIRS " %s: is for models of links, and this one answers for vertices: leave it out", pairs);
    return WEFT_OK; /* in training of vertices the rule of the option tells it */
}

weft_status gnn_links_open(workload *work, const char *folder)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const char *files = option_text(o, OPT_LINKS), *pairs = option_text(o, OPT_PAIRS);
    const bool drawn = strcmp(option_text(o, OPT_LINK_SPLIT), SPLIT_FILES) != 0 && files[0] == '\0';
    const int64_t own = option_int(o, OPT_EVAL_NEGATIVES);
    link_shares shares = {.users = option_int(o, OPT_USERS)};
    job->predicts_links = true;
    work->rows = "pairs";
    WEFT_TRY(pairs[0] != '\0' ? WEFT_OK : check_files(o));
    WEFT_TRY(drawn ? read_shares(o, &shares) : WEFT_OK);
    weft_comm *comm = context->comm;
    WEFT_TRY(pairs[0] != '\0' ? link_set_ask(comm, &job->data.graph, pairs, &job->links)
             : drawn          ? link_set_draw(comm, &job->data.graph, &shares, own, &job->links)
                              : link_set_read(comm, &job->data.graph, files, shares.users, own, &job->links));
    WEFT_TRY(drawn ? derive(work, folder, &shares) : WEFT_OK);
    drop_labels(&job->data.graph);
    work->split_cure = drawn ? FLAG_LINK_SPLIT " gives validation a share"
                             : "valid.npz in the folder of " FLAG_LINKS " holds such links";
    work->test_cure =
        drawn ? FLAG_LINK_SPLIT " gives test a share" : "test.npz in the folder of " FLAG_LINKS " holds such links";
    return pairs[0] != '\0' ? WEFT_OK : tell(work);
}

/* ---- options ---- */

static weft_status settle(weft_options *o, option_id id, const char *text)
{
    return option_is_auto(o, id) ? option_decide(o, id, text) : WEFT_OK;
}

weft_status gnn_links_decide(weft_options *o, bool training)
{
    const bool bce = option_is_auto(o, OPT_LOSS) || option_choice(o, OPT_LOSS) == LOSS_BCE;
    WEFT_CHECK(bce, WEFT_ERR_USAGE, FLAG_LOSS " %s: links are learned by " FLAG_LINK_LOSS " bce or bpr: leave it out",
               option_text(o, OPT_LOSS));
    WEFT_TRY(settle(o, OPT_LOSS, "bce"));
    WEFT_TRY(option_text(o, OPT_LINKS)[0] != '\0' ? option_decide(o, OPT_LINK_SPLIT, SPLIT_FILES) : WEFT_OK);
    WEFT_TRY(option_decide(o, OPT_LAST_LAYER, "whole"));
    if (!training) {
        return WEFT_OK;
    }
    WEFT_TRY(settle(o, OPT_RECIPE, "default"));
    const bool gives_way =
        option_choice(o, OPT_PRECONDITION) == SECOND_AUTO || option_source_of(o, OPT_PRECONDITION) == OPTION_RECIPE;
    WEFT_TRY(gives_way ? option_decide(o, OPT_PRECONDITION, "none") : WEFT_OK);
    WEFT_CHECK(option_choice(o, OPT_PRECONDITION) == SECOND_NONE, WEFT_ERR_UNSUPPORTED,
               FLAG_PRECONDITION " %s: second order knows the losses of vertices, not those of links: leave it out",
               option_value_text(o, OPT_PRECONDITION));
    return WEFT_OK;
}

/* ---- the model ---- */

void gnn_links_configure(workload *work)
{
    gnn_job *job = work->self;
    const weft_options *o = work->context->options;
    const link_decoder_config config = {.kind = option_choice(o, OPT_DECODER),
                                        .layers = (int)option_int(o, OPT_DECODER_LAYERS),
                                        .width = job->config.outputs,
                                        .hidden = option_int(o, OPT_HIDDEN),
                                        .dropout = (float)option_real(o, OPT_DROPOUT)};
    link_decoder_begin(&config, &job->decoder);
    job->config.head = &job->decoder.head;
}

static link_training_config training_of(const workload *work)
{
    const weft_options *o = work->context->options;
    return (link_training_config){.negatives = option_int(o, OPT_NEGATIVES),
                                  .batch = option_int(o, OPT_LINK_BATCH),
                                  .pairwise = option_choice(o, OPT_LINK_LOSS) == LINK_LOSS_BPR,
                                  .trains = !work->trained};
}

void gnn_links_add_memory(const workload *work, memory_plan *memory)
{
    const gnn_job *job = work->self;
    const link_training_config of = training_of(work);
    const int64_t training = of.trains ? link_training_most(&job->links, of.batch) * (1 + of.negatives) : 0;
    const int64_t judged = job->links.judged.count, most = larger(training, judged);
    const uint64_t rows = 8 * (uint64_t)job->links.vertices * (uint64_t)job->config.outputs;
    const uint64_t lists =
        16 * (uint64_t)job->links.vertices + 32 * (uint64_t)training + 24 * (uint64_t)judged + 8 * (uint64_t)most;
    const bool ranks = job->links.users > 0 && job->decoder.config.kind == LINK_DOT;
    const uint64_t ranking =
        ranks ? link_ranking_bytes(job->links.vertices - job->links.users, job->config.outputs) : 0;
    const uint64_t bytes = rows + lists + link_decoder_bytes(&job->decoder.config, most) + ranking;
    memory_plan_add(memory, "links", bytes);
    memory->peak += bytes;
    memory->beside += bytes;
    memory->device += link_decoder_bytes(&job->decoder.config, most);
    memory->cure = "use more nodes, a smaller --hidden or " FLAG_EMBEDDING ", fewer " FLAG_NEGATIVES
                   ", or batches of links (" FLAG_LINK_BATCH ")";
}

weft_status gnn_links_build(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const link_list *judged = &job->links.judged;
    const link_model_config config = {
        .training = training_of(work), .hits_at = (int)option_int(o, OPT_HITS_AT), .labelled = work->labelled};
    WEFT_TRY(link_model_create(context->comm, context->hal, &job->model.interface, job->data.part.gid,
                               job->data.part.n_owned, &job->links, &job->decoder, &config, &job->link_model));
    work->model = &job->link_model.interface;
    work->source = job->link_model.source;
    work->targets = &job->link_model.judged.labels.targets;
    work->held = (held_rows){.total = judged->total, .count = judged->count, .id = judged->id};
    return WEFT_OK;
}

void gnn_links_unbuild(gnn_job *job)
{
    link_model_destroy(&job->link_model);
    link_decoder_destroy(&job->decoder);
}

/* ---- recommendation ---- */

weft_status gnn_links_rank(const workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    train_pass pass = {.training = false, .parts = 1};
    train_batch batch;
    weft_tensor logits;
    if (!job->predicts_links || job->links.users == 0 || job->decoder.config.kind != LINK_DOT) {
        return WEFT_OK;
    }
    WEFT_TRY(work->source.batch(work->source.self, &pass, &batch));
    pass.batch = &batch;
    WEFT_TRY(work->model->forward(work->model->self, &pass, &logits));
    return link_ranking_make(context->comm, context->hal, &job->links, &job->link_model.ends,
                             (int)option_int(context->options, OPT_HITS_AT), &job->ranking);
}

void gnn_links_facts(const workload *work, fact_list *list)
{
    const link_ranking *r = &((const gnn_job *)work->self)->ranking;
    char title[FACT_TITLE_BYTES];
    if (r->users == 0) {
        return;
    }
    snprintf(title, sizeof title, "recommendation, first %d items", r->at);
    facts_group(list, "recommendation", title);
    facts_int(list, "at", "items", "", "recommended to a user", r->at);
    facts_int(list, "users", "users", "", "with links of test", r->users);
    facts_real(list, "recall", "recall", "", "mean over users", r->recall);
    facts_real(list, "ndcg", "NDCG", "", "mean over users", r->ndcg);
}
