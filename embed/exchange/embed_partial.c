/* embed/exchange/embed_partial.c: sums of bags of which each rank makes the part of its own keys. */
#include "embed/exchange/embed_partial.h"

#include "embed/pool/pool_sums.h"

weft_status embed_partial_rows(embed_group *t, const embed_bags *view, bool training)
{
    WEFT_TRY(bag_index_fill(&t->index, view));
    t->owned = t->index.distinct;
    WEFT_TRY(embed_take_rows(t, t->owned));
    WEFT_TRY(embed_take_floats(&t->number, &t->numbers, t->owned * t->stride));
    WEFT_TRY(embed_touch(t, t->index.key, t->index.times, training));
    row_store_read(t->store, t->row, t->owned, t->number, t->stride);
    t->value = t->number;
    return WEFT_OK;
}

static void add_up(const embed_group *t, const embed_bags *view, const partial_terms *terms, float *total, int64_t ld)
{
    pool_rows(&t->index, view, terms->value, terms->stride, terms->stride, total, ld);
    if (terms->squares) {
        pool_squares(&t->index, view, terms->square, terms->square_ld, total + terms->square_at, ld);
    }
}

weft_status embed_partial_sums(embed_group *t, const embed_bags *view, const partial_terms *terms, float *total,
                               int64_t ld)
{
    const int64_t *first = t->bags.first;
    if (comm_size(t->comm) == 1) {
        add_up(t, view, terms, total, ld);
        return WEFT_OK;
    }
    for (int p = 0; p < comm_size(t->comm); ++p) {
        embed_bags part = *view;
        part.samples = first[p + 1] - first[p];
        part.at = view->at + first[p] * view->fields;
        add_up(t, &part, terms, bag_route_partial(&t->bags, p), t->bags.columns);
    }
    return bag_route_totals(&t->bags, total, ld);
}

weft_status embed_partial_forward(embed_group *t, const embed_bags *bags, bool training, float *pooled, int64_t ld)
{
    partial_terms terms = {
        .stride = t->stride, .squares = t->desc.squares, .square_ld = 1, .square_at = embed_columns(t) - 1};
    WEFT_TRY(bag_route_bags(&t->bags, bags, NULL, embed_columns(t)));
    weft_status status = embed_partial_rows(t, &t->bags.bags, training);
    status = status == WEFT_OK ? embed_take_squares(t) : status;
    WEFT_TRY(comm_agree(t->comm, status));
    terms.value = t->value;
    if (t->desc.squares) {
        embed_square_rows(t);
        terms.square = t->square;
    }
    return embed_partial_sums(t, &t->bags.bags, &terms, pooled, ld);
}

weft_status embed_partial_backward(embed_group *t, const float *dpooled, int64_t ld, double rate)
{
    const float *all = NULL;
    int64_t all_ld = 0;
    WEFT_TRY(bag_route_gradients(&t->bags, dpooled, ld, &all, &all_ld));
    WEFT_TRY(comm_agree(t->comm, embed_take_gradients(t)));
    pool_gradients(&t->index, t->desc.fields, all, all_ld, t->stride, t->gradient, t->stride);
    if (t->desc.squares) {
        embed_add_squares(t, all, all_ld);
    }
    row_store_update(t->store, t->row, t->owned, t->gradient, t->stride, rate);
    return WEFT_OK;
}
