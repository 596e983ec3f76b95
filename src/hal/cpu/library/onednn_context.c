/* hal/cpu/library/onednn_context.c: see onednn_context.h. */
#include "hal/cpu/library/onednn.h"

#ifdef WEFT_HAVE_ONEDNN

#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "hal/cpu/library/onednn_context.h"

weft_status onednn_open(int threads, onednn **out)
{
    *out = NULL;
    onednn *library = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&library, 1, WEFT_MEM_GENERAL));
    library->threads = threads;
    if (dnnl_engine_create(&library->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&library->stream, library->engine, dnnl_stream_default_flags) != dnnl_success) {
        onednn_close(library);
        return weft_fail(WEFT_ERR_RESOURCE, "%s: its engine could not be created", onednn_version());
    }
    *out = library;
    return WEFT_OK;
}

void onednn_close(onednn *library)
{
    if (library == NULL) {
        return;
    }
    onednn_gemms_destroy(library->gemms);
    if (library->stream != NULL) {
        dnnl_stream_destroy(library->stream);
    }
    if (library->engine != NULL) {
        dnnl_engine_destroy(library->engine);
    }
    WEFT_FREE_ALL(library->scratch.memory, library->packed.memory, library->staging.memory, library);
}

weft_status onednn_room_grow(onednn_room *room, size_t bytes)
{
    if (bytes <= room->bytes) {
        return WEFT_OK;
    }
    weft_free(room->memory);
    *room = (onednn_room){0};
    WEFT_TRY(weft_malloc(bytes, 1, WEFT_MEM_WORKSPACE, &room->memory));
    room->bytes = bytes;
    return WEFT_OK;
}

static dnnl_status_t append_all(dnnl_post_ops_t ops, float factor, bool relu)
{
    if (factor != 0.0F) {
        TRY_DNNL(append_sum(ops, factor));
    }
    return relu ? append_relu(ops) : dnnl_success;
}

dnnl_status_t onednn_attr_create(float factor, bool relu, dnnl_primitive_attr_t *attr)
{
    TRY_DNNL(dnnl_primitive_attr_create(attr));
    TRY_DNNL(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user));
    if (factor == 0.0F && !relu) {
        return dnnl_success;
    }
    dnnl_post_ops_t ops = NULL;
    TRY_DNNL(dnnl_post_ops_create(&ops));
    dnnl_status_t status = append_all(ops, factor, relu);
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_set_post_ops(*attr, ops);
    }
    dnnl_post_ops_destroy(ops);
    return status;
}

weft_status onednn_step_argument(const onednn *library, onednn_step *step, int argument, read_desc desc)
{
    assert(step->arguments < ONEDNN_ARGUMENTS);
    dnnl_status_t status = dnnl_memory_create(&step->memory[step->arguments], desc, library->engine, DNNL_MEMORY_NONE);
    WEFT_CHECK(status == dnnl_success, WEFT_ERR_RESOURCE, "%s: no memory object (status %d)", onednn_version(),
               (int)status);
    step->argument[step->arguments++] = argument;
    return WEFT_OK;
}

weft_status onednn_step_create(onednn *library, const_dnnl_primitive_desc_t desc, onednn_step *step)
{
    *step = (onednn_step){0};
    dnnl_status_t status = dnnl_primitive_create(&step->primitive, desc);
    WEFT_CHECK(status == dnnl_success, WEFT_ERR_RESOURCE, "%s: a primitive could not be created (status %d)",
               onednn_version(), (int)status);
    read_desc scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    size_t bytes = dnnl_memory_desc_get_size(scratch);
    if (bytes > 0) {
        WEFT_TRY(onednn_room_grow(&library->scratch, bytes));
        WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_SCRATCHPAD, scratch));
    }
    return WEFT_OK;
}

void onednn_step_destroy(onednn_step *step)
{
    for (int i = 0; i < step->arguments; ++i) {
        dnnl_memory_destroy(step->memory[i]);
    }
    if (step->primitive != NULL) {
        dnnl_primitive_destroy(step->primitive);
    }
    *step = (onednn_step){0};
}

static dnnl_status_t execute(const onednn *library, const onednn_step *step, void *const *pointer)
{
    dnnl_exec_arg_t args[ONEDNN_ARGUMENTS];
    for (int i = 0; i < step->arguments; ++i) {
        void *at = step->argument[i] == DNNL_ARG_SCRATCHPAD ? library->scratch.memory : *pointer++;
        TRY_DNNL(dnnl_memory_set_data_handle(step->memory[i], at));
        args[i] = (dnnl_exec_arg_t){step->argument[i], step->memory[i]};
    }
    TRY_DNNL(dnnl_primitive_execute(step->primitive, library->stream, step->arguments, args));
    return dnnl_stream_wait(library->stream);
}

weft_status onednn_step_run(const onednn *library, const onednn_step *step, void *const *pointer)
{
    int before = onednn_enter(library);
    dnnl_status_t status = execute(library, step, pointer);
    onednn_leave(library, before);
    WEFT_CHECK(status == dnnl_success, WEFT_ERR_INTERNAL, "%s: a primitive failed (status %d)", onednn_version(),
               (int)status);
    return WEFT_OK;
}

int onednn_enter(const onednn *library)
{
    int before = omp_get_max_threads();
    if (before != library->threads) {
        omp_set_num_threads(library->threads);
    }
    return before;
}

void onednn_leave(const onednn *library, int before)
{
    if (before != library->threads) {
        omp_set_num_threads(before);
    }
}

const char *onednn_version(void)
{
    static _Thread_local char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

#endif
