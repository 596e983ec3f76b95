/* app/tune/search_objective.c: see app/tune/search_objective.h. */
#include "app/tune/search_objective.h"

#include <math.h>
#include <string.h>

#include "app/options/app_options.h"

typedef struct epoch_facts {
    const train_job *job;
    const train_epoch *epoch;
    double mean_epoch_s;
} epoch_facts;

typedef struct objective_row {
    const char *name;
    bool by_metric; /* the larger one is the better one if --metric says so; else the lower one is */
    bool takes_time;
    bool always; /* every kind of job has it; NaN of another means that this one has not */
    double (*figure)(const epoch_facts *facts);
} objective_row;

static double of_valid(const epoch_facts *f)
{
    return f->epoch->score[1];
}

static double of_train(const epoch_facts *f)
{
    return f->epoch->score[0];
}

static double of_loss(const epoch_facts *f)
{
    return f->epoch->loss;
}

static double of_time(const epoch_facts *f)
{
    return f->mean_epoch_s;
}

static double of_parameters(const epoch_facts *f)
{
    const int64_t count = workload_parameters(&f->job->work);
    return count > 0 ? (double)count : (double)NAN;
}

static double of_memory(const epoch_facts *f)
{
    return f->job->work.memory.peak > 0 ? (double)f->job->work.memory.peak : (double)NAN;
}

static double of_bytes(const epoch_facts *f)
{
    return (double)f->epoch->comm_bytes;
}

static const objective_row rows[] = {
    {"valid", true, false, false, of_valid},
    {"train", true, false, false, of_train},
    {"loss", false, false, true, of_loss},
    {"epoch_s", false, true, true, of_time},
    {"parameters", false, false, false, of_parameters},
    {"predicted_peak_bytes", false, false, false, of_memory},
    {"comm_bytes", false, false, true, of_bytes},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int find_row(const char *name)
{
    for (int i = 0; i < ROWS; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_chosen(const search_objectives *o, int row)
{
    for (int k = 0; k < o->count; ++k) {
        if (o->kind[k] == row) {
            return true;
        }
    }
    return false;
}

weft_status objectives_parse(const char *text, search_objectives *o)
{
    char name[OPTION_WORD_MAX];
    *o = (search_objectives){.count = 0};
    while (option_list_next(&text, ',', name)) {
        const int row = find_row(name);
        WEFT_CHECK(row >= 0, WEFT_ERR_USAGE,
                   FLAG_OBJECTIVES ": '%s' is none: take some of valid, train, loss, epoch_s, parameters, "
                                   "predicted_peak_bytes, comm_bytes",
                   name);
        WEFT_CHECK(!is_chosen(o, row), WEFT_ERR_USAGE, FLAG_OBJECTIVES ": '%s' is there twice: leave one out", name);
        WEFT_CHECK(o->count < OBJECTIVES_MOST, WEFT_ERR_USAGE, FLAG_OBJECTIVES ": more than %d: leave '%s' out",
                   OBJECTIVES_MOST, name);
        o->kind[o->count++] = row;
    }
    WEFT_CHECK(o->count > 0, WEFT_ERR_USAGE, FLAG_OBJECTIVES " is empty: name one, such as valid");
    return WEFT_OK;
}

const char *objective_name(const search_objectives *o, int k)
{
    return rows[o->kind[k]].name;
}

bool objectives_take_time(const search_objectives *o)
{
    for (int k = 0; k < o->count; ++k) {
        if (rows[o->kind[k]].takes_time) {
            return true;
        }
    }
    return false;
}

static weft_status check_figure(const objective_row *row, const train_job *job, double figure)
{
    WEFT_CHECK(row->figure != of_valid || !isnan(figure), WEFT_ERR_DATA,
               "no labelled row validates, and a search goes by the score of such rows: %s", job->work.split_cure);
    WEFT_CHECK(row->always || !isnan(figure), WEFT_ERR_DATA,
               FLAG_OBJECTIVES ": a training of --model %s has no figure '%s': leave it out", job->work.name,
               row->name);
    return WEFT_OK;
}

weft_status objectives_measure(const search_objectives *o, const train_job *job, const train_epoch *epoch,
                               double mean_epoch_s, double *values, uint32_t *lower)
{
    const epoch_facts facts = {job, epoch, mean_epoch_s};
    const bool larger = metric_better(job->services.metric, 1.0, 0.0);
    *lower = 0;
    for (int k = 0; k < o->count; ++k) {
        const objective_row *row = &rows[o->kind[k]];
        const double figure = row->figure(&facts);
        WEFT_TRY(check_figure(row, job, figure));
        const bool is_lower = !row->by_metric || !larger;
        values[k] = isnan(figure) ? -(double)INFINITY : is_lower ? -figure : figure;
        *lower |= is_lower ? 1U << k : 0U;
    }
    return WEFT_OK;
}
