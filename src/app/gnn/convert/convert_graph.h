/* app/gnn/convert/convert_graph.h: weft convert of graphs (workload_ops: convert, print_formats). */
#pragma once

#include "app/options/app_options.h"

/* [out] takes: always; the readers say what is wrong with a file that is no graph. */
weft_status gnn_convert(const weft_options *options, bool *takes);
void gnn_print_formats(FILE *out);
