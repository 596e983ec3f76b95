/* app/focus/focus_match.c: see app/focus/focus_match.h. */
#include "app/focus/focus_match.h"

#include <stdlib.h>
#include <string.h>

static int by_name_order(const void *a, const void *b)
{
    return strcmp(((const focus_named_row *)a)->name, ((const focus_named_row *)b)->name);
}

weft_status focus_rows_by_name(const workload *work, focus_named_row **by_name)
{
    const int64_t rows = work->held.total;
    *by_name = NULL;
    if (rows == 0 || workload_row_name(work, 0) == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(by_name, rows, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < rows; ++i) {
        (*by_name)[i] = (focus_named_row){workload_row_name(work, i), i};
    }
    qsort(*by_name, (size_t)rows, sizeof **by_name, by_name_order);
    for (int64_t i = 1; i < rows; ++i) {
        WEFT_CHECK(
            strcmp((*by_name)[i - 1].name, (*by_name)[i].name) != 0, WEFT_ERR_DATA,
            "%s: two of the %s are called %s, and an index tells them apart by their names: give the data in one "
            "place",
            work->name, work->ops->rows, (*by_name)[i].name);
    }
    return WEFT_OK;
}

int64_t focus_row_of(const focus_named_row *by_name, int64_t rows, const char *name)
{
    const focus_named_row key = {.name = name};
    const focus_named_row *found = bsearch(&key, by_name, (size_t)rows, sizeof key, by_name_order);
    return found != NULL ? found->row : -1;
}

/* Files that are gone are missed when they are asked for; of moving things none is. */
static weft_status check_item(const focus_index *index, const char *path, const workload *work,
                              const focus_named_row *by_name, int64_t item)
{
    const char *name = focus_index_name(index, item);
    const item_origin then = focus_index_origin(index, item);
    const int64_t row = focus_row_of(by_name, work->held.total, name);
    const item_origin now = row >= 0 ? workload_row_origin(work, row) : (item_origin){.sum = 0};
    WEFT_CHECK(row < 0 || now.sum == then.sum, WEFT_ERR_DATA,
               "%s: %s has other contents than when the index %s was made: give it its name of then, or make the index "
               "again",
               work->name, name, path);
    WEFT_CHECK(!index->head.moving || (row >= 0 && now.frame == then.frame && now.track == then.track), WEFT_ERR_DATA,
               "%s: what moves is not what moved when the index %s was made, first at %s: frames are only added behind "
               "the others, and an index begins with at least 128 of them; make the index again",
               work->name, path, name);
    return WEFT_OK;
}

weft_status focus_match_check(const focus_index *index, const char *path, const workload *work,
                              const focus_named_row *by_name)
{
    const bool named = index->head.data[0] == '\0';
    const bool moving = work->held.total > 0 && workload_row_origin(work, 0).width > 0;
    WEFT_CHECK(named == (by_name != NULL) && (named || strcmp(index->head.data, work->hash) == 0), WEFT_ERR_DATA,
               "%s: is an index of other data than %s: give the data that it was made of, or make another index", path,
               work->name);
    WEFT_CHECK(moving == index->head.moving, WEFT_ERR_DATA,
               "%s: is an index of %s, and %s is read as %s: all commands of an index read the data in one way", path,
               index->head.moving ? "what moves in frames" : "whole files", work->name,
               moving ? "what moves in frames" : "whole files");
    for (int64_t i = 0; named && i < index->items; ++i) {
        WEFT_TRY(check_item(index, path, work, by_name, i));
    }
    return WEFT_OK;
}
