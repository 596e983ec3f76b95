/* tune/recorded/study.c: see tune/recorded/study.h. */
#include "tune/recorded/study.h"

#include "base/clock.h"
#include "base/philox.h"

/* The upper half of the counter's object, which no suggestion draws from. */
static const uint64_t score_draws = 1ull << 32;

static double score_of(const recorded_table *table, int64_t cell, const searcher_desc *desc, int64_t trial,
                       recorded_scores scores)
{
    const philox_block block =
        philox4x32(philox_counter(0, score_draws + (uint64_t)trial, WEFT_RNG_SEARCH, 0), desc->seed);
    return scores == RECORDED_RUNS ? recorded_draw(table, cell, block.word[0], block.word[1]) : table->mean[cell];
}

static weft_status run_trials(searcher *s, const recorded_table *table, const searcher_desc *desc,
                              recorded_scores scores, recorded_study *study, int64_t *cell)
{
    double values[SPACE_DIMENSIONS_MAX];
    for (int64_t trial = 0; study->trials < desc->trials; study->trials++) {
        WEFT_TRY(searcher_suggest(s, values, &trial));
        if (trial < 0) {
            return WEFT_OK;
        }
        cell[trial] = recorded_cell(table, values);
        WEFT_TRY(searcher_report(s, trial, score_of(table, cell[trial], desc, trial, scores)));
    }
    return WEFT_OK;
}

static int64_t count_repeats(const int64_t *cell, int64_t count)
{
    int64_t repeats = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (cell[i] == cell[k]) {
                repeats++;
                break;
            }
        }
    }
    return repeats;
}

weft_status recorded_search(const recorded_table *table, const searcher_desc *desc, recorded_scores scores,
                            recorded_study *study)
{
    searcher *s = NULL;
    int64_t *cell = NULL;
    searcher_leader leader;
    weft_status status = WEFT_OK;
    const double start = clock_seconds();
    *study = (recorded_study){0};
    WEFT_TRY_GOTO(WEFT_NEW(&cell, desc->trials, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(searcher_open(&table->space, desc, &s), status, done);
    WEFT_TRY_GOTO(run_trials(s, table, desc, scores, study, cell), status, done);
    WEFT_TRY_GOTO(searcher_best(s, &leader), status, done);
    study->regret = recorded_regret(table, cell[leader.trial]);
    study->repeats = count_repeats(cell, study->trials);
    study->seconds = clock_seconds() - start;
done:
    searcher_close(s);
    weft_free(cell);
    return status;
}
