/* app/report/heat.c: heat maps, tables whose cells are shaded (app/report/drawing.h). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/report/drawing.h"

void heat_draw(report_text *out, const heat *h)
{
    char align[HEAT_MAX + 2];
    const char *names[HEAT_MAX + 1] = {h->corner};
    assert(h->rows <= HEAT_MAX && h->columns <= HEAT_MAX);
    memset(align, 'r', (size_t)h->columns + 1);
    align[h->columns + 1] = '\0';
    align[0] = h->words ? 'l' : 'r';
    memcpy(names + 1, h->column_name, (size_t)h->columns * sizeof *names);
    text_table_named(out, align, names);
    for (int r = 0; r < h->rows; ++r) {
        text_cell(out, "%s", h->row_name[r]);
        for (int c = 0; c < h->columns; ++c) {
            const double share = h->share[r * h->columns + c];
            const cell_style style = {.shade = h->diagonal && r == c ? "hit" : "miss",
                                      .share = isfinite(share) ? share : 0};
            text_cell_styled(out, style, quantity_of(h->value[r * h->columns + c], h->unit).text);
        }
    }
    text_table_end(out);
}
