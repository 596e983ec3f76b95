/* app/setup/device_choice.c: see app/setup/device_choice.h. Ranks that see different devices of their node, because a batch
 * system gives each its own (CUDA_VISIBLE_DEVICES), each choose among what they see. */
#include "app/setup/device_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hal/devices.h"
#include "machine/pci_link.h"

typedef struct device_card {
    char host[64];
    int node_rank;
    cpu_set mask;
    hal_device device;
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

void device_choose(const cpu_set *mask, int ranks, const cpu_set *near, int devices, int *device)
{
    int load[HAL_DEVICES_MOST] = {0};
    const int most = (ranks + devices - 1) / devices;
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

/* [out] mine->device.number  the chosen one. card: all ranks' with masks. */
static weft_status choose(const app_context *context, const device_card *card, int devices, device_card *mine)
{
    const int ranks = comm_node_size(context->comm);
    cpu_set near[HAL_DEVICES_MOST];
    cpu_set *mask = NULL;
    int *device = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&mask, ranks, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&device, ranks, WEFT_MEM_GENERAL), status, done);
    for (int d = 0; d < devices; d++) {
        hal_device seen;
        pci_link link;
        WEFT_TRY_GOTO(hal_device_describe(d, false, &seen), status, done);
        pci_link_read("/", seen.place, &link);
        near[d] = link.near;
    }
    for (int r = 0; r < comm_size(context->comm); r++) {
        if (strcmp(card[r].host, context->host) == 0 && card[r].node_rank < ranks) {
            mask[card[r].node_rank] = card[r].mask;
        }
    }
    device_choose(mask, ranks, near, devices, device);
    mine->device.number = device[mine->node_rank];
done:
    weft_free(mask);
    weft_free(device);
    return status;
}

/* The device that the option names, or the one chosen, described; and the backend on it. */
static weft_status open_mine(app_context *context, const device_card *card, device_card *mine)
{
    const char *backend = option_text(context->options, OPT_BACKEND);
    const char *colon = strchr(backend, ':');
    char resource[32];
    int devices = 0;
    if (colon != NULL) {
        mine->device.number = (int)strtol(colon + 1, NULL, 10); /* opening it says what is wrong with it */
        WEFT_TRY(weft_hal_open(backend, context->placement.threads, &context->hal));
    } else {
        WEFT_TRY(hal_devices_count(&devices));
        WEFT_TRY(choose(context, card, devices, mine));
        snprintf(resource, sizeof resource, "%.20s:%d", backend, mine->device.number);
        WEFT_TRY(weft_hal_open(resource, context->placement.threads, &context->hal));
    }
    return hal_device_describe(mine->device.number, false, &mine->device);
}

/* "node n03: GPU 0 (Tesla V100 at 0000:3b:00.0) for ranks 0 2, GPU 1 (...) for ranks 1 3" */
static void describe_node(const device_card *card, int ranks, const char *host)
{
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line, "node %s:", host);
    for (int first = 0; first < ranks && used < sizeof line; first++) {
        bool told = strcmp(card[first].host, host) != 0;
        for (int r = 0; r < first; r++) {
            told = told ||
                   (strcmp(card[r].host, host) == 0 && strcmp(card[r].device.place, card[first].device.place) == 0);
        }
        const char *comma = "";
        for (int r = first; !told && r < ranks && used < sizeof line; r++) {
            if (strcmp(card[r].host, host) == 0 && strcmp(card[r].device.place, card[first].device.place) == 0) {
                const hal_device *d = &card[r].device;
                used += r == first ? (size_t)snprintf(line + used, sizeof line - used, " GPU %d (%s at %s) for rank %d",
                                                      d->number, d->name, d->place, r)
                                   : (size_t)snprintf(line + used, sizeof line - used, ", %d", r);
                comma = ";";
            }
        }
        used += used < sizeof line ? (size_t)snprintf(line + used, sizeof line - used, "%s", comma) : 0;
    }
    line[strcspn(line, "\n")] = '\0';
    const size_t length = strlen(line);
    line[length > 0 && line[length - 1] == ';' ? length - 1 : length] = '\0';
    log_info("%s", line);
}

weft_status device_choice_open(app_context *context)
{
    weft_comm *comm = context->comm;
    const int ranks = comm_size(comm);
    device_card mine = {.node_rank = comm_node_rank(comm), .mask = context->placement.mask};
    device_card *card = NULL;
    weft_status status = comm_agree(comm, WEFT_NEW_ZERO(&card, ranks, WEFT_MEM_GENERAL));
    memcpy(mine.host, context->host, sizeof mine.host);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    WEFT_TRY_GOTO(comm_agree(comm, open_mine(context, card, &mine)), status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    for (int r = 0; r < ranks; r++) {
        context->device_ranks +=
            strcmp(card[r].host, mine.host) == 0 && strcmp(card[r].device.place, mine.device.place) == 0;
        if (card[r].node_rank == 0) {
            describe_node(card, ranks, card[r].host);
        }
    }
done:
    weft_free(card);
    return status;
}
