/*
 * option/option_parse.c: the command line, then the environment, then the config file.
 *
 * The strongest source is read first because it may name the config file; option_set keeps what a stronger source gave.
 */
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/text/append.h"
#include "option/option_internal.h"

extern char **environ;

enum { SPELLED_MAX = 512, NAME_MAX_BYTES = 256 };

typedef struct argument_list {
    int count, at;
    char **text;
} argument_list;

static const char *command_text(const option_command *command, char text[OPTION_WORD_MAX])
{
    snprintf(text, OPTION_WORD_MAX, command->name[0] != '\0' ? "weft %s" : "weft", command->name);
    return text;
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

/* The first command that has an option of this name, or NULL. */
static const option_command *command_with(const option_catalog *catalog, const char *name)
{
    for (const option_command *command = catalog->commands; command->name != NULL; command++) {
        if (option_find(command, name, false) != OPTION_NONE) {
            return command;
        }
    }
    return NULL;
}

weft_status option_fail_unknown(const option_command *command, const char *dashes, const char *name)
{
    char found[OPTION_WORD_MAX], here[OPTION_WORD_MAX];
    const option_command *other = command_with(command->catalog, name);
    const char *near = option_nearest_name(command->catalog, command, name, found);
    const char *foreign = option_foreign_answer(command->catalog, name);
    const char *long_dashes = dashes[0] != '\0' ? "--" : "";
    command_text(command, here);
    if (command->catalog->is_argument(command, name)) {
        return weft_fail(WEFT_ERR_USAGE, "unknown option %s%s: %s takes it as an argument: %s %s", dashes, name, here,
                         here, command->arguments);
    }
    if (foreign != NULL) {
        return weft_fail(WEFT_ERR_USAGE, "unknown option %s%s: %s", dashes, name, foreign);
    }
    if (near != NULL) {
        return weft_fail(WEFT_ERR_USAGE, "unknown option %s%s: did you mean %s%s?", dashes, name, long_dashes, near);
    }
    if (other != NULL) {
        return weft_fail(WEFT_ERR_USAGE, "unknown option %s%s: it belongs to weft %s, not to %s", dashes, name,
                         other->name, here);
    }
    return weft_fail(WEFT_ERR_USAGE, "unknown option %s%s: %s --help lists the options", dashes, name, here);
}

/* ---- command line ----------------------------------------------------------------------------------------------- */

/* The value of an option at arguments->at: after '=', or the next argument. */
static weft_status take_value(const weft_options *options, option_id id, argument_list *arguments, const char *written,
                              const char *inline_value, const char **value)
{
    const option_row *row = option_row_in(options, id);
    const char *next = arguments->at + 1 < arguments->count ? arguments->text[arguments->at + 1] : NULL;
    *value = inline_value != NULL ? inline_value : "";
    if (inline_value != NULL) {
        return WEFT_OK;
    }
    if (id == OPT_HELP) { /* the topic is optional: taken only when it is one */
        bool topic = next != NULL && next[0] != '-' && option_check_topic(options->command, next) == WEFT_OK;
        weft_error_clear();
        arguments->at += topic;
        *value = topic ? next : *value;
        return WEFT_OK;
    }
    /* A switch takes the next word unless it is an option: what is no choice is refused, not left over. */
    const bool alone = option_is_switch(row) && (next == NULL || next[0] == '-'), flag = row->type == OPTION_FLAG;
    if (flag || alone) { /* a flag takes the words that would else be an argument too many, or a file of that name */
        const bool said = flag && next != NULL && (strcmp(next, "on") == 0 || strcmp(next, "off") == 0);
        arguments->at += said;
        *value = said ? next : "on";
        return WEFT_OK;
    }
    WEFT_CHECK(next != NULL && strncmp(next, "--", 2) != 0, WEFT_ERR_USAGE, "%s: needs a value (%s)", written,
               option_placeholder(row));
    arguments->at++;
    *value = next;
    return WEFT_OK;
}

static weft_status set_from_argument(weft_options *options, option_id id, const char *written, const char *value)
{
    char spelled[SPELLED_MAX];
    bool bare = option_row_in(options, id)->type == OPTION_FLAG && strcmp(value, "on") == 0;
    snprintf(spelled, sizeof spelled, bare ? "%s" : "%s %s", written, value);
    return option_set(options, id, OPTION_COMMAND_LINE, spelled, value);
}

/* --name, --name=value, --no-name. */
static weft_status parse_long(weft_options *options, argument_list *arguments)
{
    const char *text = arguments->text[arguments->at], *equals = strchr(text, '='), *value = NULL;
    char name[NAME_MAX_BYTES], written[NAME_MAX_BYTES + 2];
    size_t length = equals != NULL ? (size_t)(equals - text) - 2 : strlen(text) - 2;
    WEFT_CHECK(length < sizeof name, WEFT_ERR_USAGE, "unknown option %.60s...", text);
    memcpy(name, text + 2, length);
    name[length] = '\0';
    snprintf(written, sizeof written, "--%s", name);
    option_id id = option_find(options->command, name, false);
    if (id == OPTION_NONE && (strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0)) {
        id = option_find(options->command, name + 3, false);
        if (id != OPTION_NONE &&
            (option_row_in(options, id)->type == OPTION_FLAG || option_is_switch(option_row_in(options, id)))) {
            WEFT_CHECK(equals == NULL, WEFT_ERR_USAGE, "%s takes no value", written);
            return option_set(options, id, OPTION_COMMAND_LINE, written, "off");
        }
        id = OPTION_NONE;
    }
    if (id == OPTION_NONE) {
        return option_fail_unknown(options->command, "--", name);
    }
    WEFT_TRY(take_value(options, id, arguments, written, equals != NULL ? equals + 1 : NULL, &value));
    return set_from_argument(options, id, written, value);
}

/* -x, -x value. */
static weft_status parse_letter(weft_options *options, argument_list *arguments)
{
    const char *text = arguments->text[arguments->at], *value = NULL;
    const option_catalog *catalog = options->command->catalog;
    char name[2] = {text[1], '\0'};
    option_id id = option_find(options->command, name, true);
    if (text[2] != '\0') {
        char found[OPTION_WORD_MAX];
        const char *near = option_nearest_name(catalog, options->command, text + 1, found);
        if (option_foreign_answer(catalog, text + 1) != NULL) { /* mpirun's -np, torchrun's single dash */
            return option_fail_unknown(options->command, "-", text + 1);
        }
        if (near != NULL) {
            return weft_fail(WEFT_ERR_USAGE, "unknown option %s: did you mean --%s?", text, near);
        }
        return weft_fail(WEFT_ERR_USAGE,
                         "unknown option %s: one-letter options stand alone (-%c), long ones take two dashes", text,
                         text[1]);
    }
    if (id == OPTION_NONE) {
        return option_fail_unknown(options->command, "-", name);
    }
    WEFT_TRY(take_value(options, id, arguments, text, NULL, &value));
    return set_from_argument(options, id, text, value);
}

static weft_status parse_arguments(weft_options *options, int argc, char **argv)
{
    argument_list arguments = {.count = argc, .at = 1, .text = argv};
    bool ended = false;
    for (; arguments.at < argc; arguments.at++) {
        const char *text = argv[arguments.at];
        if (ended || text[0] != '-' || text[1] == '\0') {
            WEFT_TRY(option_add_argument(options, text));
        } else if (strcmp(text, "--") == 0) {
            ended = true;
        } else if (text[1] == '-') {
            WEFT_TRY(parse_long(options, &arguments));
        } else {
            WEFT_TRY(parse_letter(options, &arguments));
        }
    }
    return WEFT_OK;
}

static bool acts_at_once(const weft_options *options)
{
    return option_is_set(options, OPT_HELP) || option_is_set(options, OPT_VERSION);
}

option_id option_argument_flag(const option_command *command)
{
    char name[OPTION_WORD_MAX];
    return sscanf(command->arguments, "[--%63[a-z-] ", name) == 1 ? option_find(command, name, false) : OPTION_NONE;
}

/* Arguments that the command takes, as its options stand. */
static int most_arguments(const weft_options *options)
{
    const option_id flag = option_argument_flag(options->command);
    return flag == OPTION_NONE || option_flag(options, flag) ? options->command->max_arguments : 0;
}

/* An argument too many: most were meant for an option. */
static weft_status fail_argument(const weft_options *options, const char *here)
{
    const option_command *command = options->command;
    const int most = most_arguments(options);
    const char *text = options->arguments[most];
    option_id named = option_find(command, text, false);
    option_id id = named != OPTION_NONE ? named : command->catalog->of_argument(options, text);
    if (command == &command->catalog->bare) {
        return weft_fail(WEFT_ERR_USAGE, "%s: unexpected argument \"%s\": the command comes first, then its options",
                         here, text);
    }
    if (id == OPTION_NONE) {
        return weft_fail(WEFT_ERR_USAGE, "%s: unexpected argument \"%s\"; it takes %s", here, text,
                         most > 0 ? command->arguments : "options only");
    }
    bool value = named == OPTION_NONE;
    return weft_fail(WEFT_ERR_USAGE, "%s: unexpected argument \"%s\": did you mean --%s%s%s?", here, text,
                     option_row_in(options, id)->name, value ? " " : "", value ? text : "");
}

static weft_status check_argument_count(const weft_options *options)
{
    const option_command *command = options->command;
    char here[OPTION_WORD_MAX];
    command_text(command, here);
    if (acts_at_once(options) || option_is_set(options, OPT_PRINT_CONFIG)) { /* a template has no arguments */
        return WEFT_OK;
    }
    WEFT_CHECK(options->argument_count >= command->min_arguments, WEFT_ERR_USAGE, "%s: %s is missing: %s --help", here,
               command->arguments, here);
    return options->argument_count <= most_arguments(options) ? WEFT_OK : fail_argument(options, here);
}

/* ---- environment ------------------------------------------------------------------------------------------------ */

/* Returns true for variables of the same prefix that are not options: the shared folder and the peers of tests, the
 * cache folder, and those that choose or do without a library. */
static bool is_other_variable(const char *name)
{
    static const char *const others[] = {"WEFT_SHARED", "WEFT_PEERS_VENV", "WEFT_CACHE",
                                         "WEFT_LAPACK", "WEFT_CUDNN",      "WEFT_MPI"};
    bool found = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        found = found || strcmp(name, others[i]) == 0;
    }
    return found;
}

/* The option name that a variable's name stands for: WEFT_EVAL_EVERY is eval_every. */
static void name_of_variable(const char *variable, char name[NAME_MAX_BYTES])
{
    size_t at = 0;
    for (const char *c = variable + 5; *c != '\0' && at + 1 < NAME_MAX_BYTES; c++) {
        name[at++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    name[at] = '\0';
}

static void warn_ignored_variable(const option_catalog *catalog, const char *variable, const char *name)
{
    char found[OPTION_WORD_MAX], suggested[OPTION_ENV_MAX];
    const char *near = option_nearest_name(catalog, NULL, name, found);
    if (option_find_any(catalog, name) != OPTION_NONE) {
        log_warn("%s in the environment is ignored: %s belongs on the command line", variable, name);
    } else if (option_foreign_answer(catalog, name) != NULL) {
        log_warn("%s in the environment is no option of weft: %s", variable, option_foreign_answer(catalog, name));
    } else if (near != NULL) {
        option_environment_name(near, suggested);
        log_warn("%s in the environment is no option of weft: did you mean %s?", variable, suggested);
    } else {
        log_warn("%s in the environment is no option of weft", variable);
    }
}

static weft_status parse_variable(weft_options *options, const char *entry)
{
    const option_catalog *catalog = options->command->catalog;
    const char *equals = strchr(entry, '=');
    char variable[NAME_MAX_BYTES], name[NAME_MAX_BYTES], spelled[SPELLED_MAX];
    size_t length = equals != NULL ? (size_t)(equals - entry) : sizeof variable;
    if (length >= sizeof variable) {
        return WEFT_OK;
    }
    memcpy(variable, entry, length);
    variable[length] = '\0';
    name_of_variable(variable, name);
    option_id id = option_find(options->command, name, false);
    if (id != OPTION_NONE && option_allowed_from(id, OPTION_ENVIRONMENT)) {
        snprintf(spelled, sizeof spelled, "%s=%s in the environment", variable, equals + 1);
        return option_set(options, id, OPTION_ENVIRONMENT, spelled, equals + 1);
    }
    option_id any = option_find_any(catalog, name); /* an option of another command is quietly left to it */
    if (!is_other_variable(variable) && (any == OPTION_NONE || !option_allowed_from(any, OPTION_ENVIRONMENT))) {
        warn_ignored_variable(catalog, variable, name);
    }
    return WEFT_OK;
}

static weft_status parse_environment(weft_options *options)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, "WEFT_", 5) == 0) {
            WEFT_TRY(parse_variable(options, *entry));
        }
    }
    return WEFT_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static weft_status parse_all(weft_options *options, int argc, char **argv, bool with_surroundings)
{
    WEFT_TRY(parse_arguments(options, argc, argv));
    WEFT_TRY(check_argument_count(options));
    if (!with_surroundings || acts_at_once(options)) {
        return WEFT_OK;
    }
    WEFT_TRY(parse_environment(options));
    const char *path = option_text(options, OPT_CONFIG);
    return path[0] != '\0' ? option_apply_config_file(options, path) : WEFT_OK;
}

static weft_status parse_into_new(const option_command *command, int argc, char **argv, bool with_surroundings,
                                  weft_options **options)
{
    WEFT_TRY(option_create(command, options));
    weft_status status = parse_all(*options, argc, argv, with_surroundings);
    if (status != WEFT_OK) {
        option_destroy(*options);
        *options = NULL;
    }
    return status;
}

weft_status option_parse(const option_command *command, int argc, char **argv, weft_options **options)
{
    return parse_into_new(command, argc, argv, true, options);
}

weft_status option_parse_arguments(const option_command *command, int argc, char **argv, weft_options **options)
{
    return parse_into_new(command, argc, argv, false, options);
}

/* ---- names of commands and topics ------------------------------------------------------------------------------- */

weft_status option_command_find(const option_catalog *catalog, const char *name, const option_command **command)
{
    const char *names[OPTION_COMMANDS_MAX];
    int count = 0;
    for (const option_command *at = catalog->commands; at->name != NULL; at++) {
        if (strcmp(at->name, name) == 0) {
            *command = at;
            return WEFT_OK;
        }
        names[count++] = at->name;
    }
    const char *near = nearest_word(name, names, count);
    const char *answer = option_command_answer(catalog, name);
    WEFT_CHECK(answer == NULL, WEFT_ERR_USAGE, "unknown command \"%s\": %s", name, answer);
    return weft_fail(WEFT_ERR_USAGE, "unknown command \"%s\": %s%s%s", name,
                     near != NULL ? "did you mean weft " : "weft --help lists the commands", near != NULL ? near : "",
                     near != NULL ? "?" : "");
}

weft_status option_check_topic(const option_command *command, const char *topic)
{
    const char *names[OPTION_LIST_MAX];
    char listed[512] = "";
    int count = 0;
    bool bare = command == &command->catalog->bare; /* it stands for all of them */
    const option_section *sections = command->catalog->sections;
    for (const option_section *section = sections; section->name != NULL; section++) {
        if (bare || option_section_used(command, section->name)) {
            names[count++] = section->name;
        }
    }
    names[count++] = "exit-codes";
    for (const option_section *section = sections; section->name != NULL; section++) {
        if (section->topic != NULL && (bare || option_section_used(command, section->name))) {
            names[count++] = section->topic;
        }
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], topic) == 0) {
            return WEFT_OK;
        }
        text_append_item(listed, sizeof listed, "%s", names[i]);
    }
    const char *near = nearest_word(topic, names, count);
    return weft_fail(WEFT_ERR_USAGE, "no help on \"%s\"%s%s%s (topics: %s)", topic,
                     near != NULL ? ": did you mean --help=" : "", near != NULL ? near : "", near != NULL ? "?" : "",
                     listed);
}
