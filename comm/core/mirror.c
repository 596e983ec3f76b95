/* comm/core/mirror.c: see comm/core/mirror.h. */
#include "comm/core/mirror.h"

#include "base/alloc.h"

weft_status mirror_create(weft_hal *hal, int64_t count, comm_mirror *mirror)
{
    *mirror = (comm_mirror){.hal = hal, .count = count, .on_host = true};
    WEFT_TRY(WEFT_NEW_ZERO(&mirror->host, count, WEFT_MEM_COMM));
    return count > 0 ? hal->mem.alloc(hal, mirror_bytes(mirror->count), WEFT_MEM_COMM, (void **)&mirror->device)
                     : WEFT_OK;
}

void mirror_free(comm_mirror *mirror)
{
    if (mirror->device != NULL) {
        mirror->hal->mem.free(mirror->hal, mirror->device);
    }
    weft_free(mirror->host);
    *mirror = (comm_mirror){0};
}

weft_status mirror_to_device(comm_mirror *mirror)
{
    if (mirror->on_host && mirror->count > 0) {
        WEFT_TRY(mirror->hal->mem.upload(mirror->hal, mirror->device, mirror->host, mirror_bytes(mirror->count)));
    }
    mirror->on_host = false;
    return WEFT_OK;
}

weft_status mirror_to_host(comm_mirror *mirror)
{
    if (!mirror->on_host && mirror->count > 0) {
        WEFT_TRY(mirror->hal->mem.download(mirror->hal, mirror->host, mirror->device, mirror_bytes(mirror->count)));
    }
    mirror->on_host = true;
    return WEFT_OK;
}
