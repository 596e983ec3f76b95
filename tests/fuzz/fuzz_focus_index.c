/*
 * Fuzz target: indexes of scores. The first byte chooses whether checksums are put right, so that what stands behind
 * them is reached. What opens is read whole, and opens again to the same. Seeds: tests/fuzz/make_seeds DIR.
 */
#include "focus/index/focus_index.h"
#include "focus/index/focus_index_layout.h"
#include "focus/index/focus_units.h"
#include "fuzz/fuzz_support.h"

enum { STATED_LIMIT = 64 << 20 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void repair(uint8_t *data, size_t size)
{
    focus_block_head head;
    for (size_t at = 0; size - at >= sizeof head; at += sizeof head + head.bytes) {
        memcpy(&head, data + at, sizeof head);
        memcpy(head.magic, FOCUS_MAGIC, sizeof head.magic);
        head.bytes = (head.bytes & 0xffff) - head.bytes % 8;
        if (head.bytes > size - at - sizeof head) {
            head.bytes = (size - at - sizeof head) & ~(uint64_t)7;
        }
        head.sum = focus_sum(data + at + sizeof head, head.bytes, at);
        head.own_sum = focus_own_sum(&head, at);
        memcpy(data + at, &head, sizeof head);
    }
}

/* Sum over what a query of these frames counts; every unit has an item of its own among them. */
static uint64_t digest_units(const focus_index *index, focus_span span)
{
    focus_units units;
    uint64_t sum = 0;
    uint16_t *code = malloc(((size_t)index->items + 1) * sizeof *code);
    if (code == NULL || focus_units_make(index, span, &units) != WEFT_OK || units.count > index->items ||
        focus_units_score(&units, index, 0, code) != WEFT_OK) {
        abort();
    }
    for (int64_t u = 0; u < units.count; ++u) {
        const int64_t item = focus_unit_item(&units, u);
        const item_origin origin = focus_index_origin(index, item);
        const int64_t frame = units.item != NULL ? (int64_t)origin.frame : item;
        if (frame < span.first || frame > span.last || (units.item != NULL && origin.track != units.track[u])) {
            abort();
        }
        sum = 31 * sum + code[u] + (uint64_t)item;
    }
    focus_units_free(&units);
    free(code);
    return sum;
}

/* Sum over all that an index holds. */
static uint64_t digest(const focus_index *index)
{
    uint64_t sum = (uint64_t)index->answered;
    for (int64_t i = 0; i < index->items; ++i) {
        const char *name = focus_index_name(index, i);
        sum = 31 * sum + focus_index_code(index, i, i % index->head.classes) + (uint64_t)index->answer[i];
        const item_origin origin = focus_index_origin(index, i);
        sum += name != NULL ? strlen(name) : 0;
        sum = 31 * sum + origin.sum + origin.frame + origin.track + origin.left + origin.top + origin.width;
    }
    const focus_span some = {.first = index->items / 4, .last = index->items / 2};
    return 31 * (31 * sum + digest_units(index, FOCUS_ALL_FRAMES)) + digest_units(index, some);
}

static weft_status read_all(const char *path, uint64_t *sum)
{
    focus_index index;
    const weft_status status = focus_index_open(path, &index);
    *sum = status == WEFT_OK ? digest(&index) : 0;
    focus_index_close(&index);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *copy = malloc(size);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data + 1, size - 1);
    if (data[0] < 128) {
        repair(copy, size - 1);
    }
    fuzz_file file = fuzz_file_make(copy, size - 1);
    uint64_t first = 0, second = 0;
    if (read_all(file.path, &first) == WEFT_OK && (read_all(file.path, &second) != WEFT_OK || first != second)) {
        abort();
    }
    close(file.fd);
    free(copy);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
