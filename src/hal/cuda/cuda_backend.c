/*
 * hal/cuda/cuda_backend.c: one NVIDIA GPU as a backend: opening it, its stream, and the operations that have kernels
 * (kernels/). Memory is cuda_memory.c's, the order of copies cuda_order.c's; nothing above this folder knows CUDA.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hal/cuda/cuda_devices.h"
#include "hal/cuda/cuda_order.h"
#include "hal/cuda/cuda_prepared.h"
#include "hal/cuda/kernels/cuda_kernels.h"

struct hal_event {
    cuda_event *on[3]; /* the streams of operations, in and out */
};

/* ---- failures ---------------------------------------------------------------------------------------------------- */

weft_status cuda_check(const char *what, int code)
{
    if (code == CUDA_DONE) {
        return WEFT_OK;
    }
    if (code == CUDA_ERROR_MEMORY) {
        size_t left = 0;
        size_t total = 0;
        (void)cuda_device_memory(&left, &total);
        return weft_fail(WEFT_ERR_RESOURCE, "%s: no memory on the GPU: %zu of %zu bytes are free", what, left, total);
    }
    if (code == CUDA_ERROR_NO_KERNEL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED,
                         "%s: this program was compiled for other GPUs; build it with CMAKE_CUDA_ARCHITECTURES of this "
                         "one, or take the backend cpu",
                         what);
    }
    return weft_fail(WEFT_ERR_INTERNAL, "%s: the GPU says %d, %s (an operation before it may be the cause)", what, code,
                     cuda_device_error(code));
}

/* ---- the calling thread ------------------------------------------------------------------------------------------ */

static _Thread_local int device_of_thread = -1;

weft_status cuda_enter(const weft_hal *hal)
{
    const int device = cuda_state_of(hal)->device;
    if (device_of_thread != device) {
        WEFT_TRY(cuda_check("choosing the device", cuda_device_use(device)));
        device_of_thread = device;
    }
    return WEFT_OK;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static cuda_stream *stream_at(const cuda_state *state, int i)
{
    return i == 0 ? state->queue.stream : i == 1 ? state->in : state->out;
}

static void event_destroy(weft_hal *hal, hal_event *event)
{
    for (int i = 0; event != NULL && i < 3; ++i) {
        if (event->on[i] != NULL && cuda_enter(hal) == WEFT_OK) {
            (void)cuda_event_destroy(event->on[i]);
        }
    }
    weft_free(event);
}

static weft_status event_create(weft_hal *hal, hal_event **event)
{
    weft_status status = WEFT_OK;
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(WEFT_NEW_ZERO(event, 1, WEFT_MEM_GENERAL));
    for (int i = 0; i < 3 && status == WEFT_OK; ++i) {
        status = cuda_check("event", cuda_event_create(&(*event)->on[i]));
    }
    if (status != WEFT_OK) {
        event_destroy(hal, *event);
        *event = NULL;
    }
    return status;
}

static weft_status event_record(weft_hal *hal, hal_event *event)
{
    WEFT_TRY(cuda_enter(hal));
    for (int i = 0; i < 3; ++i) {
        WEFT_TRY(cuda_check("event", cuda_event_record(event->on[i], stream_at(cuda_state_of(hal), i))));
    }
    return WEFT_OK;
}

static weft_status event_wait(weft_hal *hal, hal_event *event)
{
    WEFT_TRY(cuda_enter(hal));
    for (int i = 0; i < 3; ++i) {
        WEFT_TRY(cuda_check("wait", cuda_event_sync(event->on[i])));
    }
    return WEFT_OK;
}

static weft_status event_reached(weft_hal *hal, hal_event *event, bool *yes)
{
    *yes = true;
    WEFT_TRY(cuda_enter(hal));
    for (int i = 0; i < 3 && *yes; ++i) {
        WEFT_TRY(cuda_check("wait", cuda_event_query(event->on[i], yes)));
    }
    return WEFT_OK;
}

static weft_status stream_sync(weft_hal *hal)
{
    WEFT_TRY(cuda_enter(hal));
    for (int i = 0; i < 3; ++i) {
        WEFT_TRY(cuda_check("sync", cuda_stream_sync(stream_at(cuda_state_of(hal), i))));
    }
    return cuda_check("sync", cuda_device_last_error());
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Refuses what the operation itself has no rules for, before anything is launched. */
static weft_status check_op(hal_op op, const void *args)
{
    switch (op) {
    case HAL_OP_spmm_run:
        return cuda_check_spmm(args);
    case HAL_OP_patch_gram:
        return hal_patch_gram_check(args);
    case HAL_OP_histogram:
        return hal_histogram_check(args);
    default:
        return cuda_check_image(op, args);
    }
}

static weft_status run_op(weft_hal *hal, hal_op op, const void *args,
                          int (*launch)(cuda_queue *queue, const void *args))
{
    cuda_state *state = cuda_state_of(hal);
    weft_dtype dtype;
    WEFT_TRY(hal_op_type(op, args, &dtype));
    WEFT_TRY(check_op(op, args));
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(cuda_check(hal_op_name(op), cuda_order_begin_op(state, op, args)));
    WEFT_TRY(cuda_check(hal_op_name(op), launch(&state->queue, args)));
    return cuda_check(hal_op_name(op), cuda_order_end_op(state, op, args));
}

#define RUNS(name)                                                                                                     \
    static int launch_##name(cuda_queue *queue, const void *args)                                                      \
    {                                                                                                                  \
        return cuda_run_##name(queue, args);                                                                           \
    }                                                                                                                  \
    static weft_status run_##name(weft_hal *hal, const hal_##name##_args *args)                                        \
    {                                                                                                                  \
        return run_op(hal, HAL_OP_##name, args, launch_##name);                                                        \
    }
#define HAL_OP(group, name, flops, operands, ...) RUNS(name)
#define HAL_HOST_OP(group, name, types, flops, operands, ...)
#include "hal/ops.def"

/* ---- scratch memory ---------------------------------------------------------------------------------------------- */

static size_t factor_scratch(const weft_hal *hal, const hal_scratch_shape *s, cuda_solver_call call)
{
    return cuda_scratch_factor(&cuda_state_of(hal)->queue, call, s->rows, s->cols, s->terms, s->dtype);
}

/* Scratch memory of one operation. Operations that are not named take none, or a few KB. */
static size_t kernel_scratch(const weft_hal *hal, const hal_scratch_shape *s)
{
    switch (s->op) {
    case HAL_OP_gemm:
        return cuda_scratch_gemm(s->rows, s->cols, s->terms, true);
    case HAL_OP_gram:
    case HAL_OP_patch_gram:
        return cuda_scratch_gram(s->rows, s->cols, s->dtype == WEFT_DTYPE_F64);
    case HAL_OP_potrf:
        return factor_scratch(hal, s, CUDA_SOLVER_POTRF);
    case HAL_OP_potri:
        return factor_scratch(hal, s, CUDA_SOLVER_POTRI);
    case HAL_OP_potrs:
        return factor_scratch(hal, s, CUDA_SOLVER_POTRS);
    case HAL_OP_syevd:
        return factor_scratch(hal, s, CUDA_SOLVER_SYEVD);
    case HAL_OP_geqrf:
        return factor_scratch(hal, s, CUDA_SOLVER_GEQRF);
    case HAL_OP_col_sum:
    case HAL_OP_bn_stats:
    case HAL_OP_bn_backward_stats:
    case HAL_OP_ln_backward:
        return cuda_scratch_columns(s->rows, s->cols);
    case HAL_OP_softmax_xent:
    case HAL_OP_bce_logits:
    case HAL_OP_accuracy:
        return cuda_scratch_loss(s->rows);
    case HAL_OP_attention_backward_sources:
        return cuda_scratch_attention(s->rows, s->heads, s->dtype);
    case HAL_OP_attend_forward:
    case HAL_OP_attend_backward:
        return cuda_scratch_attend(s->rows, s->heads, s->terms, s->dtype);
    case HAL_OP_dynamic_backward_sources:
        return cuda_scratch_dynamic(s->rows, s->heads, s->dtype);
    case HAL_OP_spmm_run:
        return cuda_scratch_of_spmm(&cuda_state_of(hal)->queue, s);
    case HAL_OP_conv_forward:
        return cuda_scratch_of_conv(hal, s);
    case HAL_OP_select_largest:
        return cuda_scratch_select(s->cols, s->selected);
    default:
        return 0;
    }
}

static uint64_t mem_scratch(const weft_hal *hal, const hal_scratch_shape *shape)
{
    return cuda_blas_workspace() + kernel_scratch(hal, shape);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void cuda_close(weft_hal *hal)
{
    cuda_state *state = cuda_state_of(hal);
    if (cuda_enter(hal) == WEFT_OK) {
        cuda_memory_close(hal);
        cuda_queue_close(&state->queue);
        for (int i = 0; i < 3; ++i) {
            if (stream_at(state, i) != NULL) {
                (void)cuda_stream_destroy(stream_at(state, i));
            }
        }
    }
    weft_free(state);
    hal->state = NULL;
}

/* [out] device  the number behind the colon, 0 without one */
static weft_status parse_device(const char *argument, int count, int *device)
{
    char *end = NULL;
    const long number = argument[0] != '\0' ? strtol(argument, &end, 10) : 0;
    WEFT_CHECK(argument[0] == '\0' || (end != argument && *end == '\0' && number >= 0), WEFT_ERR_USAGE,
               "backend cuda:%s: behind the colon stands the number of a GPU, as in cuda:0", argument);
    WEFT_CHECK(number < count, WEFT_ERR_UNSUPPORTED,
               "backend cuda:%s: there are %d GPUs, 0 to %d (CUDA_VISIBLE_DEVICES counts too)", argument, count,
               count - 1);
    *device = (int)number;
    return WEFT_OK;
}

static weft_status open_streams(weft_hal *hal)
{
    cuda_state *state = cuda_state_of(hal);
    cuda_device_info info;
    char library[64];
    size_t left = 0;
    size_t total = 0;
    int code = cuda_device_describe(state->device, &info);
    code = code == CUDA_DONE ? cuda_stream_create(&state->queue.stream, false) : code;
    code = code == CUDA_DONE ? cuda_stream_create(&state->in, true) : code;
    code = code == CUDA_DONE ? cuda_stream_create(&state->out, true) : code;
    code = code == CUDA_DONE ? cuda_device_memory(&left, &total) : code;
    WEFT_TRY(cuda_check_present(code));
    WEFT_TRY(cuda_check("open", code));
    state->queue.processors = info.processors;
    state->queue.cache = info.cache;
    hal->native_bf16 = info.native_bf16;
    hal->native_f16 = info.major >= 7; /* tensor cores, from V100 on */
    cuda_device_library(library, sizeof library);
    WEFT_CHECK(
        cuda_list_runs(cuda_device_architectures(), info.major, info.minor), WEFT_ERR_UNSUPPORTED,
        "GPU %d (%s) is of compute capability %d.%d, and this program was compiled for other ones: build it with "
        "-DCMAKE_CUDA_ARCHITECTURES=%d%d (CUDA 12.9 is the last that knows those before 7.5), or take the backend cpu",
        state->device, info.name, info.major, info.minor, info.major, info.minor);
    log_debug("cuda: GPU %d (%s) at %s, compute capability %d.%d, %d processors, %zu of %zu MiB free, %s",
              state->device, info.name, info.place, info.major, info.minor, info.processors, left >> 20, total >> 20,
              library);
    return WEFT_OK;
}

weft_status hal_open_cuda(weft_hal *hal, int threads, const char *argument);
weft_status hal_open_cuda(weft_hal *hal, int threads, const char *argument)
{
    int count = 0;
    int device = 0;
    (void)threads; /* of the host: kernels have their own */
    WEFT_TRY(cuda_devices_count(&count));
    WEFT_TRY(parse_device(argument, count, &device));
    WEFT_TRY(WEFT_NEW_ZERO((cuda_state **)&hal->state, 1, WEFT_MEM_GENERAL));
    cuda_state_of(hal)->device = device;
    hal->close = cuda_close;
    weft_status status = cuda_enter(hal);
    status = status == WEFT_OK ? open_streams(hal) : status;
    status = status == WEFT_OK ? cuda_memory_open(hal) : status;
    if (status != WEFT_OK) {
        cuda_close(hal);
        return status;
    }
    hal->stream = (hal_stream_ops){.create = event_create,
                                   .record = event_record,
                                   .wait = event_wait,
                                   .reached = event_reached,
                                   .sync = stream_sync,
                                   .destroy = event_destroy};
    hal->mem.scratch = mem_scratch;
    cuda_sparse_ops(&hal->sparse);
    cuda_image_ops(&hal->image);
#define HAL_OP(group, name, flops, operands, ...) hal->op.name = run_##name;
#define HAL_HOST_OP(group, name, types, flops, operands, ...)
#include "hal/ops.def"
    return WEFT_OK;
}
