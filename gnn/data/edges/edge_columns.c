/* gnn/data/edges/edge_columns.c: see gnn/data/edges/edge_columns.h. */
#include "gnn/data/edges/edge_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/text_head.h"

enum { NAMES_MOST = 64, NAME_MOST = 64, WORDS_MOST = 3 };

/* ---- what a text is, by its first lines ---- */

/* The next line of `head` that is neither empty nor a comment, with its end; past it. NULL: there is none that is
 * whole. */
static const char *next_content(const char *head, char line[TEXT_HEAD + 1])
{
    while (*head != '\0') {
        const size_t length = strcspn(head, "\n");
        const char *first = text_skip_blanks(head);
        if (*first != '#' && *first != '%' && *first != '\r' && *first != '\n' && *first != '\0') {
            memcpy(line, head, length);
            memcpy(line + length, "\n", 2);
            return head + length + (head[length] == '\n');
        }
        head += length + (head[length] == '\n');
    }
    return NULL;
}

/* As many fields of a line as there are, `most` at most; 0: quotes are not closed. */
static int cut(const char *line, char separator, int most, text_field *field)
{
    int count = 0;
    const char *at = line;
    do {
        if (count == most) {
            break;
        }
        if (!text_scan_field(&at, separator, &field[count++])) {
            return 0;
        }
    } while (text_next_field(&at, separator));
    return count;
}

/* {...} behind two fields. */
static bool ends_in_dictionary(const char *line, char separator)
{
    text_field field[2];
    const char *at = line;
    if (separator == TEXT_WHOLE_LINE || !text_scan_field(&at, separator, &field[0]) ||
        !text_next_field(&at, separator) || *at == '{' || !text_scan_field(&at, separator, &field[1]) ||
        !text_next_field(&at, separator)) {
        return false;
    }
    return *at == '{';
}

/* The separator before such a dictionary, which may hold others; TEXT_WHOLE_LINE: there is none. */
static char separator_before_dictionary(const char *line)
{
    static const char separators[] = {TEXT_BLANKS, ',', '\t', ';'};
    for (size_t i = 0; i < sizeof separators; i++) {
        if (ends_in_dictionary(line, separators[i])) {
            return separators[i];
        }
    }
    return TEXT_WHOLE_LINE;
}

/* A number of any length, which --relabel takes. */
static bool is_id(const text_field *field)
{
    int64_t id;
    const char *at = field->text + (field->text < field->end && *field->text == '-');
    const char *digits = at;
    while (at < field->end && *at >= '0' && *at <= '9') {
        at++;
    }
    return (at == field->end && at > digits) || text_field_whole(field, &id);
}

/* Two ids, behind the `before` first fields. */
static bool begins_with_ids(const char *line, int before)
{
    text_field field[3];
    const char separator = text_separator_of(line);
    const int count = cut(line, separator == '\t' ? TEXT_BLANKS : separator, before + 2, field);
    return count == before + 2 && is_id(&field[before]) && is_id(&field[before + 1]);
}

static bool names_ends(const char *line)
{
    text_field field[NAMES_MOST];
    char text[TEXT_HEAD + NAMES_MOST], *name[NAMES_MOST];
    text_header h = {.named = true, .index = -1, .name = name};
    h.columns = cut(line, text_separator_of(line), NAMES_MOST, field);
    char *at = text;
    bool from = false, to = false;
    for (int64_t j = 0; j < h.columns; j++) {
        name[j] = at;
        at += text_copy_field(&field[j], at, (size_t)(field[j].end - field[j].text) + 1) + 1;
        from = from || text_header_is(&h, j, TEXT_SOURCE);
        to = to || text_header_is(&h, j, TEXT_TARGET);
    }
    return from && to;
}

/* A comment above the first row that names both ends, and not in the order in which they are read. */
static bool comment_disagrees(const char *head, char line[TEXT_HEAD + 1])
{
    text_field field[2];
    text_header h = {.named = true, .index = -1, .columns = 2};
    char text[2][NAME_MOST], *name[2] = {text[0], text[1]};
    if (!reader_text_comment(head, line) || !names_ends(line) || cut(line, text_separator_of(line), 2, field) < 2) {
        return false;
    }
    h.name = name;
    text_copy_field(&field[0], name[0], NAME_MOST);
    text_copy_field(&field[1], name[1], NAME_MOST);
    return !text_header_is(&h, 0, TEXT_SOURCE) || !text_header_is(&h, 1, TEXT_TARGET);
}

/* Two or three fields, not numbers alone, without what sentences and programs have in them. */
static bool is_words(const char *line, int *count)
{
    text_field field[WORDS_MOST + 1];
    *count = cut(line, text_separator_of(line), WORDS_MOST + 1, field);
    for (int i = 0; i < *count; i++) {
        const size_t length = (size_t)(field[i].end - field[i].text);
        for (size_t k = 0; k < length; k++) {
            if (strchr("{}<>()[]=;", field[i].text[k]) != NULL) {
                return false;
            }
        }
        if (length == 0) {
            return false;
        }
    }
    double number;
    const bool numbers = *count >= 2 && text_field_number(&field[0], &number) && text_field_number(&field[1], &number);
    return *count >= 2 && *count <= WORDS_MOST && !numbers;
}

bool edge_columns_match(const char *path, const char *head)
{
    char first[TEXT_HEAD + 1], second[TEXT_HEAD + 1];
    int words, more;
    (void)path;
    const char *rest = next_content(head, first);
    if (rest == NULL) {
        return false;
    }
    if (begins_with_ids(first, 0) || separator_before_dictionary(first) != TEXT_WHOLE_LINE || names_ends(first)) {
        return true;
    }
    if (next_content(rest, second) == NULL) {
        return false;
    }
    text_field leading;
    double number;
    const bool header = cut(first, text_separator_of(first), 1, &leading) == 1 && !text_field_number(&leading, &number);
    const bool nameless = leading.end == leading.text;
    return (header && begins_with_ids(second, nameless)) ||
           (is_words(first, &words) && is_words(second, &more) && words == more);
}

/* ---- which columns ---- */

static weft_status take_dictionaries(const char *path, const char *line, bool weighs, bool tell, edge_columns *c)
{
    WEFT_CHECK(!weighs, WEFT_ERR_DATA,
               "%s: what networkx.write_edgelist writes, FROM TO {...}, holds no plain weight: write it with "
               "data=[\"weight\"]",
               path);
    c->dictionaries = true;
    c->from = 0;
    c->to = 1;
    c->header.columns = 2;
    c->header.separator = separator_before_dictionary(line);
    if (tell) {
        log_warn("%s: the dictionaries {...} behind the ids, which networkx.write_edgelist writes, are read over",
                 path);
    }
    return WEFT_OK;
}

static bool is_label(const text_header *h, int64_t column)
{
    return text_header_is(h, column, TEXT_LABEL) || text_header_is(h, column, TEXT_SPLIT);
}

/* A column that could be an end, or a weight, whatever it is called. */
static bool is_free(const edge_columns *c, int64_t j)
{
    const text_header *h = &c->header;
    return j != h->index && j != c->from && j != c->to && !text_header_is(h, j, TEXT_ID) && !is_label(h, j);
}

static bool sample_is_id(const text_header *h, int64_t column)
{
    text_field field;
    return text_header_sample(h, column, &field) && is_id(&field);
}

/* No name is known: the only two columns, or a first line that is an edge of names. */
static weft_status guess_ends(bool tell, edge_columns *c)
{
    text_header *h = &c->header;
    int64_t weight, found[2] = {-1, -1}, count = 0, ids = 0;
    WEFT_TRY(text_header_find(h, TEXT_WEIGHT, &weight));
    for (int64_t j = 0; j < h->columns; j++) {
        const bool is_row_id = text_header_is(h, j, TEXT_ID);
        ids += is_row_id;
        if (j != h->index && j != weight && (!is_row_id || h->columns - (h->index == 0) == 2)) {
            found[count < 2 ? count : 1] = j;
            count++;
        }
    }
    if (h->columns <= WORDS_MOST && h->index < 0 && !sample_is_id(h, 0) && (h->columns < 2 || !sample_is_id(h, 1))) {
        WEFT_TRY(text_header_drop(h));
        if (tell) {
            log_warn("%s: line %" PRId64 " is taken for an edge, as it names no column that is known (source, target)",
                     h->path, h->row_line);
        }
        c->from = 0;
        c->to = 1;
        return WEFT_OK;
    }
    const bool labels = count == 2 && ids > 0 && (is_label(h, found[0]) || is_label(h, found[1]));
    WEFT_CHECK(count == 2 && !labels, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": no column is named for the ends of edges: call two of them source and target",
               h->path, h->line);
    c->from = found[0];
    c->to = found[1];
    if (tell) {
        log_info("%s: the columns '%.40s' and '%.40s' are taken for source and target", h->path, h->name[c->from],
                 h->name[c->to]);
    }
    return WEFT_OK;
}

static int64_t find_weak(const text_header *h, text_role role)
{
    int64_t found = -1;
    for (int64_t j = 0; j < h->columns && found < 0; j++) {
        found = text_header_is_weak(h, j, role) ? j : -1;
    }
    return found;
}

/* Names come in pairs: in i, j, v the third is a value, and in u, v, j the second is an end. */
static void pair_up(edge_columns *c)
{
    const text_header *h = &c->header;
    const int64_t from = find_weak(h, TEXT_SOURCE), to = find_weak(h, TEXT_TARGET);
    if (c->from >= 0 && c->to >= 0 && from >= 0 && to >= 0 && (c->from == from) != (c->to == to)) {
        c->from = from;
        c->to = to;
    }
}

static weft_status find_ends(bool tell, edge_columns *c)
{
    text_header *h = &c->header;
    WEFT_TRY(text_header_find(h, TEXT_SOURCE, &c->from));
    WEFT_TRY(text_header_find(h, TEXT_TARGET, &c->to));
    pair_up(c);
    if (!h->named) {
        c->from = 0;
        c->to = 1;
    } else if (c->from < 0 && c->to < 0) {
        WEFT_TRY(guess_ends(tell, c));
    } else {
        WEFT_CHECK(c->from >= 0 && c->to >= 0, WEFT_ERR_DATA,
                   "%s: line %" PRId64
                   ": the column '%.40s' is one end of edges, and none is named for the other: call it %s",
                   h->path, h->line, h->name[c->from >= 0 ? c->from : c->to], c->from >= 0 ? "target" : "source");
    }
    WEFT_CHECK(h->columns >= 2, WEFT_ERR_DATA, "%s: line %" PRId64 ": '%.*s': expected two vertex ids", h->path,
               h->line, h->row != NULL ? (int)strcspn(h->row, "\r\n") : 0, h->row != NULL ? h->row : "");
    return WEFT_OK;
}

static weft_status find_weight(bool tell, edge_columns *c)
{
    const text_header *h = &c->header;
    if (!h->named) {
        WEFT_CHECK(h->columns > 2, WEFT_ERR_DATA,
                   "%s: line %" PRId64 ": the line ends where the weight of the edge is expected", h->path, h->line);
        c->weight = 2;
        return WEFT_OK;
    }
    WEFT_TRY(text_header_find(h, TEXT_WEIGHT, &c->weight));
    int64_t others = 0, other = -1;
    for (int64_t j = 0; j < h->columns && c->weight < 0; j++) {
        others += is_free(c, j);
        other = is_free(c, j) ? j : other;
    }
    if (c->weight >= 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(others == 1, WEFT_ERR_DATA, "%s: line %" PRId64 ": no column is named weight", h->path, h->line);
    c->weight = other;
    if (tell) {
        log_info("%s: the column '%.40s' is taken for the weight", h->path, h->name[other]);
    }
    return WEFT_OK;
}

static weft_status tell_unused(const edge_columns *c)
{
    const text_header *h = &c->header;
    bool *used;
    int64_t weight;
    if (!h->named) {
        if (h->columns > 2 && c->weight < 0) {
            log_warn("%s: what follows the two ids of each line (weights, times) is not used as long "
                     "as " FLAG_CONVERT_WEIGHTS " does not name the file: its third field is a weight then",
                     h->path);
        } else if (h->columns > 3) {
            log_warn("%s: what follows the two ids and the weight of each line is not used", h->path);
        }
        return WEFT_OK;
    }
    WEFT_TRY(text_header_find(h, TEXT_WEIGHT, &weight));
    WEFT_TRY(WEFT_NEW_ZERO(&used, h->columns, WEFT_MEM_WORKSPACE));
    used[c->from] = true;
    used[c->to] = true;
    if (c->weight >= 0) {
        used[c->weight] = true;
    } else if (weight >= 0) {
        used[weight] = true;
        log_warn("%s: the column '%.40s' is not used as long as " FLAG_CONVERT_WEIGHTS " does not name the file",
                 h->path, h->name[weight]);
    }
    text_header_tell_unused(h, used);
    weft_free(used);
    return WEFT_OK;
}

static weft_status find_columns(const char *path, const char *head, bool weighs, bool tell, edge_columns *c)
{
    char line[TEXT_HEAD + 1];
    if (next_content(head, line) != NULL && separator_before_dictionary(line) != TEXT_WHOLE_LINE) {
        return take_dictionaries(path, line, weighs, tell, c);
    }
    WEFT_TRY(text_header_read(path, EDGE_LINE_MAX, &c->header));
    if (c->header.columns == 0) {
        return WEFT_OK;
    }
    if (tell && !c->header.named && comment_disagrees(head, line)) {
        log_warn("%s: the comment above the first row, '%.*s', names columns in another order than source, target, in "
                 "which they are read: a header without # is followed",
                 path, (int)strcspn(line, "\n"), line);
    }
    WEFT_TRY(find_ends(tell, c));
    WEFT_TRY(weighs ? find_weight(tell, c) : WEFT_OK);
    return tell ? tell_unused(c) : WEFT_OK;
}

weft_status edge_columns_find(const char *path, bool weighs, bool tell, edge_columns *columns)
{
    char head[TEXT_HEAD];
    *columns = (edge_columns){.header = {.path = path, .index = -1}, .from = -1, .to = -1, .weight = -1};
    WEFT_TRY(reader_text_head(path, head));
    weft_status status = find_columns(path, head, weighs, tell, columns);
    if (status != WEFT_OK) {
        edge_columns_free(columns);
    }
    return status;
}

void edge_columns_free(edge_columns *columns)
{
    text_header_free(&columns->header);
}

/* ---- rows ---- */

static bool fail_width(const edge_columns *c, text_piece *piece, const char *row, int64_t fields)
{
    piece->at = row;
    snprintf(piece->reason, sizeof piece->reason, "%s%" PRId64 " fields where %" PRId64 " are expected",
             fields > c->header.columns ? "more than " : "", fields > c->header.columns ? c->header.columns : fields,
             c->header.columns);
    return false;
}

static bool pass_dictionary(text_piece *piece, const char **at)
{
    const char *end = *at;
    while (!text_at_end(end)) {
        end++;
    }
    const char *last = end;
    while (last > *at && (last[-1] == ' ' || last[-1] == '\t')) {
        last--;
    }
    if (**at != '{' || last[-1] != '}') {
        return text_expected(piece, *at, "what networkx.write_edgelist writes behind the ids, {...}");
    }
    *at = end;
    return true;
}

bool edge_columns_scan(const edge_columns *c, text_piece *piece, const char **at, edge_fields *fields)
{
    const char separator = c->header.separator, *row = text_row_begin(piece, *at, separator);
    text_field other;
    int64_t j = 0;
    bool more = true;
    for (*at = row; more && j < c->header.columns; j++) {
        text_field *field = j == c->from     ? &fields->from
                            : j == c->to     ? &fields->to
                            : j == c->weight ? &fields->weight
                                             : &other;
        const char *begin = *at;
        if (!text_scan_field(at, separator, field)) {
            return text_expected(piece, begin, "a field whose quotes are closed where it ends");
        }
        more = text_next_field(at, separator);
    }
    if (j < c->header.columns || (more && !c->dictionaries)) {
        return fail_width(c, piece, row, j + more);
    }
    return c->dictionaries ? pass_dictionary(piece, at)
                           : text_at_end(*at) || text_expected(piece, *at, "a separator, or the end of the line");
}
