/* hal/cuda/cuda_order.c: see cuda_order.h. */
#include "hal/cuda/cuda_order.h"

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    const uintptr_t a_begin = (uintptr_t)a;
    const uintptr_t b_begin = (uintptr_t)b;
    return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

static int first_failure(int one, int other)
{
    return one != CUDA_DONE ? one : other;
}

static cuda_piece *find_piece(cuda_state *state, const void *device, size_t bytes)
{
    for (int i = 0; i < state->pieces; ++i) {
        if (state->piece[i].device == device && state->piece[i].bytes == bytes) {
            return &state->piece[i];
        }
    }
    return NULL;
}

/* A new piece has no history: it waits for everything. */
static int add_piece(cuda_state *state, const void *device, size_t bytes)
{
    cuda_piece *piece = &state->piece[state->pieces];
    *piece = (cuda_piece){.device = device, .bytes = bytes};
    int code = first_failure(cuda_event_create(&piece->copied), cuda_event_create(&piece->used));
    if (code == CUDA_DONE) {
        state->pieces += 1;
        code = cuda_event_record(piece->used, state->queue.stream);
    }
    return code;
}

/* The stream waits for copies of pieces that touch these bytes, of the device or the host. */
static int wait_for_copies(cuda_state *state, const void *device, const void *host, size_t bytes, cuda_stream *stream)
{
    int code = CUDA_DONE;
    for (int i = 0; i < state->pieces; ++i) {
        const cuda_piece *piece = &state->piece[i];
        const bool meets = overlap(piece->device, piece->bytes, device, bytes) ||
                           (host != NULL && piece->host != NULL && overlap(piece->host, piece->bytes, host, bytes));
        code = first_failure(code, meets ? cuda_stream_wait(stream, piece->copied) : CUDA_DONE);
    }
    return code;
}

/* The host waits for copies that have to do with the same host memory: a download must not overtake them. */
static int wait_on_host(cuda_state *state, const void *host, size_t bytes)
{
    int code = CUDA_DONE;
    for (int i = 0; i < state->pieces; ++i) {
        const cuda_piece *piece = &state->piece[i];
        const bool meets = piece->host != NULL && overlap(piece->host, piece->bytes, host, bytes);
        code = first_failure(code, meets ? cuda_event_sync(piece->copied) : CUDA_DONE);
    }
    return code;
}

int cuda_order_begin_copy(cuda_state *state, bool up, const void *device, const void *host, size_t bytes,
                          cuda_stream **stream)
{
    cuda_stream *own = up ? state->in : state->out;
    int code = up ? CUDA_DONE : wait_on_host(state, host, bytes);
    *stream = state->queue.stream;
    if (find_piece(state, device, bytes) == NULL) {
        if (state->pieces == CUDA_PIECES) {
            return first_failure(code, wait_for_copies(state, device, host, bytes, state->queue.stream));
        }
        code = first_failure(code, add_piece(state, device, bytes));
    }
    *stream = own;
    code = first_failure(code, wait_for_copies(state, device, host, bytes, own));
    for (int i = 0; i < state->pieces; ++i) {
        const cuda_piece *piece = &state->piece[i];
        const bool meets = overlap(piece->device, piece->bytes, device, bytes);
        code = first_failure(code, meets ? cuda_stream_wait(own, piece->used) : CUDA_DONE);
    }
    return code;
}

int cuda_order_end_copy(cuda_state *state, const void *device, const void *host, size_t bytes, cuda_stream *stream)
{
    cuda_piece *piece = find_piece(state, device, bytes);
    if (stream == state->queue.stream || piece == NULL) {
        return cuda_order_end_use(state, device, bytes);
    }
    piece->host = host;
    return cuda_event_record(piece->copied, stream);
}

int cuda_order_begin_use(cuda_state *state, const void *device, size_t bytes)
{
    return wait_for_copies(state, device, NULL, bytes, state->queue.stream);
}

int cuda_order_end_use(cuda_state *state, const void *device, size_t bytes)
{
    int code = CUDA_DONE;
    for (int i = 0; i < state->pieces; ++i) {
        const cuda_piece *piece = &state->piece[i];
        const bool meets = overlap(piece->device, piece->bytes, device, bytes);
        code = first_failure(code, meets ? cuda_event_record(piece->used, state->queue.stream) : CUDA_DONE);
    }
    return code;
}

/* For each operand that is there. */
static int around_op(cuda_state *state, hal_op op, const void *args,
                     int (*use)(cuda_state *state, const void *device, size_t bytes))
{
    hal_operand operand[HAL_MOST_OPERANDS];
    int code = CUDA_DONE;
    const int count = state->pieces > 0 ? hal_op_operands(op, args, operand) : 0;
    for (int i = 0; i < count; ++i) {
        const hal_mat *mat = operand[i].mat;
        if (operand[i].access != HAL_UNUSED && hal_mat_given(mat)) {
            const int64_t elements = mat->rows > 0 ? (mat->rows - 1) * mat->ld + mat->cols : 0;
            code = first_failure(code, use(state, mat->source, (size_t)elements * weft_dtype_bytes(mat->dtype)));
        }
    }
    return code;
}

int cuda_order_begin_op(cuda_state *state, hal_op op, const void *args)
{
    return around_op(state, op, args, cuda_order_begin_use);
}

int cuda_order_end_op(cuda_state *state, hal_op op, const void *args)
{
    return around_op(state, op, args, cuda_order_end_use);
}

void cuda_order_forget(cuda_state *state, const void *device, size_t bytes)
{
    int kept = 0;
    for (int i = 0; i < state->pieces; ++i) {
        const cuda_piece piece = state->piece[i];
        if (overlap(piece.device, piece.bytes, device, bytes)) {
            (void)cuda_event_destroy(piece.copied);
            (void)cuda_event_destroy(piece.used);
        } else {
            state->piece[kept++] = piece;
        }
    }
    state->pieces = kept;
}
