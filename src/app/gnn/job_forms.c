/* app/gnn/job_forms.c: see app/gnn/job_forms.h. */
#include "app/gnn/job_forms.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "app/gnn/options/gnn_options.h"
#include "app/setup/load_watch.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/text/append.h"

enum { PART_SAMPLES = 4096 }; /* of each array of a part */

/* The quickest of fewer may be slow because the machine was busy. */
enum { ENOUGH_EPOCHS = 10 };

/* ---- the key ----------------------------------------------------------------------------------------------------- */
/* Elements from end to end of an array, mixed into a hash. */
static uint64_t mix_array(const void *data, int64_t count, size_t item, uint64_t hash)
{
    const int64_t step = count / PART_SAMPLES + 1;
    for (int64_t i = 0; i < count; i += step) {
        hash = file_checksum((const char *)data + (size_t)i * item, item, hash);
    }
    return hash;
}

/* Of this rank's part, machine and backend. A part that differs in a few edges alone may be taken for the same: its
 * best form is. */
static uint64_t own_hash(const app_context *context, const weft_part *part)
{
    assert(part->offset != NULL && part->n_owned <= part->n_local);
    const int64_t facts[] = {part->n_owned,   part->n_local,    part->edges,
                             part->symmetric, part->whole_rows, part->weight != NULL};
    char machine_text[192];
    app_machine_text(context, machine_text, sizeof machine_text);
    uint64_t hash = file_checksum(machine_text, strlen(machine_text), 0);
    hash = file_checksum(context->hal->name, strlen(context->hal->name), hash);
    hash = file_checksum(facts, sizeof facts, hash);
    hash = mix_array(part->offset, part->n_local + 1, sizeof *part->offset, hash);
    return mix_array(part->source, part->edges, sizeof *part->source, hash);
}

static int64_t aggregated_columns(const gnn_plan *plan)
{
    int64_t columns = 0;
    for (int l = 0; l < plan->layers; ++l) {
        columns += plan->layer[l].aggregated;
    }
    return columns;
}

/* hash: of all parts; rank 0. */
static void write_key(const app_context *context, const weft_part *part, const gnn_config *config, const char *hash,
                      char key[FORM_KEY_BYTES])
{
    char machine_text[192];
    gnn_plan plan;
    app_machine_text(context, machine_text, sizeof machine_text);
    gnn_plan_make(config, part->n_owned, part->n_local, context->placement.threads, WEFT_DTYPE_F32, &plan);
    snprintf(key, FORM_KEY_BYTES,
             "parts %s on %d ranks of %d nodes, %s, %.64s, width %lld of %lld, %lld columns an epoch, %s, %s%s", hash,
             comm_size(context->comm), context->nodes, machine_text, option_text(context->options, OPT_BACKEND),
             (long long)gnn_plan_epoch_width(&plan), (long long)plan.max_width, (long long)aggregated_columns(&plan),
             config->bf16 ? "bf16" : "f32", gnn_overlaps(context->comm, config->overlap) ? "cut" : "whole",
             plan.read_width > 0 ? ", rows read in the last" : "");
}

/* On rank 0. Collective. */
static weft_status make_key(const app_context *context, const weft_part *part, const gnn_config *config,
                            char key[FORM_KEY_BYTES])
{
    weft_comm *comm = context->comm;
    const int ranks = comm_size(comm);
    const uint64_t own = own_hash(context, part);
    uint64_t *all = NULL;
    int64_t *bytes = NULL;
    weft_status local = WEFT_NEW(&all, ranks, WEFT_MEM_GENERAL);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, ranks, WEFT_MEM_GENERAL) : local;
    weft_status status = comm_agree(comm, local);
    if (local == WEFT_OK && status == WEFT_OK) {
        for (int r = 0; r < ranks; ++r) {
            bytes[r] = (int64_t)sizeof own;
        }
        status = comm_gatherv(comm, 0, &own, (int64_t)sizeof own, all, bytes);
    }
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        char hash[33];
        file_hash(all, (size_t)ranks * sizeof *all, hash);
        write_key(context, part, config, hash, key);
    }
    WEFT_FREE_ALL(all, bytes);
    return status;
}

/* ---- before and after the model is built ------------------------------------------------------------------------- */
/* Rank 0; nothing here ends a job. */
static void look_for_record(const app_context *context, job_forms *forms)
{
    weft_status status = form_record_path(forms->key, forms->path);
    if (status != WEFT_OK) {
        forms->path[0] = '\0';
        weft_error_clear();
        return;
    }
    status = form_record_read(forms->path, forms->key, &forms->record);
    forms->remembered = status == WEFT_OK;
    if (status != WEFT_OK && status != WEFT_ERR_NOINPUT) {
        log_info("forms of aggregation are measured again: %s", weft_error_message());
    }
    weft_error_clear();
    if (forms->remembered && load_was_theirs(forms->record.others, &context->placement)) {
        log_info("forms of aggregation were measured while others used %.1f CPUs: measured again",
                 forms->record.others);
        forms->remembered = 0;
    }
    if (!forms->remembered) {
        forms->record = (form_record){.trials = 0};
    } else if (form_record_is_close(&forms->record)) {
        log_info("forms of aggregation were nearly alike: timed once more, trial %d", (int)forms->record.trials + 1);
        forms->remembered = 0;
    }
}

weft_status job_forms_find(const app_context *context, const weft_part *part, gnn_config *config, job_forms *forms)
{
    const weft_options *o = context->options;
    const bool chosen = option_is_auto(o, OPT_SPMM) && !config->fixed_rows; /* fixed point has one form */
    *forms = (job_forms){.kept = chosen && config->forms[0] == '\0' && !config->forms_by_rule};
    if (!forms->kept) {
        return WEFT_OK;
    }
    WEFT_TRY(make_key(context, part, config, forms->key));
    if (comm_rank(context->comm) == 0) {
        look_for_record(context, forms);
    }
    WEFT_TRY(comm_bcast(context->comm, 0, &forms->remembered, (int64_t)sizeof forms->remembered));
    WEFT_TRY(comm_bcast(context->comm, 0, &forms->record, (int64_t)sizeof forms->record));
    if (forms->remembered) {
        memcpy(config->forms, forms->record.forms, sizeof config->forms);
    }
    return WEFT_OK;
}

static void keep(job_forms *forms)
{
    if (forms->path[0] != '\0' && form_record_write(forms->path, forms->key, &forms->record) != WEFT_OK) {
        log_info("forms of aggregation not kept: %s", weft_error_message());
        weft_error_clear();
    }
}

/* "lists", or "lists, rows, lists, lists" of a matrix that is cut. */
static const char *say_forms(const char letters[GNN_FORMS + 1], char text[128])
{
    static const char *const names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    text[0] = '\0';
    for (int role = 0; role < GNN_FORMS; ++role) {
        const hal_spmm_form form = gnn_form_of(letters[role], HAL_SPMM_AUTO);
        if (form != HAL_SPMM_AUTO) {
            text_append_item(text, 128, "%s", names[form]);
        }
    }
    return text;
}

/* " (rows 0.31 s, lists 0.22 s)" of one matrix. */
static const char *say_seconds(const gnn_form_figures *figures, char text[128])
{
    static const char *const names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    text[0] = '\0';
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
        if (figures->seconds[0][form] > 0.0) {
            text_append(text, 128, "%s%s %.3g s", text[0] != '\0' ? ", " : " (", names[form],
                        figures->seconds[0][form]);
        }
    }
    text_append(text, 128, "%s", text[0] != '\0' ? ")" : "");
    return text;
}

void job_forms_tell(const app_context *context, const gnn_aggregator *aggregator, double others, job_forms *forms)
{
    const gnn_form_figures *figures = &aggregator->forms;
    char taken[128], seconds[128];
    assert(forms->kept || !forms->remembered); /* only a form that is kept can be remembered */
    if (forms->remembered) {
        log_info("form of aggregation: %s (remembered: %s)", say_forms(forms->record.forms, taken), forms->path);
        return;
    }
    if (!figures->timed) {
        forms->kept = 0; /* too few edges: there is nothing to remember */
        return;
    }
    log_info("form of aggregation: %s, measured in %.2f s%s", say_forms(figures->taken, taken), figures->trial_seconds,
             say_seconds(figures, seconds));
    const bool first = forms->record.trials == 0;
    form_record_add(&forms->record, figures);
    forms->record.others = first || others < forms->record.others ? others : forms->record.others;
    if (forms->kept && comm_rank(context->comm) == 0) {
        keep(forms);
    }
    if (memcmp(forms->record.forms, figures->taken, sizeof figures->taken) != 0) {
        forms->kept = 0; /* epochs of this job tell nothing of other forms */
    }
}

weft_status job_forms_judge(const app_context *context, const gnn_aggregator *aggregator, job_forms *forms)
{
    double epoch = aggregator->epoch_seconds;
    if (!forms->kept) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_allreduce(context->comm, &epoch, 1, WEFT_DTYPE_F64, COMM_MAX));
    if (comm_rank(context->comm) != 0 || forms->path[0] == '\0') {
        return WEFT_OK;
    }
    switch (form_record_judge(&forms->record, epoch)) {
    case FORM_STANDS:
        break;
    case FORM_TELLS:
        forms->record.epoch = epoch;
        keep(forms);
        break;
    case FORM_LOSES:
        if (aggregator->passes < ENOUGH_EPOCHS) {
            break;
        }
        log_info("aggregation took %.3g s an epoch, %.3g when its form was chosen: the next job measures again", epoch,
                 forms->record.epoch);
        unlink(forms->path);
        break;
    }
    return WEFT_OK;
}
