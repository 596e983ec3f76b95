/* app/setup/sync_setup.c: see app/setup/sync_setup.h. */
#include "app/setup/sync_setup.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "train/buckets.h"
#include "train/optimizer.h"

static const char *text_or_null(const weft_options *o, option_id id)
{
    const char *text = option_text(o, id);
    return text[0] != '\0' ? text : NULL;
}

static void set_topk(const weft_options *o, sync_topk_options *topk)
{
    const bool guarded = option_real(o, OPT_SKEW_GUARD) > 0.0;
    /* The guard turns the density from the first step on: that of the option would only decide whether there is
     * anything to turn, as a density of 1 gives way to all-reduce. */
    topk->density = guarded ? topk->density : option_real(o, OPT_TOPK_DENSITY);
    topk->select.method = option_choice(o, OPT_TOPK_SELECT);
    topk->select.seed = (uint64_t)option_int(o, OPT_SEED);
    topk->exchange = option_choice(o, OPT_TOPK_EXCHANGE);
    topk->warmup = option_int(o, OPT_TOPK_WARMUP);
    topk->dense_below = option_int(o, OPT_TOPK_DENSE_BELOW);
    topk->masking = option_flag(o, OPT_TOPK_MASKING);
    topk->values = guarded                                        ? SPARSE_4_BITS
                   : option_choice(o, OPT_WIRE) != COMM_WIRE_SAME ? SPARSE_BFLOAT16
                                                                  : SPARSE_FLOAT32;
    topk->momentum = optimizer_lent_momentum(option_choice(o, OPT_OPTIMIZER), option_real(o, OPT_MOMENTUM));
}

static void set_divide_shuffle(const weft_options *o, sync_divide_shuffle_options *shuffle)
{
    shuffle->group = (int)option_int(o, OPT_GROUP_SIZE);
    shuffle->full_every = option_int(o, OPT_FULL_EVERY);
    shuffle->seed = (uint64_t)option_int(o, OPT_SEED);
    shuffle->topology = text_or_null(o, OPT_TOPOLOGY);
}

static void set_shadow(const weft_options *o, sync_shadow_options *shadow)
{
    shadow->algorithm = option_choice(o, OPT_SHADOW_ALGORITHM);
    shadow->mix = option_real(o, OPT_SHADOW_MIX);
    shadow->block_rate = option_real(o, OPT_SHADOW_RATE);
    shadow->block_momentum = option_real(o, OPT_SHADOW_MOMENTUM);
    shadow->gap = option_int(o, OPT_SHADOW_GAP);
    shadow->share = option_real(o, OPT_SHADOW_SHARE);
}

static void set_asp(const weft_options *o, sync_asp_options *asp)
{
    asp->sites = text_or_null(o, OPT_SITES);
    asp->threshold = option_real(o, OPT_ASP_THRESHOLD);
    asp->policy = option_choice(o, OPT_ASP_POLICY);
    asp->bandwidth = (double)option_size(o, OPT_ASP_BANDWIDTH);
    asp->slack = option_int(o, OPT_ASP_SLACK);
    asp->flush_every = option_int(o, OPT_ASP_FLUSH);
}

static bool deals_shards(const weft_options *o)
{
    const char *rule = option_text(o, OPT_SHARD_BY);
    return strcmp(rule, "random") != 0 && strncmp(rule, "quantity", strlen("quantity")) != 0;
}

sync_options sync_options_of(const weft_options *o, sync_shards shards)
{
    sync_options sync = sync_options_default();
    sync.mode = option_choice(o, OPT_SYNC);
    sync.allow_lossy = option_flag(o, OPT_ALLOW_LOSSY);
    sync.algorithm = option_flag(o, OPT_REPRODUCIBLE) ? COMM_ALGO_FIXED_ORDER : option_choice(o, OPT_ALLREDUCE);
    sync.wire = option_choice(o, OPT_WIRE);
    sync.overlap = option_choice(o, OPT_OVERLAP);
    sync.bucket_bytes = (int64_t)option_size(o, OPT_BUCKET);
    sync.tracking = option_choice(o, OPT_GRADIENT_TRACKING);
    sync.second_moments = optimizer_rule_of(option_choice(o, OPT_OPTIMIZER))->second_moments > 0;
    sync.shards = shards == SYNC_SHARDS_SAMPLED && deals_shards(o) ? SYNC_SHARDS_DEALT : shards;
    set_topk(o, &sync.topk);
    set_divide_shuffle(o, &sync.divide_shuffle);
    set_shadow(o, &sync.shadow);
    set_asp(o, &sync.asp);
    return sync;
}

weft_status sync_setup_check(const weft_options *o)
{
    sync_options sync = sync_options_of(o, SYNC_SHARDS_REGIONS); /* no check depends on the shards */
    return sync_check_options(&sync);
}

void sync_setup_describe(const sync_options *options, sync_mode mode, int ranks, char *text, size_t bytes)
{
    static const char *const overlaps[] = {"summed behind the backward pass",
                                           "summed behind the backward pass, gathered behind the next forward pass",
                                           "summed after the backward pass"};
    static const char *const beside[] = {[SYNC_TRACKING_ON] = ", tracks the global gradient",
                                         [SYNC_TRACKING_OFF] = "",
                                         [SYNC_TRACKING_MOMENTS] = ", and Adam's second moments"};
    const char *tracked = beside[sync_tracking_of(options, mode)];
    switch (mode) {
    case SYNC_ALLREDUCE:
        snprintf(text, bytes, "all gradients, %s; %s", overlaps[options->overlap],
                 options->wire == COMM_WIRE_SAME ? "exact" : "rounded to 16 bits between nodes, not exact");
        return;
    case SYNC_TOPK:
        if (options->topk.density >= 1.0) {
            snprintf(text, bytes, "sends the whole gradient, as all-reduce does: " FLAG_TOPK_DENSITY " is 1");
            return;
        }
        snprintf(text, bytes, "sends %g %% of the gradient as %s, keeps the rest for later steps%s; not exact",
                 100.0 * options->topk.density,
                 sparse_values_name(options->topk.exchange != SPARSE_OK_TOPK ? options->topk.values : SPARSE_FLOAT32),
                 options->topk.exchange == SPARSE_AUTO ? ", or sends all where that is predicted to be faster" : "");
        return;
    case SYNC_DIVIDE_SHUFFLE:
        snprintf(text, bytes, "averages parameters in changing groups of %d ranks%s; not exact",
                 options->divide_shuffle.group < ranks ? options->divide_shuffle.group : ranks, tracked);
        return;
    case SYNC_SHADOW:
        snprintf(text, bytes, "averages parameters in the background, training never waits%s; not exact", tracked);
        return;
    case SYNC_ASP:
        snprintf(text, bytes, "sends updates between sites once they pass %g %% of their parameter%s; not exact",
                 100.0 * options->asp.threshold, tracked);
        return;
    case SYNC_AUTO:
        snprintf(text, bytes, "the fastest mode by prediction, %s",
                 options->allow_lossy ? "exact or not" : "exact ones only");
        return;
    }
}

void sync_setup_describe_tracking(const sync_options *options, sync_mode mode, char *text, size_t bytes)
{
    const char *where = mode == SYNC_AUTO ? " in the modes that average parameters" : "";
    const sync_tracking tracking = sync_tracking_of(options, mode);
    text[0] = '\0';
    if (tracking != SYNC_TRACKING_OFF) {
        snprintf(text, bytes, "gradient tracking %s%s%s; twice the bytes, --gradient-tracking off goes without",
                 tracking == SYNC_TRACKING_ON ? "on" : "by second moments", where,
                 options->tracking == SYNC_TRACKING_AUTO ? ": shares of the ranks differ in their labels" : "");
    } else if (options->shards != SYNC_SHARDS_SAMPLED && sync_mode_tracks(mode)) {
        snprintf(text, bytes,
                 "gradient tracking off: where shares of the ranks differ in their labels, replicas that follow their "
                 "own gradients end below the accuracy of all-reduce");
    }
}

uint64_t sync_setup_bytes(const sync_options *options, uint64_t parameter_bytes, int ranks)
{
    static const uint64_t copies[] = {
        [SYNC_ALLREDUCE] = 1,      /* what arrives while it is summed */
        [SYNC_TOPK] = 4,           /* velocity, residual, selection, what arrives */
        [SYNC_DIVIDE_SHUFFLE] = 3, /* the mean, the group's mean, what arrives */
        [SYNC_SHADOW] = 5,         /* the mean, snapshot, average, block state, what arrives */
        [SYNC_ASP] = 6,
        [SYNC_AUTO] = 6, /* the most that a mode keeps */
    };
    if (ranks == 1) {
        return 0;
    }
    assert((size_t)options->mode < sizeof copies / sizeof *copies && ranks > 1);
    uint64_t kept = copies[options->mode];
    /* Twice the vector for the mode; a copy of the parameters with tracked and last gradients, or second moments. */
    static const uint64_t beside[] = {[SYNC_TRACKING_ON] = 3, [SYNC_TRACKING_OFF] = 0, [SYNC_TRACKING_MOMENTS] = 2};
    sync_tracking tracking = sync_tracking_of(options, options->mode);
    return (tracking == SYNC_TRACKING_OFF ? kept : 2 * kept + beside[tracking]) * parameter_bytes;
}

sync_device_need sync_setup_device(const sync_options *options, const weft_hal *hal, uint64_t parameter_bytes,
                                   int ranks)
{
    const sync_device_need host = {.kept = sync_setup_bytes(options, parameter_bytes, ranks)};
    const bool selects = options->mode == SYNC_TOPK || (options->mode == SYNC_AUTO && options->allow_lossy);
    if (ranks == 1 || hal == NULL || hal_host_visible(hal) || !selects ||
        !sparse_fits_device(options->topk.exchange, options->topk.select.method, options->topk.values)) {
        return host;
    }
    const int64_t trained = (int64_t)(parameter_bytes / sizeof(float));
    sync_device_need need =
        sync_topk_on_device(options, hal, trained, buckets_longest(trained, options->bucket_bytes, WEFT_DTYPE_F32));
    if (options->mode == SYNC_AUTO && need.kept < host.kept) {
        need.kept = host.kept;
    }
    return need;
}
