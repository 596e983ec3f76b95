/* Words of other programs get an answer that names options which exist; arguments and options that changed places are
 * told. */
#include <sys/stat.h>
#include <unistd.h>

#include "option/option_internal.h"
#include "support/folder.h"
#include "support/options.h"

enum { ARGUMENTS_MAX = 16 };

/* Split at blanks. */
static weft_status parse(const char *line, weft_options **options)
{
    char text[512], *argv[ARGUMENTS_MAX] = {NULL};
    const option_command *command = NULL;
    int argc = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL && argc < ARGUMENTS_MAX - 1; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    ASSERT_OK(option_command_find(app_catalog(), argv[0], &command));
    return option_parse(command, argc, argv, options);
}

static void refuse(const char *line, const char *message)
{
    weft_options *options = NULL;
    ASSERT_STATUS(parse(line, &options), WEFT_ERR_USAGE);
    assert_null(options);
    ASSERT_MESSAGE(message);
}

static void test_words_of_other_programs(void **state)
{
    (void)state;
    refuse("train --data g --mini-batch 1024", "unknown option --mini-batch: --batch-size B is the number of images");
    refuse("train --data g --mini_batch=1024", "unknown option --mini_batch: --batch-size B is the number of images");
    refuse("train --data g --fanout 10,10", "unknown option --fanout: full batch: ");
    refuse("train --data g --num-neighbors 5", "no neighbours are sampled");
    refuse("train --early-stopping", "--patience N");
    refuse("train --early_stopping 20", "--patience N");
    refuse("train --gpu 0", "--threads N");
    refuse("train -np 4", "mpirun -np 4 weft");
    refuse("train --attention", "--model gat");
    refuse("partition g --batch-size 3", "it belongs to weft train");
    refuse("train --bucket-sise 1M", "did you mean --bucket-size?"); /* a misspelling stays one */
    refuse("eval --epochs 3", "it belongs to weft train");
    refuse("train --pos-weight 2", "--class-weights balanced");
    refuse("train --augmentation", "--augment none|shift|flip|cutout|crop");
    refuse("train --num-workers 4", "--loader-threads N");
    refuse("train --n-jobs 4", "--threads N");
    refuse("train --freeze-layers 3", "--freeze PATTERN");
    refuse("train --task-type link", "--task link learns");
    refuse("train --wandb", "there is no W&B");
    refuse("train --WandB-Project x", "there is no W&B");
    refuse("train --seed-everything 3", "--seed S");
    refuse("train --imgsz 64", "--image-size");
    refuse("train --log-level debug", "--verbose");
}

static void test_values_of_other_programs(void **state)
{
    (void)state;
    refuse("train --lr finder", "--lr finder: a number, or auto");
    refuse("train --loss tweedie", "squared, absolute, huber, quantile");
    refuse("train --loss TWEEDIE", "squared, absolute, huber, quantile");
    refuse("train --metric precision", "there is no such score: acc");
    refuse("train --metric F1-micro", "it is micro-F1");
    refuse("train --optimizer NAdam", "there is no such optimiser");
    refuse("train --model GCNII", "there is no such network for graphs");
    refuse("train --model ResNet34", "there is no network of that name");
    refuse("train --model resnet19", "did you mean resnet-9?"); /* a misspelling stays one */
    refuse("convert g --features pagerank", "degree, onehot, random:D and spectral:D");
    refuse("train --backend GPU", "--backend cuda");
    refuse("train --aggregator lstm", "mean, gcn and max");
}

/* Choices in another letter case, or joined otherwise, are the choices; what is recorded is our word. */
static void test_choices_in_other_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        option_id id;
        const char *word;
    } cases[] = {
        {"train --model GCN", OPT_MODEL, "gcn"},
        {"train --model GraphSAGE", OPT_MODEL, "sage"},
        {"train --model SAGEConv", OPT_MODEL, "sage"},
        {"train --model GATv2", OPT_MODEL, "gatv2"},
        {"train --model LeNet", OPT_MODEL, "lenet"},
        {"train --model ResNet18", OPT_MODEL, "resnet-18"},
        {"train --model resnet_50", OPT_MODEL, "resnet-50"},
        {"train --model=Wide-ResNet-28-10", OPT_MODEL, "wide-resnet-28-10"},
        {"train --model WRN-28-1", OPT_MODEL, "wide-resnet-28-1"},
        {"train --model Nets/GCN.net", OPT_MODEL, "Nets/GCN.net"}, /* a file keeps its name */
        {"train --optimizer Adam", OPT_OPTIMIZER, "adam"},
        {"train --norm BatchNorm", OPT_NORM, "batch"},
        {"train --loss CrossEntropy", OPT_LOSS, "xent"},
        {"train --metric ROC_AUC", OPT_METRIC, "rocauc"},
        {"train --precision FP16", OPT_PRECISION, "f16"},
        {"train --recipe GAT_paper", OPT_RECIPE, "gat-paper"},
        {"train --sync DivideShuffle", OPT_SYNC, "divide-shuffle"},
        {"train --nesterov=True", OPT_NESTEROV, "on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_options *options = NULL;
        ASSERT_OK(parse(cases[i].line, &options));
        assert_string_equal(option_value_text(options, cases[i].id), cases[i].word);
        option_destroy(options);
    }
}

/* No two choices of one option differ in letter case or joints alone. */
static void test_choices_are_distinct(void **state)
{
    (void)state;
    FOR_EVERY_OPTION(id)
    {
        const char *left = option_row_of(id)->choices;
        char a[OPTION_WORD_MAX];
        char b[OPTION_WORD_MAX];
        while (option_list_next(&left, '|', a)) {
            for (const char *right = left; option_list_next(&right, '|', b);) {
                assert_false(option_same_word(a, b));
            }
        }
    }
    assert_true(option_same_word("ResNet18", "resnet-18") && !option_same_word("resnet-1", "resnet-18"));
    assert_false(option_same_word("gat", "gatv2") || option_same_word("gatv2", "gat"));
}

static void test_commands_of_other_programs(void **state)
{
    (void)state;
    const option_command *command = NULL;
    ASSERT_STATUS(option_command_find(app_catalog(), "sweep", &command), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft tune searches");
    ASSERT_STATUS(option_command_find(app_catalog(), "fit", &command), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("weft train");
    ASSERT_STATUS(option_command_find(app_catalog(), "trian", &command), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean weft train?");
}

static void test_words_in_other_places(void **state)
{
    const char *path = in_folder(state, "a.conf");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("[training]\nfanout = 10\n", file);
    fclose(file);
    char line[FILE_PATH_MAX];
    snprintf(line, sizeof line, "train --config %s", path);
    refuse(line, "line 2");
    refuse(line, "full batch: ");
}

static void check_answer(const char *answer)
{
    for (const char *at = strstr(answer, "--"); at != NULL; at = strstr(at, "--")) {
        char name[OPTION_WORD_MAX] = "";
        at += 2;
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
        assert_in_range(length, 1, OPTION_WORD_MAX - 1);
        memcpy(name, at, length);
        if (option_find_any(app_catalog(), name) == OPTION_NONE) {
            fail_msg("no option --%s: %s", name, answer);
        }
    }
}

static void test_every_answer_names_options_that_exist(void **state)
{
    (void)state;
    for (const option_foreign *row = app_catalog()->foreigns; row->words != NULL; row++) {
        check_answer(row->answer);
    }
    for (const option_foreign *row = app_catalog()->other_commands; row->words != NULL; row++) {
        check_answer(row->answer);
    }
    for (const option_foreign_value *row = app_catalog()->values; row->words != NULL; row++) {
        check_answer(row->answer);
    }
}

/* A word that train has would never reach its answer, nor would one that stands twice. */
static void test_every_word_is_answered(void **state)
{
    (void)state;
    char word[OPTION_WORD_MAX], line[128];
    int count = 0;
    for (const option_foreign *row = app_catalog()->foreigns; row->words != NULL; row++) {
        for (const char *words = row->words; option_list_next(&words, ',', word); count++) {
            const char *command = strcmp(word, "partition") == 0 ? "partition g" : "train"; /* which has it */
            snprintf(line, sizeof line, "%s --%s", command, word);
            refuse(line, row->answer);
            snprintf(line, sizeof line, "unknown option --%s: ", word);
            ASSERT_MESSAGE(line);
        }
    }
    assert_in_range(count, 50, 1000);
}

/* A word for a choice that the option has, and that is none of its own. */
static void test_every_synonym_means_a_choice(void **state)
{
    (void)state;
    char word[OPTION_WORD_MAX];
    int count = 0;
    for (const option_synonym *row = app_catalog()->synonyms; row->words != NULL; row++) {
        const char *choices = option_row_of(row->id)->choices;
        assert_true(option_list_has(choices, '|', row->choice));
        for (const char *words = row->words; option_list_next(&words, ',', word); count++) {
            char line[128];
            weft_options *options = NULL;
            assert_false(option_list_has(choices, '|', word));
            snprintf(line, sizeof line, "train --%s %s", option_row_of(row->id)->name, word);
            ASSERT_OK(parse(line, &options));
            assert_string_equal(option_value_text(options, row->id), row->choice);
            option_destroy(options);
        }
    }
    assert_in_range(count, 5, 150);
}

static void test_options_that_are_arguments(void **state)
{
    (void)state;
    refuse("partition g --partition metis", "weft partition calls it --method METHOD");
    refuse("partition --data g", "weft partition takes it as an argument: weft partition STORE");
    refuse("report --run-dir run", "weft report takes it as an argument: weft report DIR...");
    refuse("export --checkpoint run", "weft export takes it as an argument");
    refuse("convert --input x", "weft convert takes it as an argument: weft convert INPUT");
    refuse("info --data g", "weft info takes it as an argument");
}

static void test_arguments_that_are_options(void **state)
{
    const char *run = in_folder(state, "run");
    char line[FILE_PATH_MAX];
    assert_int_equal(mkdir(run, 0777), 0);
    FILE *file = fopen(in_folder(state, "run/run.json"), "w");
    assert_non_null(file);
    fclose(file);
    refuse("train g", "weft train: unexpected argument \"g\": did you mean --data g?");
    refuse("train --epochs 3 synth:reddit", "did you mean --data synth:reddit?");
    refuse("train --resume run h", "unexpected argument \"h\"");
    refuse("train --data g h", "unexpected argument \"h\"; it takes options only");
    refuse("train --data g epochs 3", "did you mean --epochs?");
    refuse("eval g", "did you mean --data g?");
    refuse("eval --data g h", "did you mean --checkpoint h?");
    snprintf(line, sizeof line, "eval %s", run);
    refuse(line, "did you mean --checkpoint ");
    refuse("partition a b", "weft partition: unexpected argument \"b\"; it takes STORE");
    refuse("doctor now", "unexpected argument \"now\"; it takes options only");
    assert_int_equal(unlink(in_folder(state, "run/run.json")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_other_programs),
        cmocka_unit_test(test_values_of_other_programs),
        cmocka_unit_test(test_choices_in_other_spellings),
        cmocka_unit_test(test_choices_are_distinct),
        cmocka_unit_test(test_commands_of_other_programs),
        cmocka_unit_test_setup_teardown(test_words_in_other_places, folder_setup, folder_teardown),
        cmocka_unit_test(test_every_answer_names_options_that_exist),
        cmocka_unit_test(test_every_word_is_answered),
        cmocka_unit_test(test_every_synonym_means_a_choice),
        cmocka_unit_test(test_options_that_are_arguments),
        cmocka_unit_test_setup_teardown(test_arguments_that_are_options, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
