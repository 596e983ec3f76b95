/* hal/cpu/cpu_backend.c: opening the CPU backend: instruction set, scratch memory, memory ops. */
#include "hal/cpu/cpu_backend.h"

#include <cpuid.h>
#include <string.h>
#include <unistd.h>

#include "hal/cpu/kernels.h"
#include "hal/cpu/library/onednn.h"
#include "hal/ref/ref_backend.h"
#include "hal/table/op_table.h"

/* The level that "avx2" and the like ask for; "" is the best one. */
static weft_status isa_from_argument(const char *argument, hal_isa *isa)
{
    hal_isa best = hal_isa_best();
    *isa = best;
    if (argument[0] == '\0') {
        return WEFT_OK;
    }
    for (int level = HAL_ISA_BASE; level < HAL_ISAS; ++level) {
        if (strcmp(argument, hal_isa_name((hal_isa)level)) == 0) {
            WEFT_CHECK(level <= (int)best, WEFT_ERR_UNSUPPORTED, "cpu:%s: this processor has no more than cpu:%s",
                       argument, hal_isa_name(best));
            *isa = (hal_isa)level;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "cpu:%s: the instruction sets are base, avx2 and avx512", argument);
}

uint64_t cpu_l1_bytes(void)
{
    enum { USUAL_L1 = 32 << 10 };
    const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : USUAL_L1;
}

uint64_t cpu_l2_bytes(void)
{
    enum { USUAL_L2 = 1 << 20 };
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : USUAL_L2;
}

/* *room grows to at least `bytes`, never to NULL; what was in it is lost. */
static weft_status grow(void **room, size_t *room_bytes, size_t bytes, void **workspace)
{
    bytes = bytes > 0 ? bytes : 1;
    if (bytes > *room_bytes) {
        weft_free(*room);
        *room = NULL;
        *room_bytes = 0;
        WEFT_TRY(weft_malloc(bytes, 1, WEFT_MEM_WORKSPACE, room));
        *room_bytes = bytes;
    }
    *workspace = *room;
    return WEFT_OK;
}

weft_status cpu_workspace(weft_hal *hal, size_t bytes, void **workspace)
{
    cpu_state *state = cpu_state_of(hal);
    return grow(&state->workspace, &state->workspace_bytes, bytes, workspace);
}

weft_status cpu_factor_workspace(weft_hal *hal, size_t bytes, void **workspace)
{
    cpu_state *state = cpu_state_of(hal);
    return grow(&state->factor, &state->factor_bytes, bytes, workspace);
}

int cpu_parts(const weft_hal *hal, int64_t work)
{
    enum { GRAIN = 1 << 14 }; /* about the work that pays for waking a thread */
    int64_t pieces = work / GRAIN + 1;
    return pieces < hal->threads ? (int)pieces : hal->threads;
}

/* ---- memory: the host's; big blocks are touched by all threads, with the split that row loops use ----------------
 *
 * Rows of strided tensors come one by one: a parallel region, even of one thread, took 30 times what their bytes do. */

static void part_of_bytes(size_t bytes, int parts, int part, size_t *begin, size_t *count)
{
    const hal_span own = hal_split_rows((int64_t)((bytes + 63) / 64), parts, part);
    size_t end = (size_t)own.end * 64 < bytes ? (size_t)own.end * 64 : bytes;
    *begin = (size_t)own.begin * 64;
    *count = end > *begin ? end - *begin : 0;
}

/* Copies to `to`, or clears it if there is no `from`; the two do not overlap. */
static void move_bytes(char *to, const char *from, size_t bytes, int parts)
{
#pragma omp parallel for schedule(static) num_threads(parts)
    for (int part = 0; part < parts; ++part) {
        size_t begin = 0, count = 0;
        part_of_bytes(bytes, parts, part, &begin, &count);
        if (count > 0 && from != NULL) {
            memcpy(to + begin, from + begin, count);
        } else if (count > 0) {
            memset(to + begin, 0, count);
        }
    }
}

static weft_status cpu_zero(weft_hal *hal, void *device, size_t bytes)
{
    const int parts = cpu_parts(hal, (int64_t)(bytes / 8));
    if (parts == 1) {
        return cpu_state_of(hal)->ref.mem.zero(hal, device, bytes);
    }
    move_bytes(device, NULL, bytes, parts);
    return WEFT_OK;
}

static weft_status cpu_copy(weft_hal *hal, void *device_to, const void *device_from, size_t bytes)
{
    const char *to = device_to, *from = device_from;
    const bool overlaps = to < from + bytes && from < to + bytes;
    const int parts = overlaps ? 1 : cpu_parts(hal, (int64_t)(bytes / 8));
    if (parts == 1) {
        return cpu_state_of(hal)->ref.mem.copy(hal, device_to, device_from, bytes);
    }
    move_bytes(device_to, device_from, bytes, parts);
    return WEFT_OK;
}

/* Of the operations of second order, which take as much as large matrices; others take little, or their own part of the
 * process. */
static uint64_t cpu_scratch(const weft_hal *hal, const hal_scratch_shape *shape)
{
    switch (shape->op) {
    case HAL_OP_gram:
    case HAL_OP_patch_gram:
        return cpu_gram_scratch(hal, shape->rows, shape->cols, shape->op == HAL_OP_patch_gram);
    case HAL_OP_potrf:
    case HAL_OP_syevd:
        return cpu_factor_scratch(shape->op, shape->dtype, shape->cols);
    default:
        return 0;
    }
}

void cpu_mem_ops(hal_mem_ops *ops)
{
    ref_mem_ops(ops);
    ops->upload = cpu_copy;
    ops->download = cpu_copy;
    ops->copy = cpu_copy;
    ops->zero = cpu_zero;
    ops->scratch = cpu_scratch;
}

/* ---- operations: what has a version here, the rest on ref -------------------------------------------------------- */

/* here: the types that the version here, where there is one, takes. */
#define CPU_OP(name, here)                                                                                             \
    static weft_status by_type_##name(weft_hal *hal, const hal_##name##_args *args)                                    \
    {                                                                                                                  \
        const cpu_state *state = cpu_state_of(hal);                                                                    \
        weft_dtype dtype;                                                                                              \
        WEFT_TRY(hal_op_type(HAL_OP_##name, args, &dtype));                                                            \
        return (here) && state->own.name != NULL ? state->own.name(hal, args) : state->ref.op.name(hal, args);         \
    }
#define HAL_OP(group, name, flops, operands, ...)              CPU_OP(name, dtype == WEFT_DTYPE_F32)
#define HAL_DATA_OP(group, name, flops, operands, ...)         CPU_OP(name, dtype != WEFT_DTYPE_F64)
#define HAL_VALUE_OP(group, name, flops, operands, ...)        CPU_OP(name, dtype != WEFT_DTYPE_F64 && dtype != WEFT_DTYPE_F16)
#define HAL_MIXED_OP(group, name, types, flops, operands, ...) CPU_OP(name, true)
#include "hal/ops.def"

static void fill_ops(weft_hal *hal)
{
    cpu_state *state = cpu_state_of(hal);
    cpu_gemm_op(&state->own);
    cpu_dense_ops(&state->own);
    cpu_nn_ops(&state->own);
    cpu_token_ops(&state->own);
    cpu_attention_ops(&state->own);
    cpu_pool_ops(&state->own);
    cpu_max_ops(&state->own);
    cpu_optim_ops(&state->own);
    cpu_pack_ops(&state->own);
    cpu_gram_ops(&state->own);
    cpu_histogram_op(&state->own);
    cpu_fixed_ops(&state->own);
    state->own.feature_product = cpu_feature_product;
#define HAL_OP(group, name, flops, operands, ...) hal->op.name = by_type_##name;
#include "hal/ops.def"
    hal->op.spmm_run = cpu_spmm_run;
    hal->op.fixed_run = cpu_fixed_run;
    cpu_factor_ops(&hal->op);
    cpu_mem_ops(&hal->mem);
    cpu_sparse_ops(&hal->sparse);
    cpu_image_ops(hal);
}

/* ---- open and close ------------------------------------------------------------------------------------------ */

static void cpu_close(weft_hal *hal)
{
    cpu_state *state = cpu_state_of(hal);
    onednn_close(state->library);
    for (int i = 0; state->alone != NULL && i < hal->threads; ++i) {
        onednn_close(state->alone[i]);
    }
    WEFT_FREE_ALL(state->workspace, state->factor, state->alone, state);
    hal->state = NULL;
}

static cpu_kernels kernels_of(hal_isa isa)
{
    static const cpu_kernels *const kernels[HAL_ISAS] = {&cpu_kernels_base, &cpu_kernels_avx2, &cpu_kernels_avx512};
    static const cpu_winograd_kernels *const winograd[HAL_ISAS] = {&cpu_winograd_base, &cpu_winograd_avx2,
                                                                   &cpu_winograd_avx512};
    cpu_kernels all = *kernels[isa];
    all.winograd_f32 = winograd[isa];
    return all;
}

/* Tiles of bfloat16 (Sapphire Rapids and later): the library multiplies with them, several times as fast as vectors
 * do. */
static bool has_amx(void)
{
    enum { FEATURES = 7, AMX_BF16 = 1 << 22 };
    unsigned int a = 0;
    unsigned int b = 0;
    unsigned int c = 0;
    unsigned int d = 0;
    return __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) != 0 && (d & AMX_BF16) != 0;
}

/* The library knows no cap of its own by backend: a capped backend does without it. Products of bfloat16 that threads
 * share out among themselves have one for each (gemm_tall.h). */
static weft_status open_library(weft_hal *hal, hal_isa isa)
{
    cpu_state *state = cpu_state_of(hal);
    WEFT_TRY(isa == hal_isa_best() ? onednn_open(hal->threads, &state->library) : WEFT_OK);
    hal->native_bf16 = state->library != NULL && __builtin_cpu_supports("avx512bf16") != 0;
    if (!hal->native_bf16) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_calloc((size_t)hal->threads, sizeof(onednn *), WEFT_MEM_GENERAL, (void **)&state->alone));
    for (int i = 0; i < hal->threads; ++i) {
        WEFT_TRY(onednn_open(1, &state->alone[i]));
    }
    return WEFT_OK;
}

weft_status hal_open_cpu(weft_hal *hal, int threads, const char *argument);
weft_status hal_open_cpu(weft_hal *hal, int threads, const char *argument)
{
    hal_isa isa = HAL_ISA_BASE;
    WEFT_TRY(isa_from_argument(argument, &isa));
    cpu_state *state = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&state, 1, WEFT_MEM_GENERAL));
    hal->state = state;
    hal->threads = threads;
    state->isa = isa;
    state->kernels = kernels_of(isa);
    if (isa == HAL_ISA_AVX512 && __builtin_cpu_supports("avx512bf16") != 0) {
        state->kernels.bf16.norm = cpu_norm_avx512bf16;
        state->kernels.pairs = has_amx() ? NULL : &cpu_pairs_avx512bf16;
        state->kernels.pair_rows = has_amx() ? NULL : &cpu_pair_rows_avx512bf16;
        state->kernels.winograd_bf16 = has_amx() ? NULL : &cpu_winograd_avx512bf16;
    }
    ref_fill_ops(&state->ref);
    const weft_status status = open_library(hal, isa);
    if (status != WEFT_OK) {
        cpu_close(hal);
        return status;
    }
    fill_ops(hal);
    hal->calls_in_team = true;
    hal->close = cpu_close;
    return WEFT_OK;
}
