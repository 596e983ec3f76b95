/*
 * gnn/layers/local_matrix.h: the edges of a part as prepared matrices: whole, or cut by who waits for what.
 *
 *                      sources: owned            replicas
 *     rows: replicas   partial sums that other ranks wait for
 *                      before any message        once the sources' rows are here
 *     rows: owned      inner edges               boundary edges
 *                      at any time               once the sources' rows are here
 *
 * Cut in four, everything in the left column can be computed while the sources' rows are on their way, and everything
 * in the lower row while partial sums travel back (gnn/layers/aggregate.h). The four hold the edges of the whole once;
 * what a cut costs is a second pass over the sums of the rows that have sources of both kinds, and in the blocked forms
 * a packed strip of the owned columns more. Each has its own form (gnn/layers/form_choice.h).
 */
#pragma once

#include "gnn/layers/form_choice.h"
#include "tensor/tensor_fixed.h"

/* Rows of a part, as rows or as sources. */
typedef enum gnn_side { GNN_OWNED, GNN_REPLICAS, GNN_SIDES } gnn_side;

typedef struct gnn_local_matrix {
    weft_hal *hal;
    int64_t rows[GNN_SIDES]; /* whole: all of them count as owned; no replicas where none has edges */
    int64_t sources[GNN_SIDES];
    hal_spmm *part[GNN_SIDES][GNN_SIDES]; /* by rows, then by sources */
    int64_t edges[GNN_SIDES][GNN_SIDES];
} gnn_local_matrix;

/* Vectors over all rows of the part, NULL = 1, 1, 0; diag is 0 on replicas. */
typedef struct gnn_scales {
    const weft_tensor *pre, *post, *diag;
} gnn_scales;

/*
 * csr: [the rows that have edges: all, or the owned ones; all rows], columns ascending in each row; NULL: there is
 * nothing to prepare here, *matrix is empty. cut_at: number of owned rows, the first ones; csr->cols: the whole.
 * first_role: of GNN_SIDES * GNN_SIDES roles, by rows, then by sources. status: as for gnn_form_create, which this
 * calls once a role. WEFT_MEM_WORKSPACE of 4 bytes an edge, 8 with values, of the largest part of a cut while it is
 * built.
 */
weft_status gnn_local_matrix_create(gnn_form_choice *choice, int first_role, weft_status status, const hal_csr *csr,
                                    int64_t cut_at, gnn_local_matrix *matrix);
/* Returns true if each prepared matrix runs along the marked edges of its csr alone too. */
bool gnn_local_matrix_is_marked(const gnn_local_matrix *matrix);
/* Bytes that the prepared matrices hold; 0: there are none. */
double gnn_local_matrix_bytes(const gnn_local_matrix *matrix);
/* The letters of what was prepared, '-' where nothing was. */
void gnn_local_matrix_forms(const gnn_local_matrix *matrix, char forms[GNN_SIDES * GNN_SIDES]);
/* Slices worth looking up between: a millisecond or so each. */
int gnn_local_matrix_slices(const gnn_local_matrix *matrix, gnn_side rows, gnn_side sources, int64_t width);

/* A part of the product, or one slice of the part. */
typedef struct gnn_local_product {
    gnn_side rows, sources;
    gnn_scales scales;
    double beta;
    hal_spmm_part part;          /* the edges of the run */
    bool fixed;                  /* the matrix is of the form HAL_SPMM_I16 */
    const tensor_quanta *quanta; /* of its sums of float32; NULL: x and out are integers, without scales */
    int slice, slices;           /* of gnn_local_matrix_slices; 0, 1: the whole part */
} gnn_local_product;

/* out[rows] = beta * out[rows] + post * A[rows, sources] (pre * x[sources]) + diag * x[rows], the last term with the
 * owned sources of owned rows alone. x, out: [n_local, d]; rows that csr left out are not written. Nothing where that
 * changes nothing. */
weft_status gnn_local_matrix_run(const gnn_local_matrix *matrix, const gnn_local_product *product, const weft_tensor *x,
                                 weft_tensor *out);
void gnn_local_matrix_destroy(gnn_local_matrix *matrix);
