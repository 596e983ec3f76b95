/* app/setup/device_choice.c: see app/setup/device_choice.h. Ranks that see different devices of their node, because a
 * batch system gives each its own (CUDA_VISIBLE_DEVICES), each choose among what they see. */
#include "app/setup/device_choice.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/append.h"
#include "hal/devices.h"
#include "machine/pci_link.h"

typedef struct device_card {
    char host[64];
    cpu_set mask;
    int devices;       /* that this rank sees; 0: none */
    uint64_t view;     /* a hash of their places */
    char backend[16];  /* once it is open */
    hal_device device; /* place "": the host */
} device_card;

static int least_loaded(const int *load, const cpu_set *near, int devices, const cpu_set *mask, int most)
{
    int best = -1;
    for (int d = 0; d < devices; d++) {
        const bool may = load[d] < most && (mask == NULL || cpu_set_intersects(mask, &near[d]));
        best = may && (best < 0 || load[d] < load[best]) ? d : best;
    }
    return best;
}

void device_choose(const cpu_set *mask, int ranks, const cpu_set *near, int devices, int most, int *device)
{
    int load[HAL_DEVICES_MOST] = {0};
    assert(ranks > 0 && devices > 0 && devices <= HAL_DEVICES_MOST);
    most = most > 0 ? most : (ranks + devices - 1) / devices;
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < ranks; r++) {
            if (pass == 0) {
                device[r] = least_loaded(load, near, devices, &mask[r], most);
            } else if (device[r] < 0) {
                device[r] = least_loaded(load, near, devices, NULL, most);
            } else {
                continue;
            }
            if (device[r] >= 0) {
                load[device[r]]++;
            }
        }
    }
}

/* What this rank sees. Where there is nothing, `must` tells why. */
static weft_status look(bool must, device_card *mine)
{
    weft_status status = hal_devices_count(&mine->devices);
    for (int d = 0; status == WEFT_OK && d < mine->devices; d++) {
        hal_device seen;
        status = hal_device_describe(d, false, &seen);
        mine->view = file_checksum(seen.place, strlen(seen.place), mine->view);
    }
    if (status == WEFT_ERR_UNSUPPORTED && !must) {
        weft_error_clear();
        mine->devices = 0;
        status = WEFT_OK;
    }
    return status;
}

/* [out] number  the chosen one, among what this rank and others of its node see alike; -1: it has none to itself. */
static weft_status choose(const app_context *context, const device_card *card, int most, int *number)
{
    const device_card *mine = &card[comm_rank(context->comm)];
    cpu_set near[HAL_DEVICES_MOST], *mask = NULL;
    int *device = NULL, sharing = 0, me = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&mask, comm_size(context->comm), WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&device, comm_size(context->comm), WEFT_MEM_GENERAL), status, done);
    for (int d = 0; d < mine->devices; d++) {
        hal_device seen;
        pci_link link;
        WEFT_TRY_GOTO(hal_device_describe(d, false, &seen), status, done);
        pci_link_read("/", seen.place, &link);
        near[d] = link.near;
    }
    for (int r = 0; r < comm_size(context->comm); r++) {
        const bool alike = card[r].devices == mine->devices && card[r].view == mine->view;
        if (alike && strcmp(card[r].host, mine->host) == 0) {
            me = &card[r] == mine ? sharing : me;
            mask[sharing++] = card[r].mask;
        }
    }
    device_choose(mask, sharing, near, mine->devices, most, device);
    assert(me < sharing); /* this rank is one of those that see what it sees */
    *number = device[me];
done:
    WEFT_FREE_ALL(mask, device);
    return status;
}

/* WEFT_ERR_UNSUPPORTED: it cannot be had. */
static weft_status open_device(app_context *context, int number, hal_device *device)
{
    char resource[32];
    snprintf(resource, sizeof resource, HAL_BACKEND_DEVICES ":%d", number);
    WEFT_TRY(weft_hal_open(resource, context->placement.threads, &context->hal));
    return hal_device_describe(number, false, device);
}

/* A device to itself, or the host. */
static weft_status open_auto(app_context *context, const device_card *card, hal_device *device)
{
    int number = -1;
    if (card[comm_rank(context->comm)].devices > 0) {
        WEFT_TRY(choose(context, card, 1, &number));
    }
    weft_status status = number >= 0 ? open_device(context, number, device) : WEFT_ERR_UNSUPPORTED;
    if (status != WEFT_ERR_UNSUPPORTED) {
        return status;
    }
    weft_error_clear();
    *device = (hal_device){.number = -1};
    return weft_hal_open(HAL_BACKEND_HOST, context->placement.threads, &context->hal);
}

/* The device that the option names, or the one chosen, described; and the backend on it. */
static weft_status open_mine(app_context *context, const device_card *card, hal_device *device)
{
    const char *backend = option_text(context->options, OPT_BACKEND), *colon = strchr(backend, ':');
    int number = 0;
    if (hal_backend_is_auto(backend)) {
        return open_auto(context, card, device);
    }
    if (colon != NULL) {
        WEFT_TRY(weft_hal_open(backend, context->placement.threads, &context->hal)); /* says what is wrong with it */
        return hal_device_describe((int)strtol(colon + 1, NULL, 10), false, device);
    }
    WEFT_TRY(choose(context, card, 0, &number));
    return open_device(context, number, device);
}

/* Ranks that compute alike: on one device, or on the host of one node. */
static bool together(const device_card *a, const device_card *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->device.place, b->device.place) == 0;
}

/* "node n03: GPU 0 (Tesla V100 at 0000:3b:00.0) for rank 0, 2; GPU 1 (...) for rank 1; backend cpu for rank 3" */
static void describe_node(const device_card *card, int ranks, const char *host)
{
    char line[512];
    const char *comma = "";
    snprintf(line, sizeof line, "node %s:", host);
    for (int first = 0; first < ranks; first++) {
        bool told = strcmp(card[first].host, host) != 0;
        for (int r = 0; r < first; r++) {
            told = told || together(&card[r], &card[first]);
        }
        for (int r = first; !told && r < ranks; r++) {
            const hal_device *d = &card[r].device;
            if (r != first && together(&card[r], &card[first])) {
                text_append(line, sizeof line, ", %d", r);
            } else if (r == first && d->place[0] != '\0') {
                text_append(line, sizeof line, "%s GPU %d (%s at %s) for rank %d", comma, d->number, d->name, d->place,
                            r);
            } else if (r == first) {
                text_append(line, sizeof line, "%s backend %s for rank %d", comma, card[r].backend, r);
            }
            comma = ";";
        }
    }
    log_info("%s", line);
}

/* "cuda", or "cuda on 1 rank, cpu on 3": which backends there are, in the order of ranks. */
static void describe_backends(const device_card *card, int ranks, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int first = 0; first < ranks; first++) {
        int before = 0, alike = 0;
        for (int r = 0; r < ranks; r++) {
            const bool same = strcmp(card[r].backend, card[first].backend) == 0;
            before += same && r < first;
            alike += same;
        }
        if (before == 0 && alike == ranks) {
            snprintf(text, bytes, "%s", card[first].backend);
        } else if (before == 0) {
            text_append(text, bytes, first == 0 ? "%s on %d rank%s" : ", %s on %d", card[first].backend, alike,
                        alike == 1 ? "" : "s");
        }
    }
}

weft_status device_choice_open(app_context *context)
{
    weft_comm *comm = context->comm;
    const int ranks = comm_size(comm);
    const bool must = !hal_backend_is_auto(option_text(context->options, OPT_BACKEND));
    device_card mine = {.mask = context->placement.mask};
    device_card *card = NULL;
    weft_status status = WEFT_NEW_ZERO(&card, ranks, WEFT_MEM_GENERAL);
    memcpy(mine.host, context->host, sizeof mine.host);
    status = status == WEFT_OK ? look(must, &mine) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    WEFT_TRY_GOTO(comm_agree(comm, open_mine(context, card, &mine.device)), status, done);
    snprintf(mine.backend, sizeof mine.backend, "%s", context->hal->name);
    WEFT_TRY_GOTO(comm_allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    for (int r = 0; r < ranks; r++) {
        context->mixed = context->mixed || strcmp(card[r].backend, mine.backend) != 0;
        context->device_ranks += mine.device.place[0] != '\0' && together(&card[r], &mine);
        bool told = false;
        for (int q = 0; q < r; q++) {
            told = told || strcmp(card[q].host, card[r].host) == 0;
        }
        if (!told) {
            describe_node(card, ranks, card[r].host);
        }
    }
    describe_backends(card, ranks, context->backends, sizeof context->backends);
done:
    weft_free(card);
    return status;
}
