/* option/option_table.c: how rows, commands and sections are looked up. */
#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/nearest.h"
#include "option/option_internal.h"

/* Returns the item at the cursor, [*length], as it stands in the list, and moves the cursor behind its separator; NULL
 * at the end. */
static const char *list_view(const char **cursor, char separator, size_t *length)
{
    const char *item = *cursor;
    if (*item == '\0') {
        return NULL;
    }
    const char *end = strchr(item, separator);
    *length = end != NULL ? (size_t)(end - item) : strlen(item);
    *cursor = item + *length + (end != NULL);
    return item;
}

bool option_list_next(const char **cursor, char separator, char item[OPTION_WORD_MAX])
{
    size_t length = 0;
    const char *view = list_view(cursor, separator, &length);
    if (view == NULL) {
        return false;
    }
    length = length < OPTION_WORD_MAX ? length : OPTION_WORD_MAX - 1;
    memcpy(item, view, length);
    item[length] = '\0';
    return true;
}

bool option_list_has(const char *list, char separator, const char *word)
{
    const size_t wanted = strlen(word);
    size_t length = 0;
    for (const char *view; (view = list_view(&list, separator, &length)) != NULL;) {
        if (length == wanted && memcmp(view, word, length) == 0) {
            return true;
        }
    }
    return false;
}

int option_place(const option_catalog *catalog, option_id id)
{
    const int table = id >> OPTION_TABLE_SHIFT, row = id & (OPTION_TABLE_ROWS - 1);
    return id >= 0 && table < OPTION_TABLES_MAX && row < catalog->rows_of[table] ? catalog->first[table] + row : -1;
}

const option_row *option_row_at(const option_catalog *catalog, option_id id)
{
    const int place = option_place(catalog, id);
    assert(place >= 0);
    return &catalog->rows[place];
}

bool option_serves(const option_row *row, const char *traits)
{
    char trait[OPTION_WORD_MAX];
    const char *cursor = row->serves;
    while (option_list_next(&cursor, '|', trait)) {
        if (option_list_has(traits, '|', trait)) {
            return true;
        }
    }
    return row->serves[0] == '\0';
}

bool option_id_listed(const option_id *ids, option_id id)
{
    while (ids != NULL && *ids != OPTION_NONE && *ids != id) {
        ids++;
    }
    return ids != NULL && *ids == id;
}

bool option_is_switch(const option_row *row)
{
    return row->type == OPTION_CHOICE && option_list_has(row->choices, '|', "on") &&
           option_list_has(row->choices, '|', "off");
}

bool option_applies(const option_command *command, option_id id)
{
    return option_list_has(command->sections, ',', option_row_at(command->catalog, id)->section);
}

bool option_allowed_from(option_id id, option_source source)
{
    bool acts = id == OPT_HELP || id == OPT_VERSION || id == OPT_PRINT_CONFIG;
    if (source == OPTION_ENVIRONMENT) {
        return !acts;
    }
    return source != OPTION_FILE || (!acts && id != OPT_CONFIG);
}

bool option_same_name(const char *a, const char *b)
{
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        char x = *a == '_' ? '-' : *a, y = *b == '_' ? '-' : *b;
        if (x != y) {
            return false;
        }
    }
    return true;
}

static const char *skip_joints(const char *at)
{
    return at + strspn(at, "-_ ");
}

bool option_same_word(const char *a, const char *b)
{
    a = skip_joints(a);
    b = skip_joints(b);
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a = skip_joints(a + 1);
        b = skip_joints(b + 1);
    }
    return *a == *b;
}

static bool row_matches(const option_row *row, const char *name, bool letter)
{
    const char *aliases = row->aliases;
    char alias[OPTION_WORD_MAX] = "";
    if (!letter && option_same_name(row->name, name)) {
        return true;
    }
    while (option_list_next(&aliases, ',', alias)) {
        if ((alias[1] == '\0') == letter && option_same_name(alias, name)) {
            return true;
        }
    }
    return false;
}

option_id option_find(const option_command *command, const char *name, bool letter)
{
    const option_catalog *catalog = command->catalog;
    for (int place = 0; place < catalog->count; place++) {
        if (option_applies(command, catalog->id[place]) && row_matches(&catalog->rows[place], name, letter)) {
            return catalog->id[place];
        }
    }
    return OPTION_NONE;
}

option_id option_find_any(const option_catalog *catalog, const char *name)
{
    for (int place = 0; place < catalog->count; place++) {
        if (row_matches(&catalog->rows[place], name, false)) {
            return catalog->id[place];
        }
    }
    return OPTION_NONE;
}

const option_section *option_section_find(const option_catalog *catalog, const char *name)
{
    for (const option_section *section = catalog->sections; section->name != NULL; section++) {
        if (strcmp(section->name, name) == 0) {
            return section;
        }
    }
    return NULL;
}

bool option_section_used(const option_command *command, const char *section)
{
    return option_list_has(command->sections, ',', section);
}

int option_collect_names(const option_catalog *catalog, const option_command *command,
                         char names[OPTION_NAMES_MAX][OPTION_WORD_MAX])
{
    int count = 0;
    for (int place = 0; place < catalog->count; place++) {
        const char *aliases = catalog->rows[place].aliases;
        assert(count < OPTION_NAMES_MAX); /* a name that is left out is never suggested */
        if (command != NULL && !option_applies(command, catalog->id[place])) {
            continue;
        }
        if (count < OPTION_NAMES_MAX) {
            strncpy(names[count], catalog->rows[place].name, OPTION_WORD_MAX - 1);
            names[count++][OPTION_WORD_MAX - 1] = '\0';
        }
        while (count < OPTION_NAMES_MAX && option_list_next(&aliases, ',', names[count])) {
            count += names[count][1] != '\0'; /* one letter is near to everything */
        }
    }
    return count;
}

void option_environment_name(const char *name, char text[OPTION_ENV_MAX])
{
    size_t at = 5;
    memcpy(text, "WEFT_", 5);
    for (; *name != '\0' && at + 1 < OPTION_ENV_MAX; name++) {
        text[at++] = (char)(*name == '-' ? '_' : (*name >= 'a' && *name <= 'z') ? *name - 'a' + 'A' : *name);
    }
    text[at] = '\0';
}

const char *option_source_text(option_source source)
{
    static const char *const texts[] = {"default",     "recipe",       "data",   "config file",
                                        "environment", "command line", "program"};
    return texts[source];
}

const char *option_nearest_name(const option_catalog *catalog, const option_command *command, const char *word,
                                char found[OPTION_WORD_MAX])
{
    char names[OPTION_NAMES_MAX][OPTION_WORD_MAX];
    const char *pointers[OPTION_NAMES_MAX];
    int count = option_collect_names(catalog, command, names);
    for (int i = 0; i < count; i++) {
        pointers[i] = names[i];
    }
    const char *near = nearest_word(word, pointers, count);
    if (near == NULL) {
        return NULL;
    }
    memcpy(found, near, strlen(near) + 1); /* a row of `names` fits */
    return found;
}

enum { SPELLED_MAX = 512 };

weft_status option_lookup(const weft_options *options, const char *name, option_id *id)
{
    *id = option_find(options->command, name, false);
    return *id != OPTION_NONE ? WEFT_OK : option_fail_unknown(options->command, "", name);
}

weft_status option_assign(weft_options *options, const char *name, const char *text)
{
    char spelled[SPELLED_MAX];
    option_id id = OPTION_NONE;
    WEFT_TRY(option_lookup(options, name, &id));
    WEFT_CHECK(option_allowed_from(id, OPTION_FILE), WEFT_ERR_USAGE, "%s: belongs on a command line", name);
    snprintf(spelled, sizeof spelled, "%s = %s", name, text);
    return option_set(options, id, OPTION_PROGRAM, spelled, text);
}
