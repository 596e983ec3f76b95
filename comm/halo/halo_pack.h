/*
 * comm/halo/halo_pack.h: rows of a piece into its message and out of it, by the backend's operations.
 *
 *      FORWARD   own pieces  --pack-->  messages  --unpack-->  leaf pieces          (copies)
 *      REVERSE   leaf pieces --pack-->  messages  --unpack-->  own pieces           (adds or keeps the larger)
 *
 * Both put their operations and copies into the stream and wait for nothing, but where rows choose their bits, whose
 * ranges the host looks at. The pieces are those of a side that is arranged for this format. Local, on the caller's
 * thread.
 */
#pragma once

#include "comm/halo/halo_mixer.h"
#include "comm/halo/halo_side.h"

/* mixer: where the rows choose their bits, else it is not looked at. Of a piece that is not in place, with rows. */
weft_status halo_pack(const halo_side *side, const halo_format *format, const halo_piece *piece, halo_mixer *mixer);
/* Does nothing for a piece in place. */
weft_status halo_unpack(const halo_side *side, const halo_format *format, const halo_piece *piece, halo_mixer *mixer);
