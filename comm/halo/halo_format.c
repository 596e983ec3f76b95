/* comm/halo/halo_format.c: see comm/halo/halo_format.h. */
#include "comm/halo/halo_format.h"

#include "comm/halo/halo_mixer.h"

halo_format halo_format_of(const weft_hal *hal, halo_direction direction, const comm_halo_code *code, hal_mat x,
                           bool direct)
{
    const int64_t packed_bytes = x.cols * (int64_t)weft_dtype_bytes(x.dtype);
    const bool mixed = halo_code_is_mixed(code);
    return (halo_format){.direction = direction,
                         .code = *code,
                         .x = x,
                         .messages_reach = hal_host_visible(hal) || (direct && !mixed),
                         .packed_bytes = packed_bytes,
                         .row_bytes = mixed                      ? halo_mixer_room(x.cols)
                                      : halo_code_is_coded(code) ? hal_row_bytes(code->codec, x.cols)
                                                                 : packed_bytes};
}

int64_t halo_format_bytes(const halo_format *format, int64_t rows)
{
    return halo_code_is_mixed(&format->code) ? halo_mix_bytes(rows, format->x.cols, format->code.mean_bits)
                                             : rows * format->row_bytes;
}

int64_t comm_halo_code_bytes(const comm_halo_code *code, int64_t rows, int64_t width)
{
    return halo_code_is_mixed(code) ? halo_mix_bytes(rows, width, code->mean_bits)
                                    : rows * hal_row_bytes(code->codec, width);
}
