/* app/explain/drawing_json.c: see app/explain/drawing_json.h. */
#include "app/explain/drawing_json.h"

#include "base/integer/integers.h"

void drawing_json_begin(json_writer *json, const char *kind, const char *title, const char *x, const char *y)
{
    json_object(json, NULL);
    json_text(json, "kind", kind);
    json_text(json, "title", title);
    json_text(json, "x", x);
    json_text(json, "y", y);
}

void drawing_json_names(json_writer *json, const char *const *name, int count)
{
    json_array(json, "names");
    for (int i = 0; i < count; ++i) {
        json_text(json, NULL, name[i]);
    }
    json_end(json);
}

void drawing_json_series(json_writer *json)
{
    json_array(json, "series");
}

void drawing_json_numbers(json_writer *json, const char *key, const double *value, int64_t count, int64_t stride)
{
    json_array(json, key);
    for (int64_t i = 0; i < count; ++i) {
        json_real(json, NULL, (double)(float)value[i * stride]);
    }
    json_end(json);
}

void drawing_json_bars(json_writer *json, const char *title, const char *const *name, const double *value, int count)
{
    drawing_json_begin(json, "bars", title, "", "");
    drawing_json_names(json, name, count);
    drawing_json_series(json);
    json_object(json, NULL);
    json_text(json, "name", "");
    drawing_json_numbers(json, "values", value, count, 1);
    json_end(json);
    json_end(json);
    json_end(json);
}

int drawing_leading(const double *value, int64_t count, int most, int64_t *place)
{
    int filled = 0;
    for (int64_t i = 0; i < count; ++i) {
        int at = filled;
        while (at > 0 && value[i] > value[place[at - 1]]) {
            --at;
        }
        filled = (int)smaller(filled + 1, most);
        for (int k = filled - 1; k > at; --k) {
            place[k] = place[k - 1];
        }
        if (at < filled) {
            place[at] = i;
        }
    }
    return filled;
}
