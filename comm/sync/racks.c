/*
 * comm/sync/racks.c: reading the files of --topology and --sites.
 *
 * One pass over the lines; the rank that a word names is looked up among P hosts, so a file of w words costs w * P
 * comparisons of names: nothing beside starting the job.
 */
#include "comm/sync/racks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "comm/core/layout.h"

enum { FILE_BYTES = 1 << 24, WORD_BYTES = 256 };

typedef struct parser {
    const char *path;
    int line;
    const char (*host)[TOPOLOGY_HOST_BYTES];
    int *line_of; /* [ranks] where a rank was named, 0: not yet */
    comm_topology *topology;
} parser;

/* ---- hosts ----------------------------------------------------------------------------------------------- */
static size_t short_length(const char *name)
{
    return strcspn(name, ".");
}

static bool equal_bytes(const char *a, const char *b, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i])) {
            return false;
        }
    }
    return true;
}

/* The same name in full, or the same short name when one of the two has no domain. */
static bool same_host(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    if (na == nb) {
        return equal_bytes(a, b, na);
    }
    size_t sa = short_length(a);
    size_t sb = short_length(b);
    return sa == sb && (sa == na || sb == nb) && equal_bytes(a, b, sa);
}

/* ---- words ----------------------------------------------------------------------------------------------- */
static weft_status claim(parser *p, int rank)
{
    comm_topology *t = p->topology;
    WEFT_CHECK(p->line_of[rank] == 0, WEFT_ERR_DATA,
               "%s:%d: rank %d (host %s) is in set '%s' of line %d already: name every rank in one set", p->path,
               p->line, rank, p->host[rank], t->name[t->set_of[rank]], p->line_of[rank]);
    p->line_of[rank] = p->line;
    t->set_of[rank] = t->sets - 1;
    return WEFT_OK;
}

/* Digits at *at; -1 when there are none or they pass the ranks of any job. */
static int64_t scan_rank(const char **at)
{
    enum { MOST = 1 << 30 };
    int64_t value = 0;
    const char *begin = *at;
    for (; isdigit((unsigned char)**at); ++*at) {
        value = value < MOST ? value * 10 + (**at - '0') : MOST;
    }
    return *at == begin ? -1 : value;
}

static weft_status ranks_word(parser *p, const char *word)
{
    int ranks = p->topology->ranks;
    for (const char *at = word;; ++at) {
        int64_t first = scan_rank(&at);
        int64_t last = first;
        if (*at == '-') {
            ++at;
            last = scan_rank(&at);
        }
        WEFT_CHECK(first >= 0 && last >= first && (*at == ',' || *at == '\0'), WEFT_ERR_DATA,
                   "%s:%d: '%s' is no list of ranks: write it as 0-7,12", p->path, p->line, word);
        WEFT_CHECK(last < ranks, WEFT_ERR_DATA,
                   "%s:%d: '%s' names rank %lld, the job has ranks 0 to %d: correct the file or start more ranks",
                   p->path, p->line, word, (long long)last, ranks - 1);
        for (int64_t r = first; r <= last; ++r) {
            WEFT_TRY(claim(p, (int)r));
        }
        if (*at == '\0') {
            return WEFT_OK;
        }
    }
}

static weft_status host_word(parser *p, const char *word)
{
    for (const char *at = word; *at != '\0'; ++at) {
        unsigned char c = (unsigned char)*at;
        WEFT_CHECK(isalnum(c) || c == '.' || c == '-' || c == '_', WEFT_ERR_DATA,
                   "%s:%d: '%s' is neither a host nor a list of ranks: write hosts as node01, ranks as 0-7,12", p->path,
                   p->line, word);
    }
    for (int r = 0; r < p->topology->ranks; ++r) {
        if (same_host(p->host[r], word)) {
            WEFT_TRY(claim(p, r));
        }
    }
    return WEFT_OK;
}

/* The next word of a line, separated by blanks; false at the end. */
static weft_status next_word(const parser *p, const char **at, const char *end, char word[WORD_BYTES], bool *found)
{
    while (*at < end && isspace((unsigned char)**at)) {
        ++*at;
    }
    const char *begin = *at;
    while (*at < end && !isspace((unsigned char)**at)) {
        ++*at;
    }
    size_t length = (size_t)(*at - begin);
    WEFT_CHECK(length < WORD_BYTES, WEFT_ERR_DATA, "%s:%d: a word of %zu characters; at most %d", p->path, p->line,
               length, WORD_BYTES - 1);
    memcpy(word, begin, length);
    word[length] = '\0';
    *found = length > 0;
    return WEFT_OK;
}

/* ---- lines ----------------------------------------------------------------------------------------------- */
static weft_status begin_set(parser *p, const char *begin, const char *colon)
{
    comm_topology *t = p->topology;
    while (colon > begin && isspace((unsigned char)colon[-1])) {
        --colon;
    }
    size_t length = (size_t)(colon - begin);
    WEFT_CHECK(length > 0 && length < TOPOLOGY_NAME_BYTES, WEFT_ERR_DATA,
               "%s:%d: a set's name has 1 to %d characters before its colon, this one %zu", p->path, p->line,
               TOPOLOGY_NAME_BYTES - 1, length);
    WEFT_TRY(weft_realloc((void **)&t->name, (size_t)t->sets + 1, sizeof *t->name, WEFT_MEM_COMM));
    memcpy(t->name[t->sets], begin, length);
    t->name[t->sets][length] = '\0';
    for (int s = 0; s < t->sets; ++s) {
        WEFT_CHECK(strcmp(t->name[s], t->name[t->sets]) != 0, WEFT_ERR_DATA,
                   "%s:%d: set '%s' was named before: write each set on one line", p->path, p->line, t->name[s]);
    }
    t->sets += 1;
    return WEFT_OK;
}

static weft_status parse_line(parser *p, const char *begin, const char *end)
{
    char word[WORD_BYTES];
    bool found = false;
    const char *comment = memchr(begin, '#', (size_t)(end - begin));
    end = comment != NULL ? comment : end;
    while (begin < end && isspace((unsigned char)*begin)) {
        ++begin;
    }
    if (begin == end) {
        return WEFT_OK;
    }
    const char *colon = memchr(begin, ':', (size_t)(end - begin));
    if (colon == NULL) {
        WEFT_TRY(next_word(p, &begin, end, word, &found));
        return weft_fail(WEFT_ERR_DATA, "%s:%d: no colon after '%s': a line is `name: host host ...` or `name: 0-7,12`",
                         p->path, p->line, word);
    }
    WEFT_TRY(begin_set(p, begin, colon));
    begin = colon + 1;
    for (;;) {
        WEFT_TRY(next_word(p, &begin, end, word, &found));
        if (!found) {
            return WEFT_OK;
        }
        bool ranks = strspn(word, "0123456789,-") == strlen(word);
        WEFT_TRY(ranks ? ranks_word(p, word) : host_word(p, word));
    }
}

static weft_status parse_lines(parser *p, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        p->line += 1;
        WEFT_TRY(parse_line(p, text, text + length));
        text += length + (text[length] == '\n');
    }
    for (int r = 0; r < p->topology->ranks; ++r) {
        WEFT_CHECK(p->line_of[r] > 0, WEFT_ERR_DATA,
                   "%s: rank %d on host '%s' is in no set: add the host or the rank to a line", p->path, r, p->host[r]);
    }
    return WEFT_OK;
}

/* Sets of hosts that run no rank go; the others keep their order. new_set: [sets] of room. */
static void drop_empty(comm_topology *t, int *new_set)
{
    int kept = 0;
    for (int s = 0; s < t->sets; ++s) {
        new_set[s] = -1;
    }
    for (int r = 0; r < t->ranks; ++r) {
        new_set[t->set_of[r]] = 0;
    }
    for (int s = 0; s < t->sets; ++s) {
        if (new_set[s] == 0) {
            memmove(t->name[kept], t->name[s], sizeof *t->name);
            new_set[s] = kept++;
        }
    }
    for (int r = 0; r < t->ranks; ++r) {
        t->set_of[r] = new_set[t->set_of[r]];
    }
    t->sets = kept;
}

/* ---- public ---------------------------------------------------------------------------------------------- */
static weft_status allocate(int ranks, int sets, comm_topology **topology)
{
    comm_topology *t = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&t, 1, WEFT_MEM_COMM));
    *topology = t;
    t->ranks = ranks;
    t->sets = sets;
    WEFT_TRY(WEFT_NEW_ZERO(&t->name, sets, WEFT_MEM_COMM));
    return WEFT_NEW_ZERO(&t->set_of, ranks, WEFT_MEM_COMM);
}

void topology_destroy(comm_topology *topology)
{
    if (topology != NULL) {
        WEFT_FREE_ALL(topology->set_of, topology->name, topology);
    }
}

weft_status topology_parse(const char *path, const char *text, const char (*host)[TOPOLOGY_HOST_BYTES], int ranks,
                           comm_topology **topology)
{
    weft_status status = WEFT_OK;
    parser p = {.path = path, .host = host};
    int *new_set = NULL;
    *topology = NULL;
    WEFT_TRY_GOTO(allocate(ranks, 0, &p.topology), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&p.line_of, ranks, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(parse_lines(&p, text), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&new_set, p.topology->sets, WEFT_MEM_COMM), status, done);
    if (new_set != NULL) {
        drop_empty(p.topology, new_set);
    }
    *topology = p.topology;
    p.topology = NULL;
done:
    topology_destroy(p.topology);
    WEFT_FREE_ALL(p.line_of, new_set);
    return status;
}

/* Rank 0's file to all ranks; its size first. */
static weft_status share_text(weft_comm *comm, const char *path, char **text)
{
    size_t size = 0;
    *text = NULL;
    weft_status local = comm_rank(comm) == 0 ? file_read_text(path, FILE_BYTES, text, &size) : WEFT_OK;
    WEFT_TRY(comm_agree(comm, local));
    int64_t bytes = (int64_t)size + 1;
    WEFT_TRY(comm_bcast(comm, 0, &bytes, (int64_t)sizeof bytes));
    local = comm_rank(comm) == 0 ? WEFT_OK : weft_malloc((size_t)bytes, 1, WEFT_MEM_GENERAL, (void **)text);
    weft_status status = comm_agree(comm, local);
    if (local != WEFT_OK || status != WEFT_OK || *text == NULL) {
        return status;
    }
    return comm_bcast(comm, 0, *text, bytes);
}

/* host: [P] */
static weft_status share_hosts(weft_comm *comm, char (*host)[TOPOLOGY_HOST_BYTES])
{
    char mine[TOPOLOGY_HOST_BYTES] = "";
    if (gethostname(mine, sizeof mine - 1) != 0) {
        snprintf(mine, sizeof mine, "unknown");
    }
    return comm_allgather(comm, mine, (int64_t)sizeof mine, host);
}

weft_status topology_read(weft_comm *comm, const char *path, comm_topology **topology)
{
    weft_status status = WEFT_OK;
    char *text = NULL;
    char(*host)[TOPOLOGY_HOST_BYTES] = NULL;
    int size = comm_size(comm);
    *topology = NULL;
    weft_status local = WEFT_NEW_ZERO(&host, size, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    status = share_text(comm, path, &text);
    if (status != WEFT_OK || text == NULL) {
        goto done;
    }
    WEFT_TRY_GOTO(share_hosts(comm, host), status, done);
    local = topology_parse(path, text, (const char(*)[TOPOLOGY_HOST_BYTES])host, size, topology);
    WEFT_TRY_GOTO(comm_agree(comm, local), status, done);
done:
    if (status != WEFT_OK) {
        topology_destroy(*topology);
        *topology = NULL;
    }
    WEFT_FREE_ALL(text, host);
    return status;
}

weft_status topology_whole(const weft_comm *comm, comm_topology **topology)
{
    weft_status status = allocate(comm_size(comm), 1, topology);
    if (status != WEFT_OK) {
        topology_destroy(*topology);
        *topology = NULL;
        return status;
    }
    snprintf((*topology)->name[0], TOPOLOGY_NAME_BYTES, "all");
    return WEFT_OK;
}

weft_status topology_nodes(const weft_comm *comm, comm_topology **topology)
{
    const comm_layout *layout = comm_get_layout(comm);
    weft_status status = allocate(comm_size(comm), layout->nodes, topology);
    if (status != WEFT_OK) {
        topology_destroy(*topology);
        *topology = NULL;
        return status;
    }
    for (int s = 0; s < layout->nodes; ++s) {
        snprintf((*topology)->name[s], TOPOLOGY_NAME_BYTES, "node %d", s);
    }
    memcpy((*topology)->set_of, layout->node_of, (size_t)comm_size(comm) * sizeof *layout->node_of);
    return WEFT_OK;
}

int topology_members(const comm_topology *topology, int set, int *member)
{
    int count = 0;
    for (int r = 0; r < topology->ranks; ++r) {
        if (topology->set_of[r] == set) {
            member[count++] = r;
        }
    }
    return count;
}
