/* comm/halo/halo_pack.c: see comm/halo/halo_pack.h. */
#include "comm/halo/halo_pack.h"

static hal_mat index_of(const halo_side *side, const halo_piece *piece)
{
    return hal_column_from(side->index + piece->first, WEFT_DTYPE_I32, piece->rows);
}

/* Integers are copied by the operation on floating-point numbers of as many bits, which looks at none. */
static hal_mat as_cells(hal_mat mat)
{
    mat.dtype = mat.dtype == WEFT_DTYPE_I16   ? WEFT_DTYPE_BF16
                : mat.dtype == WEFT_DTYPE_I32 ? WEFT_DTYPE_F32
                                              : mat.dtype;
    return mat;
}

static hal_mat packed_rows(const halo_side *side, const halo_format *format, const halo_piece *piece)
{
    char *rows = halo_code_is_coded(&format->code) ? side->packed.data + piece->packed_at * format->packed_bytes
                                                   : piece->message;
    return hal_mat_of(rows, format->x.dtype, piece->rows, format->x.cols, format->x.cols);
}

static hal_mat coded_rows(const halo_format *format, const halo_piece *piece)
{
    return hal_mat_of(piece->message, WEFT_DTYPE_U8, piece->rows, format->row_bytes, format->row_bytes);
}

/* The rows of a message in which they choose their bits. */
static halo_mixed mixed_of(const halo_side *side, const halo_format *format, const halo_piece *piece)
{
    return (halo_mixed){.x = format->x,
                        .index = side->index + piece->first,
                        .id = side->id + piece->first,
                        .rows = piece->rows,
                        .first = piece->first,
                        .packed = packed_rows(side, format, piece),
                        .message = piece->message,
                        .host = halo_side_message(side, format, piece),
                        .mean_bits = format->code.mean_bits,
                        .rounding = format->code.rounding};
}

weft_status halo_pack(const halo_side *side, const halo_format *format, const halo_piece *piece, halo_mixer *mixer)
{
    weft_hal *hal = side->hal;
    if (halo_code_is_mixed(&format->code)) {
        const halo_mixed rows = mixed_of(side, format, piece);
        return halo_mixer_pack(mixer, &rows);
    }
    const hal_gather_rows_args args = {
        .x = as_cells(format->x), .index = index_of(side, piece), .y = as_cells(packed_rows(side, format, piece))};
    WEFT_TRY(hal_gather_rows(hal, &args));
    if (halo_code_is_coded(&format->code)) {
        const hal_encode_rows_args code = {.x = args.y,
                                           .id = hal_column_from(side->id + piece->first, WEFT_DTYPE_I64, piece->rows),
                                           .y = coded_rows(format, piece),
                                           .codec = format->code.codec,
                                           .rounding = format->code.rounding};
        WEFT_TRY(hal_encode_rows(hal, &code));
    }
    return format->messages_reach ? WEFT_OK
                                  : hal->mem.download_async(hal, halo_side_message(side, format, piece), piece->message,
                                                            (size_t)(piece->rows * format->row_bytes));
}

static hal_scatter scatter_of(halo_direction direction)
{
    return direction == HALO_FORWARD   ? HAL_SCATTER_REPLACE
           : direction == HALO_REVERSE ? HAL_SCATTER_ADD
                                       : HAL_SCATTER_MAX;
}

weft_status halo_unpack(const halo_side *side, const halo_format *format, const halo_piece *piece, halo_mixer *mixer)
{
    weft_hal *hal = side->hal;
    if (piece->in_place) {
        return WEFT_OK;
    }
    if (halo_code_is_mixed(&format->code)) {
        const halo_mixed rows = mixed_of(side, format, piece);
        return halo_mixer_unpack(mixer, &rows, scatter_of(format->direction));
    }
    if (!format->messages_reach) {
        WEFT_TRY(hal->mem.upload_async(hal, piece->message, halo_side_message(side, format, piece),
                                       (size_t)(piece->rows * format->row_bytes)));
    }
    if (halo_code_is_coded(&format->code)) {
        const hal_decode_rows_args code = {
            .x = coded_rows(format, piece), .y = packed_rows(side, format, piece), .codec = format->code.codec};
        WEFT_TRY(hal_decode_rows(hal, &code));
    }
    if (format->x.dtype == WEFT_DTYPE_I32 && format->direction == HALO_REVERSE) {
        return hal_fixed_add(hal, &(hal_fixed_add_args){.x = packed_rows(side, format, piece),
                                                        .index = index_of(side, piece),
                                                        .y = format->x});
    }
    const hal_scatter_rows_args args = {.x = as_cells(packed_rows(side, format, piece)),
                                        .index = index_of(side, piece),
                                        .y = as_cells(format->x),
                                        .mode = scatter_of(format->direction)};
    return hal_scatter_rows(hal, &args);
}
