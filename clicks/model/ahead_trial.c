/* clicks/model/ahead_trial.c: see clicks/model/ahead_trial.h. */
#include "clicks/model/ahead_trial.h"

#include "base/clock.h"
#include "base/log.h"
#include "clicks/click_options.def"

static const double worth = 0.97; /* of the seconds with what travels: without it, a turn takes less than that */

/* A turn is over: odd ones are with what travels ahead, even ones without. */
static void note_turn(ahead_trial *t, int turn, double now)
{
    double *least = &t->least[turn % 2];
    const double seconds = now - t->began;
    if (turn > 0 && (*least == 0.0 || seconds < *least)) {
        *least = seconds;
    }
    t->began = now;
}

static weft_status decide(ahead_trial *t, weft_comm *comm)
{
    t->measures = false;
    WEFT_TRY(comm_allreduce(comm, t->least, 2, WEFT_DTYPE_F64, COMM_MAX));
    t->stays = t->least[0] < worth * t->least[1];
    if (t->stays && comm_rank(comm) == 0) {
        log_info("rows of the next batch do not travel ahead: batches take %.2f ms with them and %.2f ms without "
                 "(" FLAG_ROW_AHEAD ")",
                 1e3 * t->least[1] / AHEAD_TURN, 1e3 * t->least[0] / AHEAD_TURN);
    }
    return WEFT_OK;
}

weft_status ahead_trial_next(ahead_trial *t, weft_comm *comm, bool *ahead)
{
    if (t->measures) {
        const int64_t turn = t->batch / AHEAD_TURN;
        if (t->batch % AHEAD_TURN == 0) {
            note_turn(t, (int)turn - 1, clock_seconds());
        }
        WEFT_TRY(turn == AHEAD_TURNS ? decide(t, comm) : WEFT_OK);
        t->batch += 1;
    }
    *ahead = t->measures ? (t->batch - 1) / AHEAD_TURN % 2 == 1 : !t->stays;
    return WEFT_OK;
}
