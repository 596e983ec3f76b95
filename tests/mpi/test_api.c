/* The public library on several ranks: rank 0's options count, and a context kept open lets MPI serve two trainings.
 * ranks: 2 3
 */
#include <sys/types.h>

#include "support/folder.h"
#include "weft/context.h"
#include "weft/options.h"
#include "weft/trainer.h"

static weft_options *training(const char *run, const char *epochs)
{
    weft_options *options = NULL;
    ASSERT_OK(weft_options_create("train", &options));
    ASSERT_OK(weft_options_set(options, "data", "synth:quickstart,scale=0.02"));
    ASSERT_OK(weft_options_set(options, "run-dir", run));
    ASSERT_OK(weft_options_set(options, "force", "on"));
    ASSERT_OK(weft_options_set(options, "epochs", epochs));
    ASSERT_OK(weft_options_set(options, "threads", "1"));
    ASSERT_OK(weft_options_set(options, "quiet", "on"));
    ASSERT_OK(weft_options_set(options, "partition", "libra"));
    return options;
}

static void two_trainings_in_one_program(void **state)
{
    static weft_train_result result[2];
    weft_context *context = NULL;
    weft_options *options = training(in_folder(state, "run"), "4");
    ASSERT_OK(weft_context_create(options, &context));
    int rank = weft_context_rank(context);
    int size = weft_context_size(context);
    assert_true(size > 1 && rank >= 0 && rank < size);
    assert_int_equal(weft_context_threads(context), 1);
    if (rank > 0) { /* what the others ask for does not matter */
        weft_options_destroy(options);
        options = training(in_folder(state, "elsewhere"), "9");
    }
    for (int i = 0; i < 2; ++i) {
        ASSERT_OK(weft_train(options, &result[i]));
        assert_int_equal(result[i].rank, rank);
        assert_int_equal(result[i].ranks, size);
        assert_int_equal(result[i].epochs, 4);
        assert_true(result[i].replication_factor >= 1.0);
        ASSERT_NEAR(result[i].test_mean, result[0].test_mean, 1e-12);
    }
    assert_int_not_equal(access(in_folder(state, "elsewhere"), F_OK), 0);
    weft_options_destroy(options);
    weft_context_destroy(context);

    /* MPI has ended with the last context and says so. */
    options = training(in_folder(state, "late"), "1");
    ASSERT_STATUS(weft_context_create(options, &context), WEFT_ERR_LAUNCH);
    assert_null(context);
    weft_options_destroy(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_trainings_in_one_program)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
