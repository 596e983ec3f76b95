/* tensor/tensor_tokens.c: see tensor/tensor_tokens.h. */
#include "tensor/tensor_tokens.h"

#include "tensor/tensor_check.h"

static weft_status check_tokens(const char *op, const tensor_tokens *tokens, const weft_tensor *rows)
{
    WEFT_CHECK(tokens->tokens > 0 && rows->rows % tokens->tokens == 0, WEFT_ERR_INTERNAL,
               "%s: %lld rows are no images of %lld tokens", op, (long long)rows->rows, (long long)tokens->tokens);
    return tensor_check_vector(op, "key", tokens->key, rows->rows, 1, rows);
}

static weft_status check_heads(const char *op, const weft_tensor *x, const weft_tensor *y, int64_t heads)
{
    WEFT_CHECK(heads > 0 && y->cols % heads == 0, WEFT_ERR_INTERNAL, "%s: %lld heads of %lld columns", op,
               (long long)heads, (long long)y->cols);
    WEFT_TRY(tensor_check_alike(op, "x", x, y));
    return tensor_check_shape(op, "x", x, y->rows, 3 * y->cols);
}

static hal_mat key_of(const tensor_tokens *tokens)
{
    return tokens->key != NULL ? tensor_mat(tokens->key) : (hal_mat){.data = NULL};
}

weft_status tensor_attend_forward(const weft_tensor *x, const tensor_tokens *tokens, int64_t heads, weft_tensor *y)
{
    WEFT_TRY(check_tokens("attend_forward", tokens, y));
    WEFT_TRY(check_heads("attend_forward", x, y, heads));
    return hal_attend_forward(
        y->hal,
        &(hal_attend_forward_args){
            .x = tensor_mat(x), .key = key_of(tokens), .y = tensor_mat(y), .tokens = tokens->tokens, .heads = heads});
}

weft_status tensor_attend_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_tokens *tokens,
                                   int64_t heads, weft_tensor *dx)
{
    WEFT_TRY(check_tokens("attend_backward", tokens, dy));
    WEFT_TRY(check_heads("attend_backward", x, dy, heads));
    WEFT_TRY(tensor_check_same("attend_backward", "dx", dx, x));
    return hal_attend_backward(dx->hal, &(hal_attend_backward_args){.dy = tensor_mat(dy),
                                                                    .x = tensor_mat(x),
                                                                    .key = key_of(tokens),
                                                                    .dx = tensor_mat(dx),
                                                                    .tokens = tokens->tokens,
                                                                    .heads = heads});
}

weft_status tensor_lookup_forward(const weft_tensor *id, const weft_tensor *table, weft_tensor *y)
{
    WEFT_TRY(tensor_check_vector("lookup_forward", "id", id, y->rows, 1, y));
    WEFT_TRY(tensor_check_shape("lookup_forward", "table", table, table->rows, y->cols));
    return hal_lookup_forward(
        y->hal, &(hal_lookup_forward_args){.id = tensor_mat(id), .table = tensor_mat(table), .y = tensor_mat(y)});
}

weft_status tensor_lookup_backward(const weft_tensor *dy, const weft_tensor *id, weft_tensor *dtable)
{
    WEFT_TRY(tensor_check_vector("lookup_backward", "id", id, dy->rows, 1, dy));
    WEFT_TRY(tensor_check_shape("lookup_backward", "dtable", dtable, dtable->rows, dy->cols));
    return hal_lookup_backward(
        dtable->hal,
        &(hal_lookup_backward_args){.dy = tensor_mat(dy), .id = tensor_mat(id), .dtable = tensor_mat(dtable)});
}

weft_status tensor_token_mean_forward(const weft_tensor *x, const tensor_tokens *tokens, weft_tensor *y)
{
    WEFT_TRY(check_tokens("token_mean_forward", tokens, x));
    WEFT_TRY(tensor_check_alike("token_mean_forward", "x", x, y));
    WEFT_TRY(tensor_check_shape("token_mean_forward", "y", y, x->rows / tokens->tokens, x->cols));
    return hal_token_mean_forward(
        y->hal, &(hal_token_mean_forward_args){
                    .x = tensor_mat(x), .key = key_of(tokens), .y = tensor_mat(y), .tokens = tokens->tokens});
}

weft_status tensor_token_mean_backward(const weft_tensor *dy, const tensor_tokens *tokens, weft_tensor *dx)
{
    WEFT_TRY(check_tokens("token_mean_backward", tokens, dx));
    WEFT_TRY(tensor_check_alike("token_mean_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_shape("token_mean_backward", "dy", dy, dx->rows / tokens->tokens, dx->cols));
    return hal_token_mean_backward(
        dx->hal, &(hal_token_mean_backward_args){
                     .dy = tensor_mat(dy), .key = key_of(tokens), .dx = tensor_mat(dx), .tokens = tokens->tokens});
}
