/* Spellings, units, messages, suggestions, config syntax, environment: what the table alone does not say. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "machine/launcher.h"
#include "support/options.h"
#include "support/test.h"

static const option_command *command(const char *name)
{
    const option_command *found = NULL;
    ASSERT_OK(option_command_find(app_catalog(), name, &found));
    return found;
}

enum { ARGUMENTS_MAX = 16 };

/* Split at blanks: "train --lr 0.1". */
static weft_status parse(const char *line, weft_options **options)
{
    char text[512], *argv[ARGUMENTS_MAX] = {NULL};
    int argc = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL && argc < ARGUMENTS_MAX - 1; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return option_parse(command(argv[0]), argc, argv, options);
}

static void refuse(const char *line, const char *message)
{
    weft_options *options = NULL;
    ASSERT_STATUS(parse(line, &options), WEFT_ERR_USAGE);
    assert_null(options);
    ASSERT_MESSAGE(message);
}

static weft_options *accept(const char *line)
{
    weft_options *options = NULL;
    ASSERT_OK(parse(line, &options));
    return options;
}

static void test_suggestions(void **state)
{
    (void)state;
    refuse("train --hiden 3", "unknown option --hiden: did you mean --hidden?");
    refuse("train --num_epoch=3", "did you mean --num-epochs?");
    refuse("train --learning-rte 3", "did you mean --learning-rate?");
    refuse("train --dropot 3", "did you mean --dropout?");
    refuse("train -lr 3", "unknown option -lr: did you mean --lr?");
    refuse("train -x", "unknown option -x");
    refuse("train --xyzzyplugh", "unknown option --xyzzyplugh: weft train --help");
    refuse("bench spmm --epochs 3", "it belongs to weft train");
    refuse("train --model sgae", "did you mean sage?");
    const option_command *found = NULL;
    ASSERT_STATUS(option_command_find(app_catalog(), "trian", &found), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean weft train?");
    ASSERT_STATUS(option_command_find(app_catalog(), "zzz", &found), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft --help");
}

static void test_abbreviations_are_not_silent(void **state)
{
    (void)state;
    refuse("train --hidd 3", "did you mean --hidden?");
    refuse("train --epoch 3", "did you mean --epochs?");
}

static void test_nearest(void **state)
{
    (void)state;
    const char *names[] = {"hidden", "layers", "lr", "epochs"};
    assert_string_equal(nearest_word("hidedn", names, 4), "hidden"); /* swap */
    assert_string_equal(nearest_word("layer", names, 4), "layers");
    assert_string_equal(nearest_word("LAYERS", names, 4), "layers");
    assert_string_equal(nearest_word("lt", names, 4), "lr");
    assert_string_equal(nearest_word("hid", names, 4), "hidden");
    assert_null(nearest_word("momentum", names, 4));
    assert_null(nearest_word("", names, 4));
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(nearest_word(longest, names, 4));
}

static void test_ranges_are_in_the_message(void **state)
{
    (void)state;
    refuse("train --lr 1e9", "--lr 1e9: must be between 0 and 1e+06");
    refuse("train --layers 65", "--layers 65: must be between 1 and 64");
    refuse("train --dropout=1", "--dropout 1: must be between 0 and 0.999");
    refuse("train --epochs 1.5", "not an integer");
    refuse("train --stall-timeout 0", "must be between 1 and 1e+09 seconds");
}

static void test_repeated_options(void **state)
{
    (void)state;
    refuse("train --lr 0.1 --learning-rate=0.2", "--learning-rate 0.2: --lr is already 0.1");
    refuse("train --nesterov --no-nesterov", "--no-nesterov: --nesterov is already on");
    weft_options *options = accept("train --lr 0.1 --learning_rate 1e-1 --hidden 8 --hidden=8");
    assert_true(option_real(options, OPT_LR) == 0.1);
    option_destroy(options);
}

static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"123", 123},           {"1K", 1024},          {"1KiB", 1024},
                 {"1.5GiB", 1610612736}, {"2T", 2199023255552}, {"9007199254740993", 9007199254740993u},
                 {"1e3", 1000},          {"0.5M", 524288}};
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"90", 90}, {"90s", 90}, {"1.5m", 90}, {"2min", 120}, {"2h", 7200}};
    char line[96];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(line, sizeof line, "train --memory-limit %s", sizes[i].text);
        weft_options *options = accept(line);
        assert_true(option_size(options, OPT_MEMORY_LIMIT) == sizes[i].bytes);
        option_destroy(options);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        snprintf(line, sizeof line, "train --stall-timeout %s", times[i].text);
        weft_options *options = accept(line);
        assert_true(option_real(options, OPT_STALL_TIMEOUT) == times[i].seconds);
        option_destroy(options);
    }
    refuse("train --memory-limit 1KB", "KiB");
    refuse("train --memory-limit 1Ki", "KiB");
    refuse("train --memory-limit 2e18", "must be between");
    refuse("train --memory-limit 999999T", "must be between");
    refuse("train --stall-timeout 3x", "not a time");
}

static void test_lists(void **state)
{
    (void)state;
    int64_t dims[4] = {0};
    weft_options *options = accept("bench spmm --dims 16,64,602");
    assert_int_equal(option_list(options, OPT_DIMS, dims, 4), 3);
    assert_int_equal(dims[2], 602);
    assert_int_equal(option_list(options, OPT_DIMS, dims, 1), 3); /* the count, whatever fits */
    option_destroy(options);
    options = accept("bench comm --sizes 12..100,1.5KiB,2G");
    int64_t sizes[8] = {0};
    assert_int_equal(option_list(options, OPT_SIZES, sizes, 8), 6);
    assert_true(sizes[0] == 12 && sizes[3] == 96 && sizes[4] == 1536 && sizes[5] == 2147483648);
    option_destroy(options);
    refuse("bench comm --sizes 32X", "not an integer");
    refuse("bench comm --sizes nan", "not an integer");
    refuse("bench comm --sizes 1K..", "not an integer");
    refuse("bench comm --sizes 1M..1K", "does not go up");
    refuse("bench gemm --inputs 0..8", "does not go up");
    refuse("bench comm --sizes 2", "must be between");
    refuse("bench comm --sizes 4..1G,4..1G,4..1G", "more than 64");
    refuse("bench spmm --dims 16,,64", "not an integer");
    refuse("bench spmm --dims 16,", "list of integers");
    refuse("bench spmm --dims ,16", "not an integer");
    refuse("bench spmm --dims 16,0", "must be between");
    char line[256] = "bench spmm --dims 1";
    for (size_t at = strlen(line), i = 0; i < 64; i++) {
        line[at++] = ',';
        line[at++] = '1';
        line[at] = '\0';
    }
    refuse(line, "more than 64");
}

static void test_positional_arguments(void **state)
{
    (void)state;
    weft_options *options = accept("partition --parts 4 a.weft");
    assert_int_equal(option_argument_count(options), 1);
    assert_string_equal(option_argument(options, 0), "a.weft");
    option_destroy(options);
    options = accept("info -- --odd-name");
    assert_string_equal(option_argument(options, 0), "--odd-name");
    option_destroy(options);
    options = accept("info -");
    assert_string_equal(option_argument(options, 0), "-");
    option_destroy(options);
    refuse("partition", "STORE is missing");
    refuse("partition a b", "unexpected argument \"b\"");
    refuse("train a", "unexpected argument \"a\"");
}

static void test_help_needs_nothing_else(void **state)
{
    (void)state;
    weft_options *options = accept("partition --help");
    assert_true(option_is_set(options, OPT_HELP));
    assert_string_equal(option_text(options, OPT_HELP), "");
    option_destroy(options);
    options = accept("train --help exit-codes");
    assert_string_equal(option_text(options, OPT_HELP), "exit-codes");
    option_destroy(options);
    options = accept("partition -h a.weft");
    assert_string_equal(option_text(options, OPT_HELP), "");
    assert_int_equal(option_argument_count(options), 1);
    option_destroy(options);
    ASSERT_STATUS(option_check_topic(command("train"), "trainign"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean --help=training?");
    ASSERT_STATUS(option_check_topic(command("train"), "convert"), WEFT_ERR_USAGE);
    ASSERT_OK(option_check_topic(&app_catalog()->bare, "convert"));
    ASSERT_OK(option_check_topic(command("convert"), "formats"));
}

static void test_missing_values(void **state)
{
    (void)state;
    refuse("train --lr", "--lr: needs a value (X)");
    refuse("train --run-dir --dry-run", "--run-dir: needs a value (DIR)");
    refuse("train --lr=", "needs a value");
    refuse("train --no-lr", "unknown option --no-lr");
    refuse("train --no-dry-run=on", "takes no value");
    weft_options *options = accept("train --input-dropout -1 --run-dir=--odd");
    assert_true(option_real(options, OPT_INPUT_DROPOUT) == -1);
    assert_string_equal(option_text(options, OPT_RUN_DIR), "--odd");
    option_destroy(options);
}

/* A choice that has on and off: alone it is on, and a word that follows is its value or refused. */
static void test_switches(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"train", "auto"},
        {"train --gradient-tracking", "on"},
        {"train --tracking --dry-run", "on"},
        {"train --gradient-tracking -q", "on"},
        {"train --gradient-tracking off", "off"},
        {"train --gradient-tracking=auto", "auto"},
        {"train --no-gradient-tracking", "off"},
        {"train --no_tracking --dry-run", "off"},
        {"train --dry-run on", "auto"},
        {"train --nesterov off --dry-run --gradient-tracking on", "on"},
        {"train --quiet off", "auto"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_options *options = accept(cases[i].line);
        assert_string_equal(option_text(options, OPT_GRADIENT_TRACKING), cases[i].text);
        assert_true(option_flag(options, OPT_DRY_RUN) == (strstr(cases[i].line, "dry-run") != NULL));
        option_destroy(options);
    }
    refuse("bench --gradient-tracking comm", "--gradient-tracking comm: must be one of auto, on, off");
    refuse("train --gradient-tracking=", "needs a value");
    refuse("train --no-gradient-tracking=on", "takes no value");
    refuse("train --no-gradient-tracking --gradient-tracking", "--gradient-tracking is already off");
    refuse("train --no-sync", "unknown option --no-sync");
    refuse("train --nesterov off --nesterov", "--nesterov: --nesterov is already off");
}

/* ---- config ----------------------------------------------------------------------------------------------------- */

static weft_status config(const char *text, weft_options **options)
{
    return option_parse_config(command("train"), "a.conf", text, strlen(text), options);
}

static void refuse_config(const char *text, const char *message)
{
    weft_options *options = NULL;
    ASSERT_STATUS(config(text, &options), WEFT_ERR_USAGE);
    assert_null(options);
    ASSERT_MESSAGE(message);
}

static void test_config_syntax(void **state)
{
    (void)state;
    weft_options *options = NULL;
    ASSERT_OK(config("\r\n# comment\n  lr=0.5  # half\nrun_dir = \"a # b \"\r\n[ training ]\nnesterov = yes\n[data]\n"
                     "\tdata = x#y\n[run]\ndry-run = on",
                     &options));
    assert_true(option_real(options, OPT_LR) == 0.5);
    assert_string_equal(option_text(options, OPT_RUN_DIR), "a # b ");
    assert_true(option_flag(options, OPT_NESTEROV));
    assert_true(option_flag(options, OPT_DRY_RUN));
    assert_string_equal(option_text(options, OPT_DATA), "x#y");
    assert_int_equal(option_source_of(options, OPT_DATA), OPTION_FILE);
    assert_int_equal(option_source_of(options, OPT_HIDDEN), OPTION_DEFAULT);
    option_destroy(options);
    ASSERT_OK(config("", &options));
    option_destroy(options);
}

static void test_config_errors_name_the_line(void **state)
{
    (void)state;
    refuse_config("\n\nlr = x\n", "a.conf: line 3: lr = x: not a number");
    refuse_config("hiden = 3", "a.conf: line 1: unknown option \"hiden\" of weft train: did you mean hidden?");
    refuse_config("lr = 0.1\nlearning_rate = 0.2\n",
                  "line 2: learning_rate = 0.2: lr is already 0.1 from the config file");
    refuse_config("lr\n", "expected \"name = value\"");
    refuse_config("= 3\n", "expected \"name = value\"");
    refuse_config("[trainig]\n", "unknown section [trainig]: did you mean [training]?");
    refuse_config("[training\n", "']'");
    refuse_config("[model]\nlr = 0.1\n", "lr belongs below [training], not below [model]");
    refuse_config("config = b.conf", "command line");
    refuse_config("run-dir = \"a\n", "not closed");
    refuse_config("run-dir = a\"b\"\n", "quote");
    refuse_config("lr = \n", "needs a value");
    refuse_config("v = on\n", "unknown option \"v\"");
    refuse_config("run-dir = a\x01", "control characters");
    refuse_config("run-dir = a\"b\n", "write this one twice");
    refuse_config("run-dir = \"a\"\"\n", "not closed at its end");
    refuse_config("run-dir = \"\n", "not closed at its end");
    refuse_config("lr = 1\n\xEF\xBB\xBFlr = 1\n", "unknown option"); /* at the beginning alone */
    weft_options *options = NULL;
    ASSERT_STATUS(option_parse_config(command("train"), "a.conf", "lr = 1\0\n", 8, &options), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("NUL");
    char *line = malloc(20000);
    memset(line, 'a', 19999);
    line[19999] = '\0';
    refuse_config(line, "longer than");
    free(line);
}

static void test_config_file_that_is_missing(void **state)
{
    (void)state;
    weft_options *options = NULL;
    ASSERT_STATUS(parse("train --config /nonexistent/a.conf", &options), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("/nonexistent/a.conf");
    assert_null(options);
}

/* ---- environment ------------------------------------------------------------------------------------------------ */

static void test_environment(void **state)
{
    (void)state;
    weft_options *options = NULL;
    setenv("WEFT_LEARNING_RATE", "0.25", 1); /* an alias */
    setenv("WEFT_PARTS", "notanumber", 1);   /* of another command: not looked at */
    setenv("WEFT_HIDEN", "3", 1);            /* of none: a warning */
    setenv("WEFT_VERSION", "1.2.3", 1);      /* acts at once: not from here */
    options = accept("train");
    assert_true(option_real(options, OPT_LR) == 0.25);
    assert_int_equal(option_source_of(options, OPT_LR), OPTION_ENVIRONMENT);
    assert_false(option_flag(options, OPT_VERSION));
    option_destroy(options);
    setenv("WEFT_LR", "0.5", 1);
    refuse("train", "is already");
    unsetenv("WEFT_LR");
    char *argv[] = {"train", "--hidden=4", NULL};
    ASSERT_OK(option_parse_arguments(command("train"), 2, argv, &options));
    assert_int_equal(option_source_of(options, OPT_LR), OPTION_DEFAULT);
    assert_int_equal(option_int(options, OPT_HIDDEN), 4);
    option_destroy(options);
    unsetenv("WEFT_LEARNING_RATE");
    unsetenv("WEFT_PARTS");
    unsetenv("WEFT_HIDEN");
    unsetenv("WEFT_VERSION");
}

static void test_launcher(void **state)
{
    (void)state;
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_NUM_NODES",
                                        "SLURM_CPUS_PER_TASK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
    assert_false(launcher_present());
    assert_int_equal(launcher_rank(), 0);
    assert_int_equal(launcher_size(), 1);
    setenv("SLURM_PROCID", "0", 1); /* a batch script */
    setenv("SLURM_NTASKS", "4", 1);
    assert_false(launcher_present());
    assert_int_equal(launcher_size(), 1);
    assert_false(launcher_is_srun());
    setenv("SLURM_PROCID", "2", 1); /* a step */
    setenv("SLURM_STEP_NUM_TASKS", "3", 1);
    assert_true(launcher_present());
    assert_int_equal(launcher_rank(), 2);
    assert_int_equal(launcher_size(), 3);
    assert_true(launcher_is_srun() && launcher_lacks_pmi());
    setenv("PMI_RANK", "2", 1);
    assert_false(launcher_lacks_pmi());
    unsetenv("PMI_RANK");
    char text[64];
    launcher_command(3, text, sizeof text);
    assert_string_equal(text, "srun --mpi=pmix -N 1 -n 3 ");
    setenv("SLURM_STEP_NUM_NODES", "2", 1);
    setenv("SLURM_CPUS_PER_TASK", "16", 1);
    launcher_command(4, text, sizeof text);
    assert_string_equal(text, "srun --mpi=pmix -N 2 -n 4 -c 16 ");
    setenv("OMPI_COMM_WORLD_RANK", "0", 1); /* mpirun's daemon is a step of srun */
    assert_false(launcher_is_srun() || launcher_lacks_pmi());
    launcher_command(4, text, sizeof text);
    assert_string_equal(text, "mpirun -np 4 ");
    unsetenv("OMPI_COMM_WORLD_RANK");
    setenv("SLURM_STEP_NUM_TASKS", "1", 1); /* one task needs no MPI, unless it has PMIx */
    setenv("SLURM_PROCID", "0", 1);
    assert_false(launcher_present() || launcher_lacks_pmi());
    assert_true(launcher_is_srun());
    setenv("PMIX_RANK", "0", 1);
    assert_true(launcher_present());
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_STEP_NUM_NODES");
    unsetenv("SLURM_CPUS_PER_TASK");
    unsetenv("SLURM_STEP_NUM_TASKS");
    launcher_command(1, text, sizeof text);
    assert_string_equal(text, "");
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_NTASKS");
    setenv("PMIX_RANK", "5", 1);
    assert_int_equal(launcher_rank(), 5);
    assert_int_equal(launcher_size(), 0); /* PMIx does not say */
    setenv("PMIX_RANK", "x", 1);
    assert_false(launcher_present());
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    assert_int_equal(launcher_rank(), 1);
    assert_int_equal(launcher_size(), 8);
    unsetenv("PMIX_RANK");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void test_allocation_failures_leave_nothing(void **state)
{
    (void)state;
    uint64_t before = weft_mem_usage_total().current_bytes, failures = 0;
    weft_status status = WEFT_ERR_RESOURCE;
    while (status == WEFT_ERR_RESOURCE) {
        weft_options *options = NULL, *copy = NULL;
        void *blob = NULL;
        size_t bytes = 0;
        weft_alloc_fail_after(failures + 1);
        status = parse("partition a.weft --parts 3", &options);
        if (status == WEFT_OK) {
            status = option_pack(options, &blob, &bytes);
        }
        if (status == WEFT_OK) {
            status = option_unpack(app_catalog(), blob, bytes, &copy);
        }
        weft_alloc_fail_after(0);
        failures += status == WEFT_ERR_RESOURCE;
        option_destroy(copy);
        option_destroy(options);
        weft_free(blob);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    assert_int_equal(status, WEFT_OK);
    assert_true(failures > (uint64_t)app_catalog()->count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_abbreviations_are_not_silent),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_ranges_are_in_the_message),
        cmocka_unit_test(test_repeated_options),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_positional_arguments),
        cmocka_unit_test(test_help_needs_nothing_else),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_config_syntax),
        cmocka_unit_test(test_config_errors_name_the_line),
        cmocka_unit_test(test_config_file_that_is_missing),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_launcher),
        cmocka_unit_test(test_allocation_failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
