/* trees/forest/forest_sets.c: see trees/forest/forest_sets.h. */
#include "trees/forest/forest_sets.h"

static int32_t count_codes(const weft_tree *tree, const tree_node *node)
{
    int32_t count = 0;
    for (int32_t i = 0; i < node->set_words; ++i) {
        count += __builtin_popcount(tree->word[node->set + i]);
    }
    return count;
}

static void write_codes(json_writer *json, const weft_tree *tree)
{
    json_array(json, "categories");
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const tree_node *node = &tree->node[n];
        for (int32_t code = 0; code < 32 * node->set_words; ++code) {
            if ((tree->word[node->set + code / 32] >> (code % 32) & 1) != 0) {
                json_int(json, NULL, code);
            }
        }
    }
    json_end(json);
}

void forest_sets_write(json_writer *json, const weft_tree *tree)
{
    static const char *const keys[] = {"categories_nodes", "categories_segments", "categories_sizes"};
    write_codes(json, tree);
    for (int k = 0; k < 3; ++k) {
        int64_t begin = 0;
        json_array(json, keys[k]);
        for (int32_t n = 0; n < tree->nodes; ++n) {
            const int32_t size = count_codes(tree, &tree->node[n]);
            if (tree->node[n].set_words > 0) {
                json_int(json, NULL, (const int64_t[]){n, begin, size}[k]);
            }
            begin += size;
        }
        json_end(json);
    }
}

/* A whole number from 0 to `most`; else -1, which is also that of NULL. */
static int64_t whole(const json_value *value, int64_t most)
{
    const bool fits =
        value != NULL && value->kind == JSON_NUMBER && value->integral && value->integer >= 0 && value->integer <= most;
    return fits ? value->integer : -1;
}

/* The codes of one node. *code: the first of them; moved behind the last. */
static weft_status read_set(const char *name, int number, int64_t size, const json_value **code, weft_tree *tree,
                            tree_node *node)
{
    const json_value *first = *code;
    int64_t largest = 0;
    for (int64_t i = 0; i < size; ++i, *code = (*code)->next) {
        const int64_t at = whole(*code, INT32_MAX);
        WEFT_CHECK(at >= 0, WEFT_ERR_DATA, "%s: tree %d: a category is missing, or no whole number from 0", name,
                   number);
        WEFT_CHECK(at < TREE_CODES_MAX, WEFT_ERR_UNSUPPORTED, "%s: tree %d: category %lld: expected less than %d", name,
                   number, (long long)at, TREE_CODES_MAX);
        largest = at > largest ? at : largest;
    }
    WEFT_TRY(tree_add_set(tree, (int32_t)largest + 1, node));
    for (const json_value *v = first; v != *code; v = v->next) {
        tree_set_insert(tree, node, (int32_t)v->integer);
    }
    return WEFT_OK;
}

/* Nodes whose split is by categories must have a set, and no others. */
static weft_status check_types(const char *name, int number, const json_value *object, const weft_tree *tree)
{
    const json_value *type = json_first(json_find(object, "split_type"), JSON_ARRAY);
    for (int32_t n = 0; n < tree->nodes; ++n, type = type != NULL ? type->next : NULL) {
        const int64_t kind = type != NULL ? whole(type, 1) : 0;
        WEFT_CHECK(kind >= 0 && (kind == 1) == (tree->node[n].set_words > 0), WEFT_ERR_DATA,
                   "%s: tree %d, node %d: its split_type does not say whether it has categories", name, number, n);
    }
    return WEFT_OK;
}

weft_status forest_sets_read(const char *name, int number, const json_value *object, weft_tree *tree)
{
    const json_value *code = json_first(json_find(object, "categories"), JSON_ARRAY);
    const json_value *at = json_first(json_find(object, "categories_nodes"), JSON_ARRAY);
    const json_value *segment = json_first(json_find(object, "categories_segments"), JSON_ARRAY);
    const json_value *size = json_first(json_find(object, "categories_sizes"), JSON_ARRAY);
    int64_t begin = 0;
    for (; at != NULL; at = at->next) {
        const int64_t node = whole(at, tree->nodes - 1), count = whole(size, INT32_MAX);
        WEFT_CHECK(node >= 0 && count >= 0 && whole(segment, INT64_MAX) == begin && tree->node[node].set_words == 0 &&
                       tree->node[node].left >= 0,
                   WEFT_ERR_DATA, "%s: tree %d: its categories do not say whose they are", name, number);
        WEFT_TRY(read_set(name, number, count, &code, tree, &tree->node[node]));
        begin += count;
        segment = segment->next;
        size = size->next;
    }
    WEFT_CHECK(code == NULL && segment == NULL && size == NULL, WEFT_ERR_DATA, "%s: tree %d: has categories of no node",
               name, number);
    return check_types(name, number, object, tree);
}
