/* hal/table/op_table.c: functions made of the rows of hal/ops.def; see op_table.h. */
#include "hal/table/op_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/trace/trace.h"

static double hal_spmm_flops(const hal_spmm_run_args *a)
{
    double terms = (double)a->entries + (double)a->post.rows + (double)a->pre.rows + 2.0 * (double)a->diag.rows;
    return (double)a->out.cols * terms;
}

static double hal_conv_flops(const hal_conv *conv, const hal_mat *y)
{
    return 2.0 * hal_elements(y) * (double)hal_conv_terms(&conv->shape);
}

/* Number of rows that take part: those of the index, or all `rows` if the index is left out. */
static double hal_rows_taken(const hal_mat *index, int64_t rows)
{
    return (double)(index->source != NULL ? index->rows : rows);
}

/* ---- one function an operation ----------------------------------------------------------------------------------- */

#define HAL_OPERAND(name, type, access)    {#name, &a->name, type, access},
#define HAL_OPERAND_OF(path, type, access) {#path, &a->path, type, access},
/* The operands come last: each is a brace with commas. */
#define OP_FUNCTIONS(name, types, flops, ...)                                                                          \
    static int operands_of_##name(const void *args, hal_operand *operand)                                              \
    {                                                                                                                  \
        const hal_##name##_args *a = args;                                                                             \
        const hal_operand list[] = {__VA_ARGS__};                                                                      \
        _Static_assert(sizeof list / sizeof *list <= HAL_MOST_OPERANDS, "an operation with too many operands");        \
        memcpy(operand, list, sizeof list);                                                                            \
        return (int)(sizeof list / sizeof *list);                                                                      \
    }                                                                                                                  \
    static bool types_fit_##name(const void *args)                                                                     \
    {                                                                                                                  \
        const hal_##name##_args *a = args;                                                                             \
        (void)a;                                                                                                       \
        return types;                                                                                                  \
    }                                                                                                                  \
    static double flops_of_##name(const void *args)                                                                    \
    {                                                                                                                  \
        const hal_##name##_args *a = args;                                                                             \
        (void)a;                                                                                                       \
        return flops;                                                                                                  \
    }                                                                                                                  \
    static weft_status call_##name(weft_hal *hal, const void *args)                                                    \
    {                                                                                                                  \
        return hal->op.name(hal, args);                                                                                \
    }
#define HAL_OP(group, name, flops, operands, ...)              OP_FUNCTIONS(name, true, flops, operands)
#define HAL_DATA_OP(group, name, flops, operands, ...)         OP_FUNCTIONS(name, true, flops, operands)
#define HAL_VALUE_OP(group, name, flops, operands, ...)        OP_FUNCTIONS(name, true, flops, operands)
#define HAL_MIXED_OP(group, name, types, flops, operands, ...) OP_FUNCTIONS(name, types, flops, operands)
#define HAL_HOST_OP(group, name, types, flops, operands, ...)  OP_FUNCTIONS(name, types, flops, operands)
#include "base/text/append.h"
#include "hal/ops.def"
#undef HAL_OPERAND
#undef HAL_OPERAND_OF

static const struct op_row {
    const char *name;
    bool takes_f16; /* HAL_VALUE_OP */
    size_t args_bytes;
    int (*operands)(const void *args, hal_operand *operand);
    bool (*types_fit)(const void *args); /* beyond what each operand says */
    double (*flops)(const void *args);
    weft_status (*call)(weft_hal *hal, const void *args);
} rows[HAL_OPS] = {
#define OP_ROW(name, takes_f16)                                                                                        \
    {#name, takes_f16, sizeof(hal_##name##_args), operands_of_##name, types_fit_##name, flops_of_##name, call_##name},
#define HAL_OP(group, name, flops, operands, ...)       OP_ROW(name, false)
#define HAL_VALUE_OP(group, name, flops, operands, ...) OP_ROW(name, true)
#include "hal/ops.def"
};

const char *hal_op_name(hal_op op)
{
    return rows[op].name;
}

size_t hal_op_args_bytes(hal_op op)
{
    return rows[op].args_bytes;
}

int hal_op_operands(hal_op op, const void *args, hal_operand *operand)
{
    return rows[op].operands(args, operand);
}

weft_status hal_op_call(weft_hal *hal, hal_op op, const void *args)
{
    return rows[op].call(hal, args);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

weft_status hal_op_refuse_types(hal_op op, const void *args)
{
    hal_operand operand[HAL_MOST_OPERANDS];
    int count = hal_op_operands(op, args, operand);
    char text[256] = "";
    for (int i = 0; i < count; ++i) {
        if (i == 0 || hal_mat_given(operand[i].mat)) {
            text_append_item(text, sizeof text, "%s %s", operand[i].name, weft_dtype_name(operand[i].mat->dtype));
        }
    }
    return weft_fail(WEFT_ERR_UNSUPPORTED, "%s: no operation on %s", rows[op].name, text);
}

/* Whether an operand that is there has a type that its row allows; `real`: of the operation's first operand. */
static bool operand_fits(const hal_operand *operand, weft_dtype real)
{
    if (operand->type == HAL_ANY || !hal_mat_given(operand->mat)) {
        return true;
    }
    const weft_dtype own = operand->mat->dtype;
    if (operand->type == HAL_OWN) {
        return real == WEFT_DTYPE_F64 ? own == real : own == WEFT_DTYPE_F32 || own == WEFT_DTYPE_BF16;
    }
    const int type = operand->type == HAL_PARAM && hal_is_half(real) ? (int)WEFT_DTYPE_F32 : operand->type;
    return (int)own == (type < 0 ? (int)real : type);
}

weft_status hal_op_type(hal_op op, const void *args, weft_dtype *dtype)
{
    hal_operand operand[HAL_MOST_OPERANDS];
    int count = hal_op_operands(op, args, operand);
    assert(count > 0);
    *dtype = operand[0].mat->dtype;
    bool fits = (operand[0].type != HAL_REAL && operand[0].type != HAL_DATA) || *dtype == WEFT_DTYPE_F32 ||
                *dtype == WEFT_DTYPE_F64 || (operand[0].type == HAL_DATA && *dtype == WEFT_DTYPE_BF16) ||
                (rows[op].takes_f16 && *dtype == WEFT_DTYPE_F16);
    for (int i = 0; i < count; ++i) {
        fits = fits && operand_fits(&operand[i], *dtype);
    }
    return fits && rows[op].types_fit(args) ? WEFT_OK : hal_op_refuse_types(op, args);
}

/* ---- cost and trace ---------------------------------------------------------------------------------------------- */

static _Thread_local hal_cost cost_of_thread;

hal_cost *hal_cost_of_thread(void)
{
    return &cost_of_thread;
}

static double bytes_of(const hal_operand *operand)
{
    static const double times[] = {[HAL_UNUSED] = 0.0, [HAL_IN] = 1.0, [HAL_OUT] = 1.0, [HAL_UPDATE] = 2.0};
    return times[operand->access] * hal_elements(operand->mat) * (double)weft_dtype_bytes(operand->mat->dtype);
}

/* The matrix is an operand too; the first slice counts for all of them. */
static hal_cost with_matrix(hal_cost cost, int64_t entries, int64_t offsets, int slice)
{
    if (slice > 0) {
        return (hal_cost){0};
    }
    cost.bytes += (double)entries * (double)sizeof(int32_t) + (double)offsets * (double)sizeof(int64_t);
    return cost;
}

hal_cost hal_op_cost(hal_op op, const void *args)
{
    hal_operand operand[HAL_MOST_OPERANDS];
    int count = hal_op_operands(op, args, operand);
    hal_cost cost = {.flops = rows[op].flops(args)};
    for (int i = 0; i < count; ++i) {
        cost.bytes += bytes_of(&operand[i]);
    }
    if (op == HAL_OP_spmm_run) {
        const hal_spmm_run_args *a = args;
        return with_matrix(cost, a->entries, a->out.rows + 1, a->slice);
    }
    if (op == HAL_OP_fixed_run) {
        const hal_fixed_run_args *a = args;
        return with_matrix(cost, a->entries, a->out.rows + 1, a->slice);
    }
    return cost;
}

weft_status hal_run(weft_hal *hal, hal_op op, const void *args)
{
    assert(op >= 0 && op < HAL_OPS);
    hal_cost cost = hal_op_cost(op, args);
    cost_of_thread.flops += cost.flops;
    cost_of_thread.bytes += cost.bytes;
    double begin = trace_begin();
    weft_status status = rows[op].call(hal, args);
    trace_end(begin, TRACE_COMPUTE, rows[op].name, (int64_t)cost.bytes);
    return status;
}
