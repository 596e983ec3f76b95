/* trees/forest/forest_write.c: the writing half of trees/forest/forest_json.h. */
#include <math.h>

#include "base/number.h"
#include "io/json.h"
#include "trees/forest/forest_format.h"
#include "trees/forest/forest_json.h"
#include "trees/forest/forest_sets.h"

enum { TEXT = 64 };

/* XGBoost keeps numbers of its parameters as texts. */
static void text_int(json_writer *json, const char *key, int64_t value)
{
    char text[TEXT];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    json_text(json, key, text);
}

/* X(key, how, what a node has there) in the order of the file. */
#define NODE_ARRAYS(X)                                                                                                 \
    X("base_weights", json_fraction_single, node->weight)                                                              \
    X("default_left", json_int, node->left >= 0 && node->default_left)                                                 \
    X("left_children", json_int, node->left)                                                                           \
    X("loss_changes", json_fraction_single, node->gain)                                                                \
    X("parents", json_int, node->parent < 0 ? INT32_MAX : node->parent)                                                \
    X("right_children", json_int, node->left < 0 ? -1 : node->left + 1)                                                \
    X("split_conditions", json_fraction_single, bounded(node->value))                                                  \
    X("split_indices", json_int, node->feature)                                                                        \
    X("split_type", json_int, node->set_words > 0)                                                                     \
    X("sum_hessian", json_fraction, node->hessian)

/* JSON has no infinity; a threshold above all values is the largest number. */
static float bounded(float value)
{
    return isinf(value) ? FOREST_ABOVE_ALL : value;
}

static void write_tree(json_writer *json, const weft_tree *tree, int id, int columns)
{
    json_object(json, NULL);
    forest_sets_write(json, tree);
#define WRITE_ARRAY(key, how, what)                                                                                    \
    json_array(json, key);                                                                                             \
    for (const tree_node *node = tree->node; node < tree->node + tree->nodes; ++node) {                                \
        how(json, NULL, what);                                                                                         \
    }                                                                                                                  \
    json_end(json);
    NODE_ARRAYS(WRITE_ARRAY)
#undef WRITE_ARRAY
    json_int(json, "id", id);
    json_object(json, "tree_param");
    text_int(json, "num_deleted", 0);
    text_int(json, "num_feature", columns);
    text_int(json, "num_nodes", tree->nodes);
    text_int(json, "size_leaf_vector", 1);
    json_end(json);
    json_end(json);
}

static void write_booster(json_writer *json, const weft_forest *forest)
{
    json_object(json, "gradient_booster");
    json_object(json, "model");
    json_object(json, "gbtree_model_param");
    text_int(json, "num_parallel_tree", 1);
    text_int(json, "num_trees", forest->trees);
    text_int(json, "size_leaf_vector", 0);
    json_end(json);
    json_array(json, "iteration_indptr");
    for (int t = 0; t <= forest->trees; t += forest->outputs) {
        json_int(json, NULL, t);
    }
    json_end(json);
    json_array(json, "tree_info");
    for (int t = 0; t < forest->trees; ++t) {
        json_int(json, NULL, t % forest->outputs);
    }
    json_end(json);
    json_array(json, "trees");
    for (int t = 0; t < forest->trees; ++t) {
        write_tree(json, &forest->tree[t], t, forest->columns);
    }
    json_end(json);
    json_end(json);
    json_text(json, "name", "gbtree");
    json_end(json);
}

static void write_names(json_writer *json, const char *key, char *const *name, int count)
{
    json_array(json, key);
    for (int i = 0; name != NULL && i < count; ++i) {
        json_text(json, NULL, name[i]);
    }
    json_end(json);
}

/* A text of its own for each base margin and class name: attributes are texts. */
static void write_attributes(json_writer *json, const weft_forest *forest, const forest_facts *facts)
{
    char key[TEXT], text[NUMBER_TEXT_MAX];
    json_object(json, "attributes");
    for (int k = 0; k < forest->outputs; ++k) {
        (void)snprintf(key, sizeof key, FOREST_BASE_KEY "%d", k);
        json_text(json, key, number_format_real((double)forest->base[k], text));
    }
    for (int k = 0; facts->class_name != NULL && k < facts->classes; ++k) {
        (void)snprintf(key, sizeof key, FOREST_CLASS_KEY "%d", k);
        json_text(json, key, facts->class_name[k]);
    }
    for (int c = 0; facts->words != NULL && c < facts->columns; ++c) {
        for (int64_t i = 0; i < facts->words[c].count; ++i) {
            (void)snprintf(key, sizeof key, FOREST_WORD_KEY "%d_%lld", c, (long long)i);
            json_text(json, key, facts->words[c].text[i]);
        }
    }
    json_end(json);
}

/* The parameters that XGBoost expects beside the name of an objective. */
static void write_objective(json_writer *json, const weft_forest *forest, const forest_facts *facts)
{
    char text[NUMBER_TEXT_MAX], list[NUMBER_TEXT_MAX + 2];
    json_object(json, "objective");
    json_text(json, "name", forest_objective(facts->loss));
    switch (facts->loss) {
    case TREE_LOSS_SOFTMAX:
        json_object(json, "softmax_multiclass_param");
        text_int(json, "num_class", forest->outputs);
        break;
    case TREE_LOSS_POISSON:
        json_object(json, "poisson_regression_param");
        json_text(json, "max_delta_step", "0.7");
        break;
    case TREE_LOSS_QUANTILE:
        (void)snprintf(list, sizeof list, "[%s]", number_format_real(facts->quantile, text));
        json_object(json, "quantile_loss_param");
        json_text(json, "quantile_alpha", list);
        break;
    default:
        json_object(json, "reg_loss_param");
        json_text(json, "scale_pos_weight", "1");
    }
    json_end(json);
    json_end(json);
}

/* XGBoost's name of a column's kind. */
static const char *kind_of(const weft_forest *forest, const forest_facts *facts, int column)
{
    bool category = facts->words != NULL && facts->words[column].count > 0;
    for (int t = 0; t < forest->trees && !category; ++t) {
        const weft_tree *tree = &forest->tree[t];
        for (int32_t n = 0; n < tree->nodes && tree->words > 0; ++n) {
            category |= tree->node[n].set_words > 0 && tree->node[n].feature == column;
        }
    }
    return category ? "c" : "float";
}

static void write_model_param(json_writer *json, const weft_forest *forest, tree_loss loss)
{
    char text[NUMBER_TEXT_MAX];
    const double base = forest_answer_of_margin(loss, (double)forest->base[0]);
    json_object(json, "learner_model_param");
    json_text(json, "base_score", number_format_real((double)(float)base, text));
    text_int(json, "boost_from_average", 1);
    text_int(json, "num_class", forest->outputs > 1 ? forest->outputs : 0);
    text_int(json, "num_feature", forest->columns);
    text_int(json, "num_target", 1);
    json_end(json);
}

void forest_write(const weft_forest *forest, const forest_facts *facts, FILE *out)
{
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_object(&json, "learner");
    write_attributes(&json, forest, facts);
    write_names(&json, "feature_names", facts->column, facts->columns);
    json_array(&json, "feature_types");
    for (int c = 0; facts->column != NULL && c < facts->columns; ++c) {
        json_text(&json, NULL, kind_of(forest, facts, c));
    }
    json_end(&json);
    write_booster(&json, forest);
    write_model_param(&json, forest, facts->loss);
    write_objective(&json, forest, facts);
    json_end(&json);
    json_array(&json, "version");
    for (int i = 0; i < 3; ++i) {
        json_int(&json, NULL, (const int[]){1, 7, 4}[i]);
    }
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
}
