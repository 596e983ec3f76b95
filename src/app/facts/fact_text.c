/* app/facts/fact_text.c: rows of facts in files and in words (app/facts/fact_list.h). */
#include <assert.h>
#include <string.h>

#include "app/facts/fact_list.h"
#include "base/escape.h"
#include "base/number.h"

static int end_of(const fact_list *list, int group)
{
    return group + 1 < list->groups ? list->group[group + 1].first : list->rows;
}

/* ---- JSON ---- */

static void write_value(const fact_list *list, const fact *row, json_writer *json, const char *key)
{
    switch (row->kind) {
    case FACT_INT:
        json_int(json, key, row->integer);
        break;
    case FACT_REAL:
        json_real(json, key, row->real);
        break;
    case FACT_TEXT:
        json_text(json, key, list->texts + row->text);
        break;
    case FACT_YES_NO:
        json_bool(json, key, row->integer != 0);
        break;
    }
}

static void write_rows(const fact_list *list, int first, int end, bool with_meaning, json_writer *json, const char *key)
{
    json_array(json, key);
    for (int i = first; i < end; ++i) {
        const fact *row = &list->row[i];
        json_object(json, NULL);
        json_text(json, "key", row->key);
        json_text(json, "label", row->label);
        json_text(json, "unit", row->unit);
        write_value(list, row, json, "value");
        if (with_meaning) {
            json_text(json, "meaning", row->meaning);
        }
        json_end(json);
    }
    json_end(json);
}

void facts_write_rows(const fact_list *list, json_writer *json)
{
    write_rows(list, 0, list->rows, false, json, "facts");
}

void facts_write_groups(const fact_list *list, json_writer *json)
{
    assert(list->rows == 0 || (list->groups > 0 && list->group[0].first == 0)); /* each row is in a group */
    json_array(json, "facts");
    for (int g = 0; g < list->groups; ++g) {
        json_object(json, NULL);
        json_text(json, "key", list->group[g].key);
        json_text(json, "group", list->group[g].title);
        write_rows(list, list->group[g].first, end_of(list, g), true, json, "rows");
        json_end(json);
    }
    json_end(json);
}

void facts_write_objects(const fact_list *list, json_writer *json)
{
    for (int g = 0; g < list->groups; ++g) {
        json_object(json, list->group[g].key);
        for (int i = list->group[g].first; i < end_of(list, g); ++i) {
            write_value(list, &list->row[i], json, list->row[i].key);
        }
        json_end(json);
    }
}

void facts_write_columns(const fact_column *column, int most, json_writer *json)
{
    json_array(json, "columns");
    for (int i = 0; i < most && column[i].key != NULL; ++i) {
        json_object(json, NULL);
        json_text(json, "key", column[i].key);
        json_text(json, "label", column[i].label);
        json_text(json, "unit", column[i].unit);
        json_end(json);
    }
    json_end(json);
}

/* ---- words ---- */

/* A number with its unit: bytes as people say them, and four digits of what is no whole number. */
static void print_number(FILE *out, const char *unit, bool whole, int64_t integer, double real)
{
    if (strcmp(unit, "bytes") == 0 && (whole ? integer >= 0 : real >= 0.0 && real < 0x1p63)) {
        fputs(number_say_bytes(whole ? (uint64_t)integer : (uint64_t)real).text, out);
        return;
    }
    if (whole) {
        fprintf(out, "%lld", (long long)integer);
    } else {
        fprintf(out, "%.4g", number_plain(real));
    }
    if (unit[0] != '\0') {
        fprintf(out, " %s", unit);
    }
}

static void print_value(const fact_list *list, const fact *row, FILE *out)
{
    if (row->kind == FACT_TEXT) {
        fputs(escape_say(list->texts + row->text).text, out);
    } else if (row->kind == FACT_YES_NO) {
        fputs(row->integer != 0 ? "yes" : "no", out);
    } else {
        print_number(out, row->unit, row->kind == FACT_INT, row->integer, row->real);
    }
}

void facts_print(const fact_list *list, FILE *out, const char *prefix)
{
    for (int i = 0; i < list->rows; ++i) {
        fprintf(out, "%s%s%s: ", prefix, prefix[0] != '\0' ? " " : "", list->row[i].label);
        print_value(list, &list->row[i], out);
        fputc('\n', out);
    }
}

void facts_print_groups(const fact_list *list, FILE *out)
{
    for (int g = 0; g < list->groups; ++g) {
        fprintf(out, "%s: ", escape_say(list->group[g].title).text);
        for (int i = list->group[g].first; i < end_of(list, g); ++i) {
            fprintf(out, "%s%s ", i > list->group[g].first ? ", " : "", list->row[i].label);
            print_value(list, &list->row[i], out);
        }
        fputc('\n', out);
    }
}

/* ---- reading ---- */

const json_value *facts_data_of(const json_value *run, bool *older)
{
    const json_value *data = json_find(run, "data");
    *older = false;
    if (data != NULL && data->kind == JSON_OBJECT) {
        return data;
    }
    for (data = json_first(run, JSON_OBJECT); data != NULL && json_string(data, "hash", NULL) == NULL;) {
        data = data->next;
    }
    *older = data != NULL;
    return data;
}

const json_value *facts_value_of(const json_value *rows, const char *key)
{
    const json_value *row = json_first(rows, JSON_ARRAY);
    while (row != NULL && strcmp(json_string(row, "key", ""), key) != 0) {
        row = row->next;
    }
    return json_find(row, "value");
}

const json_value *facts_value(const json_value *data, const char *key)
{
    const json_value *rows = json_find(data, "facts");
    return rows != NULL && rows->kind == JSON_ARRAY ? facts_value_of(rows, key) : json_find(data, key);
}

static void print_json_value(const json_value *value, const char *unit, FILE *out)
{
    if (value->kind == JSON_TEXT) {
        fputs(escape_say(value->text).text, out);
    } else if (value->kind == JSON_BOOL) {
        fputs(value->boolean ? "yes" : "no", out);
    } else {
        print_number(out, escape_say(unit).text, value->integral, value->integer, value->number);
    }
    fputc('\n', out);
}

void facts_print_json(const json_value *rows, FILE *out, const char *prefix)
{
    for (const json_value *row = rows->child; row != NULL; row = row->next) {
        const char *label = json_string(row, "label", NULL);
        const json_value *value = label != NULL ? json_find(row, "value") : NULL;
        if (value != NULL && (value->kind == JSON_TEXT || value->kind == JSON_BOOL || value->kind == JSON_NUMBER)) {
            fprintf(out, "%s%s%s: ", escape_say(prefix).text, prefix[0] != '\0' ? " " : "", escape_say(label).text);
            print_json_value(value, json_string(row, "unit", ""), out);
        }
    }
}
