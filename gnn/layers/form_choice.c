/* gnn/layers/form_choice.c: see gnn/layers/form_choice.h. */
#include "gnn/layers/form_choice.h"

#include <assert.h>

#include "base/clock.h"

static const char NO_FORM = '-';

char gnn_form_letter(hal_spmm_form form)
{
    static const char *const names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    return form == HAL_SPMM_AUTO ? NO_FORM : names[form][0];
}

hal_spmm_form gnn_form_of(char letter, hal_spmm_form otherwise)
{
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
        if (gnn_form_letter((hal_spmm_form)form) == letter) {
            return (hal_spmm_form)form;
        }
    }
    return otherwise;
}

bool gnn_form_is_letter(char letter)
{
    return letter == NO_FORM || letter == gnn_form_letter(HAL_SPMM_I16) ||
           gnn_form_of(letter, HAL_SPMM_AUTO) != HAL_SPMM_AUTO;
}

static hal_spmm_form asked_form(const gnn_forms_asked *asked, int role)
{
    const bool lettered =
        asked->letters != NULL && asked->letters[0] != '\0' && asked->form != HAL_SPMM_I16; /* no choice */
    return lettered ? gnn_form_of(asked->letters[role], asked->form) : asked->form;
}

weft_status gnn_forms_begin(weft_comm *comm, weft_hal *hal, const gnn_forms_asked *asked, const bool has[GNN_FORMS],
                            gnn_form_choice *choice)
{
    enum { HAS, ASKS, FLAGS };
    int32_t flag[FLAGS][GNN_FORMS] = {{0}};
    *choice = (gnn_form_choice){.comm = comm, .hal = hal, .asked = *asked, .figures.taken = "--------"};
    if (asked->form != HAL_SPMM_AUTO) {
        return WEFT_OK;
    }
    for (int role = 0; role < GNN_FORMS; ++role) {
        flag[HAS][role] = has[role];
        flag[ASKS][role] = has[role] && asked_form(asked, role) == HAL_SPMM_AUTO;
    }
    WEFT_TRY(comm_allreduce(comm, flag, (int64_t)FLAGS * GNN_FORMS, WEFT_DTYPE_I32, COMM_MAX));
    for (int role = 0; role < GNN_FORMS; ++role) {
        choice->exists[role] = flag[HAS][role] != 0;
        choice->figures.chosen[role] = flag[ASKS][role] != 0;
        choice->together = choice->together || flag[ASKS][role] != 0;
    }
    return WEFT_OK;
}

/* Turns of all ranks. Those that have nothing to time, or are through, stand by until nobody is within. */
typedef struct meeting {
    hal_spmm_turns base;
    weft_comm *comm;
    weft_status status; /* of the first meeting that failed; there is none after it */
} meeting;

static void meet_as(meeting *m, bool within, bool says, bool *any_within, bool *any_says)
{
    int32_t flag[2] = {within, says};
    m->status = m->status == WEFT_OK ? comm_allreduce(m->comm, flag, 2, WEFT_DTYPE_I32, COMM_MAX) : m->status;
    *any_within = m->status == WEFT_OK && flag[0] != 0;
    *any_says = m->status == WEFT_OK && flag[1] != 0;
}

static bool meet(hal_spmm_turns *base, bool says)
{
    bool any_within, any_says;
    meet_as((meeting *)base, true, says, &any_within, &any_says);
    return any_says;
}

static weft_status stand_by(meeting *m)
{
    bool any_within = true, any_says;
    while (any_within) {
        meet_as(m, false, false, &any_within, &any_says);
    }
    return m->status;
}

static weft_status try_forms(gnn_form_choice *choice, hal_spmm_turns *turns, const hal_csr *csr, hal_spmm_trial *trial)
{
    const hal_spmm_request request = {.turns = turns,
                                      .max_d = choice->asked.max_width,
                                      .by_rule = choice->asked.by_rule,
                                      .operand_bytes = choice->asked.operand_bytes};
    const double start = clock_seconds();
    WEFT_TRY(choice->hal->sparse.spmm_try(choice->hal, csr, &request, trial));
    choice->figures.trial_seconds += clock_seconds() - start;
    return WEFT_OK;
}

/* Forms that one rank timed and another did not are out. Collective. */
static weft_status add_up(gnn_form_choice *choice, int role, const hal_spmm_trial *trial, hal_spmm_form *form)
{
    enum { SECONDS, EXPECTED, MISSING, FIGURES };
    double sum[FIGURES][HAL_SPMM_KINDS] = {{0.0}};
    double *seconds = choice->figures.seconds[role];
    bool timed = false;
    for (int f = HAL_SPMM_ROWS; f < HAL_SPMM_KINDS; ++f) {
        timed = timed || trial->seconds[f] > 0.0;
    }
    for (int f = HAL_SPMM_ROWS; f < HAL_SPMM_KINDS; ++f) {
        sum[SECONDS][f] = trial->seconds[f];
        sum[EXPECTED][f] = trial->expected[f];
        sum[MISSING][f] = timed && trial->seconds[f] == 0.0 ? 1.0 : 0.0;
    }
    WEFT_TRY(comm_allreduce(choice->comm, sum, (int64_t)FIGURES * HAL_SPMM_KINDS, WEFT_DTYPE_F64, COMM_SUM));
    for (int f = HAL_SPMM_ROWS; f < HAL_SPMM_KINDS; ++f) {
        seconds[f] = sum[MISSING][f] > 0.0 ? 0.0 : sum[SECONDS][f];
        choice->figures.timed = choice->figures.timed || seconds[f] > 0.0;
    }
    *form = hal_spmm_pick(seconds, sum[EXPECTED]);
    choice->figures.taken[role] = gnn_form_letter(*form);
    return WEFT_OK;
}

/* Collective. */
static weft_status choose(gnn_form_choice *choice, int role, const hal_csr *csr, hal_spmm_form named,
                          hal_spmm_trial *trial, hal_spmm_form *form)
{
    const bool speaks = csr != NULL && named == HAL_SPMM_AUTO;
    meeting turns = {.base.meet = meet, .comm = choice->comm};
    const weft_status tried = speaks ? try_forms(choice, &turns.base, csr, trial) : WEFT_OK;
    WEFT_TRY(stand_by(&turns));
    WEFT_TRY(comm_agree(choice->comm, tried));
    WEFT_TRY(add_up(choice, role, trial, form));
    *form = named != HAL_SPMM_AUTO ? named : *form;
    return WEFT_OK;
}

/* csr: NULL, or with its usual width. */
static weft_status create_sized(gnn_form_choice *choice, int role, weft_status status, const hal_csr *csr,
                                hal_spmm **spmm)
{
    weft_hal *hal = choice->hal;
    const int64_t width = choice->asked.max_width;
    hal_spmm_trial trial = {.seconds = {0.0}};
    hal_spmm_form form = asked_form(&choice->asked, role);
    *spmm = NULL;
    assert(csr == NULL || !choice->together || choice->exists[role]);
    if (!choice->together || !choice->exists[role]) {
        WEFT_TRY(status);
        return csr != NULL ? hal->sparse.spmm_create(hal, csr, form, width, spmm) : WEFT_OK;
    }
    WEFT_TRY(comm_agree(choice->comm, status)); /* and ranks begin to time together */
    if (choice->figures.chosen[role]) {
        status = choose(choice, role, csr, form, &trial, &form);
    }
    if (status == WEFT_OK && csr != NULL) {
        status = hal_spmm_take(hal, csr, width, &trial, form, spmm);
    }
    hal_spmm_trial_end(hal, &trial);
    status = comm_agree(choice->comm, status);
    if (status != WEFT_OK && *spmm != NULL) {
        hal->sparse.spmm_destroy(hal, *spmm);
        *spmm = NULL;
    }
    return status;
}

weft_status gnn_form_create(gnn_form_choice *choice, int role, weft_status status, const hal_csr *csr, hal_spmm **spmm)
{
    hal_csr sized = csr != NULL ? *csr : (hal_csr){.rows = 0};
    sized.usual_d = choice->asked.width;
    return create_sized(choice, role, status, csr != NULL ? &sized : NULL, spmm);
}
