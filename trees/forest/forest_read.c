/*
 * trees/forest/forest_read.c: the reading half of trees/forest/forest_json.h. The bytes are foreign: every length,
 * index and number is checked before it is used, and a walk over each tree shows that it is one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "io/json.h"
#include "trees/forest/forest_format.h"
#include "trees/forest/forest_json.h"
#include "trees/forest/forest_layout.h"
#include "trees/forest/forest_lightgbm.h"
#include "trees/forest/forest_sets.h"
#include "trees/forest/forest_words.h"

enum { NODES_MAX = 1 << 26, COLUMNS_MAX = 1 << 26, CLASS_TEXT = 64 };
static const size_t most_bytes = (size_t)1 << 30;

static const char *const objectives[] = {[TREE_LOSS_SQUARED] = "reg:squarederror",
                                         [TREE_LOSS_LOGISTIC] = "binary:logistic",
                                         [TREE_LOSS_SOFTMAX] = "multi:softprob",
                                         [TREE_LOSS_POISSON] = "count:poisson",
                                         [TREE_LOSS_ABSOLUTE] = "reg:absoluteerror",
                                         [TREE_LOSS_QUANTILE] = "reg:quantileerror",
                                         [TREE_LOSS_RANK] = "rank:ndcg"};

const char *forest_objective(tree_loss loss)
{
    return objectives[loss];
}

double forest_answer_of_margin(tree_loss loss, double margin)
{
    return loss == TREE_LOSS_LOGISTIC ? 1.0 / (1.0 + exp(-margin)) : loss == TREE_LOSS_POISSON ? exp(margin) : margin;
}

double forest_margin_of_answer(tree_loss loss, double answer)
{
    return loss == TREE_LOSS_LOGISTIC ? log(answer / (1.0 - answer)) : loss == TREE_LOSS_POISSON ? log(answer) : answer;
}

typedef struct reading {
    const char *name;
    int tree; /* that is read, for messages */
    weft_forest *forest;
    forest_facts *facts;
} reading;

static weft_status find(const reading *r, const json_value *object, const char *key, json_kind kind,
                        const json_value **value)
{
    static const char *const kinds[] = {"null", "true or false", "number", "text", "array", "object"};
    *value = object != NULL && object->kind == JSON_OBJECT ? json_find(object, key) : NULL;
    WEFT_CHECK(*value != NULL && (*value)->kind == kind, WEFT_ERR_DATA,
               "%s: has no \"%s\" that is an %s: it is no model of trees", r->name, key, kinds[kind]);
    return WEFT_OK;
}

/* A number that stands there as a number, as a text, or as a text of an array of one, as newer versions write it. */
static weft_status read_number(const reading *r, const json_value *object, const char *key, double *number)
{
    const json_value *value = object != NULL ? json_find(object, key) : NULL;
    *number = NAN;
    if (value != NULL && value->kind == JSON_NUMBER) {
        *number = value->number;
    } else if (value != NULL && value->kind == JSON_TEXT) {
        const char *text = value->text + (value->text[0] == '[' ? 1 : 0);
        char *end = NULL;
        *number = strtod(text, &end);
        *number = end != text && (*end == '\0' || strcmp(end, "]") == 0) ? *number : (double)NAN;
    }
    WEFT_CHECK(isfinite(*number), WEFT_ERR_DATA, "%s: \"%s\" is no number", r->name, key);
    return WEFT_OK;
}

static weft_status read_count(const reading *r, const json_value *object, const char *key, int least, int most,
                              int *count)
{
    double number = 0.0;
    WEFT_TRY(read_number(r, object, key, &number));
    WEFT_CHECK(number >= least && number <= most && number == floor(number), WEFT_ERR_DATA,
               "%s: \"%s\" is %.17g: expected a whole number from %d to %d", r->name, key, number, least, most);
    *count = (int)number;
    return WEFT_OK;
}

static int count_elements(const json_value *array)
{
    int count = 0;
    for (const json_value *v = array->child; v != NULL; v = v->next) {
        ++count;
    }
    return count;
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef void (*take_number)(tree_node *node, double number);

static void take_left(tree_node *node, double number)
{
    node->left = (int32_t)number;
}

static void take_feature(tree_node *node, double number)
{
    node->feature = (int32_t)number;
}

static void take_condition(tree_node *node, double number)
{
    node->value = (float)number;
}

static void take_default(tree_node *node, double number)
{
    node->default_left = number != 0.0;
}

static void take_hessian(tree_node *node, double number)
{
    node->hessian = number;
}

static void take_gain(tree_node *node, double number)
{
    node->gain = (float)number;
}

static void take_weight(tree_node *node, double number)
{
    node->weight = (float)number;
}

/* The largest double that rounds to a float: texts of FLT_MAX in nine digits lie above it. */
#define FLOAT_MOST 0x1.fffffefffffffp127

/* The arrays of a tree: what their numbers may be, and where they go. */
static const struct node_array {
    const char *key;
    double least, most;
    bool whole;
    take_number take;
} arrays[] = {{"left_children", -1, NODES_MAX, true, take_left},
              {"split_indices", 0, COLUMNS_MAX, true, take_feature},
              {"split_conditions", -FLOAT_MOST, FLOAT_MOST, false, take_condition},
              {"default_left", 0, 1, true, take_default},
              {"sum_hessian", 0, FLT_MAX, false, take_hessian},
              {"loss_changes", -FLOAT_MOST, FLOAT_MOST, false, take_gain},
              {"base_weights", -FLOAT_MOST, FLOAT_MOST, false, take_weight}};

static weft_status read_array(const reading *r, const json_value *object, const struct node_array *a, weft_tree *tree)
{
    const json_value *array = NULL;
    int at = 0;
    WEFT_TRY(find(r, object, a->key, JSON_ARRAY, &array));
    WEFT_CHECK(count_elements(array) == tree->nodes, WEFT_ERR_DATA,
               "%s: tree %d: %s has %d elements, and the tree %d nodes", r->name, r->tree, a->key,
               count_elements(array), tree->nodes);
    for (const json_value *v = array->child; v != NULL; v = v->next, ++at) {
        const double number = v->kind == JSON_BOOL     ? (double)v->boolean
                              : v->kind == JSON_NUMBER ? v->number
                                                       : (double)NAN;
        WEFT_CHECK(number >= a->least && number <= a->most && (!a->whole || number == floor(number)), WEFT_ERR_DATA,
                   "%s: tree %d, node %d: %s is no number from %g to %g", r->name, r->tree, at, a->key, a->least,
                   a->most);
        a->take(&tree->node[at], number);
    }
    return WEFT_OK;
}

/* Right children, which must stand behind the left ones, as trees of this program have them. */
static weft_status read_right(const reading *r, const json_value *object, weft_tree *tree, int32_t *right)
{
    const json_value *array = NULL;
    int at = 0;
    WEFT_TRY(find(r, object, "right_children", JSON_ARRAY, &array));
    WEFT_CHECK(count_elements(array) == tree->nodes, WEFT_ERR_DATA,
               "%s: tree %d: right_children has %d elements, and the tree %d nodes", r->name, r->tree,
               count_elements(array), tree->nodes);
    for (const json_value *v = array->child; v != NULL; v = v->next, ++at) {
        WEFT_CHECK(v->kind == JSON_NUMBER && v->integral && v->integer >= -1 && v->integer < tree->nodes, WEFT_ERR_DATA,
                   "%s: tree %d, node %d: its right child is none of the %d nodes", r->name, r->tree, at, tree->nodes);
        right[at] = (int32_t)v->integer;
    }
    return WEFT_OK;
}

static weft_status read_tree(reading *r, const json_value *object, weft_tree *tree)
{
    const json_value *left = NULL;
    int32_t *right = NULL;
    WEFT_TRY(find(r, object, "left_children", JSON_ARRAY, &left));
    tree->nodes = count_elements(left);
    WEFT_CHECK(tree->nodes >= 1 && tree->nodes <= NODES_MAX, WEFT_ERR_DATA, "%s: tree %d has no nodes", r->name,
               r->tree);
    WEFT_TRY(WEFT_NEW_ZERO(&tree->node, tree->nodes, WEFT_MEM_TREES));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
        WEFT_TRY(read_array(r, object, &arrays[i], tree));
    }
    WEFT_TRY(forest_sets_read(r->name, r->tree, object, tree));
    WEFT_TRY(WEFT_NEW(&right, tree->nodes, WEFT_MEM_TREES));
    weft_status status = read_right(r, object, tree, right);
    status = status == WEFT_OK ? forest_lay_out(r->name, r->tree, r->forest->columns, tree, right) : status;
    weft_free(right);
    return status;
}

/* Trees of several outputs must stand by turns. */
static weft_status check_turns(const reading *r, const json_value *model, int trees)
{
    const json_value *info = NULL;
    int t = 0;
    WEFT_TRY(find(r, model, "tree_info", JSON_ARRAY, &info));
    for (const json_value *v = info->child; v != NULL; v = v->next, ++t) {
        WEFT_CHECK(v->kind == JSON_NUMBER && v->number == (double)(t % r->forest->outputs), WEFT_ERR_UNSUPPORTED,
                   "%s: tree %d is of another class than its place says", r->name, t);
    }
    WEFT_CHECK(t == trees && trees % r->forest->outputs == 0, WEFT_ERR_DATA,
               "%s: %d trees for %d outputs, of which tree_info names %d", r->name, trees, r->forest->outputs, t);
    return WEFT_OK;
}

/* The leaves of a tree of the booster dart take its weight. weight: of the first tree. */
static weft_status weigh_trees(const reading *r, const json_value *weight)
{
    for (int t = 0; t < r->forest->trees; ++t, weight = weight->next) {
        weft_tree *tree = &r->forest->tree[t];
        WEFT_CHECK(weight != NULL && weight->kind == JSON_NUMBER && fabs(weight->number) <= 1e6, WEFT_ERR_DATA,
                   "%s: tree %d has no number in weight_drop", r->name, t);
        for (int32_t n = 0; n < tree->nodes; ++n) {
            tree_node *node = &tree->node[n];
            node->value *= node->left < 0 ? (float)weight->number : 1.0F;
            node->weight *= (float)weight->number;
        }
    }
    WEFT_CHECK(weight == NULL, WEFT_ERR_DATA, "%s: weight_drop has more numbers than there are trees", r->name);
    return WEFT_OK;
}

static weft_status read_trees(reading *r, const json_value *learner)
{
    const json_value *booster = NULL, *model = NULL, *trees = NULL, *weights = NULL;
    WEFT_TRY(find(r, learner, "gradient_booster", JSON_OBJECT, &booster));
    if (strcmp(json_string(booster, "name", ""), "dart") == 0) {
        WEFT_TRY(find(r, booster, "weight_drop", JSON_ARRAY, &weights));
        WEFT_TRY(find(r, booster, "gbtree", JSON_OBJECT, &booster));
    }
    WEFT_CHECK(strcmp(json_string(booster, "name", ""), "gbtree") == 0, WEFT_ERR_UNSUPPORTED,
               "%s: its booster is neither gbtree nor dart", r->name);
    WEFT_TRY(find(r, booster, "model", JSON_OBJECT, &model));
    WEFT_TRY(find(r, model, "trees", JSON_ARRAY, &trees));
    WEFT_TRY(check_turns(r, model, count_elements(trees)));
    for (const json_value *v = trees->child; v != NULL; v = v->next, ++r->tree) {
        weft_tree tree = {0};
        WEFT_CHECK(v->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: tree %d is no object", r->name, r->tree);
        weft_status status = read_tree(r, v, &tree);
        status = status == WEFT_OK ? forest_add(r->forest, &tree) : status;
        tree_destroy(&tree);
        WEFT_TRY(status);
    }
    return weights != NULL ? weigh_trees(r, weights->child) : WEFT_OK;
}

/* ---- what stands beside them ------------------------------------------------------------------------------------- */

static weft_status copy_text(const char *from, char **text)
{
    WEFT_TRY(WEFT_NEW(text, strlen(from) + 1, WEFT_MEM_TREES));
    memcpy(*text, from, strlen(from) + 1);
    return WEFT_OK;
}

static weft_status read_columns(const reading *r, const json_value *learner)
{
    const json_value *names = json_find(learner, "feature_names");
    forest_facts *facts = r->facts;
    facts->columns = r->forest->columns;
    if (names == NULL || names->kind != JSON_ARRAY || names->child == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(count_elements(names) == facts->columns, WEFT_ERR_DATA, "%s: %d feature_names for %d columns", r->name,
               count_elements(names), facts->columns);
    WEFT_TRY(WEFT_NEW_ZERO(&facts->column, facts->columns, WEFT_MEM_TREES));
    int at = 0;
    for (const json_value *v = names->child; v != NULL; v = v->next) {
        WEFT_CHECK(v->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: feature name %d is no text", r->name, at);
        WEFT_TRY(copy_text(v->text, &facts->column[at++]));
    }
    return WEFT_OK;
}

static weft_status read_classes(const reading *r, const json_value *attributes)
{
    forest_facts *facts = r->facts;
    char key[CLASS_TEXT];
    const int most = facts->loss == TREE_LOSS_SOFTMAX ? r->forest->outputs : facts->loss == TREE_LOSS_LOGISTIC ? 2 : 0;
    facts->classes = most;
    for (int k = 0; k < most; ++k) {
        (void)snprintf(key, sizeof key, FOREST_CLASS_KEY "%d", k);
        const char *name = attributes != NULL ? json_string(attributes, key, "") : "";
        if (name[0] == '\0') {
            return WEFT_OK;
        }
        WEFT_TRY(k > 0 ? WEFT_OK : WEFT_NEW_ZERO(&facts->class_name, most, WEFT_MEM_TREES));
        WEFT_TRY(copy_text(name, &facts->class_name[k]));
    }
    return WEFT_OK;
}

static weft_status read_base(const reading *r, const json_value *attributes, double base_score)
{
    char key[CLASS_TEXT];
    for (int k = 0; k < r->forest->outputs; ++k) {
        (void)snprintf(key, sizeof key, FOREST_BASE_KEY "%d", k);
        double base = forest_margin_of_answer(r->facts->loss, base_score);
        if (attributes != NULL && json_find(attributes, key) != NULL) {
            WEFT_TRY(read_number(r, attributes, key, &base));
        }
        WEFT_CHECK(isfinite(base), WEFT_ERR_DATA, "%s: base_score %g has no margin", r->name, base_score);
        r->forest->base[k] = (float)base;
    }
    return WEFT_OK;
}

static weft_status read_quantile(const reading *r, const json_value *objective)
{
    const json_value *param = NULL;
    WEFT_TRY(find(r, objective, "quantile_loss_param", JSON_OBJECT, &param));
    WEFT_TRY(read_number(r, param, "quantile_alpha", &r->facts->quantile));
    WEFT_CHECK(r->facts->quantile > 0.0 && r->facts->quantile < 1.0, WEFT_ERR_DATA,
               "%s: quantile_alpha %g: expected a number between 0 and 1", r->name, r->facts->quantile);
    return WEFT_OK;
}

static weft_status read_loss(const reading *r, const json_value *learner)
{
    const json_value *objective = NULL, *name = NULL;
    WEFT_TRY(find(r, learner, "objective", JSON_OBJECT, &objective));
    WEFT_TRY(find(r, objective, "name", JSON_TEXT, &name));
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; ++i) {
        if (strcmp(name->text, objectives[i]) == 0) {
            r->facts->loss = (tree_loss)i;
            return r->facts->loss == TREE_LOSS_QUANTILE ? read_quantile(r, objective) : WEFT_OK;
        }
    }
    if (strcmp(name->text, "multi:softmax") == 0) {
        r->facts->loss = TREE_LOSS_SOFTMAX;
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_UNSUPPORTED,
                     "%s: objective %s: expected binary:logistic, multi:softprob, reg:squarederror, reg:absoluteerror, "
                     "reg:quantileerror, count:poisson or rank:ndcg",
                     r->name, name->text);
}

static weft_status read_learner(reading *r, const json_value *root)
{
    const json_value *learner = NULL, *param = NULL;
    double base_score = 0.0;
    int columns = 0, classes = 0;
    WEFT_TRY(find(r, root, "learner", JSON_OBJECT, &learner));
    WEFT_TRY(find(r, learner, "learner_model_param", JSON_OBJECT, &param));
    WEFT_TRY(read_loss(r, learner));
    WEFT_TRY(read_count(r, param, "num_feature", 1, COLUMNS_MAX, &columns));
    WEFT_TRY(read_count(r, param, "num_class", 0, FOREST_OUTPUTS_MAX, &classes));
    WEFT_TRY(read_number(r, param, "base_score", &base_score));
    const bool several = r->facts->loss == TREE_LOSS_SOFTMAX;
    WEFT_CHECK(several ? classes > 1 : classes <= 1, WEFT_ERR_DATA, "%s: num_class %d does not suit objective %s",
               r->name, classes, objectives[r->facts->loss]);
    WEFT_TRY(forest_create(columns, several ? classes : 1, r->forest));
    const json_value *attributes = json_find(learner, "attributes");
    attributes = attributes != NULL && attributes->kind == JSON_OBJECT ? attributes : NULL;
    WEFT_TRY(read_base(r, attributes, base_score));
    WEFT_TRY(read_classes(r, attributes));
    WEFT_TRY(read_columns(r, learner));
    WEFT_TRY(forest_words_read(r->name, attributes, r->facts));
    return read_trees(r, learner);
}

weft_status forest_read(const char *name, const char *text, size_t bytes, weft_forest *forest, forest_facts *facts)
{
    json_document *document = NULL;
    reading r = {.name = name, .forest = forest, .facts = facts};
    *forest = (weft_forest){0};
    *facts = (forest_facts){0};
    if (forest_is_lightgbm(text, bytes)) {
        return forest_read_lightgbm(name, text, bytes, forest, facts);
    }
    WEFT_TRY(json_parse_large(name, text, bytes, most_bytes, &document));
    const weft_status status = read_learner(&r, json_root(document));
    json_free(document);
    return status;
}

void forest_facts_free(forest_facts *facts)
{
    for (int i = 0; facts->column != NULL && i < facts->columns; ++i) {
        weft_free(facts->column[i]);
    }
    for (int i = 0; facts->class_name != NULL && i < facts->classes; ++i) {
        weft_free(facts->class_name[i]);
    }
    for (int i = 0; facts->words != NULL && i < facts->columns; ++i) {
        name_list_free(&facts->words[i]);
    }
    WEFT_FREE_ALL(facts->column, facts->class_name, facts->words);
    *facts = (forest_facts){0};
}
