/* base/process_stat.c: see base/process_stat.h. */
#include "base/process_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, PATH_BYTES = 4096 };

/* "number (name) state parent ...": the name may hold brackets and newlines, so the rest begins behind the last one. */
static bool parse(char *line, process_stat *stat)
{
    char *open = strchr(line, '(');
    char *close = strrchr(line, ')');
    *stat = (process_stat){.number = strtoll(line, NULL, 10)};
    if (open == NULL || close == NULL || close < open) {
        return false;
    }
    /* Fields 3 to 39. */
    int got = sscanf(close + 1,
                     " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf %lf %lf %*d %*d %*d %*d %" SCNd64
                     " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
                     &stat->state, &stat->parent, &stat->user, &stat->system, &stat->child_user, &stat->child_system,
                     &stat->began, &stat->cpu);
    *close = '\0';
    snprintf(stat->name, sizeof stat->name, "%s", open + 1);
    return got == 8;
}

bool process_stat_read_at(const char *root, const char *path, process_stat *stat)
{
    char whole[PATH_BYTES];
    char line[LINE_BYTES];
    const int length = snprintf(whole, sizeof whole, "%s/proc/%s", root, path);
    const int fd = length > 0 && length < PATH_BYTES ? open(whole, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    const ssize_t got = read(fd, line, sizeof line - 1);
    close(fd);
    line[got > 0 ? got : 0] = '\0';
    return parse(line, stat);
}

bool process_stat_read(const char *root, int64_t number, process_stat *stat)
{
    char path[32];
    snprintf(path, sizeof path, "%" PRId64 "/stat", number);
    return process_stat_read_at(root, path, stat);
}
