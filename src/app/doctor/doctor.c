/*
 * app/doctor/doctor.c: weft doctor: what keeps a job on these nodes from being fast, and what cures it.
 *
 *      weft doctor                                  this machine, all its cores
 *      mpirun -np 8 --hostfile hosts weft doctor    the nodes, ranks and links of a job to come
 *
 * All ranks measure at once what they share (memory, cores), and pair by pair what lies between them. The first rank of
 * each node judges it by the cards of its ranks (app/doctor/doctor_check.c); rank 0 prints all findings. A few seconds.
 * What the node can do is kept for `weft bench` (app/setup/machine_limits.h). The exit code is 0 whatever is found:
 * warnings are counted in the first line.
 */
#include "app/doctor/doctor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/setup/context.h"
#include "app/setup/load_watch.h"
#include "app/setup/machine_limits.h"
#include "app/table/grid.h"
#include "app/train/train_load.h"
#include "app/version/versions.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "machine/control_group.h"
#include "machine/placement_memory.h"

enum { PAIRS_SHOWN = 28, DISK_BYTES = 32 << 20 };
static const double pair_timeout = 10.0;

typedef struct doctor {
    app_context context;
    doctor_card mine;
    doctor_card *card; /* [ranks] */
    host_settings settings;
    int numa[DOCTOR_NUMA];
    int nodes; /* NUMA nodes of this host */
    comm_pair *pair;
    int pairs;
    train_load load; /* while the nodes were measured */
    doctor_list list;
} doctor;

/* ---- measuring ---------------------------------------------------------------------------------------------- */
static void fill_card(doctor *d)
{
    const app_context *context = &d->context;
    const placement *plan = &context->placement;
    doctor_card *card = &d->mine;
    memcpy(card->host, context->host, sizeof card->host);
    memcpy(card->reason, plan->reason, sizeof card->reason);
    card->rank = comm_rank(context->comm);
    card->node_rank = comm_node_rank(context->comm);
    card->mask = plan->mask;
    card->by = context->bound;
    card->threads = plan->threads;
    card->comm_cpu = plan->comm_thread ? plan->comm_cpu : -1;
    card->pinned = plan->pinned;
    card->healed = plan->healed;
    card->oversubscribed = plan->oversubscribed;
}

/* Every rank of a job makes the same number of measurements, whatever its node is like. */
static weft_status most_nodes(const doctor *d, int *nodes)
{
    int32_t most = d->nodes;
    WEFT_TRY(comm_allreduce(d->context.comm, &most, 1, WEFT_DTYPE_I32, COMM_MAX));
    *nodes = most;
    return WEFT_OK;
}

static weft_status measure_stream(doctor *d, int from, int to, stream_rates *rates)
{
    const app_context *context = &d->context;
    const bool absent = from >= d->nodes || to >= d->nodes;
    assert(from < DOCTOR_NUMA && to < DOCTOR_NUMA && d->nodes <= DOCTOR_NUMA);
    const stream_request request = {.threads = context->placement.threads,
                                    .array_bytes =
                                        stream_array_bytes(context->machine.l3_bytes, comm_node_size(context->comm)),
                                    .cpu = context->placement.cpu,
                                    .thread_node = from < 0 || absent ? -1 : d->numa[from],
                                    .memory_node = to < 0 || absent ? -1 : d->numa[to]};
    WEFT_TRY(comm_barrier(context->comm));
    weft_status status = absent ? WEFT_OK : stream_measure(&request, rates);
    if (status != WEFT_OK && to >= 0) { /* containers may forbid memory policies: the rules say so */
        weft_error_clear();
        *rates = (stream_rates){0.0, 0.0};
        status = WEFT_OK;
    }
    return comm_agree(context->comm, status);
}

static weft_status measure_node(doctor *d)
{
    int nodes = 0;
    d->nodes = memory_nodes(d->numa, DOCTOR_NUMA);
    WEFT_TRY(most_nodes(d, &nodes));
    WEFT_TRY(measure_stream(d, -1, -1, &d->mine.memory));
    for (int i = 0; nodes > 1 && i < nodes; i++) {
        for (int j = 0; j < nodes; j++) {
            WEFT_TRY(measure_stream(d, i, j, &d->mine.numa[i][j]));
        }
    }
    WEFT_TRY(comm_barrier(d->context.comm));
    return comm_agree(d->context.comm, limits_measure_gemm(d->context.hal, &d->mine.gemm));
}

static weft_status share_cards(doctor *d)
{
    weft_comm *comm = d->context.comm;
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&d->card, comm_size(comm), WEFT_MEM_GENERAL)));
    return comm_allgather(comm, &d->mine, (int64_t)sizeof d->mine, d->card);
}

/* ---- judging ------------------------------------------------------------------------------------------------ */
/* How fast the current folder, where runs are written, takes a file: with fsync, because checkpoints wait for it. */
static weft_status write_file(double *seconds)
{
    char folder[FILE_PATH_MAX - 64], path[FILE_PATH_MAX], block[1 << 16];
    file_writer writer;
    if (getcwd(folder, sizeof folder) == NULL) {
        return weft_fail(WEFT_ERR_IO, "the current folder has no name");
    }
    WEFT_TRY(file_path(path, "%s/.weft-doctor-%ld", folder, (long)getpid()));
    memset(block, 'w', sizeof block);
    const double start = clock_seconds();
    WEFT_TRY(file_writer_open(path, &writer));
    for (size_t written = 0; written < DISK_BYTES; written += sizeof block) {
        const weft_status status = file_write(&writer, block, sizeof block);
        if (status != WEFT_OK) {
            file_writer_discard(&writer);
            return status;
        }
    }
    WEFT_TRY(file_writer_commit(&writer));
    *seconds = clock_seconds() - start;
    unlink(path);
    return WEFT_OK;
}

static void check_disk(doctor_list *list)
{
    double seconds = 0.0;
    doctor_finding *finding = NULL;
    if (write_file(&seconds) != WEFT_OK) {
        finding = doctor_add(list, "run folder", "current folder", DOCTOR_WARNING, NAN, "", "cannot be written: %s",
                             weft_error_message());
        doctor_cure(finding, "start where you may write, or name a folder with --run-dir");
        weft_error_clear();
        return;
    }
    const double rate = DISK_BYTES / seconds;
    const bool slow = rate < 30e6;
    finding = doctor_add(list, "run folder", "current folder", slow ? DOCTOR_NOTE : DOCTOR_OK, rate * 1e-6, "MB/s",
                         "a file of %d MiB, written through to the disk", DISK_BYTES >> 20);
    if (slow) {
        doctor_cure(finding, "--run-dir on a faster file system");
    }
}

static void check_versions(doctor_list *list)
{
    version_row row[VERSIONS_MOST];
    const int count = versions_collect(row);
    for (int i = 0; i < count; i++) {
        if (strcmp(row[i].name, "MPI") == 0 || strcmp(row[i].name, "oneDNN") == 0) {
            const bool absent = strcmp(row[i].text, "none") == 0;
            doctor_finding *finding =
                doctor_add(list, "library", row[i].name, absent ? DOCTOR_NOTE : DOCTOR_OK, NAN, "", "%s", row[i].text);
            if (absent) {
                doctor_cure(finding, "build with it (-DWEFT_ONEDNN=ON): our own products are slower");
            }
        }
    }
}

/* Cards of the ranks of one node lie anywhere in d->card: they are put together, by node rank. */
static weft_status cards_of_node(const doctor *d, doctor_card **node)
{
    const int ranks = comm_node_size(d->context.comm);
    WEFT_TRY(WEFT_NEW_ZERO(node, ranks, WEFT_MEM_GENERAL));
    for (int r = 0; r < comm_size(d->context.comm); r++) {
        const doctor_card *card = &d->card[r];
        if (strcmp(card->host, d->context.host) == 0 && card->node_rank < ranks) {
            (*node)[card->node_rank] = *card;
        }
    }
    return WEFT_OK;
}

static void keep_limits(const doctor *d, const doctor_card *node, int ranks)
{
    const limits_key key = limits_key_of(&d->context.machine, d->context.hal, ranks);
    machine_limits limits = {0};
    for (int i = 0; i < ranks; i++) {
        limits.read += node[i].memory.read;
        limits.triad += node[i].memory.triad;
        limits.gemm += node[i].gemm;
        limits.others += node[i].others;
    }
    limits_keep(&key, &limits);
}

static weft_status judge_devices(doctor *d)
{
    const app_context *context = &d->context;
    char text[128];
    doctor_devices *devices = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&devices, 1, WEFT_MEM_GENERAL));
    devices->built = strcmp(hal_devices_build(text, sizeof text), "none") != 0;
    devices->asked = hal_backend_has_devices(option_text(context->options, OPT_BACKEND));
    devices->mpi_takes = comm_size(context->comm) > 1 ? comm_takes_cuda(context->comm) : -1;
    snprintf(devices->road, sizeof devices->road, "%s", context->road);
    weft_status status = hal_devices_count(&devices->count);
    for (int i = 0; status == WEFT_OK && i < devices->count; i++) {
        status = hal_device_describe(i, true, &devices->device[i]);
        pci_link_read("/", devices->device[i].place, &devices->link[i]);
    }
    if (status != WEFT_OK) {
        devices->count = 0;
        snprintf(devices->reason, sizeof devices->reason, "%s", weft_error_message());
        weft_error_clear();
    }
    doctor_check_devices(&d->list, context->host, devices, comm_node_size(context->comm));
    weft_free(devices);
    return d->list.status;
}

static weft_status judge_node(doctor *d)
{
    const app_context *context = &d->context;
    const int ranks = comm_node_size(context->comm);
    const doctor_memory memory = {.total = context->machine.memory_bytes,
                                  .available = placement_memory_available(),
                                  .group = control_group_memory("/")};
    doctor_card *node = NULL;
    int threads = 0;
    WEFT_TRY(cards_of_node(d, &node));
    for (int i = 0; i < ranks; i++) {
        threads += node[i].threads;
    }
    doctor_check_places(&d->list, &context->machine, node, ranks, option_choice(context->options, OPT_PIN));
    doctor_check_memory(&d->list, context->host, &memory);
    doctor_check_speed(&d->list, node, ranks, d->numa, d->nodes, &d->settings);
    doctor_check_settings(&d->list, context->host, &d->settings, ranks, threads, context->nodes > 1);
    doctor_check_transports(&d->list, context->host, getenv("OMPI_MCA_btl"), ranks);
    keep_limits(d, node, ranks);
    weft_free(node);
    return judge_devices(d);
}

/* Rank 0 takes the findings of all nodes, by rank. */
static weft_status gather_findings(doctor *d)
{
    weft_comm *comm = d->context.comm;
    const int ranks = comm_size(comm);
    const int64_t mine = (int64_t)d->list.count * (int64_t)sizeof(doctor_finding);
    int64_t *bytes = NULL;
    doctor_finding *all = NULL;
    int64_t total = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW_ZERO(&bytes, ranks, WEFT_MEM_GENERAL)), status, done);
    bytes[comm_rank(comm)] = mine;
    WEFT_TRY_GOTO(comm_allreduce(comm, bytes, ranks, WEFT_DTYPE_I64, COMM_SUM), status, done);
    for (int r = 0; r < ranks; r++) {
        total += bytes[r];
    }
    assert(total % (int64_t)sizeof *all == 0); /* ranks send whole findings */
    status = comm_rank(comm) == 0 ? weft_malloc((size_t)total, 1, WEFT_MEM_GENERAL, (void **)&all) : WEFT_OK;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_gatherv(comm, 0, d->list.finding, mine, all, bytes), status, done);
    if (comm_rank(comm) == 0) {
        doctor_list_free(&d->list);
        d->list.finding = all;
        d->list.count = d->list.capacity = (int)(total / (int64_t)sizeof *all);
        all = NULL;
    }
done:
    WEFT_FREE_ALL(bytes, all);
    return status;
}

static weft_status judge(doctor *d)
{
    weft_comm *comm = d->context.comm;
    WEFT_TRY(comm_agree(comm, comm_node_rank(comm) == 0 ? judge_node(d) : WEFT_OK));
    WEFT_TRY(gather_findings(d));
    if (comm_rank(comm) == 0) {
        doctor_check_nodes(&d->list, d->card, comm_get_layout(comm));
        if (d->pairs > 0) {
            doctor_check_links(&d->list, d->pair, d->pairs, comm_get_layout(comm));
        }
        doctor_check_load(&d->list, d->load.cpus, d->load.others, d->load.competitors, d->load.stolen);
        check_disk(&d->list);
        check_versions(&d->list);
    }
    return comm_agree(comm, d->list.status);
}

/* ---- printing ----------------------------------------------------------------------------------------------- */
static int count_verdict(const doctor_list *list, doctor_verdict verdict)
{
    int count = 0;
    for (int i = 0; list->finding != NULL && i < list->count; i++) {
        count += list->finding[i].verdict == verdict;
    }
    return count;
}

static weft_status fill_findings(const doctor_list *list, table_grid *grid)
{
    for (int i = 0; i < list->count; i++) {
        const doctor_finding *f = &list->finding[i];
        WEFT_TRY(table_grid_add(grid, (table_cell[]){cell_text(doctor_verdict_text(f->verdict)), cell_text(f->area),
                                                     cell_text(f->where), cell_real(f->value), cell_text(f->unit),
                                                     cell_text(f->found), cell_text(f->cure)}));
    }
    return WEFT_OK;
}

static weft_status fill_pairs(const doctor *d, table_grid *grid)
{
    for (int i = 0; i < d->pairs; i++) {
        const comm_pair *p = &d->pair[i];
        WEFT_TRY(table_grid_add(grid, (table_cell[]){cell_int(p->a), cell_int(p->b), cell_real(p->latency * 1e6),
                                                     cell_real(p->bytes_per_second * 1e-9)}));
    }
    return WEFT_OK;
}

static weft_status print(const doctor *d)
{
    static const table_column head_columns[] = {{"cpu", CELL_TEXT, true},     {"nodes", CELL_INT, true},
                                                {"ranks", CELL_INT, true},    {"threads", CELL_INT, true},
                                                {"warnings", CELL_INT, true}, {"notes", CELL_INT, true}};
    static const table_column columns[] = {{"verdict", CELL_TEXT, true}, {"area", CELL_TEXT, true},
                                           {"where", CELL_TEXT, true},   {"value", CELL_REAL, true},
                                           {"unit", CELL_TEXT, true},    {"found", CELL_TEXT, true},
                                           {"cure", CELL_TEXT, true}};
    static const table_column pair_columns[] = {
        {"a", CELL_INT, true}, {"b", CELL_INT, true}, {"latency_us", CELL_REAL, true}, {"gb_per_s", CELL_REAL, true}};
    const app_context *context = &d->context;
    const table_format format = option_choice(context->options, OPT_FORMAT_OUT);
    table_grid head = {.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    table_grid grid = {.name = "findings", .column = columns, .columns = sizeof columns / sizeof *columns};
    table_grid pairs = {.name = "pairs", .column = pair_columns, .columns = sizeof pair_columns / sizeof *pair_columns};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(
        table_grid_add(&head, (table_cell[]){cell_text(context->machine.model), cell_int(context->nodes),
                                             cell_int(comm_size(context->comm)), cell_int(context->placement.threads),
                                             cell_int(count_verdict(&d->list, DOCTOR_WARNING)),
                                             cell_int(count_verdict(&d->list, DOCTOR_NOTE))}),
        status, done);
    WEFT_TRY_GOTO(fill_findings(&d->list, &grid), status, done);
    if (format == TABLE_JSON || d->pairs <= PAIRS_SHOWN) {
        WEFT_TRY_GOTO(fill_pairs(d, &pairs), status, done);
    }
    table_grid_print(stdout, &head, &grid, &pairs, format);
done:
    table_grid_free(&head);
    table_grid_free(&grid);
    table_grid_free(&pairs);
    return status;
}

/* ---- the command -------------------------------------------------------------------------------------------- */
static weft_status run(doctor *d, const weft_options *options)
{
    bool by_openmp;
    WEFT_TRY(placement_start_mask(&d->mine.start, &by_openmp));
    WEFT_TRY(app_context_open(options, &d->context));
    weft_comm *comm = d->context.comm;
    comm_set_stall_timeout(comm, pair_timeout);
    fill_card(d);
    host_settings_read("/", &d->settings);
    load_watch watch;
    WEFT_TRY(train_load_begin(&d->load, &d->context));
    load_watch_begin(&watch);
    const weft_status measured = measure_node(d);
    d->mine.others = load_watch_end(&watch, &d->context.placement);
    train_load_end(&d->load);
    WEFT_TRY(measured);
    WEFT_TRY(train_load_gather(&d->load, &d->context));
    WEFT_TRY(share_cards(d));
    WEFT_TRY(comm_measure_pairs(comm, &d->pair, &d->pairs));
    WEFT_TRY(judge(d));
    return comm_agree(comm, comm_rank(comm) == 0 ? print(d) : WEFT_OK);
}

weft_status app_doctor(const weft_options *options)
{
    doctor *d = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_GENERAL));
    const weft_status status = run(d, options);
    if (status != WEFT_OK) {
        fflush(stdout);
        app_context_fail(&d->context, status);
    }
    WEFT_FREE_ALL(d->card, d->pair);
    doctor_list_free(&d->list);
    app_context_close(&d->context);
    weft_free(d);
    return status;
}
