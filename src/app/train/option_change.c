/* app/train/option_change.c: see app/train/option_change.h. */
#include "app/train/option_change.h"

#include <string.h>

#include "base/number.h"

bool option_same_value(const weft_options *options, option_id id, const char *before)
{
    double a = 0, b = 0;
    const char *now = option_value_text(options, id);
    const option_type type = option_row_in(options, id)->type;
    if (strcmp(now, before) == 0) {
        return true;
    }
    const bool number = type == OPTION_INT || type == OPTION_REAL;
    return number && number_parse_real(now, &a) && number_parse_real(before, &b) && a == b;
}

static option_change section_change(const weft_options *options, option_id id)
{
    return option_section_find(option_catalog_of(options), option_row_in(options, id)->section)->change;
}

option_change option_change_of(const workload_ops *ops, const weft_options *options, option_id id)
{
    /* Whether gradients are tracked is told with the state of the ranks (train/checkpoint/keeper_state.c); a recipe is
     * the sum of its options, which are compared one by one. */
    static const option_id freed[] = {OPT_GRADIENT_TRACKING, OPT_STALL_TIMEOUT,  OPT_CALIBRATE,
                                      OPT_COMM_MODEL,        OPT_RECIPE,         OPT_CHOICES,
                                      OPT_GPU_DIRECT,        OPT_LOADER_THREADS, OPTION_NONE};
    const option_row *row = option_row_in(options, id);
    bool frees = option_id_listed(freed, id) || !option_serves(row, ops->options->traits);
    for (int i = 0; workload_list[i] != NULL; ++i) {
        if (!frees && option_id_listed(workload_list[i]->inputs, id)) {
            return OPTION_STAYS;
        }
        frees = frees || option_id_listed(workload_list[i]->resumable, id);
    }
    if (frees || id == OPT_SPLIT_INDEX) {
        return frees ? OPTION_CHANGES : OPTION_STAYS;
    }
    const option_change change = section_change(options, id);
    return id == OPT_BACKEND ? OPTION_DISTURBS : change == OPTION_REOPENS ? OPTION_CHANGES : change;
}

/* Kinds say which of their own options open data depend on (needs_other_data). */
static bool is_of_open(const workload *work, option_id id)
{
    static const option_id set_up[] = {OPT_COMM_THREAD,    OPT_COMM_MODEL, OPT_CALIBRATE,
                                       OPT_RANKS_PER_NODE, OPT_DRY_RUN,    OPTION_NONE};
    static const option_id freed[] = {OPT_FORCE, OPT_QUIET, OPT_VERBOSE, OPTION_NONE};
    const workload_ops *ops = work->ops;
    if (option_id_listed(freed, id)) {
        return false;
    }
    return option_id_listed(set_up, id) || section_change(work->context->options, id) == OPTION_REOPENS ||
           (ops->needs_other_data != NULL && ops->needs_other_data(work, id));
}

weft_status option_check_refit(const workload *work, const weft_options *asked, const weft_options *next)
{
    for (int i = 0; i < option_count(next); ++i) {
        const option_id id = option_at(next, i);
        if (!option_applies(option_command_of(next), id) || !is_of_open(work, id)) {
            continue;
        }
        const char *name = option_row_in(next, id)->name, *before = option_value_text(asked, id);
        WEFT_CHECK(option_same_value(next, id, before), WEFT_ERR_USAGE,
                   "--%s %s: %s is open, and this job began with --%s %s: give the same, or begin another job", name,
                   option_value_text(next, id), work->name, name, before[0] != '\0' ? before : "(none)");
    }
    return WEFT_OK;
}
