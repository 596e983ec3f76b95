/*
 * comm/group/device_memory.c: whether messages may lie in the memory of devices. The library's word counts on all ranks
 * together: two ends of a message may use it differently where one knows devices and the other does not. What then goes
 * straight is each rank's own affair, as the bytes of its messages are the same.
 */
#include <stdio.h>

#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"

/* What some rank of the job has, or says. */
enum { SOME_NOBODY, SOME_CUDA, SOME_ALL, SOME_SAYS_NO, SOME_SAYS_NOTHING, SOMES };
_Static_assert(SOME_NOBODY == (int)HAL_REACH_NOBODY && SOME_CUDA == (int)HAL_REACH_CUDA &&
                   SOME_ALL == (int)HAL_REACH_ALL,
               "memory of devices is counted by its reach");

int comm_takes_cuda(const weft_comm *comm)
{
    const transport_ops *ops = comm->transport->ops;
    progress_lock(comm->progress);
    const int takes = ops->takes_cuda != NULL ? ops->takes_cuda(comm->transport) : 0;
    progress_unlock(comm->progress);
    return takes;
}

/* Collective. */
static weft_status ask_all(weft_comm *comm, const weft_hal *hal, int64_t some[SOMES])
{
    const int takes = comm_takes_cuda(comm);
    for (int i = 0; i < SOMES; ++i) {
        some[i] = 0;
    }
    if (!hal_host_visible(hal)) {
        some[hal->mem.reach] = 1;
    }
    some[SOME_SAYS_NO] = takes == 0;
    some[SOME_SAYS_NOTHING] = takes < 0;
    return comm_allreduce(comm, some, SOMES, WEFT_DTYPE_I64, COMM_MAX);
}

static void library_name(const weft_comm *comm, char *text, size_t bytes)
{
    if (comm->transport->ops->takes_cuda != NULL) {
        comm_mpi_version(text, bytes);
    } else {
        snprintf(text, bytes, "transport %s", comm_transport_name(comm));
    }
}

/* Why rows do not go straight, and what would help. */
static void say_staged(const weft_comm *comm, const int64_t some[SOMES], comm_direct wish, char *text, size_t bytes)
{
    char library[80];
    library_name(comm, library, sizeof library);
    if (wish == COMM_DIRECT_OFF) {
        snprintf(text, bytes, FLAG_GPU_DIRECT " off");
    } else if (some[SOME_CUDA] && some[SOME_SAYS_NO]) {
        snprintf(text, bytes,
                 "%s takes no device memory; one that was built with CUDA does (ompi_info says "
                 "mpi_built_with_cuda_support:value:true)",
                 library);
    } else if (some[SOME_CUDA]) {
        snprintf(text, bytes, "%s does not say whether it takes device memory; " FLAG_GPU_DIRECT " on if it does",
                 library);
    } else {
        snprintf(text, bytes, "no library reaches the memory of this backend");
    }
}

weft_status comm_choose_direct(weft_comm *comm, const weft_hal *hal, comm_direct wish, char road[COMM_ROAD_BYTES])
{
    int64_t some[SOMES];
    char why[COMM_ROAD_BYTES - 64];
    char library[80];
    road[0] = '\0';
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(ask_all(comm, hal, some));
    const bool known = !some[SOME_SAYS_NO] && (wish == COMM_DIRECT_ON || !some[SOME_SAYS_NOTHING]);
    comm->straight[HAL_REACH_CUDA] = wish != COMM_DIRECT_OFF && known;
    comm->straight[HAL_REACH_ALL] = wish != COMM_DIRECT_OFF;
    bool staged = false;
    bool straight = false;
    for (int reach = 0; reach < HAL_REACHES; ++reach) {
        staged = staged || (some[reach] && !comm->straight[reach]);
        straight = straight || (some[reach] && comm->straight[reach]);
    }
    library_name(comm, library, sizeof library);
    say_staged(comm, some, wish, why, sizeof why);
    WEFT_CHECK(!staged || wish != COMM_DIRECT_ON, WEFT_ERR_UNSUPPORTED, FLAG_GPU_DIRECT " on: %s", why);
    if (staged) {
        snprintf(road, COMM_ROAD_BYTES, "through pinned host memory: %s", why);
    } else if (straight) {
        snprintf(road, COMM_ROAD_BYTES, "straight to %s and come straight from it", library);
    }
    return WEFT_OK;
}
