/*
 * option/option_assemble.c: one catalogue from the tables of a program.
 *
 * Lists are copied one behind the other, in the order of the tables. What several tables say together is put together
 * in the catalogue's own text: choices and helps with their additions, and the section lists of commands.
 */
#include <assert.h>
#include <string.h>

#include "option/option_internal.h"

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Appends to the text that begins at `text` and is the last of the catalogue. */
static weft_status append(option_catalog *catalog, const char *text)
{
    const size_t bytes = strlen(text);
    WEFT_CHECK(catalog->text_bytes + bytes < OPTION_TEXT_MAX, WEFT_ERR_INTERNAL,
               "options: texts that are put together take more than %d bytes", OPTION_TEXT_MAX);
    memcpy(catalog->text + catalog->text_bytes, text, bytes + 1);
    catalog->text_bytes += bytes;
    return WEFT_OK;
}

static const char *begin_text(option_catalog *catalog)
{
    assert(catalog->text_bytes < OPTION_TEXT_MAX);
    catalog->text[catalog->text_bytes] = '\0';
    return catalog->text + catalog->text_bytes;
}

static void end_text(option_catalog *catalog)
{
    assert(catalog->text[catalog->text_bytes] == '\0');
    catalog->text_bytes += catalog->text_bytes + 1 < OPTION_TEXT_MAX;
}

/* Words of a list that another list lacks, behind that list. */
static weft_status join_words(option_catalog *catalog, const char **list, const char *more)
{
    char word[OPTION_WORD_MAX];
    const char *joined = begin_text(catalog);
    WEFT_TRY(append(catalog, *list));
    while (option_list_next(&more, '|', word)) {
        if (!option_list_has(joined, '|', word)) {
            WEFT_TRY(append(catalog, joined[0] != '\0' ? "|" : ""));
            WEFT_TRY(append(catalog, word));
        }
    }
    end_text(catalog);
    *list = joined;
    return WEFT_OK;
}

static weft_status join_help(option_catalog *catalog, const char **help, const char *more)
{
    const char *joined = begin_text(catalog);
    WEFT_TRY(append(catalog, *help));
    WEFT_TRY(append(catalog, "; "));
    WEFT_TRY(append(catalog, more));
    end_text(catalog);
    *help = joined;
    return WEFT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static weft_status add_rows(option_catalog *catalog, const option_table *table)
{
    WEFT_CHECK(table->number >= 0 && table->number < OPTION_TABLES_MAX, WEFT_ERR_INTERNAL,
               "options: table %d: numbers go from 0 to %d", table->number, OPTION_TABLES_MAX - 1);
    WEFT_CHECK(catalog->rows_of[table->number] == 0, WEFT_ERR_INTERNAL, "options: two tables have number %d",
               table->number);
    WEFT_CHECK(table->count <= OPTION_TABLE_ROWS && catalog->count + table->count <= OPTION_ROWS_MAX, WEFT_ERR_INTERNAL,
               "options: table %d makes %d rows, at most %d", table->number, catalog->count + table->count,
               OPTION_ROWS_MAX);
    catalog->first[table->number] = catalog->count;
    catalog->rows_of[table->number] = table->count;
    for (int row = 0; row < table->count; row++) {
        catalog->id[catalog->count] = OPTION_TABLE_FIRST(table->number) + row;
        catalog->rows[catalog->count++] = table->rows[row];
    }
    if (table->traits != NULL) {
        catalog->traits[catalog->kinds++] = table->traits;
    }
    if (table->check != NULL) {
        catalog->checks[catalog->check_count++] = table->check;
    }
    return WEFT_OK;
}

static weft_status add_words(option_catalog *catalog, const option_table *table)
{
    for (const option_addition *more = table->additions; more != NULL && more->help != NULL; more++) {
        const int place = option_place(catalog, more->id);
        WEFT_CHECK(place >= 0, WEFT_ERR_INTERNAL, "options: table %d adds words to option %d, which there is not",
                   table->number, more->id);
        option_row *row = &catalog->rows[place];
        if (more->unit[0] != '\0') {
            WEFT_TRY(join_words(catalog, &row->unit, more->unit));
        }
        if (more->choices[0] != '\0') {
            WEFT_TRY(join_words(catalog, &row->choices, more->choices));
        }
        if (more->help[0] != '\0') {
            WEFT_TRY(join_help(catalog, &row->help, more->help));
        }
    }
    return WEFT_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Copies a table's list behind the catalogue's, of which the last place stays empty: it ends the list. */
#define ADD_LIST(catalog, table, list, last)                                                                           \
    do {                                                                                                               \
        const int most = (int)(sizeof(catalog)->list / sizeof(catalog)->list[0]) - 1;                                  \
        int used = 0;                                                                                                  \
        while ((catalog)->list[used].last != NULL) {                                                                   \
            used++;                                                                                                    \
        }                                                                                                              \
        for (int i = 0; (table)->list != NULL && (table)->list[i].last != NULL; i++) {                                 \
            WEFT_CHECK(used < most, WEFT_ERR_INTERNAL, "options: more than %d " #list, most);                          \
            (catalog)->list[used++] = (table)->list[i];                                                                \
        }                                                                                                              \
    } while (0)

static weft_status add_lists(option_catalog *catalog, const option_table *table)
{
    ADD_LIST(catalog, table, sections, name);
    ADD_LIST(catalog, table, commands, name);
    ADD_LIST(catalog, table, needs, choices);
    ADD_LIST(catalog, table, recipes, recipe);
    ADD_LIST(catalog, table, synonyms, words);
    ADD_LIST(catalog, table, foreigns, words);
    ADD_LIST(catalog, table, values, words);
    ADD_LIST(catalog, table, other_commands, words);
    return WEFT_OK;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* In the place of '*': the sections that name the command, or `other`. */
static weft_status append_sections(option_catalog *catalog, const option_command *command, const char *other,
                                   const char *joined)
{
    for (const option_section *section = catalog->sections; section->name != NULL; section++) {
        const char *list = section->commands;
        if (list != NULL && (option_list_has(list, ',', command->name) || option_list_has(list, ',', other))) {
            WEFT_TRY(append(catalog, joined[0] != '\0' ? "," : ""));
            WEFT_TRY(append(catalog, section->name));
        }
    }
    return WEFT_OK;
}

static weft_status join_sections(option_catalog *catalog, option_command *command)
{
    char name[OPTION_WORD_MAX];
    const char *cursor = command->sections, *joined = begin_text(catalog);
    command->catalog = catalog;
    if (strchr(command->sections, '*') == NULL) {
        return WEFT_OK;
    }
    while (option_list_next(&cursor, ',', name)) {
        if (name[0] == '*') {
            WEFT_TRY(append_sections(catalog, command, name[1] != '\0' ? name + 1 : command->name, joined));
            continue;
        }
        WEFT_TRY(append(catalog, joined[0] != '\0' ? "," : ""));
        WEFT_TRY(append(catalog, name));
    }
    end_text(catalog);
    command->sections = joined;
    return WEFT_OK;
}

static weft_status check_sections(const option_command *command)
{
    char name[OPTION_WORD_MAX];
    for (const char *cursor = command->sections; option_list_next(&cursor, ',', name);) {
        WEFT_CHECK(option_section_find(command->catalog, name) != NULL, WEFT_ERR_INTERNAL,
                   "options: weft %s takes section %s, which there is not", command->name, name);
    }
    return WEFT_OK;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

weft_status option_assemble(option_catalog *catalog, const option_table *const *tables, int count)
{
    assert(catalog->count == 0 && catalog->is_argument != NULL && catalog->of_argument != NULL);
    for (int i = 0; i < count; i++) {
        WEFT_TRY(add_rows(catalog, tables[i]));
        WEFT_TRY(add_lists(catalog, tables[i]));
    }
    for (int i = 0; i < count; i++) {
        WEFT_TRY(add_words(catalog, tables[i]));
    }
    for (option_command *command = catalog->commands; command->name != NULL; command++) {
        WEFT_TRY(join_sections(catalog, command));
        WEFT_TRY(check_sections(command));
    }
    catalog->bare = (option_command){catalog, "", "", "", 0, 0, "general", ""};
    return WEFT_OK;
}

/* The command's option of this name or long alias that comes before this one; OPTION_NONE: there is none. */
static option_id same_before(const option_command *command, const char *name, option_id id)
{
    const option_id first = option_find(command, name, name[1] == '\0');
    return first != id ? first : OPTION_NONE;
}

static weft_status check_names(const option_command *command, option_id id)
{
    const option_row *row = option_row_at(command->catalog, id);
    const char *cursor = row->aliases;
    char name[OPTION_WORD_MAX];
    option_id other = same_before(command, row->name, id);
    snprintf(name, sizeof name, "%s", row->name);
    while (other == OPTION_NONE && option_list_next(&cursor, ',', name)) {
        other = same_before(command, name, id);
    }
    WEFT_CHECK(other == OPTION_NONE, WEFT_ERR_INTERNAL, "options: weft %s: %s and %s are both called --%s",
               command->name, option_row_at(command->catalog, other)->id, row->id, name);
    return WEFT_OK;
}

weft_status option_catalog_check(const option_catalog *catalog)
{
    for (int place = 0; place < catalog->count; place++) {
        const option_id id = catalog->id[place];
        int users = 0;
        for (const option_command *command = catalog->commands; command->name != NULL; command++) {
            if (option_applies(command, id)) {
                WEFT_TRY(check_names(command, id));
                users++;
            }
        }
        WEFT_CHECK(users > 0, WEFT_ERR_INTERNAL, "options: no command takes --%s of section %s",
                   catalog->rows[place].name, catalog->rows[place].section);
    }
    return WEFT_OK;
}
