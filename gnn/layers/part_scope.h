/*
 * gnn/layers/part_scope.h: a part cut down to what a loss reads.
 *
 * A training loss reads the rows of the training split. Their sums over neighbours need the edges into them and no
 * others; in the transposed direction the gradients of all other rows are 0, so it runs along the same edges. What
 * crosses ranks:
 *
 *     forward      to replicas that feed one of these edges      back from replicas of rows that are read
 *     transposed   to replicas of rows that are read             back from replicas that feed one of these edges
 *
 * Rows keep their numbers. A row that is read is the sum of the same terms; forms that divide the matrix into blocks by
 * how many edges it has may add them in another order.
 */
#pragma once

#include "comm/comm.h"
#include "partition/part.h"

/* A CSR over the rows of a part. */
typedef struct part_csr {
    int64_t *offset; /* [n_local + 1] */
    int32_t *column; /* ascending in a row */
    float *value;    /* NULL: all are 1 */
} part_csr;

typedef struct part_scope {
    uint8_t *read;                   /* [n_local] of replicas too */
    part_csr forward;                /* rows are destinations */
    part_halo sources, destinations; /* as weft_part has them */
} part_scope;

/* read: [n_owned] not 0: the loss reads the row. [out] scope->read alone, of all rows. Free with part_scope_destroy,
 * also after a failure. Collective. */
weft_status part_scope_create(weft_comm *comm, const weft_part *part, const uint8_t *read, part_scope *scope);
/* Copies the edges. part: with its edges, and not kept. Not collective. */
weft_status part_scope_cut(const weft_part *part, part_scope *scope);
/* Makes the lists of rows, for more than one rank. whole_rows: of all ranks' parts, which then have no lists of
 * destinations. Collective. */
weft_status part_scope_list(weft_comm *comm, const weft_part *part, bool whole_rows, part_scope *scope);
/* Transposes scope->forward, which is freed. [out] back: the edges with sources as rows; the caller frees it, also
 * after a failure. shares: the part's local edges, or its graph with whole rows, equal their transpose; the edges are
 * then found in the part's own rows. */
weft_status part_scope_turn(const weft_part *part, part_scope *scope, bool shares, part_csr *back);
void part_csr_free(part_csr *csr);
void part_scope_destroy(part_scope *scope);
