/* Networks of the user's own (clicks/model/click_net.h): against their formulas in double, against the models that have
 * names, on other numbers of ranks, and what is refused. */
#include "support/click_formulas.h"

/* The columns of support/click_bench.h. */
static char *const FIELD[] = {"user", "item", "site", "tag"};
static char *const NUMBER[] = {"price", "age", "hour"};

static weft_status open_net(const char *text, int64_t numbers, int width, click_net *net)
{
    const name_list fields = {.text = (char **)FIELD, .count = 4};
    const name_list others = {.text = (char **)NUMBER, .count = numbers};
    const click_net_data data = {.width = width, .field = &fields, .number = &others};
    WEFT_TRY(click_net_parse(text, "my.net", net));
    return click_net_fit(net, &data);
}

/* A model of a network; `net` must outlive it. */
static click_model_desc net_desc(const char *text, click_net *net)
{
    click_model_desc desc = small_desc(CLICK_PARTS);
    ASSERT_OK(open_net(text, desc.numbers, desc.width, net));
    desc.net = net;
    desc.own = (click_kind_row){.linear = net->wide, .vectors = true, .part = {[CLICK_PART_NET] = true}};
    return desc;
}

/* Every kind, layers that several others read, columns by name, vectors out of layers, and data read thrice. */
static const char EVERYTHING[] = "wide\n"
                                 "picked: fields tag user\n"
                                 "some: numbers hour price\n"
                                 "bottom: mlp 6,5 from=numbers\n"
                                 "all: concat picked fields bottom\n"
                                 "pairs: dot\n"
                                 "second: fm from=all\n"
                                 "maps: cin 4,3 from=picked\n"
                                 "vector: cross 2 by=vector from=input\n"
                                 "more: cross 2 from=all\n"
                                 "raw: linear 10 from=fields\n"
                                 "short: relu\n"
                                 "both: add raw\n"
                                 "turned: cin 2 from=both\n"
                                 "concat pairs second maps vector more short turned some\n"
                                 "mlp 6\n"
                                 "linear 3\n"
                                 "linear 1 bias=off\n"
                                 "add second\n";

static void test_formulas(void **state)
{
    (void)state;
    static const char *const texts[] = {EVERYTHING,
                                        "linear 1\n",
                                        "cross 3 from=fields\nlinear 1\n",
                                        "cross 1 by=vector from=fields\nlinear 1\n",
                                        "a: linear 5 from=numbers\nb: linear 5 from=numbers\nconcat a\nfm\n",
                                        "fm from=fields\nadd fm1 fm1\n",
                                        "cin 3 from=fields\nmlp 4\nlinear 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        click_net net;
        const click_model_desc desc = net_desc(texts[i], &net);
        check_formulas(&desc, i == 0 ? "ref" : "cpu");
        check_formulas(&desc, "cpu");
        click_net_free(&net);
    }
}

/* The same models by name: their parameters are drawn in the same order. */
static void test_named_models(void **state)
{
    (void)state;
    static const struct {
        click_kind kind;
        const char *text;
    } same[] = {
        {CLICK_WIDE_DEEP, "wide\nmlp 7,6\nlinear 1 bias=off\n"},
        {CLICK_DEEPFM, "wide\npairs: fm from=fields\nmlp 7,6 from=input\nlinear 1 bias=off\nadd pairs\n"},
        {CLICK_DCN, "cross 3 by=vector\nc: linear 1 bias=off\nmlp 7,6 from=input\nlinear 1 bias=off\nadd c\n"},
        {CLICK_DCN_V2, "cross 3\nc: linear 1 bias=off\nmlp 7,6 from=input\nlinear 1 bias=off\nadd c\n"},
        {CLICK_XDEEPFM,
         "wide\ncin 5,3 from=fields\nc: linear 1 bias=off\nmlp 7,6 from=input\nlinear 1 bias=off\nadd c\n"},
        {CLICK_DLRM, "b: mlp 6,5 from=numbers\nconcat fields\np: dot\nconcat p from=b\nmlp 7,6\nlinear 1 bias=off\n"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        rank_run run[2];
        click_net net;
        run[0].desc = small_desc(same[i].kind);
        run[1].desc = net_desc(same[i].text, &net);
        run[0].desc.bags = run[1].desc.bags = false;
        for (int own = 0; own < 2; ++own) {
            ASSERT_OK(comm_thread_run(1, rank_main, &run[own]));
        }
        for (int step = 0; step < STEPS; ++step) {
            ASSERT_NEAR(run[1].loss[step], run[0].loss[step], 2e-6);
        }
        click_net_free(&net);
    }
}

static void test_ranks(void **state)
{
    (void)state;
    click_net net;
    const click_model_desc desc =
        net_desc("wide\nx: mlp 6,5 dropout=0.3\nmlp 4 dropout=0.5\nlinear 5\nadd x\nconcat fields\n"
                 "y: cross 2\nlinear 1\n",
                 &net);
    click_bench_model_ranks(&desc);
    click_net_free(&net);
}

static void test_memory(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    for (int variant = 0; variant < 4; ++variant) {
        click_net net;
        click_model_desc desc = net_desc(EVERYTHING, &net);
        desc.bf16 = variant % 2 == 1;
        desc.training = variant < 2;
        click_bench_memory(comm, &desc);
        click_net_free(&net);
    }
    comm_destroy(comm);
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

static void test_one_line(void **state)
{
    (void)state;
    static const char text[] = "\xEF\xBB\xBF# a model\r\n wide\n\nmlp  8,4\tdropout=0.5 # layers\n\nlinear 1";
    click_net net;
    char *line = NULL;
    ASSERT_OK(layer_words_fold(text, "my.net", &line));
    assert_string_equal(line, "wide; mlp 8,4 dropout=0.5; linear 1; ");
    ASSERT_OK(click_net_parse_line(line, "nets/my.net", &net));
    assert_string_equal(net.name, "my");
    assert_true(net.wide);
    assert_int_equal(net.layers, 2);
    assert_int_equal(net.layer[0].sizes.size[1], 4);
    click_net_free(&net);
    weft_free(line);
    ASSERT_STATUS(layer_words_fold("linear 1\nfields a;b\n", "my.net", &line), WEFT_ERR_DATA);
    ASSERT_MESSAGE("my.net: line 2: 'a;b': a semicolon stands between layers");
}

static void refuse(const char *text, int64_t numbers, const char *words)
{
    click_net net;
    assert_int_equal(open_net(text, numbers, 5, &net), WEFT_ERR_DATA);
    ASSERT_MESSAGE(words);
    click_net_free(&net);
}

static void test_mistakes(void **state)
{
    (void)state;
    refuse("", 3, "my.net: no layer in it");
    refuse("wide\n", 3, "my.net: no layer in it");
    refuse("wide\nwide\nlinear 1\n", 3, "line 2: 'wide' stands alone, once");
    refuse("wide 1\n", 3, "line 1: 'wide' stands alone, once");
    refuse("relu\nlinaer 1\n", 3, "line 2: no kind of layer 'linaer'; did you mean linear?");
    refuse("conv 3 3\n", 3, "line 1: no kind of layer 'conv': fields, mlp");
    refuse("embed words 8\n", 3, "line 1: 'embed' reads words of texts: the option text-column names their column");
    refuse("linear\n", 3, "line 1: linear lacks a word: linear OUTPUTS [bias=on]");
    refuse("linear classes\n", 3, "outputs 'classes' is not a whole number from 1 to 1048576");
    refuse("linear 1 2\n", 3, "'2' is one word too many: linear OUTPUTS");
    refuse("linear 1 bias=no\n", 3, "bias 'no' is not on or off");
    refuse("linear 1 bias=on bias=off\n", 3, "bias=on and bias=off: two values of one key");
    refuse("linear 1 dropout=0.5\n", 3, "no key 'dropout' here: linear OUTPUTS [bias=on] [from=NAME]");
    refuse("relu\nmlp 4,,4\nlinear 1\n", 3, "my.net: line 2: mlp 4,,4: expected sizes of layers");
    refuse("mlp 4 dropout=1\nlinear 1\n", 3, "dropout 1: a probability is at least 0 and less than 1");
    refuse("cross\n", 3, "cross lacks a word: cross LAYERS");
    refuse("cross 17\n", 3, "layers '17' is not a whole number from 1 to 16");
    refuse("cross 2 by=rows\n", 3, "by 'rows' is not matrix or vector");
    refuse("concat\n", 3, "concat lacks a word: concat NAME...");
    refuse("add later\nlater: linear 1\n", 3, "line 1: no layer 'later' above this one");
    refuse("a: linear 1\na: relu\n", 3, "line 2: the name 'a' is taken");
    refuse("input: linear 1\n", 3, "the name 'input' is taken by data of a sample");
    refuse("a.b: linear 1\n", 3, "name 'a.b': letters, digits, '_' and '-'");
    refuse("fields\nlinear 1\n", 3, "line 1: fields lacks a column; all of them are 'from=fields'");
    refuse("fields usre\nlinear 1\n", 3, "line 1, fields1: the data have no column of ids 'usre'; did you mean user?");
    refuse("fields price\nlinear 1\n", 3, "the model reads column 'price' as numbers: say 'numbers price'");
    refuse("numbers user\nlinear 1\n", 3, "the model reads column 'user' as ids: say 'fields user'");
    refuse("fields user item user\nlinear 1\n", 3, "column 'user' is named twice");
    refuse("mlp 4 from=numbers\nlinear 1\n", 0, "line 1, mlp1: the data have no columns of numbers");
    refuse("fm\n", 3, "line 1, fm1: reads vectors of 5 numbers (--width)");
    refuse("mlp 4\nfm\n", 3, "line 2, fm1: reads vectors of 5 numbers (--width)");
    refuse("fields user\ndot\nlinear 1\n", 3, "one vector has no pairs");
    refuse("a: mlp 4\nadd input\nlinear 1\n", 3, "23 numbers a sample cannot be added to 4");
    refuse("a: mlp 4\nlinear 1 from=input\n", 3, "line 1, a: no layer reads this one");
    refuse("mlp 7\n", 3, "line 1, mlp1: the last layer gives 7 numbers, and a click has one: end with 'linear 1'");
    refuse("linear 1048576\nconcat linear1\nlinear 1\n", 3, "2097152 numbers a sample: more than 1048576");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas), cmocka_unit_test(test_named_models),
                                       cmocka_unit_test(test_ranks),    cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_one_line), cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests_name("click_net", tests, NULL, NULL);
}
