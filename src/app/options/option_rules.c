/*
 * app/options/option_rules.c: options that need each other, and options that contradict each other.
 *
 * An option that has no effect because another has the wrong value (NEED in the tables) is warned about, with both
 * values and where they came from: a sweep may well vary the other. Two options of which one would break what the other
 * promises are refused.
 *
 * With --recipe auto the data choose a recipe, which may set what a rule looks at. Such a rule waits for it; all others
 * speak before any data are read. Each rule is looked at once.
 */
#include <string.h>

#include "app/options/app_options.h"
#include "base/log.h"
#include "train/loop/loss_scale.h"

const option_need option_needs[] = {
#define OPTION(...)
#undef NEED
#define NEED(id, other, choices) {OPT_##id, OPT_##other, choices},
#include "app/options/app_options.def"
#undef NEED
#undef OPTION
    {OPTION_NONE, OPTION_NONE, NULL},
};

enum { SETTING_MAX = 512 };

/* "--lr 0.1 (config file)" */
static const char *setting(const weft_options *options, option_id id, char text[SETTING_MAX])
{
    snprintf(text, SETTING_MAX, "--%s %s (%s)", option_row_of(id)->name, option_value_text(options, id),
             option_source_text(option_source_of(options, id)));
    return text;
}

/* What was asked, and what it has become: the same until the data have decided. */
typedef struct rule_view {
    const weft_options *asked;
    const weft_options *now;
} rule_view;

/* May the recipe that the data choose set it? */
static bool is_open(const weft_options *asked, option_id id)
{
    if (!option_is_auto(asked, OPT_RECIPE) || option_is_set(asked, id)) {
        return false;
    }
    const option_recipe_setting *s = option_recipes;
    while (s->recipe != NULL && s->id != id) {
        s++;
    }
    return s->recipe != NULL;
}

/* Is it the time for a rule about these two? */
static bool is_due(const rule_view *view, option_id one, option_id other)
{
    const bool waits = is_open(view->asked, one) || is_open(view->asked, other);
    return waits == (view->asked != view->now);
}

static bool differs_from_default(const weft_options *options, option_id id)
{
    return option_is_set(options, id) && strcmp(option_value_text(options, id), option_row_of(id)->default_text) != 0;
}

static bool is_met(const weft_options *options, const option_need *need)
{
    const char *other = option_value_text(options, need->other);
    return need->choices[0] == '*' ? other[0] != '\0' : option_list_has(need->choices, '|', other);
}

static void warn_without_effect(const weft_options *options, const option_need *need)
{
    char idle[SETTING_MAX], other[SETTING_MAX];
    const option_command *command = option_command_of(options);
    if (!option_applies(command, need->id) || !option_applies(command, need->other) ||
        !differs_from_default(options, need->id) || is_met(options, need)) {
        return;
    }
    if (need->choices[0] == '*') {
        log_warn("%s has no effect without --%s", setting(options, need->id, idle), option_row_of(need->other)->name);
        return;
    }
    log_warn("%s has no effect with %s: it belongs to --%s %s", setting(options, need->id, idle),
             setting(options, need->other, other), option_row_of(need->other)->name, need->choices);
}

/* A rule of the tables has told it. */
static bool is_told(const weft_options *options, option_id id)
{
    const option_command *command = option_command_of(options);
    for (const option_need *need = option_needs; need->choices != NULL; need++) {
        if (need->id == id && option_applies(command, need->other) && !is_met(options, need)) {
            return true;
        }
    }
    return false;
}

void option_warn_idle(const weft_options *options, const option_id *idle, const char *where)
{
    char text[SETTING_MAX];
    for (; *idle != OPTION_NONE; ++idle) {
        if (option_applies(option_command_of(options), *idle) && differs_from_default(options, *idle) &&
            !is_told(options, *idle)) {
            log_warn("%s has no effect %s", setting(options, *idle, text), where);
        }
    }
}

/* Both are what they are; together they cannot be. */
static weft_status contradict(const weft_options *options, option_id one, option_id other, const char *why)
{
    char first[SETTING_MAX], second[SETTING_MAX];
    return weft_fail(WEFT_ERR_USAGE, "%s and %s contradict each other: %s", setting(options, one, first),
                     setting(options, other, second), why);
}

static weft_status check_reproducible(const weft_options *options)
{
    if (!option_flag(options, OPT_REPRODUCIBLE)) {
        return WEFT_OK;
    }
    if (!option_list_has("auto|fixed-order", '|', option_text(options, OPT_ALLREDUCE))) {
        return contradict(options, OPT_REPRODUCIBLE, OPT_ALLREDUCE, "only fixed-order sums in rank order");
    }
    if (strcmp(option_text(options, OPT_WIRE), "same") != 0) {
        return contradict(options, OPT_REPRODUCIBLE, OPT_WIRE, "rounded sums depend on the order");
    }
    if (!option_list_has("allreduce|auto", '|', option_text(options, OPT_SYNC))) {
        return contradict(options, OPT_REPRODUCIBLE, OPT_SYNC, "it does not sum every gradient in every step");
    }
    if (option_is_auto(options, OPT_SYNC) && option_flag(options, OPT_ALLOW_LOSSY)) {
        return contradict(options, OPT_REPRODUCIBLE, OPT_ALLOW_LOSSY, "a mode that is not exact could be chosen");
    }
    return WEFT_OK;
}

static weft_status check_training(const rule_view *view)
{
    const weft_options *o = view->now;
    bool nesterov = option_flag(o, OPT_NESTEROV);
    if (nesterov && is_due(view, OPT_NESTEROV, OPT_SYNC) && strcmp(option_text(o, OPT_SYNC), "topk") == 0) {
        return contradict(o, OPT_NESTEROV, OPT_SYNC, "topk corrects plain momentum only");
    }
    if (nesterov && is_due(view, OPT_OPTIMIZER, OPT_MOMENTUM) && strcmp(option_text(o, OPT_OPTIMIZER), "sgd") == 0 &&
        option_real(o, OPT_MOMENTUM) == 0) {
        return contradict(o, OPT_NESTEROV, OPT_MOMENTUM, "Nesterov's method needs a momentum above 0");
    }
    if (is_due(view, OPT_PATIENCE, OPT_EVAL_EVERY) && option_int(o, OPT_PATIENCE) > 0 &&
        option_int(o, OPT_EVAL_EVERY) == 0) {
        return contradict(o, OPT_PATIENCE, OPT_EVAL_EVERY, "a run is stopped by its evaluations");
    }
    return WEFT_OK;
}

static weft_status check_conversion(const weft_options *options)
{
    bool both = option_text(options, OPT_SPLIT)[0] != '\0' && option_text(options, OPT_RANDOM_SPLIT)[0] != '\0';
    return both ? contradict(options, OPT_SPLIT, OPT_RANDOM_SPLIT, "a split is read or drawn") : WEFT_OK;
}

/* Of other commands some options serve modes that an argument names. */
static void warn_needs(const rule_view *view)
{
    for (const option_need *need = option_needs; need->choices != NULL; need++) {
        if (is_due(view, need->id, need->other)) {
            warn_without_effect(view->now, need);
        }
    }
}

/* How first weights are drawn: of layers with attention in one way alone, which leaves the map behind --jumping; of none that are
 * given. */
static void warn_first_weights(const rule_view *view)
{
    const weft_options *o = view->now;
    char idle[SETTING_MAX], other[SETTING_MAX];
    const bool drawn = option_text(o, OPT_INIT_WEIGHTS)[0] == '\0';
    const bool used = !option_list_has("gat|gatv2", '|', option_text(o, OPT_MODEL)) ||
                      strcmp(option_value_text(o, OPT_JUMPING), "none") != 0;
    if (differs_from_default(o, OPT_WEIGHT_INIT) && is_due(view, OPT_WEIGHT_INIT, OPT_MODEL) && !(drawn && used)) {
        log_warn("%s has no effect with %s: %s", setting(o, OPT_WEIGHT_INIT, idle),
                 setting(o, drawn ? OPT_MODEL : OPT_INIT_WEIGHTS, other),
                 drawn ? "layers with attention begin with glorot" : "no weights are drawn");
    }
}

/* Epochs of decay are either listed or every so many; a run that ends first is not stopped. */
static void warn_unreached(const rule_view *view)
{
    const weft_options *o = view->now;
    char idle[SETTING_MAX], other[SETTING_MAX];
    if (differs_from_default(o, OPT_SCHEDULE_STEP) && is_due(view, OPT_SCHEDULE_STEP, OPT_SCHEDULE_AT) &&
        option_text(o, OPT_SCHEDULE_AT)[0] != '\0' && !is_told(o, OPT_SCHEDULE_STEP)) {
        log_warn("%s has no effect with %s: the rate decays after these epochs", setting(o, OPT_SCHEDULE_STEP, idle),
                 setting(o, OPT_SCHEDULE_AT, other));
    }
    const int64_t every = option_int(o, OPT_EVAL_EVERY), epochs = option_int(o, OPT_EPOCHS);
    const int64_t evaluations = every > 0 ? epochs / every + (epochs % every > 0) : 1;
    if (differs_from_default(o, OPT_PATIENCE) && is_due(view, OPT_PATIENCE, OPT_EPOCHS) &&
        option_int(o, OPT_PATIENCE) >= evaluations) {
        log_warn("%s has no effect with %s: a run has %lld evaluations", setting(o, OPT_PATIENCE, idle),
                 setting(o, OPT_EPOCHS, other), (long long)evaluations);
    }
}

weft_status option_check_rules(const weft_options *options)
{
    const option_command *command = option_command_of(options);
    bool training = option_section_used(command, "training"), conversion = option_section_used(command, "convert");
    const rule_view view = {.asked = options, .now = options};
    train_schedule schedule;
    double scale = 0.0;
    if (training) {
        WEFT_TRY(check_training(&view));
        WEFT_TRY(schedule_read_decays(option_text(options, OPT_SCHEDULE_AT), &schedule));
        WEFT_TRY(loss_scale_read(option_text(options, OPT_LOSS_SCALE), &scale));
    }
    if (conversion) {
        WEFT_TRY(check_conversion(options));
    }
    if (option_section_used(command, "communication")) {
        WEFT_TRY(check_reproducible(options));
    }
    if (training || conversion) {
        warn_needs(&view);
    }
    if (training) {
        warn_first_weights(&view);
        warn_unreached(&view);
    }
    return WEFT_OK;
}

weft_status option_check_decided(const weft_options *asked, const weft_options *decided)
{
    const rule_view view = {.asked = asked, .now = decided};
    WEFT_TRY(check_training(&view));
    warn_needs(&view);
    warn_first_weights(&view);
    warn_unreached(&view);
    return WEFT_OK;
}
