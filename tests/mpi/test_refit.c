/*
 * Several fits on data that stay open have the weights of as many trainings of their own, to the bit: graphs and
 * images, other models, widths, rates and seeds. Once the data are open nothing is read or divided again: the store is
 * removed before the second fit. Options that ask for other data are refused by name, and the job goes on.
 *
 * ranks: 1 2
 */
#include <stdlib.h>
#include <unistd.h>

#include "app/activity/activity_table.h"
#include "app/gnn/options/gnn_options.h"
#include "base/alloc.h"
#include "base/file.h"
#include "support/job_words.h"

enum { WORDS_MAX = 16, FITS_MAX = 4 };

typedef struct fit_words {
    const char *word[WORDS_MAX];
} fit_words;

/* Fits on one data set, and what a fit after them may not ask for: "NAME=VALUE". */
typedef struct refit_case {
    const char *name;
    const char *data[WORDS_MAX]; /* words of every fit */
    fit_words fit[FITS_MAX];
    const char *refused[WORDS_MAX];
} refit_case;

static const refit_case cases[] = {
    {"graph",
     {"data=synth:quickstart,scale=0.02", "partition=libra", "calibrate=never", "epochs=3", "spmm=rows"},
     {{{"model=sage", "hidden=16", "seed=3"}},
      {{"model=gat", "heads=2", "hidden=8", "seed=4", "lr=0.02"}},
      {{"model=gcn", "hidden=12", "norm=batch", "halo-overlap=off", "seed=5"}},
      {{"model=sage", "hidden=16", "seed=3"}}},
     {"data=synth:quickstart,scale=0.03", "partition=random", "normalize=row", "split-index=1", "reorder=cluster",
      "model=lenet", "calibrate=always"}},
    {"images",
     {"data=synth:images,n=96,test=32,size=16", "model=lenet", "batch-size=16", "calibrate=never", "epochs=2"},
     {{{"seed=3"}}, {{"seed=4", "lr=0.02", "augment=flip"}}, {{"seed=3"}}},
     {"data=synth:images,n=64,test=32,size=16", "image-moments=0.5/0.5", "valid-images=8", "model=gcn"}},
};

/* Options of a fit that writes into folder/run. */
static weft_status options_of(const refit_case *c, int fit, const char *run, const char *more, weft_options **options)
{
    const char *word[2 * WORDS_MAX + 2];
    int count = 0;
    for (int i = 0; c->data[i] != NULL; ++i) {
        word[count++] = c->data[i];
    }
    for (int i = 0; c->fit[fit].word[i] != NULL; ++i) {
        word[count++] = c->fit[fit].word[i];
    }
    word[count++] = run;
    if (more != NULL) {
        word[count++] = more;
    }
    return job_options(word, count, options);
}

static weft_status same_weights(const char *one, const char *other)
{
    char path[FILE_PATH_MAX];
    file_map map[2] = {{.size = 0}, {.size = 0}};
    WEFT_TRY(file_path(path, "%s/weights.npz", one));
    WEFT_TRY(file_map_open(path, &map[0]));
    WEFT_TRY(file_path(path, "%s/weights.npz", other));
    weft_status status = file_map_open(path, &map[1]);
    if (status == WEFT_OK) {
        bool same = map[0].size > 0 && map[0].size == map[1].size && memcmp(map[0].data, map[1].data, map[0].size) == 0;
        status = same ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "the weights of %s and %s differ", one, other);
    }
    file_map_close(&map[0]);
    file_map_close(&map[1]);
    return status;
}

/* A fit on data that were open before its build divides nothing. */
static weft_status build_and_fit(train_job *job, bool first)
{
    const uint64_t divided = activity_get(ACTIVITY_PARTITION).calls;
    WEFT_TRY(train_job_build(job));
    const bool recut = strcmp(option_text(job->context->options, OPT_HALO_OVERLAP), "off") == 0;
    WEFT_CHECK(first || recut || activity_get(ACTIVITY_PARTITION).calls == divided, WEFT_ERR_INTERNAL,
               "a later fit divided the graph again");
    return train_job_fit(job);
}

/* What the job is asked next is refused with the option's name, and nothing of the job changes. */
static weft_status check_refused(const refit_case *c, train_job *job)
{
    for (int i = 0; c->refused[i] != NULL; ++i) {
        char flag[64];
        weft_options *options = NULL;
        snprintf(flag, sizeof flag, "--%.*s", (int)strcspn(c->refused[i], "="), c->refused[i]);
        WEFT_TRY(options_of(c, 0, "run-dir=nowhere", c->refused[i], &options));
        const weft_status status = train_job_again(job, options);
        option_destroy(options);
        const bool named = status == WEFT_ERR_USAGE &&
                           (comm_rank(job->context->comm) != 0 || strstr(weft_error_message(), flag) != NULL);
        WEFT_CHECK(named, WEFT_ERR_INTERNAL, "%s: status %d, %s", c->refused[i], (int)status, weft_error_message());
        weft_error_clear();
    }
    return WEFT_OK;
}

static int fits_of(const refit_case *c)
{
    int fits = 0;
    while (fits < FITS_MAX && c->fit[fits].word[0] != NULL) {
        ++fits;
    }
    return fits;
}

static weft_status fit_options(const refit_case *c, const char *folder, const char *kind, int fit,
                               weft_options **options)
{
    char run[FILE_PATH_MAX];
    WEFT_TRY(file_path(run, "run-dir=%s/%s-%s%d", folder, c->name, kind, fit));
    return options_of(c, fit, run, NULL, options);
}

/* The generated store that the job opened. */
static weft_status remove_store(const train_job *job)
{
    char store[FILE_PATH_MAX];
    if (!job->work.generated || comm_rank(job->context->comm) != 0) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(store, "%s/" WORKLOAD_GENERATED "%ld", job->dir.path, (long)getpid()));
    WEFT_CHECK(file_exists(store), WEFT_ERR_INTERNAL, "%s: no generated data", store);
    return folder_remove(store);
}

/* A model that has no room fails in its build, and leaves the job open for the next. */
static weft_status check_too_large(const refit_case *c, const char *folder, train_job *job)
{
    char run[FILE_PATH_MAX];
    weft_options *options = NULL;
    WEFT_TRY(file_path(run, "run-dir=%s/%s-large", folder, c->name));
    WEFT_TRY(options_of(c, 0, run, "memory-limit=1MiB", &options));
    weft_status status = train_job_again(job, options);
    option_destroy(options);
    WEFT_TRY(status);
    status = train_job_build(job);
    WEFT_CHECK(status == WEFT_ERR_RESOURCE, WEFT_ERR_INTERNAL, "a model in 1 MiB: %d", (int)status);
    weft_error_clear();
    return WEFT_OK;
}

static weft_status fit_rest(const refit_case *c, const char *folder, train_job *job)
{
    for (int fit = 1; fit < fits_of(c); ++fit) {
        weft_options *options = NULL;
        WEFT_TRY(check_refused(c, job));
        WEFT_TRY(check_too_large(c, folder, job));
        WEFT_TRY(fit_options(c, folder, "open", fit, &options));
        weft_status status = train_job_again(job, options);
        status = status == WEFT_OK ? build_and_fit(job, false) : status;
        option_destroy(options);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static weft_status fit_each(const refit_case *c, const char *folder, train_job *job, app_context *context)
{
    WEFT_TRY(train_job_open(job, context));
    WEFT_TRY(train_job_build(job));
    WEFT_TRY(comm_agree(context->comm, remove_store(job)));
    WEFT_TRY(train_job_fit(job));
    return fit_rest(c, folder, job);
}

static weft_status fit_opened(const refit_case *c, const app_context *world, weft_comm *comm, const char *folder)
{
    app_context context = {.comm = NULL};
    weft_options *options = NULL;
    train_job *job = NULL;
    WEFT_TRY(fit_options(c, folder, "open", 0, &options));
    WEFT_TRY(train_job_create(&job));
    job->keeps = true;
    weft_status status = app_context_open_within(world, comm, options, "refit", 0.0, &context);
    status = status == WEFT_OK ? fit_each(c, folder, job, &context) : status;
    train_job_destroy(job);
    app_context_close(&context);
    option_destroy(options);
    return status;
}

/* Each fit as a job of its own, and its weights beside those of the fit on open data. */
static weft_status compare(const refit_case *c, const app_context *world, weft_comm *comm, const char *folder)
{
    char alone[FILE_PATH_MAX], open[FILE_PATH_MAX];
    for (int fit = 0; fit < fits_of(c); ++fit) {
        weft_options *options = NULL;
        double test = 0;
        WEFT_TRY(fit_options(c, folder, "alone", fit, &options));
        const weft_status status = job_train(world, comm, options, "alone", &test);
        option_destroy(options);
        WEFT_TRY(status);
        WEFT_TRY(file_path(alone, "%s/%s-alone%d", folder, c->name, fit));
        WEFT_TRY(file_path(open, "%s/%s-open%d", folder, c->name, fit));
        WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? same_weights(alone, open) : WEFT_OK));
    }
    return WEFT_OK;
}

static weft_status run_cases(const app_context *world, weft_comm *comm, const char *folder)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        WEFT_TRY(fit_opened(&cases[i], world, comm, folder));
        WEFT_TRY(compare(&cases[i], world, comm, folder));
    }
    return WEFT_OK;
}

static weft_status run(const app_context *world, const char *const *word, int count)
{
    (void)word;
    (void)count;
    char folder[FILE_PATH_MAX];
    const char *base = getenv("TMPDIR");
    weft_comm *comm = NULL;
    WEFT_TRY(file_path(folder, "%s/weft-refit-XXXXXX", base != NULL ? base : "/tmp"));
    WEFT_CHECK(comm_rank(world->comm) != 0 || mkdtemp(folder) != NULL, WEFT_ERR_IO, "%s: cannot be made", folder);
    WEFT_TRY(comm_bcast(world->comm, 0, folder, sizeof folder));
    WEFT_TRY(comm_split(world->comm, 0, comm_rank(world->comm), &comm));
    const weft_status status = run_cases(world, comm, folder);
    comm_destroy(comm);
    WEFT_TRY(status);
    return comm_agree(world->comm, comm_rank(world->comm) == 0 ? folder_remove(folder) : WEFT_OK);
}

int main(int argc, char **argv)
{
    return job_host(run, argc, argv);
}
