/* app/activity/activity_table.c: see app/activity/activity_table.h. */
#include "app/activity/activity_table.h"

#include <assert.h>

#include "dense/engine/dense_model.h"
#include "gnn/layers/aggregate.h"
#include "train/activities.h"

_Static_assert((int)ACTIVITY_COUNT <= (int)ACTIVITIES_MOST, "a thread can book every row");

const weft_activity ACTIVITY_LOAD[1] = {{.text = "load data", .kind = ACTIVITY_ONCE}};
const weft_activity ACTIVITY_PARTITION[1] = {{.text = "partition", .kind = ACTIVITY_ONCE}};
const weft_activity ACTIVITY_PREPARE[1] = {{.text = "prepare matrices", .kind = ACTIVITY_ONCE, .absorbs = true}};

const activity_entry activity_table[ACTIVITY_COUNT] = {
#define ACTIVITY_ENTRY(activity, colour) {activity, colour},
    ACTIVITY_TABLE(ACTIVITY_ENTRY)
#undef ACTIVITY_ENTRY
};

void activity_table_seconds(double seconds[ACTIVITY_COUNT])
{
    for (int a = 0; a < ACTIVITY_COUNT; ++a) {
        seconds[a] = activity_get(activity_table[a].activity).seconds;
    }
    /* Looking a row up books it: were one missing in the table, there were more than its rows. */
    assert(activity_booked(ACTIVITY_COUNT) == NULL);
}
