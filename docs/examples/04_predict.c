/*
 * 04_predict: train a model, ask it for its answers, and look at its weights.
 *
 *     04_predict [FOLDER]             the run's files go to FOLDER; default example-predict
 */
#include <stdio.h>

#include <weft/context.h>
#include <weft/options.h>
#include <weft/predictor.h>
#include <weft/trainer.h>

enum { PAIRS = 8 };

/* Options of a command, of names and values up to a name that is NULL. */
static weft_status make(const char *command, const char *const (*wanted)[2], weft_options **options)
{
    weft_status status = weft_options_create(command, options);
    for (int i = 0; status == WEFT_OK && wanted[i][0] != NULL; ++i) {
        status = weft_options_set(*options, wanted[i][0], wanted[i][1]);
    }
    return status;
}

static weft_status train(const char *folder)
{
    const char *const wanted[PAIRS][2] = {{"data", "synth:quickstart,scale=0.02"},
                                          {"hidden", "16"},
                                          {"epochs", "20"},
                                          {"quiet", "on"},
                                          {"run-dir", folder},
                                          {"force", "on"}};
    weft_options *options = NULL;
    weft_train_result result;
    weft_status status = make("train", wanted, &options);
    status = status == WEFT_OK ? weft_train(options, &result) : status;
    if (status == WEFT_OK) {
        printf("trained: test %.4f\n", result.test_mean);
    }
    weft_options_destroy(options);
    return status;
}

static weft_status predict(const char *folder)
{
    const char *const wanted[PAIRS][2] = {
        {"checkpoint", folder}, {"data", "synth:quickstart,scale=0.02"}, {"quiet", "on"}};
    weft_options *options = NULL;
    weft_answers *answers = NULL;
    weft_scores scores;
    weft_status status = make("predict", wanted, &options);
    status = status == WEFT_OK ? weft_predict(options, &answers) : status;
    if (status == WEFT_OK) {
        weft_answers_scores(answers, &scores);
        printf("asked: test %s %.4f, %lld rows of %lld logits\n", scores.metric, scores.test,
               (long long)weft_answers_total(answers), (long long)weft_answers_width(answers));
    }
    weft_answers_destroy(answers);
    weft_options_destroy(options);
    return status;
}

static weft_status list_weights(const char *folder)
{
    weft_weights *weights = NULL;
    const weft_status status = weft_weights_open(folder, &weights);
    for (int i = 0; status == WEFT_OK && i < weft_weights_count(weights); ++i) {
        const int64_t *shape;
        const int dims = weft_weights_shape(weights, i, &shape);
        printf("%s:", weft_weights_name(weights, i));
        for (int d = 0; d < dims; ++d) {
            printf(" %lld", (long long)shape[d]);
        }
        printf(", begins with %g\n", (double)weft_weights_values(weights, i)[0]);
    }
    weft_weights_destroy(weights);
    return status;
}

/* A launcher's MPI ends with the last context, and starts once: one that is open holds it from call to call. */
static weft_status open_context(weft_context **context)
{
    const char *const wanted[PAIRS][2] = {{"quiet", "on"}};
    weft_options *options = NULL;
    weft_status status = make("train", wanted, &options);
    status = status == WEFT_OK ? weft_context_create(options, context) : status;
    weft_options_destroy(options);
    return status;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "example-predict";
    weft_context *context = NULL;
    weft_status status = open_context(&context);
    status = status == WEFT_OK ? train(folder) : status;
    status = status == WEFT_OK ? predict(folder) : status;
    status = status == WEFT_OK ? list_weights(folder) : status;
    if (status != WEFT_OK) {
        fprintf(stderr, "04_predict: %s\n", weft_error_message());
    }
    weft_context_destroy(context);
    return (int)status;
}
