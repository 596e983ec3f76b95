/* app/workload/workload.c: see app/workload/workload.h. */
#include "app/workload/workload.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text/append.h"
#include "io/data_options.def"
#include "train/optimizer.h"
#include "train/train_options.def"

/* The surest claim of the model counts first, the surest claim of the data among those. */
static int weight_of(const workload_claims *claims)
{
    return (CLAIM_NAMED + 1) * (int)claims->model + (int)claims->data;
}

const workload_ops *workload_of(const weft_options *options)
{
    const workload_ops *best = NULL;
    int most = -1;
    for (int i = 0; workload_list[i] != NULL; ++i) {
        const workload_claims claims = workload_list[i]->claims(options);
        if (weight_of(&claims) >= most) {
            most = weight_of(&claims);
            best = workload_list[i];
        }
    }
    assert(best != NULL);
    return best;
}

/* A model for one kind and data of another, or data that two kinds are equally certain of. */
static weft_status check_kind(const workload_ops *ops, const weft_options *options)
{
    const char *data = option_text(options, OPT_DATA);
    const workload_claims own = ops->claims(options);
    for (int i = 0; data[0] != '\0' && workload_list[i] != NULL; ++i) {
        const workload_ops *other = workload_list[i];
        const workload_claims claims = other->claims(options);
        if (other == ops || claims.data == CLAIM_NO) {
            continue;
        }
        const bool both = own.data == CLAIM_CERTAIN && claims.data == CLAIM_CERTAIN;
        WEFT_CHECK(!both || own.model != claims.model, WEFT_ERR_USAGE,
                   FLAG_DATA " %s is data for networks on %s and for networks on %s: name the network by " FLAG_MODEL
                             ", one that only one of them has",
                   data, other->field, ops->field);
        WEFT_CHECK(own.data >= claims.data, WEFT_ERR_USAGE,
                   FLAG_DATA " %s is for networks on %s, and " FLAG_MODEL
                             " %s is one on %s: give other data, or another model",
                   data, other->field, option_text(options, OPT_MODEL), ops->field);
    }
    return WEFT_OK;
}

weft_status workload_refuse_data(const char *data)
{
    char accepted[1024] = "";
    int kinds = 0;
    while (workload_list[kinds] != NULL) {
        ++kinds;
    }
    for (int i = kinds - 1; i >= 0; --i) { /* the kind of what nobody claims comes first */
        assert(workload_list[i]->accepts != NULL);
        text_append(accepted, sizeof accepted, "%s%s", i < kinds - 1 ? ", and no " : "", workload_list[i]->accepts);
    }
    return weft_fail(WEFT_ERR_NOINPUT, "%s: is not a %s: see docs/formats.md", data, accepted);
}

static bool has_recipe(const workload_ops *ops, const char *recipe)
{
    const option_recipe_setting *s = ops->options->recipes;
    while (s != NULL && s->recipe != NULL && strcmp(s->recipe, recipe) != 0) {
        ++s;
    }
    return s != NULL && s->recipe != NULL;
}

/* A recipe that another kind alone has. */
static void warn_of_recipe(const workload *work)
{
    const char *recipe = option_text(work->context->options, OPT_RECIPE);
    for (int i = 0; workload_list[i] != NULL; ++i) {
        if (has_recipe(workload_list[i], recipe) && !has_recipe(work->ops, recipe)) {
            log_warn("--recipe %s is for networks on %s, and %s is data for networks on %s", recipe,
                     workload_list[i]->field, work->name, work->ops->field);
            return;
        }
    }
}

weft_status workload_begin(const workload_ops *ops, const app_context *context, workload *work)
{
    *work = (workload){.ops = ops, .context = context, .process = clock_rss_bytes(), .balance = 1.0};
    work->rows = ops->rows;
    work->split_cure = ops->split_cure;
    work->test_cure = ops->test_cure;
    work->guess_cure = "";
    const weft_status status = check_kind(ops, context->options);
    return comm_agree(context->comm,
                      status == WEFT_OK ? weft_calloc(1, ops->self_bytes, WEFT_MEM_GENERAL, &work->self) : status);
}

/* Weights expect inputs that are scaled as they were when the weights were trained. Local. */
static weft_status adopt_inputs(const workload *work, weft_options *options)
{
    const weft_options *known = work->start != NULL ? work->start->known : NULL;
    const option_id *id = known != NULL ? work->ops->inputs : NULL;
    for (; id != NULL && *id != OPTION_NONE; ++id) {
        const bool told = option_is_set(known, *id) && !option_is_auto(known, *id);
        const char *name = option_row_in(options, *id)->name;
        if (told && option_is_auto(options, *id)) {
            WEFT_TRY(option_decide(options, *id, option_value_text(known, *id)));
            log_info("--%s %s (auto: as for the weights of %s)", name, option_value_text(known, *id),
                     work->start->path);
        } else if (told && option_value_text(options, *id)[0] != '\0' && /* "": the data decide it later */
                   strcmp(option_value_text(options, *id), option_value_text(known, *id)) != 0) {
            log_warn("--%s %s: the weights of %s were trained with %s", name, option_value_text(options, *id),
                     work->start->path, option_value_text(known, *id));
        }
    }
    return WEFT_OK;
}

/* A rate of a recipe is of the recipe's optimiser; steps of a rule with a rate of its own are far too short by it. */
static weft_status decide_rate(const workload_ops *ops, weft_options *options)
{
    if (ops->fit != NULL || !option_is_set(options, OPT_OPTIMIZER) || option_is_set(options, OPT_LR)) {
        return WEFT_OK;
    }
    const optimizer_rule *rule = optimizer_rule_of(option_choice(options, OPT_OPTIMIZER));
    if (rule->rate == NULL) {
        return WEFT_OK;
    }
    log_info(FLAG_OPTIMIZER " %s: " FLAG_LR " %s, its own", rule->name, rule->rate);
    return option_decide(options, OPT_LR, rule->rate);
}

weft_status workload_decide(workload *work, app_context *context, bool training)
{
    weft_options *copy = NULL;
    if (training) {
        warn_of_recipe(work);
    }
    weft_status status = comm_agree(context->comm, option_copy(context->options, &copy));
    status = status == WEFT_OK ? comm_agree(context->comm, adopt_inputs(work, copy)) : status;
    status = status == WEFT_OK ? work->ops->decide(work, copy, training) : status;
    status = status == WEFT_OK && training ? decide_rate(work->ops, copy) : status;
    if (status == WEFT_OK && training) {
        status = option_check_decided(context->options, copy);
    }
    if (status == WEFT_OK) {
        context->decided = copy;
        context->options = copy;
    } else {
        option_destroy(copy);
    }
    return status;
}

weft_status workload_release(workload *work)
{
    return work->ops->release != NULL ? work->ops->release(work) : WEFT_OK;
}

void workload_abandon(workload *work)
{
    if (work->self != NULL && work->ops->abandon != NULL) {
        work->ops->abandon(work);
    }
}

void workload_end(workload *work)
{
    workload_abandon(work);
    if (work->self != NULL) {
        work->ops->end(work);
        weft_free(work->self);
    }
    *work = (workload){.ops = NULL};
}

const char *workload_row_name(const workload *work, int64_t row)
{
    return work->ops->row_name != NULL ? work->ops->row_name(work, row) : NULL;
}

item_origin workload_row_origin(const workload *work, int64_t row)
{
    return work->ops->row_origin != NULL ? work->ops->row_origin(work, row) : (item_origin){.sum = 0};
}

int64_t workload_parameters(const workload *work)
{
    return work->model != NULL && work->model->params != NULL ? work->model->params->weights : 0;
}

void workload_column_free(workload_column *column)
{
    weft_free(column->value);
    name_list_free(&column->words);
    *column = (workload_column){.value = NULL};
}
