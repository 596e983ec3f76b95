/* hal/cpu/kernels_cells_bf16.h: cells of bfloat16, for the bodies over cells (kernels_cells.h). No include guard. */
#define cell       uint16_t
#define LOAD(x)    bf16_to_float(x)
#define STORE(x)   bf16_from_float(x)
#define PASSES(x)  ((x) > 0x1p-134F) /* half of the smallest number, which is rounded to 0 */
#define CELL(name) name##_bf16
