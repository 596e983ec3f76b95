/*
 * Jobs side by side: the ranks are cut into halves, and each half trains something of its own. Without arguments: a
 * training whose neighbour fails goes on to its end, and the neighbour knows why it failed. With
 * "NAME=VALUE... -- NAME=VALUE...", the options of the lower and of the upper half: trains both, for
 * tests/mpi/test_side_by_side.sh, which compares them with the same jobs alone.
 *
 * ranks: 4
 */
#include <stdlib.h>

#include "base/file.h"
#include "support/job_words.h"

/* Every half trains; the status is this half's. */
static weft_status train_halves(const app_context *world, const weft_options *options, double *test)
{
    const int rank = comm_rank(world->comm);
    weft_comm *half = NULL;
    WEFT_TRY(comm_split(world->comm, rank < comm_size(world->comm) / 2 ? 0 : 1, rank, &half));
    weft_status status = job_train(world, half, options, "beside", test);
    comm_destroy(half);
    return status;
}

static weft_status check_neighbour_fails(const app_context *world)
{
    char folder[FILE_PATH_MAX] = "/tmp/weft-beside-XXXXXX";
    char run[FILE_PATH_MAX];
    weft_options *options = NULL;
    double test = 0;
    const int rank = comm_rank(world->comm);
    const bool lower = rank < comm_size(world->comm) / 2;
    WEFT_CHECK(rank != 0 || mkdtemp(folder) != NULL, WEFT_ERR_IO, "%s: cannot be made", folder);
    WEFT_TRY(comm_bcast(world->comm, 0, folder, sizeof folder));
    WEFT_TRY(file_path(run, "run-dir=%s/%s", folder, lower ? "good" : "bad"));
    const char *const words[] = {lower ? "data=synth:quickstart,scale=0.01" : "data=/nowhere", run, "epochs=3",
                                 "calibrate=never", "partition=libra"};
    WEFT_TRY(job_options(words, (int)(sizeof words / sizeof *words), &options));
    weft_status status = train_halves(world, options, &test);
    option_destroy(options);
    bool good = lower ? status == WEFT_OK && test > 0.05 : status == WEFT_ERR_NOINPUT;
    good = good && (lower || strstr(weft_error_message(), "/nowhere") != NULL);
    status = good ? WEFT_OK
                  : weft_fail(WEFT_ERR_INTERNAL, "rank %d ended with %d (%s), score %g", rank, (int)status,
                              weft_error_message(), test);
    WEFT_TRY(comm_agree(world->comm, status));
    return comm_agree(world->comm, rank == 0 ? folder_remove(folder) : WEFT_OK);
}

/* words: of the lower half, "--", of the upper half. */
static weft_status train_words(const app_context *world, const char *const *word, int count)
{
    weft_options *options = NULL;
    double test = 0;
    int middle = 0;
    while (middle < count && strcmp(word[middle], "--") != 0) {
        ++middle;
    }
    WEFT_CHECK(middle < count, WEFT_ERR_USAGE, "no -- between the options of the halves");
    if (comm_rank(world->comm) < comm_size(world->comm) / 2) {
        WEFT_TRY(job_options(word, middle, &options));
    } else {
        WEFT_TRY(job_options(word + middle + 1, count - middle - 1, &options));
    }
    weft_status status = train_halves(world, options, &test);
    option_destroy(options);
    return comm_agree(world->comm, status);
}

static weft_status run(const app_context *world, const char *const *word, int count)
{
    return count > 0 ? train_words(world, word, count) : check_neighbour_fails(world);
}

int main(int argc, char **argv)
{
    return job_host(run, argc, argv);
}
