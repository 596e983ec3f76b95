/* app/train/option_change.c: see app/train/option_change.h. */
#include "app/train/option_change.h"

#include <string.h>

#include "app/workload/app_catalog.h"
#include "base/number.h"

static const option_section *section_of(option_id id)
{
    const option_catalog *catalog = app_catalog();
    return option_section_find(catalog, option_row_at(catalog, id)->section);
}

bool option_same_value(const weft_options *options, option_id id, const char *before)
{
    double a = 0;
    double b = 0;
    const char *now = option_value_text(options, id);
    const option_type type = option_row_in(options, id)->type;
    if (strcmp(now, before) == 0) {
        return true;
    }
    const bool number = type == OPTION_INT || type == OPTION_REAL;
    return number && number_parse_real(now, &a) && number_parse_real(before, &b) && a == b;
}

option_change option_change_of(const workload_ops *ops, option_id id)
{
    /* Whether gradients are tracked is told with the state of the ranks (train/checkpoint/keeper_state.c); a recipe is
     * the sum of its options, which are compared one by one. */
    static const option_id freed[] = {OPT_GRADIENT_TRACKING, OPT_STALL_TIMEOUT, OPT_CALIBRATE,
                                      OPT_COMM_MODEL,        OPT_RECIPE,        OPT_CHOICES,
                                      OPT_LOADER_THREADS,    OPTION_NONE};
    if (option_id_listed(ops->resume_refused, id)) {
        return OPTION_STAYS;
    }
    if (option_id_listed(freed, id) || option_id_listed(ops->resume_free, id) ||
        !option_serves(option_row_at(app_catalog(), id), ops->options->traits)) {
        return OPTION_CHANGES;
    }
    return id == OPT_BACKEND ? OPTION_DISTURBS : section_of(id)->change;
}

bool option_is_of_open(const workload *work, option_id id)
{
    static const option_id set_up[] = {OPT_COMM_THREAD,    OPT_COMM_MODEL, OPT_CALIBRATE,
                                       OPT_RANKS_PER_NODE, OPT_DRY_RUN,    OPTION_NONE};
    static const option_id freed[] = {OPT_FORCE, OPT_QUIET, OPT_VERBOSE, OPTION_NONE};
    if (option_id_listed(freed, id)) {
        return false;
    }
    const workload_ops *ops = work->ops;
    return option_id_listed(set_up, id) || section_of(id)->of_data ||
           (ops->needs_other_data != NULL && ops->needs_other_data(work, id));
}

weft_status option_check_refit(const workload *work, const weft_options *asked, const weft_options *next)
{
    for (int i = 0; i < option_count(next); ++i) {
        const option_id id = option_at(next, i);
        if (!option_applies(option_command_of(next), id) || !option_is_of_open(work, id)) {
            continue;
        }
        const char *before = option_value_text(asked, id);
        WEFT_CHECK(option_same_value(next, id, before), WEFT_ERR_USAGE,
                   "--%s %s: %s is open, and this job began with --%s %s: give the same, or begin another job",
                   option_row_in(next, id)->name, option_value_text(next, id), work->name,
                   option_row_in(next, id)->name, before[0] != '\0' ? before : "(none)");
    }
    return WEFT_OK;
}
