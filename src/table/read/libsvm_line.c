/* table/read/libsvm_line.c: see table/read/libsvm_line.h. */
#include "table/read/libsvm_line.h"

#include <string.h>

#include "io/text/text_source.h"

static bool at_end(const svm_line *line)
{
    return line->at >= line->end || *line->at == '#';
}

weft_status svm_line_begin(const char *text, const char *end, svm_line *line)
{
    *line = (svm_line){.at = text_skip_blanks(text), .end = end};
    while (line->end > line->at && (line->end[-1] == '\r' || line->end[-1] == ' ' || line->end[-1] == '\t')) {
        line->end--;
    }
    WEFT_CHECK(text_scan_real(&line->at, false, &line->label) &&
                   (at_end(line) || *line->at == ' ' || *line->at == '\t'),
               WEFT_ERR_DATA, "the line does not begin with a number, the label");
    line->at = text_skip_blanks(line->at);
    if (line->end - line->at > 4 && memcmp(line->at, "qid:", 4) == 0) {
        const char *query = line->at + 4;
        while (!at_end(line) && *line->at != ' ' && *line->at != '\t') {
            line->at++;
        }
        line->query = (sink_cell){.text = query, .bytes = (size_t)(line->at - query)};
        line->at = text_skip_blanks(line->at);
    }
    return WEFT_OK;
}

weft_status svm_line_next(svm_line *line, int64_t *index, double *value, bool *more)
{
    const char *at = line->at;
    *more = !at_end(line);
    if (!*more) {
        return WEFT_OK;
    }
    const bool good = text_scan_int(&at, index) && *index >= 0 && *at == ':' && *++at != ' ' && at < line->end &&
                      text_scan_real(&at, false, value) && (at >= line->end || *at == ' ' || *at == '\t' || *at == '#');
    WEFT_CHECK(good, WEFT_ERR_DATA, "'%.*s': expected INDEX:VALUE, two numbers",
               (int)strcspn(line->at, " \t\r\n") < 40 ? (int)strcspn(line->at, " \t\r\n") : 40, line->at);
    line->at = text_skip_blanks(at);
    return WEFT_OK;
}
