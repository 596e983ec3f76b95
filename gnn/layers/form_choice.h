/*
 * gnn/layers/form_choice.h: one form for each of the prepared matrices of a job, the same on all ranks.
 *
 * An aggregator has up to eight matrices, its roles: forward, then transposed, each whole or cut in four
 * (local_matrix.h). What each form costs is timed by every rank on its own edges, the same form at the same time, as
 * they will run; the seconds of all ranks are added up and the form with the least is everybody's. Ranks that chose by
 * themselves would differ where timings are noisy, and the epoch waits for the one that chose badly. A rank whose edges
 * are too few to be timed has no say; where all have too few, or the answer has to be the same in every run, the
 * backend's rule decides, added up likewise.
 *
 *     WEFT_TRY(gnn_forms_begin(comm, hal, &asked, has, &choice));
 *     WEFT_TRY(gnn_form_create(&choice, role, status, &csr, &spmm));      role by role
 */
#pragma once

#include "comm/comm.h"
#include "hal/hal.h"

/* Roles, and the letters of their forms: by direction, by rows, by sources. */
enum { GNN_FORMS = 8 };

/* gnn_form_letter: the first letter of the form's word; '-' for AUTO. gnn_form_of: the form of a letter; `otherwise` if
 * the letter belongs to no form. */
char gnn_form_letter(hal_spmm_form form); /* I16 is not chosen by a letter */
bool gnn_form_is_letter(char letter);
hal_spmm_form gnn_form_of(char letter, hal_spmm_form otherwise);

/* Request for forms. All ranks pass equal values, except letters and operand_bytes. */
typedef struct gnn_forms_asked {
    hal_spmm_form form;     /* of matrices without a letter; AUTO: chosen */
    const char *letters;    /* [GNN_FORMS], or NULL or "": none has one */
    bool by_rule;           /* AUTO measures nothing: the same answer in every run */
    int64_t max_width;      /* widest matrix that will be aggregated */
    int64_t width;          /* width of the matrix that epochs aggregate most often; 0: max_width */
    uint64_t operand_bytes; /* bytes of matrices that will be allocated later; a trial may use as many meanwhile */
} gnn_forms_asked;

/* Measurements behind the choice. Equal on all ranks, except trial_seconds. */
typedef struct gnn_form_figures {
    double seconds[GNN_FORMS][HAL_SPMM_KINDS]; /* of a run at `width`, summed over ranks; 0: not timed */
    bool chosen[GNN_FORMS];                    /* some rank had no letter for the role, so a form was chosen */
    char taken[GNN_FORMS + 1];                 /* letters of the chosen forms; '-': none */
    bool timed;                                /* at least one form was timed */
    double trial_seconds;                      /* seconds that the trials took on this rank */
} gnn_form_figures;

typedef struct gnn_form_choice {
    weft_comm *comm;
    weft_hal *hal;
    gnn_forms_asked asked;
    /* Some rank has to choose a form. Then gnn_form_create is collective for the roles in `exists`. */
    bool together;
    /* Some rank has a matrix in this role; valid only if `together`. */
    bool exists[GNN_FORMS];
    gnn_form_figures figures;
} gnn_form_choice;

/* has[role]: this rank will create that matrix. Collective. */
weft_status gnn_forms_begin(weft_comm *comm, weft_hal *hal, const gnn_forms_asked *asked, const bool has[GNN_FORMS],
                            gnn_form_choice *choice);
/*
 * The matrix of a role in its form. csr NULL: none here. status: how this rank came here; with a failure it takes part
 * no further. All ranks come to all roles in the same order, and where they choose together return the same status.
 * [out] *spmm: destroyed by the caller; NULL without csr and on failure.
 */
weft_status gnn_form_create(gnn_form_choice *choice, int role, weft_status status, const hal_csr *csr, hal_spmm **spmm);
