/*
 * 01_train: train GraphSAGE on a generated graph and read the result.
 *
 *     01_train [FOLDER]               the run's files go to FOLDER; default example-run
 *     mpirun -np 2 01_train           the same numbers, from two ranks
 */
#include <stdio.h>

#include <weft/options.h>
#include <weft/trainer.h>

/* Names and values as on the command line of `weft train`. */
static weft_status choose(weft_options *options, const char *folder)
{
    const char *const wanted[][2] = {
        {"data", "synth:quickstart,scale=0.02"},
        {"model", "sage"},
        {"hidden", "16"},
        {"epochs", "20"},
        {"quiet", "on"}, /* no progress on stderr */
        {"run-dir", folder},
        {"force", "on"}, /* run again and again into the same folder */
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        weft_status status = weft_options_set(options, wanted[i][0], wanted[i][1]);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    weft_options *options = NULL;
    weft_train_result result;
    weft_status status = weft_options_create("train", &options);
    if (status == WEFT_OK) {
        status = choose(options, argc > 1 ? argv[1] : "example-run");
    }
    if (status == WEFT_OK) {
        status = weft_train(options, &result);
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "01_train: %s\n", weft_error_message());
    } else if (result.rank == 0) {
        printf("test accuracy %.4f after %lld epochs on %d rank%s (%lld parameters)\n", result.test_mean,
               (long long)result.epochs, result.ranks, result.ranks > 1 ? "s" : "", (long long)result.parameters);
        printf("epoch %.6f s median; predictions in %s/predictions.npy\n", result.epoch_s_median, result.run_dir);
    }
    weft_options_destroy(options);
    return (int)status;
}
