/*
 * fuzz/fuzz_reader.h: a text format of weft convert, from bytes to CSR. Plain, gzip and xz are told by the first bytes,
 * as for any file.
 *
 * The memory limit is the one that users set (--memory), plus what reading text holds (io/text/text_source.h: two
 * blocks of at least 4 MiB). Graphs that name more than 2^16 vertices are read but not sorted: 8 bytes a vertex would
 * be most of the time. Edges inside the CSR must be in order and in range. The file's weights are read then, as they
 * are.
 */
#pragma once

#include "fuzz/fuzz_support.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/read/reader_weights.h"

enum { FUZZ_VERTICES_MAX = 1 << 16, FUZZ_ARCS_LIMIT = 16 << 20, FUZZ_READER_LIMIT = 64 << 20 };

static inline void fuzz_check_csr(const csr_graph *csr)
{
    if (csr->offset[0] != 0 || csr->offset[csr->vertices] != csr->entries) {
        abort();
    }
    for (int64_t v = 0; v < csr->vertices; v++) {
        for (int64_t e = csr->offset[v]; e < csr->offset[v + 1]; e++) {
            int32_t source = csr->source[e];
            if (source < 0 || source >= csr->vertices || (e > csr->offset[v] && csr->source[e - 1] >= source)) {
                abort();
            }
        }
    }
}

static inline void fuzz_weights(const char *path, const raw_graph *raw, const csr_graph *csr)
{
    const reader_weights_how how = {
        .both_ways = raw->both_ways, .map = raw->ids.count > 0 ? &raw->ids : NULL, .memory_bytes = FUZZ_ARCS_LIMIT};
    float *weight = NULL;
    if (reader_weights(path, csr, &how, &weight) == WEFT_OK) {
        for (int64_t e = 0; e < csr->entries; e++) {
            if (!(weight[e] >= 0.0F)) {
                abort();
            }
        }
        weft_free(weight);
    }
}

static inline int fuzz_reader(const reader_format *format, bool relabels, const uint8_t *data, size_t size)
{
    fuzz_file file = fuzz_file_make(data, size);
    raw_graph raw = {.memory_bytes = FUZZ_ARCS_LIMIT, .relabels = relabels, .beside = "/dev/shm/weft-fuzz"};
    char head[TEXT_HEAD];
    (void)(reader_text_head(file.path, head) == WEFT_OK && format->matches_text(file.path, head));
    if (reader_format_read(format, file.path, &raw) == WEFT_OK && raw.vertices <= FUZZ_VERTICES_MAX) {
        csr_graph csr;
        if (raw.vertices < 1 || raw.arcs == NULL || arcs_largest_id(raw.arcs) >= raw.vertices) {
            abort();
        }
        if (arcs_build(raw.arcs, raw.vertices, raw.both_ways, true, &csr) == WEFT_OK) {
            fuzz_check_csr(&csr);
            fuzz_weights(file.path, &raw, &csr);
            csr_graph_free(&csr);
        }
    }
    raw_graph_free(&raw);
    close(file.fd);
    fuzz_check_memory(FUZZ_READER_LIMIT);
    return 0;
}

#define FUZZ_READER(format)                                                                                            \
    int LLVMFuzzerInitialize(int *argc, char ***argv)                                                                  \
    {                                                                                                                  \
        (void)argc;                                                                                                    \
        (void)argv;                                                                                                    \
        log_set_level(LOG_QUIET);                                                                                      \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                                       \
    {                                                                                                                  \
        return fuzz_reader(&(format), false, data, size);                                                              \
    }
