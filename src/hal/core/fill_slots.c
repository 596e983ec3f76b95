/*
 * hal/core/fill_slots.c: what stands in the slots that a backend leaves empty: the reference operation when the host
 * sees the backend's memory, else a stub that names the operation. Memory, prepared matrices and prepared
 * convolutions are taken whole: their slots share what they allocate.
 */
#include "hal/core/fill_slots.h"
#include "hal/ref/ref_backend.h"

static weft_status refuse(const weft_hal *hal, const char *what)
{
    return weft_fail(WEFT_ERR_UNSUPPORTED, "backend %s: no operation %s", hal->name, what);
}

#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    static weft_status stub_##name(weft_hal *hal, const hal_##name##_args *args)                                       \
    {                                                                                                                  \
        (void)args;                                                                                                    \
        return refuse(hal, #name);                                                                                     \
    }
#include "hal/ops.def"

static weft_status stub_spmm_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d,
                                    hal_spmm **spmm)
{
    (void)csr, (void)form, (void)max_d;
    *spmm = NULL;
    return refuse(hal, "spmm_create");
}

/* Of a backend with one form: nothing to choose, so nothing to say. */
static weft_status stub_spmm_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request,
                                 hal_spmm_trial *trial)
{
    (void)hal, (void)csr, (void)request;
    *trial = (hal_spmm_trial){.seconds = {0}};
    return WEFT_OK;
}

static uint64_t stub_spmm_bytes(const weft_hal *hal, int64_t rows, int64_t entries, bool weighted)
{
    (void)hal, (void)rows, (void)entries, (void)weighted;
    return 0;
}

/* Nothing was created, so there is nothing to destroy or to tell. */
static void stub_spmm_destroy(weft_hal *hal, hal_spmm *spmm)
{
    (void)hal, (void)spmm;
}

static hal_spmm_info stub_spmm_info(weft_hal *hal, const hal_spmm *spmm)
{
    (void)hal, (void)spmm;
    return (hal_spmm_info){.form = HAL_SPMM_AUTO};
}

static weft_status stub_conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                                    hal_conv **conv)
{
    (void)shape, (void)images, (void)sizes;
    *conv = NULL;
    return refuse(hal, "conv_create");
}

static void stub_conv_destroy(weft_hal *hal, hal_conv *conv)
{
    (void)hal, (void)conv;
}

static hal_conv_info stub_conv_info(weft_hal *hal, const hal_conv *conv)
{
    (void)hal, (void)conv;
    return (hal_conv_info){.slow = true};
}

static bool stub_conv_norms(const weft_hal *hal, const hal_conv_shape *shape)
{
    (void)hal, (void)shape;
    return false;
}

/* ---- memory and stream of a backend whose calls return when they are done ---------------------------------------- */

static uint64_t take_nothing(const weft_hal *hal, const hal_scratch_shape *shape)
{
    (void)hal, (void)shape;
    return 0;
}

static weft_status enter_freely(weft_hal *hal)
{
    (void)hal;
    return WEFT_OK;
}

struct hal_event {
    char nothing;
};

static weft_status event_create(weft_hal *hal, hal_event **event)
{
    static hal_event always; /* has no state */
    (void)hal;
    *event = &always;
    return WEFT_OK;
}

static weft_status event_passed(weft_hal *hal, hal_event *event)
{
    (void)hal, (void)event;
    return WEFT_OK;
}

static weft_status stream_is_dry(weft_hal *hal)
{
    (void)hal;
    return WEFT_OK;
}

static void event_destroy(weft_hal *hal, hal_event *event)
{
    (void)hal, (void)event;
}

/* Rows that lie side by side are one. */
static hal_rows joined(hal_rows rows)
{
    return rows.rows > 0 && rows.stride == rows.bytes
               ? (hal_rows){.rows = 1, .bytes = (size_t)rows.rows * rows.bytes, .stride = rows.stride}
               : rows;
}

static weft_status upload_each(weft_hal *hal, void *device, const void *host, hal_rows rows)
{
    const hal_rows r = joined(rows);
    for (int64_t i = 0; i < r.rows; ++i) {
        WEFT_TRY(hal->mem.upload(hal, (char *)device + (size_t)i * r.stride, (const char *)host + (size_t)i * r.bytes,
                                 r.bytes));
    }
    return WEFT_OK;
}

static weft_status download_each(weft_hal *hal, void *host, const void *device, hal_rows rows)
{
    const hal_rows r = joined(rows);
    for (int64_t i = 0; i < r.rows; ++i) {
        WEFT_TRY(hal->mem.download(hal, (char *)host + (size_t)i * r.bytes, (const char *)device + (size_t)i * r.stride,
                                   r.bytes));
    }
    return WEFT_OK;
}

static weft_status zero_each(weft_hal *hal, void *device, hal_rows rows)
{
    const hal_rows r = joined(rows);
    for (int64_t i = 0; i < r.rows; ++i) {
        WEFT_TRY(hal->mem.zero(hal, (char *)device + (size_t)i * r.stride, r.bytes));
    }
    return WEFT_OK;
}

static void fill_memory(hal_mem_ops *mem)
{
    hal_mem_ops host;
    ref_mem_ops(&host);
    if (mem->alloc == NULL) {
        *mem = host;
    }
    if (mem->alloc_host == NULL) {
        mem->alloc_host = host.alloc;
        mem->free_host = host.free;
    }
    mem->scratch = mem->scratch != NULL ? mem->scratch : take_nothing;
    mem->enter = mem->enter != NULL ? mem->enter : enter_freely;
    mem->upload_rows = mem->upload_rows != NULL ? mem->upload_rows : upload_each;
    mem->download_rows = mem->download_rows != NULL ? mem->download_rows : download_each;
    mem->zero_rows = mem->zero_rows != NULL ? mem->zero_rows : zero_each;
    mem->upload_async = mem->upload_async != NULL ? mem->upload_async : mem->upload;
    mem->download_async = mem->download_async != NULL ? mem->download_async : mem->download;
}

static void fill_stream(hal_stream_ops *stream)
{
    if (stream->sync == NULL) {
        *stream = (hal_stream_ops){.create = event_create,
                                   .record = event_passed,
                                   .wait = event_passed,
                                   .sync = stream_is_dry,
                                   .destroy = event_destroy};
    }
}

void hal_fill_slots(weft_hal *hal)
{
    weft_hal from = {
        .sparse = {.spmm_create = stub_spmm_create, .spmm_destroy = stub_spmm_destroy, .spmm_info = stub_spmm_info},
        .image = {.conv_create = stub_conv_create, .conv_destroy = stub_conv_destroy, .conv_info = stub_conv_info}};
#define HAL_OP(group, name, flops, operands, ...) from.op.name = stub_##name;
#include "hal/ops.def"
    fill_memory(&hal->mem);
    fill_stream(&hal->stream);
    if (hal_host_visible(hal)) {
        ref_fill_ops(&from);
    }
    if (hal->sparse.spmm_create == NULL) {
        hal->sparse = from.sparse;
        hal->op.spmm_run = from.op.spmm_run;
        hal->op.fixed_run = from.op.fixed_run;
    }
    hal->sparse.spmm_try = hal->sparse.spmm_try != NULL ? hal->sparse.spmm_try : stub_spmm_try;
    hal->sparse.spmm_bytes = hal->sparse.spmm_bytes != NULL ? hal->sparse.spmm_bytes : stub_spmm_bytes;
    if (hal->image.conv_create == NULL) {
        hal->image = from.image;
        hal->op.conv_forward = from.op.conv_forward;
        hal->op.conv_backward_data = from.op.conv_backward_data;
        hal->op.conv_backward_weights = from.op.conv_backward_weights;
    }
    hal->image.conv_norms = hal->image.conv_norms != NULL ? hal->image.conv_norms : stub_conv_norms;
#define HAL_OP(group, name, flops, operands, ...) hal->op.name = hal->op.name != NULL ? hal->op.name : from.op.name;
#include "hal/ops.def"
}

bool weft_hal_supports(const weft_hal *hal, hal_op op)
{
    bool has[HAL_OPS] = {
#define HAL_OP(group, name, flops, operands, ...) hal->op.name != NULL && hal->op.name != stub_##name,
#include "hal/ops.def"
    };
    return op >= 0 && op < HAL_OPS && has[op];
}
