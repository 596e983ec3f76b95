/* app/predict/answer_table.c: see app/predict/answer_table.h. */
#include "app/predict/answer_table.h"

#include <math.h>

#include "io/npy.h"

static void add_column(answer_table *a, const char *title, int place, table_cell_kind kind, bool brief)
{
    char *word = a->word[a->lines.columns];
    snprintf(word, ANSWER_TITLE_BYTES, place > 1 ? "%s_%d" : "%s", title, place);
    a->column[a->lines.columns++] = (table_column){word, kind, brief};
}

/* file | class name probability | class_2 name_2 probability_2 ... */
static void name_columns(const answer_table_desc *desc, int top, answer_table *a)
{
    a->lines = (table_grid){.name = "answers", .column = a->column};
    add_column(a, desc->title, 1, CELL_TEXT, true);
    for (int place = 1; place <= top; ++place) {
        add_column(a, "class", place, CELL_INT, desc->class_name == NULL);
        if (desc->class_name != NULL) {
            add_column(a, "name", place, CELL_TEXT, true);
        }
        add_column(a, "probability", place, CELL_REAL, true);
    }
}

static weft_status describe(const answer_table_desc *desc, int64_t rows, answer_table *a)
{
    const table_cell facts[] = {cell_text(desc->model), cell_text(desc->data), cell_int(rows),
                                cell_int(desc->malformed)};
    a->title[0] = (table_column){"model", CELL_TEXT, true};
    a->title[1] = (table_column){desc->kind, CELL_TEXT, true};
    a->title[2] = (table_column){"answered", CELL_INT, true};
    a->title[3] = (table_column){"malformed", CELL_INT, true};
    a->head = (table_grid){.name = "", .column = a->title, .columns = 4};
    return table_grid_add(&a->head, facts);
}

/* What a class is ranked by: a number, also of a model that answers with NaN. */
static float rank_of(const float *row, int64_t class)
{
    return row[class] >= 0.0F ? row[class] : -1.0F;
}

/* The likeliest class behind `before`, -1: of all; of equal ones the first. */
static int64_t next_class(const float *row, int64_t classes, int64_t before)
{
    int64_t best = -1;
    for (int64_t k = 0; k < classes; ++k) {
        const float here = rank_of(row, k);
        const float last = before < 0 ? INFINITY : rank_of(row, before);
        const bool left = here < last || (here == last && k > before);
        best = left && (best < 0 || here > rank_of(row, best)) ? k : best;
    }
    return best;
}

static weft_status add_line(const answer_table_desc *desc, int top, const float *row, int64_t classes, const char *name,
                            answer_table *a)
{
    table_cell cell[ANSWER_COLUMNS_MAX] = {cell_text(name)};
    int used = 1;
    int64_t class = -1;
    for (int place = 0; place < top; ++place) {
        class = next_class(row, classes, class);
        cell[used++] = cell_int(class);
        if (desc->class_name != NULL) {
            cell[used++] = cell_text(desc->class_name[class]);
        }
        cell[used++] = cell_real((double)row[class]);
    }
    return table_grid_add(&a->lines, cell);
}

weft_status answer_table_make(const answer_table_desc *desc, answer_table *a)
{
    static const int64_t any[] = {-1, -1};
    npy_map map;
    WEFT_TRY(npy_map_open(desc->probabilities, &map));
    weft_status status = npy_expect(desc->probabilities, &map.header, 'f', sizeof(float), 2, any);
    const int64_t rows = map.header.shape[0], classes = map.header.shape[1];
    const int top = desc->top < classes ? desc->top : (int)classes;
    if (status == WEFT_OK) {
        name_columns(desc, top, a);
        status = describe(desc, rows, a);
    }
    for (int64_t i = 0; i < rows && status == WEFT_OK; ++i) {
        status = add_line(desc, top, (const float *)map.data + i * classes, classes, desc->row_name[i], a);
    }
    npy_map_close(&map);
    return status;
}

void answer_table_destroy(answer_table *a)
{
    table_grid_free(&a->head);
    table_grid_free(&a->lines);
}
