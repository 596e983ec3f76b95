/* app/workload/app_catalog.c: see app/workload/app_catalog.h. */
#include "app/workload/app_catalog.h"

#include <assert.h>
#include <pthread.h>

#include "app/workload/workload.h"

static option_catalog catalog = {
    .recipe = OPT_RECIPE, .is_argument = option_is_argument, .of_argument = option_of_argument};

static void assemble(void)
{
    const option_table *tables[OPTION_TABLES_MAX] = {&app_option_table};
    int count = 1;
    for (int i = 0; workload_list[i] != NULL; ++i) {
        int at = count++; /* in help the kinds stand in the order of their numbers */
        assert(at < OPTION_TABLES_MAX);
        for (; at > 1 && tables[at - 1]->number > workload_list[i]->options->number; --at) {
            tables[at] = tables[at - 1];
        }
        tables[at] = workload_list[i]->options;
    }
    weft_status status = option_assemble(&catalog, tables, count);
    assert(status == WEFT_OK);
    (void)status;
}

const option_catalog *app_catalog(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, assemble);
    return &catalog;
}
