/*
 * app/options/option_json.c: the option table as one JSON object, for tests and for programs that start weft.
 *
 *   {"options":  [{"id", "name", "aliases", "type", "section", "serves", "unit", "default", "help",
 *                  "min", "max" (numbers), "choices" (choices), "sources", "needs": [{"option", "choices"}]}, ...],
 *    "commands": [{"name", "summary", "arguments", "min_arguments", "max_arguments", "options": [ids]}, ...]}
 */
#include <assert.h>

#include "app/options/app_options.h"
#include "io/json.h"

static const char *const type_names[] = {"flag", "int", "real", "text", "choice", "size", "time", "intlist"};

static void print_list(json_writer *json, const char *key, const char *list, char separator)
{
    char item[OPTION_WORD_MAX];
    json_array(json, key);
    while (option_list_next(&list, separator, item)) {
        json_text(json, NULL, item);
    }
    json_end(json);
}

/* Where the option may be set, the strongest last. */
static void print_sources(json_writer *json, option_id id)
{
    json_array(json, "sources");
    for (int source = OPTION_FILE; source <= OPTION_COMMAND_LINE; source++) {
        if (option_allowed_from(id, (option_source)source)) {
            json_text(json, NULL, option_source_text((option_source)source));
        }
    }
    json_end(json);
}

static void print_needs(json_writer *json, const option_catalog *catalog, option_id id)
{
    json_array(json, "needs");
    for (const option_need *need = catalog->needs; need->choices != NULL; need++) {
        if (need->id == id) {
            json_object(json, NULL);
            json_text(json, "option", option_row_at(catalog, need->other)->id);
            print_list(json, "choices", need->choices, '|');
            json_end(json);
        }
    }
    json_end(json);
}

static void print_option(json_writer *json, const option_catalog *catalog, option_id id)
{
    const option_row *row = option_row_at(catalog, id);
    assert((size_t)row->type < sizeof type_names / sizeof *type_names);
    json_object(json, NULL);
    json_text(json, "id", row->id);
    json_text(json, "name", row->name);
    print_list(json, "aliases", row->aliases, ',');
    json_text(json, "type", type_names[row->type]);
    json_text(json, "section", row->section);
    print_list(json, "serves", row->serves, '|');
    json_text(json, "unit", row->unit);
    json_text(json, "default", row->default_text);
    json_text(json, "help", row->help);
    if (row->min < row->max) {
        json_real(json, "min", row->min);
        json_real(json, "max", row->max);
    }
    if (row->choices[0] != '\0') {
        print_list(json, "choices", row->choices, '|');
    }
    print_sources(json, id);
    print_needs(json, catalog, id);
    json_end(json);
}

static void print_command(json_writer *json, const option_command *command)
{
    json_object(json, NULL);
    json_text(json, "name", command->name);
    json_text(json, "summary", command->summary);
    json_text(json, "arguments", command->arguments);
    json_int(json, "min_arguments", command->min_arguments);
    json_int(json, "max_arguments", command->max_arguments);
    json_array(json, "options");
    const option_catalog *catalog = command->catalog;
    for (int place = 0; place < catalog->count; place++) {
        if (option_applies(command, catalog->id[place])) {
            json_text(json, NULL, catalog->rows[place].id);
        }
    }
    json_end(json);
    json_end(json);
}

void option_print_json(const option_catalog *catalog, FILE *out)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    json_array(&json, "options");
    for (int place = 0; place < catalog->count; place++) {
        print_option(&json, catalog, catalog->id[place]);
    }
    json_end(&json);
    json_array(&json, "commands");
    for (const option_command *command = catalog->commands; command->name != NULL; command++) {
        print_command(&json, command);
    }
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
}
