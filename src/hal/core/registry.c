/* hal/core/registry.c: opening a backend by its resource string, "name" or "name:argument". */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "hal/core/fill_slots.h"
#include "hal/cpu/library/lapack.h"
#include "hal/cpu/library/onednn.h"
#include "hal/devices.h"
#include "hal/hal.h"

#define HAL_BACKEND(name, description) weft_status hal_open_##name(weft_hal *hal, int threads, const char *argument);
#include "base/text/append.h"
#include "hal/backend_list.h"
#undef HAL_BACKEND

static const hal_backend backends[] = {
#define HAL_BACKEND(name, description) {#name, description, hal_open_##name},
#include "hal/backend_list.h"
#undef HAL_BACKEND
};

enum { BACKENDS = (int)(sizeof backends / sizeof backends[0]), MAX_THREADS = 4096 };

const hal_backend *weft_hal_backend_at(int i)
{
    return i >= 0 && i < BACKENDS ? &backends[i] : NULL;
}

const char *weft_hal_library(void)
{
    return onednn_version();
}

void weft_hal_lapack(bool open, char *text, size_t bytes)
{
    lapack_describe(open, text, bytes);
}

static const hal_backend *find_backend(const char *resource, size_t length)
{
    for (int i = 0; i < BACKENDS; ++i) {
        if (strlen(backends[i].name) == length && strncmp(backends[i].name, resource, length) == 0) {
            return &backends[i];
        }
    }
    return NULL;
}

/* `length`: of the name before the colon. The message names the nearest backend and all of them. */
static weft_status fail_unknown(const char *resource, size_t length)
{
    const char *names[BACKENDS + 1];
    char word[32];
    char all[160] = "";
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), resource);
    for (int i = 0; i <= BACKENDS; ++i) {
        names[i] = i < BACKENDS ? backends[i].name : HAL_BACKEND_AUTO;
        text_append_item(all, sizeof all, "%s", names[i]);
    }
    const char *nearest = nearest_word(word, names, BACKENDS + 1);
    return weft_fail(WEFT_ERR_USAGE, "no backend \"%s\"%s%s%s (backends: %s)", resource,
                     nearest != NULL ? ": did you mean \"" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "\"?" : "", all);
}

static weft_status open_auto(int threads, weft_hal **out)
{
    int devices = 0;
    weft_status status = hal_devices_count(&devices);
    status = status == WEFT_OK ? weft_hal_open(HAL_BACKEND_DEVICES, threads, out) : status;
    if (status != WEFT_ERR_UNSUPPORTED) {
        return status;
    }
    weft_error_clear();
    return weft_hal_open(HAL_BACKEND_HOST, threads, out);
}

weft_status weft_hal_open(const char *resource, int threads, weft_hal **out)
{
    *out = NULL;
    if (hal_backend_is_auto(resource)) {
        return open_auto(threads, out);
    }
    size_t length = strcspn(resource, ":");
    const char *argument = resource[length] == ':' ? resource + length + 1 : "";
    const hal_backend *backend = find_backend(resource, length);
    if (backend == NULL && hal_backend_has_devices(resource)) {
        int none = 0;
        return hal_devices_count(&none);
    }
    if (backend == NULL) {
        return fail_unknown(resource, length);
    }
    WEFT_CHECK(threads >= 1 && threads <= MAX_THREADS, WEFT_ERR_USAGE,
               "backend %s: %d threads asked for; 1 to %d are possible", resource, threads, (int)MAX_THREADS);
    weft_hal *hal = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&hal, 1, WEFT_MEM_GENERAL));
    hal->name = backend->name;
    hal->threads = threads;
    snprintf(hal->argument, sizeof hal->argument, "%s", argument);
    weft_status status = backend->open(hal, threads, argument);
    if (status != WEFT_OK) {
        weft_free(hal);
        return status;
    }
    hal_fill_slots(hal);
    *out = hal;
    return WEFT_OK;
}

weft_status weft_hal_open_alike(const weft_hal *like, int threads, weft_hal **out)
{
    char resource[2 * HAL_ARGUMENT_BYTES];
    snprintf(resource, sizeof resource, "%s%s%s", like->name, like->argument[0] != '\0' ? ":" : "", like->argument);
    return weft_hal_open(resource, threads, out);
}

void weft_hal_close(weft_hal *hal)
{
    if (hal == NULL) {
        return;
    }
    if (hal->close != NULL) {
        hal->close(hal);
    }
    weft_free(hal);
}
