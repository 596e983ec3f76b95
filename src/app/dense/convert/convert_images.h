/* app/dense/convert/convert_images.h: weft convert synth:traffic,... --out FOLDER: frames of a made camera. */
#pragma once

#include "app/workload/workload.h"

/* See workload_ops.convert. */
weft_status dense_convert(const weft_options *options, bool *takes);
void dense_print_formats(FILE *out);
