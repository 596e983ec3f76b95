/* app/activity/activity_table.c: see app/activity/activity_table.h. */
#include "app/activity/activity_table.h"

#include <assert.h>
#include <pthread.h>

#include "app/workload/workload.h"
#include "train/activities.h"

const weft_activity ACTIVITY_LOAD[1] = {{.text = "load data", .kind = ACTIVITY_ONCE}};
const weft_activity ACTIVITY_PARTITION[1] = {{.text = "partition", .kind = ACTIVITY_ONCE}};
const weft_activity ACTIVITY_PREPARE[1] = {{.text = "prepare matrices", .kind = ACTIVITY_ONCE, .absorbs = true}};

static const activity_entry of_all[] = {
    {ACTIVITY_OTHER, "", 0, false},
    {ACTIVITY_LOAD, "", 10, false},
    {ACTIVITY_PARTITION, "", 20, false},
    {ACTIVITY_PREPARE, "", 30, false},
    {ACTIVITY_LINEAR, "linear", 60, false},
    {ACTIVITY_ELEMENTWISE, "element", 90, false},
    {ACTIVITY_LOSS, "lossa", 100, false},
    {ACTIVITY_NORM_SUMS, "sums", 110, false},
    {ACTIVITY_ALLREDUCE, "reduce", 120, false},
    {ACTIVITY_OPTIMIZER, "optim", 130, false},
    {ACTIVITY_SECOND, "second", 135, false},
    {ACTIVITY_EVALUATE, "evaluate", 140, false},
    {ACTIVITY_WRITE, "", 150, false},
};

static activity_entry table[ACTIVITY_ROWS_MAX];
static int rows;

/* Behind rows of the same place: the order of the list is kept. */
static void insert(activity_entry entry)
{
    int at = rows;
    assert(rows < ACTIVITY_ROWS_MAX && entry.activity != NULL);
    for (; at > 0 && table[at - 1].place > entry.place; --at) {
        table[at] = table[at - 1];
    }
    table[at] = entry;
    ++rows;
}

static void assemble(void)
{
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; ++i) {
        insert(of_all[i]);
    }
    for (int i = 0; workload_list[i] != NULL; ++i) {
        const workload_activity *brought = workload_list[i]->activities;
        for (; brought != NULL && brought->activity != NULL; ++brought) {
            insert((activity_entry){brought->activity, brought->colour, brought->place, true});
        }
    }
}

const activity_entry *activity_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, assemble);
    return table;
}

int activity_table_rows(void)
{
    activity_table();
    return rows;
}

int activity_table_row(const weft_activity *activity)
{
    const activity_entry *entry = activity_table();
    int row = 0;
    while (row < rows && entry[row].activity != activity) {
        ++row;
    }
    assert(row < rows);
    return row;
}

void activity_table_seconds(double seconds[ACTIVITY_ROWS_MAX])
{
    const activity_entry *entry = activity_table();
    for (int a = 0; a < rows; ++a) {
        seconds[a] = activity_get(entry[a].activity).seconds;
    }
    /* Looking a row up books it: were one missing in the table, there were more than its rows. */
    assert(activity_booked(rows) == NULL);
}
