/*
 * comm/sync/asp.c: ranks of a site stay equal step by step; between sites an update travels when it matters.
 *
 *      backward     gradients are summed inside the site (bucket by bucket, behind backward)
 *      gradients    times P / n, n ranks in the site: the site's own estimate of the sum over all P
 *      optimiser    w' = w + u: the same on every rank of the site
 *      parameters   w = w + u n / P, acc += u n / P: the site's share of the mean of all sites' updates, at once
 *                   where |acc| > theta |w|: sent to the other sites, acc = 0
 *                   what has come from other sites: w += it
 *
 * With plain SGD u n / P is -lr times the site's gradient, so theta = 0 gives the exact update. At any time
 *
 *      w of a site + acc of all others + what is under way from them = the sum of all updates:      nothing is lost
 *
 * One rank a site (the leader: the lowest) holds acc and talks to the other sites; it hands on what comes, message by
 * message, so that all ranks of the site add the same numbers in the same order.
 *
 * Clocks. Each message carries the clock (step) of its site, one message a bucket and step, empty or not. The mirror
 * clock of a site's bucket is that of the last message added. A site that would be more than `slack` steps ahead of a
 * mirror clock waits for that site's messages, others' are added when they are there. Messages of the future are left
 * alone, so slack = 0 adds the same numbers in the same order whatever the timing is: the same bits.
 *
 * theta: fixed, following the learning rate, or steered to a bandwidth (comm/sync/significance.h; by the clock on the
 * wall, hence not repeatable). Every flush_every steps it is 0: everything goes.
 *
 * sync_average shows the mean of the sites while acc stays where it is; training goes on from the replicas. So does
 * sync_finish: what a site held back for long its own gradients have answered, and so have the others' theirs. All of
 * it at once went too far by as much as there are sites (lenet, theta 1 %, 4 sites: 97.4 percent became 89.7). Batch
 * statistics are averaged inside the site every step, over sites by sync_average. Density and staleness are reported by
 * the leaders.
 *
 * With gradient tracking the tracked gradients travel as the parameters do: of each site's change the part n / P is
 * made at once, remembered, and sent once it passes theta times the tracked gradient. theta = 0 makes all of them the
 * exact gradient.
 *
 * Bytes of a step and site: at most min(8 significant, 4 d) to each other site. Memory of a leader: acc, the parameters
 * before the step, slack + 2 payloads of all parameters, one of the largest bucket for each other site.
 *
 * K. Hsieh, A. Harlap, N. Vijaykumar, D. Konomis, G. Ganger, P. Gibbons, O. Mutlu: Gaia: geo-distributed machine
 * learning approaching LAN speeds. NSDI 2017.
 */
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "comm/comm_options.def"
#include "comm/sync/asp_link.h"
#include "comm/sync/mode.h"
#include "comm/sync/predict.h"
#include "comm/sync/racks.h"
#include "comm/sync/significance.h"
#include "comm/sync/tracking.h"

/* Each step of slack takes memory for one more payload of all parameters. */
enum { MOST_SLACK = 62 };

/* What a checkpoint keeps beside the vectors. */
typedef struct asp_counters {
    int64_t begun; /* there was a reset */
    int64_t clock;
    significance_threshold threshold;
} asp_counters;

/* Of a bucket's gradients inside the site. */
typedef struct asp_sum {
    comm_plan *plan;
} asp_sum;

typedef struct asp {
    int sites, site;
    int buckets;           /* of gradients */
    int runs;              /* that travel between sites: the buckets' parameters, then their tracked gradients */
    int64_t moved;         /* elements of these */
    weft_comm *group;      /* the ranks of this site */
    weft_comm *leaders;    /* those of all sites, by number of the site; the other ranks: themselves */
    asp_sum *sum;          /* [buckets] */
    comm_plan *statistics; /* sum of batch statistics inside the site */
    float *before;         /* [moved] values before the optimiser */
    asp_counters counters;
    double posted_s; /* when the first bucket of the step was posted */
    void *arrived;   /* other ranks than the leader: payload of the largest bucket */
    /* leader */
    float *acc;              /* [moved] */
    int64_t *mirror;         /* [sites, runs] */
    float *outgoing;         /* [slack + 2, moved] payloads */
    unsigned char *incoming; /* [sites] payloads of the largest bucket */
    asp_message *send;       /* [slack + 2, runs, sites] */
    asp_message *receive;    /* [sites] */
    double sent_s;           /* when the last step was sent */
} asp;

static bool leads(const asp *a)
{
    return comm_rank(a->group) == 0;
}

static int64_t slots(const comm_sync *sync)
{
    return sync->options.asp.slack + 2;
}

static asp_message *sending(const asp *a, int64_t slot, int run, int site)
{
    assert(slot >= 0 && run >= 0 && run < a->runs && site >= 0 && site < a->sites);
    return &a->send[(slot * a->runs + run) * a->sites + site];
}

/* Where a run lies among the values. */
static sync_bucket run_of(const comm_sync *sync, int run)
{
    const asp *a = sync->self;
    assert(run >= 0 && run < a->runs);
    sync_bucket found = sync->desc.bucket[run % a->buckets];
    found.offset += run / a->buckets * sync->desc.trained;
    return found;
}

/* ---- creation -------------------------------------------------------------------------------------------- */
static weft_status allocate(comm_sync *sync)
{
    asp *a = NULL;
    const sync_asp_options *options = &sync->options.asp;
    WEFT_TRY(WEFT_NEW_ZERO(&a, 1, WEFT_MEM_COMM));
    sync->self = a;
    a->buckets = sync->desc.buckets;
    a->moved = tracking_travelling(sync, SYNC_ASP);
    a->runs = a->moved > sync->desc.trained ? 2 * a->buckets : a->buckets;
    WEFT_CHECK(options->slack >= 0 && options->slack <= MOST_SLACK, WEFT_ERR_USAGE,
               FLAG_ASP_SLACK " %lld: each step takes memory for the parameters; use 0 to %d",
               (long long)options->slack, MOST_SLACK);
    WEFT_CHECK(options->threshold >= 0 && options->flush_every >= 0 && options->bandwidth > 0, WEFT_ERR_USAGE,
               FLAG_ASP_THRESHOLD " %g, " FLAG_ASP_FLUSH " %lld, " FLAG_ASP_BANDWIDTH
                                  " %g: the first two are not negative, the last is positive",
               options->threshold, (long long)options->flush_every, options->bandwidth);
    for (int b = 0; b < a->buckets; ++b) {
        WEFT_CHECK(sync->desc.bucket[b].count <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
                   "bucket %d has %lld elements: " FLAG_SYNC " asp takes at most 2^31 - 1, use a smaller " FLAG_BUCKET,
                   b, (long long)sync->desc.bucket[b].count);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&a->sum, a->buckets, WEFT_MEM_COMM));
    return WEFT_NEW_ZERO(&a->before, a->moved, WEFT_MEM_COMM);
}

/* Communicators of the site and of the leaders, whose ranks are the sites' numbers. */
static weft_status split(comm_sync *sync)
{
    asp *a = sync->self;
    weft_status status = WEFT_OK;
    comm_topology *sites = NULL;
    int rank = comm_rank(sync->comm);
    if (sync->options.asp.sites != NULL) {
        WEFT_TRY_GOTO(topology_read(sync->comm, sync->options.asp.sites, &sites), status, done);
    } else {
        WEFT_TRY_GOTO(comm_agree(sync->comm, topology_nodes(sync->comm, &sites)), status, done);
    }
    a->sites = sites->sets;
    a->site = sites->set_of[rank];
    WEFT_TRY_GOTO(comm_split(sync->comm, a->site, rank, &a->group), status, done);
    WEFT_TRY_GOTO(comm_split(sync->comm, leads(a) ? 0 : 1, a->site, &a->leaders), status, done);
done:
    topology_destroy(sites);
    return status;
}

static weft_status plan_site(comm_sync *sync)
{
    asp *a = sync->self;
    const sync_desc *desc = &sync->desc;
    char name[64];
    for (int b = 0; b < a->buckets; ++b) {
        snprintf(name, sizeof name, "bucket %d of site %d", b, a->site);
        float *grad = (float *)desc->grad + desc->bucket[b].offset;
        WEFT_TRY(mode_plan_sum(sync, a->group, COMM_LANE_GRADIENT, grad, desc->bucket[b].count, name, &a->sum[b].plan));
    }
    snprintf(name, sizeof name, "batch statistics of site %d", a->site);
    return mode_plan_sum(sync, a->group, COMM_LANE_GRADIENT, (float *)desc->value + a->moved, desc->elements - a->moved,
                         name, &a->statistics);
}

static int64_t largest_bucket(const sync_desc *desc)
{
    int64_t most = 0;
    for (int b = 0; b < desc->buckets; ++b) {
        most = desc->bucket[b].count > most ? desc->bucket[b].count : most;
    }
    return most * (int64_t)sizeof(float);
}

static weft_status create_messages(comm_sync *sync)
{
    asp *a = sync->self;
    int64_t room = largest_bucket(&sync->desc);
    for (int q = 0; q < a->sites; ++q) {
        if (q == a->site) {
            continue;
        }
        WEFT_TRY(asp_message_init(&a->receive[q], a->leaders, q, false, a->incoming + q * room, room));
        for (int64_t slot = 0; slot < slots(sync); ++slot) {
            for (int b = 0; b < a->runs; ++b) {
                sync_bucket run = run_of(sync, b);
                WEFT_TRY(asp_message_init(sending(a, slot, b, q), a->leaders, q, true,
                                          a->outgoing + slot * a->moved + run.offset,
                                          run.count * (int64_t)sizeof(float)));
            }
        }
    }
    return WEFT_OK;
}

static weft_status create_leader(comm_sync *sync)
{
    asp *a = sync->self;
    size_t sites = (size_t)a->sites;
    size_t messages = (size_t)slots(sync) * (size_t)a->runs * sites;
    size_t room = (size_t)largest_bucket(&sync->desc);
    if (a->sites == 1) {
        return WEFT_OK;
    }
    if (!leads(a)) {
        return weft_malloc(room, 1, WEFT_MEM_COMM, &a->arrived);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&a->acc, a->moved, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&a->mirror, sites * (size_t)a->runs, WEFT_MEM_COMM));
    WEFT_TRY(weft_malloc((size_t)a->moved, (size_t)slots(sync) * sizeof(float), WEFT_MEM_COMM, (void **)&a->outgoing));
    WEFT_TRY(weft_malloc(sites, room, WEFT_MEM_COMM, (void **)&a->incoming));
    WEFT_TRY(WEFT_NEW_ZERO(&a->send, messages, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&a->receive, sites, WEFT_MEM_COMM));
    return create_messages(sync);
}

static weft_status create(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, allocate(sync)));
    WEFT_TRY(split(sync));
    WEFT_TRY(comm_agree(sync->comm, plan_site(sync)));
    const asp *a = sync->self;
    sync->figures.sites = a->sites;
    if (a->sites == 1 && comm_size(sync->comm) > 1) {
        log_warn(
            "sync asp: all ranks are one site, as a node is by itself: every step sums all gradients, as all-reduce "
            "does, and nothing is lost; " FLAG_SITES " or " FLAG_RANKS_PER_NODE " 1 makes several");
    }
    return create_leader(sync);
}

static void destroy_messages(comm_sync *sync)
{
    asp *a = sync->self;
    int64_t messages = slots(sync) * a->runs * a->sites;
    for (int64_t i = 0; a->send != NULL && i < messages; ++i) {
        asp_message_free(&a->send[i]);
    }
    for (int q = 0; a->receive != NULL && q < a->sites; ++q) {
        asp_message_free(&a->receive[q]);
    }
}

static void destroy(comm_sync *sync)
{
    asp *a = sync->self;
    if (a == NULL) {
        return;
    }
    destroy_messages(sync);
    for (int b = 0; a->sum != NULL && b < a->buckets; ++b) {
        comm_plan_destroy(a->sum[b].plan);
    }
    comm_plan_destroy(a->statistics);
    comm_destroy(a->leaders);
    comm_destroy(a->group);
    WEFT_FREE_ALL(a->sum, a->before, a->arrived, a->acc, a->mirror, a->outgoing, a->incoming, a->send, a->receive, a);
    sync->self = NULL;
}

static weft_status reset(comm_sync *sync)
{
    asp *a = sync->self;
    a->counters = (asp_counters){.begun = 1, .threshold.theta = sync->options.asp.threshold};
    a->sent_s = clock_seconds();
    if (a->acc != NULL) {
        memset(a->acc, 0, (size_t)a->moved * sizeof *a->acc);
        memset(a->mirror, 0, (size_t)a->sites * (size_t)a->runs * sizeof *a->mirror);
    }
    return WEFT_OK;
}

/* ---- inside the site ------------------------------------------------------------------------------------- */
static weft_status ready(comm_sync *sync, int bucket)
{
    asp *a = sync->self;
    if (bucket == 0) {
        a->posted_s = clock_seconds();
    }
    return comm_post(a->sum[bucket].plan);
}

static weft_status gradients(comm_sync *sync)
{
    asp *a = sync->self;
    float scale = (float)comm_size(sync->comm) / (float)comm_size(a->group);
    for (int b = 0; b < a->buckets; ++b) {
        WEFT_TRY(comm_wait(a->sum[b].plan));
    }
    sync->figures.busy_s += clock_seconds() - a->posted_s;
    mode_scale(sync, sync->desc.grad, sync->desc.trained, scale);
    if (sync->desc.trained > 0) {
        memcpy(a->before, sync->desc.value, (size_t)a->moved * sizeof *a->before);
    }
    return WEFT_OK;
}

/* The site's part in the mean of all sites' updates is made at once, and remembered for the others. */
static void take_share(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    asp *a = sync->self;
    float *w = sync->desc.value;
    float share = (float)comm_size(a->group) / (float)comm_size(sync->comm);
    for (int64_t i = begin; i < end; ++i) {
        float update = (w[i] - a->before[i]) * share;
        w[i] = a->before[i] + update;
        if (a->acc != NULL) {
            a->acc[i] += update;
        }
    }
}

static weft_status average_statistics(comm_sync *sync)
{
    asp *a = sync->self;
    if (sync->desc.elements > a->moved && comm_size(a->group) > 1) {
        WEFT_TRY(comm_post(a->statistics));
        WEFT_TRY(comm_wait(a->statistics));
        mode_divide(sync, (float *)sync->desc.value + a->moved, sync->desc.elements - a->moved,
                    (float)comm_size(a->group));
    }
    return WEFT_OK;
}

/* ---- between sites --------------------------------------------------------------------------------------- */
/* A message that a slower site has not taken yet holds its slot. */
static weft_status await_slot(const comm_sync *sync, int64_t slot)
{
    const asp *a = sync->self;
    for (int b = 0; b < a->runs; ++b) {
        for (int q = 0; q < a->sites; ++q) {
            if (sending(a, slot, b, q)->posted) {
                WEFT_TRY(asp_message_wait(sending(a, slot, b, q)));
            }
        }
    }
    return WEFT_OK;
}

static weft_status send_updates(comm_sync *sync, double theta)
{
    asp *a = sync->self;
    const float *w = sync->desc.value;
    int64_t slot = a->counters.clock % slots(sync);
    int64_t sent = 0;
    WEFT_TRY(await_slot(sync, slot));
    for (int b = 0; b < a->runs; ++b) {
        sync_bucket run = run_of(sync, b);
        void *payload = a->outgoing + slot * a->moved + run.offset;
        int64_t entries = significance_take(w + run.offset, a->acc + run.offset, run.count, theta, payload);
        bool dense = entries == SIGNIFICANCE_DENSE;
        int64_t bytes = dense ? run.count * (int64_t)sizeof(float) : entries * (int64_t)sizeof(significance_entry);
        sent += dense ? run.count : entries;
        for (int q = 0; q < a->sites; ++q) {
            if (q != a->site) {
                asp_message *message = sending(a, slot, b, q);
                message->head = (asp_head){a->counters.clock, b, entries, bytes};
                asp_message_post(message, a->counters.clock * a->runs + b);
            }
        }
    }
    sync->figures.density = a->moved > 0 ? (double)sent / (double)a->moved : 0.0;
    return WEFT_OK;
}

static int64_t mirror_of(const asp *a, int site)
{
    int64_t least = a->counters.clock;
    for (int b = 0; b < a->runs; ++b) {
        int64_t clock = a->mirror[(ptrdiff_t)site * a->runs + b];
        least = clock < least ? clock : least;
    }
    return least;
}

/* The messages of a site are heard clock by clock, run by run. */
static int64_t next_number(const asp *a, int site)
{
    assert(site != a->site);
    const int64_t *mirror = a->mirror + (ptrdiff_t)site * a->runs;
    int64_t least = mirror_of(a, site);
    int run = 0;
    while (mirror[run] != least) {
        ++run;
    }
    return (least + 1) * a->runs + run;
}

static weft_status add_updates(comm_sync *sync, const asp_head *head, const void *payload)
{
    asp *a = sync->self;
    WEFT_CHECK(head->run >= 0 && head->run < a->runs, WEFT_ERR_INTERNAL, "updates of run %lld of %d",
               (long long)head->run, a->runs);
    sync_bucket run = run_of(sync, (int)head->run);
    int64_t bytes = head->entries == SIGNIFICANCE_DENSE ? run.count * (int64_t)sizeof(float)
                                                        : head->entries * (int64_t)sizeof(significance_entry);
    WEFT_CHECK(head->entries >= SIGNIFICANCE_DENSE && head->entries <= run.count && head->bytes == bytes,
               WEFT_ERR_INTERNAL, "%lld updates of run %lld in %lld bytes", (long long)head->entries,
               (long long)head->run, (long long)head->bytes);
    return significance_apply((float *)sync->desc.value + run.offset, run.count, head->entries, payload);
}

/* Leader: a message to the other ranks of the site; payload may be NULL with bytes 0. */
static weft_status hand_on(const asp *a, asp_head *head, void *payload)
{
    WEFT_TRY(comm_bcast(a->group, 0, head, (int64_t)sizeof *head));
    return head->bytes > 0 ? comm_bcast(a->group, 0, payload, head->bytes) : WEFT_OK;
}

/* Everything of one site up to this site's clock: what is behind `target` is waited for, the rest taken if it is there.
 */
static weft_status hear_site(comm_sync *sync, int site, int64_t target)
{
    asp *a = sync->self;
    asp_message *message = &a->receive[site];
    while (mirror_of(a, site) < a->counters.clock) {
        bool done = true;
        if (!message->posted) {
            asp_message_post(message, next_number(a, site));
        }
        WEFT_TRY(mirror_of(a, site) < target ? asp_message_wait(message) : asp_message_test(message, &done));
        if (!done) {
            return WEFT_OK;
        }
        WEFT_CHECK(message->head.clock * a->runs + message->head.run == next_number(a, site), WEFT_ERR_INTERNAL,
                   "updates of run %lld at clock %lld from site %d out of turn", (long long)message->head.run,
                   (long long)message->head.clock, site);
        WEFT_TRY(hand_on(a, &message->head, message->payload));
        WEFT_TRY(add_updates(sync, &message->head, message->payload));
        a->mirror[(ptrdiff_t)site * a->runs + message->head.run] = message->head.clock;
    }
    return WEFT_OK;
}

static weft_status hear(comm_sync *sync, int64_t target)
{
    asp *a = sync->self;
    for (int q = 0; q < a->sites; ++q) {
        if (q != a->site) {
            WEFT_TRY(hear_site(sync, q, target));
            int64_t behind = a->counters.clock - mirror_of(a, q);
            sync->figures.staleness = behind > sync->figures.staleness ? behind : sync->figures.staleness;
        }
    }
    asp_head end = {.clock = a->counters.clock, .run = -1};
    return hand_on(a, &end, NULL);
}

static weft_status follow(comm_sync *sync)
{
    asp *a = sync->self;
    asp_head head;
    for (;;) {
        WEFT_TRY(comm_bcast(a->group, 0, &head, (int64_t)sizeof head));
        if (head.run < 0) {
            return WEFT_OK;
        }
        WEFT_CHECK(head.bytes >= 0 && head.bytes <= largest_bucket(&sync->desc), WEFT_ERR_INTERNAL,
                   "updates of %lld bytes", (long long)head.bytes);
        if (head.bytes > 0) {
            WEFT_TRY(comm_bcast(a->group, 0, a->arrived, head.bytes));
        }
        WEFT_TRY(add_updates(sync, &head, a->arrived));
    }
}

/* One clock: tell the other sites what passes theta, hear those that are `slack` or more behind. */
static weft_status exchange(comm_sync *sync, double theta, int64_t slack)
{
    asp *a = sync->self;
    a->counters.clock += 1;
    if (!leads(a)) {
        return follow(sync);
    }
    uint64_t before = comm_lane_stats(a->leaders, COMM_LANE_GRADIENT).bytes_sent;
    WEFT_TRY(send_updates(sync, theta));
    WEFT_TRY(hear(sync, a->counters.clock - slack));
    double now = clock_seconds();
    uint64_t bytes = comm_lane_stats(a->leaders, COMM_LANE_GRADIENT).bytes_sent - before;
    significance_note(&a->counters.threshold, &sync->options.asp, bytes, now - a->sent_s);
    a->sent_s = now;
    return WEFT_OK;
}

static weft_status parameters(comm_sync *sync)
{
    asp *a = sync->self;
    const sync_asp_options *options = &sync->options.asp;
    WEFT_TRY(average_statistics(sync));
    if (a->sites > 1) {
        bool flush = options->flush_every > 0 && (a->counters.clock + 1) % options->flush_every == 0;
        double theta = significance_theta(&a->counters.threshold, options, sync->lr);
        mode_parallel(sync, a->moved, take_share, sync);
        WEFT_TRY(exchange(sync, flush ? 0.0 : theta, options->slack));
    }
    mode_clear_traffic(sync);
    mode_add_traffic(sync, a->group);
    mode_add_traffic(sync, a->leaders);
    return WEFT_OK;
}

/* ---- ends ------------------------------------------------------------------------------------------------ */
/* All sites are at the same step here: what they sent is heard. */
static weft_status settle(comm_sync *sync, bool last)
{
    asp *a = sync->self;
    (void)last; /* the last mean is made as any other */
    if (a->counters.begun == 0 || a->sites == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(leads(a) ? hear(sync, a->counters.clock) : follow(sync));
    for (int64_t slot = 0; leads(a) && slot < slots(sync); ++slot) {
        WEFT_TRY(await_slot(sync, slot));
    }
    return WEFT_OK;
}

static int state(comm_sync *sync, sync_buffer *buffer)
{
    asp *a = sync->self;
    bool keeps = a->acc != NULL;
    int64_t acc = keeps ? a->moved * (int64_t)sizeof *a->acc : 0;
    int64_t mirror = keeps ? (int64_t)a->sites * a->runs * (int64_t)sizeof *a->mirror : 0;
    buffer[0] = (sync_buffer){.name = "asp counters", .data = &a->counters, .bytes = (int64_t)sizeof a->counters};
    buffer[1] = (sync_buffer){.name = "asp accumulator", .data = a->acc, .bytes = acc};
    buffer[2] = (sync_buffer){.name = "asp clocks", .data = a->mirror, .bytes = mirror};
    return 3;
}

/* A checkpoint is written where every site has heard all others up to its own clock. */
static weft_status check_counters(const comm_sync *sync)
{
    const asp *a = sync->self;
    const asp_counters *c = &a->counters;
    WEFT_TRY(sync_check_range(sync, "the mark of a beginning", c->begun, 1, 1));
    WEFT_TRY(sync_check_range(sync, "the clock", c->clock, 0, SYNC_STEPS_LIMIT));
    WEFT_CHECK(c->threshold.theta >= 0.0 && c->threshold.theta <= DBL_MAX && c->threshold.first_lr >= 0.0 &&
                   c->threshold.first_lr <= DBL_MAX,
               WEFT_ERR_DATA, "damaged: the threshold of sync asp is %g, of a first learning rate of %g",
               number_plain(c->threshold.theta), number_plain(c->threshold.first_lr));
    for (int64_t i = 0; a->mirror != NULL && i < (int64_t)a->sites * a->runs; ++i) {
        const bool own = i / a->runs == a->site;
        WEFT_TRY(own ? WEFT_OK : sync_check_range(sync, "the clock of another site", a->mirror[i], c->clock, c->clock));
    }
    return WEFT_OK;
}

static weft_status restored(comm_sync *sync)
{
    const asp *a = sync->self;
    WEFT_TRY(comm_agree(sync->comm, check_counters(sync)));
    return sync_check_alike(sync, "the clock", &a->counters.clock, 1);
}

/* ---- prediction ------------------------------------------------------------------------------------------ */
/* The part of the updates that travels before the first step. */
static const double asp_significant = 0.05;
/* Eleven streams: the gradient scaled, parameters kept, the share taken and remembered, the filter. A reduction has
 * three. */
static const int64_t asp_passes = 4;

/* The part of the updates that travels: of the last step where this mode runs. Collective. */
static weft_status asp_share(const comm_sync *sync, double *share)
{
    *share = asp_significant;
    if (sync->mode != SYNC_ASP || sync->figures.steps == 0) {
        return WEFT_OK;
    }
    *share = sync->figures.density; /* 1 on ranks that do not talk to other sites */
    return comm_allreduce(sync->comm, share, 1, WEFT_DTYPE_F64, COMM_MIN);
}

static weft_status predict_share(const comm_sync *sync, double share, double *seconds)
{
    weft_status status = WEFT_OK;
    comm_topology *sites = NULL;
    predict_room room = {NULL, NULL};
    double inside = 0.0;
    WEFT_TRY_GOTO(predict_read_sets(sync, sync->options.asp.sites, true, &sites), status, done);
    WEFT_TRY_GOTO(predict_room_create(sync, &room), status, done);
    WEFT_TRY_GOTO(predict_division(sync, sites->set_of, sync->desc.trained, &room, &inside), status, done);
    int64_t others = sites->sets - 1;
    int64_t travelling = tracking_travelling(sync, SYNC_ASP);
    int64_t entries = (int64_t)(share * (double)travelling);
    int64_t dense_bytes = travelling * (int64_t)sizeof(float);
    int64_t bytes = entries * (int64_t)sizeof(significance_entry) < dense_bytes
                        ? entries * (int64_t)sizeof(significance_entry)
                        : dense_bytes;
    const comm_cost passes = {.reduced = others > 0 ? asp_passes * dense_bytes : 0};
    const comm_cost network = {.inter_rounds = others, .inter_bytes = others * bytes};
    /* A bucket is filtered while the one before it travels, and handed on while the next one comes. How much of that
     * hides depends on what the network itself takes of the cores: between nothing and all of it, the middle. */
    const comm_cost meanwhile = {.intra_rounds = others > 0,
                                 .intra_bytes = others * bytes,
                                 .selected = travelling,
                                 .scattered = others * entries};
    const comm_model *model = comm_get_model(sync->comm);
    const double travels = comm_model_seconds(model, &network);
    const double works = comm_model_seconds(model, &meanwhile);
    *seconds = inside + comm_model_seconds(model, &passes) + fmax(travels, works) + 0.5 * fmin(travels, works);
done:
    predict_room_free(&room);
    topology_destroy(sites);
    return status;
}

static weft_status predict(const comm_sync *sync, double *seconds)
{
    double share = 0.0;
    WEFT_TRY(asp_share(sync, &share));
    return comm_agree(sync->comm, predict_share(sync, share, seconds));
}

/* ---- options and knobs ----------------------------------------------------------------------------------- */
static void defaults(sync_options *options)
{
    options->asp = (sync_asp_options){.threshold = 0.01, .policy = ASP_LEARNING_RATE, .bandwidth = 10.0 * 0x1p20};
}

static double threshold_of(const sync_options *options)
{
    return options->asp.threshold;
}

/* Policies that follow something go on from the new value. */
static weft_status set_threshold(comm_sync *sync, double threshold, bool restoring)
{
    asp *a = sync->self;
    sync->options.asp.threshold = threshold;
    a->counters.threshold.theta = restoring ? a->counters.threshold.theta : threshold;
    return WEFT_OK;
}

static const sync_tunable tunables[] = {
    {.knob = SYNC_KNOB_THRESHOLD, .least = 0, .most = 1e6, .of = threshold_of, .set = set_threshold}};

const sync_ops sync_asp_ops = {SYNC_OPS_TUNED,  .name = "asp",          .local_updates = true,
                               .ready = ready,  .gradients = gradients, .parameters = parameters,
                               .settle = settle};
