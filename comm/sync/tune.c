/* comm/sync/tune.c: knobs of a mode that runs: checked, agreed on, set, kept in checkpoints. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/text/append.h"
#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"
#include "comm/sync/sync_mode.h"

static const char *const knob_names[SYNC_KNOBS] = {[SYNC_KNOB_DENSITY] = FLAG_TOPK_DENSITY,
                                                   [SYNC_KNOB_GROUP] = FLAG_GROUP_SIZE,
                                                   [SYNC_KNOB_GAP] = FLAG_SHADOW_GAP,
                                                   [SYNC_KNOB_THRESHOLD] = FLAG_ASP_THRESHOLD};

const char *sync_knob_name(sync_knob knob)
{
    return knob >= 0 && knob < SYNC_KNOBS ? knob_names[knob] : "unknown";
}

static const sync_tunable *find(const sync_ops *ops, sync_knob knob)
{
    for (int i = 0; i < ops->tunables; ++i) {
        if (ops->tunable[i].knob == knob) {
            return &ops->tunable[i];
        }
    }
    return NULL;
}

static weft_status refuse(const sync_ops *ops, sync_knob knob)
{
    char list[160] = "";
    for (int i = 0; i < ops->tunables; ++i) {
        text_append_item(list, sizeof list, "%s", sync_knob_name(ops->tunable[i].knob));
    }
    return weft_fail(WEFT_ERR_USAGE, FLAG_SYNC " %s cannot change %s while it runs: it can change %s", ops->name,
                     sync_knob_name(knob), ops->tunables > 0 ? list : "nothing");
}

static bool fits(const sync_tunable *tunable, double value)
{
    return value >= tunable->least && value <= tunable->most && (!tunable->whole || value == floor(value));
}

static weft_status check(const sync_ops *ops, sync_knob knob, double value)
{
    const sync_tunable *tunable = find(ops, knob);
    if (tunable == NULL) {
        return refuse(ops, knob);
    }
    WEFT_CHECK(fits(tunable, value), WEFT_ERR_USAGE, "%s %g: expected %s from %g to %g", sync_knob_name(knob),
               number_plain(value), tunable->whole ? "a whole number" : "a number", tunable->least, tunable->most);
    return WEFT_OK;
}

double sync_tuned(const comm_sync *sync, sync_knob knob)
{
    const sync_tunable *tunable = find(sync->ops, knob);
    return tunable != NULL ? tunable->of(&sync->options) : (double)NAN;
}

static weft_status turn(comm_sync *sync, const sync_tunable *tunable, double value, bool restoring)
{
    WEFT_TRY(tunable->set(sync, value, restoring));
    assert(tunable->of(&sync->options) == value);
    sync->knob[tunable->knob] = (sync_turned){1.0, value};
    return WEFT_OK;
}

weft_status sync_tune(comm_sync *sync, sync_knob knob, double value)
{
    char text[OPERATION_NAME_BYTES];
    const bool alone = comm_size(sync->comm) == 1;
    const bool asked = alone && sync->options.mode != SYNC_AUTO;
    WEFT_TRY(comm_agree(sync->comm, check(asked ? sync_ops_of(sync->options.mode) : sync->ops, knob, value)));
    if (alone) {
        return WEFT_OK;
    }
    snprintf(text, sizeof text, "sync %s after step %lld: %s %.17g", sync->ops->name, (long long)sync->step,
             sync_knob_name(knob), value);
    WEFT_TRY(comm_check_same(sync->comm, text));
    return turn(sync, find(sync->ops, knob), value, false);
}

/* ---- the life of a run ------------------------------------------------------------------------------------ */
void tune_begin(comm_sync *sync)
{
    for (int i = 0; i < sync->ops->tunables; ++i) {
        const sync_tunable *tunable = &sync->ops->tunable[i];
        sync->given[tunable->knob] = tunable->of(&sync->options);
    }
}

weft_status tune_reset(comm_sync *sync, bool restoring)
{
    for (int i = 0; i < sync->ops->tunables; ++i) {
        const sync_tunable *tunable = &sync->ops->tunable[i];
        const double given = sync->given[tunable->knob];
        WEFT_TRY(tunable->of(&sync->options) != given ? turn(sync, tunable, given, restoring) : WEFT_OK);
    }
    memset(sync->knob, 0, sizeof sync->knob);
    return WEFT_OK;
}

int tune_state(comm_sync *sync, sync_buffer *buffer)
{
    if (sync->ops->tunables == 0) {
        return 0;
    }
    *buffer = (sync_buffer){.name = "knobs", .data = sync->knob, .bytes = (int64_t)sizeof sync->knob};
    return 1;
}

/* Knobs that the mode has not are zero. */
static weft_status check_knobs(const comm_sync *sync)
{
    for (int k = 0; k < SYNC_KNOBS; ++k) {
        const sync_turned *knob = &sync->knob[k];
        const sync_tunable *tunable = find(sync->ops, (sync_knob)k);
        const bool set = tunable != NULL && knob->turned == 1.0 && fits(tunable, knob->value);
        WEFT_CHECK(set || (knob->turned == 0.0 && knob->value == 0.0), WEFT_ERR_DATA,
                   "damaged: %s of sync %s is %g, turned %g", sync_knob_name((sync_knob)k), sync->ops->name,
                   number_plain(knob->value), number_plain(knob->turned));
    }
    return WEFT_OK;
}

weft_status tune_restored(comm_sync *sync)
{
    sync_turned restored[SYNC_KNOBS];
    int64_t bits[2 * SYNC_KNOBS];
    _Static_assert(sizeof bits == sizeof restored, "a knob is two numbers of 8 bytes");
    _Static_assert(2 * SYNC_KNOBS <= SYNC_ALIKE, "all knobs are compared at once");
    if (sync->ops->tunables == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(sync->comm, check_knobs(sync)));
    memcpy(restored, sync->knob, sizeof restored);
    memcpy(bits, sync->knob, sizeof bits);
    WEFT_TRY(sync_check_alike(sync, "the knobs", bits, 2 * SYNC_KNOBS));
    WEFT_TRY(tune_reset(sync, true));
    for (int i = 0; i < sync->ops->tunables; ++i) {
        const sync_tunable *tunable = &sync->ops->tunable[i];
        const sync_turned *knob = &restored[tunable->knob];
        if (knob->turned == 1.0) {
            WEFT_TRY(turn(sync, tunable, knob->value, true));
            log_info("sync %s goes on with %s %g, to which it was tuned", sync->ops->name,
                     sync_knob_name(tunable->knob), knob->value);
        }
    }
    return WEFT_OK;
}
