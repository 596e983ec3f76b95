/* app/workload/workload_facts.c: see app/workload/workload_facts.h. */
#include "app/workload/workload_facts.h"

#include <assert.h>

typedef void (*teller)(const workload *work, fact_list *list);

/* The rows that a workload tells; none where it has nothing to tell. */
static fact_list ask(const workload *work, teller tell)
{
    fact_list list = {.rows = 0};
    if (tell != NULL) {
        tell(work, &list);
    }
    return list;
}

void workload_write_data(const workload *work, json_writer *json)
{
    const fact_list list = ask(work, work->ops->data_facts);
    assert(list.groups == 0); /* rows of the data have none */
    json_object(json, "data");
    json_text(json, "kind", work->ops->data);
    json_text(json, "rows", work->rows);
    json_text(json, "name", work->name);
    json_text(json, "hash", work->hash);
    class_names_to_json(json, work->class_name, work->classes);
    facts_write_rows(&list, json);
    json_end(json);
}

void workload_write_result(const workload *work, json_writer *json)
{
    const fact_list list = ask(work, work->ops->result_facts);
    facts_write_groups(&list, json);
}

void workload_write_epoch(const workload *work, json_writer *json)
{
    const fact_list list = ask(work, work->ops->epoch_facts);
    facts_write_objects(&list, json);
}

static void print(const workload *work, teller tell, FILE *out)
{
    const fact_list list = ask(work, tell);
    facts_print_groups(&list, out);
}

void workload_print_plan(const workload *work, FILE *out)
{
    print(work, work->ops->plan_facts, out);
    if (work->ops->print_plan != NULL) {
        work->ops->print_plan(work, out);
    }
}

void workload_print_closing(const workload *work, FILE *out)
{
    print(work, work->ops->closing_facts, out);
}
