/*
 * io/trace_file.h: a trace (base/trace/trace.h) as a file for chrome://tracing or ui.perfetto.dev.
 *
 * The file is JSON (trace event format, complete events "X", microseconds): pid = rank; each thread of the process has
 * one row or, where its spans overlap without being nested (operations under way together), several. otherData tells
 * how to get wall-clock time (add wall_minus_trace_s) and how many spans were forgotten.
 */
#pragma once

#include "base/status.h"

/*
 * Writes the spans that began at `since` (clock_seconds; 0: all) or later, whole or not at all. Threads that record
 * must be quiet. WEFT_ERR_INTERNAL: no trace is open. WEFT_ERR_IO: the file cannot be written.
 */
weft_status trace_write(const char *path, int rank, double since);
