/* app/facts/fact_list.c: see app/facts/fact_list.h; the list itself. */
#include "app/facts/fact_list.h"

#include <assert.h>
#include <string.h>

#include "base/escape.h"

/* A next row. A kind that has more rows than a list takes is a mistake of ours: in a release its last row is
 * overwritten. */
static fact *add(fact_list *list, const char *key, const char *label, const char *unit, const char *meaning,
                 fact_kind kind)
{
    assert(list->rows < FACTS_MOST);
    assert(strlen(key) > 0 && strlen(key) < FACT_KEY_BYTES && strcspn(key, " ") == strlen(key));
    assert(strlen(label) > 0 && strlen(label) < FACT_LABEL_BYTES);
    list->rows += list->rows < FACTS_MOST;
    fact *row = &list->row[list->rows - 1];
    *row = (fact){.unit = unit, .meaning = meaning, .kind = kind};
    snprintf(row->key, sizeof row->key, "%s", key);
    snprintf(row->label, sizeof row->label, "%s", label);
    return row;
}

void facts_group(fact_list *list, const char *key, const char *title)
{
    assert(list->groups < FACT_GROUPS_MOST);
    list->groups += list->groups < FACT_GROUPS_MOST;
    fact_group *group = &list->group[list->groups - 1];
    *group = (fact_group){.first = list->rows};
    snprintf(group->key, sizeof group->key, "%s", key);
    snprintf(group->title, sizeof group->title, "%s", title);
}

void facts_int(fact_list *list, const char *key, const char *label, const char *unit, const char *meaning,
               int64_t value)
{
    add(list, key, label, unit, meaning, FACT_INT)->integer = value;
}

void facts_real(fact_list *list, const char *key, const char *label, const char *unit, const char *meaning,
                double value)
{
    add(list, key, label, unit, meaning, FACT_REAL)->real = value;
}

void facts_yes_no(fact_list *list, const char *key, const char *label, const char *meaning, bool value)
{
    add(list, key, label, "", meaning, FACT_YES_NO)->integer = value;
}

void facts_text(fact_list *list, const char *key, const char *label, const char *meaning, const char *value)
{
    const size_t room = sizeof list->texts - (size_t)list->used;
    fact *row = add(list, key, label, "", meaning, FACT_TEXT);
    assert(room > 1);
    row->text = room > 0 ? list->used : (int)sizeof list->texts - 1;
    if (room > 0) {
        const size_t bytes = utf8_fitting(value, room);
        memcpy(list->texts + list->used, value, bytes);
        list->texts[list->used + (int)bytes] = '\0';
        list->used += (int)bytes + 1;
    }
}
