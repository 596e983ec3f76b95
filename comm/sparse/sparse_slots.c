/* comm/sparse/sparse_slots.c: the form in which selections travel; see sparse_internal.h. */
#include "base/alloc.h"
#include "comm/sparse/sparse_internal.h"

weft_status slots_create(sparse_slots *slots, weft_hal *hal, int count, int64_t capacity)
{
    weft_status status = WEFT_OK;
    void **data = (void **)&slots->data;
    *slots =
        (sparse_slots){.hal = hal, .count = count, .capacity = capacity, .stride = NOTE_BYTES + capacity * ENTRY_BYTES};
    WEFT_TRY_GOTO(hal != NULL ? hal->mem.alloc_host(hal, (size_t)count * (size_t)slots->stride, WEFT_MEM_COMM, data)
                              : weft_malloc((size_t)count, (size_t)slots->stride, WEFT_MEM_COMM, data),
                  status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&slots->bytes, count, WEFT_MEM_COMM), status, done);
    for (int i = 0; i < count; ++i) {
        *slots_note(slots, i) = (sparse_note){.rank = -1};
    }
done:
    if (status != WEFT_OK) {
        slots_free(slots);
    }
    return status;
}

void slots_free(sparse_slots *slots)
{
    if (slots->hal == NULL) {
        weft_free(slots->data);
    } else if (slots->data != NULL) {
        slots->hal->mem.free_host(slots->hal, slots->data);
    }
    WEFT_FREE_ALL(slots->bytes, slots->wire);
    *slots = (sparse_slots){0};
}

sparse_note *slots_note(const sparse_slots *slots, int i)
{
    return (sparse_note *)(void *)(slots->data + i * slots->stride);
}

int32_t *slots_index(const sparse_slots *slots, int i)
{
    return (int32_t *)(void *)(slots->data + i * slots->stride + NOTE_BYTES);
}

float *slots_value(const sparse_slots *slots, int i)
{
    return (float *)(void *)(slots_index(slots, i) + slots_note(slots, i)->amount);
}

weft_status slots_announce(sparse_slots *slots)
{
    for (int i = 0; i < slots->count; ++i) {
        int64_t amount = slots_note(slots, i)->amount;
        WEFT_CHECK(amount >= 0 && amount <= slots->capacity, WEFT_ERR_INTERNAL,
                   "sparse exchange: %lld entries announced where %lld fit", (long long)amount,
                   (long long)slots->capacity);
        slots->bytes[i] = wire_bytes(slots->domain, amount, slots->values);
    }
    return WEFT_OK;
}

/* ---- on their way ------------------------------------------------------------------------------------------------ */

weft_status slots_travel(const sparse_plan *plan, sparse_slots *slots, int own)
{
    slots->own = own;
    slots->domain = plan->count;
    slots->values = plan->desc.values;
    slots->noted = !plan->variable;
    slots->wire_stride = NOTE_BYTES + wire_bytes(slots->domain, slots->capacity, slots->values);
    return WEFT_NEW_ZERO(&slots->wire, slots->count * slots->wire_stride, WEFT_MEM_COMM);
}

char *slots_wire(const sparse_slots *slots, int i)
{
    return slots->wire + i * slots->wire_stride + (slots->noted ? 0 : NOTE_BYTES);
}

int64_t slots_wire_most(const sparse_slots *slots)
{
    return slots->wire_stride - (slots->noted ? 0 : NOTE_BYTES);
}

static uint8_t *packed_entries(const sparse_slots *slots, int i)
{
    return (uint8_t *)slots->wire + i * slots->wire_stride + NOTE_BYTES;
}

weft_status slots_pack(void *argument, uint64_t post)
{
    (void)post;
    const sparse_slots *slots = argument;
    for (int i = 0; i < slots->count; ++i) {
        const sparse_note *note = slots_note(slots, i);
        if (slots->own >= 0 && i != slots->own) {
            continue;
        }
        memcpy(slots->wire + i * slots->wire_stride, note, sizeof *note);
        WEFT_TRY(wire_pack(slots->domain, note->amount, slots->values, slots_index(slots, i), slots_value(slots, i),
                           packed_entries(slots, i)));
    }
    return WEFT_OK;
}

weft_status slots_unpack(void *argument, uint64_t post)
{
    (void)post;
    const sparse_slots *slots = argument;
    for (int i = 0; i < slots->count; ++i) {
        sparse_note *note = slots_note(slots, i);
        if (i == slots->own) {
            continue;
        }
        if (slots->noted) {
            memcpy(note, slots->wire + i * slots->wire_stride, sizeof *note);
        }
        WEFT_CHECK(note->amount >= 0 && note->amount <= slots->capacity, WEFT_ERR_INTERNAL,
                   "sparse exchange: %lld entries came where %lld fit", (long long)note->amount,
                   (long long)slots->capacity);
        WEFT_TRY(wire_unpack(slots->domain, note->amount, slots->values, packed_entries(slots, i),
                             slots_index(slots, i), slots_value(slots, i)));
    }
    return WEFT_OK;
}

weft_status slot_add(const char *data, float *to, int64_t count, int64_t *bytes)
{
    sparse_note note;
    memcpy(&note, data, sizeof note);
    const char *index = data + NOTE_BYTES;
    const char *value = index + note.amount * (int64_t)sizeof(int32_t);
    for (int64_t e = 0; e < note.amount; ++e) {
        int32_t i = 0;
        float v = 0.0f;
        memcpy(&i, index + e * (int64_t)sizeof i, sizeof i);
        memcpy(&v, value + e * (int64_t)sizeof v, sizeof v);
        WEFT_CHECK(i >= 0 && i < count, WEFT_ERR_INTERNAL, "sparse exchange: entry %lld is for element %d of %lld",
                   (long long)e, i, (long long)count);
        to[i] += v;
    }
    *bytes = NOTE_BYTES + note.amount * ENTRY_BYTES;
    return WEFT_OK;
}
