/* trees/forest/forest_lightgbm.c: see trees/forest/forest_lightgbm.h. The bytes are foreign: arrays have the lengths
 * that the number of leaves gives, or the file is refused. */
#include "trees/forest/forest_lightgbm.h"

#include <float.h>
#include <string.h>

#include "base/number.h"
#include "trees/forest/forest_layout.h"

enum { LEAVES_MAX = 1 << 24, COLUMNS_MAX = 1 << 26, WORD_BITS = 32 };
/* Bits of decision_type. */
enum { BY_CATEGORY = 1, DEFAULT_LEFT = 2, MISSING_SHIFT = 2, MISSING_MASK = 3 };
enum { MISSING_NONE, MISSING_ZERO, MISSING_NAN };

/* A file, and the lines of the section that is read: the head, or a tree. */
typedef struct lgb_reading {
    const char *name;
    const char *begin, *end; /* of the section */
    int tree;                /* for messages; -1: the head */
    weft_forest *forest;
    forest_facts *facts;
} lgb_reading;

static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline : end;
}

/* The text behind "key=" in the section, up to *end; NULL: there is none. */
static const char *find_value(const lgb_reading *r, const char *key, const char **end)
{
    const size_t bytes = strlen(key);
    for (const char *at = r->begin; at < r->end;) {
        *end = line_end(at, r->end);
        if ((size_t)(*end - at) > bytes && memcmp(at, key, bytes) == 0 && at[bytes] == '=') {
            return at + bytes + 1;
        }
        at = *end + (*end < r->end);
    }
    return NULL;
}

static weft_status damaged(const lgb_reading *r, const char *key, const char *what)
{
    return r->tree < 0 ? weft_fail(WEFT_ERR_DATA, "%s: %s: %s", r->name, key, what)
                       : weft_fail(WEFT_ERR_DATA, "%s: tree %d: %s: %s", r->name, r->tree, key, what);
}

/* [out] number: [count] of a line, each from `least` to `most`. The text behind the file's end is a zero byte. */
static weft_status read_numbers(const lgb_reading *r, const char *key, int64_t count, double least, double most,
                                bool whole, double *number)
{
    const char *end = NULL, *at = find_value(r, key, &end);
    if (at == NULL) {
        return damaged(r, key, "is missing");
    }
    for (int64_t i = 0; i < count; ++i) {
        while (at < end && *at == ' ') {
            ++at;
        }
        if (at >= end || !number_scan_real(at, &at, &number[i]) || at > end ||
            (at < end && *at != ' ' && *at != '\r')) {
            return damaged(r, key, "has fewer numbers than the tree has nodes, or something else than numbers");
        }
        if (!(number[i] >= least && number[i] <= most) || (whole && number[i] != floor(number[i]))) {
            return damaged(r, key, "a number is out of range");
        }
    }
    while (at < end && (*at == ' ' || *at == '\r')) {
        ++at;
    }
    return at == end ? WEFT_OK : damaged(r, key, "has more numbers than the tree has nodes");
}

static weft_status read_whole(const lgb_reading *r, const char *key, int least, int most, int *value)
{
    double number = 0.0;
    WEFT_TRY(read_numbers(r, key, 1, least, most, true, &number));
    *value = (int)number;
    return WEFT_OK;
}

/* ---- a tree ------------------------------------------------------------------------------------------------------ */

/* x <= t for float32 x is x < the least float32 above t. */
static float threshold_above(double t)
{
    if (t >= (double)FLT_MAX) {
        return INFINITY;
    }
    if (t < -(double)FLT_MAX) {
        return -FLT_MAX;
    }
    const float near = (float)t;
    return (double)near > t ? near : nextafterf(near, INFINITY);
}

static weft_status set_threshold(const lgb_reading *r, int type, double t, tree_node *node)
{
    const int missing = type >> MISSING_SHIFT & MISSING_MASK;
    const bool zero_left = 0.0 <= t;
    node->value = threshold_above(t);
    node->default_left = missing == MISSING_NONE ? zero_left : (type & DEFAULT_LEFT) != 0;
    WEFT_CHECK(missing != MISSING_ZERO || node->default_left == zero_left, WEFT_ERR_UNSUPPORTED,
               "%s: tree %d reads zeros as missing values (zero_as_missing), and they go another way than zeros",
               r->name, r->tree);
    return WEFT_OK;
}

/* The sets of a tree. bound: [sets + 1] where they begin in word. */
typedef struct lgb_sets {
    int sets;
    double *bound, *word;
} lgb_sets;

static weft_status set_categories(const lgb_reading *r, const lgb_sets *sets, double which, weft_tree *tree,
                                  tree_node *node)
{
    if (!(which >= 0.0 && which < sets->sets && which == floor(which))) {
        return damaged(r, "threshold", "names a set of categories that is not there");
    }
    const int64_t first = (int64_t)sets->bound[(int)which], end = (int64_t)sets->bound[(int)which + 1];
    WEFT_CHECK((end - first) * WORD_BITS <= TREE_CODES_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: tree %d: categories of %d and above", r->name, r->tree, TREE_CODES_MAX);
    WEFT_TRY(tree_add_set(tree, (int32_t)(end - first) * WORD_BITS, node));
    for (int64_t i = first; i < end; ++i) {
        tree->word[node->set + (i - first)] = (uint32_t)sets->word[i];
    }
    node->default_left = true;
    return WEFT_OK;
}

static weft_status read_sets(const lgb_reading *r, lgb_sets *sets)
{
    WEFT_TRY(read_whole(r, "num_cat", 0, LEAVES_MAX, &sets->sets));
    if (sets->sets == 0) {
        return WEFT_OK;
    }
    const char *end = NULL, *at = find_value(r, "cat_threshold", &end);
    const int64_t most = at != NULL ? end - at : 0; /* a word takes a character at least */
    if (sets->sets > most) {
        return damaged(r, "num_cat", "is more than there are sets");
    }
    WEFT_TRY(WEFT_NEW(&sets->bound, sets->sets + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(read_numbers(r, "cat_boundaries", sets->sets + 1, 0, (double)most, true, sets->bound));
    for (int i = 0; i < sets->sets; ++i) {
        if (sets->bound[i] > sets->bound[i + 1] || sets->bound[0] != 0.0) {
            return damaged(r, "cat_boundaries", "do not ascend from 0");
        }
    }
    const int64_t words = (int64_t)sets->bound[sets->sets];
    WEFT_TRY(WEFT_NEW(&sets->word, words, WEFT_MEM_WORKSPACE));
    return read_numbers(r, "cat_threshold", words, 0, UINT32_MAX, true, sets->word);
}

/* Arrays of a tree: of its inner nodes, and of its leaves. */
enum { FEATURE, GAIN, THRESHOLD, TYPE, LEFT, RIGHT, VALUE, COUNT, INNER_ARRAYS };
static const struct lgb_array {
    const char *key;
    double least, most;
    bool whole;
} arrays[INNER_ARRAYS] =
    {[FEATURE] = {"split_feature", 0, COLUMNS_MAX, true},    [GAIN] = {"split_gain", -DBL_MAX, DBL_MAX, false},
     [THRESHOLD] = {"threshold", -DBL_MAX, DBL_MAX, false},  [TYPE] = {"decision_type", 0, 15, true},
     [LEFT] = {"left_child", -LEAVES_MAX, LEAVES_MAX, true}, [RIGHT] = {"right_child", -LEAVES_MAX, LEAVES_MAX, true},
     [VALUE] = {"internal_value", -FLT_MAX, FLT_MAX, false}, [COUNT] = {"internal_count", 0, DBL_MAX, true}},
  leaf_arrays[2] = {{"leaf_value", -FLT_MAX, FLT_MAX, false}, {"leaf_count", 0, DBL_MAX, true}};

/* Inner nodes first, leaves behind them. number: [INNER_ARRAYS, leaves] scratch. */
static weft_status fill_nodes(const lgb_reading *r, int leaves, const lgb_sets *sets, double *number, weft_tree *tree,
                              int32_t *right)
{
    const int inner = leaves - 1;
    for (int k = 0; k < INNER_ARRAYS && inner > 0; ++k) {
        const struct lgb_array *a = &arrays[k];
        WEFT_TRY(read_numbers(r, a->key, inner, a->least, a->most, a->whole, number + (int64_t)k * leaves));
    }
    for (int n = 0; n < inner; ++n) {
        const double *of = number + n;
        const int type = (int)of[(int64_t)TYPE * leaves];
        const bool by_set = (type & BY_CATEGORY) != 0;
        tree_node *node = &tree->node[n];
        int32_t child[2];
        for (int side = 0; side < 2; ++side) {
            const double c = of[(int64_t)(by_set == (side == 1) ? LEFT : RIGHT) * leaves];
            child[side] = (int32_t)(c >= 0.0 ? c : inner - 1 - c);
            if (c >= inner || child[side] >= tree->nodes) {
                return damaged(r, "left_child and right_child", "name a node that is not there");
            }
        }
        *node = (tree_node){.left = child[0],
                            .feature = (int32_t)of[(int64_t)FEATURE * leaves],
                            .gain = (float)of[(int64_t)GAIN * leaves],
                            .weight = (float)of[(int64_t)VALUE * leaves],
                            .hessian = of[(int64_t)COUNT * leaves]};
        right[n] = child[1];
        const double t = of[(int64_t)THRESHOLD * leaves];
        WEFT_TRY(by_set ? set_categories(r, sets, t, tree, node) : set_threshold(r, type, t, node));
    }
    for (int k = 0; k < 2; ++k) {
        const struct lgb_array *a = &leaf_arrays[k];
        if (k == 0 || inner > 0) { /* a tree of one leaf says no count */
            WEFT_TRY(read_numbers(r, a->key, leaves, a->least, a->most, a->whole, number + (int64_t)k * leaves));
        }
    }
    for (int l = 0; l < leaves; ++l) {
        const float value = (float)number[l];
        tree->node[inner + l] =
            (tree_node){.left = -1, .value = value, .weight = value, .hessian = inner > 0 ? number[leaves + l] : 0.0};
        right[inner + l] = -1;
    }
    return WEFT_OK;
}

static weft_status read_tree(const lgb_reading *r, weft_tree *tree)
{
    lgb_sets sets = {0};
    double *number = NULL;
    int32_t *right = NULL;
    int leaves = 0, linear = 0;
    const char *end = NULL;
    WEFT_TRY(read_whole(r, "num_leaves", 1, LEAVES_MAX, &leaves));
    if (leaves > r->end - r->begin) { /* a leaf takes a character at least */
        return damaged(r, "num_leaves", "is more than there are leaves");
    }
    WEFT_TRY(find_value(r, "is_linear", &end) != NULL ? read_whole(r, "is_linear", 0, 1, &linear) : WEFT_OK);
    WEFT_CHECK(linear == 0, WEFT_ERR_UNSUPPORTED,
               "%s: tree %d is linear (linear_tree), which this program does not read", r->name, r->tree);
    weft_status status = read_sets(r, &sets);
    tree->nodes = 2 * leaves - 1;
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&tree->node, tree->nodes, WEFT_MEM_TREES), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&right, tree->nodes, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&number, (int64_t)INNER_ARRAYS * leaves, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(fill_nodes(r, leaves, &sets, number, tree, right), status, done);
    status = forest_lay_out(r->name, r->tree, r->forest->columns, tree, right);
done:
    WEFT_FREE_ALL(sets.bound, sets.word, right, number);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool is_value(const char *at, const char *end, const char *text)
{
    const size_t bytes = strlen(text);
    return (size_t)(end - at) >= bytes && memcmp(at, text, bytes) == 0 &&
           (at + bytes == end || at[bytes] == ' ' || at[bytes] == '\r');
}

static weft_status read_objective(const lgb_reading *r)
{
    static const struct {
        const char *text;
        tree_loss loss;
    } known[] = {{"binary sigmoid:1", TREE_LOSS_LOGISTIC},
                 {"multiclass", TREE_LOSS_SOFTMAX},
                 {"regression", TREE_LOSS_SQUARED},
                 {"poisson", TREE_LOSS_POISSON}};
    const char *end = NULL, *at = find_value(r, "objective", &end);
    for (size_t i = 0; at != NULL && i < sizeof known / sizeof *known; ++i) {
        if (is_value(at, end, known[i].text) && !is_value(at, end, "regression sqrt")) {
            r->facts->loss = known[i].loss;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_UNSUPPORTED,
                     "%s: objective %.*s: expected binary with sigmoid:1, multiclass, regression or poisson", r->name,
                     at != NULL ? (int)(end - at < 60 ? end - at : 60) : 4, at != NULL ? at : "none");
}

static weft_status read_names(const lgb_reading *r, int columns)
{
    forest_facts *facts = r->facts;
    const char *end = NULL, *at = find_value(r, "feature_names", &end);
    facts->columns = columns;
    if (at == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&facts->column, columns, WEFT_MEM_TREES));
    for (int c = 0; c < columns; ++c) {
        const char *stop = at;
        while (stop < end && *stop != ' ' && *stop != '\r') {
            ++stop;
        }
        if (stop == at) {
            return damaged(r, "feature_names", "has fewer names than there are columns");
        }
        WEFT_TRY(WEFT_NEW_ZERO(&facts->column[c], stop - at + 1, WEFT_MEM_TREES));
        memcpy(facts->column[c], at, (size_t)(stop - at));
        at = stop + (stop < end);
    }
    return at >= end ? WEFT_OK : damaged(r, "feature_names", "has more names than there are columns");
}

static weft_status read_head(const lgb_reading *r)
{
    int columns = 0, outputs = 0;
    const char *end = NULL;
    WEFT_TRY(read_objective(r));
    WEFT_TRY(read_whole(r, "max_feature_idx", 0, COLUMNS_MAX - 1, &columns));
    WEFT_TRY(read_whole(r, "num_tree_per_iteration", 1, FOREST_OUTPUTS_MAX, &outputs));
    const bool several = r->facts->loss == TREE_LOSS_SOFTMAX;
    if (several != (outputs > 1) || (find_value(r, "feature_names", &end) == NULL)) {
        return damaged(r, "num_tree_per_iteration", "does not suit the objective, or there are no feature_names");
    }
    if (columns >= r->end - r->begin) { /* a name takes a character at least */
        return damaged(r, "max_feature_idx", "is more than there are names");
    }
    for (const char *at = r->begin; at < r->end; at = line_end(at, r->end) + 1) {
        WEFT_CHECK(!is_value(at, line_end(at, r->end), "average_output"), WEFT_ERR_UNSUPPORTED,
                   "%s: is a random forest, whose trees are averaged: this program reads boosted ones", r->name);
    }
    WEFT_TRY(forest_create(columns + 1, outputs, r->forest));
    r->facts->classes = several ? outputs : r->facts->loss == TREE_LOSS_LOGISTIC ? 2 : 0;
    return read_names(r, columns + 1);
}

bool forest_is_lightgbm(const char *text, size_t bytes)
{
    return bytes > 5 && memcmp(text, "tree", 4) == 0 && (text[4] == '\n' || text[4] == '\r');
}

/* Where the next section begins: at "Tree=" or "end of trees", or the end. */
static const char *next_section(const char *at, const char *end)
{
    for (; at < end; at = line_end(at, end) + 1) {
        if (((size_t)(end - at) >= 5 && memcmp(at, "Tree=", 5) == 0) ||
            ((size_t)(end - at) >= 12 && memcmp(at, "end of trees", 12) == 0)) {
            return at;
        }
    }
    return end;
}

/* text[bytes] is a zero byte. */
static weft_status read_all(lgb_reading *r, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    r->begin = text;
    r->end = next_section(text, end);
    WEFT_TRY(read_head(r));
    while (r->end < end && *r->end == 'T') {
        weft_tree tree = {0};
        r->begin = r->end;
        r->end = next_section(r->begin + 1, end);
        r->tree += 1;
        weft_status status = read_tree(r, &tree);
        status = status == WEFT_OK ? forest_add(r->forest, &tree) : status;
        tree_destroy(&tree);
        WEFT_TRY(status);
    }
    WEFT_CHECK(r->end < end, WEFT_ERR_DATA, "%s: ends before 'end of trees': it is cut off", r->name);
    WEFT_CHECK(r->forest->trees % r->forest->outputs == 0, WEFT_ERR_DATA, "%s: %d trees for %d classes", r->name,
               r->forest->trees, r->forest->outputs);
    return WEFT_OK;
}

weft_status forest_read_lightgbm(const char *name, const char *text, size_t bytes, weft_forest *forest,
                                 forest_facts *facts)
{
    char *copy = NULL;
    lgb_reading r = {.name = name, .tree = -1, .forest = forest, .facts = facts};
    *forest = (weft_forest){0};
    *facts = (forest_facts){0};
    WEFT_TRY(WEFT_NEW(&copy, bytes + 1, WEFT_MEM_WORKSPACE));
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    const weft_status status = read_all(&r, copy, bytes);
    weft_free(copy);
    return status;
}
