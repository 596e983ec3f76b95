/*
 * comm/core/buffer.c: buffers in shared memory, the register that finds the window of an address, and the vectors of
 * all ranks of a node.
 *
 * A family of communicators has one register: a plan on a communicator that was split from another uses buffers of
 * both. Few buffers live at a time (one or two a model), so the register is a list.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/core/comm_internal.h"
#include "comm/core/window.h"

typedef struct shared_buffer shared_buffer;
struct shared_buffer {
    shared_buffer *next;
    comm_window *window; /* NULL: ordinary memory */
    char *data;
    int64_t bytes;
};

struct buffer_registry {
    shared_buffer *first;
    int references;
};

weft_status buffer_registry_create(buffer_registry **registry)
{
    WEFT_TRY(WEFT_NEW_ZERO(registry, 1, WEFT_MEM_COMM));
    (*registry)->references = 1;
    return WEFT_OK;
}

buffer_registry *buffer_registry_retain(buffer_registry *registry)
{
    assert(registry->references > 0);
    ++registry->references;
    return registry;
}

void buffer_registry_release(buffer_registry *registry)
{
    if (registry != NULL && --registry->references == 0) {
        weft_free(registry);
    }
}

/* First touch: the thread that will work on a part of the buffer makes its pages. */
static void touch(char *data, int64_t bytes)
{
    enum { PART = 1 << 18 };
    int64_t parts = (bytes + PART - 1) / PART;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int64_t p = 0; p < parts; ++p) {
        int64_t rest = bytes - p * PART;
        memset(data + p * PART, 0, (size_t)(rest < PART ? rest : PART));
    }
}

/* Collective. Shared memory if there is room for all ranks, else ordinary memory on all of them. */
static weft_status buffer_memory(weft_comm *comm, int64_t bytes, shared_buffer *made)
{
    weft_status status = comm_window_create(comm, bytes, &made->window);
    if (status == WEFT_OK) {
        made->data = window_segment(made->window, window_me(made->window));
        return WEFT_OK;
    }
    if (status != WEFT_ERR_RESOURCE) {
        return status;
    }
    log_warn("a buffer of %lld bytes lies in ordinary memory, so ranks of a node copy it: %s", (long long)bytes,
             weft_error_message());
    return comm->meet->agree(comm, weft_malloc(1, (size_t)bytes, WEFT_MEM_COMM, (void **)&made->data));
}

weft_status comm_buffer_alloc(weft_comm *comm, int64_t bytes, void **buffer)
{
    weft_status status = WEFT_OK;
    shared_buffer *made = NULL;
    *buffer = NULL;
    WEFT_CHECK(bytes >= 0, WEFT_ERR_INTERNAL, "a shared buffer of %lld bytes", (long long)bytes);
    if (bytes == 0) {
        return WEFT_OK;
    }
    weft_status local = WEFT_NEW_ZERO(&made, 1, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(buffer_memory(comm, bytes, made), status, done);
    touch(made->data, bytes);
    made->bytes = bytes;
    made->next = comm->buffers->first;
    comm->buffers->first = made;
    *buffer = made->data;
    made = NULL;
done:
    if (made != NULL) {
        weft_free(made->data); /* ordinary memory: a window is not lost any more */
        weft_free(made);
    }
    return status;
}

void comm_buffer_free(weft_comm *comm, void *buffer)
{
    shared_buffer **at = &comm->buffers->first;
    while (*at != NULL && (*at)->data != buffer) {
        at = &(*at)->next;
    }
    shared_buffer *found = buffer == NULL ? NULL : *at;
    if (found != NULL) {
        *at = found->next;
        if (found->window != NULL) {
            comm_window_destroy(found->window);
        } else {
            weft_free(found->data);
        }
        weft_free(found);
    }
}

comm_window *comm_buffer_window(const weft_comm *comm, const void *data, int64_t bytes, int64_t *offset)
{
    uintptr_t from = (uintptr_t)data;
    for (const shared_buffer *at = comm->buffers->first; at != NULL; at = at->next) {
        uintptr_t begin = (uintptr_t)at->data;
        if (at->window != NULL && from >= begin && from - begin <= (uintptr_t)at->bytes &&
            (uintptr_t)bytes <= (uintptr_t)at->bytes - (from - begin)) {
            *offset = (int64_t)(from - begin);
            return at->window;
        }
    }
    return NULL;
}

/* ---- the vectors of a node --------------------------------------------------------------------------------------- */
/* Where a rank's vector lies. */
typedef struct vector_card {
    uint64_t window; /* its id; 0: in none */
    int64_t local, offset;
} vector_card;

static bool one_window_a_node(const comm_layout *layout, const vector_card *card)
{
    for (int q = 0; q < layout->first[layout->nodes]; ++q) {
        const vector_card *leader = &card[layout->member[layout->first[layout->node_of[q]]]];
        if (card[q].window == 0 || card[q].window != leader->window) {
            return false;
        }
    }
    return true;
}

weft_status comm_buffer_vectors(weft_comm *comm, const void *data, int64_t bytes, void **vector, bool *direct)
{
    weft_status status = WEFT_OK;
    const comm_layout *layout = comm->layout;
    const int *member = layout->member + layout->first[layout->node_of[comm_rank(comm)]];
    vector_card mine = {0};
    vector_card *card = NULL;
    weft_status local = WEFT_NEW(&card, comm_size(comm), WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    comm_window *window = comm_buffer_window(comm, data, bytes, &mine.offset);
    if (window != NULL) {
        mine.window = window_id(window);
        mine.local = window_me(window);
    }
    WEFT_TRY_GOTO(comm->meet->allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    *direct = one_window_a_node(layout, card);
    for (int q = 0; *direct && q < comm_node_size(comm); ++q) {
        const vector_card *theirs = &card[member[q]];
        vector[q] = (char *)window_segment(window, (int)theirs->local) + theirs->offset;
    }
done:
    weft_free(card);
    return status;
}
