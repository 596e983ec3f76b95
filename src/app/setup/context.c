/* app/setup/context.c: see app/setup/context.h. */
#include "app/setup/context.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/setup/device_choice.h"
#include "app/setup/hang.h"
#include "base/log.h"
#include "comm/core/inquest.h"
#include "comm/core/layout.h"
#include "hal/devices.h"
#include "machine/binding.h"
#include "machine/launcher.h"

/* The speaker ends the job; if it cannot, the others do after this time. */
enum { LAST_WORD_SECONDS = 1 };
/* The others wait for rank 0 to speak and to end them; on a loaded machine that takes over a second. Less when some
 * rank gave up waiting: then this one failed alone. */
enum { FIRST_WORD_SECONDS = 3 };

typedef struct rank_card {
    binding bound;
    cpu_set used; /* CPUs of the plan */
    char host[64];
    int node_rank;
    char line[512]; /* of the node, from its first rank */
} rank_card;

/* Open MPI ends a task that it cannot join to the others in MPI_Init, in words that name no cure. */
static weft_status check_srun(void)
{
    char library[128];
    if (launcher_lacks_pmi() && launcher_rank() > 0) {
        return WEFT_ERR_LAUNCH; /* rank 0 says why */
    }
    WEFT_CHECK(
        !launcher_lacks_pmi(), WEFT_ERR_LAUNCH,
        "srun started %d tasks that MPI cannot join: start them with srun --mpi=pmix (srun --mpi=list tells what "
        "this Slurm has), or with mpirun within the job",
        launcher_size());
    comm_mpi_version(library, sizeof library);
    if (launcher_is_srun() && getenv("PMIX_RANK") == NULL && strstr(library, "Open MPI") != NULL) {
        log_info("srun starts the tasks by PMI, which few builds of Open MPI know: if MPI ends here, srun --mpi=pmix");
    }
    return WEFT_OK;
}

static weft_status open_comm(app_context *context)
{
    if (!launcher_present()) {
        return comm_create_self(&context->comm);
    }
    WEFT_TRY(check_srun());
    WEFT_TRY(comm_create_mpi(&context->comm));
    WEFT_CHECK(
        launcher_size() <= 1 || comm_size(context->comm) > 1, WEFT_ERR_LAUNCH,
        "the launcher started %d processes but each of them is alone: the launcher and the MPI library do not fit; "
        "start with the mpirun of this MPI, or `srun --mpi=pmix`",
        launcher_size());
    return WEFT_OK;
}

weft_status app_share_options(weft_comm *comm, const option_catalog *catalog, const weft_options *options,
                              weft_options **received)
{
    weft_status status = WEFT_OK;
    void *blob = NULL;
    size_t bytes = 0;
    bool first = comm_rank(comm) == 0;
    *received = NULL;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    if (first) {
        status = option_pack(options, &blob, &bytes);
    }
    WEFT_TRY(comm_agree(comm, status));
    int64_t count = (int64_t)bytes;
    WEFT_TRY(comm_bcast(comm, 0, &count, sizeof count));
    if (!first) {
        status = weft_malloc((size_t)count, 1, WEFT_MEM_GENERAL, &blob);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_bcast(comm, 0, blob, count), status, done);
    if (!first) {
        status = option_unpack(catalog, blob, (size_t)count, received);
    }
done:
    weft_free(blob);
    return status;
}

weft_status app_decide_shared(weft_comm *comm, weft_options *options, option_id id, const char *text)
{
    const bool first = comm_rank(comm) == 0;
    int64_t bytes = first && text != NULL ? (int64_t)strlen(text) + 1 : 0;
    char *shared = NULL;
    WEFT_TRY(comm_bcast(comm, 0, &bytes, sizeof bytes));
    if (bytes <= 1) {
        return WEFT_OK;
    }
    weft_status status = comm_agree(comm, WEFT_NEW(&shared, bytes, WEFT_MEM_GENERAL));
    if (status == WEFT_OK) {
        if (first && text != NULL) {
            memcpy(shared, text, (size_t)bytes);
        }
        status = comm_bcast(comm, 0, shared, bytes);
        status = comm_agree(comm, status == WEFT_OK ? option_decide(options, id, shared) : status);
    }
    weft_free(shared);
    return status;
}

/* Rank 0's view of the options counts: environments may differ between nodes. */
static weft_status share_options(app_context *context, const weft_options *options)
{
    WEFT_TRY(app_share_options(context->comm, option_catalog_of(options), options, &context->shared));
    context->options = context->shared != NULL ? context->shared : options;
    return WEFT_OK;
}

int app_requested_threads(const weft_options *options)
{
    if (option_int(options, OPT_THREADS) > 0) {
        return (int)option_int(options, OPT_THREADS);
    }
    const char *environment = getenv("OMP_NUM_THREADS");
    int threads = environment != NULL ? atoi(environment) : 0;
    return threads > 0 ? threads : 0;
}

/* The plan of this rank, from the masks of all ranks on its node. */
static weft_status plan_threads(app_context *context, const rank_card *cards, cpu_set *node_mask)
{
    weft_status status = WEFT_OK;
    const int node_ranks = comm_node_size(context->comm);
    const pin_mode pin = option_choice(context->options, OPT_PIN);
    cpu_set *masks = NULL;
    binding *bound = NULL;
    bound_by by;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&masks, node_ranks, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&bound, node_ranks, WEFT_MEM_GENERAL), status, done);
    for (int r = 0; r < comm_size(context->comm); ++r) {
        if (strcmp(cards[r].host, context->host) == 0 && cards[r].node_rank < node_ranks) {
            masks[cards[r].node_rank] = cards[r].bound.mask;
            bound[cards[r].node_rank] = cards[r].bound;
        }
    }
    binding_of_node(bound, node_ranks, pin, &context->machine, &by);
    const placement_request request = {.node_ranks = node_ranks,
                                       .node_rank = comm_node_rank(context->comm),
                                       .masks = masks,
                                       .threads = app_requested_threads(context->options),
                                       .pin = pin,
                                       .by = by,
                                       .comm_thread = option_choice(context->options, OPT_COMM_THREAD),
                                       .job_ranks = comm_size(context->comm),
                                       .nodes = comm_get_layout(context->comm)->nodes};
    WEFT_TRY_GOTO(placement_plan(&context->machine, &request, &context->placement), status, done);
    WEFT_TRY_GOTO(placement_apply(&context->placement), status, done);
    *node_mask = context->placement.mask;
    context->bound = by;
done:
    WEFT_FREE_ALL(masks, bound);
    return status;
}

/* start: what this process was bound to before its threads were placed; NULL: they never were. */
static weft_status place_threads(app_context *context, const binding *start)
{
    weft_status status = WEFT_OK;
    rank_card *cards = NULL;
    rank_card mine = {.node_rank = comm_node_rank(context->comm)};
    gethostname(mine.host, sizeof mine.host - 1);
    memcpy(context->host, mine.host, sizeof context->host);
    int ranks = comm_size(context->comm);
    WEFT_TRY(WEFT_NEW(&cards, ranks, WEFT_MEM_GENERAL));
    cpu_set used = {.bits = {0}};
    status = machine_detect(&context->machine);
    if (start != NULL) {
        mine.bound = *start;
    } else if (status == WEFT_OK) {
        status = binding_read(&context->machine, &mine.bound);
    }
    WEFT_TRY_GOTO(comm_agree(context->comm, status), status, done);
    WEFT_TRY_GOTO(comm_allgather(context->comm, &mine, (int64_t)sizeof *cards, cards), status, done);
    WEFT_TRY_GOTO(comm_agree(context->comm, plan_threads(context, cards, &used)), status, done);
    /* A second round tells rank 0 what every node does: the union of its ranks' cores, described by its first rank. */
    mine.used = used;
    WEFT_TRY_GOTO(comm_allgather(context->comm, &mine, (int64_t)sizeof *cards, cards), status, done);
    for (int r = 0; r < ranks; ++r) {
        if (strcmp(cards[r].host, context->host) == 0) {
            cpu_set_unite(&used, &cards[r].used);
        }
        context->nodes += cards[r].node_rank == 0;
    }
    assert(context->nodes > 0 && context->nodes <= ranks); /* each node has one rank 0 */
    placement_describe(&context->machine, context->host, comm_node_size(context->comm), &context->placement, &used,
                       mine.line, sizeof mine.line);
    WEFT_TRY_GOTO(comm_allgather(context->comm, &mine, (int64_t)sizeof *cards, cards), status, done);
    for (int r = 0; r < ranks; ++r) {
        if (cards[r].node_rank == 0) {
            log_info("%s", cards[r].line);
        }
    }
done:
    weft_free(cards);
    return status;
}

/* A library that takes calls from the main thread only is no failure unless the thread was asked for. */
static weft_status start_comm_thread(const app_context *context)
{
    if (!context->placement.comm_thread) {
        return WEFT_OK;
    }
    weft_status status = comm_thread_start(context->comm, context->placement.comm_cpu);
    if (status != WEFT_OK && option_choice(context->options, OPT_COMM_THREAD) == COMM_THREAD_AUTO) {
        log_warn("no communication thread: %s", weft_error_message());
        return WEFT_OK;
    }
    return status;
}

weft_status app_set_log_level(const weft_options *options)
{
    bool quiet = option_flag(options, OPT_QUIET), verbose = option_flag(options, OPT_VERBOSE);
    WEFT_CHECK(!(quiet && verbose), WEFT_ERR_USAGE, "--quiet and --verbose contradict each other");
    if (quiet || verbose) {
        log_set_level(quiet ? LOG_WARN : LOG_DEBUG);
    }
    return WEFT_OK;
}

static weft_status open_backend(app_context *context)
{
    const char *backend = option_text(context->options, OPT_BACKEND);
    if (hal_backend_has_devices(backend) || hal_backend_is_auto(backend)) {
        return device_choice_open(context);
    }
    WEFT_TRY(comm_agree(context->comm, weft_hal_open(backend, context->placement.threads, &context->hal)));
    snprintf(context->backends, sizeof context->backends, "%s", context->hal->name);
    return WEFT_OK;
}

weft_status app_context_open(const weft_options *options, app_context *context)
{
    *context = (app_context){.memory_share = 1.0};
    double patience = hang_set_timeout(options);
    WEFT_TRY(open_comm(context));
    comm_set_stall_timeout(context->comm, patience);
    log_set_speaker(comm_rank(context->comm) == 0);
    WEFT_TRY(share_options(context, options));
    comm_set_stall_timeout(context->comm, hang_set_timeout(context->options));
    WEFT_TRY(place_threads(context, NULL));
    WEFT_TRY(comm_agree(context->comm, start_comm_thread(context)));
    WEFT_TRY(open_backend(context));
    return comm_choose_direct(context->comm, context->hal, option_choice(context->options, OPT_GPU_DIRECT),
                              context->road);
}

weft_status app_context_open_alone(const weft_options *options, const binding *start, app_context *context)
{
    *context = (app_context){.options = options, .memory_share = 1.0};
    WEFT_TRY(comm_create_self(&context->comm));
    WEFT_TRY(place_threads(context, start));
    return open_backend(context);
}

/* The level is the host's until the job's own options say otherwise. */
static void speak_as(const weft_comm *comm, const char *name)
{
    log_set_speaker(comm_rank(comm) == 0);
    log_set_name(name);
}

static double memory_share_of(const app_context *host_job, weft_comm *comm, double asked)
{
    const double ranks = (double)comm_node_size(comm) / (double)comm_node_size(host_job->comm);
    assert(asked >= 0.0 && asked <= 1.0);
    return host_job->memory_share * (asked > 0.0 ? asked : ranks);
}

uint64_t app_context_memory(const app_context *context)
{
    const uint64_t seen = context->memory_seen;
    return (uint64_t)(context->memory_share * (double)(seen > 0 ? seen : placement_memory_available()));
}

void app_context_hold_memory(app_context *context, bool hold)
{
    context->memory_seen = hold ? placement_memory_available() : 0;
}

weft_status app_context_open_within(const app_context *host_job, weft_comm *comm, const weft_options *options,
                                    const char *name, double memory_share, app_context *context)
{
    assert(comm_node_size(comm) <= comm_node_size(host_job->comm)); /* comm is a part of host_job's */
    *context = (app_context){.host_job = host_job,
                             .comm = comm,
                             .machine = host_job->machine,
                             .placement = host_job->placement,
                             .hal = host_job->hal,
                             .device_ranks = host_job->device_ranks,
                             .mixed = host_job->mixed,
                             .nodes = comm_get_layout(comm)->nodes,
                             .host_voice = log_voice_now(),
                             .memory_share = memory_share_of(host_job, comm, memory_share)};
    memcpy(context->host, host_job->host, sizeof context->host);
    memcpy(context->backends, host_job->backends, sizeof context->backends);
    memcpy(context->road, host_job->road, sizeof context->road);
    speak_as(comm, name);
    WEFT_TRY(share_options(context, options));
    return comm_agree(comm, app_set_log_level(context->options));
}

/* The ranks tell each other where they stand; the lowest one that is heard speaks, the others leave the end to it. */
static _Noreturn void end_stalled(const app_context *context)
{
    comm_inquest inquest;
    comm_hold_inquest(context->comm, context->host, weft_error_message(), &inquest);
    if (inquest.speaks) {
        log_fatal(comm_rank(context->comm), WEFT_ERR_STALL, inquest.text);
    } else {
        sleep(LAST_WORD_SECONDS);
    }
    comm_abort(context->comm, WEFT_ERR_STALL);
}

void app_context_fail(const app_context *context, weft_status status)
{
    if (context->comm == NULL || comm_size(context->comm) == 1) {
        return;
    }
    int rank = comm_rank(context->comm);
    if (status == WEFT_ERR_STALL) {
        end_stalled(context);
    }
    if (rank != 0) {
        comm_await_call(context->comm, FIRST_WORD_SECONDS);
    }
    log_fatal(rank, status, weft_error_message());
    comm_abort(context->comm, status);
}

static void close_own(app_context *context)
{
    weft_hal_close(context->hal);
    placement_free(&context->placement);
    machine_free(&context->machine);
    comm_destroy(context->comm);
}

void app_machine_text(const app_context *context, char *text, size_t bytes)
{
    const machine *m = &context->machine;
    snprintf(text, bytes, "%s, L2 %llu KiB, L3 %llu KiB, %d threads", m->model, (unsigned long long)m->l2_bytes >> 10,
             (unsigned long long)m->l3_bytes >> 10, context->placement.threads);
}

void app_context_close(app_context *context)
{
    option_destroy(context->decided);
    option_destroy(context->shared);
    if (context->host_job == NULL) {
        close_own(context);
    } else {
        log_voice_set(&context->host_voice);
    }
    memset(context, 0, sizeof *context);
}
