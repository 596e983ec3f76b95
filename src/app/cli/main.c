/*
 * weft: the command.
 *
 * Finds the command, parses its options, answers --help, --version and --print-config itself and runs the rest. Under a
 * launcher every rank comes here, before MPI is started; the launcher's variables say which of them speaks. The exit
 * code is the status.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/cli/command.h"
#include "app/cli/stack.h"
#include "app/info/info.h"
#include "app/setup/context.h"
#include "app/setup/hang.h"
#include "app/setup/signals.h"
#include "app/tune/app_tune.h"
#include "app/workload/app_catalog.h"
#include "app/workload/workload.h"
#include "base/log.h"
#include "machine/launcher.h"

static const workload_command entries[] = {
    {"train", app_train, true},
    {"convert", app_convert, false},
    {"bench", app_bench, true},
    {"info", app_info, false},
    {"eval", app_eval, true},
    {"predict", app_predict, true},
    {"explain", app_explain, true},
    {"export", app_export, false},
    {"doctor", app_doctor, true},
    {"report", app_report, false},
    {"tune", app_tune, true},
    {"focus", app_focus, true},
    {NULL, NULL, false},
};

static const workload_command *entry_in(const workload_command *list, const char *name)
{
    while (list != NULL && list->name != NULL && strcmp(list->name, name) != 0) {
        ++list;
    }
    return list != NULL && list->name != NULL ? list : NULL;
}

/* Every kind's, or one of a kind of workload. NULL: the program itself, without a command. */
static const workload_command *entry_of(const option_command *command)
{
    const workload_command *entry = entry_in(entries, command->name);
    for (int i = 0; entry == NULL && workload_list[i] != NULL; ++i) {
        entry = entry_in(workload_list[i]->commands, command->name);
    }
    return entry;
}

static weft_status print_generated(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(const option_catalog *catalog, FILE *out);
    } kinds[] = {{"man", option_print_man},
                 {"completion", option_print_completion},
                 {"markdown", option_print_markdown},
                 {"json", option_print_json}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && argc == 2; i++) {
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].print(app_catalog(), stdout);
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "weft generate takes one of man, completion, markdown, json");
}

static weft_status print_help(const option_command *command, const char *topic)
{
    if (topic[0] != '\0') {
        WEFT_TRY(option_check_topic(command, topic));
    }
    if (strcmp(topic, "formats") == 0) {
        app_print_formats(stdout);
    } else if (strcmp(topic, "recipes") == 0) {
        option_print_recipes(app_catalog(), stdout);
    } else if (command == &app_catalog()->bare && topic[0] == '\0') {
        option_print_overview(app_catalog(), stdout);
    } else {
        option_print_help(stdout, command, topic);
    }
    return WEFT_OK;
}

/* --help, --version, --print-config: *answered tells that one of them was given. */
static weft_status answer(const weft_options *options, bool *answered)
{
    const option_command *command = option_command_of(options);
    *answered = true;
    if (option_is_set(options, OPT_HELP)) {
        return launcher_rank() == 0 ? print_help(command, option_text(options, OPT_HELP)) : WEFT_OK;
    }
    if (option_flag(options, OPT_VERSION)) {
        if (launcher_rank() == 0) {
            app_print_version(stdout, option_flag(options, OPT_VERBOSE));
        }
        return WEFT_OK;
    }
    if (option_flag(options, OPT_PRINT_CONFIG)) {
        if (launcher_rank() == 0) {
            option_print_config(stdout, options);
        }
        return WEFT_OK;
    }
    *answered = false;
    return WEFT_OK;
}

static weft_status run(const workload_command *entry, const weft_options *options)
{
    assert(entry->run != NULL && strcmp(entry->name, option_command_of(options)->name) == 0);
    WEFT_TRY(app_set_log_level(options));
    WEFT_CHECK(entry->parallel || launcher_size() <= 1, WEFT_ERR_LAUNCH,
               "weft %s runs as one process, not as %d: start it without mpirun", entry->name, launcher_size());
    return entry->run(options);
}

/* `weft help [COMMAND]`, which newcomers type first. */
static weft_status print_help_of(int argc, char **argv)
{
    const option_command *command = &app_catalog()->bare;
    if (argc > 1) {
        WEFT_TRY(option_command_find(app_catalog(), argv[1], &command));
    }
    return launcher_rank() == 0 ? print_help(command, "") : WEFT_OK;
}

static weft_status dispatch(int argc, char **argv)
{
    const option_command *command = &app_catalog()->bare;
    weft_options *options = NULL;
    bool answered = false;
    if (argc < 2) {
        if (launcher_rank() == 0) {
            option_print_overview(app_catalog(), stderr);
        }
        return weft_fail(WEFT_ERR_USAGE, "no command given");
    }
    if (strcmp(argv[1], "generate") == 0) {
        return print_generated(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "help") == 0) {
        return print_help_of(argc - 1, argv + 1);
    }
    if (argv[1][0] != '-') {
        WEFT_TRY(option_command_find(app_catalog(), argv[1], &command));
        argc--;
        argv++;
    }
    const workload_command *entry = entry_of(command);
    /* Other ranks of a parallel command receive what rank 0 reads. */
    bool receives = entry != NULL && entry->parallel && launcher_rank() > 0;
    WEFT_TRY((receives ? option_parse_arguments : option_parse)(command, argc, argv, &options));
    weft_status status = answer(options, &answered);
    if (!answered) {
        status =
            entry != NULL ? run(entry, options) : weft_fail(WEFT_ERR_USAGE, "no command given: weft --help lists them");
    }
    option_destroy(options);
    return status;
}

/* A full disk shows itself only when the buffer is written. */
static weft_status finish_stdout(weft_status status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return status;
    }
    return status != WEFT_OK ? status : weft_fail_errno(errno, "standard output");
}

typedef struct arguments {
    int count;
    char **word;
} arguments;

static weft_status run_command(void *given)
{
    const arguments *a = given;
    const weft_status status = finish_stdout(dispatch(a->count, a->word));
    /* A wrong command line is wrong on every rank: one of them says so. */
    bool speaks = launcher_rank() == 0 || (status != WEFT_ERR_USAGE && weft_error_message()[0] != '\0');
    if (status != WEFT_OK && status != WEFT_STOPPED && speaks) {
        log_fatal(launcher_rank(), status, weft_error_message());
    }
    return status;
}

int main(int argc, char **argv)
{
    arguments given = {.count = argc, .word = argv};
    log_set_speaker(launcher_rank() == 0);
    signals_let_writes_fail();
    signals_name_lost_files();
    hang_watch();
    return (int)stack_run(run_command, &given);
}
