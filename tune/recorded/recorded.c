/* tune/recorded/recorded.c: see tune/recorded/recorded.h. */
#include "tune/recorded/recorded.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/philox.h"
#include "base/sample.h"
#include "io/json.h"
#include "io/npy.h"

enum { CELLS_MAX = 1 << 26 };

/* ---- spaces.json ------------------------------------------------------------------------------------------------
 * */

/* The file's name without folder and ending: its key. */
static weft_status take_name(const char *path, recorded_table *table)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    const size_t bytes = dot != NULL ? (size_t)(dot - base) : strlen(base);
    WEFT_CHECK(bytes > 0 && bytes < sizeof table->name, WEFT_ERR_USAGE,
               "%s: a table's file is named NAME.npz, with 1 to %zu bytes of NAME", path, sizeof table->name - 1);
    memcpy(table->name, base, bytes);
    table->name[bytes] = '\0';
    return WEFT_OK;
}

static weft_status add_axis(const char *path, const json_value *axis, search_space *space)
{
    char number[SPACE_CHOICES_MAX][NUMBER_TEXT_MAX];
    char *choice[SPACE_CHOICES_MAX];
    space_dimension d = {.kind = SPACE_CHOICE, .choice = choice};
    WEFT_CHECK(axis->kind == JSON_ARRAY && strlen(axis->key) < sizeof d.name, WEFT_ERR_DATA,
               "%s: \"%s\" is not a list of values, or a name of %zu bytes or more", path, axis->key, sizeof d.name);
    snprintf(d.name, sizeof d.name, "%s", axis->key);
    for (const json_value *v = axis->child; v != NULL; v = v->next) {
        WEFT_CHECK(d.choices < SPACE_CHOICES_MAX && (v->kind == JSON_TEXT || v->kind == JSON_NUMBER), WEFT_ERR_DATA,
                   "%s: \"%s\": value %d is neither a number nor a text, or past the limit of %d", path, axis->key,
                   d.choices + 1, SPACE_CHOICES_MAX);
        choice[d.choices] = v->kind == JSON_TEXT ? (char *)(uintptr_t)v->text
                                                 : (char *)(uintptr_t)number_format_real(v->number, number[d.choices]);
        d.choices++;
    }
    return space_add(space, &d);
}

static weft_status read_axes(const char *path, const json_value *root, recorded_table *table, bool *minimize)
{
    const json_value *mine = json_find(root, table->name), *axes = mine != NULL ? json_find(mine, "space") : NULL;
    const char *direction = NULL;
    WEFT_CHECK(axes != NULL && axes->kind == JSON_OBJECT, WEFT_ERR_DATA,
               "%s: no \"space\" of a table \"%s\", which says what the axes are", path, table->name);
    WEFT_TRY(json_get_text(path, mine, "direction", &direction));
    *minimize = strcmp(direction, "minimize") == 0;
    WEFT_CHECK(*minimize || strcmp(direction, "maximize") == 0, WEFT_ERR_DATA,
               "%s: %s: the direction is \"%s\": it is minimize or maximize", path, table->name, direction);
    for (const json_value *axis = axes->child; axis != NULL; axis = axis->next) {
        WEFT_TRY(add_axis(path, axis, &table->space));
    }
    WEFT_CHECK(table->space.count > 0, WEFT_ERR_DATA, "%s: %s: a space without axes", path, table->name);
    return WEFT_OK;
}

static weft_status read_space(const char *path, recorded_table *table, bool *minimize)
{
    char spaces[FILE_PATH_MAX];
    json_document *document = NULL;
    const json_value *root = NULL;
    const char *slash = strrchr(path, '/');
    WEFT_TRY(file_path(spaces, "%.*s" RECORDED_SPACES, slash != NULL ? (int)(slash - path + 1) : 0, path));
    WEFT_TRY(json_read_object(spaces, RECORDED_SPACES_MAX, &document, &root));
    const weft_status status = read_axes(spaces, root, table, minimize);
    json_free(document);
    return status;
}

/* ---- FILE.npz ---------------------------------------------------------------------------------------------------
 * */

static weft_status check_shape(const char *path, const npy_header *header, recorded_table *table)
{
    const search_space *space = &table->space;
    WEFT_CHECK(header->dims == space->count + 1 && header->shape[header->dims - 1] >= 1, WEFT_ERR_DATA,
               "%s: val has %d axes: spaces.json names %d, and one more is for seeds", path, header->dims,
               space->count);
    table->cells = 1;
    for (int d = 0; d < space->count; d++) {
        WEFT_CHECK(header->shape[d] == space->dimension[d].choices, WEFT_ERR_DATA,
                   "%s: axis %d of val has %" PRId64 " places, \"%s\" of spaces.json has %d values", path, d + 1,
                   header->shape[d], space->dimension[d].name, space->dimension[d].choices);
        table->cells *= header->shape[d];
    }
    WEFT_CHECK(header->count > 0 && header->count <= CELLS_MAX, WEFT_ERR_DATA,
               "%s: %" PRId64 " scores: 1 to %d are read", path, header->count, CELLS_MAX);
    table->seeds = (int)header->shape[header->dims - 1];
    return WEFT_OK;
}

static weft_status take_scores(const char *path, bool minimize, recorded_table *table)
{
    double *sorted = NULL;
    for (int64_t cell = 0; cell < table->cells; cell++) {
        double sum = 0.0;
        int runs = 0;
        for (int seed = 0; seed < table->seeds; seed++) {
            float *score = &table->score[cell * table->seeds + seed];
            if (isnan(*score)) {
                continue;
            }
            *score = minimize ? (float)log10((double)*score) : -*score;
            WEFT_CHECK(isfinite(*score), WEFT_ERR_DATA,
                       "%s: cell %" PRId64 ", seed %d: a score that is infinite, or minimised and not above 0", path,
                       cell, seed);
            sum += (double)*score;
            runs++;
        }
        WEFT_CHECK(runs > 0, WEFT_ERR_DATA, "%s: cell %" PRId64 " has no score: a table is complete", path, cell);
        table->mean[cell] = sum / runs;
    }
    WEFT_TRY(WEFT_NEW(&sorted, table->cells, WEFT_MEM_WORKSPACE));
    memcpy(sorted, table->mean, (size_t)table->cells * sizeof *sorted);
    sample_sort(sorted, table->cells);
    table->best = sorted[0];
    table->median = sample_quantile(sorted, table->cells, 0.5);
    weft_free(sorted);
    WEFT_CHECK(table->median > table->best, WEFT_ERR_DATA, "%s: half of the cells score alike: there is no regret",
               path);
    return WEFT_OK;
}

static weft_status read_scores(const char *path, npz_file *npz, bool minimize, recorded_table *table)
{
    npy_array array = {0};
    npy_header header;
    const int member = npz_find(npz, "val");
    WEFT_CHECK(member >= 0, WEFT_ERR_DATA, "%s: no array val", path);
    WEFT_TRY(npz_read_header(npz, member, &header));
    WEFT_TRY(check_shape(path, &header, table));
    WEFT_TRY(npz_read(npz, member, &array));
    weft_status status = npy_array_to_f32(path, &array, &table->score);
    npy_array_free(&array);
    WEFT_TRY(status);
    WEFT_TRY(WEFT_NEW(&table->mean, table->cells, WEFT_MEM_SEARCH));
    return take_scores(path, minimize, table);
}

weft_status recorded_open(const char *path, recorded_table *table)
{
    npz_file *npz = NULL;
    bool minimize = false;
    weft_status status = WEFT_OK;
    *table = (recorded_table){0};
    WEFT_TRY_GOTO(take_name(path, table), status, done);
    WEFT_TRY_GOTO(npz_open(path, &npz), status, done);
    WEFT_TRY_GOTO(read_space(path, table, &minimize), status, done);
    WEFT_TRY_GOTO(read_scores(path, npz, minimize, table), status, done);
done:
    npz_close(npz);
    if (status != WEFT_OK) {
        recorded_close(table);
    }
    return status;
}

void recorded_close(recorded_table *table)
{
    space_free(&table->space);
    WEFT_FREE_ALL(table->score, table->mean);
    *table = (recorded_table){0};
}

/* ---- cells ------------------------------------------------------------------------------------------------------
 * */

int64_t recorded_cell(const recorded_table *table, const double *values)
{
    int64_t cell = 0;
    for (int d = 0; d < table->space.count; d++) {
        cell = cell * table->space.dimension[d].choices + (int64_t)values[d];
    }
    return cell;
}

double recorded_draw(const recorded_table *table, int64_t cell, uint32_t high, uint32_t low)
{
    const float *score = &table->score[cell * table->seeds];
    int runs = 0, seed = -1;
    for (int i = 0; i < table->seeds; i++) {
        runs += !isnan(score[i]);
    }
    for (int left = (int)(philox_uniform_double(high, low) * runs); left >= 0; left -= !isnan(score[seed])) {
        seed++;
    }
    return (double)score[seed];
}

double recorded_regret(const recorded_table *table, int64_t cell)
{
    return (table->mean[cell] - table->best) / (table->median - table->best);
}

weft_status recorded_random(const recorded_table *table, int64_t n, double *mean, double *deviation)
{
    double *sorted = NULL, sum = 0.0, square = 0.0;
    const double cells = (double)table->cells, trials = (double)n;
    WEFT_TRY(WEFT_NEW(&sorted, table->cells, WEFT_MEM_WORKSPACE));
    memcpy(sorted, table->mean, (size_t)table->cells * sizeof *sorted);
    sample_sort(sorted, table->cells);
    for (int64_t k = 0; k < table->cells; k++) {
        const double left = cells - (double)k;
        const double share = pow(left / cells, trials) - pow((left - 1.0) / cells, trials);
        const double regret = (sorted[k] - table->best) / (table->median - table->best);
        sum += share * regret;
        square += share * regret * regret;
    }
    weft_free(sorted);
    *mean = sum;
    *deviation = sqrt(fmax(square - sum * sum, 0.0));
    return WEFT_OK;
}
