/* app/train/option_change.c: see app/train/option_change.h. */
#include "app/train/option_change.h"

#include <string.h>

#include "base/number.h"

static bool is_listed(const option_id *list, option_id id)
{
    while (list != NULL && *list != OPTION_NONE && *list != id) {
        ++list;
    }
    return list != NULL && *list == id;
}

static const option_section *section_of(option_id id)
{
    const option_section *section = app_catalog.sections;
    while (section->name != NULL && strcmp(section->name, option_row_of(id)->section) != 0) {
        ++section;
    }
    return section;
}

bool option_same_value(const weft_options *options, option_id id, const char *before)
{
    double a = 0;
    double b = 0;
    const char *now = option_value_text(options, id);
    const option_type type = option_row_of(id)->type;
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
    static const option_id freed[] = {OPT_GRADIENT_TRACKING, OPT_CALIBRATE, OPT_COMM_MODEL, OPT_RECIPE, OPTION_NONE};
    if (is_listed(ops->resume_refused, id)) {
        return OPTION_CHANGE_REFUSED;
    }
    if (is_listed(freed, id) || is_listed(ops->resume_free, id) || is_listed(ops->idle, id)) {
        return OPTION_CHANGE_FREE;
    }
    return id == OPT_BACKEND ? OPTION_CHANGE_NAMED : section_of(id)->resumed;
}

bool option_is_of_open(const workload *work, option_id id)
{
    static const option_id set_up[] = {OPT_COMM_THREAD,    OPT_COMM_MODEL, OPT_CALIBRATE,
                                       OPT_RANKS_PER_NODE, OPT_DRY_RUN,    OPTION_NONE};
    static const option_id freed[] = {OPT_FORCE, OPT_QUIET, OPT_VERBOSE, OPTION_NONE};
    if (is_listed(freed, id)) {
        return false;
    }
    const workload_ops *ops = work->ops;
    return is_listed(set_up, id) || section_of(id)->of_data ||
           (ops->needs_other_data != NULL && ops->needs_other_data(work, id));
}

weft_status option_check_refit(const workload *work, const weft_options *asked, const weft_options *next)
{
    for (int i = 0; i < OPT_COUNT; ++i) {
        const option_id id = (option_id)i;
        if (!option_applies(option_command_of(next), id) || !option_is_of_open(work, id)) {
            continue;
        }
        const char *before = option_value_text(asked, id);
        WEFT_CHECK(option_same_value(next, id, before), WEFT_ERR_USAGE,
                   "--%s %s: %s is open, and this job began with --%s %s: give the same, or begin another job",
                   option_row_of(id)->name, option_value_text(next, id), work->name, option_row_of(id)->name,
                   before[0] != '\0' ? before : "(none)");
    }
    return WEFT_OK;
}
