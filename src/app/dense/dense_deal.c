/* app/dense/dense_deal.c: shards of the ranks (--shard-by): they are dealt, compared and printed. */
#include <inttypes.h>
#include <stdio.h>

#include "app/dense/dense_job.h"
#include "base/log.h"
#include "base/text/append.h"
#include "comm/comm_options.def"
#include "dense/dense_options.def"
#include "train/train_options.def"

enum { SHARDS_SHOWN = 16, TEXT_BYTES = 1024 };

static int32_t label_of(const void *self, int64_t sample)
{
    return image_set_label(self, IMAGE_TRAIN, sample);
}

/* Shares are drawn with the C library's logarithms, which may differ in a last bit between processors. */
static weft_status compare(weft_comm *comm, const batch_deal *deal)
{
    int64_t sum = 0;
    for (int r = 0; r < deal->ranks; ++r) {
        for (int64_t i = deal->first[r]; i < deal->first[r + 1]; ++i) {
            sum = (sum * 31 + deal->sample[i] * deal->ranks + r) & INT32_MAX;
        }
    }
    int64_t most[2] = {sum, -sum};
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_CHECK(most[0] == -most[1], WEFT_ERR_INTERNAL,
               FLAG_SHARD_BY ": ranks on different processors dealt different shards; take another --seed");
    return WEFT_OK;
}

static void tell(const batch_deal *deal, const char *rule)
{
    char text[TEXT_BYTES] = "";
    for (int r = 0; r < deal->ranks && r < SHARDS_SHOWN; ++r) {
        text_append_item(text, sizeof text, "%" PRId64 " (%.3f)", batch_deal_size(deal, r), deal->distance[r]);
    }
    log_info(FLAG_SHARD_BY " %s: images of each rank (label distance): %s%s; mean distance %.3f", rule, text,
             deal->ranks > SHARDS_SHOWN ? ", ..." : "", batch_deal_distance(deal));
}

/* Modes that are exact lose nothing; the others, and norms by the images of a rank, see the shards. */
static void warn(const weft_options *o, const network *net, int ranks)
{
    const sync_mode mode = option_choice(o, OPT_SYNC);
    const bool own = net_has_norm(net) && option_choice(o, OPT_NORM_OVER) == DENSE_NORM_OWN && ranks > 1;
    const bool local = mode == SYNC_DIVIDE_SHUFFLE || mode == SYNC_SHADOW || mode == SYNC_ASP;
    if (mode == SYNC_ALLREDUCE && !own) {
        log_info(FLAG_SYNC " allreduce is exact: it adds up the gradients of all shards in every step, so shards cost "
                           "it no accuracy");
    }
    if (own) {
        log_warn("batch norm over each rank's own images (--norm-over own) with shards that differ costs accuracy%s: "
                 "take %s",
                 local ? " that averages do not bring back" : "",
                 local ? "layers groupnorm G in the place of norm" : "--norm-over all, or layers groupnorm G");
    }
}

weft_status dense_deal(workload *work)
{
    dense_job *job = work->self;
    const app_context *context = work->context;
    const char *text = option_text(context->options, OPT_SHARD_BY);
    const int ranks = comm_size(context->comm);
    const image_set *set = job->set;
    deal_rule rule;
    WEFT_TRY(deal_rule_parse(text, &rule));
    if (rule.kind == DEAL_RANDOM) {
        return WEFT_OK;
    }
    if (ranks == 1) {
        log_warn(FLAG_SHARD_BY " %s has no effect: one rank owns all images", text);
        return WEFT_OK;
    }
    const deal_samples samples = {
        .count = set->count[IMAGE_TRAIN], .classes = set->classes, .label = label_of, .self = set};
    const uint64_t seed = (uint64_t)option_int(context->options, OPT_SEED);
    WEFT_TRY(comm_agree(context->comm, batch_deal_make(&rule, &samples, ranks, seed, &job->deal)));
    WEFT_TRY(compare(context->comm, &job->deal));
    tell(&job->deal, text);
    warn(context->options, &job->net, ranks);
    return WEFT_OK;
}
