/* gnn/data/edges/text_head.c: see gnn/data/edges/text_head.h. */
#include "gnn/data/edges/text_head.h"

#include <string.h>
#include <strings.h>

#include "io/text/text_source.h"
#include "io/text/text_stream.h"

static bool is_text(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == 127 || (c < 32 && c != '\n' && c != '\r' && c != '\t')) {
            return false;
        }
    }
    return count > 0;
}

weft_status reader_text_head(const char *path, char head[TEXT_HEAD])
{
    text_stream *stream = NULL;
    size_t held = 0;
    weft_status status = text_stream_open(path, &stream);
    for (size_t got = 1; status == WEFT_OK && got > 0 && held < TEXT_HEAD - 1; held += got) {
        status = text_stream_read(stream, head + held, TEXT_HEAD - 1 - held, &got);
        got = status == WEFT_OK ? got : 0;
    }
    text_stream_close(stream);
    size_t mark = held >= TEXT_MARK ? text_mark(head) : 0;
    const char *zero = memchr(head, '\0', held);
    const bool text = is_text(head, zero != NULL ? (size_t)(zero - head) : held);
    held = text ? held - mark : 0;
    memmove(head, head + mark, held);
    head[held] = '\0';
    return status;
}

bool reader_text_comment(const char *head, char line[TEXT_HEAD + 1])
{
    const char *comment = NULL;
    while (*head == '#' || *head == '%' || *head == '\r' || *head == '\n') {
        comment = *head == '#' || *head == '%' ? head : comment;
        head += strcspn(head, "\n");
        head += *head == '\n';
    }
    if (comment == NULL) {
        return false;
    }
    comment += strspn(comment, "#% \t");
    const size_t length = strcspn(comment, "\r\n");
    memcpy(line, comment, length);
    memcpy(line + length, "\n", 2);
    return true;
}

bool reader_name_ends(const char *path, const char *ending)
{
    size_t length = strlen(path);
    if (length > 3 && (strcasecmp(path + length - 3, ".gz") == 0 || strcasecmp(path + length - 3, ".xz") == 0)) {
        length -= 3;
    }
    size_t tail = strlen(ending);
    return length > tail && strncasecmp(path + length - tail, ending, tail) == 0;
}
