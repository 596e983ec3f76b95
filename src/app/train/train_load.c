/* app/train/train_load.c: see app/train/train_load.h. */
#include "app/train/train_load.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text/append.h"

typedef struct rank_row {
    char host[64];
    int pid;
    cpu_set mask;
} rank_row;

static void note_node(train_load *load, const rank_row *rows, int ranks, const char *host)
{
    for (int r = 0; r < ranks; r++) {
        if (strcmp(rows[r].host, host) != 0) {
            continue;
        }
        load->pids[load->pid_count++] = rows[r].pid;
        for (int cpu = 0; cpu < PLACEMENT_MAX_CPUS; cpu++) {
            if (cpu_set_has(&rows[r].mask, cpu)) {
                cpu_set_add(&load->node_cpus, cpu);
            }
        }
    }
}

weft_status train_load_begin(train_load *load, const app_context *context)
{
    const int ranks = comm_size(context->comm);
    rank_row *rows = NULL;
    rank_row mine = {.pid = (int)getpid(), .mask = context->placement.mask};
    *load = (train_load){.cpus = 0};
    memcpy(mine.host, context->host, sizeof mine.host);
    weft_status status = WEFT_NEW(&rows, ranks, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&load->pids, ranks, WEFT_MEM_WORKSPACE) : status;
    WEFT_TRY_GOTO(comm_agree(context->comm, status), status, done);
    WEFT_TRY_GOTO(comm_allgather(context->comm, &mine, (int64_t)sizeof mine, rows), status, done);
    note_node(load, rows, ranks, mine.host);
    load->look = comm_node_rank(context->comm) == 0 ? host_look_begin("/") : NULL;
    load->cpu_begin = clock_cpu_seconds();
done:
    weft_free(rows);
    return status;
}

void train_load_end(train_load *load)
{
    if (load->pids == NULL) {
        return;
    }
    load->cpu_used = clock_cpu_seconds() - load->cpu_begin;
    host_look_end(load->look, "/", &load->node_cpus, load->pids, load->pid_count, &load->seen);
    weft_free(load->pids);
    load->pids = NULL;
    load->look = NULL;
}

static void name_competitors(const host_load *seen, train_load *load)
{
    load->competitors[0] = '\0';
    for (int i = 0; i < HOST_LOAD_NAMED && seen->other[i].cpus > 0.0; i++) {
        const host_process *p = &seen->other[i];
        text_append_item(load->competitors, sizeof load->competitors, "%s (pid %d) %.1f", p->name, p->pid, p->cpus);
    }
}

void train_load_choose(const train_load_row *rows, int ranks, train_load *load)
{
    double most = -1.0;
    assert(ranks > 0);
    for (int r = 0; r < ranks; r++) {
        const host_load *seen = &rows[r].seen;
        double used = 0.0;
        int threads = 0;
        if (seen->seconds <= 0.0) {
            continue;
        }
        for (int other = 0; other < ranks; other++) {
            const bool same = strcmp(rows[other].host, rows[r].host) == 0;
            used += same ? rows[other].used : 0.0;
            threads += same ? rows[other].threads : 0;
        }
        const double own = used / seen->seconds;
        const double others = seen->busy > own ? seen->busy - own : 0.0;
        if (others + seen->stolen > most) {
            most = others + seen->stolen;
            load->own = own;
            load->others = others;
            load->stolen = seen->stolen;
            load->threads = threads;
            load->cpus = seen->cpus;
            name_competitors(seen, load);
        }
    }
}

weft_status train_load_gather(train_load *load, const app_context *context)
{
    const int ranks = comm_size(context->comm);
    train_load_row *rows = NULL;
    train_load_row mine = {.threads = context->placement.threads, .used = load->cpu_used, .seen = load->seen};
    memcpy(mine.host, context->host, sizeof mine.host);
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW(&rows, ranks, WEFT_MEM_WORKSPACE)));
    weft_status status = comm_allgather(context->comm, &mine, (int64_t)sizeof mine, rows);
    if (status == WEFT_OK && comm_rank(context->comm) == 0) {
        train_load_choose(rows, ranks, load);
    }
    weft_free(rows);
    return status;
}
