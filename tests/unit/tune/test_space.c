/* Spaces: coordinates of values and back, what the reader makes of a file, and what it refuses, with line and cure.
 * */
#include <math.h>
#include <string.h>

#include "support/test.h"
#include "tune/search/searcher.h"
#include "tune/space/space_read.h"
#include "tune/space/space_rules.h"

static void test_coordinates_give_the_values_back(void **state)
{
    (void)state;
    char *choices[] = {(char[]){"16"}, (char[]){"32"}, (char[]){"64"}};
    char *words[] = {(char[]){"none"}, (char[]){"batch"}};
    search_space space = {0};
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "a", .kind = SPACE_RANGE, .low = -1.0, .high = 3.0}));
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "b", .kind = SPACE_LOG, .low = 1e-4, .high = 1.0}));
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "c", .kind = SPACE_INTEGER, .low = 1.0, .high = 8.0}));
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "d", .kind = SPACE_INTEGER_LOG, .low = 1.0, .high = 99.0}));
    ASSERT_OK(
        space_add(&space, &(space_dimension){.name = "e", .kind = SPACE_CHOICE, .choices = 3, .choice = choices}));
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "f", .kind = SPACE_CHOICE, .choices = 2, .choice = words}));
    ASSERT_NEAR(space_coordinate(&space.dimension[0], 0.0), 0.25, 1e-15);
    ASSERT_NEAR(space_coordinate(&space.dimension[1], 0.01), 0.5, 1e-15);
    ASSERT_NEAR(space_coordinate(&space.dimension[2], 1.0), 1.0 / 16.0, 1e-15);
    ASSERT_NEAR(space_coordinate(&space.dimension[4], 1.0), 0.5, 1e-15);
    assert_true(space_is_ordered(&space.dimension[4]) && !space_is_ordered(&space.dimension[5]));
    for (int d = 2; d < space.count; d++) {
        const space_dimension *dimension = &space.dimension[d];
        for (double value = dimension->low; value <= dimension->high; value++) {
            assert_true(space_value(dimension, space_coordinate(dimension, value)) == value);
        }
    }
    int count[9] = {0};
    for (int i = 0; i < 8000; i++) {
        count[(int)space_value(&space.dimension[2], (i + 0.5) / 8000.0)]++;
    }
    for (int value = 1; value <= 8; value++) {
        assert_int_equal(count[value], 1000); /* each alike, the ends too */
    }
    char text[SPACE_TEXT_MAX];
    assert_string_equal(space_value_text(&space.dimension[4], 2.0, text), "64");
    assert_string_equal(space_value_text(&space.dimension[1], 0.001, text), "0.001");
    space_free(&space);
}

static void test_a_file_is_read(void **state)
{
    (void)state;
    static const char text[] = "# a search\n"
                               "[search]\n"
                               "trials = 100\n"
                               "[space] # what may change\r\n"
                               "lr = {log = [1e-4, 0.1], prior = 0.01}\r\n"
                               "weight_decay = { range = [0.0, 1] }\n"
                               "\n"
                               "layers = {integer = [2, 6]}\n"
                               "norm = {choice = [\"none\", 'a\\b', true], prior = \"none\"}\n"
                               "  hidden={integer-log=[16,512]}\n"
                               "[training]\n"
                               "epochs = 5";
    search_space space;
    char *rest;
    ASSERT_OK(space_read("s.toml", text, sizeof text - 1, &space, &rest));
    assert_int_equal(space.count, 5);
    assert_int_equal(space.dimension[0].kind, SPACE_LOG);
    assert_true(space.dimension[0].has_prior && space.dimension[0].prior == 0.01 && space.dimension[0].high == 0.1);
    assert_int_equal(space_find(&space, "weight-decay"), 1);
    assert_true(space.dimension[2].low == 2.0 && space.dimension[2].high == 6.0);
    assert_string_equal(space.dimension[3].choice[1], "a\\b");
    assert_string_equal(space.dimension[3].choice[2], "true");
    assert_true(space.dimension[3].has_prior && space.dimension[3].prior == 0.0);
    assert_int_equal(strlen(rest), sizeof text - 1);
    assert_null(strstr(rest, "lr"));
    assert_non_null(strstr(rest, "trials = 100\n"));
    assert_non_null(strstr(rest, "\n[training]\nepochs = 5"));
    const uint64_t digest = space_digest(&space);
    weft_free(rest);
    space_free(&space);
    ASSERT_OK(space_read("s.toml", text, sizeof text - 1, &space, &rest));
    assert_true(space_digest(&space) == digest);
    space.dimension[0].high = 0.2;
    assert_true(space_digest(&space) != digest);
    weft_free(rest);
    space_free(&space);
}

static void test_what_is_wrong_or_ambiguous_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"lr = {range = [1, 8]}", "line 2, column 19: range from 1 to 8 could mean whole numbers or all"},
        {"lr = {log = [0.0, 1.0]}", "line 2: lr: log from 0: a logarithm needs limits above 0"},
        {"lr = {range = [2.0, 1.0]}", "the first limit must be below the second"},
        {"lr = {range = [1.0]}", "range has 1 value: it needs the lowest and the highest"},
        {"lr = {range = [1.0, 2.0, 3.0]}", "range has 2 values at most"},
        {"lr = {integer = [1.0, 8]}", "line 2, column 18: 1.0 is not written as a whole number"},
        {"lr = {range = [\"a\", 2.0]}", "a is no number; texts are for choice"},
        {"lr = {rang = [1.0, 2.0]}",
         "unknown word \"rang\": range, log, integer, integer-log or choice, and prior or when: "
         "did you mean range?"},
        {"lr = {range = [1.0, 2.0], log = [1.0, 2.0]}", "\"log\" is one too many"},
        {"lr = {prior = 1.0}", "lr has no values"},
        {"lr = {range = [1.0, 2.0], prior = 3.0}", "the prior 3 is no value of the dimension"},
        {"lr = {choice = [\"a\", \"b\"], prior = \"c\"}", "the prior c is none of the choices"},
        {"lr = {choice = [\"a\", \"a\"]}", "the choice a stands twice"},
        {"lr = {choice = [1, 1.0]}", "the choices 1 and 1.0 are one number"},
        {"lr = {choice = []}", "line 2, column 17: expected a decimal number"},
        {"lr = {choice = [\"a\\\"b\"]}", "no backslashes"},
        {"lr = {choice = [nan]}", "expected a decimal number"},
        {"lr = [1.0, 2.0]", "line 2, column 6: expected '{'"},
        {"lr = {range = [1.0, 2.0]} x", "expected the end of the line, not 'x'"},
        {"lr = {range = [1.0, 2.0]", "expected '}'"},
        {"l r = 1", "expected '='"},
        {"[space]", "stands in the file twice"},
        {"[space.lr]", "write it as one line below [space]"},
        {"lr = {log = [0.1, 1.0]}\nlr = {log = [0.1, 1.0]}", "line 3: lr: stands in the space twice"},
        {"a_b = {log = [0.1, 1.0]}\na-b = {log = [0.1, 1.0]}", "a-b: stands in the space twice"},
        {"", "no dimension: write [space]"},
        {"h = {integer = [1, 8], when = {m = [\"a\"]}}", "line 2: h: when = {m = ...}: m is no dimension above it"},
        {"h = {integer = [1, 8]}\ng = {range = [0.0, 1.0], when = {h = [1]}}",
         "line 3: g: when = {h = ...}: h is no choice"},
        {"m = {choice = [\"a\", \"b\"]}\nh = {integer = [1, 8], when = {m = [\"c\"]}}", "c is none of its choices"},
        {"m = {choice = [\"a\", \"b\"]}\nh = {integer = [1, 8], when = {m = [\"a\"], n = [1]}}",
         "a condition is of one choice"},
        {"h = {integer = [1, 8]}\nconstraints = [\"h < 4\"]", "line 3: constraint \"h < 4\": expected <= or >="},
        {"h = {integer = [1, 8]}\nconstraints = [\"g <= 4\"]", "g is neither a number nor a dimension above it"},
        {"h = {integer = [1, 8]}\nconstraints = [\"h * <= 4\"]", "nothing is neither a number nor"},
        {"h = {integer = [1, 8]}\nconstraints = [\"h <= 4 <= 5\"]", "expected its end, not \"<= 5\""},
        {"m = {choice = [\"a\", \"b\"]}\nconstraints = [\"m <= 4\"]", "the choice a of m is no number"},
        {"h = {integer = [1, 8]}\nconstraints = \"h <= 4\"", "line 3, column 15: expected '['"},
    };
    search_space space;
    char *rest, text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int bytes = snprintf(text, sizeof text, "[space]\n%s", cases[i].line);
        ASSERT_STATUS(space_read("s.toml", text, (size_t)bytes, &space, &rest), WEFT_ERR_USAGE);
        ASSERT_MESSAGE(cases[i].message);
        ASSERT_MESSAGE("s.toml");
        assert_int_equal(space.count, 0);
        assert_null(rest);
    }
}

/* Every configuration of a small space, by hand: which is active, which is allowed. */
static void test_conditions_and_constraints(void **state)
{
    (void)state;
    static const char text[] = "[space]\n"
                               "model = {choice = [\"gcn\", \"gat\", \"gatv2\"]}\n"
                               "kind = {choice = [1, 10], when = {model = [\"gat\", 'gatv2']}}\n"
                               "heads = {integer = [2, 4], when = {kind = [10]}}\n"
                               "hidden = {integer = [1, 8]}\n"
                               "constraints = [\"heads * hidden <= 8\", \"3 * kind>=hidden\"]\n";
    search_space space;
    char *rest;
    ASSERT_OK(space_read("s.toml", text, sizeof text - 1, &space, &rest));
    const uint64_t digest = space_digest(&space);
    for (int model = 0; model < 3; model++) {
        for (int kind = 0; kind < 2; kind++) {
            for (int point = 0; point < 3 * 8; point++) {
                const int heads = 2 + point / 8, hidden = 1 + point % 8;
                double values[] = {model, kind, heads, hidden};
                const bool has_kind = model > 0, has_heads = has_kind && kind == 1;
                assert_true(space_is_active(&space, values, 0) && space_is_active(&space, values, 3));
                assert_true(space_is_active(&space, values, 1) == has_kind);
                assert_true(space_is_active(&space, values, 2) == has_heads);
                const bool broken =
                    (has_heads && heads * hidden > 8) || (has_kind && hidden > 3 * (kind == 1 ? 10 : 1));
                assert_true(space_allows(&space, values) == !broken);
                space_settle(&space, values);
                assert_true(values[1] == (has_kind ? kind : 0) && values[2] == (has_heads ? heads : 2));
                assert_true(space_allows(&space, values) == !broken);
            }
        }
    }
    space.constraint[0].less.factor[1] = 0;
    assert_true(space_digest(&space) != digest);
    space.constraint[0].less.factor[1] = 3;
    space.dimension[1].when[1] = false;
    assert_true(space_digest(&space) != digest);
    weft_free(rest);
    space_free(&space);
}

/* Suggestions of every kind keep to them, and a grid has each configuration that is left once: 8 of gcn, 2 x 3 with
 * kind 1, 2 x (4 + 2 + 2) with kind 10. */
static void test_searchers_keep_to_rules(void **state)
{
    (void)state;
    static const char text[] = "[space]\n"
                               "model = {choice = [\"gcn\", \"gat\", \"gatv2\"]}\n"
                               "kind = {choice = [1, 10], when = {model = [\"gat\", \"gatv2\"]}}\n"
                               "heads = {integer = [2, 4], when = {kind = [10]}}\n"
                               "hidden = {integer = [1, 8]}\n"
                               "constraints = [\"heads * hidden <= 8\", \"3 * kind >= hidden\"]\n";
    enum { TRIALS = 30, DIMENSIONS = 4 };
    search_space space;
    char *rest;
    ASSERT_OK(space_read("s.toml", text, sizeof text - 1, &space, &rest));
    for (int kind = SEARCHER_AUTO; kind <= SEARCHER_GP; kind++) {
        const searcher_desc desc = {.kind = (searcher_kind)kind, .seed = 5, .grid = 3};
        searcher *s;
        double seen[TRIALS + 1][DIMENSIONS];
        int64_t trial;
        int count = 0;
        ASSERT_OK(searcher_open(&space, &desc, &s));
        for (; count <= TRIALS; count++) {
            ASSERT_OK(searcher_suggest(s, seen[count], &trial));
            if (trial < 0) {
                break;
            }
            double settled[DIMENSIONS];
            memcpy(settled, seen[count], sizeof settled);
            space_settle(&space, settled);
            assert_memory_equal(settled, seen[count], sizeof settled);
            assert_true(space_allows(&space, settled));
            ASSERT_OK(searcher_report(s, trial, settled[3] - settled[0]));
            for (int i = 0; i < count && kind == SEARCHER_GRID; i++) {
                assert_memory_not_equal(seen[i], seen[count], sizeof settled);
            }
        }
        assert_int_equal(count, kind == SEARCHER_GRID ? TRIALS : TRIALS + 1);
        searcher_close(s);
    }
    const searcher_desc grid = {.kind = SEARCHER_GRID, .grid = 3};
    assert_int_equal(searcher_grid_points(&space, &grid, 1000), TRIALS);
    assert_int_equal(searcher_grid_points(&space, &grid, 7), 7);
    searcher *none;
    ASSERT_OK(space_add_constraint(&space, "hidden >= 9"));
    ASSERT_STATUS(searcher_open(&space, &grid, &none), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("leave none of");
    weft_free(rest);
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates_give_the_values_back),
        cmocka_unit_test(test_a_file_is_read),
        cmocka_unit_test(test_what_is_wrong_or_ambiguous_is_refused),
        cmocka_unit_test(test_conditions_and_constraints),
        cmocka_unit_test(test_searchers_keep_to_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
