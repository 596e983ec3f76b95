/* app/setup/second_setup.c: see app/setup/second_setup.h. */
#include "app/setup/second_setup.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "comm/comm_options.def"
#include "train/train_options.def"

/* First steps of a full batch, which all update and invert. In the first epoch of batches every update inverts. */
enum { EARLY_STEPS = 10 };
/* --precondition-clip of kfac on images, with norms and without; `input` has a tenth with norms (docs/accuracy.md). The
 * clip bounds lr times the turned gradient, which is no step of an optimiser that rescales gradients. */
#define CLIP_NORMED       "1e-3"
#define CLIP_NORMED_INPUT "1e-4"
#define CLIP              "3e-5"
#define CLIP_RESCALED     "0"
/* --precondition auto steps back above this share of the rest of a step: measured (docs/notes/second-order.md), second
 * order takes half as many epochs or fewer where auto chooses it, so it pays up to twice the seconds of an epoch. Below
 * so many seconds a step it is left alone. */
#define OVERHEAD         1.0
#define OVERHEAD_SECONDS 2e-3

/* Returns true if --sync keeps replicas equal without a momentum of its own. */
static bool is_exact(const weft_options *options)
{
    const sync_mode mode = option_choice(options, OPT_SYNC);
    return mode == SYNC_ALLREDUCE || (mode == SYNC_AUTO && !option_flag(options, OPT_ALLOW_LOSSY));
}

static weft_status check_sync(const weft_options *options)
{
    const sync_mode mode = option_choice(options, OPT_SYNC);
    WEFT_CHECK(is_exact(options) || mode == SYNC_TOPK, WEFT_ERR_USAGE,
               FLAG_PRECONDITION " %s with " FLAG_SYNC
                                 " %s: replicas differ there, and so would their curvature; take " FLAG_SYNC
                                 " allreduce or topk",
               option_text(options, OPT_PRECONDITION), option_text(options, OPT_SYNC));
    WEFT_CHECK(mode != SYNC_TOPK || option_choice(options, OPT_PRECONDITION) != SECOND_MUON, WEFT_ERR_USAGE,
               FLAG_PRECONDITION " muon with " FLAG_SYNC " topk: both keep a momentum; take " FLAG_SYNC " allreduce");
    return WEFT_OK;
}

static weft_status check_optimizer(const weft_options *options)
{
    const second_kind kind = option_choice(options, OPT_PRECONDITION);
    WEFT_CHECK(option_choice(options, OPT_OPTIMIZER) != OPTIMIZER_LARS || kind == SECOND_MUON, WEFT_ERR_USAGE,
               FLAG_PRECONDITION " %s with " FLAG_OPTIMIZER
                                 " lars: lars gives each step a length of its own, whatever a gradient's curvature is; "
                                 "take " FLAG_OPTIMIZER " sgd",
               option_text(options, OPT_PRECONDITION));
    return WEFT_OK;
}

/* The optimiser that a turned gradient wants, where nobody says otherwise. */
static weft_status decide_optimizer(weft_options *options)
{
    static const struct {
        option_id id;
        const char *text;
    } wanted[] = {{OPT_OPTIMIZER, "sgd"}, {OPT_LR, "0.3"}, {OPT_MOMENTUM, "0.9"}, {OPT_SCHEDULE, "cosine"}};
    const bool asked = option_is_set(options, OPT_OPTIMIZER);
    if (asked && option_choice(options, OPT_OPTIMIZER) != OPTIMIZER_SGD) {
        return WEFT_OK;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        if (!option_is_set(options, wanted[i].id) && !option_was_decided(options, wanted[i].id)) {
            WEFT_TRY(option_decide(options, wanted[i].id, wanted[i].text));
        }
    }
    log_info("precondition %s: " FLAG_OPTIMIZER " sgd, " FLAG_LR " %g, " FLAG_MOMENTUM " %g, " FLAG_SCHEDULE " %s",
             option_text(options, OPT_PRECONDITION), option_real(options, OPT_LR), option_real(options, OPT_MOMENTUM),
             option_text(options, OPT_SCHEDULE));
    return WEFT_OK;
}

weft_status second_setup_decide(weft_options *options, bool pays)
{
    if (option_choice(options, OPT_PRECONDITION) == SECOND_AUTO) {
        const char *chosen = pays ? "input" : "none";
        log_info("precondition %s (auto: training vertices are %s)", chosen,
                 pays ? "enough to turn gradients by" : "too few to turn gradients by");
        WEFT_TRY(option_decide(options, OPT_PRECONDITION, chosen));
    }
    if (option_choice(options, OPT_PRECONDITION) == SECOND_NONE) {
        return WEFT_OK;
    }
    WEFT_TRY(check_sync(options));
    WEFT_TRY(check_optimizer(options));
    return option_choice(options, OPT_PRECONDITION) == SECOND_MUON ? WEFT_OK : decide_optimizer(options);
}

/* Small batches are noisy, so averages are long and steps short. */
static weft_status decide_factors_of_images(weft_options *options, bool normed)
{
    const bool input = option_choice(options, OPT_PRECONDITION) == SECOND_INPUT;
    const bool rescales = optimizer_rule_of(option_choice(options, OPT_OPTIMIZER))->rescales;
    const char *clip = rescales ? CLIP_RESCALED : !normed ? CLIP : input ? CLIP_NORMED_INPUT : CLIP_NORMED;
    const int64_t interval = option_int(options, OPT_PRECONDITION_INTERVAL);
    const bool asked = option_is_set(options, OPT_PRECONDITION_INTERVAL) && interval % 10 != 0;
    const int64_t factors = option_is_set(options, OPT_PRECONDITION_FACTORS)
                                ? option_int(options, OPT_PRECONDITION_FACTORS)
                            : asked ? interval
                                    : 10;
    char number[2][NUMBER_TEXT_MAX];
    snprintf(number[0], NUMBER_TEXT_MAX, "%lld", (long long)factors);
    snprintf(number[1], NUMBER_TEXT_MAX, "%lld", 10 * (long long)factors);
    const struct {
        option_id id;
        const char *text;
    } wanted[] = {{OPT_PRECONDITION_DAMPING, "1"},
                  {OPT_PRECONDITION_FACTORS, number[0]},
                  {OPT_PRECONDITION_INTERVAL, number[1]},
                  {OPT_PRECONDITION_CLIP, clip},
                  {OPT_PRECONDITION_DECAY, "0.95"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        if (!option_is_set(options, wanted[i].id)) {
            WEFT_TRY(option_decide(options, wanted[i].id, wanted[i].text));
        }
    }
    log_info("precondition %s: damping %s, factors every %lld steps, inversions every %lld (of the first epoch every "
             "%lld), clip %g, decay %g",
             option_text(options, OPT_PRECONDITION), option_text(options, OPT_PRECONDITION_DAMPING),
             (long long)option_int(options, OPT_PRECONDITION_FACTORS),
             (long long)option_int(options, OPT_PRECONDITION_INTERVAL),
             (long long)option_int(options, OPT_PRECONDITION_FACTORS), option_real(options, OPT_PRECONDITION_CLIP),
             option_real(options, OPT_PRECONDITION_DECAY));
    return WEFT_OK;
}

weft_status second_setup_decide_images(weft_options *options, const second_images *network)
{
    if (option_choice(options, OPT_PRECONDITION) == SECOND_AUTO) {
        const bool suits = network->norms > 0 && network->weights > 2;
        const char *chosen = suits && is_exact(options) ? "muon" : "none";
        log_info("precondition %s (auto: muon is for networks with norms and three layers of weights, and " FLAG_SYNC
                 " allreduce)",
                 chosen);
        WEFT_TRY(option_decide(options, OPT_PRECONDITION, chosen));
    }
    const second_kind kind = option_choice(options, OPT_PRECONDITION);
    if (kind == SECOND_NONE) {
        return WEFT_OK;
    }
    WEFT_TRY(check_sync(options));
    WEFT_TRY(check_optimizer(options));
    return kind == SECOND_MUON ? WEFT_OK : decide_factors_of_images(options, network->norms > 0);
}

/* Muon's rate follows the course of --lr. */
static muon_options read_muon(const weft_options *o, const train_model *model)
{
    muon_options muon = muon_options_default(model->params->hal);
    const double lr = option_real(o, OPT_LR);
    muon.rate = lr > 0.0 ? option_real(o, OPT_MUON_LR) / lr : 0.0;
    muon.weight_decay = option_real(o, OPT_WEIGHT_DECAY);
    return muon;
}

/* [out] options->damping, or options->absolute. */
static weft_status read_damping(const char *text, second_options *options)
{
    static const char word[] = "absolute:";
    const bool absolute = strncmp(text, word, sizeof word - 1) == 0;
    double *number = absolute ? &options->absolute : &options->damping;
    if (strcmp(text, "auto") == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(number_parse_real(absolute ? text + sizeof word - 1 : text, number) && *number > 0.0 && *number <= 1e9,
               WEFT_ERR_USAGE,
               FLAG_PRECONDITION_DAMPING " %s: expected auto, a number above 0 and up to 1e9, such as 0.1, or "
                                         "absolute: with such a number behind it",
               text);
    return WEFT_OK;
}

static weft_status read_place(const char *text, second_place *place)
{
    WEFT_CHECK(second_place_parse(text, place), WEFT_ERR_USAGE,
               FLAG_PRECONDITION_PLACE " %s: expected auto, everywhere, comm-opt, mem-opt, hybrid or hybrid:F with a "
                                       "share of the ranks F above 0 and below 1, such as hybrid:0.5",
               text);
    place->kind = place->kind == SECOND_PLACE_AUTO ? SECOND_PLACE_EVERYWHERE : place->kind;
    return WEFT_OK;
}

weft_status second_setup_options(const weft_options *o, const train_model *model, second_options *options)
{
    /* What a recipe takes, it takes for good: its results must not follow from the seconds of a step. */
    const bool chosen_by_auto = option_is_set(o, OPT_PRECONDITION) && option_was_decided(o, OPT_PRECONDITION);
    *options = (second_options){.kind = option_choice(o, OPT_PRECONDITION),
                                .clip = option_real(o, OPT_PRECONDITION_CLIP),
                                .first = option_real(o, OPT_PRECONDITION_FIRST),
                                .decay = option_real(o, OPT_PRECONDITION_DECAY),
                                .factors = option_int(o, OPT_PRECONDITION_FACTORS),
                                .interval = option_int(o, OPT_PRECONDITION_INTERVAL),
                                .early = EARLY_STEPS,
                                .overhead = chosen_by_auto ? OVERHEAD : 0.0,
                                .overhead_seconds = OVERHEAD_SECONDS,
                                .early_every = 1,
                                .solve = option_choice(o, OPT_PRECONDITION_SOLVE),
                                .form = option_choice(o, OPT_PRECONDITION_FORM),
                                .muon = read_muon(o, model)};
    assert(options->kind != SECOND_AUTO);
    WEFT_TRY(read_damping(option_text(o, OPT_PRECONDITION_DAMPING), options));
    return read_place(option_text(o, OPT_PRECONDITION_PLACE), &options->place);
}

weft_status second_setup_adopt(const app_context *context, const checkpoint *ck)
{
    const char *name = option_row_in(context->options, OPT_PRECONDITION_PLACE)->name;
    const char *own = ck != NULL ? checkpoint_option(ck, name) : NULL;
    return option_is_auto(context->options, OPT_PRECONDITION_PLACE)
               ? app_decide_shared(context->comm, context->decided, OPT_PRECONDITION_PLACE, own)
               : WEFT_OK;
}

weft_status second_setup_open(weft_comm *comm, const weft_options *o, const train_model *model, int64_t steps,
                              train_options *train, train_second **second)
{
    second_options options;
    *second = NULL;
    WEFT_TRY(second_setup_options(o, model, &options));
    if (options.kind == SECOND_NONE) {
        return WEFT_OK;
    }
    if (option_is_set(o, OPT_PRECONDITION_FIRST) && option_real(o, OPT_PRECONDITION_CLIP) == 0.0) {
        option_warn_beside(o, OPT_PRECONDITION_FIRST, OPT_PRECONDITION_CLIP, "without a clip no first step is longer");
    }
    options.seed = train->seed;
    if (steps > 1) {
        options.early = steps;
        options.early_every = options.factors;
    }
    WEFT_TRY(second_create(comm, model, &options, second));
    log_info("precondition %s: %.1f MB for %d maps", option_text(o, OPT_PRECONDITION),
             (double)second_bytes(*second) / 1e6, model->maps);
    train->tap = second_tap(*second);
    train->preconditioner = second_preconditioner(*second);
    return WEFT_OK;
}
