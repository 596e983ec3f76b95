/* app/setup/second_outlook.c: see app/setup/second_outlook.h. */
#include "app/setup/second_outlook.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/setup/second_setup.h"
#include "train/train_options.def"

/* A place replaces `everywhere`, which sends least, if a step is shorter by this part and by so many seconds:
 * predictions are no better. */
#define WORTH       0.9
#define WORTH_LEAST 5e-4
/* Operations of a step below which no place can be worth that. */
#define FEW_FLOPS 2e7

static const char *const places[OUTLOOK_PLACES] = {"everywhere", "comm-opt", "hybrid", "mem-opt"};

static weft_status price_job(const app_context *context, const train_model *outline, second_options options,
                             const second_ranks *job, const second_rates *rates, second_outlook *outlook)
{
    const comm_model *network = comm_get_model(context->comm);
    for (int p = 0; p < OUTLOOK_PLACES; ++p) {
        const bool known = second_place_parse(places[p], &options.place);
        assert(known);
        (void)known;
        WEFT_TRY(second_price_of(outline, &options, job, rates, network, &outlook->price[outlook->jobs][p]));
    }
    outlook->ranks[outlook->jobs++] = job->ranks;
    return WEFT_OK;
}

static weft_status price(const app_context *context, const train_model *outline, const second_options *options,
                         const second_ranks *job, bool larger, second_outlook *outlook)
{
    second_rates rates;
    WEFT_TRY(second_rates_measure(context->hal, &rates));
    WEFT_TRY(price_job(context, outline, *options, job, &rates, outlook));
    for (int ranks = 8; larger && ranks <= 128; ranks *= 2) {
        second_ranks other = *job;
        other.rank = 0;
        other.ranks = other.nodes = ranks;
        WEFT_TRY(price_job(context, outline, *options, &other, &rates, outlook));
    }
    return WEFT_OK;
}

/* The quickest place that fits, or the one that takes least memory. */
static int choose(const second_outlook *outlook, uint64_t room)
{
    const second_price *price = outlook->price[0];
    int best = -1, least = 0;
    for (int p = 0; p < OUTLOOK_PLACES; ++p) {
        const double worth = fmin(WORTH * price[0].step, price[0].step - WORTH_LEAST);
        const double limit = best == 0 ? worth : price[best < 0 ? p : best].step;
        least = price[p].bytes < price[least].bytes ? p : least;
        if (price[p].bytes <= room && (best < 0 || price[p].step < limit)) {
            best = p;
        }
    }
    return best >= 0 ? best : least;
}

static weft_status decide(const app_context *context, uint64_t room, const second_ranks *job, second_outlook *outlook)
{
    const bool several = job->ranks > 1 && outlook->jobs > 0;
    const int taken = several ? choose(outlook, room) : 0;
    if (several && option_is_auto(context->options, OPT_PRECONDITION_PLACE)) {
        log_info("precondition place %s (auto: %.2g s a step, %.2g everywhere; %.1f MB, %.1f everywhere)",
                 places[taken], outlook->price[0][taken].step, outlook->price[0][0].step,
                 (double)outlook->price[0][taken].bytes / 1e6, (double)outlook->price[0][0].bytes / 1e6);
    }
    return app_decide_shared(context->comm, context->decided, OPT_PRECONDITION_PLACE, places[taken]);
}

static void mark_taken(const second_options *options, second_outlook *outlook)
{
    for (int p = 0; p < OUTLOOK_PLACES; ++p) {
        second_place place;
        outlook->taken =
            second_place_parse(places[p], &place) && place.kind == options->place.kind ? p : outlook->taken;
    }
}

weft_status second_outlook_make(const app_context *context, const train_model *outline, const second_ranks *job,
                                uint64_t room, second_outlook *outlook)
{
    const weft_options *o = context->options;
    const bool dry = option_flag(o, OPT_DRY_RUN);
    second_options options;
    *outlook = (second_outlook){.bytes = 0};
    WEFT_TRY(second_setup_options(o, outline, &options));
    if (options.kind == SECOND_INPUT || options.kind == SECOND_KFAC) {
        const bool open = option_is_auto(o, OPT_PRECONDITION_PLACE);
        double flops = 0.0;
        WEFT_TRY(comm_agree(context->comm, second_flops_of(outline, &options, job, &flops)));
        const bool asks = dry || (open && job->ranks > 1 && flops >= FEW_FLOPS);
        WEFT_TRY(comm_agree(context->comm, asks ? price(context, outline, &options, job, dry, outlook) : WEFT_OK));
        WEFT_TRY(open ? decide(context, room, job, outlook) : WEFT_OK);
        WEFT_TRY(second_setup_options(context->options, outline, &options));
        mark_taken(&options, outlook);
    }
    if (options.kind == SECOND_NONE) {
        return WEFT_OK;
    }
    const weft_status status =
        second_plan_bytes(outline, &options, job, context->hal, &outlook->bytes, &outlook->beside);
    if (strcmp(option_text(o, OPT_CHECKPOINT_EVERY), "0") == 0) {
        outlook->beside.checkpoint = 0;
    }
    return comm_agree(context->comm, status);
}

void second_outlook_print(const second_outlook *outlook, FILE *out)
{
    if (outlook->jobs == 0) {
        return;
    }
    fprintf(out,
            "second order, predicted milliseconds of the busiest rank for a look at rows, an inversion and a turned\n"
            "gradient, of messages and of a step on average, and MB of the largest rank (beyond this job: one rank a\n"
            "node):\n"
            "  %5s  %-10s  %9s  %9s  %9s  %9s  %9s  %9s\n",
            "ranks", "place", "look", "inversion", "turn", "messages", "step", "MB");
    for (int j = 0; j < outlook->jobs; ++j) {
        for (int p = 0; p < (outlook->ranks[j] > 1 ? OUTLOOK_PLACES : 1); ++p) {
            const second_price *price = &outlook->price[j][p];
            fprintf(out, "  %5d  %-10s  %9.3f  %9.3f  %9.3f  %9.3f  %9.3f  %9.1f%s\n", outlook->ranks[j], places[p],
                    1e3 * price->look, 1e3 * price->inversion, 1e3 * price->turn, 1e3 * price->messages,
                    1e3 * price->step, (double)price->bytes / 1e6, j == 0 && p == outlook->taken ? "  taken" : "");
        }
    }
}
