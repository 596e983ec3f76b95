/*
 * hal/cpu/library/onednn_context.h: what products and convolutions share: engine, stream, scratch memory, and the
 * life of one primitive. For the files of this folder.
 */
#pragma once

#include "hal/cpu/library/onednn.h"
#include "hal/cpu/library/onednn_versions.h"

typedef struct onednn_gemms onednn_gemms; /* prepared products by shape */

/* Memory that grows to the largest that was asked for; a primitive uses it while it runs. */
typedef struct onednn_room {
    void *memory;
    size_t bytes;
} onednn_room;

struct onednn {
    int threads;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    onednn_room scratch; /* the library's */
    onednn_room packed;  /* weights in the layout of the pass under way */
    onednn_room staging; /* weight gradients in the library's layout */
    onednn_gemms *gemms;
};

/* A primitive and the memory objects of its arguments, which get their pointers when it runs. */
enum { ONEDNN_ARGUMENTS = 5 };
typedef struct onednn_step {
    dnnl_primitive_t primitive;
    int argument[ONEDNN_ARGUMENTS]; /* DNNL_ARG_*; the scratch memory, where there is some, is the first */
    dnnl_memory_t memory[ONEDNN_ARGUMENTS];
    int arguments;
} onednn_step;

/* At least `bytes`; what was there before is gone. */
weft_status onednn_room_grow(onednn_room *room, size_t bytes);

/* How a primitive is made: our scratch memory, y = act(... + factor * y). factor 0: nothing is added. */
dnnl_status_t onednn_attr_create(float factor, bool relu, dnnl_primitive_attr_t *attr);

/* The primitive, with scratch memory for it. Arguments are named by onednn_step_argument. WEFT_ERR_RESOURCE. */
weft_status onednn_step_create(onednn *library, const_dnnl_primitive_desc_t desc, onednn_step *step);
weft_status onednn_step_argument(const onednn *library, onednn_step *step, int argument, read_desc desc);
void onednn_step_destroy(onednn_step *step);

/* pointer[]: in the order of the calls of onednn_step_argument. Waits. WEFT_ERR_INTERNAL */
weft_status onednn_step_run(const onednn *library, const onednn_step *step, void *const *pointer);

/* The library takes the process's number of OpenMP threads: between these two it is the backend's. */
int onednn_enter(const onednn *library);
void onednn_leave(const onednn *library, int before);

void onednn_gemms_destroy(onednn_gemms *gemms);

/* The library's interface has no const; it only reads these. */
static inline void *onednn_reads(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}
