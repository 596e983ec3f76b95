/*
 * app/tune/app_tune.c: weft tune on recorded tables: a row of figures for each table, and their mean.
 *
 *      weft tune --table hpo/hpobench-kc1.npz,hpo/nasbench201-cifar10.npz --trials 100 --seeds 20
 *
 * Searches of one table run side by side; their figures do not depend on how many.
 */
#include "app/tune/app_tune.h"

#include <math.h>

#include "app/table/grid.h"
#include "app/tune/search_desk.h"
#include "app/tune/search_job.h"
#include "app/tune/tune_tables.h"
#include "base/failure/failure.h"
#include "machine/launcher.h"

/* clang-format off */
#define TUNE_HEAD(C)                                                                                                   \
    C(TEXT, searcher, true) C(TEXT, scores, true) C(INT, seed, true) C(REAL, repeat_share, true)
#define TUNE_ROW(C)                                                                                                    \
    C(TEXT, table, true) C(INT, cells, true) C(INT, trials, true) C(REAL, repeats, true) C(INT, searches, true)        \
    C(REAL, regret, true) C(REAL, standard_error, true) C(REAL, random_regret, true)                                   \
    C(REAL, milliseconds_a_trial, true)
/* clang-format on */
TABLE_ROW(tune_head, TUNE_HEAD);
TABLE_ROW(tune_row, TUNE_ROW);

static weft_status search_each(const recorded_table *table, const weft_options *options, recorded_study *study,
                               int64_t searches)
{
    first_failure failure = {0};
    const recorded_scores scores = option_choice(options, OPT_TABLE_SCORES);
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < searches; i++) {
        searcher_desc desc = desk_searcher(options, option_int(options, OPT_TRIALS), true);
        desc.seed += (uint64_t)i;
        const weft_status status = recorded_search(table, &desc, scores, &study[i]);
#pragma omp critical(tune_search_failure)
        first_failure_note(&failure, i, status);
    }
    return first_failure_tell(&failure);
}

/* The means over searches, which are added in their order. */
static weft_status sum_up(const recorded_table *table, const recorded_study *study, int64_t searches, tune_row *row)
{
    double square = 0.0, deviation, seconds = 0.0, trials = 0.0;
    *row = (tune_row){.table = table->name, .cells = table->cells, .searches = searches};
    for (int64_t i = 0; i < searches; i++) {
        row->regret += study[i].regret / (double)searches;
        row->repeats += (double)study[i].repeats / (double)searches;
        seconds += study[i].seconds;
        trials += (double)study[i].trials;
    }
    for (int64_t i = 0; i < searches; i++) {
        square += (study[i].regret - row->regret) * (study[i].regret - row->regret);
    }
    row->trials = study[0].trials;
    row->standard_error = searches > 1 ? sqrt(square / (double)(searches - 1) / (double)searches) : (double)NAN;
    row->milliseconds_a_trial = 1e3 * seconds / trials;
    return recorded_random(table, row->trials, &row->random_regret, &deviation);
}

static weft_status search_table(const char *path, const weft_options *options, char name[SPACE_NAME_MAX], tune_row *row)
{
    recorded_table table;
    recorded_study *study = NULL;
    weft_status status = WEFT_OK;
    const int64_t searches = option_int(options, OPT_SEARCHES);
    WEFT_TRY(recorded_open(path, &table));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&study, searches, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(search_each(&table, options, study, searches), status, done);
    WEFT_TRY_GOTO(sum_up(&table, study, searches, row), status, done);
    snprintf(name, SPACE_NAME_MAX, "%s", table.name);
    row->table = name;
done:
    weft_free(study);
    recorded_close(&table);
    return status;
}

static void add_mean(const tune_row *row, int tables, tune_row *mean)
{
    mean->trials = row->trials;
    mean->cells += row->cells;
    mean->searches += row->searches;
    mean->repeats += row->repeats / tables;
    mean->regret += row->regret / tables;
    mean->random_regret += row->random_regret / tables;
    mean->milliseconds_a_trial += row->milliseconds_a_trial / tables;
    mean->standard_error += row->standard_error * row->standard_error / tables / tables;
}

static weft_status print_tables(const tune_tables *tables, const weft_options *options)
{
    const table_format format = option_choice(options, OPT_FORMAT_OUT);
    table_grid head = {.column = tune_head_columns, .columns = TABLE_COLUMNS(tune_head)};
    table_grid grid = {.name = "searches", .column = tune_row_columns, .columns = TABLE_COLUMNS(tune_row)};
    const tune_head about = {.searcher = option_text(options, OPT_SEARCHER),
                             .scores = option_text(options, OPT_TABLE_SCORES),
                             .seed = option_int(options, OPT_SEARCH_SEED),
                             .repeat_share = option_real(options, OPT_REPEAT_SHARE)};
    char(*name)[SPACE_NAME_MAX] = NULL;
    tune_row row, mean = {.table = "mean"};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&name, tables->count, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(table_grid_add_row(&head, &about), status, done);
    table_grid_stream(&grid, stdout, &head, format);
    for (int i = 0; i < tables->count; i++) {
        WEFT_TRY_GOTO(search_table(tables->path[i], options, name[i], &row), status, done);
        WEFT_TRY_GOTO(table_grid_add_row(&grid, &row), status, done);
        add_mean(&row, tables->count, &mean);
    }
    mean.standard_error = sqrt(mean.standard_error);
    if (tables->count > 1) {
        WEFT_TRY_GOTO(table_grid_add_row(&grid, &mean), status, done);
    }
    table_grid_print(stdout, &head, &grid, NULL, format);
done:
    table_grid_free(&head);
    table_grid_free(&grid);
    weft_free(name);
    return status;
}

weft_status app_tune(const weft_options *options)
{
    tune_tables tables = {0};
    if (option_text(options, OPT_TUNE_TABLE)[0] == '\0') {
        return search_job_run(options);
    }
    WEFT_CHECK(launcher_size() <= 1, WEFT_ERR_LAUNCH,
               FLAG_TABLE ": recorded trainings are searched by one process, by its threads: start it without mpirun");
    WEFT_CHECK(option_argument_count(options) == 0, WEFT_ERR_USAGE,
               FLAG_TABLE ": recorded trainings have a space of their own, and %s would not be read: leave one of the "
                          "two out",
               option_argument(options, 0));
    option_warn_idle(options, OPTION_IDS(OPT_BUDGET_EPOCHS, OPT_BUDGET_HOURS, OPT_OBJECTIVES),
                     "with " FLAG_TABLE ", whose trainings are over");
    weft_status status = tune_tables_find(option_text(options, OPT_TUNE_TABLE), &tables);
    status = status == WEFT_OK ? print_tables(&tables, options) : status;
    tune_tables_free(&tables);
    return status;
}
