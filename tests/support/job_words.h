/* support/job_words.h: training jobs from words NAME=VALUE, inside a process whose MPI stays up for several of them. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "app/train/train_job.h"
#include "app/workload/app_catalog.h"

static inline weft_status job_assign(weft_options *options, const char *word)
{
    char name[64];
    const char *value = strchr(word, '=');
    WEFT_CHECK(value != NULL && (size_t)(value - word) < sizeof name, WEFT_ERR_USAGE, "%s: expected NAME=VALUE", word);
    snprintf(name, sizeof name, "%.*s", (int)(value - word), word);
    return option_assign(options, name, value + 1);
}

/* [out] options  of `weft train`; option_destroy. */
static inline weft_status job_options(const char *const *word, int count, weft_options **options)
{
    const option_command *train = NULL;
    WEFT_TRY(option_command_find(app_catalog(), "train", &train));
    WEFT_TRY(option_create(train, options));
    for (int i = 0; i < count; ++i) {
        WEFT_TRY(job_assign(*options, word[i]));
    }
    return WEFT_OK;
}

/* On the ranks of `comm`. [out] test: the score that the job reached. Collective over `comm`. */
static inline weft_status job_train(const app_context *host_job, weft_comm *comm, const weft_options *options,
                                    const char *name, double *test)
{
    app_context context = {.comm = NULL};
    train_job *job = NULL;
    WEFT_TRY(train_job_create(&job));
    weft_status status = app_context_open_within(host_job, comm, options, name, 0.0, &context);
    status = status == WEFT_OK ? train_job_run(job, &context) : status;
    *test = job->result.test_mean;
    train_job_destroy(job);
    app_context_close(&context);
    return status;
}

/* Opens the job that hosts the others, runs `body` on all ranks, and closes: the program's exit code. A failure ends
 * all. */
static inline int job_host(weft_status (*body)(const app_context *world, const char *const *word, int count), int argc,
                           char **argv)
{
    app_context world = {.comm = NULL};
    weft_options *options = NULL;
    const char *const words[] = {"threads=1", "comm-thread=off"};
    weft_status status = job_options(words, 2, &options);
    status = status == WEFT_OK ? app_context_open(options, &world) : status;
    status = status == WEFT_OK ? body(&world, (const char *const *)argv + 1, argc - 1) : status;
    if (status != WEFT_OK) {
        app_context_fail(&world, status);
    }
    app_context_close(&world);
    option_destroy(options);
    return (int)status;
}
