/* hal/ref/ref_backend.c: the reference backend's tables and its memory, which is the host's. */
#include "hal/ref/ref_backend.h"

#include <string.h>

#include "hal/table/op_table.h"

static weft_status ref_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    (void)hal;
    return weft_malloc(bytes, 1, tag, device);
}

static void ref_free(weft_hal *hal, void *device)
{
    (void)hal;
    weft_free(device);
}

static weft_status ref_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    (void)hal;
    if (bytes > 0) {
        memmove(device, host, bytes);
    }
    return WEFT_OK;
}

static weft_status ref_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    return ref_upload(hal, host, device, bytes);
}

static weft_status ref_copy(weft_hal *hal, void *device_to, const void *device_from, size_t bytes)
{
    return ref_upload(hal, device_to, device_from, bytes);
}

static weft_status ref_zero(weft_hal *hal, void *device, size_t bytes)
{
    (void)hal;
    if (bytes > 0) {
        memset(device, 0, bytes);
    }
    return WEFT_OK;
}

void ref_mem_ops(hal_mem_ops *ops)
{
    *ops = (hal_mem_ops){.alloc = ref_alloc,
                         .free = ref_free,
                         .upload = ref_upload,
                         .download = ref_download,
                         .copy = ref_copy,
                         .zero = ref_zero,
                         .kind = HAL_MEM_HOST};
}

/* ---- operations: by the type of the operands --------------------------------------------------------------------- */

/* run: what is called for the type. */
#define REF_OP(name, run)                                                                                              \
    static weft_status ref_##name(weft_hal *hal, const hal_##name##_args *args)                                        \
    {                                                                                                                  \
        (void)hal;                                                                                                     \
        weft_dtype dtype;                                                                                              \
        WEFT_TRY(hal_op_type(HAL_OP_##name, args, &dtype));                                                            \
        return run;                                                                                                    \
    }
#define REF_REAL(name)                                 (dtype == WEFT_DTYPE_F32 ? ref_##name##_f32(args) : ref_##name##_f64(args))
#define REF_DATA(name)                                 (dtype == WEFT_DTYPE_BF16 ? ref_##name##_bf16(args) : REF_REAL(name))
#define HAL_OP(group, name, flops, operands, ...)      REF_OP(name, REF_REAL(name))
#define HAL_DATA_OP(group, name, flops, operands, ...) REF_OP(name, REF_DATA(name))
#define HAL_VALUE_OP(group, name, flops, operands, ...)                                                                \
    REF_OP(name, dtype == WEFT_DTYPE_F16 ? ref_##name##_f16(args) : REF_DATA(name))
#define HAL_MIXED_OP(group, name, types, flops, operands, ...) REF_OP(name, ref_##name##_mixed(args))
#include "hal/ops.def"

void ref_fill_ops(weft_hal *hal)
{
    ref_mem_ops(&hal->mem);
    ref_sparse_ops(&hal->sparse);
    ref_image_ops(&hal->image);
#define HAL_OP(group, name, flops, operands, ...) hal->op.name = ref_##name;
#include "hal/ops.def"
}

weft_status hal_open_ref(weft_hal *hal, int threads, const char *argument);
weft_status hal_open_ref(weft_hal *hal, int threads, const char *argument)
{
    (void)threads;
    WEFT_CHECK(argument[0] == '\0', WEFT_ERR_USAGE, "backend ref takes no argument, not \"%s\"", argument);
    ref_fill_ops(hal);
    hal->native_f16 = true;
    return WEFT_OK;
}
