/* app/tune/search_link.c: a seat's side: see app/tune/search_link.h. */
#include "app/tune/search_link.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/tune/search_wire.h"

static weft_status unreachable(const link_place *place, const char *why)
{
    return weft_fail(WEFT_ERR_IO,
                     "rank 0 of the search on %s, port %d: %s: hosts of the job must reach each other by TCP",
                     place->host, (int)place->port, why);
}

static int try_connect(const struct addrinfo *list)
{
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        const int made = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && connect(made, at->ai_addr, at->ai_addrlen) == 0) {
            return made;
        }
        if (made >= 0) {
            (void)close(made);
        }
    }
    return -1;
}

/* On rank 0's own host its name need not be known. */
static weft_status connect_to(const link_place *place, int *socket)
{
    char own[LINK_HOST_BYTES] = "", port[16];
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    (void)gethostname(own, sizeof own - 1);
    (void)snprintf(port, sizeof port, "%d", (int)place->port);
    const char *host = strcmp(own, place->host) == 0 ? "127.0.0.1" : place->host;
    const int found = getaddrinfo(host, port, &hints, &list);
    if (found != 0) {
        return unreachable(place, gai_strerror(found));
    }
    *socket = try_connect(list);
    freeaddrinfo(list);
    if (*socket < 0) {
        return unreachable(place, strerror(errno));
    }
    wire_set_prompt(*socket);
    return WEFT_OK;
}

static weft_status ask(const search_link *link, const link_message *m, link_answer *answer, double *values)
{
    const size_t bytes = (size_t)link->dimensions * sizeof *values;
    const bool heard = wire_send(link->socket, m, sizeof *m) && wire_receive(link->socket, answer, sizeof *answer) &&
                       (values == NULL || wire_receive(link->socket, values, bytes));
    WEFT_CHECK(heard, WEFT_ERR_IO, "rank 0 of the search does not answer any more");
    answer->words[sizeof answer->words - 1] = '\0';
    return answer->status == WEFT_OK ? WEFT_OK : weft_fail((weft_status)answer->status, "%s", answer->words);
}

weft_status link_open(link_server *server, const link_place *place, int seat, int dimensions, search_link *link)
{
    link_message hello = {.call = CALL_HELLO};
    link_answer answer;
    *link = (search_link){
        .counter = server != NULL ? link_counter(server) : NULL, .socket = -1, .seat = seat, .dimensions = dimensions};
    if (server != NULL) {
        return WEFT_OK;
    }
    memcpy(hello.secret, place->secret, sizeof hello.secret);
    WEFT_TRY(connect_to(place, &link->socket));
    return ask(link, &hello, &answer, NULL);
}

void link_close(search_link *link)
{
    if (link->counter == NULL && link->socket > 0) {
        (void)close(link->socket);
    }
    *link = (search_link){.socket = -1};
}

weft_status link_next(search_link *link, bool leaves, desk_order *order, double *values)
{
    const link_message m = {.call = CALL_NEXT, .seat = link->seat, .leaves = leaves};
    link_answer answer;
    if (link->counter != NULL) {
        return counter_next(link->counter, link->seat, leaves, order, values);
    }
    WEFT_TRY(ask(link, &m, &answer, values));
    *order = answer.order;
    return WEFT_OK;
}

weft_status link_report(search_link *link, const desk_news *news, bool *stops)
{
    const link_message m = {.call = CALL_REPORT, .news = *news};
    link_answer answer;
    if (link->counter != NULL) {
        return counter_report(link->counter, news, stops);
    }
    WEFT_TRY(ask(link, &m, &answer, NULL));
    *stops = answer.stops;
    return WEFT_OK;
}

weft_status link_end(search_link *link, const desk_ended *ended, const char *failed)
{
    link_message m = {.call = CALL_END, .ended = *ended, .failed = failed != NULL};
    link_answer answer;
    if (link->counter != NULL) {
        return counter_end(link->counter, ended, failed);
    }
    (void)snprintf(m.words, sizeof m.words, "%s", failed != NULL ? failed : "");
    return ask(link, &m, &answer, NULL);
}
