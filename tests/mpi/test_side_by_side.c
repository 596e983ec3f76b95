/*
 * Jobs side by side: the ranks are cut into halves, and each half trains something of its own. Without arguments: a
 * training whose neighbour fails goes on to its end, and the neighbour knows why it failed. With
 * "NAME=VALUE... -- NAME=VALUE...", the options of the lower and of the upper half: trains both, for
 * tests/mpi/test_side_by_side.sh, which compares them with the same jobs alone.
 *
 * ranks: 4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/train/train_job.h"
#include "base/file.h"

static weft_status assign(weft_options *options, const char *word)
{
    char name[64];
    const char *value = strchr(word, '=');
    WEFT_CHECK(value != NULL && (size_t)(value - word) < sizeof name, WEFT_ERR_USAGE, "%s: expected NAME=VALUE", word);
    snprintf(name, sizeof name, "%.*s", (int)(value - word), word);
    return option_assign(options, name, value + 1);
}

static weft_status options_of(const char *const *word, int count, weft_options **options)
{
    const option_command *train = NULL;
    WEFT_TRY(option_command_find(&app_catalog, "train", &train));
    WEFT_TRY(option_create(train, options));
    for (int i = 0; i < count; ++i) {
        WEFT_TRY(assign(*options, word[i]));
    }
    return WEFT_OK;
}

/* On the ranks of `comm`. [out] test: the score that the job reached. */
static weft_status train_on(const app_context *host_job, weft_comm *comm, const weft_options *options, double *test)
{
    app_context context = {.comm = NULL};
    train_job *job = NULL;
    WEFT_TRY(train_job_create(&job));
    weft_status status = app_context_open_within(host_job, comm, options, "beside", &context);
    status = status == WEFT_OK ? train_job_run(job, &context) : status;
    *test = job->result.test_mean;
    train_job_destroy(job);
    app_context_close(&context);
    return status;
}

/* Every half trains; the status is this half's. */
static weft_status train_halves(const app_context *world, const weft_options *options, double *test)
{
    const int rank = comm_rank(world->comm);
    weft_comm *half = NULL;
    WEFT_TRY(comm_split(world->comm, rank < comm_size(world->comm) / 2 ? 0 : 1, rank, &half));
    weft_status status = train_on(world, half, options, test);
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
    WEFT_TRY(options_of(words, (int)(sizeof words / sizeof *words), &options));
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
        WEFT_TRY(options_of(word, middle, &options));
    } else {
        WEFT_TRY(options_of(word + middle + 1, count - middle - 1, &options));
    }
    weft_status status = train_halves(world, options, &test);
    option_destroy(options);
    return comm_agree(world->comm, status);
}

int main(int argc, char **argv)
{
    app_context world = {.comm = NULL};
    weft_options *options = NULL;
    const char *const words[] = {"threads=1", "comm-thread=off"};
    weft_status status = options_of(words, 2, &options);
    status = status == WEFT_OK ? app_context_open(options, &world) : status;
    if (status == WEFT_OK) {
        const char *const *given = (const char *const *)argv + 1;
        status = argc > 1 ? train_words(&world, given, argc - 1) : check_neighbour_fails(&world);
    }
    if (status != WEFT_OK) {
        app_context_fail(&world, status);
    }
    app_context_close(&world);
    option_destroy(options);
    return (int)status;
}
