/* app/gnn/auto_options.c: see app/gnn/auto_options.h. Figures behind it: docs/notes/second-order.md. */
#include "app/gnn/auto_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_links.h"
#include "app/gnn/options/gnn_words.h"
#include "app/setup/second_setup.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "gnn/facts.h"
#include "gnn/linear_start.h"

static bool is_recipe(const weft_options *options, const char *name)
{
    return strcmp(option_text(options, OPT_RECIPE), name) == 0;
}

static bool is_gin(const weft_options *options)
{
    return gnn_kind_asked(options) == GNN_GIN;
}

/* Sums of gin grow with the degree: measured, without a norm it stays at the score of the largest class
 * (docs/recipes.md). */
static bool keeps_norm(const weft_options *options)
{
    return is_gin(options);
}

/* Options that nobody set get the values of a recipe that goes with the one in force. */
static weft_status add_recipe(weft_options *options, const char *name)
{
    for (const option_recipe_setting *s = gnn_recipes; s->recipe != NULL; ++s) {
        const bool kept = s->id == OPT_NORM && keeps_norm(options);
        if (strcmp(s->recipe, name) == 0 && !kept && !option_is_set(options, s->id)) {
            WEFT_TRY(option_decide(options, s->id, s->text));
        }
    }
    return WEFT_OK;
}

static weft_status decide_recipe(weft_options *options, const gnn_facts *facts)
{
    const bool fast = is_recipe(options, "fast");
    const char *name = gnn_has_few_labels(facts)      ? "few-labels"
                       : gnn_has_wide_features(facts) ? "wide-features"
                                                      : "default";
    log_info("recipe %s%s (auto: %.0f training vertices a class, few are fewer than %d; %lld in all, %lld features)",
             fast ? "fast with " : "", name, gnn_labels_per_answer(facts), GNN_FEW_LABELS, (long long)facts->training,
             (long long)facts->features);
    return fast ? add_recipe(options, name) : option_decide(options, OPT_RECIPE, name);
}

/* Training vertices are at least twice the features: fewer are learned by heart. */
static bool has_many_rows(const gnn_facts *facts)
{
    enum { ROWS_A_FEATURE = 2 };
    return facts->training >= ROWS_A_FEATURE * facts->features;
}

/* Weights of so few features are learned well from so many rows: dropout only slows them down. */
static bool has_rows_to_spare(const gnn_facts *facts)
{
    enum { ROWS_A_FEATURE = 100 };
    return facts->training >= ROWS_A_FEATURE * facts->features;
}

static weft_status decide_unless_set(weft_options *options, option_id id, const char *text)
{
    return option_is_set(options, id) ? WEFT_OK : option_decide(options, id, text);
}

static bool takes_maxima(const weft_options *options)
{
    return gnn_kind_asked(options) == GNN_SAGE && option_choice(options, OPT_AGGREGATOR) == GNN_SAGE_MAX;
}

/* Returns true if a network of these options can begin as a linear model. */
static bool may_start_linear(const weft_options *options, const gnn_facts *facts)
{
    const gnn_start_facts start = {.kind = gnn_kind_asked(options),
                                   .maxima = takes_maxima(options),
                                   .convolutions = (int)option_int(options, OPT_LAYERS),
                                   .out_heads = (int)option_int(options, OPT_OUT_HEADS),
                                   .passed_by = option_choice(options, OPT_JUMPING) != GNN_JUMPING_NONE ||
                                                gnn_links_asked(options),
                                   .norm = option_choice(options, OPT_NORM),
                                   .learns_classes = option_choice(options, OPT_LOSS) == LOSS_XENT,
                                   .outputs = facts->answers,
                                   .hidden = option_int(options, OPT_HIDDEN),
                                   .whole = option_choice(options, OPT_PRECISION) == TRAIN_PRECISION_F32 &&
                                            option_choice(options, OPT_FEATURE_ROWS) == GNN_ROWS_F32};
    return gnn_start_obstacle(&start) == NULL && option_text(options, OPT_INIT_WEIGHTS)[0] == '\0';
}

/* Training vertices are fewer than half of the features: networks learn more of these than a linear model does. */
static bool has_scarce_rows(const gnn_facts *facts)
{
    return 2 * facts->training < facts->features;
}

/* Returns true if a linear model by least squares is a good beginning: few rows or labels say no more than it learns.
 * Of many rows attention says more, and features are to be no fewer than hidden columns, and twice as many where these
 * are so few that a class has less than two, as they are trained in less time than the linear model takes. Gin waits to
 * be asked, because its sums are too uneven for the same steps on all ranks (docs/howto-second-order.md). */
static bool suits_linear_start(const weft_options *options, const gnn_facts *facts)
{
    if (is_gin(options)) {
        return false;
    }
    if (gnn_has_few_labels(facts) || !has_many_rows(facts)) {
        return true;
    }
    const int64_t hidden = option_int(options, OPT_HIDDEN);
    const int64_t least = 2 * facts->answers > hidden ? 2 * hidden : hidden;
    return gnn_kind_asked(options) != GNN_GAT && facts->features >= least;
}

/* Such a network begins as the linear model. [out] starts */
static weft_status decide_linear_start(weft_options *options, const gnn_facts *facts, bool *starts)
{
    *starts = false;
    const bool asked = option_is_set(options, OPT_WEIGHT_INIT);
    if ((!asked && !suits_linear_start(options, facts)) || !may_start_linear(options, facts)) {
        return WEFT_OK;
    }
    WEFT_TRY(decide_unless_set(options, OPT_WEIGHT_INIT, "linear"));
    *starts = option_choice(options, OPT_WEIGHT_INIT) == GNN_INIT_LINEAR;
    if (*starts) {
        log_info("recipe fast: first weights linear (%.3g training vertices for each feature)",
                 (double)facts->training / (double)facts->features);
    }
    return WEFT_OK;
}

/* Returns why second order gives way, or NULL. All of it was measured. */
static const char *ends_higher_with_adam(const weft_options *options, const gnn_facts *facts, bool starts)
{
    if (starts && (gnn_has_few_labels(facts) || !has_many_rows(facts))) {
        return "short first steps without it keep the linear start";
    }
    if (gnn_has_few_labels(facts)) {
        return "few labels end higher with Adam";
    }
    if (is_gin(options) && !has_many_rows(facts)) {
        return "gin ends higher with Adam where training vertices are fewer than two for each feature";
    }
    return gnn_kind_asked(options) == GNN_SAGE && has_scarce_rows(facts)
               ? "sage ends higher with Adam where training vertices are fewer than half of the features"
               : NULL;
}

/* A warm-up keeps what a linear start knows; of a short run it is half. Gradients there are 0 but for rounding in the
 * weights of features that no training vertex is near, and Adam would make whole steps of them, other ones on other
 * ranks. Where rows are scarce, long ones drown others in a linear model, so rows that are counts take one length. */
static weft_status decide_after_start(weft_options *options, const gnn_facts *facts)
{
    enum { WARMUP = 20 };
    const bool counts = gnn_scaling_for(facts, true) == GNN_SCALE_NONE;
    char warmup[32];
    snprintf(warmup, sizeof warmup, "%lld", (long long)smaller(WARMUP, option_int(options, OPT_EPOCHS) / 2));
    WEFT_TRY(decide_unless_set(options, OPT_WARMUP, warmup));
    WEFT_TRY(decide_unless_set(options, OPT_ADAM_EPSILON, "1e-5"));
    if (!gnn_has_few_labels(facts) && has_scarce_rows(facts) && counts && option_is_auto(options, OPT_NORMALIZE)) {
        log_info("recipe fast: features: rows divided by their length (training vertices are fewer than half of the "
                 "features)");
        return option_decide(options, OPT_NORMALIZE, "length");
    }
    return WEFT_OK;
}

/* Nobody named another optimiser. */
static bool may_take_adam(const weft_options *options)
{
    const optimizer_kind asked = option_choice(options, OPT_OPTIMIZER);
    return !option_is_set(options, OPT_OPTIMIZER) || asked == OPTIMIZER_ADAM || asked == OPTIMIZER_ADAMW;
}

/* Second order gives way to Adam, in half of the epochs of other recipes; sums of gin need them all. Few labels of
 * classes keep more of a linear start at a third of the usual rate, and without one are as good at twice of it, and
 * sooner. */
static weft_status give_way(weft_options *options, const gnn_facts *facts, bool starts, const char *reason)
{
    const char *epochs = is_gin(options) ? "200" : "100";
    const bool adam = option_choice(options, OPT_OPTIMIZER) == OPTIMIZER_ADAM;
    const bool few =
        gnn_has_few_labels(facts) && option_choice(options, OPT_LOSS) == LOSS_XENT && !gnn_links_asked(options);
    WEFT_TRY(option_decide(options, OPT_PRECONDITION, "none"));
    WEFT_TRY(adam && few ? decide_unless_set(options, OPT_LR, starts ? "0.003" : "0.02") : WEFT_OK);
    WEFT_TRY(option_source_of(options, OPT_EPOCHS) == OPTION_RECIPE ? option_decide(options, OPT_EPOCHS, epochs)
                                                                    : WEFT_OK);
    WEFT_TRY(starts ? decide_after_start(options, facts) : WEFT_OK);
    log_info("recipe fast: precondition none, --optimizer %s, --lr %s, warm-up of %s epochs, %s in all (%s)",
             option_text(options, OPT_OPTIMIZER), option_text(options, OPT_LR), option_text(options, OPT_WARMUP),
             option_text(options, OPT_EPOCHS), reason);
    return WEFT_OK;
}

/* Means with a norm behind them bear long first steps; attention, sums, and networks without a norm do not. */
static weft_status decide_first_steps(weft_options *options)
{
    const gnn_kind kind = gnn_kind_asked(options);
    const bool bears = (kind == GNN_SAGE || kind == GNN_GCN) && strcmp(option_text(options, OPT_NORM), "none") != 0;
    return bears ? decide_unless_set(options, OPT_PRECONDITION_FIRST, "10") : WEFT_OK;
}

/* Short steps do not lose where a linear start has brought the network. */
static weft_status decide_short_steps(weft_options *options)
{
    return decide_unless_set(options, OPT_PRECONDITION_CLIP, "0.01");
}

/* Scores of attention are exponentials, and its vectors have no curvature that could shorten their steps: measured with
 * a clip of 0.1, training diverges on graphs of few labels and turns rounding into other results. Sums of gin end as
 * high or higher with 0.01. */
static bool bears_short_steps(const weft_options *options)
{
    return gnn_ops_asked(options)->heads || is_gin(options);
}

/* Measured, GraphSAGE is as soon by its inputs alone, and ends higher. Sums of rows that are held sparse have no
 * covariance but by samples, which `input` alone takes, as it does of very many columns. */
static bool has_both_sides(const weft_options *options, const gnn_facts *facts)
{
    return gnn_kind_asked(options) == GNN_GCN && !gnn_has_sparse_features(facts) && facts->features <= SECOND_WIDE;
}

/* Measured, turning by both sides is sooner at a score than by the inputs alone, at the same cost. Weights are good
 * after the ten epochs of the first cycle, and better at the end of longer ones. The rates are those
 * of the optimiser that second order takes by itself. */
static weft_status decide_both_sides(weft_options *options, bool starts)
{
    const bool sgd = !option_is_set(options, OPT_OPTIMIZER) || option_choice(options, OPT_OPTIMIZER) == OPTIMIZER_SGD;
    const bool cosine =
        !option_is_set(options, OPT_SCHEDULE) || option_choice(options, OPT_SCHEDULE) == SCHEDULE_COSINE;
    WEFT_TRY(option_decide(options, OPT_PRECONDITION, "kfac"));
    WEFT_TRY(decide_unless_set(options, OPT_PRECONDITION_SOLVE, "inverse"));
    WEFT_TRY(starts ? decide_short_steps(options) : decide_first_steps(options));
    WEFT_TRY(sgd ? decide_unless_set(options, OPT_LR, "0.5") : WEFT_OK);
    WEFT_TRY(sgd && cosine ? decide_unless_set(options, OPT_SCHEDULE_CYCLE, "10") : WEFT_OK);
    log_info(
        "recipe fast: precondition kfac, solve %s, rate %g%s%s (two training vertices or more for each feature, dense "
        "ones)",
        option_text(options, OPT_PRECONDITION_SOLVE), option_real(options, OPT_LR),
        sgd && cosine ? ", epochs of the first cycle " : "",
        sgd && cosine ? option_text(options, OPT_SCHEDULE_CYCLE) : "");
    return WEFT_OK;
}

/* Weights of so many rows bear less dropout, and graphsage longer steps: measured, both are sooner at a score, which
 * ends as high. Long first steps would leave the linear start. `free`: nobody named the method. */
static weft_status decide_spare_rows(weft_options *options, bool free, bool starts)
{
    const bool sage = gnn_kind_asked(options) == GNN_SAGE && free;
    const bool sgd = !option_is_set(options, OPT_OPTIMIZER) || option_choice(options, OPT_OPTIMIZER) == OPTIMIZER_SGD;
    WEFT_TRY(decide_unless_set(options, OPT_DROPOUT, "0.2"));
    WEFT_TRY(sage && !starts ? decide_first_steps(options) : WEFT_OK);
    WEFT_TRY(!sage && starts ? decide_short_steps(options) : WEFT_OK);
    WEFT_TRY(sage && sgd ? decide_unless_set(options, OPT_LR, "0.5") : WEFT_OK);
    log_info("recipe fast: dropout %g, first step %g (a hundred training vertices or more for each feature)",
             option_real(options, OPT_DROPOUT), option_real(options, OPT_PRECONDITION_FIRST));
    return WEFT_OK;
}

/* Fast, of two training vertices or more for each feature. */
static weft_status decide_fast_of_many(weft_options *options, const gnn_facts *facts, bool starts)
{
    const bool named = option_source_of(options, OPT_PRECONDITION) != OPTION_RECIPE;
    if (has_rows_to_spare(facts)) {
        return decide_spare_rows(options, !named, starts);
    }
    if (!named && has_both_sides(options, facts)) {
        return decide_both_sides(options, starts);
    }
    return starts ? decide_short_steps(options) : WEFT_OK;
}

/* Second order fits few rows by heart within a few steps, so features are dropped and weights decay, and a hundred
 * labels want short steps. All of it was measured. */
static weft_status decide_fast(weft_options *options, const gnn_facts *facts)
{
    const second_kind kind = option_choice(options, OPT_PRECONDITION);
    const bool few = gnn_has_few_labels(facts), turns = kind == SECOND_INPUT || kind == SECOND_KFAC;
    const bool free = option_source_of(options, OPT_PRECONDITION) == OPTION_RECIPE;
    bool starts = false;
    WEFT_TRY(free || (turns && !few) ? decide_linear_start(options, facts, &starts) : WEFT_OK);
    const char *way = ends_higher_with_adam(options, facts, starts);
    if (free && way != NULL && may_take_adam(options)) {
        return give_way(options, facts, starts, way);
    }
    if (turns && !few && has_many_rows(facts)) {
        return decide_fast_of_many(options, facts, starts);
    }
    if (!turns) {
        return WEFT_OK;
    }
    const bool short_steps = starts || bears_short_steps(options);
    WEFT_TRY(few           ? decide_unless_set(options, OPT_PRECONDITION_CLIP, "0.001")
             : short_steps ? decide_short_steps(options)
                           : decide_first_steps(options));
    WEFT_TRY(decide_unless_set(options, OPT_INPUT_DROPOUT, "-1"));
    WEFT_TRY(decide_unless_set(options, OPT_WEIGHT_DECAY, "0.05"));
    log_info("recipe fast: precondition clip %g, first step %g, input dropout %g (-1: that of hidden layers), weight "
             "decay %g (few "
             "labels, or fewer than two training vertices for each feature)",
             option_real(options, OPT_PRECONDITION_CLIP), option_real(options, OPT_PRECONDITION_FIRST),
             option_real(options, OPT_INPUT_DROPOUT), option_real(options, OPT_WEIGHT_DECAY));
    return WEFT_OK;
}

static weft_status keep_norm(weft_options *options)
{
    if (!keeps_norm(options) || option_source_of(options, OPT_NORM) != OPTION_RECIPE ||
        !is_recipe(options, "few-labels")) {
        return WEFT_OK;
    }
    log_info("norm batch: gin keeps it, whatever recipe few-labels says of the others");
    return option_decide(options, OPT_NORM, "batch");
}

static void warn_of_sums(const weft_options *options, const gnn_facts *facts)
{
    if (option_choice(options, OPT_NORMALIZE) == GNN_SCALE_ROW && gnn_sums_cancel(facts)) {
        log_warn(FLAG_NORMALIZE " row divides features by the sum of their row, and in %lld of %lld rows those of both "
                                "signs cancel to almost 0: such rows become huge; " FLAG_NORMALIZE " standard serves "
                                "features of both signs",
                 (long long)facts->cancelled, (long long)facts->rows);
    }
}

static weft_status decide_scaling(weft_options *options, const gnn_facts *facts)
{
    static const struct {
        const char *option;
        const char *words;
    } scalings[] = {
        [GNN_SCALE_NONE] = {"none", "as they are, a norm follows"},
        [GNN_SCALE_LENGTH] = {"length", "rows divided by their length"},
        [GNN_SCALE_STANDARD] = {"standard", "columns standardised"},
    };
    gnn_feature_scaling scaling = gnn_scaling_for(facts, strcmp(option_text(options, OPT_NORM), "none") != 0);
    assert((size_t)scaling < sizeof scalings / sizeof *scalings && scalings[scaling].option != NULL);
    double zeros = facts->values > 0 ? 100.0 * (double)facts->zeros / (double)facts->values : 0.0;
    log_info("features: %s (auto: %.1f %% are 0, %s are negative)", scalings[scaling].words, zeros,
             facts->negative > 0 ? "some" : "none");
    return option_decide(options, OPT_NORMALIZE, scalings[scaling].option);
}

/* Nobody told: a guess could be as wrong as none, and less plain. */
static weft_status leave_features(weft_options *options)
{
    log_warn("the model does not tell how features were scaled for it: they are taken as they are; if they were not, "
             "say so with --normalize");
    return option_decide(options, OPT_NORMALIZE, "none");
}

/* Scaling is decided by now: what has a mean of 0 is nowhere 0. Maxima come before products and want features whole. */
static weft_status decide_form(weft_options *options, const gnn_facts *facts)
{
    const bool zeros_stay = option_choice(options, OPT_NORMALIZE) != GNN_SCALE_STANDARD;
    const bool multiplies_first =
        option_choice(options, OPT_ORDER) != GNN_ORDER_AGGREGATE_FIRST && !takes_maxima(options);
    const bool sparse = zeros_stay && multiplies_first && gnn_has_sparse_features(facts);
    if (sparse) {
        log_info("features: held sparse (auto: %.2f %% of %lld are not 0)", 100.0 * gnn_density(facts),
                 (long long)facts->features);
    }
    return option_decide(options, OPT_FEATURE_FORM, sparse ? "sparse" : "whole");
}

/* Attention makes weights of its own, maxima multiply nothing, and networks without a graph have no edges. */
static weft_status decide_weights(weft_options *options, const weft_graph *graph)
{
    const char *model = option_text(options, OPT_MODEL);
    const char *of = takes_maxima(options) ? " with " FLAG_AGGREGATOR " max" : "";
    const gnn_edge_weights asked = option_choice(options, OPT_EDGE_WEIGHTS);
    const bool takes = gnn_ops_asked(options)->normalisation != NULL;
    WEFT_CHECK(asked != GNN_WEIGHTS_ON || graph->weight != NULL, WEFT_ERR_DATA,
               FLAG_EDGE_WEIGHTS " on: %s has no weights (weight.npy): weft convert INPUT " FLAG_EDGE_WEIGHTS
                                 " FILE --out STORE takes them; off counts every edge as 1",
               graph->name);
    WEFT_CHECK(asked != GNN_WEIGHTS_ON || takes, WEFT_ERR_USAGE,
               FLAG_EDGE_WEIGHTS " on: " FLAG_MODEL
                                 " %s%s has no use for weights: take a sum over neighbours (sage with "
                                 "another aggregator, gcn, gin, sgc), or leave them out with " FLAG_EDGE_WEIGHTS " off",
               model, of);
    const bool used = graph->weight != NULL && takes && asked != GNN_WEIGHTS_OFF;
    const hal_spmm_form form = option_choice(options, OPT_SPMM);
    WEFT_CHECK(!used || form == HAL_SPMM_AUTO || form == HAL_SPMM_ROWS, WEFT_ERR_USAGE,
               FLAG_SPMM " %s holds no weights of edges, which %s has: take rows or auto, or leave the weights out "
                         "with " FLAG_EDGE_WEIGHTS " off",
               option_text(options, OPT_SPMM), graph->name);
    WEFT_CHECK(!used || option_choice(options, OPT_FEATURE_ROWS) == GNN_ROWS_F32, WEFT_ERR_USAGE,
               FLAG_FEATURE_ROWS
               " i16 holds no weights of edges, which %s has: leave it out, or the weights with " FLAG_EDGE_WEIGHTS
               " off",
               graph->name);
    if (asked != GNN_WEIGHTS_AUTO) {
        return WEFT_OK;
    }
    if (graph->weight != NULL && !takes) {
        log_warn("the weights of %s's edges are left out: " FLAG_MODEL " %s%s has no use for them", graph->name, model,
                 of);
    } else if (used) {
        log_info("edges count by their weights (" FLAG_EDGE_WEIGHTS " auto; off counts each as 1)");
    }
    return option_decide(options, OPT_EDGE_WEIGHTS, used ? "on" : "off");
}

/* Maxima run along edges one by one, or along partial maxima. */
static void tell_maxima(const weft_options *options)
{
    const hal_spmm_form form = option_choice(options, OPT_SPMM);
    if (takes_maxima(options) && form != HAL_SPMM_AUTO && form != HAL_SPMM_ROWS && form != HAL_SPMM_SHARED) {
        log_warn(FLAG_SPMM " %s has no effect with " FLAG_AGGREGATOR " max: take rows, shared or auto",
                 option_text(options, OPT_SPMM));
    }
}

/* A trained model is not trained: its answers are all of its last layer. */
static weft_status decide_last_layer(weft_options *options, const gnn_facts *facts, bool training)
{
    const bool read = training && gnn_ops_asked(options)->normalisation != NULL && gnn_reads_few(facts);
    return option_is_auto(options, OPT_LAST_LAYER) ? option_decide(options, OPT_LAST_LAYER, read ? "read" : "whole")
                                                   : WEFT_OK;
}

static weft_status decide_clip(weft_options *options)
{
    const second_kind kind = option_choice(options, OPT_PRECONDITION);
    const bool turns = kind == SECOND_INPUT || kind == SECOND_KFAC, attends = gnn_ops_asked(options)->heads;
    if (!turns || !bears_short_steps(options) || option_source_of(options, OPT_PRECONDITION_CLIP) != OPTION_DEFAULT) {
        return WEFT_OK;
    }
    WEFT_TRY(decide_short_steps(options));
    log_info("precondition clip %s (auto: %s has %s, which bear%s short steps alone)",
             option_text(options, OPT_PRECONDITION_CLIP), option_text(options, OPT_MODEL),
             attends ? "attention" : "sums of neighbours", attends ? "s" : "");
    return WEFT_OK;
}

/* Sums of gin grow with the degree, so one eigenvalue of their covariance holds nearly all of the trace, and the mean
 * eigenvalue is far above the others: damping of that size would leave them the plain gradient. */
static weft_status decide_damping(weft_options *options)
{
    static const char damping[] = "0.03";
    if (!is_gin(options) || option_choice(options, OPT_PRECONDITION) != SECOND_INPUT ||
        !option_is_auto(options, OPT_PRECONDITION_DAMPING)) {
        return WEFT_OK;
    }
    log_info("precondition damping %s (auto: the sums of gin vary most along one direction)", damping);
    return option_decide(options, OPT_PRECONDITION_DAMPING, damping);
}

/* Measured, second order saves epochs where training vertices are at least twice the features. With
 * fewer, Adam is about as soon at its best score and ends higher. */
static weft_status decide_second(weft_options *options, const gnn_facts *facts)
{
    const bool many = !gnn_has_few_labels(facts) && has_many_rows(facts);
    WEFT_TRY(second_setup_decide(options, many));
    WEFT_TRY(many ? decide_damping(options) : WEFT_OK);
    return decide_clip(options);
}

/* What the model answers with belongs to it: data that it meets later may have no labels, or others. */
static weft_status decide_loss(weft_options *options, const weft_graph *graph)
{
    const bool labelled = graph->label != NULL || graph->target != NULL;
    return labelled && option_is_auto(options, OPT_LOSS) ? option_decide(options, OPT_LOSS,
                                                                         gnn_labels_are_numbers(graph) ? "squared"
                                                                         : graph->target != NULL       ? "bce"
                                                                                                       : "xent")
                                                         : WEFT_OK;
}

static weft_status decide(weft_options *options, const weft_graph *graph, const gnn_facts *facts, bool training)
{
    if (option_is_auto(options, OPT_MODEL)) {
        WEFT_TRY(option_decide(options, OPT_MODEL, "sage"));
    }
    WEFT_TRY(decide_weights(options, graph));
    tell_maxima(options);
    WEFT_TRY(decide_last_layer(options, facts, training));
    WEFT_TRY(training ? decide_loss(options, graph) : WEFT_OK);
    if (training && (option_is_auto(options, OPT_RECIPE) || is_recipe(options, "fast"))) {
        WEFT_TRY(decide_recipe(options, facts));
        WEFT_TRY(is_recipe(options, "fast") ? decide_fast(options, facts) : WEFT_OK);
    }
    WEFT_TRY(training ? decide_second(options, facts) : WEFT_OK);
    WEFT_TRY(keep_norm(options));
    if (training) {
        warn_of_sums(options, facts);
    }
    if (option_is_auto(options, OPT_NORMALIZE)) {
        WEFT_TRY(training ? decide_scaling(options, facts) : leave_features(options));
    }
    if (option_is_auto(options, OPT_FEATURE_FORM)) {
        return decide_form(options, facts);
    }
    WEFT_CHECK(option_choice(options, OPT_FEATURE_FORM) != GNN_FEATURES_SPARSE ||
                   option_choice(options, OPT_NORMALIZE) != GNN_SCALE_STANDARD,
               WEFT_ERR_USAGE,
               FLAG_FEATURE_FORM
               " sparse: " FLAG_NORMALIZE
               " standard leaves no feature at 0; take length, row or none, or leave the form to auto");
    return WEFT_OK;
}

/* Facts are read where something follows from them: features that are standardised are not sparse. */
static bool needs_facts(const weft_options *options, bool training)
{
    if (training &&
        (option_is_auto(options, OPT_RECIPE) || is_recipe(options, "fast") || option_is_auto(options, OPT_NORMALIZE) ||
         option_choice(options, OPT_PRECONDITION) == SECOND_AUTO ||
         option_choice(options, OPT_NORMALIZE) == GNN_SCALE_ROW ||
         option_choice(options, OPT_LAST_LAYER) != GNN_LAST_WHOLE)) {
        return true;
    }
    const bool may_be_sparse = option_choice(options, OPT_FEATURE_FORM) != GNN_FEATURES_WHOLE;
    return may_be_sparse && option_choice(options, OPT_NORMALIZE) != GNN_SCALE_STANDARD;
}

weft_status auto_options_decide(weft_comm *comm, const weft_graph *graph, bool training, weft_options *options,
                                gnn_facts *facts)
{
    if (facts->features == 0 && needs_facts(options, training)) {
        if (comm_rank(comm) == 0) {
            *facts = gnn_facts_of(graph);
            graph_release_pages(graph);
        }
        WEFT_TRY(comm_bcast(comm, 0, facts, (int64_t)sizeof *facts));
    }
    return comm_agree(comm, decide(options, graph, facts, training));
}
