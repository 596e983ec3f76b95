/* Networks as text: the zoo's sizes against published counts, round trips, and every mistake with its line. */
#include "base/alloc.h"
#include "support/test.h"

#include <math.h>

#include "dense/net/zoo.h"

static int64_t parameters_of(const network *net)
{
    int64_t sum = 0;
    for (int i = 0; i < net->layers; ++i) {
        sum += net_cost_of(net, i).parameters;
    }
    return sum;
}

static double flops_of(const network *net, net_kind kind)
{
    double sum = 0.0;
    for (int i = 0; i < net->layers; ++i) {
        sum += net->layer[i].kind == kind ? net_cost_of(net, i).flops : 0.0;
    }
    return sum;
}

/* Parameters as the papers and PyTorch's models have them; multiplications of convolutions of one image. */
static void test_zoo_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        net_size input;
        int64_t classes, parameters;
        double conv_mac; /* 0: not compared */
    } known[] = {
        {"lenet", {28, 28, 1}, 10, 431080, 0},
        {"resnet-20", {32, 32, 3}, 10, 269722, 40.55e6},
        {"resnet-32", {32, 32, 3}, 10, 464154, 0},
        {"resnet-44", {32, 32, 3}, 10, 658586, 0},
        {"resnet-56", {32, 32, 3}, 10, 853018, 0},
        {"resnet-18", {224, 224, 3}, 1000, 11689512, 1.8136e9},
        {"resnet-50", {224, 224, 3}, 1000, 25557032, 4.0871e9},
        {"resnet-9", {32, 32, 3}, 10, 6573120, 0},
        {"wide-resnet-28-10", {32, 32, 3}, 10, 36479194, 0},
        {"alexnet", {224, 224, 3}, 1000, 61101352, 0},
        {"vgg-11", {224, 224, 3}, 1000, 132863336, 0},
        {"vgg-16", {224, 224, 3}, 1000, 138357544, 15.347e9},
        {"mobilenet-v1", {224, 224, 3}, 1000, 4231976, 0},
        {"mobilenet-v2", {224, 224, 3}, 1000, 3504872, 0},
        {"densenet-121", {224, 224, 3}, 1000, 7978856, 0},
        {"convnext-tiny", {224, 224, 3}, 1000, 28589128, 0},
        {"mlp", {28, 28, 1}, 10, 669706, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        network net;
        ASSERT_OK(net_zoo(known[i].name, &net));
        ASSERT_OK(net_fit(&net, known[i].input, known[i].classes));
        assert_int_equal(parameters_of(&net), known[i].parameters);
        if (known[i].conv_mac > 0) {
            assert_true(fabs(flops_of(&net, NET_CONV) / 2.0 / known[i].conv_mac - 1.0) < 1e-3);
        }
        net_destroy(&net);
    }
}

/* What the zoo says a network was made for fits it, and gives the published counts. */
static void test_usual_data(void **state)
{
    (void)state;
    for (int i = 0; net_zoo_name(i) != NULL; ++i) {
        network net;
        net_size input = {0, 0, 0};
        int64_t classes = 0;
        ASSERT_OK(net_zoo(net_zoo_name(i), &net));
        net_zoo_usual(net_zoo_name(i), &input, &net.words, &classes);
        ASSERT_OK(net_fit(&net, input, classes));
        net_destroy(&net);
    }
    assert_true(net_is_named("my.net") && net_is_named("lenet") && !net_is_named("store") && !net_is_named(".net"));
}

/* Returns how many layers of that name hold parameters. */
static int named(const network *net, const char *name)
{
    int count = 0;
    for (int i = 0; i < net->layers; ++i) {
        count += strcmp(net->layer[i].name, name) == 0 && net_cost_of(net, i).parameters > 0;
    }
    return count;
}

/* Layers of ResNets are called as torchvision 0.28 and timm call theirs: 41 of resnet18, 107 of resnet50. */
static void test_resnets_have_names_of_torchvision(void **state)
{
    static const struct {
        const char *name;
        int blocks[4], convs, first_shortcut, layers;
    } known[] = {{"resnet-18", {2, 2, 2, 2}, 2, 2, 41}, {"resnet-50", {3, 4, 6, 3}, 3, 1, 107}};
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
        network net;
        int layers = 0;
        char name[NET_NAME_BYTES];
        ASSERT_OK(net_zoo(known[k].name, &net));
        ASSERT_OK(net_fit(&net, (net_size){224, 224, 3}, 1000));
        assert_true(named(&net, "conv1") == 1 && named(&net, "bn1") == 1 && named(&net, "fc") == 1);
        for (int stage = 1; stage <= 4; ++stage) {
            for (int block = 0; block < known[k].blocks[stage - 1]; ++block) {
                const bool shortcut = block == 0 && stage >= known[k].first_shortcut;
                for (int i = 0; i < 2 * known[k].convs + (shortcut ? 2 : 0); ++i) {
                    const bool plain = i < 2 * known[k].convs;
                    const int number = plain ? i / 2 + 1 : i % 2;
                    snprintf(name, sizeof name, "layer%d.%d.%s%d", stage, block,
                             !plain       ? "downsample."
                             : i % 2 == 0 ? "conv"
                                          : "bn",
                             number);
                    assert_int_equal(named(&net, name), 1);
                }
            }
        }
        for (int i = 0; i < net.layers; ++i) {
            layers += net_cost_of(&net, i).parameters > 0;
        }
        assert_int_equal(layers, known[k].layers);
        net_destroy(&net);
    }
}

static char *text_of(const network *net)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    net_write(net, out);
    fclose(out);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int i = 0; net_zoo_name(i) != NULL; ++i) {
        network net, again;
        ASSERT_OK(net_zoo(net_zoo_name(i), &net));
        char *text = text_of(&net);
        ASSERT_OK(net_parse(text, "text", &again));
        char *second = text_of(&again);
        assert_string_equal(text, second);
        assert_int_equal(net.layers, again.layers);
        net_destroy(&again);
        free(second);
        char *line = NULL;
        ASSERT_OK(net_write_line(&net, &line));
        assert_null(strchr(line, '\n'));
        ASSERT_OK(net_parse_line(line, "some/own.net", &again));
        assert_string_equal(again.name, "own");
        second = text_of(&again);
        assert_string_equal(text, second);
        weft_free(line);
        free(text);
        free(second);
        net_destroy(&net);
        net_destroy(&again);
    }
}

static void test_own_text(void **state)
{
    (void)state;
    network net;
    ASSERT_OK(net_parse(
        "# a comment\ninput 9 7 2\n\n a: conv 4 3x5 stride=2x1 pad=1x2 groups=2 bias=off start=uniform # more\r\n"
        "b: norm\nsum: add a\nc: avgpool 2 from=a\nglobalpool from=sum\nlinear classes",
        "own", &net));
    ASSERT_OK(net_fit(&net, (net_size){9, 7, 2}, 3));
    assert_int_equal(net.layers, 6);
    assert_int_equal(net.layer[0].size.height, 5);
    assert_int_equal(net.layer[0].size.width, 7);
    assert_int_equal(net_cost_of(&net, 0).parameters, 4 * 15);
    assert_int_equal(net.layer[0].start, NET_START_UNIFORM);
    assert_int_equal(net.layer[2].other, 0);
    assert_int_equal(net.layer[3].stride[0], 2);
    assert_int_equal(net.layer[3].size.width, 3);
    assert_string_equal(net.layer[4].name, "globalpool1");
    assert_int_equal(net.layer[4].from, 2);
    net_destroy(&net);
}

/* Sizes of layers of two inputs, and of a convolution of each channel. */
static void test_branches(void **state)
{
    (void)state;
    network net;
    ASSERT_OK(net_parse(
        "a: depthwise 3x5 stride=2 pad=1x2 bias=off\nb: pointwise 7\nglobalpool\ngated: multiply b\nconcat a\n"
        "c: upsample 2x3\nlayernorm epsilon=1e-6\nglobalpool\nlinear classes",
        "branches", &net));
    ASSERT_OK(net_fit(&net, (net_size){8, 8, 3}, 10));
    assert_int_equal(net.layer[0].groups, 3);
    assert_int_equal(net_cost_of(&net, 0).parameters, 3 * 15);
    assert_int_equal(net_cost_of(&net, 1).parameters, 7 * 4);
    assert_int_equal(net.layer[3].size.height, 4);
    assert_int_equal(net.layer[3].size.channels, 7);
    assert_int_equal(net.layer[4].size.channels, 10);
    assert_int_equal(net.layer[5].size.height, 8);
    assert_int_equal(net.layer[5].size.width, 12);
    net_destroy(&net);
}

static void refuse(const char *text, const char *words)
{
    network net;
    weft_status status = net_parse(text, "my.net", &net);
    status = status == WEFT_OK ? net_fit(&net, (net_size){8, 8, 3}, 10) : status;
    assert_int_equal(status, WEFT_ERR_DATA);
    ASSERT_MESSAGE(words);
    net_destroy(&net);
}

static void test_mistakes(void **state)
{
    (void)state;
    refuse("", "no layer");
    refuse("# nothing\n", "no layer");
    refuse("relu\nconf 3 3\n", "line 2: no kind of layer 'conf'; did you mean conv?");
    refuse("conv 3\n", "line 1: conv lacks its kernel: conv CHANNELS KERNEL");
    refuse("conv 3 3 bias=no\n", "bias 'no' is not on or off");
    refuse("conv 3 3 start=he\n", "start 'he' is not kaiming or uniform");
    refuse("conv 3 3 strid=1\n", "no key 'strid' here: conv CHANNELS KERNEL");
    refuse("conv 3 3 4\n", "'4' is one word too many");
    refuse("conv 0 3\n", "channels '0' is not a whole number from 1");
    refuse("conv 3 3x\n", "line 1: kernel '3x' is no whole number and no pair of them such as 3x5");
    refuse("conv 3 3x3x3\n", "kernel '3x3x3' is no whole number");
    refuse("conv 3 3 pad=1 pad=2\n", "pad=1 and pad=2: two values of one key");
    refuse("relu from=input from=input\n", "from=input and from=input: two values of one key");
    refuse("scale 1e39\n", "'1e39' is too large for a float32");
    refuse("conv 99999999999999999999 3\n", "is not a whole number");
    refuse("conv classes 3\n", "channels 'classes' is not a whole number");
    refuse("dropout 1\n", "a probability is at least 0 and less than 1");
    refuse("scale x\n", "'x' is not a number");
    refuse("add b\n", "no layer 'b' above this one");
    refuse("relu from=relu1\n", "no layer 'relu1' above this one");
    refuse("a: relu\na: relu\n", "line 2: the name 'a' is taken");
    refuse("input: relu\n", "is taken by the input");
    refuse("a/b: relu\n", "name 'a/b'");
    refuse(":\n", "no kind of layer ':'");
    refuse(": relu\n", "name ''");
    refuse("relu\ninput 8 8 3\n", "'input' stands before all layers");
    refuse("input 8 8\n", "input HEIGHT WIDTH CHANNELS");
    refuse("input 9 8 3\nlinear classes\n", "is a network for images of 9 x 8 x 3, the data have 8 x 8 x 3");
    refuse("conv 4 9\nlinear classes\n", "line 1, conv1: a kernel that spans 9 does not fit into height 8");
    refuse("conv 4 3 groups=2\nlinear classes\n", "2 groups do not divide 3 channels");
    refuse("a: conv 4 3\nadd input\nlinear classes\n", "8 x 8 x 3 cannot be added to 6 x 6 x 4");
    refuse("maxpool 2 pad=2\nlinear classes\n", "more than half of a kernel");
    refuse("subsample 2 2\nlinear classes\n", "3 channels of its input do not fit into 2");
    refuse("relu\n", "the last layer gives 8 x 8 x 3, where 10 classes need 1 x 1 x 10");
    refuse("linear 1000000\nlinear 1000000\nlinear classes\n", "are too many for one layer");
    refuse("conv 4 3\nconcat input\nlinear classes\n",
           "line 2, concat1: channels of 6 x 6 pixels cannot stand behind those of "
           "8 x 8: give both layers one size");
    refuse("a: conv 4 3\nglobalpool from=input\nmultiply a\nlinear classes\n",
           "line 3, multiply1: 6 x 6 x 4 cannot be multiplied by 1 x 1 x 3: equal sizes, or one pixel of as many "
           "channels");
    refuse("multiply\n", "multiply lacks its name: multiply NAME");
    refuse("upsample 0\n", "factor '0' is not a whole number from 1");
    refuse("upsample 1000000x2\nlinear classes\n", "8000000 x 16 pixels; at most 1048576 a side");
    refuse("upsample 100000\nglobalpool\nlinear classes\n", "is too large for one image");
    refuse("depthwise 9\nlinear classes\n", "a kernel that spans 9 does not fit");
    refuse("depthwise 3 groups=3\n", "no key 'groups' here: depthwise KERNEL");
    refuse("layernorm epsilon=0\n", "epsilon 0: a number above 0 and below 1");
    refuse("layernorm epsilon=nan\n", "'nan' is not a number");
    refuse("gain\n", "gain lacks its value: gain START");
    refuse("conv 1048576 1048576 pad=1048576\nlinear classes\n", "are too many for one layer");
}

static void test_names(void **state)
{
    (void)state;
    network net;
    ASSERT_STATUS(net_open("resnet20", &net), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean resnet-20?");
    net_destroy(&net);
    ASSERT_STATUS(net_open("nowhere/my.net", &net), WEFT_ERR_NOINPUT);
    net_destroy(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnets_have_names_of_torchvision),
        cmocka_unit_test(test_zoo_counts),
        cmocka_unit_test(test_usual_data),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_own_text),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
