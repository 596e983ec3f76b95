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
#include <assert.h>
#include <string.h>

#include "app/options/app_options.h"
#include "base/log.h"
#include "train/loop/loss_scale.h"

enum { SETTING_MAX = 512 };

/* "--lr 0.1 (config file)" */
static const char *setting(const weft_options *options, option_id id, char text[SETTING_MAX])
{
    snprintf(text, SETTING_MAX, "--%s %s (%s)", option_row_in(options, id)->name, option_value_text(options, id),
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
    const option_recipe_setting *s = option_catalog_of(asked)->recipes;
    while (s->recipe != NULL && s->id != id) {
        s++;
    }
    return s->recipe != NULL;
}

static bool is_due(const rule_view *view, option_id one, option_id other)
{
    const bool waits = is_open(view->asked, one) || is_open(view->asked, other);
    return waits == (view->asked != view->now);
}

static bool differs_from_default(const weft_options *options, option_id id)
{
    return option_is_set(options, id) &&
           strcmp(option_value_text(options, id), option_row_in(options, id)->default_text) != 0;
}

/* The choice FILE.net stands for the names of all files that end so. */
static bool is_net_file(const option_need *need, const char *text)
{
    static const char file[] = "FILE.net";
    const char *end = strrchr(text, '.');
    return end != NULL && strcmp(end, strrchr(file, '.')) == 0 && option_list_has(need->choices, '|', file);
}

static bool is_met(const weft_options *options, const option_need *need)
{
    const char *other = option_value_text(options, need->other);
    if (is_net_file(need, other)) {
        return true;
    }
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
        log_warn("%s has no effect without --%s", setting(options, need->id, idle),
                 option_row_in(options, need->other)->name);
        return;
    }
    log_warn("%s has no effect with %s: it belongs to --%s %s", setting(options, need->id, idle),
             setting(options, need->other, other), option_row_in(options, need->other)->name, need->choices);
}

/* A rule of the tables has told it. Commands that answer by a trained model have the options of the model, which rules
 * about what is asked do not know. */
static bool is_told(const weft_options *options, option_id id)
{
    const option_command *command = option_command_of(options);
    if (option_applies(command, OPT_CHECKPOINT)) {
        return false;
    }
    for (const option_need *need = option_catalog_of(options)->needs; need->choices != NULL; need++) {
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

void option_warn_unserved(const weft_options *options, const char *traits, const char *jobs)
{
    char text[SETTING_MAX], served[OPTION_JOBS_MAX];
    for (int place = 0; place < option_count(options); place++) {
        const option_id id = option_at(options, place);
        const option_row *row = option_row_in(options, id);
        if (!option_serves(row, traits) && option_applies(option_command_of(options), id) &&
            differs_from_default(options, id) && !is_told(options, id)) {
            log_warn("%s has no effect on %s: it is for %s", setting(options, id, text), jobs,
                     option_jobs_text(row, served));
        }
    }
}

void option_warn_beside(const weft_options *options, option_id id, option_id other, const char *why)
{
    char idle[SETTING_MAX], effective[SETTING_MAX];
    assert(id != other);
    if (differs_from_default(options, id)) {
        log_warn("%s has no effect with %s: %s", setting(options, id, idle), setting(options, other, effective), why);
    }
}

weft_status option_contradict(const weft_options *options, option_id one, option_id other, const char *why)
{
    char first[SETTING_MAX], second[SETTING_MAX];
    assert(one != other);
    return weft_fail(WEFT_ERR_USAGE, "%s and %s contradict each other: %s", setting(options, one, first),
                     setting(options, other, second), why);
}

static weft_status check_reproducible(const weft_options *options)
{
    if (!option_flag(options, OPT_REPRODUCIBLE)) {
        return WEFT_OK;
    }
    if (!option_list_has("auto|fixed-order", '|', option_text(options, OPT_ALLREDUCE))) {
        return option_contradict(options, OPT_REPRODUCIBLE, OPT_ALLREDUCE, "only fixed-order sums in rank order");
    }
    if (strcmp(option_text(options, OPT_WIRE), "same") != 0) {
        return option_contradict(options, OPT_REPRODUCIBLE, OPT_WIRE, "rounded sums depend on the order");
    }
    if (!option_list_has("allreduce|auto", '|', option_text(options, OPT_SYNC))) {
        return option_contradict(options, OPT_REPRODUCIBLE, OPT_SYNC, "it does not sum every gradient in every step");
    }
    if (option_is_auto(options, OPT_SYNC) && option_flag(options, OPT_ALLOW_LOSSY)) {
        return option_contradict(options, OPT_REPRODUCIBLE, OPT_ALLOW_LOSSY,
                                 "a mode that is not exact could be chosen");
    }
    return WEFT_OK;
}

static weft_status check_training(const rule_view *view)
{
    const weft_options *o = view->now;
    bool nesterov = option_flag(o, OPT_NESTEROV);
    if (nesterov && is_due(view, OPT_NESTEROV, OPT_SYNC) && strcmp(option_text(o, OPT_SYNC), "topk") == 0) {
        return option_contradict(o, OPT_NESTEROV, OPT_SYNC, "topk corrects plain momentum only");
    }
    if (nesterov && is_due(view, OPT_OPTIMIZER, OPT_MOMENTUM) && strcmp(option_text(o, OPT_OPTIMIZER), "sgd") == 0 &&
        option_real(o, OPT_MOMENTUM) == 0) {
        return option_contradict(o, OPT_NESTEROV, OPT_MOMENTUM, "Nesterov's method needs a momentum above 0");
    }
    if (is_due(view, OPT_PATIENCE, OPT_EVAL_EVERY) && option_int(o, OPT_PATIENCE) > 0 &&
        option_int(o, OPT_EVAL_EVERY) == 0) {
        return option_contradict(o, OPT_PATIENCE, OPT_EVAL_EVERY, "a run is stopped by its evaluations");
    }
    if (is_due(view, OPT_SCHEDULE, OPT_EVAL_EVERY) && option_choice(o, OPT_SCHEDULE) == SCHEDULE_PLATEAU &&
        option_int(o, OPT_EVAL_EVERY) == 0) {
        return option_contradict(o, OPT_SCHEDULE, OPT_EVAL_EVERY, "the rate follows the evaluations");
    }
    return WEFT_OK;
}

static void warn_needs(const rule_view *view)
{
    for (const option_need *need = option_catalog_of(view->now)->needs; need->choices != NULL; need++) {
        if (is_due(view, need->id, need->other)) {
            warn_without_effect(view->now, need);
        }
    }
}

/* Epochs of decay are either listed or every so many; a run that ends first is not stopped. */
static void warn_unreached(const rule_view *view)
{
    const weft_options *o = view->now;
    if (is_due(view, OPT_SCHEDULE_STEP, OPT_SCHEDULE_AT) && option_text(o, OPT_SCHEDULE_AT)[0] != '\0' &&
        !is_told(o, OPT_SCHEDULE_STEP)) {
        option_warn_beside(o, OPT_SCHEDULE_STEP, OPT_SCHEDULE_AT, "the rate decays after these epochs");
    }
    const int64_t every = option_int(o, OPT_EVAL_EVERY), epochs = option_int(o, OPT_EPOCHS);
    const int64_t evaluations = every > 0 ? epochs / every + (epochs % every > 0) : 1;
    if (is_due(view, OPT_PATIENCE, OPT_EPOCHS) && option_int(o, OPT_PATIENCE) >= evaluations) {
        char why[64];
        snprintf(why, sizeof why, "a run has %lld evaluations", (long long)evaluations);
        option_warn_beside(o, OPT_PATIENCE, OPT_EPOCHS, why);
    }
}

weft_status option_check_rules(const weft_options *options)
{
    const option_command *command = option_command_of(options);
    const option_catalog *catalog = option_catalog_of(options);
    const bool training = option_section_used(command, "training");
    const rule_view view = {.asked = options, .now = options};
    train_schedule schedule;
    double scale = 0.0;
    if (training) {
        WEFT_TRY(check_training(&view));
        WEFT_TRY(schedule_read_decays(option_text(options, OPT_SCHEDULE_AT), &schedule));
        WEFT_TRY(loss_scale_read(option_text(options, OPT_LOSS_SCALE), &scale));
    }
    for (int i = 0; i < catalog->check_count; i++) {
        WEFT_TRY(catalog->checks[i](options));
    }
    if (option_section_used(command, "communication")) {
        WEFT_TRY(check_reproducible(options));
    }
    if (!option_section_used(command, "bench")) { /* whose argument says which options it uses */
        warn_needs(&view);
    }
    if (training) {
        warn_unreached(&view);
    }
    return WEFT_OK;
}

weft_status option_check_decided(const weft_options *asked, const weft_options *decided)
{
    const rule_view view = {.asked = asked, .now = decided};
    WEFT_TRY(check_training(&view));
    warn_needs(&view);
    warn_unreached(&view);
    return WEFT_OK;
}
